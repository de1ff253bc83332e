//! Compares the I/O that a load issued with the I/O that the block devices below it completed. Both
//! must agree, or the difference must have a known cause: a cache, a hole, a layer that writes more
//! than it is given. If reads of the baseline did no I/O and no cache explains it, there is no
//! verdict.

use crate::findings::traffic::{TrafficLevel, TrafficReport};
use crate::gather::reading::WorkloadView;
use crate::validity::arc;
use iotax_model::record::{
    DeviceCounts, DeviceReading, DeviceTraffic, GuestDisk, IssuedIo, Place, UNWRITTEN,
};
use iotax_stats::Refusal;
use iotax_units::{grouped, show_bytes};

/// Fraction of the bytes that may be missing. It is small because devices and the generator count
/// exactly.
const TOLERANCE: f64 = 0.01;
/// Tolerance for a load with several directions or jobs: how the I/O outside of the windows is
/// divided among them is only estimated.
const TOLERANCE_OF_A_MIX: f64 = 0.03;
/// Fraction of the bytes that may be in excess: metadata of file systems.
const EXCESS: f64 = 0.05;

/// Difference, in one direction, between the bytes issued and the bytes that the lowest devices
/// completed.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficDifference {
    /// Bytes completed over bytes issued.
    pub share: f64,
    /// Cause of the difference; `None` if no known cause explains it.
    pub cause: Option<String>,
    of_reads: bool,
    unwritten: bool,
}

impl TrafficDifference {
    fn is_loss(&self) -> bool {
        self.share < 1.0
    }

    /// Returns true if reads did not reach the devices for a known cause that is no hole, such as a
    /// cache.
    pub fn is_cached(&self) -> bool {
        self.of_reads && self.is_loss() && !self.unwritten && self.cause.is_some()
    }

    /// Returns true if no known cause explains the difference, or if a hole does.
    pub fn is_unnamed(&self) -> bool {
        self.cause.is_none() || self.unwritten
    }

    pub fn sentence(&self) -> String {
        let what = if self.of_reads { "read" } else { "written" };
        let (verb, rest) =
            if self.is_loss() { ("only", "the rest: ") } else { ("", "the surplus: ") };
        let cause = self.cause.as_deref().unwrap_or("cause unknown");
        let percent = format!("{:.1} % of the bytes {what}", 100.0 * self.share);
        format!("{verb} {percent} reached the lowest devices; {rest}{cause}")
            .trim_start()
            .to_owned()
    }
}

/// I/O of a stack under one load, all visits together.
struct StackTraffic<'a> {
    issued: IssuedIo,
    /// Each place with the I/O during the slices and the I/O between them; the places of the load
    /// come first.
    places: Vec<(&'a Place, DeviceReading, DeviceReading)>,
    slices: u32,
    /// Number of slices in which the lowest devices of some place completed clearly more than was
    /// issued.
    exceeded: u32,
}

impl<'a> StackTraffic<'a> {
    fn gather(reading: &WorkloadView<'a>, at: usize) -> Option<StackTraffic<'a>> {
        let (stack, load) = (reading.name(at), &reading.workload.name);
        let is_ours = |one: &&DeviceTraffic| one.stack == stack && one.workload == *load;
        let mut all = StackTraffic {
            issued: IssuedIo::default(),
            places: Vec::new(),
            slices: 0,
            exceeded: 0,
        };
        for record in reading.run.device_traffic.iter().filter(is_ours) {
            all.issued.add(&record.issued);
            all.slices += record.places.first().map_or(0, |one| one.slices);
            all.exceeded += record.places.last().map_or(0, |one| one.exceeded);
            for one in &record.places {
                match all.places.iter_mut().find(|(place, ..)| **place == one.place) {
                    Some((_, seen, idle)) => {
                        seen.add_reading(&one.seen);
                        idle.add_reading(&one.idle);
                    }
                    None => all.places.push((&one.place, one.seen.clone(), one.idle.clone())),
                }
            }
        }
        (!all.places.is_empty()).then_some(all)
    }

    /// Returns the lowest devices of every place, with the I/O of other programs on them, scaled to
    /// the time of the slices.
    fn levels(&self) -> impl Iterator<Item = (&'a Place, Vec<&DeviceCounts>, DeviceCounts)> {
        self.places.iter().map(|(place, seen, idle)| {
            let scale = if idle.at_ns > 0 { seen.at_ns as f64 / idle.at_ns as f64 } else { 0.0 };
            let others = sum(idle.devices.iter().filter(|one| one.lowest));
            let scaled = |count: u64| (count as f64 * scale) as u64;
            let others = DeviceCounts {
                read_bytes: scaled(others.read_bytes),
                write_bytes: scaled(others.write_bytes),
                ..others
            };
            (*place, seen.devices.iter().filter(|one| one.lowest).collect(), others)
        })
    }

    /// Names other programs as the cause of a surplus, if their I/O between the slices (`others`
    /// bytes), or in some of the slices, explains it.
    fn of_others(&self, others: u64) -> Option<String> {
        let some = 2 * self.exceeded <= self.slices;
        let words = || match some {
            true => format!("other programs, in {} of {} slices", self.exceeded, self.slices),
            false => "other programs, which also used them between the slices".to_owned(),
        };
        (some || others > 0).then(words)
    }

    /// Returns what the lowest devices completed, and what other programs did to them: in the
    /// places below the load if these report, otherwise in those of the load.
    fn lowest(&self, reading: &WorkloadView, at: usize) -> [DeviceCounts; 2] {
        let loaded: Vec<&Place> = {
            let ours = reading.run.workers.iter().filter(|worker| worker.stack == reading.name(at));
            ours.map(|worker| &worker.place).collect()
        };
        let (above, below): (Vec<_>, Vec<_>) =
            self.levels().partition(|(place, ..)| loaded.contains(place));
        let chosen = if below.is_empty() { above } else { below };
        [
            sum(chosen.iter().flat_map(|(_, seen, _)| seen.iter().copied())),
            sum(chosen.iter().map(|(.., others)| others)),
        ]
    }
}

fn sum<'a>(all: impl Iterator<Item = &'a DeviceCounts>) -> DeviceCounts {
    all.fold(DeviceCounts::default(), |sum, one| sum.sum_device_counts(one))
}

/// Returns the differences between bytes issued and bytes completed, reads first; none if no device
/// reports.
pub fn differences(reading: &WorkloadView, at: usize) -> Vec<TrafficDifference> {
    let Some(traffic) = StackTraffic::gather(reading, at) else { return Vec::new() };
    let [seen, others] = traffic.lowest(reading, at);
    let jobs = &reading.workload.jobs;
    let is_mixed = jobs.len() > 1 || jobs.iter().any(|job| job.rw.reads() && job.rw.writes());
    let tolerance = if is_mixed { TOLERANCE_OF_A_MIX } else { TOLERANCE };
    let taken = arc::amplification(&reading.run.start.scenario.stacks[at], jobs);
    let read = (traffic.issued.read_bytes as f64 * taken, seen.read_bytes, others.read_bytes);
    let written = (traffic.issued.write_bytes as f64, seen.write_bytes, others.write_bytes);
    let found =
        [(true, read), (false, written)].into_iter().filter(|(_, (issued, ..))| *issued > 0.0);
    found
        .filter_map(|(of_reads, (issued, seen, others))| {
            // Some drivers count nothing (brd, a multipath head): that is not a loss, unless a hole
            // or a cache explains it.
            if seen == 0 && cause_of_loss(reading, at, of_reads).is_none() {
                return None;
            }
            let share = seen as f64 / issued;
            let is_loss = share < 1.0 - tolerance;
            // I/O of other programs may hide a loss, but must not count as a surplus of ours.
            let is_surplus = (seen.saturating_sub(others)) as f64 / issued > 1.0 + EXCESS;
            let unwritten = is_loss && of_reads && has_unwritten(reading, at);
            let cause = || match is_loss {
                true => cause_of_loss(reading, at, of_reads),
                false => {
                    cause_of_surplus(reading, at, of_reads).or_else(|| traffic.of_others(others))
                }
            };
            (is_loss || is_surplus).then(|| TrafficDifference {
                share,
                of_reads,
                unwritten,
                cause: cause(),
            })
        })
        .collect()
}

/// Returns true if devices report reads and have completed all that were issued.
pub fn reads_arrived(reading: &WorkloadView, at: usize) -> bool {
    let is_lost = |one: &TrafficDifference| one.of_reads && one.is_loss();
    let Some(traffic) = StackTraffic::gather(reading, at) else { return false };
    traffic.lowest(reading, at)[0].read_bytes > 0 && !differences(reading, at).iter().any(is_lost)
}

fn has_unwritten(reading: &WorkloadView, at: usize) -> bool {
    let name = reading.name(at);
    let is_ours = |subject: &str| subject.split(", ").any(|one| one == name);
    reading.run.warnings.iter().any(|one| one.kind == UNWRITTEN && is_ours(&one.subject))
}

/// Returns what keeps bytes from the lowest devices: holes, a cache, compression or deduplication.
/// `None` if nothing is known that does.
fn cause_of_loss(reading: &WorkloadView, at: usize, of_reads: bool) -> Option<String> {
    let stack = &reading.run.start.scenario.stacks[at];
    let is_on = |option: &str| {
        let words = stack.layers.iter().filter_map(|layer| layer.option(option));
        words.into_iter().any(|word| word != "off")
    };
    let own_cache = || {
        let of_layer = stack.layers.iter().find_map(|layer| layer.catalog_entry()?.caches_reads);
        of_layer.or_else(|| stack.layers.iter().find_map(arc::keeps_data).map(|cache| cache.name))
    };
    let causes = [
        (of_reads && has_unwritten(reading, at))
            .then_some("holes or unwritten extents of its files"),
        if of_reads { own_cache() } else { None },
        page_cache(reading, at),
        is_on("compression").then_some("compression"),
        is_on("dedup").then_some("deduplication"),
    ];
    causes.into_iter().flatten().next().map(str::to_owned)
}

/// Describes the page cache that the I/O of a stack goes through; `None` if its options bypass it.
fn page_cache(reading: &WorkloadView, at: usize) -> Option<&'static str> {
    let stack = &reading.run.start.scenario.stacks[at];
    let is_cached = |disk: &GuestDisk| disk.qemu.get("cache.direct").is_some_and(|on| on == "off");
    let mut disks = reading.run.places.iter().flat_map(|place| &place.disks);
    if disks.any(|disk| disk.stack == stack.name && is_cached(disk)) {
        return Some("the page cache of this host, which the guest's disk uses (cache=)");
    }
    if reading.workload.jobs.iter().any(|job| !job.direct) {
        return Some("the page cache (direct=0)");
    }
    let is_buffered = stack.layers.iter().any(|layer| layer.option("direct-io") == Some("false"));
    is_buffered.then_some("the page cache of the loop device (direct-io=false)")
}

/// Returns what adds I/O below the load: readahead, or layers that write more than they are given.
/// `None` if nothing is known that does.
fn cause_of_surplus(reading: &WorkloadView, at: usize, of_reads: bool) -> Option<String> {
    let stack = &reading.run.start.scenario.stacks[at];
    let added: Vec<&str> =
        stack.layers.iter().filter_map(|layer| layer.catalog_entry()?.adds_io).collect();
    match (page_cache(reading, at).filter(|_| of_reads), added.as_slice()) {
        (Some(cache), _) => Some(format!("readahead of {cache}")),
        (None, []) if of_reads => None,
        (None, []) => {
            Some("the journal and metadata of the file system below, or other programs".to_owned())
        }
        (None, added) => Some(added.join(", ")),
    }
}

/// Returns the refusal of a pair whose reads did no I/O: one of the stacks read holes, or reads of
/// the baseline were lost without a known cause.
pub fn refusal(reading: &WorkloadView, [base, at]: [usize; 2]) -> Option<Refusal> {
    let lost = |at: usize| lost_reads(reading, at).map(|found| (at, found));
    // An unexplained loss of the compared stack is only a warning: its own cache may be what is
    // measured.
    let refuses = |found: &TrafficDifference, is_base: bool| {
        found.unwritten || (is_base && found.cause.is_none())
    };
    let (at, found) = [
        lost(base).filter(|(_, found)| refuses(found, true)),
        lost(at).filter(|(_, found)| refuses(found, false)),
    ]
    .into_iter()
    .flatten()
    .next()?;
    Some(no_io(reading, at, &found))
}

/// Returns the refusal of a figure of this stack alone: its reads were of blocks never written.
pub fn refusal_of_one(reading: &WorkloadView, at: usize) -> Option<Refusal> {
    let found = lost_reads(reading, at).filter(|found| found.unwritten)?;
    Some(no_io(reading, at, &found))
}

fn lost_reads(reading: &WorkloadView, at: usize) -> Option<TrafficDifference> {
    differences(reading, at).into_iter().find(|one| one.of_reads && one.is_loss())
}

fn no_io(reading: &WorkloadView, at: usize, found: &TrafficDifference) -> Refusal {
    let reason = format!("reads of {} did no I/O: {}", reading.name(at), found.sentence());
    Refusal::NotMeasured { reason }
}

/// Returns what each stack issued and what the lowest devices of each place completed.
pub fn reports(readings: &[WorkloadView]) -> Vec<TrafficReport> {
    let of = |reading: &WorkloadView, at: usize| {
        let traffic = StackTraffic::gather(reading, at)?;
        let levels = traffic.levels().filter(|(_, seen, _)| !seen.is_empty()).map(
            |(place, seen, others)| {
                let devices = seen.iter().map(|one| one.device.clone()).collect();
                TrafficLevel {
                    place: place.to_string(),
                    devices,
                    seen: sum(seen.into_iter()),
                    others,
                }
            },
        );
        let levels: Vec<TrafficLevel> = levels.collect();
        let differences: Vec<String> =
            differences(reading, at).iter().map(TrafficDifference::sentence).collect();
        let sentence = sentence(reading.name(at), &traffic.issued, &levels, &differences);
        let (stack, workload) = (reading.name(at).to_owned(), reading.workload.name.clone());
        Some(TrafficReport {
            stack,
            workload,
            issued: traffic.issued,
            levels,
            differences,
            sentence,
        })
    };
    readings
        .iter()
        .flat_map(|reading| (0..reading.sides.len()).filter_map(move |at| of(reading, at)))
        .collect()
}

fn sentence(
    stack: &str,
    issued: &IssuedIo,
    levels: &[TrafficLevel],
    differences: &[String],
) -> String {
    let said = |reads: u64, read_bytes: u64, writes: u64, write_bytes: u64| {
        let one = |count: u64, bytes: u64, what: &str| {
            (count > 0).then(|| format!("{} {what} ({})", grouped(count as f64), show_bytes(bytes)))
        };
        let known: Vec<String> =
            [one(reads, read_bytes, "reads"), one(writes, write_bytes, "writes")]
                .into_iter()
                .flatten()
                .collect();
        if known.is_empty() { "nothing".to_owned() } else { known.join(" and ") }
    };
    let of_level = |level: &TrafficLevel| {
        let seen = &level.seen;
        let completed = said(seen.reads, seen.read_bytes, seen.writes, seen.write_bytes);
        let merged = match seen.merged {
            0 => String::new(),
            merged => format!(", {} merged", grouped(merged as f64)),
        };
        format!("{} on {} completed {completed}{merged}", level.devices.join(", "), level.place)
    };
    let issued = said(issued.reads, issued.read_bytes, issued.writes, issued.write_bytes);
    let levels: Vec<String> = levels.iter().map(of_level).collect();
    let differences: String = differences.iter().map(|one| format!("; {one}")).collect();
    format!("{stack}: issued {issued}; {}{differences}", levels.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::layer;
    use crate::{RunData, findings, twin};
    use iotax_model::record::{PlaceTraffic, Warning};
    use iotax_stats::Verdict;

    /// Gives every stack of a run its traffic: this host's disk completed a `share` of what the
    /// stack read.
    fn with_traffic(run: &mut RunData, share: impl Fn(&str) -> f64) {
        let load = run.start.scenario.workloads[0].name.clone();
        let reads = 1_000_000;
        let counts = |device: &str, lowest: bool, reads: u64| DeviceCounts {
            device: device.into(),
            lowest,
            reads,
            read_bytes: reads * 4096,
            ..DeviceCounts::default()
        };
        for stack in &run.start.scenario.stacks {
            let seen = (reads as f64 * share(&stack.name)) as u64;
            let devices = vec![counts("vda1", false, seen), counts("vda", true, seen)];
            run.device_traffic.push(DeviceTraffic {
                visit: 0,
                set: 0,
                stack: stack.name.clone(),
                workload: load.clone(),
                issued: IssuedIo { reads, read_bytes: reads * 4096, ..IssuedIo::default() },
                places: vec![PlaceTraffic {
                    place: Place::Host,
                    seen: DeviceReading { at_ns: 1_000_000_000, devices },
                    idle: DeviceReading {
                        at_ns: 100_000_000,
                        devices: vec![counts("vda", true, 0)],
                    },
                    slices: 40,
                    exceeded: if share(&stack.name) > 1.05 { 40 } else { 0 },
                }],
            });
        }
    }

    fn verdicts(run: &RunData) -> Vec<(String, Option<String>)> {
        let reason = |verdict: &Verdict| match verdict.reason() {
            Some(Refusal::NotMeasured { reason }) => Some(reason.clone()),
            _ => None,
        };
        let workload = findings(run).workloads.remove(0);
        workload
            .comparisons
            .iter()
            .map(|one| (one.stack.clone(), reason(&one.rate.verdict)))
            .collect()
    }

    fn told(run: &RunData) -> Vec<(String, String, String)> {
        let kinds = ["cached", TRAFFIC];
        let found =
            findings(run).warnings.into_iter().filter(|one| kinds.contains(&one.kind.as_str()));
        found.map(|one| (one.kind, one.subject, one.text)).collect()
    }

    use iotax_model::record::TRAFFIC;

    #[test]
    fn what_devices_complete_as_it_was_issued_is_reported_and_nothing_else() {
        let mut run = twin::bill();
        with_traffic(&mut run, |_| 1.0005);
        assert!(verdicts(&run).iter().all(|(_, reason)| reason.is_none()));
        assert_eq!(told(&run), []);
        let found = findings(&run).traffic;
        assert_eq!(
            found[0].sentence,
            "file: issued 1,000,000 reads (3.81 GiB); vda on host completed 1,000,500 reads (3.82 GiB)"
        );
    }

    #[test]
    fn a_baseline_whose_reads_did_no_io_has_no_verdict() {
        let mut run = twin::bill();
        with_traffic(&mut run, |stack| if stack == "file" { 0.921 } else { 1.0 });
        let found = verdicts(&run);
        let reason = "reads of file did no I/O: only 92.1 % of the bytes read reached the lowest devices; the rest: \
                      cause unknown";
        assert!(
            !found.is_empty() && found.iter().all(|(_, why)| why.as_deref() == Some(reason)),
            "{found:?}"
        );
        assert_eq!(told(&run)[0].0, TRAFFIC, "a warning on the first screen");
        let workload = findings(&run).workloads.remove(0);
        let charges = workload.charges.iter().flat_map(|one| [&one.latency, &one.cpu]);
        assert!(
            charges.into_iter().all(|one| one.not_measured().is_some()),
            "nor a latency or CPU time"
        );
        let bill = workload.bill.unwrap();
        assert!(bill.lines[0].ratio.value().is_none() && bill.lines[1].ratio.value().is_some());
        let warning =
            Warning { kind: UNWRITTEN.into(), subject: "file".into(), text: "62 MiB of x".into() };
        run.warnings.push(warning);
        assert!(
            verdicts(&run)[0].1.as_ref().is_some_and(
                |why| why.ends_with("the rest: holes or unwritten extents of its files")
            )
        );
    }

    #[test]
    fn a_stack_that_reads_holes_has_no_verdict_and_one_with_a_cache_is_told() {
        let mut run = twin::bill();
        with_traffic(&mut run, |stack| if stack == "loop" { 0.5 } else { 1.0 });
        let of_loop =
            |run: &RunData| verdicts(run).into_iter().find(|(stack, _)| stack == "loop").unwrap().1;
        assert_eq!(of_loop(&run), None, "it may have a cache: a warning");
        assert_eq!(told(&run).len(), 1);
        let stack =
            run.start.scenario.stacks.iter_mut().find(|stack| stack.name == "loop").unwrap();
        stack.layers[0] = layer("loop", &[("direct-io", "false")]);
        let found = told(&run);
        assert_eq!((found[0].0.as_str(), found[0].1.as_str()), ("cached", "loop"));
        assert!(
            found[0].2.contains("the rest: the page cache of the loop device (direct-io=false)"),
            "{found:?}"
        );
        run.warnings.push(Warning {
            kind: UNWRITTEN.into(),
            subject: "loop".into(),
            text: "x".into(),
        });
        assert!(of_loop(&run).is_some());
    }

    #[test]
    fn a_device_that_counts_nothing_is_no_loss_and_a_cache_that_answers_all_is_told() {
        let mut run = twin::bill();
        with_traffic(&mut run, |_| 0.0);
        assert_eq!(told(&run), []);
        assert!(verdicts(&run).iter().all(|(_, reason)| reason.is_none()));
        run.start.scenario.workloads[0].jobs[0].direct = false;
        let found = told(&run);
        assert!(!found.is_empty() && found.iter().all(|(kind, ..)| kind == "cached"), "{found:?}");
        assert!(
            found[0].2.contains("only 0.0 % of the bytes read")
                && found[0].2.contains("(direct=0)")
        );
    }

    #[test]
    fn a_surplus_has_a_name_or_is_a_warning() {
        let mut run = twin::bill();
        with_traffic(&mut run, |stack| if stack == "loop" { 1.4 } else { 1.0 });
        let found = told(&run);
        assert_eq!((found.len(), found[0].0.as_str()), (1, TRAFFIC));
        assert!(
            found[0].2.starts_with("140.0 % of the bytes read reached the lowest devices"),
            "{found:?}"
        );
        let traffic = |run: &mut RunData, change: fn(&mut PlaceTraffic)| {
            run.device_traffic.iter_mut().for_each(|one| change(&mut one.places[0]));
        };
        traffic(&mut run, |place| place.exceeded = 9);
        assert_eq!(told(&run), [], "others, in some slices");
        traffic(&mut run, |place| place.exceeded = 40);
        traffic(&mut run, |place| place.idle.devices[0].read_bytes = 4096);
        assert_eq!(told(&run), [], "others, which are seen between the slices");
        assert_eq!(
            findings(&run).traffic[1].levels[0].others.read_bytes,
            40960,
            "in ten times the time"
        );
        traffic(&mut run, |place| place.idle.devices[0].read_bytes = 0);
        let stack =
            run.start.scenario.stacks.iter_mut().find(|stack| stack.name == "loop").unwrap();
        stack.layers.push(layer("fs", &[("type", "xfs")]));
        assert_eq!(told(&run), [], "metadata of its file system");
        let found = findings(&run).traffic;
        let with_name = found.iter().find(|one| one.stack == "loop").unwrap();
        assert_eq!(with_name.differences.len(), 1);
    }
}
