//! What the load generator itself has in a stack's figures: its CPU time, how often it looked at its queue, whether its latencies
//! and its counts agree. A figure of a stack is one of the stack as long as these are small.

use super::findings::{GeneratorReport, Latency};
use super::gather::{RoundTotal, Side};
use super::reading::Reading;
use super::rows;
use crate::stats::quantile::Batches;

/// Beyond this a report says that latencies and counts contradict each other.
pub const LITTLES_LAW: f64 = 0.02;

/// Of a stack.
pub fn report(reading: &Reading, at: usize) -> GeneratorReport {
    let side = &reading.sides[at];
    let threads = reading.threads(at);
    let [user_share, kernel_share] = shares(side, threads).map_or([None; 2], |shares| shares.map(Some));
    GeneratorReport {
        cpu_user: rows::figure(reading, at, "ns", |round| Some((round.all_ios, round.cpu_user_ns?))),
        cpu_kernel: rows::figure(reading, at, "ns", |round| Some((round.all_ios, round.cpu_kernel_ns?))),
        threads,
        user_share,
        kernel_share,
        reap_gap: some("reap_gap", &side.reap_gap),
        service: service(side),
        in_flight: in_flight(side),
        littles_law_error: littles_law_error(side),
        littles_law_ends: ends(side),
    }
}

/// From issue to end, where latencies begin at a schedule.
pub fn service(side: &Side) -> Option<Latency> {
    some("service", &side.service)
}

fn some(name: &'static str, batches: &Batches) -> Option<Latency> {
    (batches.count() > 0).then(|| rows::latency(name, batches))
}

/// In user mode and in the kernel, of each thread's time.
pub fn shares(side: &Side, threads: f64) -> Option<[f64; 2]> {
    let usage = &side.usage;
    let all_ns = usage.thread_ns * threads;
    (all_ns > 0.0).then(|| [usage.user_ns / all_ns, (usage.generator_ns - usage.user_ns) / all_ns])
}

fn in_flight(side: &Side) -> Option<f64> {
    let usage = &side.usage;
    (usage.in_flight_windows_ns > 0.0).then(|| usage.in_flight_ns / usage.in_flight_windows_ns)
}

/// By how much service times and counts differ.
fn littles_law_error(side: &Side) -> Option<f64> {
    let usage = &side.usage;
    (usage.in_flight_ns > 0.0).then(|| usage.served_ns / usage.in_flight_ns - 1.0)
}

/// An I/O that began before the window counts with all of its time where it ends, and one that ends behind the window not at all:
/// at most a mean service time of those in flight at each end.
fn ends(side: &Side) -> Option<f64> {
    let usage = &side.usage;
    let sum = |of: fn(&RoundTotal) -> f64| side.rounds.values().map(of).sum::<f64>();
    let (ios, windows_s) = (sum(|round| round.ios), sum(|round| round.window_s));
    // Little's law itself: so long was an I/O in flight, by the queue's count.
    let mean_s = in_flight(side)? * windows_s / ios;
    let window_s = usage.in_flight_windows_ns / 1e9 / usage.slices();
    (ios > 0.0 && window_s > 0.0).then(|| mean_s / window_s)
}

/// Whether latencies and counts contradict each other beyond what the ends of the windows can make of them.
pub fn contradicts_itself(found: &GeneratorReport) -> Option<f64> {
    let error = found.littles_law_error?;
    (error.abs() > LITTLES_LAW + found.littles_law_ends.unwrap_or(0.0)).then_some(error)
}
