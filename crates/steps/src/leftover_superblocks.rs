//! Superblocks that a guest made on a drive of this host. What was made in a guest ends with it,
//! but superblocks stay on the drive, which may be somebody's.

use super::journal::Open;
use super::op::Op;
use iotax_facts::place::Place;
use std::collections::BTreeSet;

/// Describes the superblocks that a step may have left because its guest ended before it was
/// undone. `others` are the run's open steps, which show the drives that the guest had. `None` if
/// nothing is left.
pub fn superblocks_left_by_guest(open: &Open, others: &[Open]) -> Option<String> {
    let operation = open.step.op.operation();
    if !open.step.op.survives_reboot() || operation.irreversible_effect().is_none() {
        return None;
    }
    let drives: BTreeSet<String> =
        others.iter().flat_map(|other| drives_of(&open.step.place, other)).collect();
    if drives.is_empty() {
        return None;
    }
    let drives = drives.into_iter().collect::<Vec<_>>().join(", ");
    Some(format!(
        "{} ended before this could be removed in it: {}. Its marks may lie on {drives}, which it had; hint: name them when these are \
         given up (wipe=..., as the refusal of a run says), or wipefs",
        open.step.place,
        operation.describe()
    ))
}

/// Returns the drives of this host that a step gave to the guest, by passthrough or in QEMU's
/// command line.
fn drives_of(guest: &Place, step: &Open) -> Vec<String> {
    match &step.step.op {
        Op::PassThrough(taken) => vec![taken.disk.display().to_string()],
        Op::Spawn(spawn) if spawn.what == format!("guest {guest}") => {
            let quoted = spawn.argv.iter().flat_map(|word| word.split(['"', ',', '=']));
            let is_drive = |word: &&str| {
                word.starts_with("/dev/") && !NO_DRIVES.iter().any(|dev| word.starts_with(dev))
            };
            quoted.filter(is_drive).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

const NO_DRIVES: [&str; 5] =
    ["/dev/kvm", "/dev/shm", "/dev/null", "/dev/urandom", "/dev/hugepages"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{MakeDirectory, Spawn};
    use crate::step::Step;
    use iotax_drivers::drives::Drives;
    use iotax_drivers::partition::MakePartition;
    use iotax_drivers::path_ref::PathRef;

    fn open(place: Place, op: Op) -> Open {
        let step = Step { id: 0, place, why: "do it".into(), op };
        Open { seq: 0, boot_id: "b".into(), step, made: None }
    }

    fn guest(file: &str) -> Open {
        let blockdev =
            format!(r#"{{"driver":"host_device","node-name":"d0","filename":"{file}"}}"#);
        let spawn = Spawn {
            what: "guest vm0".into(),
            argv: vec!["qemu".into(), "-blockdev".into(), blockdev],
            tag: "t".into(),
            belows: Vec::new(),
            log: "/run/log".into(),
            makes: Vec::new(),
            ready: None,
        };
        open(Place::Host, Op::Spawn(spawn))
    }

    fn table() -> Open {
        let table = MakePartition {
            device: PathRef::Path("/dev/vda".into()),
            table: "gpt".into(),
            id: "id".into(),
            name: "n".into(),
            start: 0,
            bytes: 1,
            drives: Drives::default(),
        };
        open(Place::from("vm0"), Op::MakePartition(table))
    }

    #[test]
    fn what_stays_on_a_drive_of_somebodys_is_told_and_what_goes_with_a_file_is_not() {
        let told = superblocks_left_by_guest(&table(), &[guest("/dev/nvme1n1")]).unwrap();
        assert!(
            told.starts_with("vm0 ended before") && told.contains("may lie on /dev/nvme1n1,"),
            "{told}"
        );
        assert_eq!(superblocks_left_by_guest(&table(), &[guest("/srv/x.img")]), None);
        assert_eq!(
            superblocks_left_by_guest(&table(), &[open(Place::Host, table().step.op)]),
            None,
            "no guest"
        );
        let folder =
            open(Place::from("vm0"), Op::MakeDirectory(MakeDirectory { path: "/run/x".into() }));
        assert_eq!(superblocks_left_by_guest(&folder, &[guest("/dev/nvme1n1")]), None);
    }
}
