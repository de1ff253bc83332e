//! Identity of a run and of its places.

use crate::findings::{PlaceReport, RunIdentity};
use iotax_model::record::state::RunState;
use iotax_model::record::{Place, PlaceFacts};
use iotax_stats::alike;
use iotax_store::RunData;
use iotax_units::shell;
use iotax_units::{distinct, show_names};

pub fn identity(run: &RunData) -> RunIdentity {
    let start = &run.start;
    RunIdentity {
        id: start.id.clone(),
        name: start.scenario.name.clone(),
        at: start.at.clone(),
        iotax: start.iotax.clone(),
        command: shell::quote_line(&start.argv),
        source: start.scenario.source.clone(),
        seed: start.scenario.measure.seed,
        zone: start.scenario.measure.equivalence,
        state: run.state().state_word(),
        failure: run.outcome.clone().filter(|_| run.state() == RunState::Failed),
        torn: run.torn,
        imported: start.imported.is_some(),
    }
}

pub fn place_report(facts: &PlaceFacts) -> PlaceReport {
    PlaceReport {
        place: facts.place.clone(),
        emulated: facts.emulated.clone(),
        // A value that can be stored can be printed; the error would be a failing Serialize of our
        // own.
        facts: serde_json::to_value(&facts.facts).unwrap_or_else(|error| error.to_string().into()),
        commands: facts.commands.iter().map(shell::quote_line).collect(),
        disks: facts.disks.clone(),
    }
}

pub fn emulated_places(run: &RunData) -> Vec<String> {
    // Every visit has guests of its own, with the same names.
    let found: Vec<(&Place, &str)> = run
        .places
        .iter()
        .filter_map(|place| Some((&place.place, place.emulated.as_deref()?)))
        .collect();
    let reasons: Vec<&str> = found.iter().map(|(_, reason)| *reason).collect();
    let sentence = |group: Vec<usize>| {
        let reason = alike::merge_texts(&group.iter().map(|at| reasons[*at]).collect::<Vec<_>>());
        let places = show_names(distinct(group.iter().map(|at| found[*at].0)));
        // The reason as recorded, put so that it covers all of them.
        match reason.strip_prefix("emulated: ") {
            Some(why) => format!("figures of {places} are {why}"),
            None => format!("figures of {places} are emulated and not representative: {reason}"),
        }
    };
    alike::grouped(&reasons).into_iter().map(sentence).collect()
}
