//! What the installed fio knows, asked without any I/O: its ioengines for Ceph, and the options of a
//! job file.

use super::here::Here;
use super::{EngineError, Site, fio_failed};
use iotax_load::{Job, fio_options};
use iotax_sys::child::{ANSWERS_WITHIN, output_of};
use std::fmt::Write as _;
use std::process::Output;

/// Checks that the fio here has an ioengine for Ceph, `rados` or `rbd`: some distributions build it
/// without these.
///
/// # Errors
/// A sentence that fio is not installed or lacks the ioengine.
pub fn has_ioengine(name: &str) -> Result<(), String> {
    let mut fio = std::process::Command::new("fio");
    match output_of(fio.arg(format!("--enghelp={name}")), ANSWERS_WITHIN) {
        Ok(said) if String::from_utf8_lossy(&said.stdout).contains("pool") => Ok(()),
        Ok(_) => Err(format!("the fio here has no engine {name}")),
        Err(_) => Err("fio is not installed".to_owned()),
    }
}

/// Checks that the fio here knows all options of the jobs, without any I/O. Succeeds if no job has
/// options for fio, or if there is no fio.
///
/// # Errors
/// What fio answers about an option.
pub fn check_known(jobs: &[Job]) -> Result<(), EngineError> {
    let mut text = String::new();
    for job in jobs.iter().filter(|job| !job.fio_options.is_empty()) {
        fio_options::check(job).map_err(EngineError::Unfit)?;
        let (size, options) = (job.size.unwrap_or(1 << 30), job.fio_options.join("\n"));
        let _ =
            writeln!(text, "[a]\nfilename=/dev/null\nsize={size}\nrw={}\n{options}", job.rw.word());
    }
    if text.is_empty() {
        return Ok(());
    }
    let options = ["--parse-only".to_owned(), "-".to_owned()];
    match Here::default().run_fio(&options, &text, ANSWERS_WITHIN) {
        Err(EngineError::Missing(_)) => Ok(()),
        Err(error) => Err(error),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(fio_failed(&Output { stdout: Vec::new(), ..output })),
    }
}
