//! What the audit's proof found, as JSON. Values in, text out.

use iotax_audit::selfcheck::{Measured, measure::Recall};
use serde::Serialize;

/// Name of the format.
const FORMAT: &str = "iotax-selfcheck-audit";
/// Raised when a field changes its meaning or goes.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    iotax: &'static str,
    holds: bool,
    lines: Vec<Line<'a>>,
    #[serde(flatten)]
    measured: &'a Measured,
}

/// How often a slip must be found, and is.
#[derive(Serialize)]
struct Line<'a> {
    slip: &'a str,
    share: f64,
    bound: f64,
    state: &'static str,
}

/// As JSON.
pub fn json(measured: &Measured) -> String {
    let state = |slip: &Recall| match (slip.holds(), slip.share() >= slip.bound) {
        (true, true) => "ok",
        (true, false) => "within_error",
        _ => "fails",
    };
    let document = Document {
        format: FORMAT,
        version: VERSION,
        iotax: env!("CARGO_PKG_VERSION"),
        holds: measured.holds(),
        lines: measured
            .slips
            .iter()
            .map(|slip| Line { slip: slip.slip, share: slip.share(), bound: slip.bound, state: state(slip) })
            .collect(),
        measured,
    };
    // Plain figures, words and lists.
    serde_json::to_string_pretty(&document).map_or_else(|why| format!("{why}\n"), |text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_audit::selfcheck::{Plan, measure};

    #[test]
    fn it_says_what_was_asked_and_how_each_slip_stands() {
        let text = json(&measure(Plan { sound: 2, slipped: 2, seed: 5 }));
        let found: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&found["format"], &found["plan"]["seed"]), (&"iotax-selfcheck-audit".into(), &5.into()));
        assert_eq!(found["lines"][0]["state"], "ok");
        assert_eq!(found["lines"].as_array().unwrap().len(), found["slips"].as_array().unwrap().len());
        assert!(found["slips"][0]["rules"].as_array().unwrap().contains(&"F1".into()), "{text}");
    }
}
