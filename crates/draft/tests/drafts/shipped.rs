//! Drafts of pages with the figures of five published articles, held against the scenarios that are
//! shipped for these: each shipped figure is given back, or listed with what differs. The pages in
//! `fixtures` are ours. `IOTAX_ARTICLES=/folder cargo test -p iotax-draft -- --ignored
//! --nocapture` does the same for the articles themselves (files `000*`, `001*`, ...).

use super::completed;
use iotax_audit::audit::audit;
use iotax_audit::container;
use iotax_draft::{ScenarioDraft, draft_scenarios};
use iotax_model::scenario::check::{ScenarioRequest, from_path};
use iotax_model::scenario::{Scenario, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Pages, each with the shipped scenarios of its figures.
const PAGES: [(&str, &str, &[&str]); 5] = [
    ("000", "passed-through-drive.md", &["e0-passthrough"]),
    ("001", "../../audit/fixtures/published/passthrough.md", &["e1-passthrough-vdisk"]),
    (
        "002",
        "private-cloud.md",
        &["e2-cache-queues", "e2-ceph", "e2-windows", "e2-unixbench", "e2-network", "e2-vpc"],
    ),
    ("003", "many-guests.md", &["e3-many-guests"]),
    (
        "004",
        "backends-over-fabrics.md",
        &["e4-controllers", "e4-drives", "e4-one-vm", "e4-backends-fabrics"],
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn drafts(name: &str, bytes: Vec<u8>) -> Vec<ScenarioDraft> {
    draft_scenarios(&audit(container::page(name, bytes))).unwrap()
}

/// A published figure: load, metric, stack, and the values that its digits stand for.
#[derive(Clone, Debug)]
struct Figure {
    load: String,
    metric: String,
    stack: String,
    printed: String,
    ends: [f64; 2],
}

impl Figure {
    fn is_same(&self, other: &Figure) -> bool {
        let close = |at: usize| (self.ends[at] - other.ends[at]).abs() <= 1e-6 * self.ends[1];
        close(0) && close(1)
    }
}

fn figures(scenario: &Scenario) -> Vec<Figure> {
    let all = scenario.published.iter().flat_map(|published| &published.figures);
    all.map(|one| Figure {
        load: one.workload.clone(),
        metric: one.metric.to_string(),
        stack: one.stack.clone(),
        printed: one.printed.clone(),
        ends: [one.low, one.high],
    })
    .collect()
}

/// Returns for each name of the first its likeliest name of the second.
fn likeliest<'f>(pairs: impl Iterator<Item = (&'f str, &'f str)>) -> BTreeMap<&'f str, &'f str> {
    let mut votes: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    pairs.for_each(|pair| *votes.entry(pair).or_default() += 1);
    let mut order: Vec<_> = votes.into_iter().collect();
    order.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut best = BTreeMap::new();
    order.into_iter().for_each(|((one, other), _)| _ = best.entry(one).or_insert(other));
    best
}

fn load_text(workload: &Workload) -> String {
    if let Some(probe) = &workload.probe {
        return format!("{probe:?}");
    }
    let job = &workload.jobs[0];
    format!(
        "rw={} bs={} iodepth={} numjobs={} rwmixread={} percentage_random={} fsync={}",
        job.rw.word(),
        job.bs,
        job.iodepth,
        job.numjobs,
        job.rwmixread,
        job.percentage_random,
        job.fsync
    )
}

/// Returns in words which words of two loads differ.
fn load_differences(shipped: &Workload, drafted: &Workload) -> Option<String> {
    let (one, other) = (load_text(shipped), load_text(drafted));
    let differing = one.split(' ').zip(other.split(' ')).filter(|(one, other)| one != other);
    let words: Vec<String> =
        differing.map(|(one, other)| format!("{one}, drafted {other}")).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// Compares the drafts of a page with one shipped scenario. Adds the drafted figures that it has to
/// `used`.
fn compare(name: &str, drafted: &[Scenario], used: &mut BTreeSet<String>) -> String {
    let path = root().join(format!("../../scenarios/{name}.toml"));
    let shipped = from_path(&path, &ScenarioRequest::default()).unwrap();
    let wanted = figures(&shipped);
    let given: Vec<Figure> = drafted.iter().flat_map(figures).collect();
    let alike = |one: &Figure, other: &Figure| one.metric == other.metric && one.is_same(other);
    let pairs = || {
        let with = |one| {
            given.iter().filter(move |other| alike(one, other)).map(move |other| (one, other))
        };
        wanted.iter().flat_map(with)
    };
    let loads = likeliest(pairs().map(|(one, other)| (one.load.as_str(), other.load.as_str())));
    let of_loads =
        pairs().filter(|(one, other)| loads.get(one.load.as_str()) == Some(&other.load.as_str()));
    let stacks = likeliest(of_loads.map(|(one, other)| (one.stack.as_str(), other.stack.as_str())));
    let (mut missing, mut found) = (Vec::new(), 0);
    for one in &wanted {
        let place = loads.get(one.load.as_str()).zip(stacks.get(one.stack.as_str()));
        let back = given.iter().find(|other| {
            place.is_some_and(|(load, stack)| other.load == **load && other.stack == **stack)
                && alike(one, other)
        });
        match back {
            Some(other) => {
                found += 1;
                used.insert(format!(
                    "{} {} {} {}",
                    other.load, other.metric, other.stack, other.printed
                ));
            }
            None => missing
                .push(format!("{} {} of {}: {}", one.load, one.metric, one.stack, one.printed)),
        }
    }
    let mut out = format!("{name}: {found} of {} figures\n", wanted.len());
    missing.iter().for_each(|line| _ = writeln!(out, "  missing: {line}"));
    for (one, other) in &loads {
        let of = |all: &[Workload], name: &str| all.iter().find(|load| load.name == name).cloned();
        let drafted = drafted.iter().find_map(|scenario| of(&scenario.workloads, other));
        let differs = load_differences(&of(&shipped.workloads, one).unwrap(), &drafted.unwrap());
        differs.into_iter().for_each(|words| _ = writeln!(out, "  load {one}: {words}"));
    }
    out
}

/// Compares the drafts of a page with all its shipped scenarios.
fn compare_page(bytes: Vec<u8>, name: &str, shipped: &[&str]) -> String {
    let drafted: Vec<Scenario> = drafts(name, bytes).iter().map(completed).collect();
    let mut used = BTreeSet::new();
    let mut out: String = shipped.iter().map(|name| compare(name, &drafted, &mut used)).collect();
    let mut more: BTreeMap<String, usize> = BTreeMap::new();
    for one in drafted.iter().flat_map(figures) {
        let Figure { load, metric, stack, printed, .. } = one;
        if !used.contains(&format!("{load} {metric} {stack} {printed}")) {
            *more.entry(metric).or_default() += 1;
        }
    }
    let more: Vec<String> =
        more.into_iter().map(|(metric, count)| format!("{count} {metric}")).collect();
    if !more.is_empty() {
        _ = writeln!(out, "  more than shipped: {}", more.join(", "));
    }
    out
}

#[test]
fn drafts_give_the_shipped_figures_back() {
    let mut differences = String::new();
    for (_, page, shipped) in PAGES {
        let path = root().join("fixtures").join(page);
        differences += &compare_page(std::fs::read(&path).unwrap(), page, shipped);
    }
    let file = root().join("tests/drafts/differences.txt");
    if std::env::var_os("IOTAX_WRITE_PAGES").is_some() {
        std::fs::write(&file, &differences).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(differences, known, "IOTAX_WRITE_PAGES=1 writes {}", file.display());
}

#[test]
#[ignore = "needs the articles, which are not in the repository"]
fn drafts_of_the_articles_give_the_shipped_figures_back() {
    let folder = std::env::var("IOTAX_ARTICLES").expect("IOTAX_ARTICLES=/folder");
    let files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    for (start, _, shipped) in PAGES {
        let is_article = |path: &&PathBuf| {
            path.is_file()
                && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
        };
        let file = files.iter().find(is_article).expect(start);
        println!("{}", compare_page(std::fs::read(file).unwrap(), start, shipped));
    }
}
