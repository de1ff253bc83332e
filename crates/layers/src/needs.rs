//! All needs: those of `iotax_host`, and those that the catalog's layers require.

use iotax_host::Missing;
use iotax_host::needs::{self, OWN, distribution};
pub use iotax_host::needs::{BY_HAND, Need};
use iotax_host::probe::{GuestProbe, Probe};
use iotax_model::layer as catalog;
use std::path::Path;

pub fn all_known_needs() -> impl Iterator<Item = Need> {
    let of_layers =
        catalog::ALL.iter().flat_map(|layer| layer.requires).copied().map(Need::requiring);
    OWN.iter().copied().chain(of_layers)
}

pub fn by_id(id: &str) -> Option<Need> {
    all_known_needs().find(|need| need.id == id)
}

pub fn by_ids<'a>(ids: impl IntoIterator<Item = &'a str>) -> Vec<Need> {
    ids.into_iter().filter_map(by_id).collect()
}

pub fn missing_needs(ids: &[&str], guest: GuestProbe) -> Vec<Missing> {
    needs::missing_from_host(&by_ids(ids.iter().copied()), Path::new("/"), guest)
}

/// Returns the need with this id as missing on this machine; `what` says what is missing. `None` if
/// there is no such need.
pub fn need_as_missing(id: &str, what: String) -> Option<Missing> {
    Some(by_id(id)?.describe_missing(&distribution(&Probe::of_files(Path::new("/"))), what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::kvm::KvmState;
    use iotax_host::made_up::complete_server;
    use iotax_host::probe::Space;

    fn lacking(probe: &Probe) -> Vec<&'static str> {
        all_known_needs()
            .filter(|need| need.find_missing(probe).is_some())
            .map(|need| need.id)
            .collect()
    }

    #[test]
    fn the_table_is_sound() {
        let mut ids: Vec<&str> = all_known_needs().map(|need| need.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all_known_needs().count(), "names are unique");
        for need in all_known_needs() {
            assert!(!need.why.is_empty() && by_id(need.id).is_some());
            assert!(
                need.supply.last().is_some_and(|supply| supply.distribution.is_empty()),
                "{}",
                need.id
            );
        }
    }

    #[test]
    fn a_complete_machine_lacks_nothing_and_an_empty_one_almost_everything() {
        assert_eq!(lacking(&complete_server().probe), Vec::<&str>::new());
        let folder = tempfile::tempdir().expect("temporary folder");
        let mut probe = Probe::of_files(folder.path());
        probe.euid = 1000;
        probe.io_uring = Err("operation not permitted".into());
        probe.folder = Err("folder /x does not exist".into());
        assert_eq!(lacking(&probe).len(), all_known_needs().count(), "{:?}", lacking(&probe));
    }

    #[test]
    fn each_need_alone() {
        let machine = complete_server();
        let what = |id: &str, probe: &Probe| {
            by_id(id).and_then(|need| need.find_missing(probe)).expect(id).what
        };
        let guest = GuestProbe {
            kvm: || KvmState::Emulated("20 ms a loop".into()),
            qemu: || Err("too old".into()),
            kernel: || Err("none to read".into()),
            storage_daemon: || Err("is 5.2.0".into()),
            io_uring: || Err("not built in".into()),
            daemon_io_uring: || Err("forbidden".into()),
            ovmf: || Err("no OVMF".into()),
            spdk: || Err("no target".into()),
            lab: || Err("not built".into()),
        };
        let asked = Probe { guest, ..machine.probe.clone() };
        assert_eq!(what("qemu", &asked), "too old");
        assert_eq!(what("guest-kernel", &asked), "none to read");
        assert_eq!(what("qemu-io_uring", &asked), "not built in");
        assert_eq!(what("qemu-storage-daemon", &asked), "is 5.2.0");
        assert_eq!(what("storage-daemon-io_uring", &asked), "forbidden");
        assert_eq!(what("lab-image", &asked), "not built");
        assert!(what("kvm", &asked).contains("only emulates: 20 ms a loop"));
        let absent = KvmState::Absent("no permission; hint: join the group".into());
        let kvm = by_id("kvm").unwrap();
        let missing = kvm.describe_missing(&distribution(&asked), absent.trouble().unwrap());
        assert_eq!(
            (missing.what.as_str(), missing.command.as_str()),
            ("no permission", "join the group")
        );
        let missing = kvm.describe_missing(&distribution(&asked), "it does not answer".into());
        assert!(missing.command.starts_with("switch on virtualisation"), "{}", missing.command);
        let full = Probe { space: Some(Space { total: 1000, free: 100 }), ..machine.probe.clone() };
        assert!(what("space", &full).contains("only 100 B of 1000 B are free"));
        let filtered = Probe { io_uring: Err("denied".into()), ..machine.probe.clone() };
        assert!(what("io_uring", &filtered).contains("does not answer: denied"));
        machine.put(&[("/proc/sys/kernel/io_uring_disabled", "2")]);
        assert!(what("io_uring", &filtered).contains("io_uring_disabled = 2"));
    }

    #[test]
    fn commands_follow_the_distribution() {
        let machine = complete_server();
        let command = |text: &str| {
            machine.put(&[("/etc/os-release", text)]);
            by_id("qemu").expect("qemu").supply_command(&distribution(&machine.probe))
        };
        assert!(command("ID=ubuntu\nID_LIKE=debian\n").starts_with("apt-get"));
        assert!(command("ID=rocky\nID_LIKE=\"rhel centos fedora\"\n").starts_with("dnf"));
        assert!(command("ID=void\n").starts_with("install QEMU"));
    }
}
