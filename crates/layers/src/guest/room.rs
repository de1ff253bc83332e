//! Checks that a machine has room for the guests of a set: memory, huge pages, NUMA nodes,
//! processors. The check comes before anything is made, since a host that swaps, or kills a guest
//! for want of memory, measures nothing.

use super::vm::GuestPlan;
use iotax_host::facts::{
    HugePages, cpu, huge_pages, memory_bytes, node_huge_pages, node_memory_bytes,
};
use iotax_host::probe::Probe;
use iotax_qemu::accel::Accel;
use iotax_qemu::disk::DiskServer;
use iotax_qemu::pin::{self, CacheGroup, Pin};
use iotax_qemu::qcow2::Qcow2;
use iotax_units::exit::Failed;
use iotax_units::{count_noun, show_bytes, show_names};
use std::collections::{BTreeMap, BTreeSet};

/// Memory and processors that a machine has for guests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Bytes that are available without swapping; `None`: not known.
    pub memory: Option<u64>,
    /// Huge pages of each size.
    pub huge_pages: Vec<HugePages>,
    pub nodes: Vec<NumaNode>,
    /// Processors that this program may use; `None`: not known.
    pub processors: Option<usize>,
    pub groups: Vec<CacheGroup>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaNode {
    pub number: u32,
    /// Most bytes that could be available on the node; `None`: not known.
    pub memory: Option<u64>,
    /// Huge pages of each size; empty: not known.
    pub huge_pages: Vec<HugePages>,
}

/// Fraction of the available memory that guests do not get.
const HOST_PART: f64 = 0.1;
/// QEMU's own memory for each guest, without tables of images: measured 60 to 90 MiB with 7.2.
const QEMU_BYTES: u64 = 96 << 20;

impl Room {
    pub fn this_machine(probe: &Probe) -> Room {
        let node = |name: &String| {
            Some(NumaNode::numbered(probe, name.strip_prefix("node")?.parse().ok()?))
        };
        Room {
            memory: memory_bytes(probe, "MemAvailable"),
            huge_pages: huge_pages(probe),
            nodes: probe.folder_names("/sys/devices/system/node").iter().filter_map(node).collect(),
            groups: pin::groups(&cpu(probe)),
            processors: std::thread::available_parallelism().ok().map(std::num::NonZero::get),
        }
    }

    /// Checks that these guests fit on the machine, all at the same time.
    ///
    /// # Errors
    /// An unmet need: memory, a NUMA node or processors that are not there; or huge pages, with the
    /// command that makes them.
    pub fn check_guests_fit(&self, guests: &[GuestPlan]) -> Result<(), Failed> {
        self.check_nodes(guests)?;
        self.check_processors(guests)?;
        self.check_huge_pages(guests)?;
        let plain = guests.iter().filter(|guest| guest.memory.huge_page.is_none());
        let tables = tables(guests);
        let wanted = plain.map(|guest| guest.memory.bytes).sum::<u64>()
            + guests.len() as u64 * QEMU_BYTES
            + tables;
        match self.memory.map(left_by_host) {
            Some(most) if wanted > most => Err(Failed::need(format!(
                "{} {} of memory with QEMU's own{}, and this host can give {}; hint: {}",
                needing(&guests.iter().collect::<Vec<_>>()),
                show_bytes(wanted),
                if tables > 0 {
                    format!(" ({} for tables of qcow2 images)", show_bytes(tables))
                } else {
                    String::new()
                },
                show_bytes(most),
                hint(wanted - most, tables)
            ))),
            _ => Ok(()),
        }
    }

    /// Returns warnings about guests that are loaded at one time and have more threads than there
    /// are processors, so that they wait for each other: of pinned guests, and of all guests.
    pub fn warnings(&self, guests: &[&GuestPlan]) -> Vec<String> {
        let crowded = |guests: &[&GuestPlan], of: &str, processors: usize| {
            let vcpus: u32 = guests.iter().map(|guest| guest.vcpus).sum();
            let serving: u32 = guests.iter().map(|guest| serving_threads(guest)).sum();
            ((vcpus + serving) as usize > processors).then(|| {
                // The analysis merges guests of several sets by what comes after the colon.
                format!(
                    "{}: overcommitted, {} and {} share {processors} {of}; lower vcpus=, or expect waiting time in \
                     the results",
                    guests_phrase(guests),
                    count_noun(vcpus.into(), "vCPU", "vCPUs"),
                    count_noun(serving.into(), "I/O thread", "I/O threads")
                )
            })
        };
        let pinned: Vec<&GuestPlan> =
            guests.iter().copied().filter(|guest| guest.pin.is_some()).collect();
        let own: BTreeSet<u32> =
            pinned.iter().flat_map(|guest| &guest.pin).flat_map(Pin::cpus).collect();
        let on_own = crowded(&pinned, "CPUs given by cpus=", own.len());
        // If all of them have processors of their own, that warning says it already.
        let is_covered = on_own.is_some() && pinned.len() == guests.len();
        let on_all =
            self.processors.filter(|_| !is_covered).and_then(|all| crowded(guests, "CPUs", all));
        on_all.into_iter().chain(on_own).collect()
    }

    fn check_nodes(&self, guests: &[GuestPlan]) -> Result<(), Failed> {
        let known = |number: u32| self.nodes.iter().any(|node| node.number == number);
        let missing = |guest: &&GuestPlan| guest.memory.node.is_some_and(|node| !known(node));
        let Some(guest) = guests.iter().find(missing) else {
            return self.nodes.iter().try_for_each(|node| node.check_bound_guests(guests));
        };
        let known = match self.nodes.as_slice() {
            [] => "; it reports none".to_owned(),
            nodes => format!(", only {}", show_names(nodes.iter().map(|node| node.number))),
        };
        Err(Failed::need(format!(
            "{}: this host has no NUMA node {}{known}",
            guest.origin,
            guest.memory.node.unwrap_or_default()
        )))
    }

    fn check_processors(&self, guests: &[GuestPlan]) -> Result<(), Failed> {
        self.check_vcpus(guests)?;
        let known: BTreeSet<u32> = self.groups.iter().flat_map(CacheGroup::cpus).collect();
        let wanted = |guest: &GuestPlan| guest.pin.iter().flat_map(Pin::cpus).collect::<Vec<u32>>();
        for guest in guests {
            if let Some(missing) = wanted(guest).into_iter().find(|cpu| !known.contains(cpu)) {
                return Err(Failed::need(format!(
                    "{}: cpus: this host has no processor {missing}, only {}",
                    guest.origin,
                    show_names(known)
                )));
            }
        }
        Ok(())
    }

    /// Refuses a guest with more vCPUs than there are processors: it waits for itself. Under TCG,
    /// whose figures say nothing of a real guest anyway, that is a warning, so that any scenario
    /// can be tried anywhere.
    fn check_vcpus(&self, guests: &[GuestPlan]) -> Result<(), Failed> {
        let Some(processors) = self.processors else { return Ok(()) };
        let too_large =
            |guest: &&GuestPlan| guest.accel == Accel::Kvm && guest.vcpus as usize > processors;
        match guests.iter().find(too_large) {
            Some(guest) => Err(Failed::need(format!(
                "{}: guest {} has {} vCPUs, and this host {}; hint: vcpus={processors} at most",
                guest.origin,
                guest.place,
                guest.vcpus,
                count_noun(processors as u64, "processor", "processors")
            ))),
            None => Ok(()),
        }
    }

    fn check_huge_pages(&self, guests: &[GuestPlan]) -> Result<(), Failed> {
        for (page, pages) in huge_pages_wanted(guests.iter()) {
            let known = self.huge_pages.iter().find(|known| known.size == page);
            let (free, total) =
                known.map_or((0, 0), |known| (available(known), known.total.unwrap_or(0)));
            if free < pages {
                let all = guests.iter().collect::<Vec<_>>();
                return Err(huge_pages_error(
                    &all,
                    page,
                    pages,
                    free,
                    total,
                    "",
                    "/sys/kernel/mm/hugepages",
                ));
            }
        }
        Ok(())
    }
}

impl NumaNode {
    /// Reads the memory of a node. The page cache there could be freed, too, except for dirty
    /// pages, so this is an upper limit.
    fn numbered(probe: &Probe, number: u32) -> NumaNode {
        let bytes = |key| node_memory_bytes(probe, number, key);
        let cached =
            ["Active(file)", "Inactive(file)", "SReclaimable"].into_iter().filter_map(bytes);
        NumaNode {
            number,
            memory: bytes("MemFree").map(|free| free + cached.sum::<u64>()),
            huge_pages: node_huge_pages(probe, number),
        }
    }

    fn check_bound_guests(&self, guests: &[GuestPlan]) -> Result<(), Failed> {
        let bound = |guest: &&GuestPlan| guest.memory.node == Some(self.number);
        let (huge, plain): (Vec<&GuestPlan>, Vec<&GuestPlan>) =
            guests.iter().filter(bound).partition(|guest| guest.memory.huge_page.is_some());
        let wanted: u64 = plain.iter().map(|guest| guest.memory.bytes).sum();
        if let Some(most) = self.memory.map(left_by_host).filter(|most| wanted > *most) {
            return Err(Failed::need(format!(
                "{} {} of memory of NUMA node {}, and it can give {}; hint: another numa, less memory, or fewer guests",
                needing(&plain),
                show_bytes(wanted),
                self.number,
                show_bytes(most)
            )));
        }
        for (page, pages) in huge_pages_wanted(huge.iter().copied()) {
            let Some(known) = self.huge_pages.iter().find(|known| known.size == page) else {
                continue;
            };
            let (free, total) = (available(known), known.total.unwrap_or(0));
            if free < pages {
                let (node, folder) = (
                    self.number,
                    format!("/sys/devices/system/node/node{}/hugepages", self.number),
                );
                let there = format!(" on NUMA node {node}");
                return Err(huge_pages_error(&huge, page, pages, free, total, &there, &folder));
            }
        }
        Ok(())
    }
}

fn left_by_host(bytes: u64) -> u64 {
    (bytes as f64 * (1.0 - HOST_PART)) as u64
}

fn huge_pages_wanted<'a>(guests: impl Iterator<Item = &'a GuestPlan>) -> BTreeMap<u64, u64> {
    let mut wanted = BTreeMap::new();
    for guest in guests {
        if let Some(page) = guest.memory.huge_page {
            *wanted.entry(page).or_default() += guest.memory.bytes.div_ceil(page);
        }
    }
    wanted
}

/// Returns the number of free huge pages that are not reserved.
fn available(pages: &HugePages) -> u64 {
    pages.free.unwrap_or(0).saturating_sub(pages.reserved.unwrap_or(0))
}

/// Returns the error for lacking huge pages, with the command that makes the total that is needed.
fn huge_pages_error(
    guests: &[&GuestPlan],
    page: u64,
    pages: u64,
    free: u64,
    total: u64,
    there: &str,
    folder: &str,
) -> Failed {
    let (size, kib) = (show_bytes(page), page >> 10);
    Failed::need(format!(
        "{} {pages} huge pages of {size}{there}, and {free} are free; hint: \
         echo {} > {folder}/hugepages-{kib}kB/nr_hugepages",
        needing(guests),
        total - free.min(total) + pages
    ))
}

/// Returns the number of this host's threads that serve a guest's disk under load: the most that
/// any of its disks has, since only one is loaded at a time.
fn serving_threads(guest: &GuestPlan) -> u32 {
    let of_disk = |server: &DiskServer, iothreads: u16| match server {
        // Without an iothread, the main loop serves the disk.
        DiskServer::Qemu | DiskServer::Daemon(_) => u32::from(iothreads).max(1),
        // This is vhost's worker.
        DiskServer::Kernel(_) => 1,
        // A drive that is passed through needs no thread.
        _ => 0,
    };
    guest.disks.iter().map(|disk| of_disk(&disk.server, disk.iothreads)).max().unwrap_or(0)
}

/// Returns the bytes of qcow2 tables that QEMU, or another process that serves a disk, keeps in
/// memory for these guests.
fn tables(guests: &[GuestPlan]) -> u64 {
    let images =
        guests.iter().flat_map(|guest| &guest.disks).filter_map(|disk| disk.qcow2.as_ref());
    images.map(Qcow2::table_cache).sum()
}

fn hint(lacking: u64, tables: u64) -> &'static str {
    if lacking < tables {
        return "less memory, fewer guests, or a smaller l2-cache-size";
    }
    "less memory, or fewer guests"
}

/// Formats guests and their verb: `ORIGIN: guest vm0 needs`, or `the 16 guests vm0 to vm15 need`.
fn needing(guests: &[&GuestPlan]) -> String {
    match guests {
        [one] => format!("{}: guest {} needs", one.origin, one.place),
        _ => format!("{} need", guests_phrase(guests)),
    }
}

/// Formats guests: `guest vm0`, or `the 16 guests vm0 to vm15`.
fn guests_phrase(guests: &[&GuestPlan]) -> String {
    match guests {
        [] => "no guests".to_owned(),
        [one] => format!("guest {}", one.place),
        [first, .., last] => {
            format!("the {} guests {} to {}", guests.len(), first.place, last.place)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_qemu::command_line::Memory;
    use iotax_qemu::testing::made_up_disk;

    fn room() -> Room {
        let pages =
            HugePages { size: 2 << 20, total: Some(600), free: Some(512), reserved: Some(0) };
        Room {
            memory: Some(8 << 30),
            huge_pages: vec![pages],
            nodes: vec![NumaNode::default()],
            processors: Some(4),
            groups: Vec::new(),
        }
    }

    fn guests(many: usize, memory: Memory) -> Vec<GuestPlan> {
        (0..many).map(|at| GuestPlan::made_up(&format!("vm{at}"), memory)).collect()
    }

    #[test]
    fn guests_that_do_not_fit_are_refused_before_they_start() {
        let plain = Memory::plain_memory(1 << 30);
        assert!(room().check_guests_fit(&guests(6, plain)).is_ok());
        let refused = room().check_guests_fit(&guests(7, plain)).unwrap_err();
        assert_eq!(refused.code, iotax_units::exit::UNMET_NEED);
        assert_eq!(
            refused.message,
            "the 7 guests vm0 to vm6 need 7.66 GiB of memory with QEMU's own, and this host can give 7.20 GiB; hint: less memory, or fewer guests"
        );
        let one = room().check_guests_fit(&guests(1, Memory::plain_memory(8 << 30))).unwrap_err();
        assert!(
            one.message.starts_with("here: guest vm0 needs 8.09 GiB of memory"),
            "{}",
            one.message
        );
        assert!(
            Room { memory: None, ..room() }.check_guests_fit(&guests(99, plain)).is_ok(),
            "not known, not refused"
        );
        let elsewhere =
            room().check_guests_fit(&guests(1, Memory { node: Some(3), ..plain })).unwrap_err();
        assert_eq!(elsewhere.message, "here: this host has no NUMA node 3, only 0");
    }

    #[test]
    fn tables_of_images_count_for_each_image() {
        use iotax_qemu::disk::DiskSpec;
        use iotax_qemu::qcow2::{Span, USUAL_CLUSTER};
        let mut guests = guests(6, Memory::plain_memory(1 << 30));
        let spans = vec![Span { offset: 0, bytes: 0 }; 4];
        let (bytes, cluster) = (1 << 40, USUAL_CLUSTER);
        let chain = Qcow2 { spans, bytes, cluster, lazy_refcounts: false, l2_cache: None };
        guests[0].disks.push(DiskSpec { qcow2: Some(chain.clone()), ..made_up_disk() });
        assert!(room().check_guests_fit(&guests).is_ok(), "129 MiB more");
        guests.iter_mut().skip(1).for_each(|guest| {
            guest.disks.push(DiskSpec { qcow2: Some(chain.clone()), ..made_up_disk() });
        });
        assert_eq!(
            room().check_guests_fit(&guests).unwrap_err().message,
            "the 6 guests vm0 to vm5 need 7.32 GiB of memory with QEMU's own (774 MiB for tables of qcow2 images), and this host can give 7.20 GiB; hint: less memory, fewer guests, or a smaller l2-cache-size"
        );
    }

    #[test]
    fn processors_that_are_not_there_are_refused() {
        let groups = vec![CacheGroup::single(0..4, None)];
        let room = Room { groups, ..room() };
        let mut guests = guests(1, Memory::plain_memory(256 << 20));
        let pin = |cpus: &[u32]| Some(Pin { vcpus: vec![cpus.to_vec(); 2], others: cpus.to_vec() });
        guests[0].pin = pin(&[2, 3]);
        assert!(room.check_guests_fit(&guests).is_ok());
        guests[0].pin = pin(&[3, 99]);
        assert_eq!(
            room.check_guests_fit(&guests).unwrap_err().message,
            "here: cpus: this host has no processor 99, only 0 to 3"
        );
    }

    #[test]
    fn huge_pages_are_a_need_with_the_command_that_makes_them() {
        let huge = Memory { huge_page: Some(2 << 20), ..Memory::plain_memory(512 << 20) };
        assert!(room().check_guests_fit(&guests(2, huge)).is_ok());
        let lacking = room().check_guests_fit(&guests(3, huge)).unwrap_err();
        assert_eq!(lacking.code, iotax_units::exit::UNMET_NEED);
        assert!(
            lacking.message.contains("need 768 huge pages of 2 MiB, and 512 are free"),
            "{}",
            lacking.message
        );
        assert!(
            lacking
                .message
                .ends_with("echo 856 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
        );
    }

    #[test]
    fn huge_pages_that_are_promised_are_not_free() {
        let huge = Memory { huge_page: Some(2 << 20), ..Memory::plain_memory(512 << 20) };
        let pages =
            HugePages { size: 2 << 20, total: Some(600), free: Some(512), reserved: Some(100) };
        let lacking = Room { huge_pages: vec![pages], ..room() }
            .check_guests_fit(&guests(2, huge))
            .unwrap_err();
        assert!(
            lacking.message.contains("need 512 huge pages of 2 MiB, and 412 are free"),
            "{}",
            lacking.message
        );
        assert!(lacking.message.contains("echo 700 >"), "{}", lacking.message);
    }

    #[test]
    fn a_node_has_its_own_memory_and_huge_pages() {
        let pages =
            |free| HugePages { size: 2 << 20, total: Some(300), free: Some(free), reserved: None };
        let node = |number, memory, free| NumaNode {
            number,
            memory: Some(memory),
            huge_pages: vec![pages(free)],
        };
        let room = Room { nodes: vec![node(0, 6 << 30, 256), node(1, 2 << 30, 256)], ..room() };
        let on = |number, memory| Memory { node: Some(number), ..memory };
        let plain = Memory::plain_memory(1 << 30);
        assert!(room.check_guests_fit(&guests(2, on(0, plain))).is_ok());
        let refused = room.check_guests_fit(&guests(2, on(1, plain))).unwrap_err();
        assert_eq!(refused.code, iotax_units::exit::UNMET_NEED);
        assert_eq!(
            refused.message,
            "the 2 guests vm0 to vm1 need 2 GiB of memory of NUMA node 1, and it can give 1.80 GiB; hint: another numa, less memory, or fewer guests"
        );
        let unknown =
            Room { nodes: vec![NumaNode { number: 1, ..NumaNode::default() }], ..room.clone() };
        assert!(
            unknown.check_guests_fit(&guests(2, on(1, plain))).is_ok(),
            "not known, not refused"
        );
        let huge = Memory { huge_page: Some(2 << 20), ..Memory::plain_memory(512 << 20) };
        assert!(room.check_guests_fit(&guests(2, huge)).is_ok(), "on any node");
        let lacking = room.check_guests_fit(&guests(2, on(1, huge))).unwrap_err();
        assert_eq!(lacking.code, iotax_units::exit::UNMET_NEED);
        assert!(
            lacking.message.ends_with(
                "need 512 huge pages of 2 MiB on NUMA node 1, and 256 are free; hint: \
                 echo 556 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"
            ),
            "{}",
            lacking.message
        );
    }

    #[test]
    fn a_machine_tells_what_its_nodes_have() {
        let machine = iotax_host::made_up::server();
        let meminfo = "Node 1 MemFree: 1000 kB\nNode 1 Active(file): 20 kB\nNode 1 Inactive(file): 3 kB\nNode 1 SReclaimable: 1 kB\n";
        machine.put(&[("/sys/devices/system/node/node1/meminfo", meminfo)]);
        let nodes = Room::this_machine(&machine.probe).nodes;
        let told: Vec<_> = nodes.iter().map(|node| (node.number, node.memory)).collect();
        assert_eq!(told, [(0, None), (1, Some(1024 << 10))]);
    }

    #[test]
    fn a_guest_larger_than_the_host_is_refused_where_it_would_be_real() {
        let mut large = guests(1, Memory::plain_memory(256 << 20));
        large[0].vcpus = 5;
        let refused = room().check_guests_fit(&large).unwrap_err();
        assert_eq!(refused.code, iotax_units::exit::UNMET_NEED);
        assert_eq!(
            refused.message,
            "here: guest vm0 has 5 vCPUs, and this host 4 processors; hint: vcpus=4 at most"
        );
        assert!(
            Room { processors: None, ..room() }.check_guests_fit(&large).is_ok(),
            "not known, not refused"
        );
        large[0].accel = Accel::Tcg;
        assert!(room().check_guests_fit(&large).is_ok());
        assert_eq!(room().warnings(&large.iter().collect::<Vec<_>>()).len(), 1);
    }

    #[test]
    fn more_threads_than_processors_are_a_warning() {
        use iotax_qemu::disk::DiskSpec;
        let mut guests = guests(2, Memory::plain_memory(256 << 20));
        let warned = |guests: &[GuestPlan]| room().warnings(&guests.iter().collect::<Vec<_>>());
        assert_eq!(warned(&guests), Vec::<String>::new());
        let disk = |iothreads, server| DiskSpec { iothreads, server, ..made_up_disk() };
        guests[0].disks = vec![
            disk(1, DiskServer::Qemu),
            disk(4, DiskServer::Qemu),
            disk(0, DiskServer::Kernel("naa.5".into())),
        ];
        guests[1].disks = vec![disk(0, DiskServer::Daemon("/run/x".into()))];
        assert_eq!(
            warned(&guests),
            [
                "the 2 guests vm0 to vm1: overcommitted, 4 vCPUs and 5 I/O threads share 4 CPUs; lower vcpus=, or \
                 expect waiting time in the results"
            ]
        );
        let own = Pin { vcpus: vec![vec![0], vec![1]], others: vec![0, 1] };
        let mut pinned = guests.clone();
        pinned.iter_mut().for_each(|guest| guest.pin = Some(own.clone()));
        let told = warned(&pinned);
        assert!(
            told.len() == 1 && told[0].contains("share 2 CPUs given by cpus="),
            "one matter: {told:?}"
        );
        guests[1].pin = Some(Pin { vcpus: vec![vec![0], vec![1]], others: vec![0, 1] });
        assert_eq!(
            warned(&guests)[1],
            "guest vm1: overcommitted, 2 vCPUs and 1 I/O thread share 2 CPUs given by cpus=; lower vcpus=, or expect \
             waiting time in the results"
        );
        guests[0].pin = guests[1].pin.clone();
        let of_both = warned(&guests);
        assert!(
            of_both.len() == 1 && of_both[0].contains("share 2 CPUs given by cpus="),
            "{of_both:?}"
        );
    }
}
