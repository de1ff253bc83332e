//! Records the I/O that block devices complete while a stack is loaded, for comparison with the I/O
//! that its load issued. I/O that is lost below the load (a hole, a cache) or added there
//! (readahead, parity) shows as a difference. This module only records; the analysis draws the
//! conclusions.

use super::places::Places;
use super::session::Session;
use super::under_load::{LoadedMember, StackUnderLoad};
use super::visit_workers::Bench;
use anyhow::Result;

use iotax_facts::place::Place;
use iotax_load::SliceResult;
use iotax_model::record::{
    DeviceReading, DeviceTraffic, IssuedIo, PlaceTraffic, RunRecord, UNWRITTEN,
};
use iotax_units::exit::Failed;
use iotax_units::show_bytes;
use iotax_wire::message::{Response, WireRequest};
use iotax_wire::peer::QUICK_LIMIT;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Readings of each place before and after one slice; the places of the load come first.
pub(super) type PlaceReadings = Vec<(Place, [DeviceReading; 2])>;

#[derive(Default)]
pub struct Traffic {
    loads: BTreeMap<usize, StackSums>,
    /// The last reading of each place; an idle interval lasts from it to the first reading of the
    /// next slice.
    last: BTreeMap<Place, DeviceReading>,
    /// The I/O between slices, which comes from other programs.
    idle: BTreeMap<Place, DeviceReading>,
}

#[derive(Default)]
struct StackSums {
    issued: IssuedIo,
    slices: u32,
    /// Places in the order in which they were first read.
    places: Vec<PlaceSums>,
}

struct PlaceSums {
    place: Place,
    seen: DeviceReading,
    exceeded: u32,
}

/// Ratio of bytes completed to bytes issued. Above it, a slice contains I/O of other programs, or
/// I/O that a layer adds.
const CLEARLY_MORE: f64 = 1.05;

impl Traffic {
    pub(super) fn add(&mut self, worker: usize, result: &SliceResult, readings: &PlaceReadings) {
        let load = self.loads.entry(worker).or_default();
        let issued = issued_io(result);
        load.issued.add(&issued);
        load.slices += 1;
        for (place, [from, to]) in readings {
            if let Some(last) = self.last.insert(place.clone(), to.clone()) {
                self.idle
                    .entry(place.clone())
                    .or_default()
                    .add_reading(&from.difference_since(&last));
            }
            let seen = to.difference_since(from);
            let exceeded = u32::from(exceeds_issued(&seen, &issued));
            match load.places.iter_mut().find(|known| known.place == *place) {
                Some(known) => {
                    known.seen.add_reading(&seen);
                    known.exceeded += exceeded;
                }
                None => load.places.push(PlaceSums { place: place.clone(), seen, exceeded }),
            }
        }
    }

    /// Excludes the time until the next slice from the idle intervals, because it contains I/O of
    /// iotax itself.
    pub(super) fn interrupt(&mut self) {
        self.last.clear();
    }

    fn take_loads(&mut self) -> impl Iterator<Item = (usize, IssuedIo, Vec<PlaceTraffic>)> {
        let idle = std::mem::take(&mut self.idle);
        self.last.clear();
        std::mem::take(&mut self.loads).into_iter().map(move |(worker, load)| {
            let places = load.places.into_iter().filter(|one| !one.seen.devices.is_empty());
            let places = places.map(|PlaceSums { place, seen, exceeded }| PlaceTraffic {
                idle: idle.get(&place).cloned().unwrap_or_default(),
                place,
                seen,
                slices: load.slices,
                exceeded,
            });
            (worker, load.issued, places.collect())
        })
    }
}

fn exceeds_issued(seen: &DeviceReading, issued: &IssuedIo) -> bool {
    let lowest = seen.devices.iter().filter(|device| device.lowest);
    // The agent of another machine may report any count, so the sum is a float.
    let bytes: f64 =
        lowest.map(|device| device.read_bytes as f64 + device.write_bytes as f64).sum();
    bytes > CLEARLY_MORE * (issued.read_bytes + issued.write_bytes) as f64
}

/// Estimates the reads and writes of a whole slice, as the devices saw those outside the window,
/// too: the window's counts, scaled up by the discarded I/Os or, for fio, which reports none, by
/// the discarded time (its drain is left out).
fn issued_io(result: &SliceResult) -> IssuedIo {
    let in_window: u64 = result.directions().iter().map(|one| one.ios).sum();
    let whole = match (result.discarded_ios, result.discarded_ns) {
        // fio does not report its I/O before the window, so it is estimated.
        (0, 1..) => 1.0 + result.discarded_ns as f64 / result.window_ns.max(1) as f64,
        (ios, _) => 1.0 + ios as f64 / in_window.max(1) as f64,
    };
    let scaled = |count: u64| (count as f64 * whole).round() as u64;
    IssuedIo {
        reads: scaled(result.read.ios),
        read_bytes: scaled(result.read.bytes),
        writes: scaled(result.write.ios),
        write_bytes: scaled(result.write.bytes),
    }
}

impl Bench<'_> {
    /// Pairs the device readings that came with a slice with the places of a worker's load.
    pub(super) fn readings_of_load(
        &self,
        worker: usize,
        devices: Vec<[DeviceReading; 2]>,
    ) -> impl Iterator<Item = (Place, [DeviceReading; 2])> {
        let places: Vec<Place> = self.members(worker).map(|member| member.place.clone()).collect();
        places.into_iter().zip(devices)
    }

    /// Reads the counters of the devices below the media of a stack, in places where none of its
    /// load runs.
    pub(super) fn read_below(&mut self, worker: usize) -> Result<Vec<(Place, DeviceReading)>> {
        if self.workload.jobs.is_empty() || self.workload.probe.is_some() {
            return Ok(Vec::new());
        }
        let mut readings = Vec::new();
        for (place, paths) in media_below(&self.ready[worker]) {
            if !self.places.is_reached(&place) || self.places.is_lost(&place) {
                continue;
            }
            let reached = self.places.get(&place)?;
            match reached.send_request(WireRequest::DeviceCounts { paths }, QUICK_LIMIT)? {
                Response::DeviceCounts(reading) => readings.push((place, reading)),
                other => {
                    return Err(
                        Failed::from(reached.peer.unexpected("device_counts", &other)).into()
                    );
                }
            }
        }
        Ok(readings)
    }

    /// Records what the devices have counted for each stack since the load was prepared.
    pub(super) fn record_traffic(&mut self) -> Result<()> {
        for (worker, issued, places) in self.traffic.take_loads().collect::<Vec<_>>() {
            if places.is_empty() {
                continue;
            }
            self.store.append(&RunRecord::DeviceTraffic(DeviceTraffic {
                visit: self.visit,
                set: self.set,
                stack: self.ready[worker].stack.clone(),
                workload: self.workload.name.clone(),
                issued,
                places,
            }))?;
        }
        Ok(())
    }
}

fn media_below(ready: &StackUnderLoad) -> Vec<(Place, Vec<PathBuf>)> {
    ready.media.iter().filter(|(place, _)| !ready.is_in(place)).cloned().collect()
}

impl Session<'_> {
    /// Warns of files below a stack, or under its load, that have holes or unwritten extents in the
    /// region of the load: reads there reach no disk.
    pub(super) fn warn_of_unwritten(
        &mut self,
        places: &mut Places,
        all: &[StackUnderLoad],
        region: u64,
    ) -> Result<()> {
        let mut stacks_on: BTreeMap<(Place, PathBuf), Vec<&str>> = BTreeMap::new();
        for ready in all {
            let targets = |member: &LoadedMember| {
                member.targets.iter().map(|target| target.path.clone()).collect()
            };
            let loaded = ready.members.iter().map(|member| (member.place.clone(), targets(member)));
            let files: BTreeSet<(Place, PathBuf)> = loaded
                .chain(ready.media.iter().cloned())
                .flat_map(|(place, paths): (Place, Vec<PathBuf>)| {
                    paths.into_iter().map(move |path| (place.clone(), path))
                })
                .collect();
            files
                .into_iter()
                .for_each(|file| stacks_on.entry(file).or_default().push(&ready.stack));
        }
        for ((place, path), stacks) in stacks_on {
            if !places.is_reached(&place) || places.is_lost(&place) {
                continue;
            }
            let request = WireRequest::UnwrittenBytes { path: path.clone(), end: region };
            let answer = places.get(&place)?.send_request(request, QUICK_LIMIT)?;
            if let Response::UnwrittenBytes { bytes: Some(bytes @ 1..) } = answer {
                let on = if place.is_host() { String::new() } else { format!(" on {place}") };
                let text = format!(
                    "{} of {}{on} are holes or unwritten extents: reads there reach no disk",
                    show_bytes(bytes),
                    path.display()
                );
                self.warn(UNWRITTEN, &stacks.join(", "), text)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_model::record::DeviceCounts;

    fn reading(at_ns: u64, reads: u64) -> DeviceReading {
        let device = DeviceCounts {
            device: "vda".into(),
            lowest: true,
            reads,
            read_bytes: reads * 4096,
            ..Default::default()
        };
        DeviceReading { at_ns, devices: vec![device] }
    }

    fn slice(ios: u64, discarded_ios: u64) -> SliceResult {
        let mut result = SliceResult { discarded_ios, ..SliceResult::default() };
        (result.read.ios, result.read.bytes) = (ios, ios * 4096);
        result
    }

    #[test]
    fn slices_add_up_and_what_passes_between_them_is_idle() {
        let mut traffic = Traffic::default();
        let on_host = |from: DeviceReading, to: DeviceReading| vec![(Place::Host, [from, to])];
        traffic.add(0, &slice(80, 20), &on_host(reading(0, 1000), reading(100, 1100)));
        traffic.add(1, &slice(50, 0), &on_host(reading(110, 1107), reading(200, 1147)));
        traffic.add(0, &slice(100, 0), &on_host(reading(230, 1150), reading(300, 1250)));
        let all: Vec<_> = traffic.take_loads().collect();
        let [(0, file, places), (1, other, _)] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((file.reads, file.read_bytes, other.reads), (200, 200 * 4096, 50));
        let [place] = places.as_slice() else { panic!("{places:?}") };
        assert_eq!((place.seen.at_ns, place.seen.devices[0].reads), (170, 200));
        assert_eq!((place.slices, place.exceeded), (2, 0));
        assert_eq!((place.idle.at_ns, place.idle.devices[0].reads), (40, 10), "both gaps");
        assert_eq!(traffic.take_loads().count(), 0, "each is written down once");
        traffic.add(0, &slice(100, 0), &on_host(reading(0, 0), reading(1, 106)));
        traffic.add(0, &slice(100, 0), &on_host(reading(2, 106), reading(3, 210)));
        let (.., places) = traffic.take_loads().next().unwrap();
        assert_eq!((places[0].slices, places[0].exceeded), (2, 1));
    }
}
