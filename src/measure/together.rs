//! One slice in several places at once: all begin at one time, told to each in its own clock, and what they did becomes one
//! result, with the share of the window in which all ran.

use super::bench::Member;
use super::places::{Place, Places};
use super::wire::peer::slice_limit;
use crate::exit::Failed;
use crate::store::record::SlicePart;
use anyhow::{Context, Result};
use iotax_load::{Bound, SliceResult, SliceSpec};

/// From asking the first to the common start: the last must have heard by then.
const LEAST_LEAD_NS: u64 = 3_000_000;
/// And as long for each of them: the asking takes its time, too.
const LEAD_EACH_NS: u64 = 500_000;
/// Shorter overlaps of timed windows are no measurement of all together.
const LEAST_SHARE: f64 = 0.95;
/// So often a slice is tried, with twice the lead each time. Four were too few for 16 guests on two processors that builds used too.
pub const TRIES: u32 = 6;

/// How several places ran one slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    /// Share of the whole window in which all ran.
    pub share: f64,
    /// What each did.
    pub parts: Vec<SlicePart>,
    /// The longest time to empty a queue.
    pub drain_ns: u64,
}

/// A result with the clock of its place minus that of the host.
type Answer = (SliceResult, i64);

impl Together {
    /// Whether it is a slice of all together. One by bytes lasts until the last is through, and is one in any case.
    pub fn is_enough(&self, bound: Bound) -> bool {
        matches!(bound, Bound::Bytes { .. }) || self.share >= LEAST_SHARE
    }
}

/// Runs a slice of `worker` in all places, after a longer lead with every attempt.
///
/// # Errors
/// When a peer is lost or refuses.
pub fn slice(
    places: &mut Places,
    members: &[Member],
    worker: u32,
    spec: &SliceSpec,
    attempt: u32,
) -> Result<(SliceResult, Together)> {
    let names: Vec<&str> = members.iter().map(|member| member.place.as_str()).collect();
    let spec = &SliceSpec { bound: shared_out(spec.bound, names.len() as u64), ..*spec };
    let answers = ask_all(&mut places.several(&names)?, worker, spec, attempt)?;
    merged(&names, &answers, spec.bound).context("no places")
}

/// That so many places shared no more than this of a window, again and again.
pub fn gave_up(places: usize, share: f64) -> Failed {
    Failed::measurement(format!(
        "{places} places do not run together: they shared {:.0} % of a window at last; hint: longer slices (--slice), or fewer guests",
        100.0 * share
    ))
}

/// Each gets the whole time, and an equal part of the bytes.
fn shared_out(bound: Bound, places: u64) -> Bound {
    match bound {
        Bound::Time { .. } => bound,
        Bound::Bytes { bytes } => Bound::Bytes { bytes: bytes.div_ceil(places) },
    }
}

fn ask_all(places: &mut [&mut Place], worker: u32, spec: &SliceSpec, attempt: u32) -> Result<Vec<Answer>> {
    let mut slowest_ns = 0;
    for place in places.iter_mut() {
        // Clocks run apart; one exchange is as exact as its round trip is short.
        let clock = place.peer.clock_offset_now().map_err(Failed::from)?;
        place.clock_offset_ns = clock.offset_ns;
        slowest_ns = slowest_ns.max(clock.round_trip_ns);
    }
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let begin_ns = iotax_load::clock::now() + (lead_ns(places.len(), processors, slowest_ns) << attempt);
    let limit = slice_limit(spec.bound);
    let ask = |place: &mut Place| {
        let begin_ns = Some(begin_ns.saturating_add_signed(place.clock_offset_ns));
        let result =
            place.peer.slice(worker, &SliceSpec { begin_ns, ..*spec }, limit).map_err(Failed::from)?;
        Ok((result, place.clock_offset_ns))
    };
    std::thread::scope(|scope| {
        let asked: Vec<_> = places.iter_mut().map(|place| scope.spawn(|| ask(place))).collect();
        // A panic in asking is a bug and goes on as one.
        asked
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// Where there are more places than processors, each hears of the slice when its turn comes.
fn lead_ns(places: usize, processors: usize, slowest_ns: u64) -> u64 {
    let turns = places.div_ceil(processors) as u64;
    (LEAST_LEAD_NS + places as u64 * LEAD_EACH_NS) * turns + 2 * slowest_ns
}

/// One result of all, its window in the host's time. Timed windows are of one length and lie as good as at one time; that of
/// slices by bytes goes from the first submission to the last acknowledgement.
fn merged(names: &[&str], answers: &[Answer], bound: Bound) -> Option<(SliceResult, Together)> {
    let start = |(result, offset): &Answer| result.window_start_ns.saturating_add_signed(-offset);
    let end = |answer: &Answer| start(answer) + answer.0.window_ns;
    let (first, last) = (answers.iter().map(start).min()?, answers.iter().map(end).max()?);
    let shared = answers.iter().map(end).min()?.saturating_sub(answers.iter().map(start).max()?);
    let window_ns = match bound {
        Bound::Time { .. } => answers.first()?.0.window_ns,
        Bound::Bytes { .. } => last - first,
    };
    let mut all = SliceResult { window_start_ns: first, window_ns, ..SliceResult::default() };
    let mut flush_ns = Some(0);
    for (result, _) in answers {
        for (sum, one) in [(&mut all.read, &result.read), (&mut all.write, &result.write)] {
            sum.ios += one.ios;
            sum.bytes += one.bytes;
            sum.latency.merge(&one.latency);
        }
        all.sync_latency.merge(&result.sync_latency);
        all.discarded_ios += result.discarded_ios;
        all.discarded_ns = all.discarded_ns.max(result.discarded_ns);
        all.drain_ns = all.drain_ns.max(result.drain_ns);
        flush_ns = flush_ns.zip(result.flush_ns).map(|(all, one): (u64, u64)| all.max(one));
        all.cpu_user_ns += result.cpu_user_ns;
        all.cpu_system_ns += result.cpu_system_ns;
        all.errors += result.errors;
        all.first_error = all.first_error.or_else(|| result.first_error.clone());
    }
    all.flush_ns = flush_ns;
    let part = |(name, (result, _)): (&&str, &Answer)| SlicePart {
        place: (*name).to_owned(),
        ios: result.read.ios + result.write.ios,
        bytes: result.read.bytes + result.write.bytes,
        window_ns: result.window_ns,
    };
    let together = Together {
        share: shared as f64 / (last - first).max(1) as f64,
        parts: names.iter().zip(answers).map(part).collect(),
        drain_ns: all.drain_ns,
    };
    Some((all, together))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(start_ns: u64, window_ns: u64, ios: u64, offset: i64) -> Answer {
        let mut result = SliceResult { window_start_ns: start_ns, window_ns, ..SliceResult::default() };
        (result.read.ios, result.read.bytes, result.flush_ns) = (ios, ios * 4096, Some(ios));
        for _ in 0..ios {
            result.read.latency.record(window_ns / ios);
        }
        (result, offset)
    }

    #[test]
    fn windows_in_several_clocks_are_one() {
        let bound = Bound::Time { ns: 1000 };
        // The second place's clock is 500 ahead of the host's: both windows begin at 10,000.
        let answers = [answer(10_000, 1000, 10, 0), answer(10_500, 1000, 30, 500)];
        let (result, together) = merged(&["vm0", "vm1"], &answers, bound).unwrap();
        assert_eq!((result.window_start_ns, result.window_ns, result.read.ios), (10_000, 1000, 40));
        assert_eq!((result.read.latency.count(), result.flush_ns), (40, Some(30)));
        assert!(together.share == 1.0 && together.is_enough(bound));
        let ios: Vec<_> = together.parts.iter().map(|part| (part.place.as_str(), part.ios)).collect();
        assert_eq!(ios, [("vm0", 10), ("vm1", 30)]);
        let shifted = [answer(10_000, 1000, 10, 0), answer(10_250, 1000, 30, 0)];
        let late = merged(&["a", "b"], &shifted, bound).unwrap().1;
        assert!(late.share == 0.6 && !late.is_enough(bound) && late.is_enough(Bound::Bytes { bytes: 1 }));
        let apart = [answer(10_000, 1000, 10, 0), answer(20_000, 1000, 30, 0)];
        assert_eq!(merged(&["a", "b"], &apart, bound).unwrap().1.share, 0.0);
    }

    #[test]
    fn places_that_share_processors_are_told_earlier() {
        assert_eq!(lead_ns(4, 8, 1000), 5_002_000);
        assert_eq!(lead_ns(16, 2, 0), 8 * 11_000_000);
    }

    #[test]
    fn slices_by_bytes_last_from_the_first_to_the_last() {
        let answers = [answer(10_000, 1000, 10, 0), answer(10_100, 1900, 10, 0)];
        let (result, together) = merged(&["a", "b"], &answers, Bound::Bytes { bytes: 1 }).unwrap();
        assert_eq!((result.window_start_ns, result.window_ns), (10_000, 2000));
        assert_eq!(together.share, 0.45);
    }
}
