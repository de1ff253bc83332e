//! File systems whose files are on no drive: the kernel makes up what is read there, and what is
//! written there are commands to it. Nothing there is measured, written or even opened.

use iotax_facts::place::is_of_the_kernel;
use std::path::Path;

/// File systems of the kernel by their magic numbers (linux/magic.h).
const KINDS: &[(&str, u64)] = &[
    ("procfs", 0x9fa0),
    ("sysfs", 0x6265_6572),
    ("debugfs", 0x6462_6720),
    ("tracefs", 0x7472_6163),
    ("securityfs", 0x7363_6673),
    ("selinuxfs", 0xf97c_ff8c),
    ("smackfs", 0x4341_5d53),
    ("cgroup", 0x0027_e0eb),
    ("cgroup2", 0x6367_7270),
    ("bpf", 0xcafe_4a11),
    ("configfs", 0x6265_6570),
    ("pstore", 0x6165_676c),
    ("efivarfs", 0xde5e_81e4),
    ("devpts", 0x1cd1),
    ("mqueue", 0x1980_0202),
    ("binfmt_misc", 0x4249_4e4d),
    ("fusectl", 0x6573_5543),
    ("nsfs", 0x6e73_6673),
    ("pipefs", 0x5049_5045),
    ("sockfs", 0x534f_434b),
    ("resctrl", 0x0765_5821),
];

/// Returns the name of the kernel's file system that contains a file or folder, following links.
/// `None` if it is in none of them, or does not exist.
pub(super) fn file_system(path: &Path) -> Option<&'static str> {
    let found = rustix::fs::statfs(path).ok()?;
    // Its type is signed on some machines, and longer than the number on others.
    let kind = KINDS.iter().find(|(_, magic)| *magic == u64::from(found.f_type as u32));
    let real = || path.canonicalize().is_ok_and(|real| is_of_the_kernel(&real));
    kind.map(|(name, _)| *name).or_else(|| real().then_some("below /proc or /sys"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::found::InspectedKind;
    use crate::guard::inspect::inspect;
    use crate::guard::judge::{Intent, judge};
    use crate::guard::marker;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_the_kernel_makes_up_is_refused_however_it_is_named() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let [file, into] = ["status", "self"].map(|name| folder.path().join(name));
        symlink("/proc/self/status", &file).expect("link");
        symlink("/proc/self", &into).expect("link");
        for path in [
            Path::new("/proc/self/status"),
            Path::new("/sys/kernel/uevent_seqnum"),
            &file,
            &into.join("maps"),
        ] {
            let found = inspect(path).expect("inspect");
            assert!(
                matches!(&found.kind, InspectedKind::Other(what) if what.starts_with("a file that the kernel")),
                "{found:?}"
            );
            for intent in [Intent::Read, Intent::Write, Intent::Take] {
                let refusal = judge(&found, intent, &[]).expect_err("refused").to_string();
                assert!(refusal.contains("the kernel makes up ("), "{refusal}");
            }
        }
        let error = marker::check_room(&into.join("x.img"), 1 << 20).unwrap_err();
        assert!(error.to_string().contains("the kernel makes up what is in"), "{error}");
        assert_eq!(iotax_units::exit::code_of(&error), iotax_units::exit::BAD_INPUT);
        assert!(marker::create_marked_file(&into.join("x.img"), 1 << 20, "r").is_err());
        assert_eq!(file_system(folder.path()), None);
        assert_eq!(file_system(Path::new("/dev/null")), None, "what it is decides there");
    }

    #[test]
    fn what_is_no_file_is_refused_unopened() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let [pipe, socket] = ["pipe", "socket"].map(|name| folder.path().join(name));
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("mkfifo");
        let _listens = std::os::unix::net::UnixListener::bind(&socket).expect("socket");
        let all = [
            (pipe.as_path(), "a named pipe"),
            (&socket, "a socket"),
            (Path::new("/dev/null"), "a character device"),
            (folder.path(), "a folder"),
        ];
        for (path, what) in all {
            for intent in [Intent::Read, Intent::Write, Intent::Take] {
                let refusal =
                    judge(&inspect(path).expect("inspect"), intent, &[]).expect_err("refused");
                assert!(refusal.to_string().contains(&format!("it is {what}, ")), "{refusal}");
            }
        }
    }
}
