//! Other generators as contenders: the installed fio with several tunings, and t/io_uring from
//! fio's sources if its path is given.

use super::goals::Ours;
use super::{ContestLoad, ContestTarget, Shot};
use iotax_engines::fio::{self, Filename};
use iotax_engines::load_engine::EngineError;
use iotax_load::engine::ALL;
use iotax_load::{EngineName, Histogram, Iomem, Stamping};
use std::fmt::Write as _;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// fio with the load and nothing else.
    FioDefault,
    /// fio with all settings that make it fast and change no I/O.
    FioTuned,
    /// fio without readings of the clock (`gtod_reduce=1`): no latencies.
    FioLean,
    /// Tuned fio with buffers on huge pages.
    FioHuge,
    /// Tuned fio with huge pages and without readings of the clock.
    FioLeanHuge,
    TIoUring,
}

/// Grace time after a run before fio counts as hung.
const SLACK: Duration = Duration::from_secs(30);

const TUNED: &str = "norandommap=1\nrandom_generator=tausworthe64\ndisk_util=0\n";
/// Options for latencies that include the submission, as those of iotax do.
const WHOLE: &str = "lat_percentiles=1\nclat_percentiles=0\n";
/// Batch options for engines with a queue.
const BATCHES: &str =
    "iodepth_batch_submit=32\niodepth_batch_complete_min=1\niodepth_batch_complete_max=32\n";

/// Returns `fio 3.33`.
///
/// # Errors
/// Fails if it is not installed, with the command that installs it.
pub fn fio_version() -> Result<String, EngineError> {
    fio::version()
}

impl Peer {
    /// Returns the tuned fio that does the same as iotax.
    pub fn like(ours: Ours) -> Peer {
        match (ours.stamps, ours.iomem) {
            (Stamping::Off, Iomem::MmapHuge) => Peer::FioLeanHuge,
            (Stamping::Off, Iomem::Malloc) => Peer::FioLean,
            (_, Iomem::MmapHuge) => Peer::FioHuge,
            (_, Iomem::Malloc) => Peer::FioTuned,
        }
    }

    /// Returns true for a tuned fio.
    fn tuned(self) -> bool {
        self != Peer::FioDefault
    }

    fn lean(self) -> bool {
        matches!(self, Peer::FioLean | Peer::FioLeanHuge | Peer::TIoUring)
    }

    /// Returns true for buffers on huge pages.
    fn huge(self) -> bool {
        matches!(self, Peer::FioHuge | Peer::FioLeanHuge)
    }

    pub fn name(self) -> &'static str {
        match self {
            Peer::FioDefault => "fio",
            Peer::FioTuned => "fio tuned",
            Peer::FioLean => "fio tuned, no clock",
            Peer::FioHuge => "fio tuned, huge pages",
            Peer::FioLeanHuge => "fio tuned, no clock, huge pages",
            Peer::TIoUring => "t/io_uring, no clock",
        }
    }

    /// Runs it once, with the interface that is closest to an engine of iotax.
    ///
    /// # Errors
    /// Returns what is missing, does not fit or failed.
    pub fn shot(
        self,
        place: &ContestTarget,
        load: &ContestLoad,
        engine: EngineName,
        seconds: f64,
        t_io_uring: Option<&Path>,
    ) -> Result<Shot, EngineError> {
        match self {
            Peer::TIoUring => t_io_uring_shot(place, load, engine, seconds, t_io_uring),
            _ => {
                // Held until fio has ended: its name may lead through our descriptor.
                let held = Filename::from_path(&place.path)?;
                let shot =
                    fio_shot(&self.job_file(&held, place.bytes, load, engine, seconds), seconds);
                shot.map_err(
                    |error| if self.huge() { without_huge_pages(error, load) } else { error },
                )
            }
        }
    }

    /// Returns the job file for fio's standard input, which reads `bytes` of a target.
    fn job_file(
        self,
        filename: &Filename,
        bytes: u64,
        load: &ContestLoad,
        engine: EngineName,
        seconds: f64,
    ) -> String {
        let mut text = String::from("[contest]\n");
        let mut line = |key: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(text, "{key}={value}");
        };
        line("filename", &filename.text);
        line("ioengine", &ioengine(engine));
        line("rw", &load.rw.word());
        line("bs", &load.bs);
        // An engine with one I/O in flight per thread gets its depth from threads, as in iotax.
        let split = split(load.iodepth, engine);
        line("iodepth", &(load.iodepth / split));
        line("numjobs", &(load.numjobs * split));
        line("size", &bytes);
        line("direct", &u8::from(load.direct));
        line("invalidate", &0);
        line("allow_file_create", &0);
        line("time_based", &1);
        line("runtime", &format_args!("{}ms", (seconds * 1e3).round()));
        line("group_reporting", &1);
        if let Some(rate) = load.rate_iops {
            line("rate_iops", &rate.div_ceil(u64::from(split)));
        }
        if self.tuned() {
            text += TUNED;
            // A thread of glibc's does the I/O of posixaio, and fio counts its CPU time only in a
            // separate process.
            text += if engine == EngineName::PosixAio { "" } else { "thread=1\n" };
            text += match engine {
                EngineName::Uring => "fixedbufs=1\nregisterfiles=1\nnonvectored=1\n",
                EngineName::Aio => "userspace_reap=1\n",
                _ => "",
            };
            text += if engine == EngineName::Sync { "" } else { BATCHES };
            text += if self.lean() { "gtod_reduce=1\n" } else { WHOLE };
            text += if self.huge() { "iomem=mmaphuge\n" } else { "" };
        }
        text
    }
}

/// Adds a hint to an error: fio requests reserved huge pages and accepts no others.
fn without_huge_pages(error: EngineError, load: &ContestLoad) -> EngineError {
    let bytes = load.bs * u64::from(load.iodepth) * u64::from(load.numjobs);
    let pages = bytes.div_ceil(2 << 20) + u64::from(load.numjobs);
    EngineError::Output(format!(
        "{error}; hint: fio takes reserved huge pages only: sysctl vm.nr_hugepages={pages}"
    ))
}

/// Returns how many threads replace one of the load's.
fn split(iodepth: u32, engine: EngineName) -> u32 {
    let most = ALL.iter().find(|kind| kind.name == engine).and_then(|kind| kind.depth);
    most.map_or(1, |most| iodepth.div_ceil(most))
}

/// Returns fio's word for the interface of an engine of iotax.
fn ioengine(engine: EngineName) -> &'static str {
    match engine {
        EngineName::Uring => "io_uring",
        EngineName::Aio => "libaio",
        EngineName::Sync => "psync",
        EngineName::PosixAio => "posixaio",
        EngineName::Null => "null",
    }
}

fn fio_shot(job_file: &str, seconds: f64) -> Result<Shot, EngineError> {
    let result = fio::once(job_file, Duration::from_secs_f64(seconds) + SLACK)?;
    let ios = (result.read.ios + result.write.ios).max(1) as f64;
    Ok(Shot {
        iops: ios / (result.window_ns as f64 / 1e9),
        user_ns: result.cpu_user_ns as f64 / ios,
        kernel_ns: result.cpu_system_ns as f64 / ios,
        latency: result.read.latency,
        reap_gap: Histogram::new(),
        littles_law_error: None,
        errors: result.errors,
        engine: fio::version()?,
        job_file: Some(job_file.to_owned()),
    })
}

fn t_io_uring_shot(
    place: &ContestTarget,
    load: &ContestLoad,
    engine: EngineName,
    seconds: f64,
    program: Option<&Path>,
) -> Result<Shot, EngineError> {
    let Some(program) = program else {
        return Err(EngineError::Unfit(
            "no t/io_uring was given; hint: build it from fio's sources and name it with --t-io-uring".into(),
        ));
    };
    let mut command = Command::new(program);
    command.args(t_io_uring_words(load, engine, seconds)).arg(&place.path);
    // A process group of its own: a Ctrl-C would cut its figure, and iotax ends the contest itself.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let system = |action: &str| {
        let action = format!("{action} {}", program.display());
        move |source| EngineError::System { action, source }
    };
    let child = iotax_sys::child::ends_with_us(&mut command).spawn().map_err(system("start"))?;
    let limit = Duration::from_secs_f64(seconds) + SLACK;
    let ended = iotax_sys::child::run_within(child, limit).map_err(system("wait for"))?;
    let why = |why| EngineError::Output(format!("{} {why}", program.display()));
    let output = ended.output(limit).map_err(why)?;
    let text = String::from_utf8_lossy(&output.stdout);
    // At a regular end it prints 0.
    let iops = mean_iops(&text).filter(|_| output.status.success()).ok_or_else(|| {
        let words = [&*text, &*String::from_utf8_lossy(&output.stderr)].concat();
        EngineError::Output(format!(
            "{} tells no IOPS ({}): {}",
            program.display(),
            output.status,
            words.trim().chars().take(200).collect::<String>()
        ))
    })?;
    Ok(Shot { iops, engine: "t/io_uring".into(), ..Shot::default() })
}

fn t_io_uring_words(load: &ContestLoad, engine: EngineName, seconds: f64) -> Vec<String> {
    let depth = load.iodepth;
    let batch = depth.min(32);
    let interface = match engine {
        EngineName::Aio => "-a1",
        EngineName::Sync => "-S1",
        _ => "-a0",
    };
    // Options: polling off, fixed buffers and files, threads, seconds. It prints no figure for its
    // last second, and the first one does not count (see `mean_iops`). Two more seconds give as
    // many figures as for iotax.
    let mut words = vec![
        format!("-d{depth}"),
        format!("-s{batch}"),
        format!("-c{batch}"),
        format!("-b{}", load.bs),
        "-p0".into(),
        "-B1".into(),
        "-F1".into(),
        format!("-n{}", load.numjobs),
        format!("-r{}", seconds.ceil() + 2.0),
        format!("-O{}", u8::from(load.direct)),
        "-R1".into(),
    ];
    words.push(interface.into());
    words
}

/// Returns the mean of the figures that it prints each second, without the first.
fn mean_iops(text: &str) -> Option<f64> {
    let figures: Vec<f64> = text.lines().filter_map(iops_of).collect();
    let counted = figures.get(1..).filter(|rest| !rest.is_empty()).unwrap_or(&figures);
    (!counted.is_empty()).then(|| counted.iter().sum::<f64>() / counted.len() as f64)
}

/// Reads `IOPS=1.03M, BW=...`; its last line, with the highest value, begins with another word.
fn iops_of(line: &str) -> Option<f64> {
    let word = line.trim().strip_prefix("IOPS=")?.split(',').next()?;
    let (digits, scale) = match word.chars().last()? {
        'K' => (&word[..word.len() - 1], 1e3),
        'M' => (&word[..word.len() - 1], 1e6),
        _ => (word, 1.0),
    };
    Some(digits.parse::<f64>().ok()? * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> ContestLoad {
        super::super::honesty::quick(None)
    }

    fn job_file(peer: Peer, path: &Path, engine: EngineName) -> String {
        peer.job_file(&Filename::from_path(path).unwrap(), 1 << 20, &load(), engine, 2.0)
    }

    #[test]
    fn fio_is_told_a_name_that_it_takes_as_one() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("disk:0 of $HOME.img");
        std::fs::write(&odd, [1; 4096]).unwrap();
        let text = job_file(Peer::FioTuned, &odd, EngineName::Sync);
        let name = text.lines().find_map(|line| line.strip_prefix("filename=")).unwrap();
        assert!(name.starts_with("/proc/") && !name.contains([':', '$', ' ']), "{name}");
        let plain = job_file(Peer::FioTuned, Path::new("/dev/zero"), EngineName::Sync);
        assert!(plain.contains("filename=/dev/zero\nioengine=psync\n"), "{plain}");
    }

    #[test]
    fn tunings_differ_in_what_they_are_named_for() {
        let of = |peer: Peer, engine| job_file(peer, Path::new("/dev/zero"), engine);
        let plain = of(Peer::FioDefault, EngineName::Uring);
        assert!(plain.contains("ioengine=io_uring\n") && plain.contains("runtime=2000ms\n"));
        assert!(!plain.contains("fixedbufs") && !plain.contains("norandommap"));
        assert!(of(Peer::FioTuned, EngineName::Uring).contains("fixedbufs=1\n"));
        assert!(of(Peer::FioTuned, EngineName::Aio).contains("userspace_reap=1\n"));
        assert!(!of(Peer::FioTuned, EngineName::Sync).contains("iodepth_batch"));
        // What records latencies records them whole; what reads no clock has none.
        for (peer, lean, huge) in [
            (Peer::FioTuned, false, false),
            (Peer::FioLean, true, false),
            (Peer::FioHuge, false, true),
            (Peer::FioLeanHuge, true, true),
        ] {
            let text = of(peer, EngineName::Null);
            assert!(text.contains("ioengine=null\n") && text.contains("norandommap=1\n"), "{text}");
            assert_eq!(text.contains("gtod_reduce=1\n"), lean, "{text}");
            assert_eq!(text.contains(WHOLE), !lean, "{text}");
            assert_eq!(text.contains("iomem=mmaphuge\n"), huge, "{text}");
        }
    }

    #[test]
    fn a_depth_that_ours_has_in_threads_fio_has_in_threads() {
        let path = Filename::from_path(Path::new("/dev/zero")).unwrap();
        let deep = ContestLoad { numjobs: 2, rate_iops: Some(1000), ..load() };
        let text = |engine| Peer::FioTuned.job_file(&path, 1 << 20, &deep, engine, 2.0);
        let sync = text(EngineName::Sync);
        assert!(
            sync.contains("iodepth=1\nnumjobs=64\n") && sync.contains("rate_iops=32\n"),
            "{sync}"
        );
        let uring = text(EngineName::Uring);
        assert!(
            uring.contains("iodepth=32\nnumjobs=2\n") && uring.contains("thread=1\n"),
            "{uring}"
        );
        assert!(
            !text(EngineName::PosixAio).contains("thread=1"),
            "the CPU time of glibc's thread counts"
        );
    }

    #[test]
    fn fio_does_what_ours_does() {
        let like = |stamps, iomem| Peer::like(Ours { stamps, iomem });
        assert_eq!(like(Stamping::Each, Iomem::Malloc), Peer::FioTuned);
        assert_eq!(like(Stamping::Batch, Iomem::Malloc), Peer::FioTuned);
        assert_eq!(like(Stamping::Off, Iomem::Malloc), Peer::FioLean);
        assert_eq!(like(Stamping::Batch, Iomem::MmapHuge), Peer::FioHuge);
        assert_eq!(like(Stamping::Off, Iomem::MmapHuge), Peer::FioLeanHuge);
    }

    /// A shot of a t/io_uring that is this script.
    fn shot_of(script: &str) -> Result<Shot, EngineError> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("io_uring");
        // Written by another process: what a child of this one has open for writing is not started.
        let write =
            ["-c", r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod 700 "$2""#, "sh", script];
        assert!(Command::new("sh").args(write).arg(&program).status().unwrap().success());
        let place = ContestTarget { path: "/dev/zero".into(), bytes: 1 << 20 };
        Peer::TIoUring.shot(&place, &load(), EngineName::Uring, 1.0, Some(&program))
    }

    #[test]
    fn a_t_io_uring_that_fails_has_no_figure_and_ctrl_c_is_not_for_it() {
        // The fifth word of its state is its process group.
        let grouped = "read -r _ _ _ _ group _ < /proc/$$/stat; [ $group = $$ ] && echo IOPS=1000";
        assert_eq!(shot_of(grouped).unwrap().iops, 1000.0);
        let why = shot_of("echo IOPS=1000; echo no such ring >&2; exit 3").unwrap_err().to_string();
        assert!(why.contains("exit status: 3") && why.contains("no such ring"), "{why}");
    }

    #[test]
    fn as_many_of_its_seconds_count_as_of_ours() {
        let of = |seconds| t_io_uring_words(&load(), EngineName::Aio, seconds);
        assert!(of(2.0).contains(&"-r4".to_owned()) && of(0.1).contains(&"-r3".to_owned()));
        // What `t/io_uring -r4` says.
        assert_eq!(mean_iops("IOPS=100\nIOPS=200\nIOPS=400\nExiting on timeout\n"), Some(300.0));
    }

    #[test]
    fn its_lines_of_a_second_are_read() {
        let text = "submitter=0, tid=12, file=/dev/zero, nfiles=1, node=-1\nIOPS=2.1M, BW=8.2GiB/s, IOS/call=32/31\nIOPS=3.0M, BW=1GiB/s, IOS/call=32/31\nIOPS=3.2M, BW=1GiB/s, IOS/call=32/31\nExiting on timeout\nMaximum IOPS=3.2M\n";
        assert_eq!(mean_iops(text), Some(3.1e6));
        assert_eq!(mean_iops("IOPS=734K, BW=2GiB/s\n"), Some(734e3));
        assert_eq!(mean_iops("IOPS=812, BW=3MiB/s\n"), Some(812.0));
        assert_eq!(mean_iops("open: No such file\n"), None);
    }
}
