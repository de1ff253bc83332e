//! What makes figures lie although every one of them is right: a clock that runs apart, time stolen by a hypervisor, more jobs
//! than processors, a cache that holds all of the data, sides that differ in more than their layers. Each is a check of its
//! own in [`CHECKS`]; none changes a figure.

use super::findings::{WarningReport, WorkloadFindings};
use super::reading::Reading;
use super::run::RunData;
use super::warnings::warning;
use crate::host::facts::{Device, Facts};
use crate::scenario::{LayerSpec, Stack};
use crate::stats::Verdict;
use crate::store::record::{HOST, PlaceFacts, Slice, Value};
use crate::units::show_bytes;
use std::collections::BTreeSet;

/// A stack under one workload, with what was found of it.
struct Case<'a> {
    reading: &'a Reading<'a>,
    found: &'a WorkloadFindings,
    at: usize,
}

type Check = fn(&Case) -> Option<(&'static str, String)>;

/// All checks.
const CHECKS: &[Check] = &[
    clock,
    stolen,
    too_few_processors,
    held_by_the_cache,
    answered_by_a_cache,
    faster_than_below,
    other_sides,
    engines,
];

/// What they find, once for all workloads that it is true of.
pub fn doubts(readings: &[Reading], workloads: &[WorkloadFindings]) -> Vec<WarningReport> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for (reading, found) in readings.iter().zip(workloads) {
        for at in 0..reading.sides.len() {
            let case = Case { reading, found, at };
            for (kind, text) in CHECKS.iter().filter_map(|check| check(&case)) {
                if seen.insert((kind, at, text.clone())) {
                    all.push(warning(kind, case.stack().name.as_str(), text));
                }
            }
        }
    }
    all
}

impl<'a> Case<'a> {
    fn run(&self) -> &'a RunData {
        self.reading.run
    }

    fn stack(&self) -> &'a Stack {
        &self.run().start.scenario.stacks[self.at]
    }

    fn slices(&self) -> impl Iterator<Item = &'a Slice> {
        let (stack, workload) = (&self.stack().name, &self.reading.workload.name);
        self.run().slices.iter().filter(move |slice| slice.stack == *stack && slice.workload == *workload)
    }

    /// Facts of the place where a stack's load ran, as they were last recorded.
    fn place_of(&self, at: usize) -> Option<&'a PlaceFacts> {
        let place = &self.reading.worker(at)?.place;
        self.run().places.iter().rfind(|known| known.place == *place)
    }

    /// The device under load.
    fn device_of(&self, at: usize) -> Option<&'a Device> {
        let target = &self.reading.worker(at)?.target;
        let targets = &self.place_of(at)?.facts.targets;
        targets.iter().find(|known| known.path.to_str() == Some(target))?.devices.first()
    }
}

/// Rates by a clock that runs faster are lower by as much: a twentieth of a percent is told.
const CLOCKS_APART: f64 = 5e-4;
/// Below this the round trips by which clocks are compared hide what they differ by.
const CLOCK_SPAN_NS: u64 = 5_000_000_000;

/// A guest's clock against the host's.
fn clock(case: &Case) -> Option<(&'static str, String)> {
    let place = case.reading.worker(case.at).map(|worker| worker.place.as_str())?;
    let first = case.slices().next().filter(|_| place != HOST)?;
    let of_visit = |slice: &&Slice| (slice.visit, slice.set) == (first.visit, first.set);
    let last = case.slices().filter(of_visit).last()?;
    let span_ns = last.start_ns.saturating_sub(first.start_ns);
    let apart = (last.clock_offset_ns - first.clock_offset_ns) as f64 / span_ns.max(1) as f64;
    (span_ns >= CLOCK_SPAN_NS && apart.abs() > CLOCKS_APART).then(|| {
        let way = if apart > 0.0 { "fast" } else { "slow" };
        let text = format!(
            "the clock of {place} runs {:.2} % {way} against the host's, and rates and latencies there are off by as much",
            100.0 * apart.abs()
        );
        ("clock", text)
    })
}

/// More than this of the processors' time is told.
const STOLEN: f64 = 0.01;

fn stolen(case: &Case) -> Option<(&'static str, String)> {
    let (mut stolen, mut all) = (0.0, 0.0);
    for cpu in case.slices().filter_map(|slice| slice.cpu) {
        stolen += cpu.steal_ns as f64;
        all += (cpu.user_ns + cpu.system_ns + cpu.steal_ns + cpu.idle_ns) as f64;
    }
    let place = &case.reading.worker(case.at)?.place;
    (all > 0.0 && stolen / all > STOLEN).then(|| {
        let share = 100.0 * stolen / all;
        ("steal", format!("a hypervisor took {share:.1} % of the processors' time of {place} for others"))
    })
}

fn too_few_processors(case: &Case) -> Option<(&'static str, String)> {
    let place = case.place_of(case.at)?;
    let processors = place.facts.cpu.threads?;
    let jobs: u64 = case.reading.workload.jobs.iter().map(|job| u64::from(job.numjobs)).sum();
    (place.place != HOST && jobs > processors).then(|| {
        let text = format!(
            "{jobs} jobs run on the {processors} processors of {}: they wait for each other",
            place.place
        );
        ("vcpus", text)
    })
}

/// Of a disk that goes through the host's page cache.
fn held_by_the_cache(case: &Case) -> Option<(&'static str, String)> {
    let stack = &case.stack().name;
    let disks = case.run().places.iter().flat_map(|place| &place.disks);
    disks
        .filter(|disk| disk.stack == *stack)
        .find(|disk| disk.qemu.get("cache.direct").is_some_and(|on| on == "off"))?;
    let host: &Facts = &case.run().places.iter().find(|place| place.place == HOST)?.facts;
    let (bytes, memory) = (case.reading.worker(case.at)?.bytes, host.memory_bytes?);
    (bytes < memory).then(|| {
        let text = format!(
            "its disk goes through the host's page cache, and the data under test ({}) fits the host's memory ({}): \
             what is measured is memory",
            show_bytes(bytes),
            show_bytes(memory)
        );
        ("cached", text)
    })
}

/// A device that gave less than this part of what was read.
const FROM_THE_DEVICE: f64 = 0.9;

/// Reads that never came to the device: a page cache of the host had them, or nothing was ever written there.
fn answered_by_a_cache(case: &Case) -> Option<(&'static str, String)> {
    let (mut read, mut given) = (0.0, 0.0);
    for slice in case.slices() {
        let Some(bytes) = slice.device_read_bytes else { continue };
        let value = |metric: &str| {
            slice.samples.iter().find(|sample| sample.metric == metric).map_or(0.0, |sample| {
                match sample.value {
                    Value::Value(value) => value,
                    _ => 0.0,
                }
            })
        };
        let ios = value("read.ios") + value("write.ios");
        // What was discarded at the start and drained at the end was read from the device, too.
        let whole = if ios > 0.0 { 1.0 + slice.discarded_ios as f64 / ios } else { 1.0 };
        (read, given) = (read + value("read.bytes") * whole, given + bytes as f64);
    }
    (read > 0.0 && given < FROM_THE_DEVICE * read).then(|| {
        let share = 100.0 * given / read;
        let text = format!(
            "only {share:.0} % of what was read came from the device below: a page cache of this host answered the rest, or it was never written"
        );
        ("cached", text)
    })
}

/// A layer that is faster than what it stands on has a cache, or measured something else.
fn faster_than_below(case: &Case) -> Option<(&'static str, String)> {
    let scenario = &case.run().start.scenario;
    let below = &scenario.stacks[scenario.baseline];
    let stack = case.stack();
    let stands_on_it = below.medium == stack.medium
        && below.layers.len() < stack.layers.len()
        && below.layers.iter().zip(&stack.layers).all(|(a, b)| a.key() == b.key())
        && stack.layers.iter().all(|layer| layer.copies == 1);
    let gains = case
        .found
        .comparisons
        .iter()
        .any(|one| one.stack == stack.name && matches!(one.verdict, Verdict::Gains { .. }));
    (stands_on_it && gains).then(|| {
        let text = format!(
            "it is faster than {}, on which it stands: a cache answers, requests are merged on the way, or it reads what was never written",
            below.name
        );
        ("faster", text)
    })
}

/// What else is not the same on both sides.
fn other_sides(case: &Case) -> Option<(&'static str, String)> {
    let base = case.run().start.scenario.baseline;
    let (a, b) = (case.place_of(base)?, case.place_of(case.at)?);
    let mut differ = Vec::new();
    if a.place != b.place {
        let mut add = |what: &str, of: fn(&Facts) -> Option<String>| {
            if let (Some(a), Some(b)) = (of(&a.facts), of(&b.facts)) {
                differ.extend((a != b).then(|| format!("{what} {a} there, {b} here")));
            }
        };
        add("kernel", |facts| facts.kernel.clone());
        add("mitigations", |facts| Some(mitigations(facts)));
    }
    if let (Some(a), Some(b)) = (case.device_of(base), case.device_of(case.at)) {
        let mut add = |what: &str, of: fn(&Device) -> Option<String>| {
            if let (Some(a), Some(b)) = (of(a), of(b)) {
                differ.extend((a != b).then(|| format!("{what} {a} there, {b} here")));
            }
        };
        add("scheduler", |device| device.scheduler.clone());
        add("nr_requests", |device| device.queue.get("nr_requests").cloned());
    }
    let name = case.reading.name(base);
    (!differ.is_empty())
        .then(|| ("sides", format!("differs from {name} in more than its layers: {}", differ.join("; "))))
}

/// fio on one side, and another generator or another fio on the other, where no layer says so.
fn engines(case: &Case) -> Option<(&'static str, String)> {
    let base = case.run().start.scenario.baseline;
    let engine = |at: usize| case.reading.worker(at).map(|worker| worker.engine.as_str());
    let named = |at: usize| {
        let layers = &case.run().start.scenario.stacks[at].layers;
        layers.iter().rev().find(|layer| layer.name == "engine").map(LayerSpec::key)
    };
    let (there, here) = (engine(base)?, engine(case.at)?);
    let of_fio = [there, here].iter().any(|name| name.starts_with("fio"));
    (of_fio && there != here && named(base) == named(case.at)).then(|| {
        let name = case.reading.name(base);
        let text = format!(
            "it is loaded by {here}, and {name} by {there}: the generators' own costs are part of the difference"
        );
        ("engines", text)
    })
}

/// How many vulnerabilities are mitigated: `11 on, 2 off`.
fn mitigations(facts: &Facts) -> String {
    let off = |state: &&String| state.starts_with("Vulnerable");
    let all = facts.cpu.mitigations.values();
    let vulnerable = all.clone().filter(off).count();
    format!("{} on, {vulnerable} off", all.filter(|state| state.starts_with("Mitigation")).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::findings;
    use crate::bill::twin;

    fn kinds(run: &RunData) -> Vec<(String, String)> {
        let known = ["clock", "steal", "vcpus", "cached", "faster", "sides", "engines"];
        let found = findings(run).warnings.into_iter().filter(|one| known.contains(&one.kind.as_str()));
        found.map(|one| (one.kind, one.text)).collect()
    }

    fn change_guest(run: &mut RunData, change: impl Fn(&mut Slice)) {
        run.slices.iter_mut().filter(|slice| slice.stack != "file").for_each(change);
    }

    #[test]
    fn a_clock_that_runs_apart_is_told() {
        let mut run = twin::guest();
        let before = kinds(&run);
        assert!(before.iter().all(|(kind, _)| kind != "clock"), "{before:?}");
        change_guest(&mut run, |slice| slice.clock_offset_ns = (slice.start_ns / 500) as i64);
        let found = kinds(&run);
        let text = &found.iter().find(|(kind, _)| kind == "clock").unwrap().1;
        assert!(text.starts_with("the clock of vm runs 0.20 % fast against the host's"), "{text}");
    }

    #[test]
    fn stolen_time_and_jobs_that_wait_are_told() {
        let mut run = twin::guest();
        change_guest(&mut run, |slice| {
            if let Some(cpu) = &mut slice.cpu {
                cpu.steal_ns = cpu.idle_ns / 10;
            }
        });
        let guest = run.places.iter_mut().find(|place| place.place == "vm").unwrap();
        guest.facts.cpu.threads = Some(2);
        run.start.scenario.workloads[0].jobs[0].numjobs = 4;
        let found = kinds(&run);
        let text = |kind: &str| found.iter().find(|(known, _)| known == kind).unwrap().1.clone();
        assert!(text("steal").contains("% of the processors' time of vm for others"), "{found:?}");
        assert_eq!(text("vcpus"), "4 jobs run on the 2 processors of vm: they wait for each other");
    }

    #[test]
    fn a_cache_that_holds_all_and_a_layer_that_is_faster_are_told() {
        let mut run = twin::guest();
        let guest = run.places.iter_mut().find(|place| place.place == "vm").unwrap();
        guest.disks[0].qemu.insert("cache.direct".into(), "off".into());
        let host = run.places.iter_mut().find(|place| place.place == HOST).unwrap();
        host.facts.memory_bytes = Some(64 << 30);
        let found = kinds(&run);
        let text = &found.iter().find(|(kind, _)| kind == "cached").unwrap().1;
        assert!(text.contains("(4 GiB) fits the host's memory (64 GiB)"), "{text}");
        let faster = kinds(&twin::faster());
        assert!(
            faster.iter().any(|(kind, text)| kind == "faster" && text.contains("faster than file")),
            "{faster:?}"
        );
        assert!(kinds(&twin::bill()).iter().all(|(kind, _)| kind != "faster"));
    }

    #[test]
    fn reads_that_never_came_to_the_device_are_told() {
        let mut run = twin::guest();
        let bytes = |slice: &Slice| {
            let of =
                |name: &str| slice.samples.iter().find(|one| one.metric == name).map(|one| one.value.clone());
            let Some(Value::Value(bytes)) = of("read.bytes") else { panic!("{slice:?}") };
            let Some(Value::Value(ios)) = of("read.ios") else { panic!("{slice:?}") };
            bytes * (1.0 + slice.discarded_ios as f64 / ios)
        };
        for slice in &mut run.slices {
            let part = if slice.stack == "file" { 1.0 } else { 0.25 };
            slice.device_read_bytes = Some((part * bytes(slice)) as u64);
        }
        let found = findings(&run).warnings;
        let told: Vec<_> = found.iter().filter(|one| one.text.starts_with("only 25 %")).collect();
        assert_eq!(told.len(), 1, "{found:?}");
        assert_eq!(told[0].subject, "vm(vcpus=2)");
    }

    #[test]
    fn two_generators_that_nobody_asked_to_compare_are_told() {
        let mut run = twin::guest();
        let load = |run: &mut RunData, stack: &str, engine: &str| {
            let of_stack = run.workers.iter_mut().filter(|worker| worker.stack == stack);
            of_stack.for_each(|worker| worker.engine = engine.into());
        };
        let told =
            |run: &RunData| kinds(run).into_iter().find(|(kind, _)| kind == "engines").map(|(_, text)| text);
        load(&mut run, "file", "fio 3.33");
        load(&mut run, "vm(vcpus=2)", "fio 3.33");
        assert_eq!(told(&run), None);
        load(&mut run, "vm(vcpus=2)", "fio 3.19");
        assert_eq!(
            told(&run).as_deref(),
            Some(
                "it is loaded by fio 3.19, and file by fio 3.33: the generators' own costs are part of the difference"
            )
        );
        load(&mut run, "file", "uring");
        assert!(told(&run).is_some_and(|text| text.contains("and file by uring")));
        let guest = run.start.scenario.stacks.iter_mut().find(|stack| stack.name != "file").unwrap();
        guest.layers.push(LayerSpec {
            name: "engine".into(),
            options: [("name".to_owned(), "fio".to_owned())].into(),
            place: None,
            copies: 1,
            origin: "a test".into(),
        });
        assert_eq!(told(&run), None, "that is what is compared");
    }

    #[test]
    fn sides_that_differ_in_more_than_their_layers_are_told() {
        let mut run = twin::guest();
        let guest = run.places.iter_mut().find(|place| place.place == "vm").unwrap();
        guest.facts.kernel = Some("6.1.0-56-amd64".into());
        guest.facts.cpu.mitigations = [("spectre_v2".to_owned(), "Vulnerable".to_owned())].into();
        let host = run.places.iter_mut().find(|place| place.place == HOST).unwrap();
        host.facts.kernel = Some("6.18.0".into());
        host.facts.cpu.mitigations = [("spectre_v2".to_owned(), "Mitigation: IBRS".to_owned())].into();
        let found = kinds(&run);
        assert_eq!(
            found.iter().find(|(kind, _)| kind == "sides").unwrap().1,
            "differs from file in more than its layers: kernel 6.18.0 there, 6.1.0-56-amd64 here; mitigations 1 on, 0 off there, 0 on, 1 off here"
        );
    }
}
