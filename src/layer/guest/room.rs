//! Whether a machine has room for the guests of a set: memory, huge pages, NUMA nodes. Asked before anything is made, since a
//! host that swaps, or kills a guest for want of memory, measures nothing.

use super::pin::{self, Group, Pin};
use super::qemu::Qcow2;
use super::vm::GuestPlan;
use crate::exit::Failed;
use crate::host::facts::{HugePages, cpu, huge_pages, memory_bytes};
use crate::host::probe::Probe;
use crate::units::show_bytes;
use std::collections::{BTreeMap, BTreeSet};

/// What a machine has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Bytes that can be had without swapping; `None`: not known.
    pub memory: Option<u64>,
    /// Huge pages by size.
    pub huge_pages: Vec<HugePages>,
    /// Its NUMA nodes.
    pub nodes: Vec<u32>,
    /// Processors that are online.
    pub processors: usize,
    /// Of these, which share an L3 cache.
    pub groups: Vec<Group>,
}

/// Left to the host itself.
const HOST_PART: f64 = 0.1;
/// QEMU's own memory for each guest, without tables of images: measured 60 to 90 MiB with 7.2.
const QEMU_BYTES: u64 = 96 << 20;

impl Room {
    /// Of this machine.
    pub fn of(probe: &Probe) -> Room {
        let node = |name: &String| name.strip_prefix("node")?.parse().ok();
        Room {
            memory: memory_bytes(probe, "MemAvailable"),
            huge_pages: huge_pages(probe),
            nodes: probe.names("/sys/devices/system/node").iter().filter_map(node).collect(),
            groups: pin::groups(&cpu(probe)),
            processors: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        }
    }

    /// Whether these guests fit, all at once.
    ///
    /// # Errors
    /// Bad input: too much memory, a node that is not there. An unmet need: huge pages, with the command that makes them.
    pub fn check(&self, guests: &[GuestPlan]) -> Result<(), Failed> {
        self.check_nodes(guests)?;
        self.check_processors(guests)?;
        self.check_huge_pages(guests)?;
        let plain = guests.iter().filter(|guest| guest.memory.huge_page.is_none());
        let tables = tables(guests);
        let wanted =
            plain.map(|guest| guest.memory.bytes).sum::<u64>() + guests.len() as u64 * QEMU_BYTES + tables;
        match self.memory.map(|bytes| (bytes as f64 * (1.0 - HOST_PART)) as u64) {
            Some(most) if wanted > most => Err(Failed::input(format!(
                "{} need {} of memory with QEMU's own{}, and this host can give {}; hint: {}",
                named(guests),
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

    /// What is worth a word: more virtual processors than there are, so that guests wait for each other.
    pub fn warning(&self, guests: &[GuestPlan]) -> Option<String> {
        let vcpus: u32 = guests.iter().map(|guest| guest.vcpus).sum();
        (vcpus as usize > self.processors).then(|| {
            format!(
                "{} have {vcpus} vCPUs on {} processors: they wait for each other, and for the host's own I/O threads",
                named(guests),
                self.processors
            )
        })
    }

    fn check_nodes(&self, guests: &[GuestPlan]) -> Result<(), Failed> {
        let missing = |guest: &&GuestPlan| guest.memory.node.is_some_and(|node| !self.nodes.contains(&node));
        let Some(guest) = guests.iter().find(missing) else { return Ok(()) };
        let known: Vec<String> = self.nodes.iter().map(u32::to_string).collect();
        Err(Failed::input(format!(
            "guest {}: numa={} is no node of this host; it has {}",
            guest.place,
            guest.memory.node.unwrap_or_default(),
            if known.is_empty() { "none that are told apart".to_owned() } else { known.join(", ") }
        )))
    }

    fn check_processors(&self, guests: &[GuestPlan]) -> Result<(), Failed> {
        let known: BTreeSet<u32> = self.groups.iter().flat_map(|group| group.cpus.clone()).collect();
        let wanted = |guest: &GuestPlan| guest.pin.iter().flat_map(Pin::cpus).collect::<Vec<u32>>();
        for guest in guests {
            if let Some(missing) = wanted(guest).into_iter().find(|cpu| !known.contains(cpu)) {
                let last = known.last().copied().unwrap_or_default();
                return Err(Failed::input(format!(
                    "guest {}: cpus: this host has no processor {missing}; it has {} up to {last}",
                    guest.place,
                    known.len()
                )));
            }
        }
        Ok(())
    }

    fn check_huge_pages(&self, guests: &[GuestPlan]) -> Result<(), Failed> {
        let mut wanted: BTreeMap<u64, u64> = BTreeMap::new();
        for guest in guests {
            if let Some(page) = guest.memory.huge_page {
                *wanted.entry(page).or_default() += guest.memory.bytes.div_ceil(page);
            }
        }
        for (page, pages) in wanted {
            let known = self.huge_pages.iter().find(|known| known.size == page);
            let (free, total) =
                known.map_or((0, 0), |known| (known.free.unwrap_or(0), known.total.unwrap_or(0)));
            if free < pages {
                let (size, kib) = (show_bytes(page), page >> 10);
                return Err(Failed::need(format!(
                    "{} need {pages} huge pages of {size}, and {free} are free; hint: \
                     echo {} > /sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages",
                    named(guests),
                    total - free.min(total) + pages
                )));
            }
        }
        Ok(())
    }
}

/// Tables of qcow2 images that QEMU, or what serves a disk beside it, keeps in memory.
fn tables(guests: &[GuestPlan]) -> u64 {
    let images = guests.iter().flat_map(|guest| &guest.disks).filter_map(|disk| disk.qcow2.as_ref());
    images.map(Qcow2::table_cache).sum()
}

/// What would do.
fn hint(lacking: u64, tables: u64) -> &'static str {
    if lacking < tables {
        return "less memory, fewer guests, or a smaller l2-cache-size";
    }
    "less memory, or fewer guests"
}

/// `guest vm0`, `the 16 guests vm0 to vm15`
fn named(guests: &[GuestPlan]) -> String {
    match guests {
        [] => "no guests".to_owned(),
        [one] => format!("guest {}", one.place),
        [first, .., last] => format!("the {} guests {} to {}", guests.len(), first.place, last.place),
    }
}

#[cfg(test)]
mod tests {
    use super::super::qemu::Memory;
    use super::*;

    fn room() -> Room {
        let pages = HugePages { size: 2 << 20, total: Some(600), free: Some(512) };
        Room {
            memory: Some(8 << 30),
            huge_pages: vec![pages],
            nodes: vec![0],
            processors: 4,
            groups: Vec::new(),
        }
    }

    fn guests(many: usize, memory: Memory) -> Vec<GuestPlan> {
        (0..many).map(|at| GuestPlan::made_up(&format!("vm{at}"), memory)).collect()
    }

    #[test]
    fn guests_that_do_not_fit_are_refused_before_they_start() {
        let plain = Memory::plain(1 << 30);
        assert!(room().check(&guests(6, plain)).is_ok());
        let refused = room().check(&guests(7, plain)).unwrap_err();
        assert_eq!(refused.code, crate::exit::BAD_INPUT);
        assert_eq!(
            refused.message,
            "the 7 guests vm0 to vm6 need 7.66 GiB of memory with QEMU's own, and this host can give 7.20 GiB; hint: less memory, or fewer guests"
        );
        assert!(Room { memory: None, ..room() }.check(&guests(99, plain)).is_ok(), "not known, not refused");
        let elsewhere = room().check(&guests(1, Memory { node: Some(3), ..plain })).unwrap_err();
        assert_eq!(elsewhere.message, "guest vm0: numa=3 is no node of this host; it has 0");
    }

    #[test]
    fn tables_of_images_count_for_each_image() {
        use super::super::qemu::{DiskSpec, Span, USUAL_CLUSTER};
        let mut guests = guests(6, Memory::plain(1 << 30));
        let spans = vec![Span { offset: 0, bytes: 0 }; 4];
        let (bytes, cluster) = (1 << 40, USUAL_CLUSTER);
        let chain = Qcow2 { spans, bytes, cluster, lazy_refcounts: false, l2_cache: None };
        guests[0].disks.push(DiskSpec { qcow2: Some(chain.clone()), ..DiskSpec::made_up() });
        assert!(room().check(&guests).is_ok(), "129 MiB more");
        guests.iter_mut().skip(1).for_each(|guest| {
            guest.disks.push(DiskSpec { qcow2: Some(chain.clone()), ..DiskSpec::made_up() });
        });
        assert_eq!(
            room().check(&guests).unwrap_err().message,
            "the 6 guests vm0 to vm5 need 7.32 GiB of memory with QEMU's own (774 MiB for tables of qcow2 images), and this host can give 7.20 GiB; hint: less memory, fewer guests, or a smaller l2-cache-size"
        );
    }

    #[test]
    fn processors_that_are_not_there_are_refused() {
        let groups = vec![Group { cpus: vec![0, 1, 2, 3], node: None }];
        let room = Room { groups, ..room() };
        let mut guests = guests(1, Memory::plain(256 << 20));
        let pin = |cpus: &[u32]| Some(Pin { vcpus: vec![cpus.to_vec(); 2], others: cpus.to_vec() });
        guests[0].pin = pin(&[2, 3]);
        assert!(room.check(&guests).is_ok());
        guests[0].pin = pin(&[3, 99]);
        assert_eq!(
            room.check(&guests).unwrap_err().message,
            "guest vm0: cpus: this host has no processor 99; it has 4 up to 3"
        );
    }

    #[test]
    fn huge_pages_are_a_need_with_the_command_that_makes_them() {
        let huge = Memory { huge_page: Some(2 << 20), ..Memory::plain(512 << 20) };
        assert!(room().check(&guests(2, huge)).is_ok());
        let lacking = room().check(&guests(3, huge)).unwrap_err();
        assert_eq!(lacking.code, crate::exit::UNMET_NEED);
        assert!(
            lacking.message.contains("need 768 huge pages of 2 MiB, and 512 are free"),
            "{}",
            lacking.message
        );
        assert!(
            lacking.message.ends_with("echo 856 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
        );
    }

    #[test]
    fn more_vcpus_than_processors_are_a_warning() {
        let plain = Memory::plain(256 << 20);
        assert_eq!(room().warning(&guests(2, plain)), None);
        assert!(room().warning(&guests(3, plain)).unwrap().contains("have 6 vCPUs on 4 processors"));
    }
}
