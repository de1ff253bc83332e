//! Program that runs once per slice. This module finds it, asks for its version, starts it in a
//! process group of its own that ends with us, limits its time, and reads its output.

use crate::{Definition, Exchange, Probe, ProbeError, ProbeSpec};
use iotax_load::{Direction, SliceBound, SliceResult, SliceSpec, clock};
use iotax_sys::child::{ChildEnd, CpuTime, ends_with_us, run_within_timed};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for asking a program for its version.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// Time limit of a run: a multiple of the expected time (under emulation all is slower), and a
/// constant.
const PATIENCE: (u32, Duration) = (4, Duration::from_secs(60));
/// Time within which a server that serves one run is back for the next.
const RETURNS_WITHIN: Duration = Duration::from_secs(10);
/// Maximum number of characters shown of a line or of a program's last words.
const SHOWN: usize = 300;

/// Properties of a tool beyond its definition.
pub(super) struct Tool {
    /// Name for people: `UnixBench`.
    pub(super) label: &'static str,
    pub(super) program: &'static str,
    /// Finds the tool's version; `None` if the program does not report it.
    pub(super) version: fn(&Path) -> Result<Option<String>, ProbeError>,
    /// True if `numjobs` is the number of programs at once; otherwise one program has that many
    /// threads.
    pub(super) copies: bool,
    pub(super) arguments: fn(&ToolRequest) -> Vec<String>,
    pub(super) expected: fn(&ToolRequest) -> Duration,
    /// Returns true if a failed run says that nobody listens at the other end. A server that serves
    /// one run may still be on its way back: the run is repeated for a while.
    pub(super) is_unanswered: fn(&ToolText) -> bool,
    pub(super) read: fn(&ToolRequest, &ToolText) -> Result<ToolReading, String>,
}

pub(super) struct ToolRequest<'a> {
    pub(super) spec: &'a ProbeSpec,
    pub(super) program: &'a Path,
    pub(super) ns: u64,
}

impl ToolRequest<'_> {
    /// Returns the length of the slice in whole seconds, at least one: most tools take no less.
    pub(super) fn seconds(&self) -> u64 {
        self.ns.div_ceil(1_000_000_000).max(1)
    }

    /// Returns the test of the tool: the word in brackets.
    pub(super) fn test(&self) -> &str {
        self.spec.argument.as_deref().unwrap_or_default()
    }
}

pub(super) struct ToolText {
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Time from start to end of the program.
    pub(super) wall_ns: u64,
}

#[derive(Debug, Default)]
pub(super) struct ToolReading {
    /// Time that the tool itself measured, or the time of the program.
    pub(super) ns: u64,
    pub(super) read: Direction,
    pub(super) write: Direction,
    pub(super) errors: u64,
    pub(super) first_error: Option<String>,
    pub(super) exchange: Option<Exchange>,
}

/// Prepared tool, which runs once per slice.
pub(super) struct Visit {
    tool: &'static Tool,
    spec: ProbeSpec,
    program: PathBuf,
    version: String,
    ns: u64,
    pub(super) variables: Vec<(&'static str, PathBuf)>,
    pub(super) folder: PathBuf,
    /// Time after which the program is killed; `None` means a multiple of the expected time and a
    /// constant.
    pub(super) limit: Option<Duration>,
    exchange: Option<Exchange>,
}

struct ToolRun {
    reading: ToolReading,
    cpu: CpuTime,
}

/// Prepares an installed tool.
///
/// # Errors
/// When it is not installed or does not run, or it needs another place and none is given.
pub(super) fn prepare(
    spec: &ProbeSpec,
    definition: &Definition,
    tool: &'static Tool,
) -> Result<Box<dyn Probe>, ProbeError> {
    if definition.needs_peer && spec.peer.is_none() {
        let why = format!("{spec} needs another place, where its other end listens");
        return Err(ProbeError::Unfit(why));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = find_program(tool.program, &path).ok_or_else(|| {
        let (program, package) = definition.program.unwrap_or((tool.label, tool.label));
        ProbeError::Missing { program: program.to_owned(), package: package.to_owned() }
    })?;
    Ok(Box::new(Visit::new(spec, tool, program)?))
}

/// Finds a program by name in a list of absolute folders such as `PATH`, or else in /usr/bin and
/// /bin.
pub(super) fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    let executable = |file: &PathBuf| {
        std::fs::metadata(file)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path)
        .chain(["/usr/bin", "/bin"].map(PathBuf::from))
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(executable)
}

/// Runs a program with these arguments for at most [`ANSWERS_WITHIN`], and returns what it printed
/// on its standard output and standard error.
pub(super) fn ask_program(program: &Path, question: &[&str]) -> Result<String, ProbeError> {
    let mut command = Command::new(program);
    command.args(question);
    let shown = format!("{} {}", program.display(), question.join(" "));
    let (ended, _) = run_command(&mut command, &shown, ANSWERS_WITHIN)?;
    let output = whole_output(ended, &shown, ANSWERS_WITHIN)?;
    Ok(lossy_text(&output.stdout) + &lossy_text(&output.stderr))
}

/// Returns the first word after a label, and on its line, that looks like a version: `3.12` of
/// `iperf 3.12 (cJSON 1.7.15)`.
pub(super) fn version_after(label: &str, text: &str) -> Option<String> {
    let (_, rest) = text.split_once(label)?;
    let mut words = rest.lines().next()?.split([' ', ',', '\t']);
    let is_version =
        |word: &&str| word.starts_with(|sign: char| sign.is_ascii_digit()) && word.contains('.');
    words.find(is_version).map(str::to_owned)
}

fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a program without input in its own process group, for at most `limit`. Kills processes that
/// it leaves and that keep its output open.
fn run_command(
    command: &mut Command,
    shown: &str,
    limit: Duration,
) -> Result<(ChildEnd, CpuTime), ProbeError> {
    let system =
        |action: &str, source| ProbeError::System { action: format!("{action} {shown}"), source };
    command.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child =
        ends_with_us(command.process_group(0)).spawn().map_err(|source| system("run", source))?;
    let group = Pid::from_child(&child);
    let ended = run_within_timed(child, limit).map_err(|source| system("wait for", source))?;
    if matches!(ended.0, ChildEnd::Held(_)) {
        // It fails if the rest has ended meanwhile.
        let _ = kill_process_group(group, Signal::KILL);
    }
    Ok(ended)
}

/// Returns the output of a program that ended by itself, with all processes that use its output.
fn whole_output(ended: ChildEnd, shown: &str, limit: Duration) -> Result<Output, ProbeError> {
    let ended = match ended {
        ChildEnd::Held(_) => {
            Err("has ended, but a process that it started had not, and was killed".to_owned())
        }
        other => other.output(limit),
    };
    ended.map_err(|why| ProbeError::Failed(format!("{shown} {why}")))
}

impl Visit {
    /// Prepares a tool whose program is known.
    ///
    /// # Errors
    /// When the program does not run.
    pub(super) fn new(
        spec: &ProbeSpec,
        tool: &'static Tool,
        program: PathBuf,
    ) -> Result<Visit, ProbeError> {
        let version = (tool.version)(&program)?.unwrap_or_default();
        Ok(Visit {
            tool,
            ns: spec.definition()?.shortest_slice_ns,
            spec: spec.clone(),
            program,
            version,
            variables: Vec::new(),
            folder: std::env::temp_dir(),
            limit: None,
            exchange: None,
        })
    }

    fn tool_request(&self) -> ToolRequest<'_> {
        ToolRequest { spec: &self.spec, program: &self.program, ns: self.ns }
    }

    /// Runs the program once, as the copy of this index, on the requested processors if there are
    /// any: a copy on one of them, a program with its own threads on all.
    fn run_copy(&self, copy: usize) -> Result<ToolRun, ProbeError> {
        let cpus = &self.spec.cpus_allowed;
        match cpus.get(copy % cpus.len().max(1)) {
            Some(one) if self.tool.copies => sit(&[*one])?,
            Some(_) => sit(cpus)?,
            None => {}
        }
        let asked = self.tool_request();
        let expected = (self.tool.expected)(&asked);
        let limit = self.limit.unwrap_or(expected * PATIENCE.0 + PATIENCE.1);
        let begin = Instant::now();
        let (printed, cpu) = loop {
            let (status, printed, cpu) = self.run_once(&asked, limit)?;
            match status.success() {
                true => break (printed, cpu),
                false
                    if (self.tool.is_unanswered)(&printed) && begin.elapsed() < RETURNS_WITHIN =>
                {
                    thread::sleep(RETURNS_WITHIN / 20);
                }
                false => {
                    let words = last_words(&printed);
                    return Err(self.failed(&format!("failed ({status}): {words}")));
                }
            }
        };
        let reading = (self.tool.read)(&asked, &printed).and_then(|reading| {
            let directions = [&reading.read, &reading.write];
            match directions.iter().all(|one| one.ios == 0 && one.bytes == 0) || reading.ns == 0 {
                true => Err(format!("it counted nothing; its last line: {}", last_words(&printed))),
                false => Ok(reading),
            }
        });
        let reading = reading.map_err(|why| self.failed(&format!("gave no figure: {why}")))?;
        Ok(ToolRun { reading, cpu })
    }

    /// Runs the program, and returns how it ended, what it printed and its CPU time.
    fn run_once(
        &self,
        asked: &ToolRequest,
        limit: Duration,
    ) -> Result<(ExitStatus, ToolText, CpuTime), ProbeError> {
        let mut command = Command::new(&self.program);
        command
            .args((self.tool.arguments)(asked))
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(&self.folder);
        let start = Instant::now();
        let (ended, cpu) = run_command(&mut command, &self.name(), limit)?;
        let wall_ns = start.elapsed().as_nanos() as u64;
        let output = whole_output(ended, &self.name(), limit)?;
        let printed = ToolText {
            stdout: lossy_text(&output.stdout),
            stderr: lossy_text(&output.stderr),
            wall_ns,
        };
        Ok((output.status, printed, cpu))
    }

    fn failed(&self, why: &str) -> ProbeError {
        let command = self.slice_command().unwrap_or_default().join(" ");
        ProbeError::Failed(format!("{} {why}; the command: {command}", self.name()))
    }
}

impl Probe for Visit {
    fn name(&self) -> String {
        match self.version.as_str() {
            "" => format!("{} (version unknown)", self.tool.label),
            version => format!("{} {version}", self.tool.label),
        }
    }

    fn slice_command(&self) -> Option<Vec<String>> {
        let program = self.program.to_string_lossy().into_owned();
        Some([program].into_iter().chain((self.tool.arguments)(&self.tool_request())).collect())
    }

    fn run_probe_slice(&mut self, slice: &SliceSpec) -> Result<SliceResult, ProbeError> {
        let SliceBound::Time { ns } = slice.bound else {
            let why = format!(
                "{} is a program that runs for a time: a slice by bytes is not possible",
                self.name()
            );
            return Err(ProbeError::Unfit(why));
        };
        self.ns = ns.max(self.spec.definition()?.shortest_slice_ns);
        clock::wait_until(slice.begin_ns.unwrap_or(0));
        let window_start_ns = clock::monotonic_ns();
        let copies = if self.tool.copies { self.spec.numjobs.max(1) as usize } else { 1 };
        let this = &*self;
        // Each run has its own thread: the thread's processors are those of the program, and the
        // program ends with it.
        let runs: Result<Vec<ToolRun>, ProbeError> = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..copies).map(|copy| scope.spawn(move || this.run_copy(copy))).collect();
            let ended = threads.into_iter().map(|thread| {
                let panicked = |_| Err(ProbeError::Failed("a thread of iotax stopped".to_owned()));
                thread.join().unwrap_or_else(panicked)
            });
            ended.collect()
        });
        let runs = runs?;
        self.exchange = runs.first().and_then(|run| run.reading.exchange.clone());
        Ok(SliceResult { window_start_ns, ..combine_runs(&runs) })
    }

    fn last_exchange(&self) -> Option<Exchange> {
        self.exchange.clone()
    }
}

/// Combines runs that took place at once: their rates are added, over the longest of their windows.
fn combine_runs(runs: &[ToolRun]) -> SliceResult {
    let window_ns = runs.iter().map(|run| run.reading.ns).max().unwrap_or(0);
    let mut all = SliceResult { window_ns, ..SliceResult::default() };
    for ToolRun { reading, cpu } in runs {
        let scaled = |one: &Direction| Direction {
            ios: scale(one.ios, window_ns, reading.ns),
            bytes: scale(one.bytes, window_ns, reading.ns),
            latency: one.latency.clone(),
        };
        all.add(&SliceResult {
            read: scaled(&reading.read),
            write: scaled(&reading.write),
            cpu_user_ns: cpu.user_ns,
            cpu_system_ns: cpu.system_ns,
            errors: reading.errors,
            first_error: reading.first_error.clone(),
            ..SliceResult::default()
        });
    }
    all
}

fn scale(number: u64, window_ns: u64, ns: u64) -> u64 {
    (u128::from(number) * u128::from(window_ns) / u128::from(ns.max(1))) as u64
}

/// Pins the calling thread, and the processes that it starts, to these processors. Fails if one of
/// them is not granted.
fn sit(cpus: &[u32]) -> Result<(), ProbeError> {
    let fits = |cpu: &&u32| (**cpu as usize) < CpuSet::MAX_CPU;
    let mut wanted = CpuSet::new();
    cpus.iter().filter(fits).for_each(|cpu| wanted.set(*cpu as usize));
    let now = sched_setaffinity(None, &wanted).and_then(|()| sched_getaffinity(None));
    // The kernel drops the processors that it may not give.
    let given = now.is_ok_and(|now| cpus.iter().all(|cpu| fits(&cpu) && now.is_set(*cpu as usize)));
    let source = || {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "they do not exist, or this process may not use them",
        )
    };
    let list = || cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    match given {
        true => Ok(()),
        false => Err(ProbeError::System {
            action: format!("run on the processors {}", list()),
            source: source(),
        }),
    }
}

/// Returns the last line that a program printed, from its standard error if that is not empty.
pub(super) fn last_words(printed: &ToolText) -> String {
    last_words_of(&printed.stderr, &printed.stdout)
}

pub(super) fn last_words_of(stderr: &str, stdout: &str) -> String {
    let last = |text: &str| {
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(shorten_line)
    };
    last(stderr).or_else(|| last(stdout)).unwrap_or_else(|| "it printed nothing".to_owned())
}

/// Returns a line as errors show it: in quotes, without control characters, cut after [`SHOWN`].
pub(super) fn shorten_line(line: &str) -> String {
    let line: String =
        line.chars().take(SHOWN).map(|sign| if sign.is_control() { ' ' } else { sign }).collect();
    format!("\"{}\"", line.trim())
}

/// Returns the text after a label in the line that begins with it. Fails if there is no such line,
/// or more than one.
pub(super) fn after_text<'t>(text: &'t str, label: &str) -> Result<&'t str, String> {
    let mut found = text.lines().filter_map(|line| line.trim_start().strip_prefix(label));
    match (found.next(), found.next()) {
        (Some(rest), None) => Ok(rest.trim()),
        (Some(_), Some(_)) => Err(format!("more than one line \"{label}\"")),
        (None, _) => {
            let last = text.lines().rev().find(|line| !line.trim().is_empty());
            let last = last.map_or("nothing at all".to_owned(), |line| {
                format!("the last line is {}", shorten_line(line))
            });
            Err(format!("no line \"{label}\"; {last}"))
        }
    }
}

/// Parses a number above zero; errors show `line`.
pub(super) fn parse_positive(text: &str, line: &str) -> Result<f64, String> {
    let number =
        text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| {
        format!("{} is not a number above 0 in {}", shorten_line(text), shorten_line(line))
    })
}

/// Parses a whole number, which may be 0.
pub(super) fn whole_number(text: &str, line: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| {
        format!("{} is not a whole number in {}", shorten_line(text), shorten_line(line))
    })
}

pub(super) fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// Returns the amount that `rate`, per second, makes in `ns` nanoseconds.
pub(super) fn amount(rate: f64, ns: u64) -> u64 {
    (rate * ns as f64 / 1e9).round() as u64
}

/// Returns a direction with these bytes, and one unit per MiB or part of one.
pub(super) fn bytes_direction(bytes: u64) -> Direction {
    Direction { ios: bytes.div_ceil(1 << 20), bytes, ..Direction::default() }
}

pub(super) fn units(ios: u64) -> Direction {
    Direction { ios, ..Direction::default() }
}

#[cfg(test)]
mod tests {
    use super::super::samples::write_program;
    use super::*;
    use std::fs;

    /// Tool that is a script with its own version: it makes a number of units in a second of its
    /// own time.
    const SCRIPTED: Tool = Tool {
        label: "scripted",
        program: "iotax-scripted",
        version: |program| Ok(version_after("scripted", &ask_program(program, &["--version"])?)),
        copies: true,
        arguments: |asked| vec![asked.seconds().to_string()],
        expected: |asked| Duration::from_secs(asked.seconds()),
        is_unanswered: |printed| printed.stderr.contains("nobody"),
        read: |_, printed| {
            let line = after_text(&printed.stdout, "made:")?;
            Ok(ToolReading {
                ns: 1_000_000_000,
                read: units(whole_number(line, line)?),
                ..ToolReading::default()
            })
        },
    };

    fn scripted(spec: &ProbeSpec, script: &str) -> (tempfile::TempDir, Visit) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("iotax-scripted");
        let version = "[ \"$1\" = --version ] && { echo scripted, version 3.1-beta; exit; }";
        write_program(&program, &format!("{version}\n{script}"));
        let found = find_program("iotax-scripted", folder.path().as_os_str()).unwrap();
        let visit = Visit::new(spec, &SCRIPTED, found).unwrap();
        (folder, visit)
    }

    fn any() -> ProbeSpec {
        ProbeSpec::parse("mbw").unwrap()
    }

    fn slice(visit: &mut Visit, bound: SliceBound) -> Result<SliceResult, String> {
        visit
            .run_probe_slice(&SliceSpec::starting_now(bound, 0, false))
            .map_err(|error| error.to_string())
    }

    const SECOND: SliceBound = SliceBound::Time { ns: 1_000_000_000 };

    #[test]
    fn it_runs_in_the_c_locale_without_input_and_is_named_with_its_version() {
        let script = "[ \"$LC_ALL\" = C ] && [ -z \"$(cat)\" ] && echo made: 7";
        let (_folder, mut visit) = scripted(&any(), script);
        assert_eq!(visit.name(), "scripted 3.1-beta");
        assert_eq!(slice(&mut visit, SECOND).unwrap().read.ios, 7);
    }

    #[test]
    fn a_run_that_nobody_answers_is_repeated() {
        let script = "[ -e again ] && echo made: 7 && exit; touch again; echo nobody >&2; exit 1";
        let (folder, mut visit) = scripted(&any(), script);
        visit.folder = folder.path().to_owned();
        assert_eq!(slice(&mut visit, SECOND).unwrap().read.ios, 7);
        let (_folder, mut visit) = scripted(&any(), "echo somebody >&2; exit 1");
        assert!(slice(&mut visit, SECOND).unwrap_err().contains("somebody"), "at once");
    }

    #[test]
    fn its_cpu_time_is_that_of_the_program() {
        let script = "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; echo made: 7";
        let (_folder, mut visit) = scripted(&any(), script);
        assert!(slice(&mut visit, SECOND).unwrap().cpu_user_ns > 0);
    }

    #[test]
    fn each_copy_runs_on_a_processor_of_its_own() {
        let allowed = sched_getaffinity(None).unwrap();
        let cpus: Vec<u32> = (0..CpuSet::MAX_CPU)
            .filter(|cpu| allowed.is_set(*cpu))
            .take(2)
            .map(|cpu| cpu as u32)
            .collect();
        let spec = ProbeSpec { numjobs: cpus.len() as u32, cpus_allowed: cpus.clone(), ..any() };
        // Each of the first two processors gives another power of ten.
        let script = "case $(sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status) in";
        let first =
            format!("{script} {}) echo made: 1;; *,*|*-*) ;; *) echo made: 100;; esac", cpus[0]);
        let (_folder, mut visit) = scripted(&spec, &first);
        let made = slice(&mut visit, SECOND).unwrap().read.ios;
        assert_eq!(made, if cpus.len() == 2 { 101 } else { 1 });
        assert_eq!(sched_getaffinity(None).unwrap(), allowed, "our own thread stays where it was");
    }

    #[test]
    fn a_processor_that_is_not_there_is_refused() {
        let spec = ProbeSpec { cpus_allowed: vec![u32::MAX], ..any() };
        let (_folder, mut visit) = scripted(&spec, "echo made: 7");
        let why = slice(&mut visit, SECOND).unwrap_err();
        assert!(why.contains("cannot run on the processors 4294967295"), "{why}");
    }

    #[test]
    fn nothing_counted_is_an_error_and_not_a_zero() {
        let (_folder, mut visit) = scripted(&any(), "echo made: 0");
        let why = slice(&mut visit, SECOND).unwrap_err();
        assert!(
            why.contains("scripted 3.1-beta gave no figure: it counted nothing")
                && why.contains("made: 0"),
            "{why}"
        );
        let (_folder, mut visit) = scripted(&any(), "echo made of wood");
        let why = slice(&mut visit, SECOND).unwrap_err();
        assert!(why.contains("no line \"made:\"; the last line is \"made of wood\""), "{why}");
    }

    #[test]
    fn a_hang_is_ended_with_all_that_it_started() {
        let (folder, mut visit) = scripted(&any(), "sleep 61 & echo $! >$0.pid; wait");
        visit.limit = Some(Duration::from_millis(300));
        let why = slice(&mut visit, SECOND).unwrap_err();
        assert!(why.contains("scripted 3.1-beta did not end within 0.3 s and was killed"), "{why}");
        let pid = fs::read_to_string(folder.path().join("iotax-scripted.pid")).unwrap();
        let gone = || {
            !fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
                .is_ok_and(|stat| !stat.contains(") Z "))
        };
        let start = Instant::now();
        while !gone() && start.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(gone());
    }

    #[test]
    fn what_cannot_be_asked_for_is_refused() {
        let (_folder, mut visit) = scripted(&any(), "echo made: 7");
        let why = slice(&mut visit, SliceBound::Bytes { bytes: 1 }).unwrap_err();
        assert!(why.contains("a slice by bytes is not possible"), "{why}");
        let definition = any().definition().unwrap();
        let missing = prepare(&any(), definition, &SCRIPTED).err().unwrap().to_string();
        assert_eq!(missing, "mbw is not installed; hint: apt install mbw");
        let alone = ProbeSpec::parse("iperf3").unwrap();
        let why = crate::prepare(&alone).err().unwrap().to_string();
        assert!(why.contains("iperf3(tcp) needs another place"), "{why}");
    }

    #[test]
    fn versions_are_found() {
        let of = |label, text| version_after(label, text).unwrap_or_default();
        assert_eq!(of("iperf", "iperf 3.12 (cJSON 1.7.15)\n"), "3.12");
        assert_eq!(of("sockperf, version", "sockperf, version 3.7-no.git\n"), "3.7-no.git");
        assert_eq!(of("mbw", "Usage: mbw [options] array_size_in_MiB\n"), "");
    }
}
