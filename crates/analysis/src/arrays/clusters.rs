//! State of storage clusters, read between slices: the one in which figures were measured, and its
//! changes during the measurement.

use crate::findings::WarningReport;
use crate::findings::clusters::{ClusterChange, ClusterFindings};
use crate::gather::reading::WorkloadView;
use iotax_model::record::{ClusterReading, ClusterStatus, Purpose, Slice};
use iotax_model::stack::Stack;
use iotax_model::state::AskedState;
use iotax_stats::alike;
use iotax_units::count_noun;

/// Returns the findings on clusters, one for each list of stacks that readings name.
pub(crate) fn clusters(view: &WorkloadView) -> Vec<ClusterFindings> {
    let its = view.run.clusters.iter().filter(|one| one.workload == view.workload.name);
    let mut all: Vec<(&[String], Vec<&ClusterReading>)> = Vec::new();
    for reading in its {
        match all.iter_mut().find(|(stacks, _)| *stacks == reading.stacks.as_slice()) {
            Some((_, readings)) => readings.push(reading),
            None => all.push((&reading.stacks, vec![reading])),
        }
    }
    all.into_iter().map(|(stacks, readings)| cluster(view, stacks, &readings)).collect()
}

fn cluster(
    view: &WorkloadView,
    stacks: &[String],
    readings: &[&ClusterReading],
) -> ClusterFindings {
    let counts = |slice: &&Slice| {
        use Purpose::{OutOfState, Pilot, Precondition, WarmUp};
        let is_of_it = slice.workload == view.workload.name && stacks.contains(&slice.stack);
        is_of_it && !matches!(slice.purpose, WarmUp | Pilot | Precondition | OutOfState)
    };
    let slices: Vec<&Slice> = view.run.slices.iter().filter(counts).collect();
    let known: Vec<&ClusterStatus> =
        readings.iter().filter_map(|one| one.status.as_ref()).collect();
    let most = |of: fn(&ClusterStatus) -> f64| known.iter().map(|one| of(one)).fold(0.0, f64::max);
    let words = reported_cluster_states(readings);
    let count = |is: &dyn Fn(&&&ClusterReading) -> bool| readings.iter().filter(is).count() as u64;
    ClusterFindings {
        stacks: stacks.to_vec(),
        readings: readings.len() as u64,
        healthy: count(&|one| is_healthy(one)),
        unknown: count(&|one| one.status.is_none()),
        slices: slices.len() as u64,
        slices_not_healthy: slices.iter().filter(|slice| !in_health(slice, readings)).count()
            as u64,
        changed: words.len() > 1,
        most_degraded: most(|one| one.degraded),
        most_misplaced: most(|one| one.misplaced),
        most_inactive: most(|one| one.inactive),
        most_recovering: most(|one| one.recovering),
        course: course(readings),
        sentence: format!(
            "{}: the cluster below reported {}",
            stacks.join(", "),
            words.join(", then ")
        ),
    }
}

fn is_healthy(reading: &ClusterReading) -> bool {
    reading.status.as_ref().is_some_and(ClusterStatus::is_healthy)
}

/// Returns true if the readings before and after a slice, in its visit and set, are healthy. The
/// one after it may be missing, because the run was killed.
fn in_health(slice: &Slice, readings: &[&ClusterReading]) -> bool {
    let mut of_visit =
        readings.iter().filter(|one| (one.visit, one.set) == (slice.visit, slice.set));
    let before = of_visit.clone().rfind(|one| one.at_ns <= slice.start_ns);
    let after = of_visit.find(|one| one.at_ns > slice.start_ns);
    before.is_some_and(|one| is_healthy(one)) && after.is_none_or(|one| is_healthy(one))
}

/// Returns the reported states in order, each with its number of readings. States that differ only
/// in numbers are merged.
fn reported_cluster_states(readings: &[&ClusterReading]) -> Vec<String> {
    let said = |one: &&ClusterReading| match (&one.status, &one.unknown) {
        (Some(status), _) if status.is_healthy() => format!("healthy: {status}"),
        (Some(status), _) => status.to_string(),
        (None, why) => format!("nothing ({})", why.as_deref().unwrap_or("no reason is recorded")),
    };
    let all: Vec<String> = readings.iter().map(said).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let merged = |group: Vec<usize>| {
        let texts: Vec<&str> = group.iter().map(|at| all[*at]).collect();
        format!(
            "{} ({} of {})",
            alike::merge_texts(&texts),
            group.len(),
            count_noun(all.len() as u64, "reading", "readings")
        )
    };
    alike::grouped(&all).into_iter().map(merged).collect()
}

fn course(readings: &[&ClusterReading]) -> Vec<ClusterChange> {
    let mut course: Vec<ClusterChange> = Vec::new();
    let first_ns = readings.first().map_or(0, |first| first.at_ns);
    for one in readings {
        if course.last().is_none_or(|last| last.status != one.status) {
            let after_s = one.at_ns.saturating_sub(first_ns) as f64 / 1e9;
            course.push(ClusterChange { after_s, status: one.status.clone() });
        }
    }
    course
}

/// Warns of clusters that were not healthy during slices, or whose state was unknown, unless a
/// stack on them is meant to be measured in such a state.
pub(crate) fn cluster_warnings(
    view: &WorkloadView,
    clusters: &[ClusterFindings],
) -> Vec<WarningReport> {
    let stacks = &view.run.start.scenario.stacks;
    let is_meant = |name: &String| {
        let state =
            |stack: &Stack| stack.state.as_ref().is_some_and(|at| at.state != AskedState::Healthy);
        stacks.iter().any(|stack| stack.name == *name && state(stack))
    };
    let meant = |one: &&ClusterFindings| one.stacks.iter().any(is_meant);
    let warned = |one: &ClusterFindings| {
        let (name, load) = (one.stacks.join(", "), &view.workload.name);
        let text = match (one.slices_not_healthy, one.changed) {
            (0, _) => return None,
            (count, true) if count < one.slices => format!(
                "{load}: the cluster changed its state: {count} of {} were measured while it was not healthy or its \
                 state was unknown; the figures include them",
                count_noun(one.slices, "slice", "slices")
            ),
            _ => format!(
                "{load}: measured while the cluster was not healthy, or its state was unknown"
            ),
        };
        Some(WarningReport::new("cluster", &name, format!("{text} ({})", one.sentence)))
    };
    clusters.iter().filter(|one| !meant(one)).filter_map(warned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunData, findings, twin};

    fn status(groups: &[(&str, u64)], within: u32, misplaced: f64) -> ClusterStatus {
        let groups = groups.iter().map(|(state, count)| ((*state).to_owned(), *count)).collect();
        let health = "HEALTH_OK".to_owned();
        ClusterStatus {
            health,
            osds: 3,
            up: 3,
            within,
            groups,
            misplaced,
            ..ClusterStatus::default()
        }
    }

    /// A run with a reading before its first slice, and one a third and two thirds of the way and
    /// at its end.
    fn read(statuses: [Option<ClusterStatus>; 4]) -> RunData {
        let mut run = twin::states();
        let stack = run.start.scenario.stacks[0].name.clone();
        let ours: Vec<Slice> =
            run.slices.iter().filter(|slice| slice.stack == stack).cloned().collect();
        let first = &ours[0];
        let visit = |slice: &Slice| (slice.visit, slice.set);
        run.slices.retain(|slice| slice.stack != stack || visit(slice) == visit(first));
        let last = ours.iter().rfind(|slice| visit(slice) == visit(first)).unwrap();
        let third = (last.start_ns - first.start_ns) / 3;
        for (at, status) in statuses.into_iter().enumerate() {
            run.clusters.push(ClusterReading {
                visit: first.visit,
                set: first.set,
                workload: first.workload.clone(),
                stacks: vec![stack.clone()],
                at_ns: first.start_ns + at as u64 * third + if at == 3 { third } else { 0 },
                unknown: status.is_none().then(|| "no answer".into()),
                status,
            });
        }
        run
    }

    fn found(run: &RunData) -> (ClusterFindings, Vec<WarningReport>) {
        let mut found = findings(run);
        let warnings = found.warnings.into_iter().filter(|one| one.kind == "cluster").collect();
        (found.workloads.remove(0).clusters.remove(0), warnings)
    }

    #[test]
    fn a_healthy_cluster_is_told_of_and_nobody_is_warned() {
        let healthy = || Some(status(&[("active+clean", 16)], 3, 0.0));
        let (one, warnings) = found(&read([healthy(), healthy(), healthy(), healthy()]));
        assert_eq!(
            (one.readings, one.healthy, one.slices_not_healthy, one.changed),
            (4, 4, 0, false)
        );
        assert!(one.slices > 3 && one.course.len() == 1 && warnings.is_empty());
        assert!(one.sentence.ends_with(
            "healthy: HEALTH_OK, 3 OSDs: 3 up, 3 in, 16 active+clean (4 of 4 readings)"
        ));
    }

    #[test]
    fn a_state_that_changes_within_a_comparison_is_warned_of_with_its_slices() {
        let healthy = || Some(status(&[("active+clean", 16)], 3, 0.0));
        let out = |share| Some(status(&[("active+clean+remapped", 16)], 2, share));
        let (one, warnings) = found(&read([healthy(), healthy(), out(0.33), out(0.1)]));
        assert_eq!((one.healthy, one.changed, one.course.len()), (2, true, 3));
        assert_eq!(one.most_misplaced, 0.33);
        assert!(one.slices_not_healthy > 0);
        assert!(
            one.sentence.contains("misplaced 10.0 to 33.0 % (2 of 4 readings)"),
            "{}",
            one.sentence
        );
        let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
        let said = format!(
            "the cluster changed its state: {} of {} slices",
            one.slices_not_healthy, one.slices
        );
        assert!(warning.text.contains(&said), "{}", warning.text);
    }

    #[test]
    fn a_cluster_that_does_not_answer_is_not_known_to_be_healthy() {
        let (one, warnings) = found(&read([None, None, None, None]));
        assert_eq!((one.unknown, one.healthy, one.slices_not_healthy), (4, 0, one.slices));
        assert!(
            warnings[0].text.contains("its state was unknown")
                && warnings[0].text.contains("no answer")
        );
    }

    #[test]
    fn a_state_that_was_asked_for_is_no_warning() {
        let out = || Some(status(&[("active+clean+remapped", 16)], 2, 0.33));
        let mut run = read([out(), out(), out(), out()]);
        let name = "mdraid(level=5) failed(1)".to_owned();
        run.clusters.iter_mut().for_each(|one| one.stacks = vec![name.clone()]);
        assert!(found(&run).1.is_empty());
    }
}
