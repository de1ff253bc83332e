//! Arrays that were measured in several states: what they reported about each state, and each state
//! against the array as it was set up.

use super::table::TextTable;
use super::verdicts::{self, VerdictSentence};
use iotax_analysis::findings::states::ArrayStates;
use iotax_analysis::findings::{Charges, Comparison};

/// Returns the conclusions on the states, besides the sentence of the array itself. States that
/// were not measured are reported with the baseline.
pub(super) fn state_sentences(array: &ArrayStates) -> Vec<VerdictSentence> {
    let rebuilds = array.states.iter().filter_map(|state| state.rebuild.as_ref());
    let rebuilds =
        rebuilds.map(|rebuild| VerdictSentence { class: "", text: rebuild.sentence.clone() });
    let all = verdicts::sentences_of(
        &comparisons(array),
        &charges(array),
        &|stack| state_of_stack(array, stack),
        "state",
    );
    rebuilds.chain(all.into_iter().filter(|said| said.class != "absent")).collect()
}

/// Returns the table of rates, latencies and CPU times of each state; `None` if the baseline is the
/// healthy array, whose table has them already.
pub(super) fn state_table(array: &ArrayStates) -> Option<TextTable> {
    verdicts::table_of(&comparisons(array), &charges(array), |one| state_name(array, one))
}

pub(super) fn comparisons(array: &ArrayStates) -> Vec<&Comparison> {
    array.states.iter().flat_map(|state| &state.comparisons).collect()
}

fn charges(array: &ArrayStates) -> Vec<&Charges> {
    array.states.iter().flat_map(|state| &state.charges).collect()
}

/// Returns the state alone: the array is named above.
pub(super) fn state_name(array: &ArrayStates, one: &Comparison) -> String {
    state_of_stack(array, &one.stack).to_owned()
}

fn state_of_stack<'a>(array: &'a ArrayStates, stack: &'a str) -> &'a str {
    array.states.iter().find(|state| state.stack == stack).map_or(stack, |state| &state.state)
}
