//! Pace of an array's rebuild under load, from the shares that the array reported after the slices.
//! The start and the end of a rebuild are not observed: the pace between two readings is known, but
//! not the duration. Older records have the shares in words, in whole percent.

use crate::findings::states::Rebuild;
use crate::gather::reading::WorkloadView;
use iotax_model::record::Slice;
use iotax_model::stack::InState;
use iotax_store::RunData;
use iotax_units::{self as units, count_noun};

/// Rounding error of a [`RebuildStretch`] in percentage points if shares are whole percent: half a
/// point at each end.
const ROUNDED: f64 = 1.0;
/// Smallest ratio of the percentage points rebuilt to their rounding error with which a pace is
/// reported.
const CLEARLY: f64 = 5.0;

/// Progress of one rebuild between two readings, in percentage points with their rounding error,
/// the seconds that it took, and how many of them were under load.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RebuildStretch {
    percent: f64,
    percent_off: f64,
    seconds: f64,
    loaded_s: f64,
}

/// Returns the rebuild of stack `at`, an array that is measured while it is rebuilt. `None` if no
/// rebuild was read twice in succession.
pub fn while_rebuilt(reading: &WorkloadView, at: usize, state: &InState) -> Option<Rebuild> {
    let all = stretches(reading.slices(at));
    let sum = |of: fn(&RebuildStretch) -> f64| all.iter().map(of).sum::<f64>();
    let (percent, seconds) = (sum(|one| one.percent), sum(|one| one.seconds));
    if all.is_empty() || seconds <= 0.0 {
        return None;
    }
    let percent_off = sum(|one| one.percent_off);
    let member_bytes = member_bytes(reading.run, reading.name(state.of));
    let is_clear = percent > 0.0 && percent >= CLEARLY * percent_off;
    let whole_s = is_clear.then(|| median(&all)).flatten();
    let bytes_per_s =
        member_bytes.filter(|_| is_clear).map(|bytes| bytes as f64 * percent / 100.0 / seconds);
    let mut found = Rebuild {
        stretches: all.len() as u64,
        loaded: sum(|one| one.loaded_s) / seconds,
        percent,
        percent_off,
        seconds,
        member_bytes,
        whole_s,
        bytes_per_s,
        sentence: String::new(),
    };
    found.sentence = format!("{}: {}", reading.name(at), found.to_sentence());
    Some(found)
}

impl Rebuild {
    /// Returns the sentence: `90 % +- 6 % of a rebuild were seen done in 36.0 s (6 stretches, 98 %
    /// of that time under this load): 2.50 % a second, ...`
    fn to_sentence(&self) -> String {
        let seen = count_noun(self.stretches, "stretch", "stretches");
        let what = format!(
            "{:.0} %{} of a rebuild were seen done in {:.1} s ({seen}, {:.0} % of that time under this load)",
            self.percent,
            if self.percent_off > 0.0 {
                format!(" +- {:.0} %", self.percent_off)
            } else {
                String::new()
            },
            self.seconds,
            100.0 * self.loaded.min(1.0)
        );
        let Some(whole_s) = self.whole_s else {
            let why = if self.percent_off > 0.0 {
                ", since shares are kept in whole percent"
            } else {
                ""
            };
            return format!("{what}: too little for a pace{why}");
        };
        let rate = self
            .bytes_per_s
            .map(|rate| format!(", {:.1} MB/s on each member that is rebuilt", rate / 1e6));
        let median = if self.stretches > 1 { " in the median" } else { "" };
        format!(
            "{what}: {:.2} % a second{}; a whole one takes about {whole_s:.0} s at this pace{median}",
            self.percent / self.seconds,
            rate.unwrap_or_default()
        )
    }
}

/// Returns the seconds that a whole rebuild takes: the median over the stretches that exceed their
/// rounding error [`CLEARLY`] times. `None` if none does.
fn median(all: &[RebuildStretch]) -> Option<f64> {
    let clear =
        all.iter().filter(|one| one.percent > 0.0 && one.percent >= CLEARLY * one.percent_off);
    let whole = units::median(clear.map(|one| 100.0 * one.seconds / one.percent));
    whole.is_finite().then_some(whole)
}

/// Returns the stretches between successive readings of a rebuild, from the slices of one stack in
/// the order of the record. A stretch ends with the visit, when the share falls, and at a slice
/// without one.
fn stretches<'a>(slices: impl Iterator<Item = &'a Slice>) -> Vec<RebuildStretch> {
    let mut all: Vec<RebuildStretch> = Vec::new();
    // Visit, percent and time of the previous look.
    let mut before: Option<(u32, f64, f64)> = None;
    let mut grows = false;
    for slice in slices {
        let exact = slice.rebuilt.map(|share| (100.0 * share, 0.0));
        let in_words = || Some((percent_in_words(slice.state.as_deref()?)?, ROUNDED));
        let Some((percent, percent_off)) = exact.or_else(in_words) else {
            before = None;
            continue;
        };
        let (begun_s, at_s) = span_s(slice);
        let same = before.filter(|(visit, last, _)| *visit == slice.visit && *last <= percent);
        if let Some((_, last, looked_s)) = same.filter(|(_, _, looked_s)| at_s > *looked_s) {
            let more = RebuildStretch {
                percent: percent - last,
                percent_off,
                seconds: at_s - looked_s,
                loaded_s: at_s - begun_s.max(looked_s),
            };
            match all.last_mut().filter(|_| grows) {
                Some(one) => one.add_stretch(more),
                None => all.push(more),
            }
        }
        grows = same.is_some();
        before = Some((slice.visit, percent, at_s));
    }
    all
}

impl RebuildStretch {
    fn add_stretch(&mut self, more: RebuildStretch) {
        self.percent += more.percent;
        self.percent_off = self.percent_off.max(more.percent_off);
        self.seconds += more.seconds;
        self.loaded_s += more.loaded_s;
    }
}

/// Parses the percentage in `rebuilding, 63 % done`.
fn percent_in_words(words: &str) -> Option<f64> {
    words.strip_prefix("rebuilding, ")?.strip_suffix(" % done")?.parse().ok()
}

/// Returns the seconds from which a slice was under load, and those at which its load, drain and
/// flush were over and the array was read.
fn span_s(slice: &Slice) -> (f64, f64) {
    let flush_ns = slice.figure("flush");
    let begun_ns = slice.start_ns.saturating_sub(slice.discarded_ns);
    let over_ns =
        (slice.start_ns + slice.window_ns + slice.drain_ns) as f64 + flush_ns.unwrap_or(0.0);
    (begun_ns as f64 / 1e9, over_ns / 1e9)
}

/// Returns the bytes that each member of a stack's md array holds, from level and size. `None` for
/// other arrays and levels: what a rebuild of them writes is not recorded.
fn member_bytes(run: &RunData, stack: &str) -> Option<u64> {
    let ours = run.layers.iter().filter(|one| one.stacks.iter().any(|name| name == stack));
    let device = ours
        .filter_map(|one| one.device.as_ref())
        .rfind(|device| device.md.contains_key("level"))?;
    let number = |key: &str| device.md.get(key)?.parse::<u64>().ok();
    let (bytes, disks) = (device.bytes?, number("raid_disks")?);
    match device.md.get("level")?.as_str() {
        "raid1" => Some(bytes),
        "raid5" => bytes.checked_div(disks.checked_sub(1)?),
        "raid6" => bytes.checked_div(disks.checked_sub(2)?),
        // The low byte has the near copies, the next one the far copies.
        "raid10" => {
            let layout = number("layout")?;
            (bytes * (layout & 0xff) * (layout >> 8 & 0xff))
                .checked_div(disks)
                .filter(|bytes| *bytes > 0)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{findings, twin};
    use iotax_facts::machine::Device;

    /// Returns a run with slices of one second, 0.8 of it load, and the share reported after each;
    /// `None`: the array left its state.
    fn run(told: &[(u32, Option<u32>)]) -> RunData {
        let mut run = twin::states();
        let name = "mdraid(level=5) rebuilding";
        let one = run.slices.iter().find(|slice| slice.stack == name).cloned().unwrap();
        let slice = |(at, (visit, share)): (usize, &(u32, Option<u32>))| Slice {
            visit: *visit,
            short_slices: 0,
            start_ns: at as u64 * 1_000_000_000 + 300_000_000,
            discarded_ns: 100_000_000,
            window_ns: 600_000_000,
            drain_ns: 100_000_000,
            state: Some(
                share.map_or("healthy".to_owned(), |share| format!("rebuilding, {share} % done")),
            ),
            samples: Vec::new(),
            ..one.clone()
        };
        run.slices.retain(|slice| slice.stack != name);
        run.slices.extend(told.iter().enumerate().map(slice));
        device(&mut run).bytes = Some(3 << 30);
        run
    }

    fn device(run: &mut RunData) -> &mut Device {
        run.layers[0].device.as_mut().unwrap()
    }

    fn rebuild(run: &RunData) -> Option<Rebuild> {
        findings(run).workloads[0].arrays[0].states[2].rebuild.clone()
    }

    #[test]
    fn the_pace_is_what_was_done_between_the_looks_at_each_rebuild() {
        let found = rebuild(&run(&[
            (0, Some(10)),
            (0, Some(20)),
            (0, Some(30)),
            (1, Some(5)),
            (1, Some(25)),
        ]))
        .unwrap();
        assert_eq!((found.stretches, found.percent, found.percent_off), (2, 40.0, 2.0));
        assert!(
            (found.seconds - 3.0).abs() < 1e-9 && (found.loaded - 0.8).abs() < 1e-9,
            "{found:?}"
        );
        // 10 s and 5 s; 40 % of 1 GiB in 3 s.
        assert!((found.whole_s.unwrap() - 7.5).abs() < 1e-6, "{found:?}");
        assert_eq!(found.member_bytes, Some(1 << 30));
        assert!((found.bytes_per_s.unwrap() / (0.4 * f64::from(1 << 30) / 3.0) - 1.0).abs() < 1e-9);
        assert!(
            found.sentence.contains(
                "40 % +- 2 % of a rebuild were seen done in 3.0 s (2 stretches, 80 % of that"
            ),
            "{found:?}"
        );
        assert!(found.sentence.contains("13.33 % a second, 143.2 MB/s"), "{}", found.sentence);
    }

    #[test]
    fn a_rebuild_that_ended_or_began_anew_is_another_one() {
        let told =
            [(0, Some(60)), (0, Some(90)), (0, None), (0, Some(95)), (0, Some(20)), (0, Some(50))];
        let found = rebuild(&run(&told)).unwrap();
        assert_eq!((found.stretches, found.percent), (2, 60.0));
    }

    #[test]
    fn what_was_not_seen_is_not_told() {
        assert_eq!(rebuild(&run(&[(0, Some(50)), (1, Some(60))])), None, "each was looked at once");
        assert_eq!(rebuild(&run(&[(0, None), (0, None)])), None);
        let little = rebuild(&run(&[(0, Some(50)), (0, Some(54))])).unwrap();
        assert_eq!((little.whole_s, little.bytes_per_s), (None, None));
        assert!(
            little
                .sentence
                .ends_with("too little for a pace, since shares are kept in whole percent")
        );
        let mut unknown = run(&[(0, Some(10)), (0, Some(30))]);
        unknown.layers.clear();
        let found = rebuild(&unknown).unwrap();
        assert!(
            found.whole_s.is_some()
                && found.bytes_per_s.is_none()
                && !found.sentence.contains("MB/s")
        );
    }

    #[test]
    fn shares_that_are_kept_as_numbers_are_exact() {
        let mut run = run(&[(0, Some(10)), (0, Some(10)), (0, Some(11))]);
        let name = "mdraid(level=5) rebuilding";
        let ours = run.slices.iter_mut().filter(|slice| slice.stack == name);
        ours.zip([0.101, 0.106, 0.113]).for_each(|(slice, share)| slice.rebuilt = Some(share));
        let found = rebuild(&run).unwrap();
        assert!((found.percent - 1.2).abs() < 1e-9 && found.percent_off == 0.0, "{found:?}");
        assert!((found.whole_s.unwrap() - 200.0 / 1.2).abs() < 1e-6, "{found:?}");
        assert!(
            found.sentence.contains(": 1 % of a rebuild were seen done in 2.0 s"),
            "{}",
            found.sentence
        );
    }

    #[test]
    fn members_are_reckoned_by_level() {
        let bytes = |level: &str, layout: &str, disks: &str| {
            let mut run = run(&[]);
            let md = &mut device(&mut run).md;
            for (key, word) in [("level", level), ("layout", layout), ("raid_disks", disks)] {
                md.insert(key.to_owned(), word.to_owned());
            }
            member_bytes(&run, "mdraid(level=5)").map(|bytes| bytes >> 20)
        };
        assert_eq!(bytes("raid1", "0", "2"), Some(3072));
        assert_eq!(bytes("raid5", "2", "4"), Some(1024));
        assert_eq!(bytes("raid6", "2", "5"), Some(1024));
        assert_eq!(bytes("raid10", "258", "6"), Some(1024));
        assert_eq!(bytes("raid5", "2", "1"), None);
        assert_eq!(bytes("raid0", "0", "4"), None);
    }
}
