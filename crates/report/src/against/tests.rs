//! Every form of a comparison of simulated runs: snapshots for text, structure for programs.

use super::{ALL, PageContext, by_name};
use iotax_analysis::against::compare_runs;
use iotax_analysis::findings::against::{RegressionLimits, RunComparison};
use iotax_analysis::twin;
use std::collections::BTreeSet;
use std::sync::OnceLock;

type Fixture = (&'static str, fn() -> RunComparison);
const LIMITS: RegressionLimits = RegressionLimits { rate: Some(0.05), latency: None, cpu: None };

const FIXTURES: [Fixture; 6] = [
    ("slower", slower),
    ("writes", writes),
    ("mixed", mixed),
    ("emulated", emulated),
    ("partial", partial),
    ("plain", plain),
];

/// Those whose snapshots are kept in every form: between them they have every section of a
/// comparison. The others have one for a terminal of 80 columns.
const IN_EVERY_FORM: [&str; 2] = ["emulated", "partial"];

fn slower() -> RunComparison {
    compare_runs(&twin::a_week_before(21), &twin::a_week_later(22, 130_000.0), LIMITS).unwrap()
}

fn writes() -> RunComparison {
    let mut new = twin::writes();
    new.start.id = "20260101-130000-0007".into();
    new.start.at = "2026-01-01T13:00:00Z".into();
    compare_runs(&twin::writes(), &new, LIMITS).unwrap()
}

fn mixed() -> RunComparison {
    let mut new = twin::mixed();
    new.start.id = "20260101-130000-0007".into();
    new.start.at = "2026-01-01T13:00:00Z".into();
    compare_runs(&twin::mixed(), &new, LIMITS).unwrap()
}

fn emulated() -> RunComparison {
    let mut new = twin::guest();
    new.start.id = "20260101-130000-0007".into();
    new.places.iter_mut().for_each(|place| place.emulated = None);
    compare_runs(&twin::guest(), &new, LIMITS).unwrap()
}

fn partial() -> RunComparison {
    compare_runs(&twin::bill_of_seed(7), &twin::partial(), RegressionLimits::default()).unwrap()
}

fn plain() -> RunComparison {
    compare_runs(&twin::bill_of_seed(7), &twin::bill_of_seed(8), RegressionLimits::default())
        .unwrap()
}

fn all() -> impl Iterator<Item = (&'static str, &'static RunComparison)> {
    static FOUND: OnceLock<Vec<(&'static str, RunComparison)>> = OnceLock::new();
    FOUND
        .get_or_init(|| FIXTURES.map(|(name, make)| (name, make())).into())
        .iter()
        .map(|(name, one)| (*name, one))
}

fn render(against: &RunComparison, name: &str, width: usize) -> String {
    (by_name(name).unwrap().render)(against, &PageContext::of_width(width))
}

#[test]
fn the_family_is_in_order() {
    let names: BTreeSet<&str> = ALL.iter().map(|renderer| renderer.name).collect();
    assert_eq!(names.len(), ALL.len());
    assert!(by_name("csv").is_none());
}

#[test]
fn terminal() {
    for (name, found) in all() {
        for width in [80, 160] {
            let text = render(found, "terminal", width);
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{name} at {width}: {line}");
            }
            if width == 80 || IN_EVERY_FORM.contains(&name) {
                insta::assert_snapshot!(format!("{name}_{width}"), text);
            }
        }
    }
}

#[test]
fn narrow_terminals_lose_columns_not_sentences() {
    let found = slower();
    let (narrow, wide) = (render(&found, "terminal", 40), render(&found, "terminal", 160));
    assert!(wide.contains(" CPU/base ") && !narrow.contains(" CPU/base "), "{narrow}");
    assert!(narrow.contains("rate/base") && narrow.contains("costs"), "{narrow}");
}

#[test]
fn markdown() {
    for (name, found) in all().filter(|(name, _)| IN_EVERY_FORM.contains(name)) {
        insta::assert_snapshot!(format!("{name}_markdown"), render(found, "markdown", 80));
    }
}

#[test]
fn json() {
    for (name, found) in all() {
        let text = render(found, "json", 80);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (value["format"].as_str(), value["version"].as_u64()),
            (Some("iotax-comparison"), Some(1))
        );
        let ids = [&value["old"]["id"], &value["new"]["id"]].map(|id| id.as_str().unwrap());
        assert_eq!(ids, [&found.old.id, &found.new.id]);
        if name == "emulated" {
            insta::assert_snapshot!("emulated_json", text);
        }
    }
}

#[test]
fn every_form_says_verdict_basis_limit_and_emulation() {
    for renderer in ALL {
        let flat = |found: &RunComparison| {
            let text = (renderer.render)(found, &PageContext::of_width(160));
            text.replace('\\', "").split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let text = flat(&slower());
        for needed in [
            "loop, new against old: costs",
            "the baseline of its own run",
            "with the drift between the runs in the interval",
            "all of the interval is a loss beyond 5 %",
            "--fail-above 5 %: fails",
            "was 6.1.0 in the old run, is 6.12.9 in the new one",
        ] {
            assert!(text.contains(needed), "{} lacks {needed}: {text}", renderer.name);
        }
        assert!(
            flat(&emulated()).contains("only one of the runs is emulated: not comparable"),
            "{}",
            renderer.name
        );
        assert!(!flat(&plain()).contains("--fail-above"), "{}", renderer.name);
    }
}

#[test]
fn names_cannot_break_out_of_the_markdown() {
    let mut found = slower();
    let evil = "<script>|`x`";
    found.workloads[0].stacks[1].stack = evil.into();
    found.only.push(iotax_analysis::findings::against::OnlyIn {
        run: "old",
        what: "stack",
        name: evil.into(),
        detail: evil.into(),
    });
    let text = render(&found, "markdown", 80);
    assert!(text.contains("\\<script") && !text.replace("\\<", "").contains("<script"), "{text}");
}
