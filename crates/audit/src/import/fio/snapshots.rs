//! What one run printed before it ended: `--status-interval` and SIGUSR1 have fio print all that it counted so far, each time
//! like the output of a run. Only the last of them is a result; the others are no runs of their own.

use super::{Direction, Fio, Form, Job};
use crate::import::{Output, Said};
use crate::number::Figure;

/// How far the clock and the runtimes may be apart where both are told in milliseconds.
const FINE_MS: f64 = 20.0;
/// And where the time is told in seconds, of which fio cuts the rest off.
const COARSE_MS: f64 = 1000.0;
/// Runs of one length differ by less than this.
const RISE_MS: f64 = 500.0;

/// Of each output of a page, in their order, whether a later one of the same run has all that it has and more. Nothing is said
/// where an output does not tell when it was printed.
pub fn superseded(outputs: &[Output]) -> Vec<bool> {
    followers(outputs).iter().map(Option::is_some).collect()
}

/// Of each output the next one of the same run, as its index.
pub(crate) fn followers(outputs: &[Output]) -> Vec<Option<usize>> {
    let mut followers = vec![None; outputs.len()];
    // Of `--output-format=normal,json` each form goes on by itself.
    let mut last: [Option<(usize, &Fio)>; 2] = [None, None];
    for (at, output) in outputs.iter().enumerate() {
        let Said::Fio(fio) = &output.said else { continue };
        let form = match fio.form {
            Form::Text => 0,
            Form::Json => 1,
            Form::Terse | Form::Excerpt => continue,
        };
        if let Some((before, _)) = last[form].replace((at, fio)).filter(|(_, before)| goes_on(before, fio)) {
            followers[before] = Some(at);
        }
    }
    followers
}

/// Whether the later output is of the same run as the one before it.
fn goes_on(before: &Fio, later: &Fio) -> bool {
    // A text has its head once, above the first that it prints; what was asked and the version are given on from there.
    let anew = later.form == Form::Text && later.started;
    let same_jobs = before.jobs.len() == later.jobs.len() && !later.jobs.is_empty();
    let pairs = || before.jobs.iter().zip(&later.jobs);
    let disk = |name: &str| before.disks.iter().find(|disk| disk.name == name);
    let disks = || later.disks.iter().filter_map(|later| Some((disk(&later.name)?, later)));
    !anew
        && before.version.is_none_or(|version| later.version.is_none_or(|other| other == version))
        && same_jobs
        && pairs().all(|(before, later)| is_same(before, later) && rises(before, later))
        && disks().all(|(before, later)| all_rise(&before.ios, &later.ios))
        && began_once(before, later)
}

/// Whether two jobs are one as far as is told of them.
fn is_same(before: &Job, later: &Job) -> bool {
    let unlike = |a: Option<u64>, b: Option<u64>| a.zip(b).is_some_and(|(a, b)| a != b);
    before.name == later.name
        && before.group == later.group
        && before.host == later.host
        && before.options == later.options
        && !unlike(before.pid, later.pid)
        && !unlike(before.began_ms, later.began_ms)
}

/// Whether nothing that a job counts became less.
fn rises(before: &Job, later: &Job) -> bool {
    let later_way =
        |before: &Direction| later.directions.iter().find(|direction| direction.way == before.way);
    let issued = match (before.issued, later.issued) {
        (Some(before), Some(later)) => all_rise(&before.total, &later.total),
        _ => true,
    };
    let switches = |job: &Job| job.cpu.and_then(|cpu| cpu.switches);
    issued
        && rise(switches(before), switches(later))
        && before
            .directions
            .iter()
            .all(|before| later_way(before).is_some_and(|later| goes_up(before, later)))
}

fn goes_up(before: &Direction, later: &Direction) -> bool {
    let latencies = [(&before.slat, &later.slat), (&before.clat, &later.clat), (&before.lat, &later.lat)];
    rise(before.ios, later.ios)
        && rise(before.io, later.io)
        && rise(before.runtime_ms, later.runtime_ms)
        && latencies.into_iter().all(|pair| match pair {
            (Some(before), Some(later)) => {
                rise(Some(later.min), Some(before.min)) && rise(Some(before.max), Some(later.max))
            }
            _ => true,
        })
}

fn all_rise(before: &[Option<Figure>], later: &[Option<Figure>]) -> bool {
    before.iter().zip(later).all(|(before, later)| rise(*before, *later))
}

/// Whether a figure may be no less than the one before it, by the digits that are printed.
fn rise(before: Option<Figure>, later: Option<Figure>) -> bool {
    before.zip(later).is_none_or(|(before, later)| before.low <= later.high)
}

/// Whether the later output's run began before the earlier output was printed: by `job_start`, else by the time that passed
/// between the two, in which another run would not have had the room.
fn began_once(before: &Fio, later: &Fio) -> bool {
    let told = |fio: &Fio| fio.jobs.iter().map(|job| job.began_ms).collect::<Option<Vec<_>>>();
    if told(before).is_some() && told(before) == told(later) {
        return true;
    }
    let Some((passed, open)) = passed_ms(before, later) else { return false };
    let runtime = longest_ms(later);
    let rise = runtime - longest_ms(before);
    let no_room = passed + open < runtime;
    // The first two of a short interval: seconds alone leave it open, the runtime went on with the clock.
    let together = rise >= RISE_MS && (passed - rise).abs() <= open;
    passed >= 0.0 && (no_room || together)
}

/// Milliseconds from one output to the other, and how far off they may be.
fn passed_ms(before: &Fio, later: &Fio) -> Option<(f64, f64)> {
    let fine = |fio: &Fio| fio.jobs.iter().filter_map(|job| job.printed_ms).max();
    if let (Some(before), Some(later)) = (fine(before), fine(later)) {
        return Some((later as f64 - before as f64, FINE_MS));
    }
    let coarse = |fio: &Fio| fio.jobs.iter().filter_map(|job| seconds(job.ended.as_deref()?)).max();
    Some(((coarse(later)? - coarse(before)?) as f64 * 1e3, COARSE_MS))
}

/// Milliseconds of the way that ran longest.
fn longest_ms(fio: &Fio) -> f64 {
    let ways = fio.jobs.iter().flat_map(|job| &job.directions);
    ways.filter_map(|way| way.runtime_ms).map(|figure| figure.value).fold(0.0, f64::max)
}

/// Seconds since 1970 of `Mon Nov 23 21:26:25 2026`, by the clock of the machine.
fn seconds(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_whitespace().skip(1);
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)?;
    let day: i64 = words.next().and_then(|day| day.parse().ok()).filter(|day| (1..=31).contains(day))?;
    let mut clock =
        words.next()?.split(':').map(|part| part.parse::<i64>().ok().filter(|n| (0..=60).contains(n)));
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let year: i64 = words.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let before = year - 1;
    let leap_days = |year: i64| year / 4 - year / 100 + year / 400;
    let past = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334][month];
    let days =
        (year - 1970) * 365 + leap_days(before) - leap_days(1969) + past + i64::from(leap && month > 1) + day
            - 1;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::scan;
    use crate::page::Page;

    /// fio 3.33, of our own: `fio --name=st --filename=... --rw=randread --bs=4k --iodepth=8 --ioengine=libaio --runtime=3
    /// --time_based --status-interval=1`.
    const TEXT: &str = include_str!("../../../fixtures/fio/status-interval.txt");
    /// The same of writes with `--output-format=json`.
    const JSON: &str = include_str!("../../../fixtures/fio/status-interval.json");

    fn marks(text: &str) -> Vec<bool> {
        superseded(&scan(&Page::new("p", text)).outputs)
    }

    #[test]
    fn only_the_last_that_a_run_prints_is_its_result() {
        for text in [TEXT, JSON] {
            assert_eq!(marks(text), [true, true, true, false]);
        }
        assert_eq!(marks(&format!("{TEXT}\n{JSON}")), [true, true, true, false, true, true, true, false]);
    }

    /// Output of a run of `ms` milliseconds that ended at a second of a minute.
    fn text(pid: u32, second: u32, ms: u32, ios: u32) -> String {
        format!(
            "st: (groupid=0, jobs=1): err= 0: pid={pid}: Mon Nov 23 21:26:{second:02} 2026\n  read: IOPS=10.0k, BW=39.1MiB/s (41.0MB/s)(391MiB/{ms}msec)\n     issued rwts: total={ios},0,0,0 short=0,0,0,0 dropped=0,0,0,0\n\nRun status group 0 (all jobs):\n   READ: bw=39.1MiB/s (41.0MB/s), 39.1MiB/s-39.1MiB/s (41.0MB/s-41.0MB/s), io=391MiB (410MB), run={ms}-{ms}msec\n\n"
        )
    }

    #[test]
    fn runs_one_behind_the_other_are_none_of_one_run() {
        let pair = |first: String, second: String| marks(&format!("{first}{second}"));
        assert_eq!(pair(text(7, 10, 10_000, 100), text(7, 21, 10_001, 101)), [false, false], "repeats");
        assert_eq!(pair(text(7, 10, 10_000, 100), text(7, 11, 11_000, 110)), [true, false]);
        assert_eq!(pair(text(7, 10, 10_000, 100), text(8, 11, 11_000, 110)), [false, false], "another pid");
        assert_eq!(pair(text(7, 10, 10_000, 100), text(7, 11, 11_000, 90)), [false, false], "fewer I/Os");
        assert_eq!(pair(text(7, 10, 1000, 100), text(7, 11, 1001, 101)), [false, false], "short repeats");
        assert_eq!(
            pair(text(7, 10, 10_000, 100), text(7, 10, 10_000, 100)),
            [true, false],
            "ended on the tick"
        );
        let named = |pid| format!("fio-3.33\nStarting 1 process\n{}", text(pid, 11, 11_000, 110));
        assert_eq!(pair(text(7, 10, 10_000, 100), named(7)), [false, false], "begun anew");
        let undated = text(7, 10, 10_000, 100).replace(": Mon Nov 23 21:26:10 2026", "");
        assert_eq!(pair(undated.clone(), undated), [false, false], "no time is told");
    }

    #[test]
    fn runs_of_json_are_told_apart_by_when_they_began() {
        let json = |began: &str, printed: u64, ms: u64| {
            format!(
                r#"{{ "fio version" : "fio-3.38", "timestamp_ms" : {printed}, "jobs" : [ {{ "jobname" : "a", "groupid" : 0{began}, "read" : {{ "io_bytes" : {ms}, "bw_bytes" : 4096, "iops" : 1.0, "runtime" : {ms}, "total_ios" : {ms} }} }} ] }}
"#
            )
        };
        let (first, next) = (r#", "job_start" : 5000"#, r#", "job_start" : 6001"#);
        for (before, later, goes_on) in [
            (json(first, 6000, 1000), json(first, 7000, 2000), true),
            (json(first, 6000, 1000), json(next, 7001, 1000), false),
            (json("", 6000, 1000), json("", 7010, 1001), false),
            (json("", 6000, 1000), json("", 7001, 2001), true),
        ] {
            assert_eq!(marks(&format!("{before}{later}")), [goes_on, false], "{before}{later}");
        }
    }

    #[test]
    fn a_time_is_read_as_fio_prints_it() {
        assert_eq!(seconds("Thu Jan  1 00:00:00 1970"), Some(0));
        assert_eq!(seconds("Mon Nov 23 21:26:25 2026"), Some(1_795_469_185));
        assert_eq!(seconds("Thu Feb 29 12:00:00 2024"), Some(1_709_208_000));
        assert_eq!(seconds("Mon Foo 23 21:26:25 2026"), None);
        assert_eq!(seconds(""), None);
    }
}
