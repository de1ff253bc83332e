//! Describes a guest in a few words, for people who ask what would be started: its size, and each
//! of its disks. Equal guests read equal, so names and offsets are left out; the exact act is
//! QEMU's command line.

use super::vm::GuestPlan;
use iotax_qemu::accel::Accel;
use iotax_units::{count_noun, show_bytes};

impl GuestPlan {
    /// Describes the size of the guest: `2 vCPUs, 512 MiB of memory, emulated (tcg)`
    pub fn outline(&self) -> String {
        let memory = &self.memory;
        let page = memory.huge_page.map(|page| format!(" in huge pages of {}", show_bytes(page)));
        let node = memory.node.map(|node| format!(" of NUMA node {node}"));
        let size = show_bytes(memory.bytes);
        let image = self.image.as_ref().map(|image| format!("the system of {}", image.display()));
        let accel = match self.accel {
            Accel::Kvm => "KVM",
            Accel::Tcg => "emulated (tcg)",
        };
        let parts = [
            Some(count_noun(u64::from(self.vcpus), "vCPU", "vCPUs")),
            Some(format!(
                "{size} of memory{}{}",
                page.unwrap_or_default(),
                node.unwrap_or_default()
            )),
            self.uefi.then(|| "UEFI".to_owned()),
            image,
            self.address.as_ref().map(|_| "a network card".to_owned()),
            Some(accel.to_owned()),
            self.pin.as_ref().map(|_| "pinned".to_owned()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    pub fn disk_outlines(&self) -> Vec<String> {
        self.disks.iter().zip(&self.below).map(|(disk, below)| disk.outline(below)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_drivers::path_ref::PathRef;
    use iotax_host::pci::PciDrive;
    use iotax_qemu::attach;
    use iotax_qemu::command_line::Memory;
    use iotax_qemu::disk::{DiskServer, DiskSpec};
    use iotax_qemu::pin::Pin;
    use iotax_qemu::testing::made_up_disk;

    fn guest(disks: Vec<DiskSpec>) -> GuestPlan {
        let below = vec![PathRef::Path("/srv/x.img".into()); disks.len()];
        GuestPlan { disks, below, ..GuestPlan::made_up("vm0", Memory::plain_memory(512 << 20)) }
    }

    #[test]
    fn a_guest_says_what_it_takes_of_the_host() {
        assert_eq!(guest(Vec::new()).outline(), "2 vCPUs, 512 MiB of memory, KVM");
        let memory =
            Memory { huge_page: Some(2 << 20), node: Some(1), ..Memory::plain_memory(16 << 30) };
        let pin = Some(Pin { vcpus: vec![vec![0]], others: vec![0] });
        let large =
            GuestPlan { vcpus: 1, accel: Accel::Tcg, uefi: true, pin, memory, ..guest(Vec::new()) };
        assert_eq!(
            large.outline(),
            "1 vCPU, 16 GiB of memory in huge pages of 2 MiB of NUMA node 1, UEFI, emulated (tcg), pinned"
        );
    }

    #[test]
    fn a_disk_says_how_it_comes_to_the_guest_and_only_what_its_way_has() {
        let of = |way: &str, disk: DiskSpec| {
            let way = attach::by_name(way).unwrap();
            guest(vec![DiskSpec { way, bytes: Some(256 << 20), ..disk }]).disk_outlines().remove(0)
        };
        let usual = made_up_disk();
        assert_eq!(
            of("virtio-blk", usual.clone()),
            "256 MiB of /srv/x.img by virtio-blk, cache=none, aio=native"
        );
        let chosen =
            DiskSpec { num_queues: Some(4), iothreads: 0, snapshot: true, ..usual.clone() };
        assert_eq!(
            of("virtio-blk", chosen),
            "256 MiB of /srv/x.img by virtio-blk, cache=none, aio=native, iothread=false, num-queues=4, snapshot=on"
        );
        assert_eq!(of("vhost-scsi", usual.clone()), "256 MiB of /srv/x.img by vhost-scsi");
        let drive = DiskServer::Drive(Box::new(PciDrive {
            address: "0000:01:00.0".into(),
            ..PciDrive::default()
        }));
        assert_eq!(
            of("vfio", DiskSpec { server: drive, ..usual }),
            "the drive at 0000:01:00.0 (/srv/x.img) by vfio"
        );
    }
}
