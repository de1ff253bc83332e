//! Finds the command line of an output of fio: the last one before it, if the output's jobs have
//! its names and directions.

use super::fio::{Fio, FioForm, FioJobLine, FioReport, snapshots};
use super::format::{ToolOutput, ToolReport};
use super::workload::ResultDirection;

/// Copies the settings of the last command to each text output of fio after it that has none, if
/// all its jobs fit these settings.
pub(super) fn attribute(outputs: &mut [ToolOutput]) {
    let mut asked: Vec<FioJobLine> = Vec::new();
    for output in &mut *outputs {
        match &mut output.said {
            ToolReport::Asked(settings) => asked.clone_from(settings),
            ToolReport::Fio(fio)
                if lacks_its_head(fio)
                    && fio.jobs.iter().all(|job| asked_of(job, &asked).is_some()) =>
            {
                fio.asked.clone_from(&asked);
            }
            _ => {}
        }
    }
    give_heads_on(outputs);
}

/// Copies settings and version to the later outputs of a run, since fio prints them once per run.
fn give_heads_on(outputs: &mut [ToolOutput]) {
    for (at, later) in snapshots::followers(outputs).into_iter().enumerate() {
        let ToolReport::Fio(before) = &outputs[at].said else { continue };
        let (asked, version) = (before.asked.clone(), before.version);
        let Some(ToolReport::Fio(later)) = later.map(|later| &mut outputs[later].said) else {
            continue;
        };
        if lacks_its_head(later) {
            later.asked = asked;
            later.version = later.version.or(version);
        }
    }
}

fn lacks_its_head(fio: &Fio) -> bool {
    fio.asked.is_empty() && fio.form == FioForm::Text
}

/// Returns the settings among `asked` with the name and the directions of a job.
fn asked_of<'a>(job: &FioReport, asked: &'a [FioJobLine]) -> Option<&'a FioJobLine> {
    let fits = |asked: &&FioJobLine| {
        asked.name == job.name && asked.rw.as_deref().is_some_and(|rw| goes(rw, job))
    };
    asked.iter().find(fits)
}

/// Returns true if a job did I/O exactly in the directions that `rw` names (`randread`,
/// `readwrite`, `trimwrite`).
fn goes(rw: &str, job: &FioReport) -> bool {
    let rw = rw.split(':').next().unwrap_or(rw);
    let says = |way: ResultDirection| match way {
        ResultDirection::Read => rw.contains("read") || rw.ends_with("rw"),
        ResultDirection::Write => rw.contains("write") || rw.ends_with("rw"),
        ResultDirection::Trim => rw.contains("trim"),
        ResultDirection::Both => {
            ["read", "write", "trim", "rw"].iter().any(|word| rw.ends_with(word))
        }
    };
    !job.directions.is_empty() && job.directions.iter().all(|direction| says(direction.way))
}
