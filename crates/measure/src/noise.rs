//! Records how the rate of a real target changes while nothing is changed: back-to-back slices of
//! 4k random reads on a file or device as it is. The recording only reads, and refuses layers,
//! other hosts and everything that the guard refuses to readers.

use anyhow::{Context, Result};
use iotax_host::guard::judge::Intent;
use iotax_load::{Job, Rw, SliceBound, SliceResult, SliceSpec, TargetSpec, Worker};
use iotax_model::scenario::Scenario;
use iotax_model::scenario::check::{ScenarioRequest, from_arguments};
use iotax_model::stack::{Medium, Stack};
use iotax_plan::survey::admitted;
use iotax_stats::selfcheck::series::SeriesRow;
use iotax_units::exit::Failed;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Length of a slice, as in the recorded series that come with iotax.
const SLICE_NS: u64 = 50_000_000;
/// Least discarded start of a slice in a real comparison.
const DISCARD_NS: u64 = 5_000_000;
const BLOCK: u64 = 4096;

/// A target that may be read, and the part of it that is read.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseTarget {
    pub path: PathBuf,
    pub text: String,
    /// Bytes from the start that may be read. In a file of iotax, its marker comes after them.
    pub bytes: u64,
    pub warnings: Vec<String>,
}

/// Looks at a target, which is spelled like a medium in the stack grammar: `file:/srv/x.img`,
/// `/dev/sdb`. Errors name the option that the target comes from.
///
/// # Errors
/// Bad input: a layer, several media, another host, a file to be made, or a target that the guard
/// lets nobody read.
pub fn quarry(option: &str, target: &str) -> Result<NoiseTarget> {
    let words = vec![("rw".into(), "randread".into()), ("bs".into(), "4k".into())];
    let request = ScenarioRequest { words, ..ScenarioRequest::default() };
    let scenario = from_arguments(&[target.to_owned()], &request).map_err(Failed::from)?;
    let refuse = |why: &str| Failed::input(format!("{option} {target}: {why}"));
    let [stack] = scenario.stacks.as_slice() else {
        return Err(refuse("it is not one target; hint: file:/path of a file, or /dev/NAME").into());
    };
    if !stack.layers.is_empty() {
        return Err(
            refuse("it has layers, and only media are read here; hint: leave them out").into()
        );
    }
    match &stack.medium {
        Medium::File { path, size: None, .. } | Medium::Device { path } => {
            seen(path, &scenario, stack)
        }
        Medium::File { .. } => {
            Err(refuse("nothing is made here; hint: leave size out and name a file that exists")
                .into())
        }
        _ => Err(refuse("it is not one file or device of this machine").into()),
    }
}

fn seen(path: &Path, scenario: &Scenario, stack: &Stack) -> Result<NoiseTarget> {
    let (found, permit) = admitted(path, Intent::Read, scenario, stack)?;
    let bytes = found.marker.as_ref().map_or(found.bytes, |marker| marker.bytes);
    if bytes < BLOCK {
        let why = format!("{}: it holds {bytes} bytes, less than a block of 4k", path.display());
        return Err(Failed::input(why).into());
    }
    Ok(NoiseTarget {
        path: path.to_owned(),
        text: stack.text.clone(),
        bytes,
        warnings: permit.warnings,
    })
}

/// Reads the target for `seconds` at `iodepth`; `progress` gets the seconds done and may end the
/// reading. Times of the rows count from the first window.
///
/// # Errors
/// When the target cannot be opened or read, the reading was ended, or an I/O fails: a series with
/// errors in it is not noise.
pub fn record(
    quarry: &NoiseTarget,
    seconds: f64,
    iodepth: u32,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<Vec<SeriesRow>> {
    let target = TargetSpec {
        path: quarry.path.clone(),
        bytes: Some(quarry.bytes),
        writable: false,
        hold: Default::default(),
    };
    let job = Job { rw: Rw::RandRead, bs: BLOCK, iodepth, ..Job::default() };
    let mut worker = Worker::prepare(&[target], &[job], None)
        .with_context(|| format!("cannot record the noise of {}", quarry.path.display()))?;
    let order = SliceSpec {
        bound: SliceBound::Time { ns: SLICE_NS },
        min_discard_ns: DISCARD_NS,
        flush: false,
        begin_ns: None,
    };
    let mut rows: Vec<SeriesRow> = Vec::new();
    let mut first_ns = None;
    loop {
        let slice = worker.slice(&order).with_context(|| quarry.path.display().to_string())?;
        let from_ns = *first_ns.get_or_insert(slice.window_start_ns);
        let row = row(&slice, from_ns, &quarry.path)?;
        rows.push(row);
        let done_s = (row.start_us + row.length_us) as f64 / 1e6;
        if progress(done_s).is_break() {
            return Err(
                Failed::measurement("interrupted: nothing is stored of the recording").into()
            );
        }
        if done_s >= seconds {
            return Ok(rows);
        }
    }
}

fn row(slice: &SliceResult, from_ns: u64, path: &Path) -> Result<SeriesRow> {
    if let Some(first) = &slice.first_error {
        let why = format!("{}: {} reads failed, the first: {first}", path.display(), slice.errors);
        return Err(Failed::measurement(why).into());
    }
    // Both ends are rounded down, so that neighbours never overlap.
    let at_us = |ns: u64| (ns - from_ns) / 1000;
    let start_us = at_us(slice.window_start_ns);
    let length_us = at_us(slice.window_start_ns + slice.window_ns) - start_us;
    Ok(SeriesRow { stack: 0, start_us, length_us, ios: slice.read.ios })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(target: &str) -> String {
        format!("{:#}", quarry("--record", target).unwrap_err())
    }

    #[test]
    fn what_is_no_plain_medium_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.img");
        assert!(refused(&format!("file:{}", file.display())).contains("x.img"), "nothing is there");
        std::fs::write(&file, vec![1; 8192]).unwrap();
        let file = file.display();
        assert!(refused(&format!("file:{file},size=8KiB")).contains("nothing is made here"));
        assert!(refused(&format!("file:{file} | loop")).contains("layers"));
        assert!(refused("ssh:host:/dev/vdb").contains("of this machine"));
        std::fs::write(folder.path().join("small"), [1; 100]).unwrap();
        assert!(
            refused(&format!("file:{}", folder.path().join("small").display()))
                .contains("100 bytes")
        );
    }

    #[test]
    fn a_file_is_read_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.img");
        let data: Vec<u8> = (0..1 << 20).map(|i| (i % 251) as u8).collect();
        std::fs::write(&path, &data).unwrap();
        let found = quarry("--record", &format!("file:{}", path.display())).unwrap();
        assert_eq!(found.bytes, 1 << 20);
        let mut told = 0;
        let mut count = |_| {
            told += 1;
            ControlFlow::Continue(())
        };
        let rows = match record(&found, 0.2, 4, &mut count) {
            Ok(rows) => rows,
            // A tmpfs of an old kernel has no O_DIRECT.
            Err(error) => {
                return eprintln!("skipped: needs O_DIRECT in the temporary folder ({error:#})");
            }
        };
        assert_eq!(told, rows.len());
        assert_eq!(rows[0].start_us, 0);
        assert!(
            rows.windows(2).all(|pair| pair[0].start_us + pair[0].length_us <= pair[1].start_us)
        );
        assert!(rows.iter().all(|row| row.ios > 0 && row.length_us > 0), "{rows:?}");
        assert_eq!(std::fs::read(&path).unwrap(), data);
        let ended = record(&found, 60.0, 4, &mut |_| ControlFlow::Break(())).unwrap_err();
        assert!(ended.to_string().contains("nothing is stored"), "{ended:#}");
    }
}
