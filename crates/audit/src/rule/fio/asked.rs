//! Whether an output is of the command or job file right before it: F25's second half, and F26.

use crate::finding::{Finding, Severity};
use crate::import::Said;
use crate::import::fio::{Asked, Fio, Form, Job};
use crate::knowledge::words::spellings;
use crate::page::Spot;
use crate::rule::method::loads::{Load, of_output};
use crate::rule::{Evidence, Rule, Sink};
use std::ops::Range;

/// F26: it ran as long as was asked.
pub const RUNTIME: Rule = Rule {
    id: "F26",
    name: "a run took as long as was asked",
    severity: Severity::Ambiguous,
    holds: "the printed runtime is that of the command or job file right before, but for 2 % and 100 ms",
    silent: "where no command of that job is right before the output, of scripts, of runs that took longer, and where a limit of I/Os \
             or a steady state may end it",
    check: |evidence, sink| {
        for (fio, _, loads) in pairs(evidence) {
            for job in &fio.jobs {
                let _ = runtime(evidence, job, &loads, sink);
            }
        }
    },
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

/// What differs: its name, in the command, in the output.
fn difference(asked: &Asked, load: &Load) -> Option<(&'static str, String, String)> {
    let normal = |rw: &str| if rw == "readwrite" { "rw" } else { rw }.to_owned();
    let sizes: Vec<(u64, u64)> = asked.bs.iter().flatten().copied().collect();
    let is_one = sizes.iter().all(|size| size == &sizes[0])
        && load.option(&["bs", "blocksize"]).is_some_and(|text| !text.to_ascii_lowercase().contains('i'));
    let bs = sizes.first().filter(|_| is_one).map(|(least, most)| match least == most {
        true => least.to_string(),
        false => format!("{least}-{most}"),
    });
    let depth = load.number(&["iodepth"]).map(|one| one.to_string());
    // Other engines have names that fio prints otherwise.
    let engine =
        load.option(&["ioengine"]).filter(|engine| spellings("engine").contains(engine)).map(str::to_owned);
    let pairs = [
        ("rw", load.rw().map(normal), asked.rw.as_deref().map(normal)),
        ("bs", load.bs().map(|bs| bs.to_string()), bs),
        ("iodepth", depth, asked.iodepth.map(|one| one.to_string())),
        ("ioengine", engine, asked.ioengine.clone()),
    ];
    let unlike = |(what, command, printed): (_, Option<String>, Option<String>)| {
        Some((what, command?, printed?)).filter(|(_, command, printed)| command != printed)
    };
    pairs.into_iter().find_map(unlike)
}

fn runtime(evidence: &Evidence, job: &Job, loads: &[Load], sink: &mut Sink) -> Option<()> {
    let load = load_of(loads, &job.name).filter(|load| load.option(spellings("early")).is_none())?;
    let asked = load.runtime_s().filter(|seconds| *seconds > 0.0)?;
    let runtimes = job.directions.iter().filter_map(|one| one.runtime_ms);
    let ran = runtimes.max_by(|a, b| a.value.total_cmp(&b.value))?;
    let (seconds, slack) = (ran.value / 1e3, (0.02 * asked).max(0.1));
    if (seconds - asked).abs() <= slack {
        sink.plausible("F26", &ran);
    }
    // What takes longer had I/Os in flight, an fsync, a layout.
    if seconds >= asked - slack {
        return None;
    }
    let line = evidence.page.number(load.spot.index());
    let why = match load.option(&["time_based"]).is_some_and(|value| value != "0") {
        true => "with time_based it cannot end before: the output is of another run, or the run was stopped",
        false => {
            "without time_based it ends when its size was reached: the time does not bound it, and another drive runs for another time"
        }
    };
    let message = format!("it ran for {seconds:.1} s, line {line} asks for {asked} s: {why}");
    sink.finds(Finding::new("F26", Severity::Ambiguous, ran.spot, message).against([load.spot]));
    Some(())
}
