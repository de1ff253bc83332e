//! Every form of a history of simulated runs.

use super::{ALL, PageContext, by_name};
use iotax_analysis::RunData;
use iotax_analysis::findings::history::StackHistory;
use iotax_analysis::history::{HistoryBuilder, HistoryQuery};
use iotax_analysis::twin;

/// Two runs alike, then one whose loop is slower, on another machine of a hostile name.
fn history() -> StackHistory {
    let query = HistoryQuery { stack: "loop".into(), ..HistoryQuery::default() };
    let mut all = HistoryBuilder::new(query);
    let later = |mut run: RunData, day: u32| {
        run.start.id = format!("2026010{day}-000000-000{day}");
        run.start.at = format!("2026-01-0{day}T00:00:00Z");
        run
    };
    let mut slow = later(twin::a_week_later(23, 130_000.0), 3);
    slow.start.scenario.name = Some("=<b>\u{1b}[2J|x".into());
    for place in &mut slow.places {
        place.facts.hostname = Some("other<i>".into());
    }
    for run in [later(twin::a_week_before(21), 1), later(twin::a_week_before(22), 2), slow] {
        assert!(all.add_run(run));
    }
    all.finish()
}

fn render(form: &str, width: usize) -> String {
    (by_name(form).unwrap().render)(&history(), &PageContext::of_width(width))
}

#[test]
fn the_terminal_has_a_line_for_each_run_and_names_the_drift() {
    let text = render("terminal", 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let rows: Vec<&str> =
        text.lines().filter(|line| line.trim_start().starts_with("2026010")).collect();
    assert_eq!(
        rows.iter().filter(|row| row.contains("-o") || row.contains("o-")).count(),
        3,
        "{text}"
    );
    assert!(text.starts_with("loop: 3 runs, 1 sure change"), "{text}");
    assert!(
        text.contains("Changed")
            && text.contains("20260103-000000-0003: loop, new against old: costs")
    );
    assert!(!text.contains('\u{1b}'));
    let wide = render("terminal", 160);
    assert!(wide.contains("2026-01-03 00:00") && wide.contains("other<i>"), "{wide}");
}

#[test]
fn programs_get_every_figure_with_its_interval() {
    let json: serde_json::Value = serde_json::from_str(&render("json", 80)).unwrap();
    let points = json["series"][0]["points"].as_array().unwrap();
    assert_eq!((json["format"].as_str(), points.len()), (Some("iotax-history"), 3));
    for point in points {
        assert!(point["rate"]["interval"]["low"].is_number(), "{point}");
        assert!(point["ratio"]["interval"]["high"].is_number(), "{point}");
    }
    assert!(points[0]["change"].is_null());
    assert_eq!(points[2]["change"]["verdict"]["verdict"], "costs");
    let sheet = render("csv", 80);
    let mut rows = ::csv::Reader::from_reader(sheet.as_bytes());
    let head = rows.headers().unwrap().clone();
    let rows: Vec<::csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    let cell = |row: usize, name: &str| {
        rows[row].get(head.iter().position(|own| own == name).unwrap()).unwrap().to_owned()
    };
    assert_eq!(
        (rows.len(), cell(0, "change"), cell(2, "drifted")),
        (3, String::new(), "true".into())
    );
    assert!(cell(2, "name").starts_with("'=") && !sheet.contains('\u{1b}'));
    assert!(!cell(1, "ratio_low").is_empty() && cell(2, "differs").contains("machine"));
}

#[test]
fn the_page_is_whole_and_foreign_text_is_escaped() {
    let page = crate::html::without_own_script(&render("html", 80));
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    assert_eq!(page.matches("class=\"whisker\"").count(), 3, "{page}");
    assert!(!page.contains("<b>") && !page.contains("<i>") && !page.contains('\u{1b}'));
    assert!(!page.contains("http:") && page.contains("Changed"));
    assert_eq!(ALL.len(), 4);
}
