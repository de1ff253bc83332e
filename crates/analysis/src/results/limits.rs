//! Limits of one stack: what its courses of load show, beside the limits that are set on its path.

use crate::findings::limits::{CourseFinding, LimitFindings};
use crate::findings::{Interval, MeasuredFigure, SampleUnit};
use iotax_facts::limit::{LimitUnit, SetLimit};
use iotax_model::record::course::{CourseDirection, CourseLoad, LimitCourse, PathLimits};
use iotax_stats::bucket::{CourseShape, SAME_RATE, UncertainValue, Unfit, find_bucket};
use iotax_store::RunData;
use iotax_units::{grouped, show_bytes};

/// Returns the findings of a search for limits; `None` for any other run.
pub fn limits(run: &RunData) -> Option<LimitFindings> {
    run.start.scenario.limits.as_ref()?;
    let PathLimits { near, far, processors } = &run.path_limits;
    let shapes = run.courses.iter().map(ShapedCourse::from_course).collect::<Vec<_>>();
    let of_course = |shaped: &ShapedCourse| {
        // What arrives was limited where it was sent.
        let arrives = shaped.course.direction == CourseDirection::Receive;
        course_finding(shaped, &shapes, if arrives { far } else { near })
    };
    let further = far.iter().filter(|set| !near.contains(set));
    Some(LimitFindings {
        stack: run.start.scenario.stacks.first()?.text.clone(),
        courses: shapes.iter().map(of_course).collect(),
        settings: near.iter().chain(further).cloned().collect(),
        processors: processors.clone(),
    })
}

/// Returns the headline: the first limit that was found, or the first course without one.
///
/// # Errors
/// Fails if no course was run to its end.
pub fn headline(found: &LimitFindings) -> Result<String, String> {
    let limited = |course: &&CourseFinding| {
        matches!(course.found, Some(CourseShape::Bucket(_))) || course.met_setting().is_some()
    };
    let first = found.courses.iter().find(limited).or(found.courses.first());
    let first = first.ok_or("no course of load was run to its end")?;
    Ok(format!("{}: {}", found.stack, first.sentence))
}

pub fn not_excluded(found: &LimitFindings) -> Vec<String> {
    let mut lines = vec![
        "a limit over a longer time than the courses, by the day for example: --seconds".to_owned(),
        "a bucket that other loads share, and that was not full at the start: --rest".to_owned(),
    ];
    if !found.courses.iter().any(|course| matches!(course.direction, "write" | "send")) {
        lines.push("limits of writes, which were not looked for: --write".to_owned());
    }
    lines
}

struct ShapedCourse<'a> {
    course: &'a LimitCourse,
    shape: Result<CourseShape, Unfit>,
}

impl ShapedCourse<'_> {
    fn from_course(course: &LimitCourse) -> ShapedCourse<'_> {
        ShapedCourse { course, shape: find_bucket(&course.points) }
    }

    fn held_rate(&self) -> Option<f64> {
        match &self.shape {
            Ok(CourseShape::Bucket(bucket)) => Some(bucket.rate.value),
            Ok(CourseShape::Cap { rate }) => Some(rate.value),
            _ => None,
        }
    }

    fn reached_rate(&self) -> Option<f64> {
        match &self.shape {
            Ok(CourseShape::Open { mean, fell, .. }) => Some(fell.map_or(*mean, |fell| fell.to)),
            _ => self.held_rate(),
        }
    }

    /// Returns true if the rest before the course may have been too short for its bucket to be
    /// full.
    fn may_have_begun_empty(&self) -> bool {
        match &self.shape {
            Ok(CourseShape::Bucket(bucket)) => bucket.refill_s() > 0.9 * self.course.rested_s,
            _ => false,
        }
    }
}

fn course_finding(shaped: &ShapedCourse, all: &[ShapedCourse], set: &[SetLimit]) -> CourseFinding {
    let course = shaped.course;
    let (direction, load) = (course.direction, course.load);
    let note = same_limit(shaped, all);
    // The limit of the other unit is then the one that applies.
    let counts_bytes = load.counts_bytes() != note.is_some();
    let holds = set.iter().filter(|set| match load.is_of_network() {
        true => set.of == LimitUnit::Sent,
        false => set.of.holds_for(direction.is_outward(), counts_bytes),
    });
    let on_wire = shaped.reached_rate().and_then(|rate| course.on_wire(rate));
    let mut finding = CourseFinding {
        direction: match direction {
            CourseDirection::Read => "read",
            CourseDirection::Write => "write",
            CourseDirection::Receive => "receive",
            CourseDirection::Send => "send",
        },
        unit: match load {
            CourseLoad::SmallBlocks => "ios",
            CourseLoad::Datagrams => "datagrams",
            _ => "bytes",
        },
        load: load.phrase(direction),
        seconds: course.seconds(),
        rested_seconds: course.rested_s,
        ios: course.ios,
        bytes: course.bytes,
        found: shaped.shape.ok(),
        refused: shaped.shape.err().map(|why| why.to_string()),
        burst_may_be_larger: shaped.may_have_begun_empty(),
        on_wire: on_wire.map(|[_, bytes]| bytes),
        note,
        settings: holds.cloned().collect(),
        points: course.points.clone(),
        block: match load {
            CourseLoad::SmallBlocks => 1.0,
            // 0 for a network, whose requests are small.
            _ => load.block_bytes() as f64,
        },
        sentence: String::new(),
        detail: String::new(),
    };
    finding.sentence = format!("{}: {}", direction.phrase(), finding.shape_phrase());
    finding.detail = finding.detail_phrase();
    finding
}

/// Returns a note if another course meets the same limit. Small and large blocks of one direction
/// do if their rates agree in I/Os or in bytes; for a network, datagrams and streams do if they
/// agree in frames or in bytes on the wire.
fn same_limit(one: &ShapedCourse, all: &[ShapedCourse]) -> Option<String> {
    let (direction, load) = (one.course.direction, one.course.load);
    let by_bytes = load.counts_bytes();
    let other = all.iter().find(|other| {
        other.course.direction == direction && other.course.load.counts_bytes() != by_bytes
    })?;
    let (small, large) = if by_bytes { (other, one) } else { (one, other) };
    let (ios, rate) = (small.held_rate()?, large.held_rate()?);
    let agree = |a: f64, b: f64| (a / b - 1.0).abs() < SAME_RATE;
    if load.is_of_network() {
        let [small_frames, small_bytes] = small.course.on_wire(ios)?;
        let [large_frames, large_bytes] = large.course.on_wire(rate)?;
        return match (agree(small_bytes, large_bytes), agree(small_frames, large_frames), by_bytes)
        {
            (true, _, false) => {
                Some("as many bytes on the wire as streams get: the limit is on bytes".into())
            }
            (_, true, true) => {
                Some("as many frames as datagrams get: the limit is on packets".into())
            }
            _ => None,
        };
    }
    let same_bytes = agree(ios * small.course.load.block_bytes() as f64, rate);
    let same_ios = agree(ios, rate / large.course.load.block_bytes() as f64);
    match (same_bytes, same_ios, by_bytes) {
        (true, _, false) => Some("the limit is on bytes: large blocks get as many".into()),
        (_, true, true) => Some("the limit is on I/Os: small blocks get as many".into()),
        _ => None,
    }
}

impl LimitFindings {
    /// Returns the set limits on processors, which no course shows.
    pub fn set_on_processors(&self) -> impl Iterator<Item = &SetLimit> {
        let is_on = |set: &&SetLimit| matches!(set.of, LimitUnit::Processors | LimitUnit::Allowed);
        self.settings.iter().filter(is_on)
    }
}

impl CourseFinding {
    /// Returns an amount in the unit of the course: `5,000 I/Os`, `19.07 MiB`.
    pub fn amount_phrase(&self, amount: f64) -> String {
        match self.unit {
            "bytes" => show_bytes(amount.round() as u64),
            "datagrams" => format!("{} datagrams", grouped(amount)),
            _ => format!("{} I/Os", grouped(amount)),
        }
    }

    /// Returns a rate in the unit of the course: `1,000 I/Os a second`, `76.51 Mbit/s`.
    pub fn rate_phrase(&self, rate: f64) -> String {
        match (self.unit, self.is_of_network()) {
            ("bytes", true) => megabits(rate),
            _ => format!("{} a second", self.amount_phrase(rate)),
        }
    }

    fn is_of_network(&self) -> bool {
        matches!(self.direction, "send" | "receive")
    }

    /// Returns the rate that the course held, with an interval of two standard errors, or the rate
    /// that it reached, without an interval.
    pub fn rate_figure(&self) -> MeasuredFigure {
        let held =
            |rate: UncertainValue| self.course_figure(rate.value, Some(2.0 * rate.error), "/s");
        match self.found {
            Some(CourseShape::Bucket(bucket)) => held(bucket.rate),
            Some(CourseShape::Cap { rate }) => held(rate),
            Some(CourseShape::Open { mean, fell, .. }) => {
                self.course_figure(fell.map_or(mean, |fell| fell.to), None, "/s")
            }
            None => MeasuredFigure::missing(self.refused.as_deref().unwrap_or_default()),
        }
    }

    /// Returns the burst, with an interval of two standard errors and a block; missing without a
    /// bucket.
    pub fn burst(&self) -> MeasuredFigure {
        match self.found {
            Some(CourseShape::Bucket(bucket)) => {
                let half = 2.0 * bucket.burst.error + self.block;
                self.course_figure(bucket.burst.value, Some(half), "")
            }
            _ => MeasuredFigure::missing("the course shows no bucket"),
        }
    }

    fn course_figure(&self, value: f64, half: Option<f64>, per: &'static str) -> MeasuredFigure {
        let unit = match (self.unit, per) {
            ("bytes", "/s") => "B/s",
            ("bytes", _) => "B",
            (_, "/s") => "1/s",
            _ => "1",
        };
        let why = "a rate that is not held as limiters do";
        let interval = match half {
            Some(half) => Interval::from_bounds(value - half, value + half),
            None => Interval::Missing { missing: why.into() },
        };
        let points = self.points.len() as u64;
        MeasuredFigure::known_value(value, unit, (points, SampleUnit::Points), interval)
    }

    /// Returns the setting that explains the rate of a course whose shape is not a limiter's, if
    /// there is one: a limiter that drops what it does not pass at once is as unsteady as a drive.
    fn met_setting(&self) -> Option<&SetLimit> {
        let Some(CourseShape::Open { .. }) = self.found else { return None };
        let shown = self.on_wire.or(self.rate_figure().value())?;
        self.settings.iter().find(|set| (shown / set.rate - 1.0).abs() <= SAME_RATE)
    }

    fn shape_phrase(&self) -> String {
        let (amount, rate) = (|of| self.amount_phrase(of), |of| self.rate_phrase(of));
        match self.found {
            Some(CourseShape::Bucket(found)) => format!(
                "limited to {} after a burst of {}{}",
                rate(found.rate.value),
                amount(found.burst.value),
                if self.burst_may_be_larger { " or more" } else { "" }
            ),
            Some(CourseShape::Cap { rate: cap }) => {
                let below = if self.is_of_network() { "the network's" } else { "the drive's" };
                format!(
                    "steady at {} from the start: a flat cap, or {below} own rate",
                    rate(cap.value)
                )
            }
            Some(CourseShape::Open { mean, fell, .. }) if self.met_setting().is_some() => {
                let after = fell.map_or("no burst found".to_owned(), |fell| {
                    format!("faster for the first {}", amount(fell.after))
                });
                format!(
                    "limited to {} by a setting; {after}",
                    rate(fell.map_or(mean, |fell| fell.to))
                )
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

    fn detail_phrase(&self) -> String {
        let percent = |figure: MeasuredFigure| {
            let (low, high) = figure.bounds()?;
            Some(format!("+- {:.2} %", 50.0 * (high - low) / figure.value()?))
        };
        let sure = match (self.found, percent(self.rate_figure()), percent(self.burst())) {
            (Some(CourseShape::Bucket(found)), Some(rate), Some(burst)) => format!(
                "; rate {rate}, burst {burst}, {:.1} times as fast at first",
                found.peak / found.rate.value
            ),
            (_, Some(rate), _) => format!("; {rate}"),
            _ => String::new(),
        };
        let on_wire = self.on_wire.iter().map(|rate| format!("; {} on the wire", megabits(*rate)));
        let note = self.note.iter().map(|note| format!("; {note}"));
        let larger = self.burst_may_be_larger.then(|| {
            format!(
                "; the rest of {:.1} s may not have filled the bucket; use a longer --rest",
                self.rested_seconds
            )
        });
        let settings = self.settings.iter().map(|set| format!("; set: {set}"));
        let all: String = on_wire.chain(note).chain(larger).chain(settings).collect();
        format!("found in {:.1} s of {}{sure}{all}", self.seconds, self.load)
    }
}

/// Formats bytes per second as is usual for networks.
fn megabits(rate: f64) -> String {
    format!("{:.2} Mbit/s", rate * 8.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_model::record::course::CourseFrame;

    /// Returns a course of a limiter that lets `burst + rate x t` through, on something 20 times
    /// as fast.
    fn course(direction: CourseDirection, load: CourseLoad, rate: f64, burst: f64) -> LimitCourse {
        let knee = burst / (19.0 * rate);
        let amount = |t: f64| if t < knee { 20.0 * rate * t } else { burst + rate * t };
        let points = (1..=600).map(|step| f64::from(step) * 0.01).map(|t| (t, amount(t)));
        LimitCourse {
            direction,
            load,
            rested_s: 10.0,
            ios: 10_200,
            bytes: 10_200 << 12,
            frame: None,
            points: points.collect(),
        }
    }

    fn set(of: LimitUnit, rate: f64) -> SetLimit {
        SetLimit { of, rate, burst: None, on: "sda".into(), set_in: "io.max".into() }
    }

    fn found(courses: &[LimitCourse], at: usize, settings: &[SetLimit]) -> CourseFinding {
        let all: Vec<ShapedCourse> = courses.iter().map(ShapedCourse::from_course).collect();
        course_finding(&all[at], &all, settings)
    }

    use CourseDirection::{Read, Send, Write};
    use CourseLoad::{Datagrams, LargeBlocks, SmallBlocks, Streams};

    #[test]
    fn the_answer_comes_first_and_names_what_is_set() {
        let settings = [
            set(LimitUnit::ReadIos, 1000.0),
            set(LimitUnit::WriteIos, 7.0),
            set(LimitUnit::TotalBytes, 9.0),
        ];
        let finding = found(&[course(Read, SmallBlocks, 1000.0, 5000.0)], 0, &settings);
        assert_eq!(
            finding.sentence,
            "reads: limited to 1,000 I/Os a second after a burst of 5,000 I/Os"
        );
        assert!(
            finding.detail.starts_with("found in 6.0 s of 4k random reads at iodepth 32; rate +- ")
                && finding.detail.ends_with(
                    " 20.0 times as fast at first; set: sda: 1000 reads a second (io.max)"
                ),
            "{}",
            finding.detail
        );
    }

    #[test]
    fn a_limit_on_bytes_that_small_blocks_meet_too_is_named_so() {
        let mega = f64::from(1 << 20);
        let note = |courses: &[LimitCourse], at: usize| found(courses, at, &[]).note;
        let both = [
            course(Read, SmallBlocks, 25_600.0, 9000.0),
            course(Read, LargeBlocks, 100.0 * mega, 90.0 * mega),
        ];
        assert!(note(&both, 0).unwrap().starts_with("the limit is on bytes"));
        assert_eq!(note(&both, 1), None);
        let both = [
            course(Write, SmallBlocks, 500.0, 900.0),
            course(Write, LargeBlocks, 500.0 * mega, 900.0 * mega),
        ];
        assert!(note(&both, 1).unwrap().starts_with("the limit is on I/Os"));
        assert_eq!((note(&both, 0), note(&both[..1], 0)), (None, None));
        let settings = [set(LimitUnit::WriteIos, 500.0), set(LimitUnit::WriteBytes, 9e9)];
        let detail = found(&both, 1, &settings).detail;
        assert!(
            detail.contains("set: sda: 500 writes a second") && !detail.contains("bytes a second"),
            "{detail}"
        );
    }

    #[test]
    fn a_burst_that_may_be_larger_and_what_is_no_limit_are_said() {
        let one = course(Write, LargeBlocks, 1e6, 2e7);
        let bucket = found(std::slice::from_ref(&one), 0, &[]);
        assert!(
            bucket.sentence.ends_with("after a burst of 19.07 MiB or more")
                && bucket.detail.contains("--rest"),
            "{bucket:?}"
        );
        // A drive: each step of its amount is its own.
        let (mut amount, mut state) = (0.0, 1_u32);
        let wander = |step: i32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            amount += 1e7 * (0.5 + f64::from(state >> 8) / f64::from(1 << 24));
            (f64::from(step) * 0.01, amount)
        };
        let drive = LimitCourse { points: (1..=600).map(wander).collect(), ..one.clone() };
        let open = found(std::slice::from_ref(&drive), 0, &[]);
        let Some(CourseShape::Open { mean, fell: None, .. }) = open.found else {
            panic!("{:?}", open.found)
        };
        assert!(open.sentence.starts_with("writes: no limit found below 5."), "{}", open.sentence);
        let of_both =
            [set(LimitUnit::WriteBytes, 1.02 * mean), set(LimitUnit::WriteBytes, 5.0 * mean)];
        let met = found(&[drive], 0, &of_both).sentence;
        assert!(met.ends_with(" a second by a setting; no burst found"), "{met}");
        let short = LimitCourse { points: one.points[..7].to_vec(), ..one };
        let none = found(&[short], 0, &[]).sentence;
        assert!(none.starts_with("writes: no result: the course has 7 points"), "{none}");
    }

    #[test]
    fn a_network_s_limit_is_compared_on_the_wire() {
        let frame = |payload, headers| Some(CourseFrame { payload, headers });
        // 80 Mbit/s, of 1448 bytes in 1514, and of 64 in 106.
        let streams = course(Send, Streams, 1e7 * 1448.0 / 1514.0, 4e6);
        let small = course(Send, Datagrams, 1e7 / 106.0, 4e4);
        let all = [
            LimitCourse { frame: frame(1448, 66), ..streams },
            LimitCourse { frame: frame(64, 42), ..small },
        ];
        let tbf = SetLimit { on: "eth0".into(), set_in: "tbf".into(), ..set(LimitUnit::Sent, 1e7) };
        let first = found(&all, 0, &[tbf.clone(), set(LimitUnit::WriteBytes, 7.0)]);
        assert_eq!(first.sentence, "sending: limited to 76.51 Mbit/s after a burst of 3.81 MiB");
        let end = "; 80.00 Mbit/s on the wire; set: eth0: 10000000 bytes sent a second (tbf)";
        assert!(
            first.detail.contains("of 4 TCP streams to the other end")
                && first.detail.ends_with(end),
            "{}",
            first.detail
        );
        let second = found(&all, 1, &[tbf]);
        assert!(
            second.sentence.starts_with("sending: limited to 94,340 datagrams a second after"),
            "{}",
            second.sentence
        );
        assert!(second.note.is_some_and(|note| note.ends_with("on bytes")));
    }
}
