//! Lets stacks take turns in a series. Stacks that are loaded in one place run one after the other.
//! Stacks in several places run by the clock: each place gets the times at which its slices begin,
//! in its own clock.

use super::places::{Places, ReachedPlace};
use super::together::{self, WATCHED_EVERY, join_thread};
use anyhow::{Context, Result};
use iotax_facts::place::Place;
use iotax_load::{SeriesResult, SeriesSpec, ShortSlice};
use iotax_units::exit::Failed;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Largest share of overlapping slices, as one in this many. Above it, the pauses between slices
/// are twice as long from then on.
pub(super) const OVERLAPS_ONE_IN: usize = 50;
/// Longest pause, as a multiple of the length of a slice. A place that is later than that is not
/// late but without a processor.
const MOST_PAUSE_OF_SLICE: u64 = 2;

/// Runs series of stacks in turn, and remembers how long the pause between two slices must be.
#[derive(Debug, Default)]
pub struct ClockTurns {
    pause_ns: u64,
    /// Number of slices in several places since the last query, and of those whose window began
    /// while the previous slice still ran.
    overlaps: (usize, usize),
}

/// A place with the numbers of its workers, and the positions of their slices in the order of all.
struct PlaceShare<'a> {
    place: &'a Place,
    workers: Vec<usize>,
    positions: Vec<usize>,
}

impl ClockTurns {
    /// Runs a series; `of_workers` has the place of each worker. Slices are reported in this host's
    /// time; each second `under_way` gets the time so far.
    ///
    /// # Errors
    /// When a place is lost or refuses.
    pub(super) fn run_in_turn(
        &mut self,
        places: &mut Places,
        of_workers: &[Place],
        spec: &SeriesSpec,
        under_way: &mut dyn FnMut(Duration),
    ) -> Result<SeriesResult> {
        let shares = shares(of_workers, spec);
        let all: Vec<&Place> = shares.iter().map(|share| share.place).collect();
        let mut reached = places.get_several(&all)?;
        if let ([share], [place]) = (shares.as_slice(), reached.as_mut_slice()) {
            let workers: Vec<u32> = share.workers.iter().map(|worker| *worker as u32).collect();
            let mut result = place.peer.series(&workers, spec, under_way).map_err(Failed::from)?;
            let offset_ns = place.clock_offset_ns;
            result.slices.iter_mut().for_each(|slice| *slice = in_time_of_host(*slice, offset_ns));
            return Ok(result);
        }
        let mut unsure_ns = 0;
        for place in &mut reached {
            let clock = place.peer.clock_offset_now().map_err(Failed::from)?;
            place.clock_offset_ns = clock.offset_ns;
            unsure_ns = unsure_ns.max(clock.round_trip_ns / 2);
        }
        let on_this_host = all.iter().filter(|place| !place.is_ssh()).count();
        let lead_ns =
            together::lead_ns(reached.len(), together::turns(on_this_host), 2 * unsure_ns);
        let begins_ns = slice_begins(
            spec,
            iotax_load::clock::monotonic_ns() + lead_ns,
            self.pause_ns + unsure_ns,
        );
        let answers = ask_all(&mut reached, &shares, spec, &begins_ns, under_way)?;
        let offsets: Vec<i64> = reached.iter().map(|place| place.clock_offset_ns).collect();
        let result = merge_shares(&shares, answers, &offsets, spec)
            .context("a place answered with other slices")?;
        self.learn(&result.slices, spec);
        Ok(result)
    }

    /// Counts the slices that were still running when the window of the next began, and lengthens
    /// the pause if there are too many.
    fn learn(&mut self, slices: &[ShortSlice], spec: &SeriesSpec) {
        let runs_into = |pair: &&[ShortSlice]| {
            let window_ns = pair[1].start_ns + spec.lengths[pair[1].worker].discard_ns;
            pair[0].worker != pair[1].worker && pair[0].start_ns + pair[0].took_ns > window_ns
        };
        let overlaps = slices.windows(2).filter(runs_into).count();
        self.overlaps = (self.overlaps.0 + slices.len(), self.overlaps.1 + overlaps);
        if overlaps * OVERLAPS_ONE_IN > slices.len() {
            let slice_ns =
                spec.lengths.iter().map(|length| length.discard_ns + length.window_ns).max();
            let slice_ns = slice_ns.unwrap_or(0);
            let discard_ns = spec.lengths.iter().map(|length| length.discard_ns).max().unwrap_or(0);
            self.pause_ns = (2 * self.pause_ns).clamp(discard_ns, MOST_PAUSE_OF_SLICE * slice_ns);
        }
    }

    /// Returns the number of slices in several places since the last call, and the number of those
    /// whose window began while the previous slice still ran.
    pub(super) fn take_overlaps(&mut self) -> (usize, usize) {
        std::mem::take(&mut self.overlaps)
    }
}

fn shares<'a>(of_workers: &'a [Place], spec: &SeriesSpec) -> Vec<PlaceShare<'a>> {
    let mut shares: Vec<PlaceShare> = Vec::new();
    for (worker, place) in of_workers.iter().enumerate() {
        let positions =
            spec.order.iter().enumerate().filter(|(_, of)| **of == worker).map(|(at, _)| at);
        match shares.iter_mut().find(|share| share.place == place) {
            Some(share) => {
                share.workers.push(worker);
                share.positions.extend(positions);
            }
            None => shares.push(PlaceShare {
                place,
                workers: vec![worker],
                positions: positions.collect(),
            }),
        }
    }
    shares.iter_mut().for_each(|share| share.positions.sort_unstable());
    shares
}

/// Returns the time at which each slice begins, in this host's time. A slice has a discarded start,
/// the window, as long again as the start until the queue is empty, and a pause.
fn slice_begins(spec: &SeriesSpec, first_ns: u64, pause_ns: u64) -> Vec<u64> {
    let mut next_ns = first_ns;
    let begin = |worker: &usize| {
        let length = spec.lengths[*worker];
        let begin_ns = next_ns;
        next_ns += 2 * length.discard_ns + length.window_ns + pause_ns;
        begin_ns
    };
    spec.order.iter().map(begin).collect()
}

fn ask_all(
    reached: &mut [&mut ReachedPlace],
    shares: &[PlaceShare],
    spec: &SeriesSpec,
    begins_ns: &[u64],
    under_way: &mut dyn FnMut(Duration),
) -> Result<Vec<SeriesResult>> {
    let began = Instant::now();
    let answers = std::thread::scope(|scope| {
        let (ended, answered) = channel::<()>();
        let asked: Vec<_> = reached
            .iter_mut()
            .zip(shares)
            .map(|(place, share)| {
                let ended = ended.clone();
                scope.spawn(move || {
                    let _until_answered = ended;
                    let workers: Vec<u32> =
                        share.workers.iter().map(|worker| *worker as u32).collect();
                    let spec = share.local_spec(spec, begins_ns, place.clock_offset_ns);
                    place.peer.series(&workers, &spec, &mut |_| ())
                })
            })
            .collect();
        drop(ended);
        while answered.recv_timeout(WATCHED_EVERY) == Err(RecvTimeoutError::Timeout) {
            under_way(began.elapsed());
        }
        asked.into_iter().map(join_thread).collect::<Vec<_>>()
    });
    let answers: Result<Vec<_>, _> = answers.into_iter().collect();
    Ok(answers.map_err(Failed::from)?)
}

impl PlaceShare<'_> {
    /// Returns the part of a series that this place runs, with times in the place's clock.
    fn local_spec(&self, spec: &SeriesSpec, begins_ns: &[u64], offset_ns: i64) -> SeriesSpec {
        let local = |at: &usize| self.workers.iter().position(|worker| *worker == spec.order[*at]);
        SeriesSpec {
            order: self.positions.iter().filter_map(local).collect(),
            lengths: self.workers.iter().map(|worker| spec.lengths[*worker]).collect(),
            begins_ns: self
                .positions
                .iter()
                .map(|at| begins_ns[*at].saturating_add_signed(offset_ns))
                .collect(),
            bin_ns: spec.bin_ns,
            flush: spec.flush,
        }
    }
}

/// Merges the results of all places into one series, with its slices in this host's time. `None` if
/// a place answered with a worker that it does not have.
fn merge_shares(
    shares: &[PlaceShare],
    answers: Vec<SeriesResult>,
    offsets_ns: &[i64],
    spec: &SeriesSpec,
) -> Option<SeriesResult> {
    let workers = spec.lengths.len();
    let mut all = SeriesResult {
        slices: vec![ShortSlice::default(); spec.order.len()],
        sums: vec![Default::default(); workers],
        transients: vec![Default::default(); workers],
        machine: vec![None; workers],
    };
    for ((share, answer), offset_ns) in shares.iter().zip(answers).zip(offsets_ns) {
        for (at, slice) in share.positions.iter().zip(&answer.slices) {
            let worker = *share.workers.get(slice.worker)?;
            all.slices[*at] = ShortSlice { worker, ..in_time_of_host(*slice, *offset_ns) };
        }
        let parts = answer.sums.into_iter().zip(answer.transients).zip(answer.machine);
        for (worker, ((sum, transient), machine)) in share.workers.iter().zip(parts) {
            (all.sums[*worker], all.transients[*worker], all.machine[*worker]) =
                (sum, transient, machine);
        }
    }
    Some(all)
}

fn in_time_of_host(slice: ShortSlice, clock_offset_ns: i64) -> ShortSlice {
    ShortSlice { start_ns: slice.start_ns.saturating_add_signed(-clock_offset_ns), ..slice }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_load::ShortLength;

    fn series(order: Vec<usize>) -> SeriesSpec {
        let lengths = vec![ShortLength { discard_ns: 100, window_ns: 1000 }; 3];
        SeriesSpec { order, lengths, begins_ns: vec![], bin_ns: 50, flush: false }
    }

    #[test]
    fn places_get_their_slices_at_their_times_and_the_series_is_whole_again() {
        let spec = series(vec![0, 1, 2, 2, 1, 0]);
        let of_workers = [Place::Host, "vm1".into(), Place::Host];
        let shares = shares(&of_workers, &spec);
        let begins_ns = slice_begins(&spec, 5000, 300);
        assert_eq!(begins_ns, [5000, 6500, 8000, 9500, 11_000, 12_500]);
        let [host, guest] =
            [&shares[0], &shares[1]].map(|share| share.local_spec(&spec, &begins_ns, -4000));
        assert_eq!((host.order, host.begins_ns), (vec![0, 1, 1, 0], vec![1000, 4000, 5500, 8500]));
        assert_eq!((guest.order, guest.begins_ns), (vec![0, 0], vec![2500, 7000]));
        let did = |order: &[usize], start_ns: u64| {
            let slice = |(at, worker): (usize, &usize)| ShortSlice {
                worker: *worker,
                start_ns: start_ns + at as u64,
                ..ShortSlice::default()
            };
            let workers = order.iter().max().unwrap() + 1;
            SeriesResult {
                slices: order.iter().enumerate().map(slice).collect(),
                sums: vec![Default::default(); workers],
                transients: vec![Default::default(); workers],
                machine: (0..workers as u64).map(|of| Some([start_ns + of; 6])).collect(),
            }
        };
        let all =
            merge_shares(&shares, vec![did(&[0, 1, 1, 0], 10), did(&[0, 0], 70)], &[0, -30], &spec)
                .unwrap();
        let told: Vec<_> = all.slices.iter().map(|slice| (slice.worker, slice.start_ns)).collect();
        assert_eq!(told, [(0, 10), (1, 100), (2, 11), (2, 12), (1, 101), (0, 13)]);
        assert_eq!(all.machine, [Some([10; 6]), Some([70; 6]), Some([11; 6])]);
    }

    #[test]
    fn pauses_grow_while_slices_run_into_each_other() {
        let spec = series(vec![0, 1]);
        let slice = |worker, start_ns| ShortSlice {
            worker,
            start_ns,
            took_ns: 1100,
            ..ShortSlice::default()
        };
        let mut turns = ClockTurns::default();
        turns.learn(&[slice(0, 0), slice(1, 1050)], &spec);
        assert_eq!(
            (turns.pause_ns, turns.take_overlaps()),
            (0, (2, 0)),
            "the next one's window had not begun"
        );
        let late = [slice(0, 200), slice(1, 1050)];
        turns.learn(&late, &spec);
        assert_eq!((turns.pause_ns, turns.take_overlaps()), (100, (2, 1)));
        (0..9).for_each(|_| turns.learn(&late, &spec));
        assert_eq!(turns.pause_ns, 2 * 1100);
        assert_eq!(turns.take_overlaps(), (18, 9));
    }
}
