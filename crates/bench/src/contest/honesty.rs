//! Checks that the generator reports true latencies when it is stopped, and that its slices agree
//! with a long run.

use super::goals::Ours;
use super::ours::{shot, timed, worker};
use super::{ContestLoad, ContestTarget};
use iotax_engines::load_engine::EngineError;
use iotax_load::{EngineName, Iomem, Rw, Stamping};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A generator at 100,000 I/Os a second that is stopped for 200 ms within 2 s: a tenth of the due
/// I/Os waited, the longest of them for 200 ms. The 99th percentile of an honest generator is near
/// 180 ms.
pub struct Stopped;

impl Stopped {
    /// Seconds of the run.
    pub const SECONDS: f64 = 2.0;
    pub const RATE: u64 = 100_000;
    pub const FOR: Duration = Duration::from_millis(200);
    /// Least value that the 99th percentile must have.
    pub const LEAST_NS: f64 = 175e6;

    /// Starts `iotax-bench engine` on /dev/zero as a separate process, stops it, and returns the
    /// 99th percentile that it reports, in ns.
    ///
    /// # Errors
    /// Fails if the process cannot be started or stopped, or reports no percentile.
    pub fn p99_ns() -> Result<f64, EngineError> {
        let system = |action: &str| {
            let action = action.to_owned();
            move |source| EngineError::System { action, source }
        };
        let words = format!(
            "engine --only iotax --target /dev/zero --size 512MiB --engine uring --rw randread --bs 4k --iodepth 1 \
             --rate-iops {} --time {}s --json",
            Stopped::RATE,
            Stopped::SECONDS
        );
        let program = std::env::current_exe().map_err(system("find this program"))?;
        let mut command = Command::new(program);
        command
            .args(words.split_whitespace())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let begin = Instant::now();
        let child = iotax_sys::child::ends_with_us(&mut command)
            .spawn()
            .map_err(system("start this program again"))?;
        let pid = Pid::from_child(&child);
        // This is well within the window, even if the window begins some tenths of a second later.
        std::thread::sleep(Duration::from_millis(1000).saturating_sub(begin.elapsed()));
        let signal = |signal: Signal| {
            kill_process(pid, signal).map_err(|errno| system("stop it")(errno.into()))
        };
        signal(Signal::STOP)?;
        std::thread::sleep(Stopped::FOR);
        signal(Signal::CONT)?;
        let limit = Duration::from_secs(30);
        let ended = iotax_sys::child::run_within(child, limit).map_err(system("wait for it"))?;
        let output = ended.output(limit).map_err(|why| EngineError::Output(format!("it {why}")))?;
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|error| {
            EngineError::Output(format!(
                "{error}: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ))
        })?;
        value["latency_ns"]["p99"]
            .as_f64()
            .ok_or_else(|| EngineError::Output("it has no latency_ns.p99".into()))
    }
}

/// Returns a load of cheap reads of 4 KiB.
pub(super) fn quick(engine: Option<EngineName>) -> ContestLoad {
    ContestLoad {
        rw: Rw::RandRead,
        bs: 4096,
        iodepth: 32,
        numjobs: 1,
        direct: false,
        engine,
        iomem: Iomem::Malloc,
        rate_iops: None,
    }
}

/// Returns how far a run of iotax alone is off Little's law, for users who run no contest.
///
/// # Errors
/// Returns the error of the worker.
pub fn littles_law_error(place: &ContestTarget, seconds: f64) -> Result<f64, EngineError> {
    let ours = Ours { stamps: Stamping::Each, iomem: Iomem::Malloc };
    let error = shot(place, &quick(None), ours, seconds)?.littles_law_error;
    error.ok_or_else(|| EngineError::Unfit("the run was too short for it".into()))
}

/// Slices compared with a long run.
pub struct Slices {
    /// Mean wall time between the end of one worker's slice (its queue is empty) and the beginning
    /// of another's, ns.
    pub switch_ns: f64,
    /// Rate of many windows of 50 ms, with two workers in turn, over that of one long window.
    pub ratio: f64,
}

impl Slices {
    /// Limit of the time of a switch, ns.
    pub const MOST_SWITCH_NS: f64 = 1e6;
    /// Largest relative difference of the ratio from 1.
    pub const MOST_OFF: f64 = 0.02;

    /// Runs two workers on a place in turn, and long windows before, between and after, so that the
    /// machine's own drift cancels.
    ///
    /// # Errors
    /// Returns the error of a worker.
    pub fn measure(place: &ContestTarget, seconds: f64) -> Result<Slices, EngineError> {
        let load = quick(Some(EngineName::Uring));
        let mut pair = [
            worker(place, load.job(Stamping::Each), &load)?,
            worker(place, load.job(Stamping::Each), &load)?,
        ];
        let (mut long, mut short) = ((0.0, 0.0), (0.0, 0.0));
        let (mut between_ns, mut switches) = (0.0, 0.0);
        const PARTS: u32 = 5;
        let part_ns = (seconds * 1e9 / f64::from(PARTS)) as u64;
        for part in 0..PARTS {
            let result = pair[part as usize % 2].slice(&timed(part_ns, 50_000_000))?;
            (long.0, long.1) = (long.0 + result.read.ios as f64, long.1 + result.window_ns as f64);
            let mut last_end_ns: Option<u64> = None;
            for turn in 0..(part_ns / 50_000_000).max(2) as usize {
                let result = pair[turn % 2].slice(&timed(50_000_000, 5_000_000))?;
                (short.0, short.1) =
                    (short.0 + result.read.ios as f64, short.1 + result.window_ns as f64);
                let begin_ns = result.window_start_ns - result.discarded_ns;
                if let Some(end_ns) = last_end_ns {
                    (between_ns, switches) =
                        (between_ns + begin_ns.saturating_sub(end_ns) as f64, switches + 1.0);
                }
                last_end_ns = Some(result.window_start_ns + result.window_ns + result.drain_ns);
            }
        }
        Ok(Slices {
            switch_ns: between_ns / switches,
            ratio: (short.0 / short.1) / (long.0 / long.1),
        })
    }
}
