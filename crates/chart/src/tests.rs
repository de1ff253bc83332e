//! Every kind on every simulated run: sound XML, small, without anything that acts, and quickly.

use super::*;
use iotax_analysis::{Findings, RunData, findings, twin};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const MOST_BYTES: usize = 150_000;

fn request<'a>(run: &'a RunData, found: &'a Findings) -> ChartRequest<'a> {
    ChartRequest { run, findings: found, load: None, quantity: ChartQuantity::Rate }
}

fn all_runs() -> Vec<(String, RunData)> {
    let fixtures = twin::FIXTURES.iter().map(|(name, make)| ((*name).to_owned(), make()));
    let many = [(1, 1), (12, 3), (40, 6)]
        .map(|(stacks, loads)| (format!("many-{stacks}-{loads}"), twin::many(stacks, loads)));
    fixtures.chain(many).collect()
}

fn check(name: &str, svg: &str) {
    assert!(svg.len() <= MOST_BYTES, "{name}: {} bytes", svg.len());
    let options = roxmltree::ParsingOptions { nodes_limit: 100_000, ..Default::default() };
    let tree = roxmltree::Document::parse_with_options(svg, options)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let root = tree.root_element();
    assert_eq!(root.attribute("role"), Some("img"), "{name}");
    for tag in ["title", "desc", "style"] {
        let text =
            root.children().find(|node| node.has_tag_name(("http://www.w3.org/2000/svg", tag)));
        assert!(
            text.and_then(|node| node.text()).is_some_and(|text| text.len() > 5),
            "{name}: {tag}"
        );
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{name} has a figure that is none");
    for node in tree.descendants().filter(roxmltree::Node::is_element) {
        assert!(
            !["script", "image", "a", "use", "foreignObject"].contains(&node.tag_name().name())
        );
        let acts = |attribute: roxmltree::Attribute| {
            attribute.name().starts_with("on") || attribute.name() == "href"
        };
        assert!(!node.attributes().any(acts), "{name}");
    }
    let outside = svg.matches("://").count() - svg.matches("http://www.w3.org/2000/svg").count();
    assert_eq!(outside, 0, "{name} refers to something outside");
}

/// With IOTAX_PAGES it also writes the charts to that folder, to be looked at.
#[test]
fn every_kind_on_every_run_is_sound_small_and_quick() {
    let mut drawn = BTreeSet::new();
    for (name, run) in all_runs() {
        let found = findings(&run);
        for quantity in [ChartQuantity::Rate, ChartQuantity::Latency, ChartQuantity::Cpu] {
            let asked = ChartRequest { quantity, ..request(&run, &found) };
            let begin = Instant::now();
            for kind in kinds_of_run(&asked) {
                let (_, drawing) = chart(&asked, Some(kind.name)).unwrap();
                drawn.insert(kind.name);
                let title = format!("{name}-{}-{}", kind.name, quantity.word());
                check(&title, &drawing.to_svg(ChartTheme::Auto));
                if let Some(folder) = std::env::var_os("IOTAX_PAGES") {
                    let path = std::path::Path::new(&folder).join(format!("{title}.svg"));
                    std::fs::write(path, drawing.to_svg(ChartTheme::Auto)).unwrap();
                }
            }
            // Two seconds on an idle machine, unoptimised.
            assert!(begin.elapsed() < Duration::from_secs(60), "{name}: {:?}", begin.elapsed());
        }
    }
    let missing: Vec<&str> =
        ALL.iter().map(|kind| kind.name).filter(|name| !drawn.contains(name)).collect();
    assert!(missing.is_empty(), "no simulated run has data for {missing:?}");
}

#[test]
fn the_best_kind_follows_what_a_run_is_about() {
    let best = |run: RunData| {
        let found = findings(&run);
        chart(&request(&run, &found), None).map(|(kind, _)| kind.name)
    };
    assert_eq!(best(twin::bill()), Ok("bill"));
    assert_eq!(best(twin::limits()), Ok("limits"));
    assert_eq!(best(twin::sweep()), Ok("sweep"));
    assert_eq!(best(twin::states()), Ok("states"));
    assert_eq!(best(twin::cells()), Ok("grid"));
    assert_eq!(best(twin::a_against_a()), Ok("verdicts"));
    assert_eq!(best(twin::imported()), Ok("bars"));
    let nothing = best(twin::durability()).unwrap_err().to_string();
    assert!(nothing.starts_with("this run has no data for any chart: "), "{nothing}");
}

#[test]
fn errors_list_what_the_run_has() {
    let run = twin::a_against_a();
    let found = findings(&run);
    let asked = request(&run, &found);
    let error = |asked: &ChartRequest, kind| chart(asked, Some(kind)).unwrap_err().to_string();
    let unknown = error(&asked, "pie");
    assert!(unknown.contains("\"pie\"; known are limits, states, bill"), "{unknown}");
    let absent = error(&asked, "bill");
    assert!(absent.contains("it has verdicts, bars, latency, overtime, heat"), "{absent}");
    let other = ChartRequest { quantity: ChartQuantity::Cpu, ..asked };
    assert!(error(&other, "heat").contains("take bill or verdicts"), "{}", error(&other, "heat"));
    let beyond = ChartRequest { load: Some(9), ..asked };
    assert!(
        error(&beyond, "bars").contains("with --load 9: its loads are 1 "),
        "{}",
        error(&beyond, "bars")
    );
}

#[test]
fn hostile_names_are_text() {
    let mut run = twin::bill();
    let hostile = "</text><script>alert(1)</script>\u{1b}[2J\u{202e}\u{ffff}&\"' http://a";
    let old = run.start.scenario.stacks[1].name.clone();
    run.start.scenario.stacks[1].name = hostile.to_owned();
    run.slices
        .iter_mut()
        .filter(|slice| slice.stack == old)
        .for_each(|slice| slice.stack = hostile.to_owned());
    let found = findings(&run);
    let asked = request(&run, &found);
    for kind in kinds_of_run(&asked) {
        let svg = chart(&asked, Some(kind.name)).unwrap().1.to_svg(ChartTheme::Dark);
        let tree = roxmltree::Document::parse(&svg)
            .unwrap_or_else(|error| panic!("{}: {error}", kind.name));
        assert!(
            !tree.descendants().any(|node| node.tag_name().name() == "script"),
            "{}",
            kind.name
        );
        assert!(!svg.contains(iotax_units::harmless::acts), "{}", kind.name);
    }
}

#[test]
fn a_waterfall_ends_where_its_total_is() {
    let run = twin::bill();
    let found = findings(&run);
    let (_, drawing) = chart(&request(&run, &found), Some("bill")).unwrap();
    let total = &found.joint_bills[0].bill.total.of_baseline;
    let text = format!("what is left {:.1} \u{b1} ", 100.0 * total.value().unwrap());
    assert!(drawing.description().contains(&text), "{text}: {}", drawing.description());
    assert!(drawing.description().contains("file 100 %; loop \u{2212}"));
}

#[test]
fn a_step_after_a_missing_one_ends_where_the_total_is() {
    let run = twin::failed();
    let found = findings(&run);
    let svg = chart(&request(&run, &found), Some("bill")).unwrap().1.to_svg(ChartTheme::Light);
    let tree = roxmltree::Document::parse(&svg).unwrap();
    let bars = tree
        .descendants()
        .filter(|node| node.attribute("class").is_some_and(|class| class.starts_with("bar ")));
    let edges: Vec<(f64, f64)> = bars
        .filter_map(|bar| {
            let number = |name| bar.attribute(name)?.parse::<f64>().ok();
            // Those of the legend are 24 wide.
            let (x, width) = (number("x")?, number("width")?);
            (width != 24.0).then_some((x, x + width))
        })
        .collect();
    let [baseline, step, left] = edges[..] else { panic!("{edges:?}") };
    assert!((step.0 - left.1).abs() < 0.2 && step.1 < baseline.1, "{edges:?}");
}

/// A course with figures that no machine gives, and slices that took no time or all of it.
#[test]
fn strange_figures_hang_nothing() {
    let strange = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1e300];
    for value in strange {
        let mut run = twin::limits();
        for course in &mut run.courses {
            course.points[5] = (value, value);
            course.points[500] = (6.0, value);
        }
        let mut found = findings(&run);
        for course in found.limits.iter_mut().flat_map(|limits| &mut limits.courses) {
            course.seconds = value;
        }
        let svg =
            chart(&request(&run, &found), Some("limits")).unwrap().1.to_svg(ChartTheme::Light);
        check("limits", &svg);
    }
    let mut run = twin::bill();
    let found = findings(&run);
    run.slices[3].start_ns = u64::MAX;
    run.slices[4].window_ns = 1;
    run.slices[5].window_ns = u64::MAX;
    for kind in ["overtime", "heat"] {
        check(
            kind,
            &chart(&request(&run, &found), Some(kind)).unwrap().1.to_svg(ChartTheme::Light),
        );
    }
}

#[test]
fn published_figures_are_diamonds_of_other_hardware() {
    let run = twin::published();
    let found = findings(&run);
    let svg = chart(&request(&run, &found), Some("bars")).unwrap().1.to_svg(ChartTheme::Light);
    assert!(svg.contains("published, other hardware"));
    // One in the legend, and one for each printed rate.
    assert_eq!(svg.matches("class=\"diamond\"").count(), 1 + 3);
}

#[cfg(feature = "png")]
#[test]
fn a_png_has_the_size_of_its_chart() {
    let run = twin::a_against_a();
    let found = findings(&run);
    let svg = chart(&request(&run, &found), None).unwrap().1.to_svg(ChartTheme::Light);
    match render_png(&svg) {
        Ok(bytes) => {
            assert_eq!(&bytes[1..4], b"PNG");
            assert_eq!(u32::from_be_bytes(bytes[16..20].try_into().unwrap()), 1800);
        }
        Err(error) => assert!(error.to_string().contains("fonts-dejavu-core"), "{error}"),
    }
}
