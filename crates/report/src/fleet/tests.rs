//! Every form of the report on made-up fleets.

use super::{ALL, FLEET_LINES, brief, by_name};
use crate::html::without_own_script;
use crate::{PageContext, ReportPlaces, TerminalLook};
use iotax_analysis::findings::fleet::FleetFindings;
use iotax_analysis::fleet::fleet_findings;
use iotax_analysis::fleet::made_up_fleet::MadeUpFleet;

fn twelve() -> FleetFindings {
    let fleet =
        MadeUpFleet { slow: vec![(7, 0.62)], lost: vec![4], ..MadeUpFleet::of_hosts(12, 1) };
    let mut input = fleet.build();
    let before = MadeUpFleet { id: "20260201-101500-ab12".into(), ..MadeUpFleet::of_hosts(12, 2) };
    input.earlier = Some(Box::new(before.build()));
    fleet_findings(&input)
}

fn thousand() -> FleetFindings {
    let slow = (1..=25).map(|at| (at * 40, 0.8 - at as f64 / 200.0)).collect();
    let lost = (1..=30).map(|at| at * 31 + 1).collect();
    let slow_facts = vec![["drive", "firmware", "GDC5302Q"]];
    fleet_findings(
        &MadeUpFleet { slow, lost, slow_facts, ..MadeUpFleet::of_hosts(1000, 3) }.build(),
    )
}

fn brief_of(found: &FleetFindings, width: usize) -> String {
    let places = ReportPlaces { command: "iotax fleet report 20260301", page: None };
    brief(found, &places, &PageContext::of_width(width))
}

#[test]
fn the_terminal_answers_within_25_lines_of_80_columns() {
    for found in [twelve(), thousand()] {
        for width in [80, 160] {
            let text = brief_of(&found, width);
            println!("{text}");
            assert!(text.lines().count() <= FLEET_LINES, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        }
    }
    let text = brief_of(&twelve(), 80);
    assert!(text.starts_with("nightly \u{b7} 11 of 12 hosts done; 1 lost"), "{text}");
    assert!(text.contains("n7 is 38 % slower") || text.contains("n7 is 37"), "{text}");
    assert!(text.contains("next: iotax fleet resume"), "{text}");
    let ascii = TerminalLook { ascii: true, ..TerminalLook::default() };
    let places = ReportPlaces { command: "iotax", page: None };
    let text = brief(&twelve(), &places, &PageContext { width: 80, look: ascii });
    assert!(text.contains("\nv n7 is "), "{text}");
}

#[test]
fn many_loads_have_numbers_for_heads_and_still_fit() {
    let mut input = MadeUpFleet { slow: vec![(3, 0.7)], ..MadeUpFleet::of_hosts(14, 4) }.build();
    for figures in input.hosts.iter_mut().filter_map(|host| host.figures.as_mut()) {
        let mut more = figures.figures.clone();
        for one in &mut more {
            one.key.workload = "randwrite-64k-x8-of-a-long-name".into();
            one.subject = "64k random writes at iodepth 8".into();
        }
        figures.figures.extend(more);
    }
    let found = fleet_findings(&input);
    assert_eq!(found.figures.len(), 10);
    let text = brief_of(&found, 80);
    println!("{text}");
    assert!(text.lines().count() <= FLEET_LINES, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let full = (by_name("terminal").unwrap().render)(&found, &PageContext::of_width(80));
    assert!(full.lines().all(|line| line.chars().count() <= 80), "{full}");
    assert!(full.contains("randwrite-64k-x8-of-a-long-name: 64k random writes"), "{full}");
}

#[test]
fn every_form_names_the_outlier_its_cause_and_the_lost_host() {
    let found = twelve();
    for renderer in ALL {
        let text = (renderer.render)(&found, &PageContext::of_width(80));
        assert!(text.contains("n7") && text.contains("lost"), "{}: {text}", renderer.name);
        if renderer.name != "csv" {
            assert!(text.contains("8.0 GT/s x2"), "{}: {text}", renderer.name);
        }
    }
    let text = (by_name("terminal").unwrap().render)(&found, &PageContext::of_width(80));
    println!("{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let csv = (by_name("csv").unwrap().render)(&found, &PageContext::default());
    assert_eq!(csv.lines().count(), 1 + 11 * 5 + 1);
}

#[test]
fn brackets_of_a_load_stay_in_the_line_under_the_title() {
    let mut input = MadeUpFleet { slow: vec![(7, 0.62)], ..MadeUpFleet::of_hosts(12, 1) }.build();
    let own = input.hosts.iter_mut().filter_map(|host| host.figures.as_mut());
    own.flat_map(|one| &mut one.figures).for_each(|one| one.subject = "stream (tcp)".into());
    let found = fleet_findings(&input);
    let text = (by_name("markdown").unwrap().render)(&found, &PageContext::default());
    assert!(text.contains("stream (tcp), IOPS of file; likely: PCIe link"), "{text}");
}

#[test]
fn a_page_of_a_thousand_hosts_stays_small_and_folds_them() {
    let found = thousand();
    let page = (by_name("html").unwrap().render)(&found, &PageContext::default());
    if let Some(folder) = std::env::var_os("IOTAX_PAGES") {
        let twelve = (by_name("html").unwrap().render)(&twelve(), &PageContext::default());
        std::fs::write(std::path::Path::new(&folder).join("fleet12.html"), twelve).unwrap();
        std::fs::write(std::path::Path::new(&folder).join("fleet1000.html"), &page).unwrap();
    }
    assert!(page.len() < 2 << 20, "{} bytes", page.len());
    assert!(page.contains("class=\"histogram\"") && page.contains("All hosts"));
    let text = (by_name("markdown").unwrap().render)(&found, &PageContext::default());
    assert!(text.lines().count() < 250, "{} lines", text.lines().count());
}

#[test]
fn text_from_hosts_is_escaped() {
    let mut input = MadeUpFleet { lost: vec![2], ..MadeUpFleet::of_hosts(5, 9) }.build();
    input.hosts[0].host = "=<b>\u{1b}[2J|x".into();
    input.hosts[1].why = Some("<script>alert(1)</script>\u{1b}]0;x".into());
    let facts = &mut input.hosts[2].figures.as_mut().unwrap().facts;
    facts[0].value = "<img src=x>".into();
    let found = fleet_findings(&input);
    let page = (by_name("html").unwrap().render)(&found, &PageContext::default());
    let rest = without_own_script(&page);
    assert!(!rest.contains("<script") && !rest.contains("<img") && !rest.contains("<b>"));
    assert!(!rest.contains('\u{1b}'), "a control character");
    let csv = (by_name("csv").unwrap().render)(&found, &PageContext::default());
    assert!(csv.contains("'=<b>") && !csv.contains('\u{1b}'), "{csv}");
    let json = (by_name("json").unwrap().render)(&found, &PageContext::default());
    assert!(!json.contains('\u{1b}'));
}

#[test]
fn fleets_without_figures_are_rendered() {
    let none = iotax_analysis::fleet::FleetInput::default();
    let lost = MadeUpFleet { lost: vec![1, 2, 3], ..MadeUpFleet::of_hosts(3, 1) }.build();
    for input in [none, lost] {
        let found = fleet_findings(&input);
        for renderer in ALL {
            let text = (renderer.render)(&found, &PageContext::default());
            assert!(!text.is_empty(), "{}", renderer.name);
        }
        assert!(brief_of(&found, 80).contains("unresolved: no host has a figure"));
    }
}
