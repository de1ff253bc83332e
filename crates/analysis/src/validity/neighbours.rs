//! Other programs that computed on this host while a bare baseline was loaded. CPU time per I/O is
//! that of the whole place, so it includes other programs. Only a bare medium shows them: with any
//! other stack the layers compute, too.

use crate::gather::reading::WorkloadView;
use iotax_facts::machine::TargetFacts;
use iotax_model::record::Place;
use iotax_model::stack::Medium;
use iotax_stats::Refusal;
use std::path::Path;

/// Number of processors busy with other work above which it is reported, together with [`PART`].
const PROCESSORS: f64 = 0.5;
/// Share of all that the host computed that must have been other work for it to be reported.
const PART: f64 = 0.5;

/// File systems that work in the thread that calls them; others have workers of their own
/// (checksums, a network, a server in user space).
const WITHOUT_WORKERS: &[&str] =
    &["ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "tmpfs", "vfat", "xfs"];
/// Name prefixes of devices whose work this host computes.
const COMPUTED: &[&str] =
    &["bcache", "dm-", "drbd", "loop", "md", "nbd", "nullb", "rbd", "ublkb", "zd"];
/// Name prefixes of disks that have a driver of their own, unless they are reached over a network:
/// then threads of the kernel serve them.
const DISKS: &[&str] = &["nvme", "sd"];

pub const KIND: &str = "neighbours";

/// Returns the number of processors that others kept busy while the baseline was loaded, and the
/// share of these in all that the host computed; `None` if that is little, or not known.
pub fn busy(reading: &WorkloadView) -> Option<(f64, f64)> {
    let base = reading.run.start.scenario.baseline;
    let (processors, part) = reading.sides.get(base)?.usage.others()?;
    (processors > PROCESSORS && part > PART && is_bare(reading, base) && !polls(reading))
        .then_some((processors, part))
}

/// Returns the warning if others computed so much that CPU time per I/O is not that of the stacks;
/// otherwise `None`.
pub fn neighbour_warning(reading: &WorkloadView) -> Option<String> {
    let base = reading.run.start.scenario.baseline;
    busy(reading).map(|(processors, part)| {
        format!(
            "{processors:.1} processors of this host were busy with something else while {} was loaded ({:.0} % of all that they \
             computed): the CPU time of an I/O includes it; hint: stop the other work and run again",
            reading.name(base),
            100.0 * part
        )
    })
}

impl WorkloadView<'_> {
    /// Returns the reason why CPU times of these two stacks do not compare: one is incomplete, or
    /// others computed on this host all the time. Otherwise `None`.
    pub fn cpu_incomparable(&self, pair: [usize; 2]) -> Option<Refusal> {
        self.cpu_lacking(pair).or_else(|| refusal(self))
    }
}

/// Returns the reason why there are no verdicts on CPU time; `None` if others computed little.
fn refusal(reading: &WorkloadView) -> Option<Refusal> {
    neighbour_warning(reading).map(|reason| Refusal::NotMeasured { reason })
}

/// Returns true if only the load's own threads have anything to do with an I/O, as far as is known.
fn is_bare(reading: &WorkloadView, at: usize) -> bool {
    let stack = &reading.run.start.scenario.stacks[at];
    let Some(worker) = reading.worker(at) else { return false };
    let paths = stack.medium.members().iter().filter_map(|member| match member {
        Medium::File { path, .. } | Medium::Device { path } => Some(path.as_path()),
        _ => None,
    });
    let paths: Vec<&Path> = paths.chain([Path::new(&worker.target)]).collect();
    let here = reading.run.places.iter().filter(|known| known.place.is_host());
    let mut targets = here
        .flat_map(|known| &known.facts.targets)
        .filter(|one| paths.contains(&one.path.as_path()));
    stack.layers.is_empty()
        && stack.medium.places().iter().all(Place::is_host)
        && reading.by_fio(at) == Some(false)
        && targets.all(has_no_workers)
}

fn has_no_workers(target: &TargetFacts) -> bool {
    let begins = |name: &str, with: &[&str]| with.iter().any(|with| name.starts_with(with));
    let file_system = target.file_system.as_ref();
    file_system.is_none_or(|found| WITHOUT_WORKERS.contains(&found.kind.as_str()))
        && target.devices.iter().all(|device| {
            let is_far = begins(&device.name, DISKS) && device.driver.is_none();
            !begins(&device.name, COMPUTED) && !is_far
        })
}

/// Returns true if an SPDK target polls all the time; that has a warning of its own.
fn polls(reading: &WorkloadView) -> bool {
    reading
        .run
        .places
        .iter()
        .flat_map(|place| &place.spdk)
        .any(|target| !target.polled_processors().is_empty())
}

#[cfg(test)]
mod tests {
    use crate::{findings, twin};
    use iotax_facts::machine::{Device, FileSystem, TargetFacts};
    use iotax_model::stack::Medium;
    use iotax_store::RunData;

    /// Neighbours that take so many processors all the time.
    fn beside(mut run: RunData, processors: f64) -> RunData {
        for slice in &mut run.slices {
            let lasted_ns = slice.window_ns + slice.discarded_ns + slice.drain_ns;
            slice.cpu.as_mut().unwrap().user_ns += (processors * lasted_ns as f64) as u64;
        }
        run
    }

    fn told(run: &RunData) -> Option<String> {
        let found = findings(run).warnings.into_iter().find(|one| one.kind == super::KIND);
        found.map(|one| one.text)
    }

    fn on(target: TargetFacts) -> Option<String> {
        let mut run = beside(twin::published(), 1.5);
        run.places[0].facts.targets = vec![TargetFacts { path: "/srv/iotax.img".into(), ..target }];
        told(&run)
    }

    #[test]
    fn cpu_time_with_a_neighbours_in_it_makes_no_conclusion() {
        let quiet = findings(&twin::masked());
        let of_cpu = |found: &crate::Findings| {
            found.workloads[0].charges.iter().map(|one| one.cpu.clone()).collect::<Vec<_>>()
        };
        assert!(of_cpu(&quiet).iter().any(|cpu| cpu.verdict.is_resolved()));
        let found = findings(&beside(twin::masked(), 1.5));
        for cpu in of_cpu(&found) {
            let why = cpu.not_measured().unwrap();
            assert!(
                why.starts_with(
                    "1.5 processors of this host were busy with something else while file was"
                ),
                "{why}"
            );
            assert!(
                cpu.sentence.contains("not measured: 1.5 processors")
                    && cpu.difference.value().is_none()
            );
        }
        let bill = found.workloads[0].bill.as_ref().unwrap();
        assert!(bill.lines.iter().all(|line| line.added_cpu.value().is_none()));
        assert!(found.workloads[0].rows.iter().all(|row| row.cpu.value().is_some()), "rows stay");
        let told: Vec<_> = found.warnings.iter().filter(|one| one.kind == super::KIND).collect();
        assert_eq!((told.len(), told[0].subject.as_str()), (1, "file"));
        assert!(
            told[0].text.ends_with("includes it; hint: stop the other work and run again"),
            "{told:?}"
        );
    }

    #[test]
    fn where_others_keep_the_cpus_busy_the_headline_says_so() {
        let mut run = twin::masked();
        run.slices.iter_mut().for_each(|slice| slice.cpu.as_mut().unwrap().idle_ns = 0);
        assert!(findings(&run).no_headline.unwrap().starts_with("both stacks hit the same limit"));
        let said = findings(&beside(run, 1.5)).no_headline.unwrap();
        assert!(said.starts_with("other work took "), "{said}");
        assert!(said.ends_with("stop that work and run again"), "{said}");
    }

    #[test]
    fn a_little_beside_a_load_is_no_neighbour() {
        assert_eq!(told(&twin::published()), None);
        assert_eq!(told(&beside(twin::published(), 0.4)), None, "less than half a processor");
        // Others use 1.5 processors, but the load itself takes more.
        let mut busy = beside(twin::published(), 1.5);
        for slice in &mut busy.slices {
            let lasted_ns = (slice.window_ns + slice.discarded_ns + slice.drain_ns) as f64;
            slice.cpu.as_mut().unwrap().user_ns += (2.0 * lasted_ns) as u64;
            let own = slice.samples.iter_mut().find(|one| one.metric == "cpu.user").unwrap();
            own.value = iotax_model::record::SampleValue::Value(2.0 * lasted_ns);
        }
        assert_eq!(told(&busy), None);
    }

    #[test]
    fn where_the_baseline_has_layers_or_workers_of_its_own_nobody_can_tell() {
        let device = |name: &str, driver: Option<&str>| TargetFacts {
            devices: vec![Device {
                name: name.into(),
                driver: driver.map(str::to_owned),
                ..Device::default()
            }],
            ..TargetFacts::default()
        };
        let file_system = |kind: &str| TargetFacts {
            file_system: Some(FileSystem {
                kind: kind.into(),
                point: "/srv".into(),
                source: "/dev/sda1".into(),
                options: String::new(),
            }),
            ..TargetFacts::default()
        };
        assert!(on(device("nvme0n1", Some("nvme"))).is_some() && on(file_system("ext4")).is_some());
        for target in [device("nvme0n1", None), device("dm-3", None), file_system("btrfs")] {
            assert_eq!(on(target.clone()), None, "{target:?}");
        }
        let changed = |change: &dyn Fn(&mut RunData)| {
            let mut run = beside(twin::published(), 1.5);
            change(&mut run);
            told(&run)
        };
        assert!(changed(&|_| ()).is_some());
        let fio = |run: &mut RunData| {
            run.workers.iter_mut().for_each(|one| one.engine = "fio 3.33".to_owned().into())
        };
        assert_eq!(changed(&fio), None);
        assert_eq!(
            changed(&|run| run.start.scenario.stacks[0].layers = vec![twin::layer("loop", &[])]),
            None
        );
        let lab = Medium::Drive { place: "lab".into(), name: "nvme0".into() };
        assert_eq!(changed(&|run| run.start.scenario.stacks[0].medium = lab.clone()), None);
    }
}
