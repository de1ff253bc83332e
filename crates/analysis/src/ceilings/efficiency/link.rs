//! Bounds by the negotiated links between drives and memory: no payload exceeds what a link carries
//! in its largest packets.

use super::hardware::{Hardware, MatchedDrive};
use super::{Efficiency, EfficiencyCase, FigureOrigin, Layout, ReachedBound};
use crate::findings::{MeasuredFigure, SampleUnit};
use iotax_facts::machine::{Cable as Settled, PcieLink};
use iotax_hardware::{HardwareLink, Rate, rate_text};
use iotax_load::Job;

/// Link that the data of a drive cross, with its rate in one direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LinkPath {
    /// Name such as `PCIe 4.0 x4`, `SAS 12 Gb/s x2`, `PCIe 3.0 x8 of 4 drives`.
    name: String,
    rate: Rate,
    /// True if reads and writes share the rate; otherwise each has all of it.
    shared: bool,
}

impl EfficiencyCase<'_> {
    /// Compares the stack with what the links of its drives carry. `None` if the links are not
    /// known or differ, or if they give no bound for this load.
    pub(super) fn link_efficiency(&self) -> Option<Efficiency> {
        let way = narrowest(self.hardware.as_ref()?)?;
        let found = self
            .finding(FigureOrigin::Link { link: way.name.clone() }, |case, layout, job| {
                case.against_link(&way, layout, job)
            });
        found.could.value().is_some().then_some(found)
    }

    /// Returns the bound by a link. Reads go one way and writes the other: the busier way is full
    /// first, unless the link carries one way at a time.
    fn against_link(
        &self,
        way: &LinkPath,
        layout: &Layout,
        job: &Job,
    ) -> Result<ReachedBound, String> {
        let ios = |need: &super::LoadNeed| {
            let cost = need.cost();
            let ios =
                if way.shared { cost.reads + cost.writes } else { cost.reads.max(cost.writes) };
            way.rate.most / (ios * job.bs as f64)
        };
        let need = self.need(layout, job)?;
        let bound = ios(&need);
        let [low, high] = [way.rate.practical.low, way.rate.practical.high].map(rate_text);
        let also = Some(format!("{}: {low} to {high} in practice", way.name));
        let of_all = self.plain_need(layout, job).map(|plain| ios(&plain));
        let could =
            MeasuredFigure::bare(bound, "1/s", (1, SampleUnit::Links), "a link has no interval");
        Ok(ReachedBound {
            could: self.in_unit(could, job),
            share: self.share_of(bound),
            of_all: Some(of_all.map_or_else(MeasuredFigure::missing, |all| self.share_of(all))),
            need,
            also,
            scatter: 1.0,
        })
    }
}

/// Returns the slowest link of each drive, if it is the same for all drives.
fn narrowest(hardware: &Hardware) -> Option<LinkPath> {
    let mut all = hardware.drives().iter().map(|drive| link_path(hardware, drive));
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// Returns the slowest link of a drive. `None` unless the machine is known to be a physical one: an
/// emulated drive reports links that nothing crosses.
fn link_path(hardware: &Hardware, drive: &MatchedDrive) -> Option<LinkPath> {
    if drive.place.facts.cpu.under_hypervisor != Some(false) {
        return None;
    }
    let cable = drive.device.cable.as_ref().and_then(cable);
    let pcie = drive.device.pcie.as_ref().and_then(|settled| {
        let at = &settled.address;
        let shares = |other: &&MatchedDrive| {
            other.place.place == drive.place.place
                && other.device.pcie.as_ref().is_some_and(|other| other.address == *at)
        };
        pcie(settled, hardware.drives().iter().filter(shares).count())
    });
    [cable, pcie]
        .into_iter()
        .flatten()
        .min_by(|one, other| one.rate.most.total_cmp(&other.rate.most))
}

fn cable(settled: &Settled) -> Option<LinkPath> {
    let number: f64 = settled.speed.split(' ').next()?.parse().ok()?;
    // sysfs shows USB speeds in Mb/s.
    let gigabits = if settled.kind == "usb" { number / 1000.0 } else { number };
    let link = HardwareLink::of_speed(&settled.kind, gigabits).filter(|link| link.is_cable())?;
    let lanes = if settled.lanes > 1 { format!(" x{}", settled.lanes) } else { String::new() };
    let rate = link.rate().side_by_side(settled.lanes.max(1) as f64);
    Some(LinkPath { name: link.name() + &lanes, rate, shared: link.is_half_duplex() })
}

/// Returns a drive's part of a PCIe link that `drives` drives share, which is that of a controller.
fn pcie(settled: &PcieLink, drives: usize) -> Option<LinkPath> {
    let speed: f64 = settled.speed.as_ref()?.split(' ').next()?.parse().ok()?;
    let link = HardwareLink::of_speed("pcie", speed)?.lanes(u8::try_from(settled.width?).ok()?)?;
    let of = if drives > 1 { format!(" of {drives} drives") } else { String::new() };
    Some(LinkPath {
        name: link.name() + &of,
        rate: link.rate().side_by_side(1.0 / drives as f64),
        shared: false,
    })
}
