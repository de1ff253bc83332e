//! Workloads that trim. Other workloads that they cannot be combined with, and stacks whose
//! generator does not trim, are refused here before anything is made. draft.rs checks the engines
//! that workloads name.

use super::error::Fault;
use super::{Engine, Workload};
use crate::stack::LayerRole;
use crate::stack::{LoadIssuer, Stack};
use iotax_load::{EngineName, Job};

/// Returns true if this engine issues trims. Without a named one, iotax chooses an engine that
/// does.
pub(super) fn by_engine(engine: Option<Engine>) -> bool {
    match engine {
        None => true,
        Some(Engine::Native(name)) => matches!(name, EngineName::Sync | EngineName::Null),
        Some(Engine::Fio) => false,
    }
}

/// Checks that a run that trims does nothing else: trimmed data can no longer be read, and are new
/// to the next writer. `steady` is true if the run waits for a steady rate. Returns notes for the
/// report.
pub(super) fn check_trim_run(
    stacks: &[Stack],
    workloads: &[Workload],
    steady: bool,
) -> Result<Vec<String>, Fault> {
    let jobs = || workloads.iter().flat_map(|workload| &workload.jobs);
    let Some(trims) = jobs().find(|job| job.rw.trims()) else { return Ok(Vec::new()) };
    let mut notes = Vec::new();
    if let Some(other) = jobs().find(|job| !job.rw.trims()) {
        let why = format!(
            "job \"{}\" trims what \"{}\" ({}) is on: what was trimmed is read without reaching a drive, and written as if for the first time",
            trims.name,
            other.name,
            other.rw.word()
        );
        // What fio runs at once, the user has put together on purpose.
        match trims.fio_options.is_empty() {
            true => return Err(Fault::hint(why, "a separate run for loads that trim")),
            false => notes.push(why),
        }
    }
    if steady {
        let why = "trims fill no cache, and have no steady pace once all is trimmed";
        return Err(Fault::hint(why, "leave \"steady\" out of regime and precondition"));
    }
    stacks.iter().try_for_each(|stack| on_stack(stack, trims))?;
    let alone = jobs().find(|job| job.rw.trims() && !job.rw.writes_data());
    let note = |job: &Job| {
        format!(
            "job \"{}\" trims and does not write: once it has gone through its region it trims what is trimmed already, which most drives and file systems answer at once; hint: rw={}write writes each block after its trim",
            job.name,
            job.rw.word()
        )
    };
    notes.extend(alone.map(note));
    Ok(notes)
}

fn on_stack(stack: &Stack, job: &Job) -> Result<(), Fault> {
    let refuse = |who: String, hint: &str| {
        Err(Fault::hint(
            format!("job \"{}\" trims, and {who} does not: {}", job.name, stack.text),
            hint,
        ))
    };
    if stack.medium.agent() == LoadIssuer::Fio && job.fio_options.is_empty() {
        return refuse(
            "the fio of agent=fio".into(),
            "leave out agent=fio: the agent of iotax trims",
        );
    }
    let named = |layer: &&crate::stack::LayerSpec| {
        let word = layer.option("name").filter(|_| layer.has_role(LayerRole::Generator));
        word.is_some_and(|word| {
            super::values::parse_engine(word)
                .is_ok_and(|engine| !by_engine(engine) && job.fio_options.is_empty())
        })
    };
    match stack.layers.iter().find(named).and_then(|layer| layer.option("name")) {
        Some(word) => {
            refuse(format!("the layer engine({word})"), "engine(sync), or leave the layer out")
        }
        None => Ok(()),
    }
}
