//! Outcome of a slice: its part in the statistics, and its record.

use super::serving::ServedApart;
use super::together::CommonSliceParts;
use super::traffic::PlaceReadings;
use super::{network_peer, together};
use anyhow::Result;
use iotax_facts::array::ArrayState;
use iotax_load::{Histogram, SliceResult};
use iotax_model::record::{
    Better, CpuTimes, Purpose, QuiesceGate, RunRecord, SampleValue, Slice, SliceSample,
};
use iotax_probe::Exchange;
use iotax_stats::rounds::RoundPart;

use super::visit_workers::Bench;

/// What a slice measured, with all readings taken around it.
pub struct SliceOutcome {
    /// Result as the worker reports it.
    pub result: SliceResult,
    /// Exchange that a network probe saw at the same time.
    pub(super) exchange: Option<Exchange>,
    pub(super) together: Option<CommonSliceParts>,
    pub(super) cpu: Option<CpuTimes>,
    pub(super) host_cpu: Option<CpuTimes>,
    pub(super) other_cpu: Option<CpuTimes>,
    /// CPU time, in nanoseconds, of the threads that serve the stack's I/O.
    pub(super) engine_ns: Option<f64>,
    /// CPU time, in nanoseconds, of all threads that work for the stack, by their own clocks: the
    /// generator's, the kernel's and those of programs.
    pub(super) threads_ns: Option<f64>,
    /// Readings of the devices below the load, before and after the slice.
    pub(super) devices: PlaceReadings,
    pub(super) gate: Option<QuiesceGate>,
    pub(super) run_again: u32,
    /// Number of short slices of a series that are summed up here; 0 for a single slice.
    pub(super) short_slices: u32,
}

/// Position of a slice in the record.
#[derive(Clone, Copy, Debug)]
pub struct SlicePosition {
    pub round: u32,
    pub position: usize,
    pub purpose: Purpose,
}

impl SliceOutcome {
    /// Makes one outcome of all slices of a stack in a series, with the CPU time of the threads
    /// that served it.
    pub(super) fn of_series(
        result: SliceResult,
        cpu: Option<CpuTimes>,
        computed: ServedApart,
        short_slices: u32,
    ) -> SliceOutcome {
        let kernel_ns = cpu.and_then(|cpu| cpu.kernel_threads_ns);
        let threads_ns = kernel_ns.zip(computed.programs_ns).map(|(kernel_ns, programs_ns)| {
            (kernel_ns + result.cpu_user_ns + result.cpu_system_ns) as f64 + programs_ns
        });
        SliceOutcome {
            result,
            exchange: None,
            together: None,
            cpu,
            // The kernel reports no kinds of a thread's time that are as exact as their sum.
            host_cpu: computed
                .guest_ns
                .map(|ns| CpuTimes { user_ns: ns as u64, ..CpuTimes::default() }),
            other_cpu: None,
            engine_ns: computed.engine_ns,
            threads_ns,
            devices: PlaceReadings::default(),
            gate: None,
            run_again: 0,
            short_slices,
        }
    }

    /// Returns the slice's part in a comparison of throughput: I/Os or, if `by_bytes`, bytes, and
    /// the seconds of the window. `stack` is the index in the scenario.
    pub fn part(&self, stack: usize, by_bytes: bool) -> RoundPart {
        let all = self.result.directions();
        let amount: u64 = all.iter().map(|one| if by_bytes { one.bytes } else { one.ios }).sum();
        RoundPart { stack, amount: amount as f64, seconds: self.result.window_ns as f64 / 1e9 }
    }

    /// Returns the bytes read, the bytes written, and the seconds of the window.
    pub fn by_direction(&self) -> [f64; 3] {
        let SliceResult { read, write, window_ns, .. } = &self.result;
        [read.bytes as f64, write.bytes as f64, *window_ns as f64 / 1e9]
    }

    /// Returns the slice's part in a comparison of mean latencies: I/Os, and the sum of their
    /// latencies in seconds.
    pub fn latency_part(&self, stack: usize) -> RoundPart {
        let sum =
            |latency: &Histogram| latency.mean().map_or(0.0, |mean| mean * latency.count() as f64);
        let latencies = self.result.directions().map(|one| &one.latency);
        let (count, ns): (u64, f64) = (
            latencies.iter().map(|latency| latency.count()).sum(),
            latencies.iter().map(|latency| sum(latency)).sum(),
        );
        RoundPart { stack, amount: count as f64, seconds: ns / 1e9 }
    }

    /// Returns the seconds of the flush after the slice; 0 if there was none.
    pub fn flush_s(&self) -> f64 {
        self.result.flush_ns.unwrap_or(0) as f64 / 1e9
    }

    pub fn rate(&self) -> f64 {
        let part = self.part(0, false);
        part.amount / part.seconds.max(f64::MIN_POSITIVE)
    }
}

impl Bench<'_> {
    pub(super) fn store_slice(
        &mut self,
        worker: usize,
        done: &SliceOutcome,
        spot: SlicePosition,
        state: Option<&ArrayState>,
    ) -> Result<()> {
        let ready = self.ready[worker].clone();
        // Windows of several places are in the host's time already.
        let clock_offset_ns = match ready.members.as_slice() {
            [member] => self.places.get(&member.place)?.clock_offset_ns,
            _ => 0,
        };
        let mut samples = self.samples(&done.result)?;
        samples.extend(done.engine_ns.map(|ns| duration("engine.cpu", ns)));
        samples.extend(done.threads_ns.map(|ns| duration("threads.cpu", ns)));
        samples.extend(done.exchange.iter().flat_map(network_peer::samples));
        let mut parts =
            done.together.as_ref().map(|together| together.parts.clone()).unwrap_or_default();
        let latencies = done.together.iter().flat_map(|together| &together.latencies);
        for (part, latency) in parts.iter_mut().zip(latencies) {
            part.latency = Some(self.store.histogram(latency)?);
        }
        let result = &done.result;
        let slice = Slice {
            visit: self.visit,
            set: self.set,
            round: spot.round,
            slice: spot.position as u32,
            purpose: spot.purpose,
            stack: ready.stack,
            workload: self.workload.name.clone(),
            short_slices: done.short_slices,
            start_ns: result.window_start_ns.saturating_add_signed(-clock_offset_ns),
            clock_offset_ns,
            window_ns: result.window_ns,
            discarded_ns: result.discarded_ns,
            discarded_ios: result.discarded_ios,
            drain_ns: result.drain_ns,
            errors: result.errors,
            samples,
            cpu: done.cpu,
            host_cpu: done.host_cpu,
            other_cpu: done.other_cpu,
            state: state.map(ToString::to_string),
            rebuilt: state.and_then(ArrayState::rebuilt_fraction),
            device_read_bytes: None,
            gate: done.gate,
            targets: together::on_targets(&done.result),
            together: done.together.as_ref().map(|together| together.share),
            late: done.together.as_ref().and_then(CommonSliceParts::late_share),
            run_again: done.run_again,
            parts,
        };
        Ok(self.store.append(&RunRecord::Slice(slice))?)
    }

    /// Stores the histograms of a load's result, and returns all of its samples.
    fn samples(&mut self, result: &SliceResult) -> Result<Vec<SliceSample>> {
        let mut samples = Vec::new();
        for (name, direction) in
            [("read", &result.read), ("write", &result.write), ("trim", &result.trim)]
        {
            if direction.ios == 0 {
                continue;
            }
            let of = |what: &str, unit, amount: u64| {
                let value = SampleValue::Value(amount as f64);
                SliceSample::new(&format!("{name}.{what}"), unit, Better::Higher, value)
            };
            samples.push(of("ios", "1", direction.ios));
            samples.push(of("bytes", "B", direction.bytes));
            samples.push(self.latencies(&format!("{name}.latency"), &direction.latency)?);
        }
        for (name, histogram) in [
            ("sync.latency", &result.sync_latency),
            ("reap_gap", &result.reap_gap),
            ("service.latency", &result.service),
        ] {
            if histogram.count() > 0 {
                samples.push(self.latencies(name, histogram)?);
            }
        }
        if result.in_flight_ns > 0 {
            // Both are sums over I/Os: one by the queue's own count, one by each I/O's time.
            let in_flight = SampleValue::Value(result.in_flight_ns as f64);
            samples.push(SliceSample::new("in_flight", "ns", Better::Higher, in_flight));
            samples.push(duration("served", result.served_ns as f64));
        }
        samples.extend(result.flush_ns.map(|flush_ns| duration("flush", flush_ns as f64)));
        samples.push(duration("cpu.user", result.cpu_user_ns as f64));
        samples.push(duration("cpu.system", result.cpu_system_ns as f64));
        Ok(samples)
    }

    /// Stores a histogram, and returns the sample that refers to it.
    fn latencies(&mut self, name: &str, histogram: &Histogram) -> Result<SliceSample> {
        let at = self.store.histogram(histogram)?;
        Ok(SliceSample::new(name, "ns", Better::Lower, SampleValue::Histogram(at)))
    }
}

/// Returns a sample in nanoseconds, of which less is better.
fn duration(name: &str, ns: f64) -> SliceSample {
    SliceSample::new(name, "ns", Better::Lower, SampleValue::Value(ns))
}
