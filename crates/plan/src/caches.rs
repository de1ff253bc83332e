//! The write caches that are known on the paths of a scenario before anything is measured. A
//! verdict on steady writes needs more data written than the largest cache holds.

use iotax_facts::place::Place;
use iotax_host::caches::{WriteCache, page_cache};
use iotax_host::facts;
use iotax_host::probe::Probe;
use iotax_layers::{OwnCache, layer_of};
use iotax_model::layer::ceph::held_back;
use iotax_model::scenario::{Scenario, bdev};
use iotax_model::stack::{Medium, Stack};

/// Returns the known write caches, the largest first; none if nothing writes. Caches of other hosts
/// and drives are not known unless the user names them.
pub fn known_write_caches(scenario: &Scenario, probe: &Probe) -> Vec<WriteCache> {
    if !scenario.writes() {
        return Vec::new();
    }
    let named = scenario.measure.write_cache;
    let named = named.map(|bytes| WriteCache {
        name: "write_cache, as given".into(),
        bytes,
        stacks: Vec::new(),
    });
    let mut stacks = Vec::new();
    let (mut inside, mut memory) = (Vec::new(), 0);
    for stack in &scenario.stacks {
        if on_this_host(scenario, stack) {
            stacks.push(stack.name.clone());
        }
        if let Some(bytes) = in_guest(scenario, stack) {
            inside.push(stack.name.clone());
            memory = memory.max(bytes);
        }
    }
    let here = page_cache(probe)
        .filter(|_| !stacks.is_empty())
        .map(|cache| WriteCache { stacks, ..cache });
    let guests = WriteCache { name: "the memory of a guest".into(), bytes: memory, stacks: inside };
    let guests = Some(guests).filter(|cache| !cache.stacks.is_empty());
    let mut all: Vec<WriteCache> = [named, here, guests].into_iter().flatten().collect();
    all.extend(of_layers(scenario, probe));
    all.sort_by_key(|cache| std::cmp::Reverse(cache.bytes));
    all
}

/// Returns the write caches that layers have, each with the stacks whose flushes empty it. Of
/// layers on other machines, only what the scenario says is known.
fn of_layers(scenario: &Scenario, probe: &Probe) -> Vec<WriteCache> {
    let mut all: Vec<WriteCache> = Vec::new();
    for stack in &scenario.stacks {
        let machine = (stack.medium.place().is_host()).then_some(probe);
        let each = smallest_member(scenario, &stack.medium, probe);
        let caches =
            stack.layers.iter().filter_map(|spec| layer_of(spec)?.write_cache(spec, each, machine));
        for OwnCache { cache, flushed } in caches.chain(of_image(stack)) {
            let at = all.iter().position(|known| known.name == cache.name).unwrap_or(all.len());
            if at == all.len() {
                all.push(cache.clone());
            }
            all[at].bytes = all[at].bytes.max(cache.bytes);
            all[at].stacks.extend(flushed.then(|| stack.name.clone()));
        }
    }
    all
}

/// Returns the cache of the client of a Ceph image, which depends on its cache mode. A flush
/// empties it.
fn of_image(stack: &Stack) -> Option<OwnCache> {
    let on_image = |at: &usize| bdev::ends_in_image(&stack.medium, &stack.layers[..*at]);
    let at = (0..stack.layers.len()).find(on_image)?;
    let client = layer_of(&stack.layers[at])?;
    let bytes = held_back(&stack.layers[..at]);
    let name = "librbd's cache (rbd_cache_max_dirty)".to_owned();
    let cache = WriteCache { name, bytes, stacks: Vec::new() };
    (bytes > 0 && client.caches_writes(&stack.layers[at]))
        .then_some(OwnCache { cache, flushed: true })
}

/// Returns the bytes of the smallest member of a medium; `None`: the size of a member is known only
/// in its place.
fn smallest_member(scenario: &Scenario, medium: &Medium, probe: &Probe) -> Option<u64> {
    let bytes = |member: &Medium| match member {
        Medium::Device { path } => {
            let chain = facts::device_chain(probe, path);
            chain.first().and_then(|name| facts::device_facts(probe, name).bytes)
        }
        Medium::File { size, .. } | Medium::Remote { size, .. } => *size,
        Medium::Drive { place, .. } => scenario.labs.get(place).map(|lab| lab.drive_size),
        Medium::Cpu { .. }
        | Medium::Net { .. }
        | Medium::Rbd { .. }
        | Medium::VhostUser { .. }
        | Medium::Many { .. } => None,
    };
    let all = medium.members().iter().map(bytes).collect::<Option<Vec<u64>>>()?;
    all.into_iter().min()
}

/// Returns true if writes of a stack are acknowledged from this host's page cache.
fn on_this_host(scenario: &Scenario, stack: &Stack) -> bool {
    let load = buffered(scenario)
        && stack.medium.places().contains(&Place::Host)
        && guest_memory(stack).is_none();
    let caches = |at: usize| {
        let spec = &stack.layers[at];
        // No kernel caches a device that no kernel has.
        let on_kernel = !bdev::ends_in_one(&stack.medium, &stack.layers[..at]);
        on_kernel && layer_of(spec).is_some_and(|layer| layer.caches_writes(spec))
    };
    load || (0..stack.layers.len()).any(caches)
}

/// Returns the memory of the guest in bytes, which its page cache cannot exceed, if the load in the
/// guest writes without O_DIRECT.
fn in_guest(scenario: &Scenario, stack: &Stack) -> Option<u64> {
    guest_memory(stack).filter(|_| buffered(scenario))
}

/// Returns the memory of the guest in which the load runs, in bytes.
fn guest_memory(stack: &Stack) -> Option<u64> {
    stack.guest()?.option_bytes("memory")
}

fn buffered(scenario: &Scenario) -> bool {
    let mut jobs = scenario.workloads.iter().flat_map(|workload| &workload.jobs);
    jobs.any(|job| job.rw.writes_data() && !job.direct)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::made_up::server;
    use iotax_model::scenario::check::{ScenarioRequest, from_stacks};

    const MEMORY: &str = "MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n";
    /// A fifth of the memory.
    const LIMIT: u64 = 107_374_182;

    /// Returns the sizes of the known caches of `FILE | layers` with these options.
    fn sizes(layers: &str, words: &[(&str, &str)], write_cache: Option<&str>) -> Vec<u64> {
        let machine = server();
        machine.put(&[("/proc/meminfo", MEMORY), ("/proc/sys/vm/dirty_ratio", "20\n")]);
        let words =
            words.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let measure = write_cache.map(|size| ("write_cache".to_owned(), size.to_owned()));
        let request = ScenarioRequest {
            words,
            measure: measure.into_iter().collect(),
            ..ScenarioRequest::default()
        };
        let scenario =
            from_stacks(&[format!("file:/srv/x.img,size=1GiB{layers}")], &request).unwrap();
        known_write_caches(&scenario, &machine.probe).iter().map(|cache| cache.bytes).collect()
    }

    #[test]
    fn the_page_cache_counts_where_something_writes_into_it() {
        let writes: &[(&str, &str)] = &[("rw", "randwrite")];
        let buffered: &[(&str, &str)] = &[("rw", "randwrite"), ("direct", "0")];
        for (layers, words, expected) in [
            ("", writes, vec![]),
            ("", buffered, vec![LIMIT]),
            ("", &[("rw", "randread"), ("direct", "0")], vec![]),
            (" | loop", writes, vec![]),
            (" | loop | zfs", writes, vec![(1 << 30) / 10]),
            (" | loop | zfs(sync=always)", writes, vec![]),
            (" | loop(direct-io=false)", writes, vec![LIMIT]),
            (" | vm(cache=none)", writes, vec![]),
            (" | vm(cache=directsync)", writes, vec![]),
            (" | vm(cache=writethrough)", writes, vec![]),
            (" | vm(cache=writeback)", writes, vec![LIMIT]),
            (" | vm(cache=unsafe)", writes, vec![LIMIT]),
            // Buffered writes in a guest stay in its own memory.
            (" | vm(memory=1GiB)", buffered, vec![1 << 30]),
            (" | vm(cache=writeback,memory=128MiB)", buffered, vec![128 << 20, LIMIT]),
        ] {
            assert_eq!(sizes(layers, words, None), expected, "{layers} {words:?}");
        }
    }

    #[test]
    fn a_cache_above_the_flush_names_the_stacks_that_write_into_it() {
        let machine = server();
        machine.put(&[("/proc/meminfo", MEMORY), ("/proc/sys/vm/dirty_ratio", "20\n")]);
        let words = vec![("rw".to_owned(), "write".to_owned())];
        let measure = vec![("write_cache".to_owned(), "1GiB".to_owned())];
        let request = ScenarioRequest { words, measure, ..ScenarioRequest::default() };
        let file = "file:/srv/x.img,size=1GiB";
        let stacks = [file.to_owned(), format!("{file} | loop(direct-io=false)")];
        let found = known_write_caches(&from_stacks(&stacks, &request).unwrap(), &machine.probe);
        let names: Vec<&[String]> = found.iter().map(|cache| cache.stacks.as_slice()).collect();
        assert_eq!(names, [&[][..], &["loop".to_owned()][..]]);
    }

    #[test]
    fn a_cache_of_lvm_that_writes_back_is_above_no_flush() {
        let machine = server();
        machine.put(&[("/proc/meminfo", MEMORY)]);
        let of = |options: &str, medium: &str| {
            let words = vec![("rw".to_owned(), "randwrite".to_owned())];
            let stack = format!("{medium} | lvm(cache{options})");
            let request = ScenarioRequest { words, ..ScenarioRequest::default() };
            let found =
                known_write_caches(&from_stacks(&[stack], &request).unwrap(), &machine.probe);
            found.into_iter().map(|cache| (cache.bytes, cache.stacks.len())).collect::<Vec<_>>()
        };
        let lab = "[nvme0,nvme1] @lab";
        let drive = iotax_model::scenario::LabSpec::default().drive_size;
        assert_eq!(of("", lab), []);
        assert_eq!(of(",cache-mode=writeback", lab), [(drive, 0)], "all of the last member");
        assert_eq!(of(",cache-mode=writeback,cache-size=64MiB", lab), [(64 << 20, 0)]);
        let here = of(",cache-mode=writeback", "[/dev/sda,/dev/sdb]");
        assert!(here.len() == 1 && here[0].0 > 512 << 20, "{here:?}");
    }

    #[test]
    fn the_cache_of_an_images_client_is_one_and_a_flush_empties_it() {
        let machine = server();
        machine.put(&[("/proc/meminfo", MEMORY)]);
        let of = |layers: &str| {
            let words = vec![("rw".to_owned(), "randwrite".to_owned())];
            let request = ScenarioRequest { words, ..ScenarioRequest::default() };
            let found = known_write_caches(
                &from_stacks(&[layers.to_owned()], &request).unwrap(),
                &machine.probe,
            );
            found.into_iter().map(|cache| (cache.bytes, cache.stacks.len())).collect::<Vec<_>>()
        };
        let ours = |policy: &str, client: &str| {
            of(&format!("[/dev/sda,/dev/sdb] | ceph(size=2,cache-policy={policy}) | {client}"))
        };
        let all = [(24 << 20, 1)];
        assert_eq!(ours("writearound", "vm(cache=writeback)"), all);
        assert_eq!(ours("writeback", "librbd(writeback)"), all);
        assert_eq!(of("rbd:p/i@/c.conf | vm(cache=writeback)"), all);
        for none in [
            ours("writeback", "vm(cache=none)"),
            ours("writethrough", "librbd(writeback)"),
            ours("writeback", "librbd"),
            ours("writeback", "krbd"),
        ] {
            assert_eq!(none, []);
        }
    }

    #[test]
    fn a_flush_that_does_nothing_empties_no_dirty_data() {
        let machine = server();
        machine.put(&[("/proc/meminfo", MEMORY)]);
        let words = vec![("rw".to_owned(), "randwrite".to_owned())];
        let stacks = ["standard", "disabled"].map(|sync| format!("/dev/sda | zfs(sync={sync})"));
        let found = known_write_caches(
            &from_stacks(&stacks, &ScenarioRequest { words, ..ScenarioRequest::default() })
                .unwrap(),
            &machine.probe,
        );
        assert_eq!(found.iter().map(|cache| cache.stacks.len()).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn what_the_user_knows_counts_by_its_size() {
        let words: &[(&str, &str)] = &[("rw", "randwrite"), ("direct", "0")];
        assert_eq!(sizes("", words, Some("32GiB")), [32 << 30, LIMIT]);
        assert_eq!(sizes("", words, Some("1MiB")), [LIMIT, 1 << 20]);
        assert_eq!(sizes("", &[("rw", "randwrite")], Some("1MiB")), [1 << 20]);
    }
}
