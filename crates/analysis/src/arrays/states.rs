//! Arrays that were measured in states such as degraded: the state reported after each slice, the
//! slices that were left out because it changed, and each state compared with the array as it was
//! set up.

use crate::arrays::rebuild;
use crate::compare::judged::{JudgedPairs, WorkloadEstimates};
use crate::findings::states::{ArrayStates, StateFindings};
use crate::gather::reading::WorkloadView;
use crate::gather::subject::{comparison_subject, mark_emulated};
use iotax_model::record::{Purpose, Slice};
use iotax_model::scenario::state_source;
use iotax_model::stack::InState;
use iotax_stats::{Verdict, alike};

/// Returns the findings on each array that is measured in states, and adds the estimates of its
/// comparisons to `estimates`.
pub(crate) fn array_states(
    reading: &WorkloadView,
    estimates: &mut WorkloadEstimates,
) -> Vec<ArrayStates> {
    let stacks = &reading.run.start.scenario.stacks;
    let first = |at: &usize| stacks[*at].state.as_ref().is_some_and(|state| state.of == *at);
    (0..stacks.len()).filter(first).map(|of| array(reading, of, estimates)).collect()
}

fn array(reading: &WorkloadView, of: usize, estimates: &mut WorkloadEstimates) -> ArrayStates {
    let scenario = &reading.run.start.scenario;
    let its = |at: usize| scenario.stacks[at].state.as_ref().filter(|state| state.of == of);
    let all = (0..scenario.stacks.len()).filter_map(|at| Some((at, its(at)?)));
    let states: Vec<StateFindings> =
        all.map(|(at, state)| in_state(reading, at, state, estimates)).collect();
    let told_by = state_source(&scenario.stacks[of]);
    let who = mark_emulated(reading.name(of), reading.emulated(of).is_some());
    let said = states.iter().map(StateFindings::to_sentence).collect::<Vec<_>>().join("; ");
    let by = if told_by.is_empty() { "it" } else { told_by };
    let sentence = format!("{who}: as {by} reported after each slice: {said}");
    ArrayStates { stack: reading.name(of).to_owned(), reported_by: told_by, states, sentence }
}

fn in_state(
    reading: &WorkloadView,
    at: usize,
    state: &InState,
    estimates: &mut WorkloadEstimates,
) -> StateFindings {
    let is_first = state.of == at;
    let mut judged = JudgedPairs::default();
    // The comparison with the baseline is among the others.
    if !is_first && state.of != reading.run.start.scenario.baseline {
        judged.add_pair(reading, [state.of, at]);
    }
    estimates.add_estimates(judged.estimates);
    let (counted, left_out) = slices(reading, at);
    let again = !is_first && state.lost_members() == Some(0);
    let name =
        reading.name(at).strip_prefix(reading.name(state.of)).unwrap_or_default().trim_start();
    StateFindings {
        stack: reading.name(at).to_owned(),
        state: if name.is_empty() { state.state.to_string() } else { name.to_owned() },
        slices: counted.len() as u64,
        reported: counted.iter().filter(|slice| slice.state.is_some()).count() as u64,
        reported_as: reported_array_states(&counted),
        left_out: left_out.len() as u64,
        left_out_as: reported_array_states(&left_out),
        rebuild: rebuild::while_rebuilt(reading, at, state),
        comparisons: judged.comparisons,
        charges: judged.charges,
        again,
    }
}

/// Returns the slices of a stack that count for figures, and those left out because the array left
/// its state.
fn slices<'a>(reading: &WorkloadView<'a>, at: usize) -> (Vec<&'a Slice>, Vec<&'a Slice>) {
    let counts = |slice: &&Slice| {
        !matches!(slice.purpose, Purpose::WarmUp | Purpose::Pilot | Purpose::Precondition)
    };
    reading.slices(at).filter(counts).partition(|slice| slice.purpose != Purpose::OutOfState)
}

/// Returns the states that the array reported; those that differ only in numbers are merged.
fn reported_array_states(slices: &[&Slice]) -> Vec<String> {
    let all: Vec<&str> = slices.iter().filter_map(|slice| slice.state.as_deref()).collect();
    let merged = |group: Vec<usize>| {
        alike::merge_texts(&group.iter().map(|at| all[*at]).collect::<Vec<_>>())
    };
    alike::grouped(&all).into_iter().map(merged).collect()
}

impl StateFindings {
    /// Returns the sentence: `failed(1): degraded, 1 missing (80 of 80 slices)`.
    fn to_sentence(&self) -> String {
        let reported = match self.reported_as.as_slice() {
            [] if self.slices == 0 => "no slice was recorded".to_owned(),
            [] => "nothing".to_owned(),
            words => words.join(" or "),
        };
        let counted = format!("{} of {} slices", self.reported, self.slices);
        // A state in its own words is not repeated.
        let (state, reported) = match reported.strip_prefix(&self.state) {
            Some("") => (self.state.as_str(), String::new()),
            Some(_) => ("", reported),
            None => (self.state.as_str(), format!(": {reported}")),
        };
        let was = self.left_out_as.join(" or ");
        let left_out = match self.left_out {
            0 => String::new(),
            1 => format!(", 1 more was left out, as it was {was} after it"),
            many => format!(", {many} more were left out, as it was {was} after them"),
        };
        format!("{state}{reported} ({counted}{left_out})")
    }
}

/// How conclusions name the stack with which they compare.
const BASE: &str = "the baseline";
/// What replaces [`BASE`] in conclusions on states.
const HEALTHY: &str = "the healthy array";

/// Rewords the conclusions on states, which compare with the healthy array and not with the
/// baseline of the run. For an array that is healthy again, adds whether it came back. Call this
/// after everything else that puts verdicts into words.
pub(crate) fn reword(array: &mut ArrayStates) {
    for state in &mut array.states {
        for one in &mut state.comparisons {
            let back = if state.again { came_back(&one.rate.verdict) } else { "" };
            one.rate.phrase = std::mem::take(&mut one.rate.phrase).with_words(back);
            let who = comparison_subject(&one.stack, &one.against, one.emulated.is_some());
            for rate in one.rates_mut() {
                rate.phrase = std::mem::take(&mut rate.phrase).reworded(BASE, HEALTHY);
                rate.sentence = format!("{who}: {}", rate.phrase);
            }
        }
        for one in &mut state.charges {
            let who = comparison_subject(&one.stack, &one.against, one.emulated.is_some());
            let directions = one.directions.iter_mut().map(|one| &mut one.latency);
            for figure in [&mut one.latency, &mut one.cpu].into_iter().chain(directions) {
                figure.phrase = std::mem::take(&mut figure.phrase).reworded(BASE, HEALTHY);
                figure.sentence = format!("{who}: {}", figure.phrase);
            }
        }
    }
}

fn came_back(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::NoDifference { .. } => "; it came back",
        Verdict::Costs { .. } => "; it did not come back",
        Verdict::Gains { .. } => "; it came back faster",
        Verdict::Unresolved { .. } => "",
    }
}

#[cfg(test)]
mod tests {
    use crate::findings::WorkloadFindings;
    use crate::{RunData, findings, twin};
    use iotax_model::record::{Purpose, SampleValue};

    fn found(change: impl FnOnce(&mut RunData)) -> WorkloadFindings {
        let mut run = twin::states();
        change(&mut run);
        findings(&run).workloads.remove(0)
    }

    #[test]
    fn what_the_array_told_is_counted_and_what_it_left_is_named() {
        let found = found(|_| {});
        let [array] = found.arrays.as_slice() else { panic!("one array: {:?}", found.arrays) };
        assert_eq!((array.stack.as_str(), array.reported_by), ("mdraid(level=5)", "sysfs"));
        let names: Vec<&str> = array.states.iter().map(|state| state.state.as_str()).collect();
        assert_eq!(names, ["healthy", "failed(1)", "rebuilding", "healthy again"]);
        let rebuilding = &array.states[2];
        assert_eq!((rebuilding.slices, rebuilding.reported, rebuilding.left_out), (96, 96, 1));
        assert_eq!(rebuilding.reported_as, ["rebuilding, 3 to 52 % done"]);
        assert_eq!(rebuilding.left_out_as, ["healthy"]);
        assert!(
            array
                .sentence
                .contains("96 of 96 slices, 1 more was left out, as it was healthy after it")
        );
    }

    #[test]
    fn slices_whose_state_nobody_told_are_not_said_to_be_in_it() {
        let found = found(|run| {
            let ours = run.slices.iter_mut().filter(|slice| slice.stack.ends_with("failed(1)"));
            ours.take(10).for_each(|slice| slice.state = None);
        });
        let failed = &found.arrays[0].states[1];
        assert_eq!((failed.slices, failed.reported), (96, 86));
        assert!(
            found.arrays[0].sentence.contains("failed(1): degraded, 1 missing (86 of 96 slices)")
        );
    }

    #[test]
    fn a_state_is_held_against_the_healthy_array_and_counts_among_the_others() {
        let by_each = found(|_| {});
        let against: Vec<&str> =
            by_each.all_comparisons().map(|one| one.against.as_str()).collect();
        assert_eq!(against, [["each of 4"; 4].as_slice(), &["mdraid(level=5)"; 3]].concat());
        let by_array = found(|run| run.start.scenario.baseline = 1);
        assert!(
            by_array.arrays[0].states.iter().all(|state| state.comparisons.is_empty()),
            "they are there already"
        );
        assert_eq!(by_array.all_comparisons().count(), 4);
        // Bonferroni's intervals are of all that are asked about: of seven wider than of four.
        let width = |found: &WorkloadFindings| {
            let mut all = found.all_comparisons();
            let failed = |one: &&crate::findings::Comparison| {
                one.stack.ends_with("failed(1)") && one.against == "mdraid(level=5)"
            };
            match all.find(failed).and_then(|one| one.rate.simultaneous.clone()) {
                Some(crate::findings::Interval::Bounds { low, high, .. }) => high - low,
                _ => panic!("no interval"),
            }
        };
        assert!(
            width(&by_each) > 1.05 * width(&by_array),
            "{} {}",
            width(&by_each),
            width(&by_array)
        );
    }

    #[test]
    fn healthy_again_says_whether_it_is_what_it_was() {
        let said = |found: &WorkloadFindings| {
            found.arrays[0].states[3].comparisons[0].rate.sentence.clone()
        };
        // Wide enough for a simultaneous interval of seven comparisons.
        let same = found(|run| run.start.scenario.measure.equivalence = 0.05);
        assert!(said(&same).ends_with("; it came back"), "{}", said(&same));
        let slow = found(|run| {
            let again = run.slices.iter_mut().filter(|slice| slice.stack.ends_with("again"));
            again
                .filter(|slice| slice.purpose == Purpose::Plain)
                .for_each(|slice| slice.window_ns *= 2);
        });
        assert!(
            said(&slow).contains(": costs 50") && said(&slow).ends_with("; it did not come back"),
            "{}",
            said(&slow)
        );
        let failed = slow.arrays[0].states[1].comparisons[0].rate.sentence.clone();
        assert!(!failed.contains("came back"), "{failed}");
    }

    #[test]
    fn what_a_state_is_held_against_is_not_called_the_baseline() {
        let idle = found(|run| {
            let healthy = run.slices.iter_mut().filter(|slice| slice.stack == "mdraid(level=5)");
            healthy.flat_map(|slice| &mut slice.samples).for_each(|sample| {
                if let SampleValue::Value(value) = &mut sample.value {
                    *value = 0.0;
                }
            });
        });
        let sentence = &idle.arrays[0].states[1].comparisons[0].rate.sentence;
        assert!(sentence.contains("the healthy array completed nothing"), "{sentence}");
    }
}
