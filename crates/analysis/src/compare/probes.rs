//! Results of probes in addition to their rate: single runs of a tool, losses and CPU time of a
//! network.

use crate::compare::rows;
use crate::findings::{MeasuredFigure, NetworkRow, SampleUnit, ToolRuns};
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::{NetworkTotals, RoundTotal, SampleSums};
use iotax_model::record::{Purpose, Slice};
use iotax_probe::ProbeUnit;
use iotax_probe::tool::RunSpread;
use iotax_units::{GIB, KIB};
use std::ops::Add;

pub fn runs(reading: &WorkloadView, at: usize) -> Option<ToolRuns> {
    let unit = reading.workload.probe.as_ref().filter(|probe| probe.is_tool())?.unit().ok()?;
    let rounds = &reading.sides[at].rounds;
    let counts = |slice: &&Slice| {
        slice.purpose == Purpose::Plain && rounds.contains_key(&(slice.visit, slice.round))
    };
    let figures: Vec<f64> =
        reading.slices(at).filter(counts).map(|slice| of_run(unit, slice)).collect();
    let RunSpread { best, median, mean } = RunSpread::among_figures(unit, &figures)?;
    let unit = match unit {
        ProbeUnit::Time(_) => "ns",
        ProbeUnit::Bytes => "B/s",
        ProbeUnit::Count(_) => "1/s",
    };
    Some(ToolRuns { runs: figures.len() as u64, unit, best, median, mean })
}

fn of_run(unit: ProbeUnit, slice: &Slice) -> f64 {
    let (found, window_ns) = (SampleSums::from_slice(slice), slice.window_ns as f64);
    match unit {
        // The window is the sum of the times.
        ProbeUnit::Time(_) => window_ns / found.ios,
        ProbeUnit::Bytes => found.bytes / (window_ns / 1e9),
        ProbeUnit::Count(_) => found.ios / (window_ns / 1e9),
    }
}

/// Function that returns divisor and dividend of a round.
type OfRound<'a> = dyn Fn(&RoundTotal, NetworkTotals) -> Option<(f64, f64)> + 'a;

pub fn network(reading: &WorkloadView, at: usize) -> Option<NetworkRow> {
    let unit = reading.workload.probe_unit()?;
    let rounds = &reading.sides[at].rounds;
    if rounds.is_empty() || rounds.values().any(|round| round.exchanged.is_none()) {
        return None;
    }
    let all = rounds
        .values()
        .filter_map(|round| round.exchanged)
        .fold(NetworkTotals::default(), NetworkTotals::add);
    let is_time = matches!(unit, ProbeUnit::Time(_));
    let (by_datagram, moves_bytes) = (all.sent > 0.0, !is_time);
    let figure = |unit, of: &OfRound| {
        let of = |round: &RoundTotal| of(round, round.exchanged?);
        // A loss of 0 is a finding; a ratio with divisor 0 is not.
        let is_nothing =
            rounds.values().all(|round| of(round).is_some_and(|(_, amount)| amount == 0.0));
        match is_nothing {
            true => {
                let counted = (rounds.len() as u64, SampleUnit::Rounds);
                MeasuredFigure::bare(0.0, unit, counted, "nothing was counted in any round")
            }
            false => rows::figure_of_rounds(reading, at, unit, of),
        }
    };
    let here =
        |round: &RoundTotal, _| Some((whole_kib(round), round.cpu_user_ns? + round.cpu_kernel_ns?));
    let there = |round: &RoundTotal, seen: NetworkTotals| Some((whole_kib(round), seen.peer_ns));
    // For round trips, these are the ones that came back and the ones that did not.
    let offered = |round: &RoundTotal, seen: NetworkTotals| {
        if is_time { round.ios + seen.lost } else { seen.sent }
    };
    let found = NetworkRow {
        sent: by_datagram.then(|| figure("1/s", &|round, seen| Some((round.window_s, seen.sent)))),
        lost: (by_datagram || all.lost > 0.0)
            .then(|| figure("1", &|round, seen| Some((offered(round, seen), seen.lost)))),
        sent_again_per_gib: (moves_bytes && !by_datagram)
            .then(|| figure("1", &|round, seen| Some((round.bytes / GIB as f64, seen.sent_again)))),
        cpu_here_per_kib: moves_bytes.then(|| figure("ns", &here)),
        cpu_there_per_kib: moves_bytes.then(|| figure("ns", &there)),
    };
    (moves_bytes || found.lost.is_some()).then_some(found)
}

/// Returns the KiB that arrived in the whole slices, since CPU times are those of whole slices.
fn whole_kib(round: &RoundTotal) -> f64 {
    if round.ios > 0.0 { round.bytes / round.ios * round.all_ios / KIB as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use crate::findings::{MeasuredFigure, NetworkRow, ToolRuns};
    use crate::{findings, twin};
    use iotax_store::RunData;

    fn rows(run: &RunData, workload: usize) -> Vec<(Option<ToolRuns>, Option<NetworkRow>)> {
        let found = findings(run).workloads.remove(workload);
        found.rows.into_iter().map(|row| (row.runs, row.network)).collect()
    }

    fn value(figure: &Option<MeasuredFigure>) -> f64 {
        figure.as_ref().and_then(MeasuredFigure::value).unwrap()
    }

    #[test]
    fn single_runs_of_a_tool_have_best_median_and_mean() {
        let run = twin::networks();
        let [(Some(runs), _), _] = &rows(&run, 0)[..] else { panic!() };
        let ours = run
            .slices
            .iter()
            .filter(|one| one.stack == "host to ssh:b" && one.workload == "iperf3(tcp)");
        let mut figures: Vec<f64> =
            ours.map(|one| one.total(".bytes") / (one.window_ns as f64 / 1e9)).collect();
        figures.sort_by(f64::total_cmp);
        let mean = figures.iter().sum::<f64>() / figures.len() as f64;
        assert_eq!(
            (runs.runs, runs.unit, runs.best),
            (figures.len() as u64, "B/s", *figures.last().unwrap())
        );
        assert!(
            runs.median < runs.best && (runs.mean / mean - 1.0).abs() < 1e-9,
            "{runs:?} {mean}"
        );
        assert!(rows(&run, 1).iter().all(|(runs, _)| runs.is_none()), "udp is resident");
    }

    #[test]
    fn runs_of_rounds_that_do_not_count_are_left_out() {
        let mut run = twin::networks();
        let last = run.slices.iter().rposition(|one| one.workload == "iperf3(tcp)").unwrap();
        let round = run.slices.remove(last).round;
        let whole =
            |one: &&iotax_model::record::Slice| one.workload == "iperf3(tcp)" && one.round != round;
        let whole =
            run.slices.iter().filter(whole).filter(|one| one.stack == "host to ssh:b").count();
        let counted = rows(&run, 0).iter().map(|(runs, _)| runs.unwrap().runs).min().unwrap();
        assert_eq!(counted, whole as u64);
    }

    #[test]
    fn losses_are_shares_of_what_was_sent() {
        let [(_, Some(b)), (_, Some(c))] = &rows(&twin::networks(), 1)[..] else { panic!() };
        let lost = c.lost.clone();
        assert!((value(&lost) - 0.125).abs() < 1e-4 && c.loses().is_some(), "{lost:?}");
        assert_eq!((value(&b.lost), b.loses()), (0.0, None), "that nothing was lost is a finding");
        assert!(b.sent_again_per_gib.is_none() && value(&b.sent) > 0.0);
    }

    #[test]
    fn cpu_time_is_for_each_byte_of_the_whole_slice() {
        let [(_, Some(tcp)), _] = &rows(&twin::networks(), 0)[..] else { panic!() };
        // 6 us of the other end for each block of 4 KiB, those of the discarded start too.
        assert!((value(&tcp.cpu_there_per_kib) - 1_500.0).abs() < 1e-6, "{tcp:?}");
        assert!(value(&tcp.cpu_here_per_kib) > 0.0 && value(&tcp.sent_again_per_gib) > 0.0);
        assert!(tcp.sent.is_none() && tcp.lost.is_none());
    }

    #[test]
    fn other_probes_and_loads_have_none_of_it() {
        let mut run = twin::networks();
        run.slices
            .iter_mut()
            .for_each(|slice| slice.samples.retain(|one| !one.metric.starts_with("net.")));
        assert!(rows(&run, 1).iter().all(|(_, network)| network.is_none()));
        assert!(rows(&twin::bill(), 0).iter().all(|row| *row == (None, None)));
    }

    #[test]
    fn a_probe_has_no_queue_and_a_count_without_bytes_says_so() {
        let mut run = twin::networks();
        let row = |run: &RunData| findings(run).workloads.remove(1).rows.remove(0);
        let with_bytes = row(&run);
        assert_eq!(
            (with_bytes.generator.threads.to_string().as_str(), with_bytes.generator.depth),
            ("0", None)
        );
        assert!(with_bytes.bytes_per_s.value().is_some());
        run.slices
            .iter_mut()
            .for_each(|slice| slice.samples.retain(|one| !one.metric.ends_with(".bytes")));
        assert_eq!(row(&run).bytes_per_s, MeasuredFigure::missing("this probe counts no bytes"));
    }
}
