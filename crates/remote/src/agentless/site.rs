//! Site of the engine fio that is a host over ssh.

use super::{Host, QUICK, last_words};
use iotax_engines::fio::{Filename, Ioengines, Site, output_in_time};
use iotax_engines::load_engine::EngineError;
use iotax_host::Missing;
use iotax_load::clock;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

/// Longest time for a flush, on a device that drains slowly.
const FLUSH_LIMIT: Duration = Duration::from_secs(100);

pub(super) struct AgentlessHost(pub(super) Host);

impl AgentlessHost {
    fn unfit(error: &anyhow::Error) -> EngineError {
        EngineError::Unfit(format!("{error:#}"))
    }
}

impl Site for AgentlessHost {
    fn fio_version(&self) -> Result<String, EngineError> {
        let AgentlessHost(host) = self;
        let seen = host.look_at_host(&[]).map_err(|error| Self::unfit(&error))?;
        seen.fio.ok_or_else(|| {
            EngineError::Missing(Missing {
                what: format!("fio on {}", host.name),
                why: "to load it without an agent".into(),
                command: host.shell.how_to_get_fio(seen.facts.os.as_deref()),
                reboot: false,
            })
        })
    }

    fn ioengines(&self) -> Ioengines {
        self.0.shell.ioengines()
    }

    fn reason_and_place(&self) -> (String, &'static str) {
        (format!("no agent on {} (agent=fio)", self.0.name), "there")
    }

    fn target_size(&self, path: &Path) -> Result<u64, EngineError> {
        let found = self.0.inspect(path).map_err(|error| Self::unfit(&error))?;
        found
            .map(|found| found.bytes)
            .ok_or_else(|| EngineError::Unfit(format!("{} is not there", path.display())))
    }

    /// Returns a path as fio reads it in a job: with `\:`, since fio splits names at ':'. Refuses
    /// other characters with a meaning there, such as '$', '#' and ';'.
    fn fio_filename(&self, path: &Path) -> Result<Filename, EngineError> {
        let plain = |c: char| c.is_alphanumeric() || r"/\._-+,@=:~ ()".contains(c);
        match path.to_str().filter(|text| text.chars().all(plain) && !text.ends_with(' ')) {
            Some(text) => Ok(Filename { text: text.replace(':', r"\:"), held: None }),
            None => Err(EngineError::Unfit(format!(
                "{} cannot be named in a job of fio; hint: letters, digits and -_.,+=@~() are safe in it",
                path.display()
            ))),
        }
    }

    fn fio_command(&self, options: &[String]) -> Vec<String> {
        [&["ssh".to_owned(), self.0.name.clone(), "fio".to_owned()], options].concat()
    }

    fn run_fio(
        &self,
        options: &[String],
        job_file: &str,
        limit: Duration,
    ) -> Result<Output, EngineError> {
        let ended = self.0.run(&self.0.shell.fio_request(options, job_file), limit);
        let ended =
            ended.map_err(|source| EngineError::System { action: "start ssh".into(), source })?;
        output_in_time(ended, limit)
    }

    fn flush_targets(&self, paths: &[&Path]) -> Result<u64, EngineError> {
        let AgentlessHost(host) = self;
        let before = clock::monotonic_ns();
        let ended = host.run(&host.shell.flush_request(paths), FLUSH_LIMIT + QUICK);
        let ended =
            ended.map_err(|source| EngineError::System { action: "start ssh".into(), source })?;
        let output = output_in_time(ended, FLUSH_LIMIT)?;
        let failed =
            |words: String| EngineError::Unfit(format!("cannot flush on {}: {words}", host.name));
        if !output.status.success() {
            return Err(failed(last_words(&output)));
        }
        let took =
            host.shell.flushed_ns(&output.stdout).map_err(|error| failed(format!("{error:#}")))?;
        // The time as seen from here is longer by the way there and back.
        Ok(took.unwrap_or_else(|| clock::monotonic_ns() - before))
    }

    /// Returns when the window began, as if fio had ended now: the host's clock is not compared
    /// with ours.
    fn window_start(&self, _: u64, window_ns: u64) -> u64 {
        clock::monotonic_ns().saturating_sub(window_ns)
    }

    fn ends_by_itself(&self) -> bool {
        true
    }
}
