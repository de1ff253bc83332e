//! Whether an output is of the command or job file right before it: F25's second half, and F26.

use crate::finding::{Finding, Severity};
use crate::import::Said;
use crate::import::fio::{Asked, Fio, Form};
use crate::number::Figure;
use crate::page::{Page, Spot};
use crate::rule::method::loads::{Load, of_output};
use crate::rule::{Evidence, Rule, Sink};

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

/// The job that an output of text is of: of the command or job file before it with nothing but blank lines, prompts and what fio says
/// before it begins between them, by its name.
fn pairs<'a>(evidence: &Evidence<'a>) -> Vec<(&'a Fio, std::ops::Range<usize>, Vec<Load<'a>>)> {
    let mut pairs = Vec::new();
    let mut before: Option<(usize, Vec<Load>)> = None;
    for output in evidence.outputs {
        match &output.said {
            Said::Fio(fio) if fio.form == Form::Text => {
                let Some((end, loads)) = before.take() else { continue };
                let near = output.lines.start <= end + BETWEEN;
                if near
                    && !loads.is_empty()
                    && (end..output.lines.start).all(|line| is_between(evidence.page, line))
                {
                    pairs.push((&**fio, output.lines.clone(), loads));
                }
            }
            Said::Command(command) if command.program == "fio" && command.more.is_empty() => {
                let loads = of_output(output);
                // `fio jobs.fio`: the job file before it stays.
                match loads.is_empty() {
                    false => before = Some((output.lines.end, loads)),
                    true => before = before.map(|(_, loads)| (output.lines.end, loads)),
                }
            }
            Said::JobFile(_) => before = Some((output.lines.end, of_output(output))),
            _ => before = None,
        }
    }
    pairs
}

/// Blank, a fence, an ellipsis, or a prompt with a command that changes nothing.
fn is_between(page: &Page, line: usize) -> bool {
    let text = page.line(line).trim();
    text.is_empty() || text.starts_with("```") || text == "..." || text.starts_with(['$', '#', '['])
}

/// The load of a job; `None` of a script's, and where several have its name.
fn load_of<'a, 'b>(loads: &'b [Load<'a>], name: &str) -> Option<&'b Load<'a>> {
    let mut named = loads.iter().filter(|load| load.name == name);
    let first = named.next().filter(|_| named.next().is_none())?;
    (!first.is_template()).then_some(first)
}

/// F25: an output that prints what it was asked is of the command right before it.
pub(super) fn differs(evidence: &Evidence, sink: &mut Sink) {
    for (fio, lines, loads) in pairs(evidence) {
        for asked in fio.asked.iter().filter(|asked| lines.contains(&asked.line)) {
            let Some(load) = load_of(&loads, &asked.name) else { continue };
            if let Some((what, command, printed)) = difference(asked, load) {
                tell(evidence.page, asked.line, load, (what, &command, &printed), sink);
            }
        }
        let only = match (fio.jobs.as_slice(), loads.as_slice()) {
            ([job], [load]) if job.name == load.name && !load.is_template() => Some((job, load)),
            _ => None,
        };
        let Some((job, load)) = only else { continue };
        // A command that is told in short leaves out what is 1 by default, and more.
        let grouped = load.option(&["group_reporting"]).is_some();
        let both = job.jobs.zip(load.number(&["numjobs"]));
        if let Some((jobs, count)) = both.filter(|(jobs, count)| jobs != count && (*jobs > 1 || grouped)) {
            tell(evidence.page, job.line, load, ("jobs", &count.to_string(), &jobs.to_string()), sink);
        }
    }
}

/// Engines that fio prints as they are asked for.
const ENGINES: [&str; 8] =
    ["libaio", "io_uring", "sync", "psync", "pvsync2", "posixaio", "mmap", "windowsaio"];

/// What differs: its name, in the command, in the output.
fn difference(asked: &Asked, load: &Load) -> Option<(&'static str, String, String)> {
    let normal = |rw: &str| if rw == "readwrite" { "rw".to_owned() } else { rw.to_owned() };
    let both = load.rw().zip(asked.rw.as_deref());
    if let Some((rw, printed)) = both.filter(|(rw, printed)| normal(rw) != normal(printed)) {
        return Some(("rw", rw.to_owned(), printed.to_owned()));
    }
    let sizes: Vec<(u64, u64)> = asked.bs.iter().flatten().copied().collect();
    let is_one = sizes.iter().all(|size| size == &sizes[0])
        && load.option(&["bs", "blocksize"]).is_some_and(|text| !text.to_ascii_lowercase().contains('i'));
    let both = load.bs().zip(sizes.first()).filter(|(bs, size)| is_one && **size != (*bs, *bs));
    if let Some((bs, (least, most))) = both {
        let printed = if least == most { least.to_string() } else { format!("{least}-{most}") };
        return Some(("bs", bs.to_string(), printed));
    }
    let both = load.number(&["iodepth"]).zip(asked.iodepth);
    if let Some((depth, printed)) = both.filter(|(depth, printed)| depth != printed) {
        return Some(("iodepth", depth.to_string(), printed.to_string()));
    }
    let engines = (load.option(&["ioengine"]), asked.ioengine.as_deref());
    match engines {
        // Others have names that fio prints otherwise.
        (Some(engine), Some(printed)) if engine != printed && ENGINES.contains(&engine) => {
            Some(("ioengine", engine.to_owned(), printed.to_owned()))
        }
        _ => None,
    }
}

fn tell(page: &Page, line: usize, load: &Load, of: (&str, &str, &str), sink: &mut Sink) {
    let (what, command, printed) = of;
    let of = page.number(load.spot.index());
    let message = format!(
        "the output is not of the command in line {of}: {what} is {command} there and {printed} here"
    );
    let length = page.line(line).len();
    // Which of both is wrong nobody can say.
    let spot = Spot::new(line, 0..length);
    sink.finds(Finding::new("F25", Severity::WrongFigure, spot, message).against([load.spot]));
}

fn runtime(evidence: &Evidence, sink: &mut Sink) {
    for (fio, _, loads) in pairs(evidence) {
        for job in &fio.jobs {
            let Some(load) = load_of(&loads, &job.name) else { continue };
            let Some(asked) = load.runtime_s().filter(|seconds| *seconds > 0.0) else { continue };
            let ends_otherwise = [
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
            if load.option(&ends_otherwise).is_some() {
                continue;
            }
            let Some(ran) = job
                .directions
                .iter()
                .filter_map(|one| one.runtime_ms)
                .max_by(|a, b| a.value.total_cmp(&b.value))
            else {
                continue;
            };
            judge(evidence.page, load, asked, &ran, sink);
        }
    }
}

fn judge(page: &Page, load: &Load, asked: f64, ran: &Figure, sink: &mut Sink) {
    let seconds = ran.value / 1e3;
    if (seconds - asked).abs() <= (0.02 * asked).max(0.1) {
        sink.plausible("F26", ran);
        return;
    }
    if seconds > asked {
        // I/Os that were in flight, fsync, layouts: known to take longer.
        return;
    }
    let line = page.number(load.spot.index());
    let timed = load.option(&["time_based"]).is_some_and(|value| value != "0");
    let why = match timed {
        true => "with time_based it cannot end before: the output is of another run, or the run was stopped".to_owned(),
        false => "without time_based it ends when its size was reached: the time does not bound it, and another drive runs for another time".to_owned(),
    };
    let message = format!("it ran for {seconds:.1} s, line {line} asks for {asked} s: {why}");
    sink.finds(Finding::new("F26", Severity::Ambiguous, ran.spot, message).against([load.spot]));
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::rule::testing::found;

    const OUTPUT: &str = "test: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=32\n\
        fio-3.33\nStarting 1 process\n\
        test: (groupid=0, jobs=1): err= 0: pid=11: Tue Mar  5 10:00:00 2024\n  \
        read: IOPS=10.0k, BW=39.1MiB/s (41.0MB/s)(2344MiB/60002msec)\n";

    fn page(options: &str) -> String {
        format!("fio --name=test --ioengine=libaio {options} --filename=/dev/nvme0n1\n\n{OUTPUT}")
    }

    #[test]
    fn an_output_of_another_command_is_told() {
        let same = page("--rw=randread --bs=4k --iodepth=32 --runtime=60 --time_based --numjobs=1");
        assert_eq!((found(&same, "F25"), found(&same, "F26")), (Vec::new(), Vec::new()));
        for other in [
            "--rw=randwrite --bs=4k --iodepth=32",
            "--rw=randread --bs=8k --iodepth=32",
            "--rw=randread --bs=4k --iodepth=16",
            "--rw=randread --bs=4k --iodepth=32 --numjobs=4 --group_reporting",
        ] {
            let told = found(&page(other), "F25");
            assert_eq!(told.len(), 1, "{other}");
            assert_eq!(told[0].severity, Severity::WrongFigure);
        }
        let silent = [
            page("--rw=$RW --bs=4k --iodepth=16"),
            page("--rw=randread --bs=4k --iodepth=32 --numjobs=4"),
            page("--rw=randread --bs=4k --iodepth=32").replace("jobs=1)", "jobs=4)"),
            page("--rw=randwrite --bs=4k").replace("--name=test", "--name=other"),
            page("--rw=randwrite").replace("\n\n", "\nAfter a while another one gave this:\n"),
        ];
        for text in silent {
            assert_eq!(found(&text, "F25"), [], "{text}");
        }
    }

    #[test]
    fn a_job_file_before_it_counts_too() {
        let file = "[global]\nioengine=libaio\nbs=4k\n\n[test]\nrw=randread\niodepth=8\n\n";
        assert_eq!(found(&format!("{file}$ fio test.fio\n{OUTPUT}"), "F25").len(), 1);
        assert_eq!(found(&format!("{}$ fio test.fio\n{OUTPUT}", file.replace("=8", "=32")), "F25"), []);
    }

    #[test]
    fn a_run_that_ended_before_its_time_is_told() {
        let early = found(&page("--rw=randread --bs=4k --iodepth=32 --runtime=300 --size=2344m"), "F26");
        assert!(early.len() == 1 && early[0].message.contains("without time_based"), "{early:#?}");
        assert!(
            found(&page("--rw=randread --runtime=5m --time_based"), "F26")[0].message.contains("another run")
        );
        for text in
            ["--rw=randread --runtime=30", "--rw=randread --runtime=300 --io_size=1g", "--rw=randread"]
        {
            assert_eq!(found(&page(text), "F26"), [], "{text}");
        }
    }
}
