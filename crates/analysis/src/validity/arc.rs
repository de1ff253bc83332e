//! Caches in memory below the load that direct I/O does not bypass, such as ZFS's ARC: whether one
//! has room for all of the data, and how much more than requested a drive must read for a block.

use crate::gather::reading::WorkloadView;
use iotax_load::Job;
use iotax_model::layer::MemoryCache;
use iotax_model::stack::{LayerSpec, Stack, in_guest};
use iotax_units::show_bytes;

/// Returns the reason why reads of a stack may measure memory: a cache of one of its layers has
/// room for everything that the load reaches.
pub fn has_room(reading: &WorkloadView, at: usize) -> Option<String> {
    let stack = &reading.run.start.scenario.stacks[at];
    let reads = reading.workload.jobs.iter().any(|job| job.rw.reads());
    let keeps = |(layer, near)| Some((layer, keeps_data(layer)?, near));
    let (layer, cache, near) = stack.layers_in_places().find_map(keeps).filter(|_| reads)?;
    let worker = reading.worker(at)?;
    let place = if near == in_guest() { worker.place.clone() } else { near };
    let data = reading.job_bytes(worker.bytes) * reading.members(at) as u64;
    let (room, of_what) = match layer.option_bytes(cache.limit) {
        Some(most) => (Some(most), cache.limit.to_owned()),
        None => {
            let places = reading.run.places.iter().filter(|known| known.place == place);
            let memory = places.filter_map(|known| known.facts.memory_bytes).next_back();
            let share = match cache.usual_share {
                2 => "half".to_owned(),
                share => format!("1/{share}"),
            };
            let of_what = memory.map(|memory| format!("{share} of {}", show_bytes(memory)));
            (memory.map(|memory| memory / cache.usual_share), of_what.unwrap_or_default())
        }
    };
    let (name, hint) = (cache.name, cache.hint);
    match room {
        Some(room) if data > room => None,
        Some(room) => Some(format!(
            "the {name} of {place} has room for all of the data under test ({} in {}, {of_what}): reads may measure memory; hint: {hint}",
            show_bytes(data),
            show_bytes(room)
        )),
        None => Some(format!(
            "the {name} of {place} may have room for all of the data under test ({}; its memory is not recorded): reads may measure \
             memory; hint: {hint}",
            show_bytes(data)
        )),
    }
}

/// Returns the memory cache of a layer, if the layer's options make it keep data.
pub fn keeps_data(layer: &LayerSpec) -> Option<MemoryCache> {
    let is_kept = |cache: &MemoryCache| layer.option(cache.keeps.0) == Some(cache.keeps.1);
    layer.catalog_entry()?.memory_cache.filter(is_kept)
}

/// Returns the bytes that a drive must read for one byte of a load if nothing is cached. Some
/// layers read whole blocks; sequential reads do not read the rest of a block again.
pub fn amplification(stack: &Stack, jobs: &[Job]) -> f64 {
    let whole = |layer: &LayerSpec| Some((layer.catalog_entry()?.block?)(layer));
    let block = stack.layers.iter().filter_map(whole).max().unwrap_or(0);
    let of_job = |job: &Job| {
        let random = if job.rw.random() { f64::from(job.percentage_random) / 100.0 } else { 0.0 };
        let times = (block as f64 / job.bs as f64).max(1.0);
        random * times + 1.0 - random
    };
    // With several jobs, only the least is sure.
    jobs.iter().filter(|job| job.rw.reads()).map(of_job).reduce(f64::min).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::layer;
    use crate::{RunData, findings, twin};
    use iotax_model::record::SampleValue;

    fn told(change: impl FnOnce(&mut RunData)) -> Vec<String> {
        let mut run = twin::a_against_a();
        change(&mut run);
        let found = findings(&run).warnings.into_iter().filter(|one| one.kind == "cached");
        found.map(|one| one.text).collect()
    }

    fn on_zfs(run: &mut RunData, options: &[(&str, &str)]) {
        run.start.scenario.stacks[1].layers = vec![layer("zfs", options)];
    }

    #[test]
    fn data_that_the_arc_has_room_for_are_told() {
        let memory =
            |gib: u64| move |run: &mut RunData| run.places[0].facts.memory_bytes = Some(gib << 30);
        let with = |options: &[(&str, &str)], gib: u64| {
            told(|run| {
                on_zfs(run, options);
                memory(gib)(run);
            })
        };
        let hint = "reads may measure memory; hint: primarycache=metadata, a smaller arc-max, or more data";
        assert_eq!(
            with(&[], 16),
            [format!(
                "the ARC of host has room for all of the data under test (4 GiB in 8 GiB, half of 16 GiB): {hint}"
            )]
        );
        assert_eq!(with(&[], 6), Vec::<String>::new(), "more data than half of the memory");
        assert_eq!(with(&[("arc-max", "1GiB")], 16), Vec::<String>::new());
        assert_eq!(with(&[("primarycache", "metadata")], 16), Vec::<String>::new());
        let found = with(&[("arc-max", "5GiB")], 6);
        assert!(found[0].contains("(4 GiB in 5 GiB, arc-max)"), "{found:?}");
        let unknown = told(|run| on_zfs(run, &[]));
        assert!(unknown[0].contains("its memory is not recorded"), "{unknown:?}");
        let written = told(|run| {
            on_zfs(run, &[]);
            run.start.scenario.workloads[0].jobs[0].rw = iotax_load::Rw::RandWrite;
        });
        assert_eq!(written, Vec::<String>::new(), "nothing is read");
    }

    #[test]
    fn whole_blocks_that_a_drive_gives_hide_no_hits() {
        // A quarter of the reads came to the drive, which gave a block of four times their size
        // each.
        let told = |share: f64, options: &[(&str, &str)]| {
            told(|run| {
                on_zfs(run, options);
                let name = run.start.scenario.stacks[1].name.clone();
                for slice in run.slices.iter_mut().filter(|slice| slice.stack == name) {
                    let of = |metric: &str| {
                        let sample = slice.samples.iter().find(|one| one.metric == metric).unwrap();
                        let SampleValue::Value(value) = sample.value else { panic!("{sample:?}") };
                        value
                    };
                    let whole =
                        of("read.bytes") * (1.0 + slice.discarded_ios as f64 / of("read.ios"));
                    slice.device_read_bytes = Some((share * whole) as u64);
                }
            })
        };
        let options = [("volblocksize", "16KiB"), ("primarycache", "metadata")];
        let found = told(1.0, &options);
        assert!(
            found.len() == 1 && found[0].starts_with("only 25 % of the bytes read"),
            "{found:?}"
        );
        assert_eq!(told(4.0, &options), Vec::<String>::new());
        let own = [("volblocksize", "4KiB"), ("primarycache", "metadata")];
        assert_eq!(told(1.0, &own), Vec::<String>::new());
        assert_eq!(
            told(4.0, &[("volblocksize", "16KiB")]),
            Vec::<String>::new(),
            "the drive gave all of it"
        );
    }

    #[test]
    fn what_is_read_in_order_is_read_once() {
        let mut stack = twin::a_against_a().start.scenario.stacks[0].clone();
        stack.layers = vec![layer("zfs", &[("kind", "dataset")])];
        let job = |random: u8| Job { percentage_random: random, ..Job::default() };
        assert!((amplification(&stack, &[job(100)]) - 32.0).abs() < 1e-9);
        assert!((amplification(&stack, &[job(0)]) - 1.0).abs() < 1e-9);
        let sequential = Job { rw: iotax_load::Rw::Read, ..Job::default() };
        assert!((amplification(&stack, &[job(100), sequential]) - 1.0).abs() < 1e-9);
    }
}
