//! Causes that make figures misleading although every one of them is right: a clock that runs at
//! another speed, time stolen by a hypervisor, more jobs than processors, a cache that holds all of
//! the data, sides that differ in more than their layers. Each is a check of its own in [`CHECKS`];
//! none changes a figure.

use crate::ceilings::efficiency;
use crate::findings::{WarningReport, WorkloadFindings};
use crate::gather::reading::WorkloadView;
use crate::validity::{arc, confounders, conservation, found_data, generator, neighbours, resized};
use iotax_facts::machine::{Device, Facts};
use iotax_model::layer::spdk::SOCKET;
use iotax_model::record::{Generator, MACHINES, Place, Slice, SpdkTarget, TRAFFIC};
use iotax_model::stack::{LayerSpec, Stack};
use iotax_stats::{Verdict, alike};
use iotax_store::RunData;
use iotax_units::{count_noun, distinct, show_bytes};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

struct LoadedStack<'a> {
    reading: &'a WorkloadView<'a>,
    found: &'a WorkloadFindings,
    at: usize,
}

type ValidityCheck = fn(&LoadedStack) -> Option<(&'static str, String)>;

const CHECKS: &[ValidityCheck] = &[
    clock,
    stolen,
    too_few_processors,
    generators_own,
    littles_law,
    held_by_the_cache,
    answered_by_a_cache,
    not_conserved,
    held_by_the_arc,
    |case| resized::changed_size(case.reading, case.at),
    faster_than_below,
    above_its_drives,
    other_sides,
    other_machine,
    polled_beside,
    engines,
    due_or_issued,
    neighbours_of_the_load,
];

/// Runs all checks, and returns each doubt once for all stacks and loads that it applies to.
pub fn doubts(readings: &[WorkloadView], workloads: &[WorkloadFindings]) -> Vec<WarningReport> {
    let mut all: Vec<ValidityWarning> = Vec::new();
    for (reading, found) in readings.iter().zip(workloads) {
        for at in 0..reading.sides.len() {
            let case = LoadedStack { reading, found, at };
            let stack = case.stack().name.as_str();
            let found = CHECKS.iter().filter_map(|check| check(&case));
            let beside = confounders::other_differences(reading, at)
                .into_iter()
                .map(|text| (confounders::KIND, text));
            let data = found_data::data_differences(reading, at)
                .into_iter()
                .map(|text| (found_data::KIND, text));
            let load = &reading.workload.name;
            all.extend(found.chain(beside).chain(data).map(|(kind, text)| ValidityWarning {
                kind,
                text,
                stack,
                load,
            }));
        }
    }
    // Doubts of one kind that differ only in numbers are merged.
    let keys: Vec<String> = all.iter().map(|one| format!("{}: {}", one.kind, one.text)).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let group = |group: Vec<usize>| group.into_iter().map(|at| &all[at]).collect::<Vec<_>>();
    alike::grouped(&keys)
        .into_iter()
        .map(|found| warning_report(&group(found), readings.len()))
        .collect()
}

struct ValidityWarning<'a> {
    kind: &'static str,
    text: String,
    stack: &'a str,
    load: &'a str,
}

/// Merges findings of one kind into a warning; `loads` is the number of loads in the run.
fn warning_report<'a>(found: &[&ValidityWarning<'a>], loads: usize) -> WarningReport {
    let names =
        |name: fn(&ValidityWarning<'a>) -> &'a str| distinct(found.iter().map(|one| name(one)));
    let under = names(|one| one.load);
    let text = alike::merge_texts(&found.iter().map(|one| one.text.as_str()).collect::<Vec<_>>());
    let under =
        if under.len() < loads { format!(" (under {})", under.join(", ")) } else { String::new() };
    WarningReport::new(found[0].kind, &names(|one| one.stack).join(", "), format!("{text}{under}"))
}

impl<'a> LoadedStack<'a> {
    fn run(&self) -> &'a RunData {
        self.reading.run
    }

    fn stack(&self) -> &'a Stack {
        &self.run().start.scenario.stacks[self.at]
    }

    fn slices(&self) -> impl Iterator<Item = &'a Slice> {
        self.reading.slices(self.at)
    }

    fn seats(&self) -> BTreeSet<(u32, &'a Place)> {
        let (stack, workload) = (&self.stack().name, &self.reading.workload.name);
        let workers = self.run().workers.iter();
        let of = workers.filter(|worker| worker.stack == *stack && worker.workload == *workload);
        of.map(|worker| (worker.visit, &worker.place)).collect()
    }

    fn device_of(&self, at: usize) -> Option<&'a Device> {
        let target = &self.reading.worker(at)?.target;
        let targets = &self.reading.place_of(at)?.facts.targets;
        targets.iter().find(|known| known.path.to_str() == Some(target))?.devices.first()
    }
}

/// Difference of clock speeds that is worth a warning, a twentieth of a percent. Rates by a clock
/// that runs faster are lower by as much.
const CLOCKS_APART: f64 = 5e-4;

/// Checks a guest's clock against the host's: reports the clock that is furthest off, if that is
/// more than the round trips used to compare clocks can explain.
fn clock(case: &LoadedStack) -> Option<(&'static str, String)> {
    let seats = case.seats();
    let of_it = case.run().clocks.iter().filter(|one| one.is_of(&case.reading.workload.name));
    let clocks = of_it.filter(|one| seats.contains(&(one.visit, &one.place)));
    let sure = clocks
        .map(|one| (one, one.to.apart_since(&one.from)))
        .filter(|(_, (apart, error))| apart.abs() > CLOCKS_APART + error);
    let (worst, (apart, _)) =
        sure.max_by(|(_, (a, _)), (_, (b, _))| a.abs().total_cmp(&b.abs()))?;
    let way = if apart > 0.0 { "fast" } else { "slow" };
    let follows = match worst.to.too_far_apart_since(&worst.from) {
        Some(_) => "nothing that was measured in that visit counts",
        None => "rates and latencies there are off by as much",
    };
    let text = format!(
        "the clock of {} ran {:.2} % {way} against the host's, and {follows}",
        worst.place,
        100.0 * apart.abs()
    );
    Some(("clock", text))
}

/// Stolen share of the processors' time that is worth a warning.
const STOLEN: f64 = 0.01;

fn stolen(case: &LoadedStack) -> Option<(&'static str, String)> {
    let (mut stolen, mut all) = (0.0, 0.0);
    for cpu in case.slices().filter_map(|slice| slice.cpu) {
        stolen += cpu.steal_ns as f64;
        all += (cpu.user_ns + cpu.system_ns + cpu.steal_ns + cpu.idle_ns) as f64;
    }
    let place = &case.reading.worker(case.at)?.place;
    (all > 0.0 && stolen / all > STOLEN).then(|| {
        let share = 100.0 * stolen / all;
        (
            "steal",
            format!("a hypervisor took {share:.1} % of the processors' time of {place} for others"),
        )
    })
}

fn too_few_processors(case: &LoadedStack) -> Option<(&'static str, String)> {
    let place = case.reading.place_of(case.at)?;
    let processors = place.facts.cpu.threads?;
    let probe = case.reading.threads_of_probe().map(u64::from);
    let jobs: u64 = case.reading.workload.jobs.iter().map(|job| u64::from(job.numjobs)).sum();
    let jobs = probe.unwrap_or(jobs);
    ((probe.is_some() || !place.place.is_host()) && jobs > processors).then(|| {
        let text = format!(
            "{jobs} jobs run on the {} of {}: they wait for each other",
            count_noun(processors, "processor", "processors"),
            place.place
        );
        ("vcpus", text)
    })
}

/// Share of a load generator's thread time in its own code that is worth a warning.
const GENERATORS_OWN: f64 = 0.25;

/// Checks the time in the generator's own code. It is in every figure although it belongs to no
/// layer, since I/Os wait for it. On a schedule that time includes spinning until an I/O is due,
/// and nothing waits for it.
fn generators_own(case: &LoadedStack) -> Option<(&'static str, String)> {
    if case.reading.is_scheduled() {
        return None;
    }
    let place = &case.reading.worker(case.at)?.place;
    let share = users_share(case, case.at).filter(|share| *share > GENERATORS_OWN)?;
    let base = case.run().start.scenario.baseline;
    let there = users_share(case, base).filter(|_| base != case.at);
    let beside =
        there.map(|there| format!(" ({:.0} % on {})", 100.0 * there, case.reading.name(base)));
    let text = format!(
        "the load generator's threads spend {:.0} % of their time in its own code in {place}{}: I/Os wait for it, and that is \
         no layer's",
        100.0 * share,
        beside.unwrap_or_default()
    );
    Some(("generator", text))
}

/// Returns the share of the generator's thread time in user mode; `None` if it is not recorded.
fn users_share(case: &LoadedStack, at: usize) -> Option<f64> {
    generator::shares(&case.reading.sides[at], case.reading.threads(at)).map(|[user, _]| user)
}

/// Checks for latencies that contradict the counts of the same I/Os.
fn littles_law(case: &LoadedStack) -> Option<(&'static str, String)> {
    if case.reading.workload.probe.is_some() {
        return None;
    }
    let found = &case.found.rows.get(case.at)?.generator;
    let error = generator::contradicts_itself(found)?;
    let text = format!(
        "mean latency times rate is {:+.1} % off the mean number of I/Os in flight ({:.2}), which Little's law allows no correct \
         measurement: the generator stamped late or its clock is not to be trusted, and neither are these latencies",
        100.0 * error,
        found.in_flight?
    );
    Some(("littles_law", text))
}

/// Checks for a disk that goes through the host's page cache, if all data fit the host's memory.
fn held_by_the_cache(case: &LoadedStack) -> Option<(&'static str, String)> {
    let stack = &case.stack().name;
    let disks = case.run().places.iter().flat_map(|place| &place.disks);
    disks
        .filter(|disk| disk.stack == *stack)
        .find(|disk| disk.qemu.get("cache.direct").is_some_and(|on| on == "off"))?;
    let host: &Facts = &case.run().places.iter().find(|place| place.place.is_host())?.facts;
    let members = case.reading.members(case.at) as u64;
    let (bytes, memory) = (case.reading.worker(case.at)?.bytes * members, host.memory_bytes?);
    // Data that came from the devices was not in memory.
    let from_devices = is_from_devices(case);
    (bytes < memory && !from_devices).then(|| {
        let text = format!(
            "the disk goes through the host's page cache, and the data under test ({}) fits the host's memory ({}): \
             what is measured is memory",
            show_bytes(bytes),
            show_bytes(memory)
        );
        ("cached", text)
    })
}

/// Share of the reads that came from a device; below it, a cache is suspected.
const FROM_THE_DEVICE: f64 = 0.9;

/// Checks for reads that never reached the device: a cache of a layer or the host had them, or
/// nothing was ever written there.
fn answered_by_a_cache(case: &LoadedStack) -> Option<(&'static str, String)> {
    if let Some(lost) =
        conservation::differences(case.reading, case.at).iter().find(|one| one.is_cached())
    {
        return Some(("cached", lost.sentence()));
    }
    device_share(case).filter(|share| *share < FROM_THE_DEVICE).map(|share| {
        let of_layer = case.stack().layers.iter().find_map(|layer| layer.catalog_entry()?.caches_reads);
        let text = format!(
            "only {:.0} % of the bytes read came from the device below: the rest came from {}, or was never written",
            100.0 * share,
            of_layer.unwrap_or("a page cache of this host")
        );
        ("cached", text)
    })
}

/// Reports I/O that was lost or added below the load without a known cause, or lost in holes.
fn not_conserved(case: &LoadedStack) -> Option<(&'static str, String)> {
    let found = conservation::differences(case.reading, case.at);
    let unnamed = found.iter().find(|one| one.is_unnamed())?;
    Some((TRAFFIC, unnamed.sentence()))
}

/// Checks for reads of data that fit a memory cache of a layer, such as ZFS's ARC, unless they came
/// from the devices.
fn held_by_the_arc(case: &LoadedStack) -> Option<(&'static str, String)> {
    let from_devices = is_from_devices(case);
    arc::has_room(case.reading, case.at).filter(|_| !from_devices).map(|text| ("cached", text))
}

/// Returns true if the data read is known to have come from the devices.
fn is_from_devices(case: &LoadedStack) -> bool {
    conservation::reads_arrived(case.reading, case.at)
        || device_share(case).is_some_and(|share| share >= FROM_THE_DEVICE)
}

/// Returns the share of the reads that came from devices of this host, for runs from before
/// 2026-11-28. It takes layers into account that read whole blocks. `None` if nothing was read or
/// no device reports.
fn device_share(case: &LoadedStack) -> Option<f64> {
    let (mut read, mut given) = (0.0, 0.0);
    for slice in case.slices() {
        let Some(bytes) = slice.device_read_bytes else { continue };
        let ios =
            slice.figure("read.ios").unwrap_or(0.0) + slice.figure("write.ios").unwrap_or(0.0);
        // The I/O discarded at the start and drained at the end was read from the device, too.
        let whole = if ios > 0.0 { 1.0 + slice.discarded_ios as f64 / ios } else { 1.0 };
        (read, given) =
            (read + slice.figure("read.bytes").unwrap_or(0.0) * whole, given + bytes as f64);
    }
    let taken = read * arc::amplification(case.stack(), &case.reading.workload.jobs);
    (taken > 0.0).then(|| given / taken)
}

/// Checks for a layer that is faster than what it is on: it has a cache, or measured something
/// else.
fn faster_than_below(case: &LoadedStack) -> Option<(&'static str, String)> {
    let scenario = &case.run().start.scenario;
    let below = &scenario.stacks[scenario.baseline];
    let stack = case.stack();
    let is_on_it = below.medium == stack.medium
        && below.layers.len() < stack.layers.len()
        && below.layers.iter().zip(&stack.layers).all(|(a, b)| a.key() == b.key())
        && stack.layers.iter().all(|layer| layer.copies == 1);
    let gains =
        case.found.comparisons.iter().any(|one| {
            one.stack == stack.name && matches!(one.rate.verdict, Verdict::Gains { .. })
        });
    (is_on_it && gains).then(|| {
        let text = format!(
            "it is faster than {}, which it is based on: a cache answers, requests are merged on the way, or it reads what was never written",
            below.name
        );
        ("faster", text)
    })
}

/// Checks for a rate above what the drives, their links or the network can do; reports the first
/// bound that is exceeded.
fn above_its_drives(case: &LoadedStack) -> Option<(&'static str, String)> {
    let ours = case.found.efficiency.iter().filter(|one| one.stack == case.stack().name);
    ours.filter_map(efficiency::excess_reason).next().map(|text| ("faster", text))
}

/// Settings of a block device's queue that somebody chooses; the others say what the device is.
const QUEUE: &[&str] = &[
    "nr_requests",
    "max_sectors_kb",
    "read_ahead_kb",
    "nomerges",
    "rq_affinity",
    "io_poll",
    "wbt_lat_usec",
];

fn other_sides(case: &LoadedStack) -> Option<(&'static str, String)> {
    let base = case.run().start.scenario.baseline;
    let (a, b) = (case.reading.place_of(base)?, case.reading.place_of(case.at)?);
    let name = case.reading.name(base);
    let mut differ = Vec::new();
    if !std::ptr::eq(a, b) {
        if let (Some(a), Some(b)) = (&a.facts.kernel, &b.facts.kernel) {
            differ.extend((a != b).then(|| format!("kernel {b} ({name}: {a})")));
        }
        differ.extend(mitigations(name, &a.facts, &b.facts));
    }
    if let (Some(a), Some(b)) = (case.device_of(base), case.device_of(case.at)) {
        let mut add = |what: &str, a: Option<&String>, b: Option<&String>| {
            if let (Some(a), Some(b)) = (a, b) {
                differ.extend((a != b).then(|| format!("{what} {b} ({name}: {a})")));
            }
        };
        add("scheduler", a.scheduler.as_ref(), b.scheduler.as_ref());
        QUEUE.iter().for_each(|what| add(what, a.queue.get(*what), b.queue.get(*what)));
    }
    let text =
        || format!("not only the layers are other than those of {name}: {}", differ.join("; "));
    (!differ.is_empty()).then(|| ("sides", text()))
}

/// Checks for a load that runs on another machine than the baseline's. A guest of this host counts
/// as this host. A network is between machines by its nature.
fn other_machine(case: &LoadedStack) -> Option<(&'static str, String)> {
    let scenario = &case.run().start.scenario;
    let machine = |at: usize| {
        let place = &case.reading.worker(at)?.place;
        let vm = scenario.described.get(place).and_then(|described| described.vm.as_ref());
        Some(vm.map_or(if place.is_ssh() { place } else { &Place::Host }, |vm| &vm.on))
    };
    let (base, own) = (machine(scenario.baseline)?, machine(case.at)?);
    let is_network = case.stack().medium.far_end().is_some();
    (base != own && !is_network).then(|| {
        let text = format!(
            "its load runs on {own}, that of {} on {base}: the difference is between two machines, and not what a layer costs. Their \
             slices alternate in the same rounds; what disturbs only one of the machines does not cancel",
            case.reading.name(scenario.baseline)
        );
        (MACHINES, text)
    })
}

/// Checks for fio on one side, and another generator or another fio on the other, although the
/// stacks name the same generator.
fn engines(case: &LoadedStack) -> Option<(&'static str, String)> {
    let base = case.run().start.scenario.baseline;
    let engine = |at: usize| case.reading.worker(at).map(|worker| &worker.engine);
    let named = |at: usize| case.run().start.scenario.stacks[at].generator().map(LayerSpec::key);
    let (there, here) = (engine(base)?, engine(case.at)?);
    let of_fio = [there, here].iter().any(|generator| matches!(generator, Generator::Fio(_)));
    (of_fio && there != here && named(base) == named(case.at)).then(|| {
        let name = case.reading.name(base);
        let text = format!(
            "it is loaded by {here}, and {name} by {there}: the generators' own costs are part of the difference"
        );
        ("engines", text)
    })
}

/// Checks for latencies under a schedule, which begin when an I/O was due, next to those of fio,
/// which begin when it issues one.
fn due_or_issued(case: &LoadedStack) -> Option<(&'static str, String)> {
    let reading = case.reading;
    let base = case.run().start.scenario.baseline;
    let matched = reading.matched_load().is_ok_and(|load| !load.is_own());
    reading
        .unlike_clocks([base, case.at])
        .filter(|_| matched)
        .or_else(|| reading.own_clocks_unlike([base, case.at]))?;
    let (name, here) = (reading.name(base), reading.name(case.at));
    let (fio, ours) = if reading.by_fio(base)? { (name, here) } else { (here, name) };
    let text = format!(
        "on a schedule latencies of {fio} begin when fio issues an I/O, those of {ours} when it was due, and are not compared; \
         service times of {ours} (`service p99` at the matched rate, `service time` in CSV) begin when it is issued: they are what \
         compares with latencies of {fio}"
    );
    Some(("engines", text))
}

/// Returns the vulnerabilities that one side is mitigated against and the other is not, by the
/// kernels' names for them; `None` if there are none. `base` is the name of the first side.
fn mitigations(base: &str, a: &Facts, b: &Facts) -> Option<String> {
    let (a, b) = (&a.cpu.mitigations, &b.cpu.mitigations);
    let is_on = |state: &String| state.starts_with("Mitigation");
    let on_one = |one: &BTreeMap<String, String>, other: &BTreeMap<String, String>| {
        let only = one
            .iter()
            .filter(|(name, state)| is_on(state) && other.get(*name).is_some_and(|o| !is_on(o)));
        only.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (only_there, only_here) = (on_one(a, b), on_one(b, a));
    let said = |names: &str, where_to: &str| {
        (!names.is_empty()).then(|| format!("mitigated {where_to}: {names}"))
    };
    let only =
        [(only_there, format!("on {base} only")), (only_here, format!("here, and not on {base}"))];
    let said: Vec<String> =
        only.iter().filter_map(|(names, where_to)| said(names, where_to)).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Checks for processors that an SPDK target keeps busy while a stack is measured in which it has
/// no part. If it serves the stack, they belong to the stack, and /proc/stat counts them as busy
/// like any other.
fn polled_beside(case: &LoadedStack) -> Option<(&'static str, String)> {
    let stack = case.stack();
    let has_no_part = |target: &&SpdkTarget| {
        !stack
            .layers
            .iter()
            .any(|layer| layer.option(SOCKET).map(Path::new) == Some(&target.socket))
    };
    let mut targets = case.run().places.iter().flat_map(|place| &place.spdk).filter(has_no_part);
    let target = targets.find(|target| !target.polled_processors().is_empty())?;
    stack.medium.places().contains(&Place::Host).then(|| {
        let text = format!(
            "its CPU time per I/O has that of an SPDK target in it, which serves other stacks and polls all the time ({})",
            target.describe_target()
        );
        ("polling", text)
    })
}

/// Checks for other programs that used so much CPU time that the CPU time per I/O includes it.
/// Reported for the baseline, whose slices show them.
fn neighbours_of_the_load(case: &LoadedStack) -> Option<(&'static str, String)> {
    let is_base = case.at == case.run().start.scenario.baseline;
    neighbours::neighbour_warning(case.reading)
        .filter(|_| is_base)
        .map(|text| (neighbours::KIND, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings;
    use crate::twin;
    use iotax_load::Job;
    use iotax_model::record::{ClockReading, Clocks, Purpose, Reactor, SampleValue};

    fn kinds(run: &RunData) -> Vec<(String, String)> {
        let known =
            ["clock", "steal", "vcpus", "generator", "cached", "faster", "sides", "engines"];
        let found =
            findings(run).warnings.into_iter().filter(|one| known.contains(&one.kind.as_str()));
        found.map(|one| (one.kind, one.text)).collect()
    }

    #[test]
    fn loads_on_two_machines_are_reported() {
        let mut run = twin::a_against_a();
        let of = |run: &RunData| {
            findings(run).warnings.into_iter().filter(|one| one.kind == MACHINES).count()
        };
        assert_eq!(of(&run), 0);
        let place = |run: &mut RunData, at: usize, place: &str| {
            let stack = run.start.scenario.stacks[at].name.clone();
            run.workers
                .iter_mut()
                .filter(|one| one.stack == stack)
                .for_each(|one| one.place = place.into());
        };
        place(&mut run, 1, "ssh:b");
        let found = findings(&run).warnings;
        let text = &found.iter().find(|one| one.kind == MACHINES).expect("two machines").text;
        assert_eq!(
            text,
            "its load runs on ssh:b, that of file on host: the difference is between two machines, and not what a layer costs. \
             Their slices alternate in the same rounds; what disturbs only one of the machines does not cancel"
        );
        let vm = iotax_facts::vm::Vm {
            manager: iotax_facts::vm::Manager::Libvirt,
            name: "b".into(),
            on: Place::Host,
            uri: None,
        };
        let described = iotax_facts::vm::PlaceDescription { vm: Some(vm), ..Default::default() };
        run.start.scenario.described.insert("ssh:b".into(), described);
        assert_eq!(of(&run), 0, "it is a guest of this host");
        run.start.scenario.described.clear();
        place(&mut run, 0, "ssh:b");
        assert_eq!(of(&run), 0, "one machine, reached over ssh");
    }

    fn change_guest(run: &mut RunData, change: impl Fn(&mut Slice)) {
        run.slices.iter_mut().filter(|slice| slice.stack != "file").for_each(change);
    }

    /// Returns the record of a guest's clock that gains `gained_ns` in ten seconds.
    fn clocks(gained_ns: i64, round_trip_ns: u64) -> Clocks {
        let reading = |at_ns, offset_ns| ClockReading { at_ns, offset_ns, round_trip_ns };
        let (from, to) =
            (reading(5_000_000_000, 7_000), reading(15_000_000_000, 7_000 + gained_ns));
        Clocks { visit: 0, set: 0, workload: None, place: "vm".into(), from, to }
    }

    #[test]
    fn a_clock_that_runs_apart_is_told() {
        let mut run = twin::guest();
        run.clocks = vec![
            clocks(1_000_000, 300_000),
            clocks(20_000_000, 300_000),
            clocks(-2_000_000, 300_000),
        ];
        let found = kinds(&run);
        let told: Vec<&str> = found
            .iter()
            .filter(|(kind, _)| kind == "clock")
            .map(|(_, text)| text.as_str())
            .collect();
        assert_eq!(
            told,
            [
                "the clock of vm ran 0.20 % fast against the host's, and rates and latencies there are off by as much"
            ]
        );
        run.clocks.push(clocks(200_000_000, 300_000));
        let found = kinds(&run);
        let found = found.iter().find(|(kind, _)| kind == "clock");
        assert!(found.is_some_and(|(_, text)| {
            text.contains("nothing that was measured in that visit counts")
        }));
        let rounds = |run: &RunData| {
            let (sides, _) =
                crate::gather::rounds::sides(run, &run.start.scenario.workloads[0], Purpose::Plain);
            sides.iter().map(|side| side.rounds.len()).sum::<usize>()
        };
        assert_eq!(rounds(&run), 0, "2 % is no figure");
        run.clocks.last_mut().unwrap().workload = Some("another".into());
        assert!(rounds(&run) > 0, "this load ended before that clock was wrong");
        // Round trips that explain it, another guest's clock, another visit's.
        let other = Clocks { place: "vm7".into(), ..clocks(20_000_000, 0) };
        let later = Clocks { visit: 9, ..clocks(20_000_000, 0) };
        run.clocks = vec![clocks(20_000_000, 30_000_000), other, later];
        assert!(kinds(&run).iter().all(|(kind, _)| kind != "clock"));
    }

    #[test]
    fn a_generator_that_computes_for_itself_is_told() {
        let mut run = twin::guest();
        assert!(kinds(&run).iter().all(|(kind, _)| kind != "generator"));
        let computes = |run: &mut RunData, share: f64| {
            change_guest(run, |slice| {
                let all_ns = (slice.discarded_ns + slice.window_ns + slice.drain_ns) as f64;
                let user = slice.samples.iter_mut().find(|one| one.metric == "cpu.user").unwrap();
                user.value = SampleValue::Value(share * all_ns);
            });
        };
        computes(&mut run, 0.4);
        let found = kinds(&run);
        let text = &found.iter().find(|(kind, _)| kind == "generator").unwrap().1;
        assert!(
            text.starts_with(
                "the load generator's threads spend 40 % of their time in its own code in vm ("
            ),
            "{text}"
        );
        assert!(text.contains(" % on file)"), "{text}");
        let jobs = &mut run.start.scenario.workloads[0].jobs;
        jobs[0].rate_iops = Some(1000);
        assert!(
            kinds(&run).iter().all(|(kind, _)| kind != "generator"),
            "it spins until I/Os are due"
        );
        let jobs = &mut run.start.scenario.workloads[0].jobs;
        jobs.push(Job { rate_iops: None, ..jobs[0].clone() });
        computes(&mut run, 0.8);
        assert!(kinds(&run).iter().any(|(kind, _)| kind == "generator"), "one job has no rate");
    }

    #[test]
    fn guests_of_one_name_are_told_apart_by_their_disks() {
        let mut run = twin::guest();
        run.start.scenario.workloads[0].jobs[0].numjobs = 4;
        let mut control =
            run.places.iter().find(|place| place.place == "vm".into()).unwrap().clone();
        let guest = run.places.iter_mut().find(|place| place.place == "vm".into()).unwrap();
        guest.facts.cpu.threads = Some(8);
        control.facts.cpu.threads = Some(1);
        control.disks.iter_mut().for_each(|disk| disk.stack = "vm-1c2g".into());
        run.places.push(control);
        assert!(
            kinds(&run).iter().all(|(kind, _)| kind != "vcpus"),
            "the other guest has one processor"
        );
    }

    #[test]
    fn a_target_that_polls_beside_a_stack_is_told() {
        let target = |polls| SpdkTarget {
            socket: "/run/spdk.sock".into(),
            version: "SPDK v26.05".into(),
            reactors: vec![Reactor { core: 3, polls }],
        };
        let found = |polls| {
            let mut run = twin::guest();
            let guest = run.places.iter_mut().find(|place| place.place == "vm".into()).unwrap();
            guest.spdk = vec![target(polls)];
            let served = &mut run.start.scenario.stacks[1].layers[0];
            served.options.insert("spdk".into(), "/run/spdk.sock".into());
            findings(&run)
                .warnings
                .into_iter()
                .filter(|one| one.kind == "polling")
                .collect::<Vec<_>>()
        };
        assert_eq!(found(false), []);
        let told = found(true);
        assert_eq!(
            (told.len(), told[0].subject.as_str()),
            (1, "file"),
            "the stack that it serves has it by right"
        );
        assert!(
            told[0].text.ends_with("polls all the time (SPDK v26.05, polls on core 3)"),
            "{}",
            told[0].text
        );
    }

    #[test]
    fn stolen_time_and_jobs_that_wait_are_told() {
        let mut run = twin::guest();
        change_guest(&mut run, |slice| {
            if let Some(cpu) = &mut slice.cpu {
                cpu.steal_ns = cpu.idle_ns / 10;
            }
        });
        let guest = run.places.iter_mut().find(|place| place.place == "vm".into()).unwrap();
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
        // No device reports its reads.
        run.device_traffic.clear();
        let guest = run.places.iter_mut().find(|place| place.place == "vm".into()).unwrap();
        guest.disks[0].qemu.insert("cache.direct".into(), "off".into());
        let host = run.places.iter_mut().find(|place| place.place.is_host()).unwrap();
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
            let of = |name: &str| {
                slice.samples.iter().find(|one| one.metric == name).map(|one| one.value.clone())
            };
            let Some(SampleValue::Value(bytes)) = of("read.bytes") else { panic!("{slice:?}") };
            let Some(SampleValue::Value(ios)) = of("read.ios") else { panic!("{slice:?}") };
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
        assert!(
            told[0].text.contains(": the rest came from a page cache of this host"),
            "{}",
            told[0].text
        );
        let guest =
            run.start.scenario.stacks.iter_mut().find(|stack| stack.name != "file").unwrap();
        guest.layers.insert(0, twin::layer("ceph", &[]));
        assert!(kinds(&run).iter().any(|(_, text)| {
            text.contains(": the rest came from the cache of the OSDs (osd-memory)")
        }));
    }

    #[test]
    fn two_generators_that_nobody_asked_to_compare_are_told() {
        let mut run = twin::guest();
        let load = |run: &mut RunData, stack: &str, engine: &str| {
            let of_stack = run.workers.iter_mut().filter(|worker| worker.stack == stack);
            of_stack.for_each(|worker| worker.engine = engine.to_owned().into());
        };
        let told = |run: &RunData| {
            kinds(run).into_iter().find(|(kind, _)| kind == "engines").map(|(_, text)| text)
        };
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
        let guest =
            run.start.scenario.stacks.iter_mut().find(|stack| stack.name != "file").unwrap();
        guest.layers.push(LayerSpec {
            name: "engine".into(),
            options: [("name".to_owned(), "fio".to_owned())].into(),
            place: None,
            far: Vec::new(),
            copies: 1,
            tool: None,
            origin: "a test".into(),
        });
        assert_eq!(told(&run), None, "that is what is compared");
    }

    #[test]
    fn one_matter_is_told_once_with_all_whom_it_concerns() {
        let doubt = |kind, text: &str, stack, load| ValidityWarning {
            kind,
            text: text.to_owned(),
            stack,
            load,
        };
        let all = [
            doubt("steal", "took 9.6 % of host", "file", "read"),
            doubt("steal", "took 10.5 % of host", "loop", "read"),
            doubt("steal", "took 6.8 % of host", "file", "read"),
        ];
        let told = warning_report(&all.iter().collect::<Vec<_>>(), 2);
        assert_eq!(
            told.to_sentence(),
            "steal (file, loop): took 6.8 to 10.5 % of host (under read)"
        );
        assert_eq!(warning_report(&[&all[0]], 1).text, "took 9.6 % of host");
    }

    #[test]
    fn sides_that_differ_in_more_than_their_layers_are_told() {
        let mut run = twin::guest();
        let guest = run.places.iter_mut().find(|place| place.place == "vm".into()).unwrap();
        guest.facts.kernel = Some("6.1.0-56-amd64".into());
        guest.facts.cpu.mitigations = [("spectre_v2".to_owned(), "Vulnerable".to_owned())].into();
        let host = run.places.iter_mut().find(|place| place.place.is_host()).unwrap();
        host.facts.kernel = Some("6.18.0".into());
        host.facts.cpu.mitigations =
            [("spectre_v2".to_owned(), "Mitigation: IBRS".to_owned())].into();
        let found = kinds(&run);
        assert_eq!(
            found.iter().find(|(kind, _)| kind == "sides").unwrap().1,
            "not only the layers are other than those of file: kernel 6.1.0-56-amd64 (file: 6.18.0); mitigated on file only: spectre_v2"
        );
    }
}
