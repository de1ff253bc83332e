//! Whether an output is of the command or job file right before it: F25's second half, and F26.

use crate::finding::{Finding, Severity};
use crate::import::Said;
use crate::import::fio::{Asked, Fio, Form};
use crate::page::Spot;
use crate::rule::method::loads::{Load, of_output};
use crate::rule::{Evidence, Rule, Sink};
use std::ops::Range;

/// F26: it ran as long as was asked.
pub const RUNTIME: Rule = Rule {
    id: "F26",
    name: "a run took as long as was asked",
    severity: Severity::Ambiguous,
    holds: "the runtime that is printed is that of the command or job file right before, but for 2 % and 100 ms; one that ended early had its \
            size, since time_based is missing",
    silent: "where no command of that job is right before the output, of scripts, of runs that took longer since I/Os were still in flight, and \
             where a limit of I/Os or a steady state may end it",
    check: runtime,
};

/// Lines that may stand between a command and its output.
const BETWEEN: usize = 12;

/// An output of text with the jobs of the command or job file before it.
type Pair<'a> = (&'a Fio, Range<usize>, Vec<Load<'a>>);

/// Outputs with nothing but blank lines, fences and prompts between them and what asked for them.
fn pairs<'a>(evidence: &Evidence<'a>) -> Vec<Pair<'a>> {
    let page = evidence.page;
    let is_between = |line: usize| {
        let text = page.line(line).trim();
        text.is_empty() || text == "..." || ["```", "$", "#", "["].iter().any(|sign| text.starts_with(sign))
    };
    let mut pairs = Vec::new();
    let mut before: Option<(usize, Vec<Load>)> = None;
    for output in evidence.outputs {
        let start = output.lines.start;
        match &output.said {
            Said::Fio(fio) if fio.form == Form::Text => {
                let near = |(end, loads): &(usize, Vec<Load>)| {
                    start <= end + BETWEEN && !loads.is_empty() && (*end..start).all(is_between)
                };
                let found = before.take().filter(near);
                pairs.extend(found.map(|(_, loads)| (&**fio, output.lines.clone(), loads)));
            }
            Said::Command(command) if command.program == "fio" && command.more.is_empty() => {
                let loads = of_output(output);
                // `fio jobs.fio`: the job file before it stays.
                before = match loads.is_empty() {
                    false => Some((output.lines.end, loads)),
                    true => before.map(|(_, loads)| (output.lines.end, loads)),
                };
            }
            Said::JobFile(_) => before = Some((output.lines.end, of_output(output))),
            _ => before = None,
        }
    }
    pairs
}

/// The load of a job; `None` of a script's, and where several have its name.
fn load_of<'a, 'b>(loads: &'b [Load<'a>], name: &str) -> Option<&'b Load<'a>> {
    let mut named = loads.iter().filter(|load| load.name == name);
    let first = named.next().filter(|_| named.next().is_none())?;
    (!first.is_template()).then_some(first)
}

/// F25: an output that prints what it was asked is of the command right before it.
pub(super) fn differs(evidence: &Evidence, sink: &mut Sink) {
    let page = evidence.page;
    let mut tell = |line: usize, load: &Load, (what, command, printed): (&str, String, String)| {
        let of = page.number(load.spot.index());
        let message = format!(
            "the output is not of the command in line {of}: {what} is {command} there and {printed} here"
        );
        // Which of both is wrong nobody can say.
        let spot = Spot::new(line, 0..page.line(line).len());
        sink.finds(Finding::new("F25", Severity::WrongFigure, spot, message).against([load.spot]));
    };
    for (fio, lines, loads) in pairs(evidence) {
        for asked in fio.asked.iter().filter(|asked| lines.contains(&asked.line)) {
            let load = load_of(&loads, &asked.name);
            if let Some((load, difference)) = load.and_then(|load| Some((load, difference(asked, load)?))) {
                tell(asked.line, load, difference);
            }
        }
        let ([job], [load]) = (fio.jobs.as_slice(), loads.as_slice()) else { continue };
        if job.name != load.name || load.is_template() {
            continue;
        }
        // A command that is told in short leaves out what is 1 by default, and more.
        let grouped = load.option(&["group_reporting"]).is_some();
        let both = job.jobs.zip(load.number(&["numjobs"]));
        if let Some((jobs, count)) = both.filter(|(jobs, count)| jobs != count && (*jobs > 1 || grouped)) {
            tell(job.line, load, ("jobs", count.to_string(), jobs.to_string()));
        }
    }
}

/// Engines that fio prints as they are asked for.
const ENGINES: [&str; 8] =
    ["libaio", "io_uring", "sync", "psync", "pvsync2", "posixaio", "mmap", "windowsaio"];

/// What differs: its name, in the command, in the output.
fn difference(asked: &Asked, load: &Load) -> Option<(&'static str, String, String)> {
    let unlike = |what, pair: Option<(&str, &str)>| {
        let (command, printed) = pair.filter(|(command, printed)| command != printed)?;
        Some((what, command.to_owned(), printed.to_owned()))
    };
    let normal = |rw: &'_ str| if rw == "readwrite" { "rw".to_owned() } else { rw.to_owned() };
    let rw = (load.rw().map(normal), asked.rw.as_deref().map(normal));
    let sizes: Vec<(u64, u64)> = asked.bs.iter().flatten().copied().collect();
    let is_one = sizes.iter().all(|size| size == &sizes[0])
        && load.option(&["bs", "blocksize"]).is_some_and(|text| !text.to_ascii_lowercase().contains('i'));
    let printed = sizes.first().filter(|_| is_one).map(|(least, most)| match least == most {
        true => least.to_string(),
        false => format!("{least}-{most}"),
    });
    let bs = (load.bs().map(|bs| bs.to_string()), printed);
    let depth =
        (load.number(&["iodepth"]).map(|one| one.to_string()), asked.iodepth.map(|one| one.to_string()));
    // Other engines have names that fio prints otherwise.
    let engine = load.option(&["ioengine"]).filter(|engine| ENGINES.contains(engine));
    unlike("rw", rw.0.as_deref().zip(rw.1.as_deref()))
        .or_else(|| unlike("bs", bs.0.as_deref().zip(bs.1.as_deref())))
        .or_else(|| unlike("iodepth", depth.0.as_deref().zip(depth.1.as_deref())))
        .or_else(|| unlike("ioengine", engine.zip(asked.ioengine.as_deref())))
}

/// Options by which a run may end before its time.
const ENDS: [&str; 9] = [
    "steadystate",
    "ss",
    "number_ios",
    "exitall",
    "io_size",
    "io_limit",
    "write_iolog",
    "read_iolog",
    "loops",
];

fn runtime(evidence: &Evidence, sink: &mut Sink) {
    for (fio, _, loads) in pairs(evidence) {
        for job in &fio.jobs {
            let load = load_of(&loads, &job.name).filter(|load| load.option(&ENDS).is_none());
            let asked =
                load.and_then(|load| Some((load, load.runtime_s().filter(|seconds| *seconds > 0.0)?)));
            let runtimes = job.directions.iter().filter_map(|one| one.runtime_ms);
            let ran = runtimes.max_by(|a, b| a.value.total_cmp(&b.value));
            let (Some((load, asked)), Some(ran)) = (asked, ran) else { continue };
            let seconds = ran.value / 1e3;
            if (seconds - asked).abs() <= (0.02 * asked).max(0.1) {
                sink.plausible("F26", &ran);
            }
            // What takes longer had I/Os in flight, an fsync, a layout.
            if seconds >= asked - (0.02 * asked).max(0.1) {
                continue;
            }
            let line = evidence.page.number(load.spot.index());
            let timed = load.option(&["time_based"]).is_some_and(|value| value != "0");
            let why = match timed {
                true => {
                    "with time_based it cannot end before: the output is of another run, or the run was stopped"
                }
                false => {
                    "without time_based it ends when its size was reached: the time does not bound it, and another drive runs for another time"
                }
            };
            let message = format!("it ran for {seconds:.1} s, line {line} asks for {asked} s: {why}");
            sink.finds(Finding::new("F26", Severity::Ambiguous, ran.spot, message).against([load.spot]));
        }
    }
}
