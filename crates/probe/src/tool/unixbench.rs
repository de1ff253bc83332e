//! Programs of UnixBench, one by one, from a checkout that the user names. A program prints
//! `COUNT|41392763|1|lps` on standard error, and `TIME|15.032` if it measures its time itself.

use super::visit::{
    self, Tool, ToolReading, ToolRequest, ToolText, Visit, amount, last_words, ns, parse_positive,
    shorten_line, units, whole_number,
};
use crate::{Argument, Definition, Probe, ProbeError, ProbeSpec, ProbeUnit};
use iotax_load::Direction;
use std::path::{Path, PathBuf};
use std::time::Duration;

const VARIABLE: &str = "UNIXBENCH";

pub(super) const DEFINITION: Definition = Definition {
    name: "unixbench",
    argument: Argument::Test(&[
        ("dhry2reg", ProbeUnit::Count("Dhrystones"), "Dhrystone 2 using register variables"),
        (
            "whetstone-double",
            ProbeUnit::Count("Whetstone instructions"),
            "double-precision Whetstone; it takes 10 s and more, whatever the slice's length",
        ),
        ("execl", ProbeUnit::Count("programs started"), "a program that starts itself again"),
        ("pipe", ProbeUnit::Count("writes and reads"), "512 bytes through a pipe in one process"),
        (
            "context1",
            ProbeUnit::Count("round trips"),
            "a number to another process and back, through two pipes",
        ),
        ("spawn", ProbeUnit::Count("processes"), "fork, and wait until it has ended"),
        (
            "syscall",
            ProbeUnit::Count("rounds of system calls"),
            "dup, close, getpid, getuid and umask",
        ),
        (
            "fstime",
            ProbeUnit::Bytes,
            "file copy, 1024 bytes at a time, 2000 blocks; it takes 15 s more than the slice's length",
        ),
        ("fsbuffer", ProbeUnit::Bytes, "file copy, 256 bytes at a time, 500 blocks; as long"),
        ("fsdisk", ProbeUnit::Bytes, "file copy, 4096 bytes at a time, 8000 blocks; as long"),
        ("shell1", ProbeUnit::Count("shell scripts"), "a script of sort, od, grep, tee and wc"),
        ("shell8", ProbeUnit::Count("shell scripts"), "eight such scripts at once"),
    ]),
    unit: ProbeUnit::Count("loops"),
    subject: "UnixBench's program",
    about: "Runs one of UnixBench's programs. UnixBench's index is the geometric mean without the worst third of the passes. The figure \
            depends on the compiler that built it.",
    relative: "integer, float, exec, pipe, switch, fork, syscall: in slices",
    program: None,
    shortest_slice_ns: 2_000_000_000,
    needs_peer: false,
    prepare: |spec| {
        let named = named_folder().or_else(|| spec.folder.clone());
        Ok(Box::new(ready(spec, named)?) as Box<dyn Probe>)
    },
};

const TOOL: Tool = Tool {
    label: "UnixBench",
    program: "", // each test has its own
    version,
    copies: true,
    arguments,
    expected: |asked| {
        let more = match asked.test() {
            "whetstone-double" => 15,
            test if file_test(test).is_some() => 20,
            _ => 1,
        };
        Duration::from_secs(asked.seconds() + more)
    },
    is_unanswered: |_| false,
    read: read_unixbench,
};

/// Returns block size in bytes and number of blocks of a file test, as in UnixBench's script `Run`;
/// `None` for all other tests.
fn file_test(test: &str) -> Option<(u64, u64)> {
    match test {
        "fstime" => Some((1024, 2000)),
        "fsbuffer" => Some((256, 500)),
        "fsdisk" => Some((4096, 8000)),
        _ => None,
    }
}

/// Returns the file name of a test's program, which is in the folder `pgms`.
fn program_of(test: &str) -> &str {
    match test {
        "shell1" | "shell8" => "looper",
        _ if file_test(test).is_some() => "fstime",
        test => test,
    }
}

/// Returns the checkout that the environment names: `UNIXBENCH=/opt/byte-unixbench`.
fn named_folder() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|named| !named.is_empty()).map(PathBuf::from)
}

/// Returns the probe with the checkout that the environment of this process names, for a place
/// whose own environment names none. Other probes stay as they are.
pub fn with_named_folder(spec: &ProbeSpec) -> ProbeSpec {
    let folder = (spec.name == DEFINITION.name).then(named_folder).flatten();
    ProbeSpec { folder, ..spec.clone() }
}

/// What to do in a place without UnixBench.
const SUPPLY: &str = "no package has UnixBench: clone https://github.com/kdlucas/byte-unixbench in \
                      that place, run make in its folder UnixBench, and set UNIXBENCH to the clone";

fn ready(spec: &ProbeSpec, named: Option<PathBuf>) -> Result<Visit, ProbeError> {
    let Some(named) = named else {
        let why = format!("{VARIABLE} is not set in this place; hint: {SUPPLY}");
        return Err(ProbeError::Unfit(why));
    };
    let folders = [named.clone(), named.join("UnixBench")];
    let found = folders.iter().find(|folder| folder.join("pgms").is_dir());
    let (true, Some(folder)) = (named.is_absolute(), found) else {
        let why = format!(
            "{VARIABLE}={} has no folder pgms in this place, or is not an absolute path; hint: \
             {SUPPLY}",
            named.display()
        );
        return Err(ProbeError::Unfit(why));
    };
    let test = spec.argument.as_deref().unwrap_or_default();
    let programs = folder.join("pgms");
    let Some(program) = visit::find_program(program_of(test), programs.as_os_str())
        .filter(|program| program.starts_with(&programs))
    else {
        let missing = programs.join(program_of(test));
        let why =
            format!("{} is not a program; hint: run make in that UnixBench", missing.display());
        return Err(ProbeError::Unfit(why));
    };
    let mut visit = Visit::new(spec, &TOOL, program)?;
    let tests = folder.join("testdir");
    visit.folder = if tests.is_dir() { tests } else { folder.clone() };
    // The program execl finds itself by this variable, and its scripts find each other.
    visit.variables.push(("UB_BINDIR", programs));
    Ok(visit)
}

/// Reads the version from UnixBench's script `Run`: `my $version = "6.0.0";`.
fn version(program: &Path) -> Result<Option<String>, ProbeError> {
    let script = program.ancestors().nth(2).map(|folder| folder.join("Run"));
    let text =
        script.and_then(|script| iotax_sys::regular::read_text(&script).ok()).unwrap_or_default();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("my $version = \""));
    Ok(line.and_then(|rest| Some(rest.split_once('"')?.0.to_owned())))
}

fn arguments(asked: &ToolRequest) -> Vec<String> {
    let seconds = asked.seconds().to_string();
    // The program is in pgms of the checkout.
    let within = |level: usize, name: &str| {
        let folder = asked.program.ancestors().nth(level).unwrap_or(Path::new("."));
        folder.join(name).to_string_lossy().into_owned()
    };
    match asked.test() {
        "whetstone-double" => Vec::new(),
        "shell1" => vec![seconds, within(1, "multi.sh"), "1".to_owned()],
        "shell8" => vec![seconds, within(1, "multi.sh"), "8".to_owned()],
        test => match file_test(test) {
            None => vec![seconds],
            Some((block, blocks)) => {
                let (block, blocks) = (block.to_string(), blocks.to_string());
                let words =
                    ["-c", "-t", &seconds, "-d", &within(2, "tmp"), "-b", &block, "-m", &blocks];
                words.map(str::to_owned).into()
            }
        },
    }
}

fn read_unixbench(asked: &ToolRequest, printed: &ToolText) -> Result<ToolReading, String> {
    let last = |label: &str| printed.stderr.lines().rev().find(|line| line.starts_with(label));
    // As in its own script, the last of several lines counts (context1 has two processes, fstime
    // three tests).
    let line = last("COUNT|")
        .ok_or_else(|| format!("no line \"COUNT|\"; its last line: {}", last_words(printed)))?;
    let ["COUNT", count, base, label] = line.split('|').collect::<Vec<_>>()[..] else {
        return Err(format!("{} is not COUNT|number|base|unit", shorten_line(line)));
    };
    let ns = match last("TIME|") {
        Some(line) => ns(parse_positive(&line["TIME|".len()..], line)?),
        None => printed.wall_ns,
    };
    let read = match (whole_number(base, line)?, label, asked.test()) {
        (0, "MWIPS", "whetstone-double") => units(amount(parse_positive(count, line)? * 1e6, ns)),
        (0, "KBps", test) if file_test(test).is_some() => {
            let bytes = amount(parse_positive(count, line)? * 1024.0, ns);
            let block = file_test(test).map_or(1024, |(block, _)| block);
            Direction { ios: bytes / block, bytes, ..Direction::default() }
        }
        (60, "lpm", "shell1" | "shell8") | (1, "lps", _) => units(whole_number(count, line)?),
        _ => return Err(format!("{} is not the unit of {}", shorten_line(line), asked.test())),
    };
    Ok(ToolReading { ns, read, ..ToolReading::default() })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{WALL_NS, read_sample, reads, write_program};
    use super::*;
    use iotax_load::{SliceBound, SliceSpec};
    use std::fs;

    /// Makes a checkout whose programs are these scripts.
    fn checkout(programs: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("pgms")).unwrap();
        fs::write(folder.path().join("Run"), "#!/usr/bin/perl\nmy $version = \"5.1.3\";\n")
            .unwrap();
        for (name, script) in programs {
            write_program(&folder.path().join("pgms").join(name), script);
        }
        folder
    }

    fn prepared(probe: &str, folder: &tempfile::TempDir) -> Visit {
        ready(&ProbeSpec::parse(probe).unwrap(), Some(folder.path().into())).unwrap()
    }

    fn slice(visit: &mut Visit) -> Result<iotax_load::SliceResult, String> {
        let two = SliceSpec::starting_now(SliceBound::Time { ns: 1_500_000_000 }, 0, false);
        visit.run_probe_slice(&two).map_err(|error| error.to_string())
    }

    #[test]
    fn a_program_is_run_for_whole_seconds_and_its_count_read() {
        let script =
            "echo \"$# $1 $UB_BINDIR\" >&2; head -c 1 /dev/stdin; echo 'COUNT|1234|1|lps' >&2";
        let folder = checkout(&[("pipe", script)]);
        let mut visit = prepared("unixbench(pipe)", &folder);
        assert_eq!(visit.name(), "UnixBench 5.1.3");
        let result = slice(&mut visit).unwrap();
        assert_eq!(result.read.ios, 1234);
        assert!(result.window_ns > 0 && result.window_start_ns > 0);
        let program = folder.path().join("pgms/pipe").to_string_lossy().into_owned();
        assert_eq!(visit.slice_command().unwrap(), [program, "2".to_owned()]);
    }

    #[test]
    fn file_tests_and_scripts_are_given_what_is_in_the_checkout() {
        let folder = checkout(&[("fstime", ":"), ("looper", ":")]);
        let words = |probe: &str| {
            let words = prepared(probe, &folder).slice_command().unwrap().join(" ");
            words.replace(&*folder.path().to_string_lossy(), "DIR")
        };
        assert_eq!(
            words("unixbench(fsbuffer)"),
            "DIR/pgms/fstime -c -t 2 -d DIR/tmp -b 256 -m 500"
        );
        assert_eq!(words("unixbench(shell8)"), "DIR/pgms/looper 2 DIR/pgms/multi.sh 8");
    }

    #[test]
    fn copies_run_at_once_and_are_added_up() {
        let folder = checkout(&[("spawn", "echo 'COUNT|100|1|lps' >&2; echo 'TIME|2.0' >&2")]);
        let mut visit = ready(
            &ProbeSpec { numjobs: 3, ..ProbeSpec::parse("unixbench(spawn)").unwrap() },
            Some(folder.path().into()),
        )
        .unwrap();
        let result = slice(&mut visit).unwrap();
        assert_eq!((result.read.ios, result.window_ns), (300, 2_000_000_000));
    }

    #[test]
    fn one_that_fails_or_hangs_is_an_error_that_names_it() {
        let folder = checkout(&[
            ("pipe", "echo 'pipe: no' >&2; exit 3"),
            ("spawn", "sleep 60 & sleep 60"),
            ("syscall", ":"),
        ]);
        let why = slice(&mut prepared("unixbench(pipe)", &folder)).unwrap_err();
        assert!(why.contains("UnixBench 5.1.3 failed (exit status: 3): \"pipe: no\""), "{why}");
        let mut hangs = prepared("unixbench(spawn)", &folder);
        hangs.limit = Some(Duration::from_millis(200));
        let start = std::time::Instant::now();
        let why = slice(&mut hangs).unwrap_err();
        assert!(why.contains("did not end within 0.2 s and was killed"), "{why}");
        assert!(start.elapsed() < Duration::from_secs(30));
        let why = slice(&mut prepared("unixbench(syscall)", &folder)).unwrap_err();
        assert!(why.contains("no line \"COUNT|\"; its last line: it printed nothing"), "{why}");
    }

    #[test]
    fn without_a_checkout_the_error_says_what_to_do() {
        let spec = ProbeSpec::parse("unixbench(pipe)").unwrap();
        let why =
            |named: Option<&Path>| ready(&spec, named.map(Into::into)).err().unwrap().to_string();
        assert!(why(None).contains("UNIXBENCH is not set in this place; hint: no package has"));
        assert!(why(Some(Path::new("/proc"))).contains("UNIXBENCH=/proc has no folder pgms"));
        let unbuilt = checkout(&[]);
        assert!(why(Some(unbuilt.path())).contains("pgms/pipe is not a program; hint: run make"));
    }

    #[test]
    fn counts_rates_and_times_are_read() {
        let read = |probe: &str, stderr: &str| read_sample(probe, &TOOL, "", stderr).unwrap();
        let reading = read("unixbench(dhry2reg)", "COUNT|41392763|1|lps\n");
        assert_eq!((reading.read.ios, reading.ns), (41_392_763, WALL_NS));
        // Both of its processes print; its own script takes the last line.
        let reading = read("unixbench(context1)", "COUNT|329222|1|lps\nCOUNT|329221|1|lps\n");
        assert_eq!(reading.read.ios, 329_221);
        let reading = read("unixbench(whetstone-double)", "COUNT|4000.500|0|MWIPS\nTIME|10.000\n");
        assert_eq!((reading.read.ios, reading.ns), (40_005_000_000, 10_000_000_000));
        let files = "COUNT|772122|0|KBps\nTIME|2.0\nCOUNT|335914|0|KBps\nTIME|3.0\n";
        let reading = read("unixbench(fsbuffer)", files);
        assert_eq!((reading.read.bytes, reading.ns), (335_914 * 1024 * 3, 3_000_000_000));
        assert_eq!(read("unixbench(shell1)", "COUNT|176|60|lpm\n").read.ios, 176);
    }

    #[test]
    fn other_words_are_an_error_that_shows_them() {
        let why = |probe: &str, stderr: &str| reads(probe, &TOOL, "", stderr).unwrap_err();
        assert!(
            why("unixbench(pipe)", "COUNT|12\n")
                .contains("\"COUNT|12\" is not COUNT|number|base|unit")
        );
        assert!(why("unixbench(pipe)", "COUNT|12|0|KBps\n").contains("is not the unit of pipe"));
        assert!(
            why("unixbench(pipe)", "COUNT|-1|1|lps\n").contains("\"-1\" is not a whole number")
        );
        assert!(
            why("unixbench(pipe)", "pipe: fork failed\n")
                .contains("its last line: \"pipe: fork failed\"")
        );
    }
}
