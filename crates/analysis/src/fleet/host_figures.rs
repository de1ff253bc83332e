//! What the run of one host is reduced to, on that host: some kilobytes from which a fleet is
//! compared.

use super::host_facts::{HostFact, host_facts};
use super::quantity;
use crate::findings::fleet::FigureKey;
use crate::findings::{Interval, MeasuredFigure, WarningReport, WorkloadFindings};
use crate::{Findings, RunData};
use iotax_stats::{Uncertain, t_quantile};
use serde::{Deserialize, Serialize};

/// Version of the format of [`HostFigures`], raised when a field changes its meaning.
pub const FIGURES_FORMAT: u32 = 1;

/// Degrees of freedom of an error that is not of Student's kind: practically infinite.
const MANY: f64 = 1e6;

/// Figures, verdicts and facts of one run, stored as figures.json.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFigures {
    pub format: u32,
    pub run: String,
    #[serde(default)]
    pub name: Option<String>,
    /// Start of the run, RFC 3339.
    pub at: String,
    pub iotax: String,
    pub scenario_sha256: String,
    /// Largest negligible relative difference.
    pub zone: f64,
    /// Why figures are not representative.
    #[serde(default)]
    pub emulated: Vec<String>,
    pub figures: Vec<HostFigure>,
    /// The verdict of each comparison as a sentence.
    #[serde(default)]
    pub verdicts: Vec<String>,
    #[serde(default)]
    pub warnings: Vec<HostWarning>,
    #[serde(default)]
    pub facts: Vec<HostFact>,
}

/// Warning of the run of one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostWarning {
    /// `busy`, `masked`, ...
    pub kind: String,
    pub text: String,
}

/// A figure of one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostFigure {
    #[serde(flatten)]
    pub key: FigureKey,
    /// Load in words: `4k random reads at iodepth 32`.
    pub subject: String,
    /// `1/s`, `B/s`, `ns` or `1` (a ratio).
    pub unit: String,
    pub value: f64,
    /// Standard error of the logarithm of the value; `None` if too little was measured for one.
    #[serde(default)]
    pub log_error: Option<f64>,
    /// Degrees of freedom of that error; `None` if it is not of Student's kind.
    #[serde(default)]
    pub freedom: Option<f64>,
    /// Reason why there is no error: `10 whole rounds, an interval needs 16`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_error: Option<String>,
}

impl HostFigures {
    /// Reduces a run. `scenario_sha256` tells scenarios apart.
    pub fn from_run(run: &RunData, found: &Findings, scenario_sha256: &str) -> HostFigures {
        let mut figures = Vec::new();
        for load in &found.workloads {
            let subject = load_subject(load);
            for one in quantity::ALL {
                let picked = load
                    .rows
                    .iter()
                    .flat_map(|row| (one.pick)(load, row).into_iter().map(move |it| (row, it)));
                figures.extend(picked.filter_map(|(row, picked)| {
                    let key = FigureKey {
                        workload: load.name.clone(),
                        stack: row.stack.clone(),
                        quantity: one.quantity,
                        against: picked.against,
                        direction: picked.direction,
                    };
                    HostFigure::from_figure(key, &subject, &picked.figure)
                }));
            }
        }
        let comparisons = found.workloads.iter().flat_map(|load| &load.comparisons);
        HostFigures {
            format: FIGURES_FORMAT,
            run: found.run.id.clone(),
            name: found.run.name.clone(),
            at: found.run.at.clone(),
            iotax: found.run.iotax.clone(),
            scenario_sha256: scenario_sha256.to_owned(),
            zone: found.run.zone,
            emulated: found.emulated.clone(),
            figures,
            verdicts: comparisons.map(|one| one.rate.sentence.clone()).collect(),
            warnings: found.warnings.iter().map(HostWarning::new).collect(),
            facts: host_facts(run),
        }
    }

    /// Reads stored figures.
    ///
    /// # Errors
    /// Says that it is no JSON of this kind, or of a later version of iotax.
    pub fn from_json(text: &[u8]) -> Result<HostFigures, String> {
        let figures: HostFigures =
            serde_json::from_slice(text).map_err(|error| error.to_string())?;
        match figures.format {
            1..=FIGURES_FORMAT => Ok(figures),
            other => Err(format!(
                "its format is {other}, this iotax reads up to {FIGURES_FORMAT}; use the iotax of \
                 that host"
            )),
        }
    }
}

/// Returns the load in words, with what a probe counts: `integer work in passes/s`.
fn load_subject(load: &WorkloadFindings) -> String {
    match &load.probe {
        Some(probe) if load.rate_unit == "1/s" => format!("{} in {}", load.subject, probe.head),
        _ => load.subject.clone(),
    }
}

impl HostWarning {
    fn new(one: &WarningReport) -> HostWarning {
        HostWarning { kind: one.kind.clone(), text: one.text.clone() }
    }
}

impl HostFigure {
    /// Reduces a figure; `None` if it has no value above zero.
    fn from_figure(key: FigureKey, subject: &str, figure: &MeasuredFigure) -> Option<HostFigure> {
        let MeasuredFigure::Known { value, unit, interval, .. } = figure else { return None };
        let (log_error, freedom) = match interval {
            Interval::Bounds { low, high, freedom } if *low > 0.0 => {
                let quantile = t_quantile(0.975, freedom.unwrap_or(MANY));
                (Some((high / low).ln() / 2.0 / quantile), *freedom)
            }
            _ => (None, None),
        };
        let no_error = match interval {
            Interval::Missing { missing } => Some(missing.clone()),
            Interval::Bounds { .. } => None,
        };
        let (subject, unit) = (subject.to_owned(), (*unit).to_owned());
        (value.is_finite() && *value > 0.0).then_some(HostFigure {
            key,
            subject,
            unit,
            value: *value,
            log_error,
            freedom,
            no_error,
        })
    }

    /// Returns the logarithm of the value with its error; `None` if that is not known.
    pub fn log(&self) -> Option<Uncertain> {
        let error = self.log_error.filter(|error| error.is_finite() && *error >= 0.0)?;
        let freedom = self.freedom.unwrap_or(MANY);
        let value = self.value.ln();
        (value.is_finite() && freedom > 0.0).then_some(Uncertain {
            value,
            error,
            freedom: freedom.min(MANY),
        })
    }
}
