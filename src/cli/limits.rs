//! `iotax limits`: finds the limits of a target, and the bursts before they apply, by courses of
//! load. Limits that are set are shown too if they can be read.

use super::progress::ProgressPrinter;
use super::{columns, run, say, say_aside};
use anyhow::Result;
use iotax_host::limits::{LimitUnit, SetLimit, processors};
use iotax_host::probe::Probe;
use iotax_measure::course::{CourseKind, CourseSpec, Courses, LimitCourse};
use iotax_measure::session::RunOutcome;
use iotax_model::scenario::Scenario;
use iotax_model::scenario::check::{ScenarioRequest, from_arguments};
use iotax_qemu::qmp::Qmp;
use iotax_qemu::throttle;
use iotax_report::json;
use iotax_stats::bucket::{CourseShape, UncertainValue};
use iotax_units::exit::{DONE, Failed, MEASUREMENT_FAILED, UNDO_INCOMPLETE, code_of};
use iotax_units::{grouped, parse_duration, show_bytes};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Relative difference up to which a rate counts as being at a limit that is set.
const AT: f64 = 0.03;
/// Time limit for QEMU, which answers at once or not at all.
const QMP_LIMIT: Duration = Duration::from_secs(5);

/// Arguments of `limits`.
#[derive(clap::Args)]
pub struct Args {
    /// A file, a device, a network or any stack: /dev/sdb, file:/srv/x.img,size=4GiB, "net:ssh:b
    /// @ssh:a", "file:/srv/x.img,size=4GiB | loop"
    #[arg(value_name = "STACK")]
    stack: String,
    /// Longest time of each course of load; it may end in its second half, once a limit is known
    /// well
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    seconds: f64,
    /// Rest before each course, in which a bucket fills; longer if a larger bucket was found
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    rest: Duration,
    /// Find limits of writes too. All data on the target is lost; a device requires --destroy
    #[arg(long)]
    write: bool,
    /// Allow writing to one device, by serial or WWN: serial=S[,wipe=SIGNATURE]
    #[arg(long, value_name = "serial=S,wipe=W", requires = "write")]
    destroy: Vec<String>,
    /// Write at most this much
    #[arg(long, value_name = "SIZE", requires = "write")]
    max_written: Option<String>,
    /// Control socket of a QEMU on the path; its throttling is read as a setting
    #[arg(long, value_name = "SOCKET")]
    qmp: Option<PathBuf>,
    /// Print JSON, with every point of the courses
    #[arg(long)]
    json: bool,
}

/// Everything that was found.
#[derive(Debug, Serialize)]
struct LimitFindings {
    /// Stack as it was written on the command line.
    stack: String,
    courses: Vec<CourseLine>,
    /// Limits that are set, as far as they can be read.
    settings: Vec<SetLimit>,
    /// Processors that this process may use, if a control group limits them.
    processors: Option<String>,
}

/// One course and what it shows.
#[derive(Debug, Serialize)]
struct CourseLine {
    /// `read` or `write`; for a network `send` or `receive`.
    direction: &'static str,
    /// Unit of the figures: `ios` or `bytes`; for a network `bytes` without headers, or
    /// `datagrams`.
    unit: &'static str,
    /// The load, in words.
    load: String,
    /// Length of the course.
    seconds: f64,
    rested_seconds: f64,
    ios: u64,
    bytes: u64,
    /// Shape, and its figures with their standard errors; if `None`, `refused` says why.
    #[serde(flatten)]
    found: Option<CourseShape>,
    refused: Option<String>,
    /// True if the rest before may have been too short for the bucket to be full.
    burst_may_be_larger: bool,
    /// Rate of a network in bytes a second with the headers of Ethernet.
    #[serde(skip_serializing_if = "Option::is_none")]
    on_wire: Option<f64>,
    /// Remark on a limit that the other unit's course has found as well.
    note: Option<String>,
    /// Settings that apply to it.
    settings: Vec<SetLimit>,
    /// Seconds, and I/Os or bytes until then.
    points: Vec<(f64, f64)>,
    /// Units that one request counts: a limiter may let the one pass that overflows the bucket.
    #[serde(skip)]
    block: f64,
}

/// Runs the command.
///
/// # Errors
/// As `run`: bad input, unmet needs, a failed I/O, an incomplete undo.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    let spec = spec_of(args)?;
    let scenario = scenario_of(args)?;
    let set_elsewhere = args.qmp.as_deref().map(of_qemu).transpose()?.unwrap_or_default();
    let (dir, courses, result) =
        run::courses(&scenario, Courses::from_spec(spec), runs, ProgressPrinter::new())?;
    // A resumed run would measure something else, and the results are already printed. Anything
    // left to undo needs its journal.
    let all_undone =
        result.as_ref().map_or_else(|error| code_of(error) != UNDO_INCOMPLETE, |_| true);
    if all_undone && dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    if result? == RunOutcome::Interrupted {
        say_aside("interrupted; everything was removed");
        return Ok(MEASUREMENT_FAILED);
    }
    let limits = limits_of(&args.stack, &courses, set_elsewhere);
    say(&if args.json { json::written(&limits) } else { limits.text(columns()) })?;
    Ok(DONE)
}

fn spec_of(args: &Args) -> Result<CourseSpec, Failed> {
    let (seconds, rest_s) = (args.seconds, args.rest.as_secs_f64());
    match seconds {
        1.0..=600.0 => Ok(CourseSpec { writes: args.write, seconds, rest_s }),
        _ => Err(Failed::input(format!(
            "--seconds {seconds} is not between 1 and 600; hint: --seconds 10"
        ))),
    }
}

fn scenario_of(args: &Args) -> Result<Scenario> {
    if let Some(scenario) = of_network(&args.stack) {
        if args.write {
            let why =
                "--write: a network has no writes to allow: both of its directions are measured";
            return Err(Failed::input(format!("{why}; hint: leave it out")).into());
        }
        return Ok(scenario);
    }
    let rw = if args.write { "randrw" } else { "randread" };
    let request = ScenarioRequest {
        words: vec![("rw".to_owned(), rw.to_owned()), ("iodepth".to_owned(), "32".to_owned())],
        destroy: args.destroy.clone(),
        max_written: args.max_written.clone(),
        ..ScenarioRequest::default()
    };
    let scenario =
        from_arguments(std::slice::from_ref(&args.stack), &request).map_err(Failed::from)?;
    match scenario.stacks.as_slice() {
        [_] if scenario.is_of_command_line() => Ok(scenario),
        _ => Err(Failed::input(format!(
            "\"{}\" is not one stack; hint: iotax limits /dev/sdb",
            args.stack
        ))
        .into()),
    }
}

/// Returns the scenario if the one stack is a network.
fn of_network(stack: &str) -> Option<Scenario> {
    let scenario = from_arguments(&[stack.to_owned()], &ScenarioRequest::default()).ok()?;
    let is_network = matches!(scenario.stacks.as_slice(), [one] if one.medium.far_end().is_some());
    (is_network && scenario.is_of_command_line()).then_some(scenario)
}

/// Returns the limits that a QEMU process sets.
fn of_qemu(socket: &Path) -> Result<Vec<SetLimit>, Failed> {
    let failed = |error| Failed::input(format!("--qmp {}: {error}", socket.display()));
    let mut qmp = Qmp::connect(socket, QMP_LIMIT).map_err(failed)?;
    throttle::limits(&mut qmp, &socket.display().to_string()).map_err(failed)
}

fn limits_of(stack: &str, courses: &Courses, set_elsewhere: Vec<SetLimit>) -> LimitFindings {
    let probe = Probe::of_files(Path::new("/"));
    let mut settings = set_elsewhere;
    settings.extend(courses.settings.clone());
    let of_line = |course: &LimitCourse| match course.kind {
        CourseKind { network: true, writes: false, .. } => {
            line_of(course, &courses.done, &courses.far_settings)
        }
        _ => line_of(course, &courses.done, &settings),
    };
    let lines = courses.done.iter().map(of_line).collect();
    settings
        .extend(courses.far_settings.iter().filter(|set| !courses.settings.contains(set)).cloned());
    LimitFindings {
        stack: stack.to_owned(),
        courses: lines,
        settings,
        processors: processors(&probe).map(|(list, _)| list),
    }
}

fn line_of(course: &LimitCourse, all: &[LimitCourse], settings: &[SetLimit]) -> CourseLine {
    let CourseKind { network, writes, bytes, .. } = course.kind;
    let note = same_limit(course, all);
    // The limit of the other unit is then the one that applies.
    let counts_bytes = bytes != note.is_some();
    let holds = settings.iter().filter(|set| match network {
        true => set.of == LimitUnit::Sent,
        false => set.of.holds_for(writes, counts_bytes),
    });
    CourseLine {
        direction: match (network, writes) {
            (false, false) => "read",
            (false, true) => "write",
            (true, false) => "receive",
            (true, true) => "send",
        },
        unit: match (network, bytes) {
            (_, true) => "bytes",
            (false, false) => "ios",
            (true, false) => "datagrams",
        },
        load: course.kind.words(),
        seconds: course.points.last().map_or(0.0, |point| point.0),
        rested_seconds: course.rested_s,
        ios: course.ios,
        bytes: course.bytes,
        found: course.found.ok(),
        refused: course.found.err().map(|why| why.to_string()),
        burst_may_be_larger: course.may_have_begun_empty(),
        on_wire: reached(course).and_then(|rate| course.on_wire(rate)).map(|[_, bytes]| bytes),
        note,
        settings: holds.cloned().collect(),
        points: course.points.clone(),
        block: match (network, bytes) {
            (true, _) => 0.0,
            (false, true) => course.kind.job().bs as f64,
            (false, false) => 1.0,
        },
    }
}

/// Returns the rate that a course holds.
fn held(course: &LimitCourse) -> Option<f64> {
    match &course.found {
        Ok(CourseShape::Bucket(bucket)) => Some(bucket.rate.value),
        Ok(CourseShape::Cap { rate }) => Some(rate.value),
        _ => None,
    }
}

/// Returns the rate that a course reached.
fn reached(course: &LimitCourse) -> Option<f64> {
    match &course.found {
        Ok(CourseShape::Open { mean, fell, .. }) => Some(fell.map_or(*mean, |fell| fell.to)),
        _ => held(course),
    }
}

/// Returns a note if another course meets the same limit. Small and large blocks of one direction
/// do if their rates agree in I/Os or in bytes; for a network, datagrams and streams do if they
/// agree in frames or in bytes on the wire.
fn same_limit(course: &LimitCourse, all: &[LimitCourse]) -> Option<String> {
    let CourseKind { network, writes, bytes, .. } = course.kind;
    let other =
        all.iter().find(|other| (other.kind.writes, other.kind.bytes) == (writes, !bytes))?;
    let (small, large) = if bytes { (other, course) } else { (course, other) };
    let (ios, rate) = (held(small)?, held(large)?);
    let agree = |a: f64, b: f64| (a / b - 1.0).abs() < AT;
    if network {
        let ([frames, small], [of_large, large]) = (small.on_wire(ios)?, large.on_wire(rate)?);
        return match (agree(small, large), agree(frames, of_large), bytes) {
            (true, _, false) => {
                Some("as many bytes on the wire as streams get: the limit is on bytes".into())
            }
            (_, true, true) => {
                Some("as many frames as datagrams get: the limit is on packets".into())
            }
            _ => None,
        };
    }
    let by_bytes = agree(ios * small.kind.job().bs as f64, rate);
    let by_ios = agree(ios, rate / large.kind.job().bs as f64);
    match (by_bytes, by_ios, bytes) {
        (true, _, false) => Some("the limit is on bytes: large blocks get as many".into()),
        (_, true, true) => Some("the limit is on I/Os: small blocks get as many".into()),
        _ => None,
    }
}

impl LimitFindings {
    fn text(&self, width: usize) -> String {
        let lines = self.courses.iter().map(CourseLine::text);
        let processors = self
            .settings
            .iter()
            .filter(|set| matches!(set.of, LimitUnit::Processors | LimitUnit::Allowed));
        let others = processors.map(|set| format!("set: {set}"));
        let all: Vec<String> = lines.chain(others).collect();
        all.iter().map(|line| iotax_report::wrapped(line, width, "  ")).collect()
    }
}

impl CourseLine {
    fn text(&self) -> String {
        let what = match self.direction {
            "send" => "sending",
            "receive" => "receiving",
            "write" => "writes",
            _ => "reads",
        };
        format!("{what}: {}{}", self.finding(), self.details())
    }

    fn finding(&self) -> String {
        let of_network = self.is_of_network();
        let amount = |amount: f64| match (self.unit, of_network) {
            ("bytes", _) => show_bytes(amount.round() as u64),
            (_, true) => format!("{} datagrams", grouped(amount)),
            (_, false) => format!("{} I/Os", grouped(amount)),
        };
        let rate = |rate: f64| match (self.unit, of_network) {
            ("bytes", true) => mbit(rate),
            _ => format!("{} a second", amount(rate)),
        };
        let below = if of_network { "the network's" } else { "the drive's" };
        match self.found {
            Some(CourseShape::Bucket(found)) => format!(
                "limited to {} after a burst of {}{}",
                rate(found.rate.value),
                amount(found.burst.value),
                if self.burst_may_be_larger { " or more" } else { "" }
            ),
            Some(CourseShape::Cap { rate: cap }) => {
                format!(
                    "steady at {} from the start: a flat cap, or {below} own rate",
                    rate(cap.value)
                )
            }
            // A limiter that drops what it did not pass at once is as unsteady as a drive.
            Some(CourseShape::Open { mean, fell, .. })
                if self.met(fell.map_or(mean, |fell| fell.to)).is_some() =>
            {
                let (to, after) =
                    (fell.map_or(mean, |fell| fell.to), fell.map(|fell| amount(fell.after)));
                let after = after.map_or("no burst found".to_owned(), |after| {
                    format!("faster for the first {after}")
                });
                format!("limited to {} by a setting; {after}", rate(to))
            }
            Some(CourseShape::Open { amount: all, mean, fell: None }) => {
                format!("no limit found below {}, at {}", amount(all), rate(mean))
            }
            Some(CourseShape::Open { amount: all, fell: Some(fell), .. }) => format!(
                "no limit found below {}; it fell from {} to {} after {}, but a limiter is steadier",
                amount(all),
                rate(fell.from),
                rate(fell.to),
                amount(fell.after)
            ),
            None => format!("no result: {}", self.refused.as_deref().unwrap_or_default()),
        }
    }

    /// Returns a setting that a rate is at.
    fn met(&self, rate: f64) -> Option<&SetLimit> {
        let shown = self.on_wire.unwrap_or(rate);
        self.settings.iter().find(|set| (shown / set.rate - 1.0).abs() <= AT)
    }

    fn is_of_network(&self) -> bool {
        matches!(self.direction, "send" | "receive")
    }

    fn details(&self) -> String {
        let within = |figure: UncertainValue, more: f64| {
            format!("+- {:.2} %", 100.0 * (2.0 * figure.error + more) / figure.value)
        };
        let percent = |figure: UncertainValue| within(figure, 0.0);
        let sure = match self.found {
            Some(CourseShape::Bucket(found)) => {
                format!(
                    "; rate {}, burst {}, {:.1} times as fast at first",
                    percent(found.rate),
                    within(found.burst, self.block),
                    found.peak / found.rate.value
                )
            }
            Some(CourseShape::Cap { rate }) => format!("; {}", percent(rate)),
            _ => String::new(),
        };
        let on_wire = self.on_wire.iter().map(|rate| format!("; {} on the wire", mbit(*rate)));
        let note = self.note.iter().map(|note| format!("; {note}"));
        let larger = self.burst_may_be_larger.then(|| {
            format!(
                "; the rest of {:.1} s may not have filled the bucket; use a longer --rest",
                self.rested_seconds
            )
        });
        let settings = self.settings.iter().map(|set| format!("; set: {set}"));
        let all: String = on_wire.chain(note).chain(larger).chain(settings).collect();
        format!(" (found in {:.1} s of {}{sure}{all})", self.seconds, self.load)
    }
}

/// Formats bytes per second as is usual for networks.
fn mbit(rate: f64) -> String {
    format!("{:.2} Mbit/s", rate * 8.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use iotax_measure::course::CourseFrame;
    use iotax_stats::bucket::{Bucket, Unfit};

    fn course(writes: bool, bytes: bool, rate: f64, burst: f64) -> LimitCourse {
        let figure = |value: f64| UncertainValue { value, error: value / 1000.0 };
        let found = Bucket {
            rate: figure(rate),
            burst: figure(burst),
            peak: 20.0 * rate,
            knee_s: 0.3,
            tail_s: 4.9,
        };
        LimitCourse {
            kind: CourseKind { network: false, writes, bytes, fine: false },
            frame: None,
            rested_s: 10.0,
            points: vec![(0.0, 0.0), (5.2, burst + 5.2 * rate)],
            ios: 10_200,
            bytes: 10_200 << 12,
            found: Ok(CourseShape::Bucket(found)),
        }
    }

    fn set(of: LimitUnit, rate: f64) -> SetLimit {
        SetLimit { of, rate, burst: None, on: "sda".into(), set_in: "io.max".into() }
    }

    #[test]
    fn the_answer_comes_first_and_names_what_is_set() {
        let all = [course(false, false, 1000.0, 5000.0)];
        let settings = [
            set(LimitUnit::ReadIos, 1000.0),
            set(LimitUnit::WriteIos, 7.0),
            set(LimitUnit::TotalBytes, 9.0),
        ];
        assert_eq!(
            line_of(&all[0], &all, &settings).text(),
            "reads: limited to 1,000 I/Os a second after a burst of 5,000 I/Os (found in 5.2 s of 4k random reads at iodepth 32; \
             rate +- 0.20 %, burst +- 0.22 %, 20.0 times as fast at first; set: sda: 1000 reads a second (io.max))"
        );
    }

    #[test]
    fn a_limit_on_bytes_that_small_blocks_meet_too_is_named_so() {
        let mega = f64::from(1 << 20);
        let both = [course(false, false, 25_600.0, 9.0), course(false, true, 100.0 * mega, 9.0)];
        assert!(same_limit(&both[0], &both).unwrap().starts_with("the limit is on bytes"));
        assert_eq!(same_limit(&both[1], &both), None);
        let both = [course(true, false, 500.0, 9.0), course(true, true, 500.0 * mega, 9.0)];
        assert!(same_limit(&both[1], &both).unwrap().starts_with("the limit is on I/Os"));
        assert_eq!(same_limit(&both[0], &both), None);
        assert_eq!(same_limit(&both[0], &both[..1]), None);
        let (of_ios, of_bytes) = (set(LimitUnit::WriteIos, 500.0), set(LimitUnit::WriteBytes, 9e9));
        let text = line_of(&both[1], &both, &[of_ios, of_bytes]).text();
        assert!(
            text.contains("set: sda: 500 writes a second") && !text.contains("bytes a second"),
            "{text}"
        );
    }

    #[test]
    fn a_burst_that_may_be_larger_and_what_is_no_limit_are_said() {
        let mut one = course(true, true, 1e6, 2e7);
        let text = line_of(&one, &[], &[]).text();
        assert!(
            text.contains("after a burst of 19.07 MiB or more") && text.contains("--rest"),
            "{text}"
        );
        one.found = Ok(CourseShape::Open { amount: 13_207_024_435.0, mean: 1e9, fell: None });
        let text = line_of(&one, &[], &[]).text();
        assert!(
            text.starts_with(
                "writes: no limit found below 12.30 GiB, at 953.67 MiB a second (found"
            ),
            "{text}"
        );
        let of_both = [set(LimitUnit::WriteBytes, 1.02e9), set(LimitUnit::WriteBytes, 5e9)];
        let text = line_of(&one, &[], &of_both).text();
        assert!(
            text.starts_with("writes: limited to 953.67 MiB a second by a setting; no burst"),
            "{text}"
        );
        one.found = Err(Unfit::Short(7));
        assert!(line_of(&one, &[], &[]).text().contains("no result: the course has 7 points"));
    }

    #[test]
    fn a_network_s_limit_is_compared_on_the_wire() {
        let frame = |payload, headers| Some(CourseFrame { payload, headers });
        let kind = |writes, bytes| CourseKind { network: true, writes, bytes, fine: false };
        // 80 Mbit/s, of 1448 bytes in 1514, and of 64 in 106.
        let streams = LimitCourse {
            kind: kind(true, true),
            frame: frame(1448, 66),
            ..course(true, true, 1e7 * 1448.0 / 1514.0, 4e6)
        };
        let small = LimitCourse {
            kind: kind(true, false),
            frame: frame(64, 42),
            ..course(true, false, 1e7 / 106.0, 4e4)
        };
        let all = [streams, small];
        let tbf = SetLimit { on: "eth0".into(), set_in: "tbf".into(), ..set(LimitUnit::Sent, 1e7) };
        let text = line_of(&all[0], &all, &[tbf.clone(), set(LimitUnit::WriteBytes, 7.0)]).text();
        assert!(
            text.starts_with(
                "sending: limited to 76.51 Mbit/s after a burst of 3.81 MiB (found in"
            ),
            "{text}"
        );
        let end = "; 80.00 Mbit/s on the wire; set: eth0: 10000000 bytes sent a second (tbf))";
        assert!(
            text.contains("of 4 TCP streams to the other end") && text.ends_with(end),
            "{text}"
        );
        let line = line_of(&all[1], &all, &[tbf]);
        assert!(
            line.text().starts_with("sending: limited to 94,340 datagrams a second after"),
            "{}",
            line.text()
        );
        assert!(
            line.note.as_deref().is_some_and(|note| note.ends_with("on bytes")),
            "{:?}",
            line.note
        );
        assert!(line.met(1.0).is_some(), "by what is on the wire");
    }

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn consent_is_for_writes_and_one_stack_is_taken() {
        let parse =
            |words: &[&str]| Cli::try_parse_from([&["limits"], words].concat()).map(|cli| cli.args);
        assert!(
            parse(&["/dev/x", "--destroy", "serial=S"]).is_err(),
            "nothing is written without --write"
        );
        let args = parse(&["/dev/x", "--write", "--destroy", "serial=S"]).unwrap();
        let scenario = scenario_of(&args).unwrap();
        assert!(scenario.writes() && scenario.consent[0].serial == "S");
        assert!(!scenario_of(&parse(&["/dev/x"]).unwrap()).unwrap().writes());
        assert!(spec_of(&parse(&["/dev/x", "--seconds", "0.5"]).unwrap()).is_err());
        assert!(spec_of(&parse(&["/dev/x", "--seconds", "NaN"]).unwrap()).is_err());
        assert_eq!(spec_of(&parse(&["/dev/x", "--rest", "2s"]).unwrap()).unwrap().rest_s, 2.0);
        assert!(
            scenario_of(&parse(&["net:ssh:b @ssh:a"]).unwrap()).unwrap().stacks[0]
                .medium
                .far_end()
                .is_some()
        );
        let refused =
            scenario_of(&parse(&["net:ssh:b", "--write"]).unwrap()).unwrap_err().to_string();
        assert!(refused.starts_with("--write: a network has no writes"), "{refused}");
    }
}
