//! Bounds by the network between the two ends of a layer: every I/O crosses it once at least, reads one way, writes the other.

use super::{By, Case, Efficiency, Held, Need, reads_of};
use crate::findings::{Figure, SampleUnit};
use iotax_hardware::{Link, rate_text};
use iotax_model::record::Place;
use iotax_model::scenario::{LayerSpec, Stack};
use iotax_store::RunData;

impl Case<'_> {
    /// Against what the slowest card on its way carries; `None` where nothing leaves a machine, or no card tells its speed.
    pub(super) fn networked(&self) -> Option<Efficiency> {
        let link = slowest(self.reading.run, self.stack())?;
        let [low, high] = [link.rate().practical.low, link.rate().practical.high].map(rate_text);
        let found = self.finding(By::Network { network: link.name() }, |case, _, job| {
            let reads = reads_of(job);
            let bound = link.rate().most / (reads.max(1.0 - reads) * job.bs as f64);
            let could = Figure::bare(bound, "1/s", (1, SampleUnit::Links), "a link has no interval");
            Ok(Held {
                need: Need::default(),
                could: case.in_unit(could, job),
                share: case.share_of(bound),
                of_all: None,
                also: Some(format!("{}: {low} to {high} in practice", link.name())),
                scatter: 1.0,
            })
        });
        found.could.value().is_some().then_some(found)
    }
}

fn slowest(run: &RunData, stack: &Stack) -> Option<Link> {
    let crossed = stack.layers_in_places().filter_map(|(layer, near)| {
        let far = layer.far.clone().filter(|far| *far != near)?;
        Some([near, far].into_iter().filter_map(move |place| card(run, &place, layer)))
    });
    crossed.flatten().min_by(|one, other| one.rate().most.total_cmp(&other.rate().most))
}

/// The card by which a place reaches the address of a layer, or has it. What emulates cards tells speeds that nothing has.
fn card(run: &RunData, place: &Place, layer: &LayerSpec) -> Option<Link> {
    let address = layer.option("address")?;
    let facts = &run.places.iter().rfind(|known| known.place == *place)?.facts;
    if facts.cpu.under_hypervisor != Some(false) {
        return None;
    }
    let network = facts.network_of(address)?;
    Link::of_card(network.infiniband, network.megabits?)
}
