//! Which command or job file an output is of: the last one before it, where its figures are ones
//! that such a command gives.

use super::fio::{Fio, FioForm, FioJobLine, FioReport, snapshots};
use super::{ResultDirection, ToolOutput, ToolReport};

/// Gives outputs of fio that do not say what was asked for, since their first lines were left out,
/// what the command before them asks for.
pub(super) fn attribute(outputs: &mut [ToolOutput]) {
    let mut asked: Vec<FioJobLine> = Vec::new();
    for output in &mut *outputs {
        match &mut output.said {
            ToolReport::Asked(told) => asked.clone_from(told),
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

/// A text has its head once: what goes on with the same run is of that head, too.
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

/// Whether a text does not say what was asked for.
fn lacks_its_head(fio: &Fio) -> bool {
    fio.asked.is_empty() && fio.form == FioForm::Text
}

/// What was asked of a job: what has its name, and goes the ways that it went.
fn asked_of<'a>(job: &FioReport, asked: &'a [FioJobLine]) -> Option<&'a FioJobLine> {
    let fits = |asked: &&FioJobLine| {
        asked.name == job.name && asked.rw.as_deref().is_some_and(|rw| goes(rw, job))
    };
    asked.iter().find(fits)
}

/// Whether a job went ways that `rw` says (`randread`, `readwrite`, `trimwrite`), and no other.
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
