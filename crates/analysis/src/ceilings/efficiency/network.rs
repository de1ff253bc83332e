//! Bounds by the network between the two ends of a layer. Every I/O crosses it at least once, reads
//! in one direction, writes in the other. The bound is what a probe carried between the same places
//! in the same run, or else what the cards carry.

use super::{Efficiency, EfficiencyCase, FigureOrigin, LoadNeed, ReachedBound, reads_of};
use crate::compare::rows;
use crate::findings::{Charges, Interval, MeasuredFigure, SampleUnit};
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::IoDirection;
use crate::gather::subject::Quantity;
use iotax_hardware::{HardwareLink, rate_text};
use iotax_load::Job;
use iotax_model::record::Place;
use iotax_model::stack::{LayerSpec, Medium, Stack};
use iotax_probe::ProbeSpec;
use iotax_stats::Digits;
use iotax_stats::round::three_digits;
use iotax_store::RunData;

impl EfficiencyCase<'_> {
    /// Compares the stack with what the slowest card on its path carries; `None` if nothing leaves
    /// a machine, or if no card reports its speed.
    pub(super) fn network_efficiency(&self) -> Option<Efficiency> {
        let link = slowest(self.reading.run, self.stack())?;
        let [low, high] = [link.rate().practical.low, link.rate().practical.high].map(rate_text);
        let found = self.finding(FigureOrigin::Network { network: link.name() }, |case, _, job| {
            let reads = reads_of(job);
            let bound = link.rate().most / (reads.max(1.0 - reads) * job.bs as f64);
            let could = MeasuredFigure::bare(
                bound,
                "1/s",
                (1, SampleUnit::Links),
                "a link has no interval",
            );
            Ok(ReachedBound {
                need: LoadNeed::default(),
                could: case.in_unit(could, job),
                share: case.share_of(bound),
                of_all: None,
                also: Some(format!("{}: {low} to {high} in practice", link.name())),
                scatter: 1.0,
            })
        });
        found.could.value().is_some().then_some(found)
    }

    /// Compares the stack with what a probe carried between the two ends of its layer; `None` if
    /// that was not measured in this run.
    pub(super) fn measured_link_efficiency(&self) -> Option<Efficiency> {
        let stacks = &self.reading.run.start.scenario.stacks;
        let crossed = CrossedNetwork::of_stack(stacks, self.stack())?;
        // Data that is read arrives at the far end.
        let comes_in = stacks[crossed.net].medium.place() == crossed.far;
        let reads = self.reading.workload.jobs.first().is_none_or(|job| reads_of(job) >= 0.5);
        let (_, probe) = self.carried(&crossed, reads == comes_in)?;
        let by = FigureOrigin::MeasuredLink {
            probe: probe.to_string(),
            between: format!("{} and {}", crossed.near, crossed.far),
            streams: probe.numjobs,
        };
        let found =
            self.finding(by, |case, _, job| case.against_measured_link(&crossed, comes_in, job));
        found.could.value().is_some().then_some(found)
    }

    fn against_measured_link(
        &self,
        crossed: &CrossedNetwork,
        comes_in: bool,
        job: &Job,
    ) -> Result<ReachedBound, String> {
        let reads = reads_of(job);
        let ways = [(reads, comes_in), (1.0 - reads, !comes_in)]
            .into_iter()
            .filter(|(share, _)| *share > 0.0);
        let bounds = ways.map(|(share, receives)| {
            let carried = self.carried(crossed, receives);
            let (carried, _) = carried.ok_or("it was measured in the other direction only")?;
            Ok(carried.map("1/s", |bytes| bytes / (share * job.bs as f64)))
        });
        let bounds = bounds.collect::<Result<Vec<MeasuredFigure>, String>>()?;
        let lowest = |one: &MeasuredFigure, other: &MeasuredFigure| {
            one.value().partial_cmp(&other.value()).unwrap_or(std::cmp::Ordering::Equal)
        };
        let bound = bounds.into_iter().min_by(lowest).ok_or("nothing crosses it")?;
        Ok(ReachedBound {
            need: LoadNeed::default(),
            share: unpaired_share(self.share_of(1.0), &bound),
            could: self.in_unit(bound, job),
            of_all: None,
            also: None,
            scatter: 1.0,
        })
    }

    /// Returns the most bytes per second that a probe carried to the place where it runs if it
    /// `receives`, else from there. `None` if this was not measured.
    fn carried(
        &self,
        crossed: &CrossedNetwork,
        receives: bool,
    ) -> Option<(MeasuredFigure, ProbeSpec)> {
        let of = |reading: &'_ WorkloadView<'_>| {
            let probe = reading.workload.probe.clone()?;
            let way = way_of_data(&probe, receives)?;
            let quantity = Quantity::Acknowledged;
            let rate = rows::stack_rate(reading, crossed.net, "B/s", quantity, way);
            rate.value().map(|_| (rate, probe))
        };
        let all = self.readings.iter().filter_map(of);
        all.max_by(|(one, _), (other, _)| {
            one.value().unwrap_or(0.0).total_cmp(&other.value().unwrap_or(0.0))
        })
    }
}

/// Returns the direction in which a probe of the network counts data that arrives here, or there;
/// `Some(None)` if all that it counts is of that direction. `None` if it counts none of that
/// direction, or does not measure what the network carries.
fn way_of_data(probe: &ProbeSpec, receives: bool) -> Option<Option<IoDirection>> {
    let test = probe.argument.as_deref().unwrap_or_default();
    match (probe.name.as_str(), test) {
        ("tcp", _) if receives => Some(Some(IoDirection::Read)),
        ("tcp", _) => Some(Some(IoDirection::Write)),
        // Tools count one direction as reads, whichever it is, and the way back as writes.
        ("iperf3", "reverse") => receives.then_some(None),
        ("iperf3", "tcp") => (!receives).then_some(None),
        ("perftest", "ib_read_bw") => receives.then_some(None),
        ("perftest", "ib_write_bw") => (!receives).then_some(None),
        ("iperf3", "bidir") if receives => Some(Some(IoDirection::Write)),
        ("iperf3", "bidir") => Some(Some(IoDirection::Read)),
        _ => None,
    }
}

/// Returns a sentence for each stack that crosses a network: the latency that it adds, in round
/// trips of that network. Empty unless the workload is one job with one I/O in flight.
pub fn trips(readings: &[WorkloadView], at: usize, charges: &[Charges]) -> Vec<String> {
    let scenario = &readings[at].run.start.scenario;
    let [job] = readings[at].workload.jobs.as_slice() else { return Vec::new() };
    if !job.fio_options.is_empty() {
        return Vec::new();
    }
    let of_one = |one: &Charges| {
        let named = |name: &String| scenario.stacks.iter().find(|stack| stack.name == *name);
        let CrossedNetwork { net, near, far } =
            CrossedNetwork::of_stack(&scenario.stacks, named(&one.stack)?)?;
        // A stack that crosses a network itself does not measure it.
        crossed_layers(named(&one.against)?).next().is_none().then_some(())?;
        let is_rr = |reading: &&WorkloadView| {
            reading.workload.probe.as_ref().is_some_and(|probe| probe.name == "rr")
        };
        let trip = rows::mean_time(readings.iter().find(is_rr)?, net);
        let (added, ns) =
            (one.latency.difference.value().filter(|added| *added > 0.0)?, trip.value()?);
        let words = |value, figure: &MeasuredFigure| {
            Digits::for_value(value, figure.bounds(), "ns").to_words()
        };
        Some(format!(
            "{}: {} more mean latency than {}: {} times a round trip of the network between {near} and {far} ({})",
            one.stack,
            words(added, &one.latency.difference),
            one.against,
            three_digits(added / ns),
            words(ns, &trip)
        ))
    };
    let is_shallow = job.iodepth * job.numjobs == 1;
    charges.iter().filter(|_| is_shallow).filter_map(of_one).collect()
}

/// The network that a stack crosses, measured as a stack of its own.
struct CrossedNetwork {
    /// Index of the network among the stacks.
    net: usize,
    /// Place where the drive is.
    near: Place,
    /// Place where it is used.
    far: Place,
}

impl CrossedNetwork {
    /// Returns the network that a stack crosses; `None` unless exactly one layer of it does.
    fn of_stack(stacks: &[Stack], stack: &Stack) -> Option<CrossedNetwork> {
        let mut crossed = crossed_layers(stack);
        let (layer, near, far) = crossed.next().filter(|_| crossed.next().is_none())?;
        let net = stacks.iter().position(|one| is_between(&one.medium, [&near, &far], layer))?;
        Some(CrossedNetwork { net, near, far })
    }
}

/// Returns the ratio of figures whose rounds are not paired: its bounds are as far apart as the
/// ends of both intervals allow.
fn unpaired_share(one: MeasuredFigure, bound: &MeasuredFigure) -> MeasuredFigure {
    let (Some(most), interval) = (bound.value(), one.bounds().zip(bound.bounds())) else {
        return bound.clone();
    };
    let share = one.map("1", |rate| rate / most);
    let interval = match interval {
        Some(((low, high), (least, most))) => Interval::from_bounds(low / most, high / least),
        None => {
            Interval::Missing { missing: "the stack or the network has no interval".to_owned() }
        }
    };
    share.with_interval(Some(&interval))
}

/// Returns the sentence: `file | nvmf: network between host and ssh:b: 1.10 GiB/s (tcp, 4 streams);
/// this stack reaches 93.1 %`
pub(super) fn network_words(
    who: &str,
    [probe, between]: [&str; 2],
    streams: u32,
    found: &Efficiency,
) -> String {
    let MeasuredFigure::Known { value, unit, .. } = &found.could else { return String::new() };
    let could = Digits::for_value(*value, found.could.bounds(), unit).to_words();
    let counted = if *unit == "1/s" { " I/Os a second" } else { "" };
    let streams = iotax_units::count_noun(u64::from(streams), "stream", "streams");
    let share = found
        .share
        .value()
        .map(|share| Digits::format_share(share, found.share.bounds()).to_words());
    let share = share.unwrap_or_else(|| "an unknown share".to_owned());
    format!(
        "{who}: network between {between}: {could}{counted} ({probe}, {streams}); this stack reaches {share}"
    )
}

/// Returns true if a medium is the network between these places. If both the medium and the layer
/// name an address, these must be equal.
fn is_between(medium: &Medium, ends: [&Place; 2], layer: &LayerSpec) -> bool {
    let Medium::Net { place, to, address, .. } = medium else { return false };
    let of_layer = layer.option("address");
    let is_same =
        address.is_none_or(|address| of_layer.is_none_or(|text| text.parse() == Ok(address)));
    is_same && (ends == [place, to] || ends == [to, place])
}

/// Returns the layers whose two ends are in different places, each with these: where the drive is,
/// and where it is used. Clients of one export have an item each.
fn crossed_layers(stack: &Stack) -> impl Iterator<Item = (&LayerSpec, Place, Place)> {
    stack.layers_in_places().flat_map(|(layer, near)| {
        let fars = layer.far.iter().filter(|far| **far != near).cloned().collect::<Vec<_>>();
        fars.into_iter().map(move |far| (layer, near.clone(), far))
    })
}

fn slowest(run: &RunData, stack: &Stack) -> Option<HardwareLink> {
    let cards = crossed_layers(stack).flat_map(|(layer, near, far)| {
        // Several clients share the target's card, and have one each.
        let ends = if layer.far.len() > 1 { vec![near] } else { vec![near, far] };
        ends.into_iter().filter_map(move |place| card(run, &place, layer))
    });
    cards.min_by(|one, other| one.rate().most.total_cmp(&other.rate().most))
}

/// Returns the card by which a place reaches the address of a layer, or the card that has it.
/// `None` if the machine may be a virtual one: emulated cards report speeds that do not exist.
fn card(run: &RunData, place: &Place, layer: &LayerSpec) -> Option<HardwareLink> {
    let address = layer.option("address")?;
    let facts = &run.places.iter().rfind(|known| known.place == *place)?.facts;
    if facts.cpu.under_hypervisor != Some(false) {
        return None;
    }
    let network = facts.network_of(address)?;
    HardwareLink::of_card(network.infiniband, network.megabits?)
}
