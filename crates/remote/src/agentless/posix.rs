//! Commands for Linux and similar systems: one line of sh, read from standard input, so that every
//! login shell passes on the same fixed words. Our sections are marked, which separates them from
//! what a login profile prints. Facts are the kernel's own files, read by the same code as on this
//! host.

use super::{Created, SeenHost, Shell, ShellRequest, facts};
use anyhow::{Context, Result, anyhow, bail};
use iotax_engines::fio::{self, Ioengines};
use iotax_host::block::{Identity, PartitionExtent};
use iotax_host::guard::found::{
    Finding, InspectedKind, Inspection, InspectionCheck, Signature, TargetUse, UncheckedPoint,
};
use iotax_host::guard::marker;
use iotax_units::shell;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// System that has sh.
pub(super) struct Posix;

/// Command that reads a line and runs it; the programs of that line get the rest of the input.
/// Neither csh nor fish expands anything in it.
const COMMAND: &str = "exec sh -c 'IFS= read -r s; eval \"$s\"'";

/// Start of every line. It extends PATH, since the PATH of some users lacks the system programs. `s
/// NAME COMMAND...` runs a command and prints its output as a section.
const PRELUDE: &str = concat!(
    "export LC_ALL=C PATH=\"$PATH:/usr/local/bin:/usr/sbin:/sbin:/usr/local/sbin:/opt/homebrew/bin\"; ",
    "s() { echo; echo \"IOTAX-SSH [ $1\"; shift; \"$@\" 2>/dev/null; echo; echo 'IOTAX-SSH ]'; }; ",
);

/// Files with facts about the machine.
const FILES: &str = concat!(
    "/proc/cpuinfo /proc/meminfo /proc/cmdline /proc/self/mountinfo /proc/sys/kernel/hostname ",
    "/proc/sys/kernel/osrelease /proc/sys/kernel/version /proc/sys/kernel/random/boot_id /etc/os-release ",
    "/sys/kernel/mm/transparent_hugepage/enabled /sys/devices/system/clocksource/clocksource0/current_clocksource ",
    "/sys/devices/system/cpu/vulnerabilities/*",
);
/// Files of a block device, below /sys/class/block/NAME/.
const OF_DEVICE: &str = "size serial wwid device/model device/serial device/wwid device/firmware_rev device/rev queue/*";

/// Sets `d` to `$p` if it is a block device, else to df's source for `$p` or, if it does not exist,
/// its folder; links are resolved. `b` is the last part of `d`, the kernel's name of a device.
const DEVICE: &str = concat!(
    "if [ -b \"$p\" ]; then d=$(readlink -f \"$p\"); else d=$({ df -P \"$p\" || df -P \"${p%/*}/\"; } 2>/dev/null | sed -n '2s/ .*//p'); fi; ",
    "case $d in /dev/*) d=$(readlink -f \"$d\");; esac; ",
    "b=${d##*/}; ",
);

/// Defines functions that report who uses `$p`: processes that have it, a partition of it or a
/// device on it open (`openers`), its mounts in all namespaces (`mounts`), and whether the kernel
/// opens it exclusively, which takes perl (`exclusive`).
const USERS: &str = concat!(
    "nodes() { lsblk -nrpo NAME \"$p\" 2>/dev/null; echo \"$p\"; }; ",
    "openers() { nodes | sort -u | while read -r q; do for f in /proc/[0-9]*/fd/*; do ",
    "if [ \"$f\" -ef \"$q\" ]; then echo \"$f $(cat \"${f%/fd/*}/comm\")\"; fi; done; done; }; ",
    "mounts() { lsblk -nro MAJ:MIN \"$p\" | sort -u | while read -r n; do ",
    "grep -h \" $n \" /proc/[0-9]*/mountinfo; done | cut -d ' ' -f 5 | sort -u; }; ",
    "exclusive() { perl -MFcntl -e 'print sysopen(F, $ARGV[0], O_RDONLY|O_EXCL|O_NONBLOCK) ? q(free) : $!+0' \"$p\"; }; ",
);

/// Prints runs of 4 KiB blocks of `$p`. The input gives the first block of each and their number.
const BLOCKS: &str = concat!(
    "if perl -e 1 2>/dev/null; then perl -e 'open(F, \"<\", $ARGV[0]) or die \"$!\"; binmode(F); binmode(STDOUT); ",
    "while (<STDIN>) { my ($a, $n) = split; my $b; sysseek(F, $a * 4096, 0); ",
    "defined(sysread(F, $b, $n * 4096)) or die \"$!\"; print $b }' \"$p\"; ",
    "else while read -r a n; do dd if=\"$p\" bs=4096 skip=$a count=$n 2>/dev/null </dev/null; done; fi",
);

const END_OF_JOB: &str = "# end of the job";

/// Ends the background process when descriptor 3 ends, and itself when that process does.
const WATCHED: &str = concat!(
    "f=$!; (while read -r l; do :; done <&3; kill $f; sleep 3; kill -9 $f) >/dev/null 2>&1 & w=$!; ",
    "exec 3<&-; wait $f; r=$?; kill $w 2>/dev/null; exit $r",
);

const COLUMNS: &str =
    "NAME,PATH,MAJ:MIN,TYPE,SIZE,RO,MOUNTPOINT,FSTYPE,PTTYPE,SERIAL,WWN,MODEL,PKNAME";

/// Error number of EBUSY on Linux. Only there does an exclusive open of a device show users.
const BUSY: &str = "16";

impl Shell for Posix {
    fn look_request(&self, paths: &[PathBuf]) -> ShellRequest {
        let mut line = format!(
            "s system uname -s; s node uname -n; s kernel uname -r; s build uname -v; s threads getconf _NPROCESSORS_ONLN; \
             s fio fio --version; for f in {FILES}; do if [ -r \"$f\" ]; then s \"$f\" cat \"$f\"; fi; done; "
        );
        for path in paths {
            line += &format!(
                "p={}; {DEVICE}s device echo \"$b\"; for f in {OF_DEVICE}; do for f in /sys/class/block/$b/$f; do \
                 if [ -f \"$f\" ]; then s \"$f\" cat \"$f\"; fi; done; done; ",
                shell::path(path)
            );
        }
        ask(&line, &[])
    }

    fn parse_look(&self, said: &[u8], paths: &[PathBuf]) -> Result<SeenHost> {
        let sections = sections(said);
        if !sections.iter().any(|(name, _)| name == "system") {
            bail!("no POSIX shell answered; a path of Windows is written C:\\FOLDER\\FILE");
        }
        let mut facts = facts::of_files(&sections, paths)?;
        facts.hostname = facts.hostname.or_else(|| section_text(&sections, "node"));
        facts.kernel = facts.kernel.or_else(|| section_text(&sections, "kernel"));
        facts.kernel_build = facts.kernel_build.or_else(|| section_text(&sections, "build"));
        facts.os = facts.os.or_else(|| section_text(&sections, "system"));
        facts.cpu.threads =
            facts.cpu.threads.or_else(|| section_text(&sections, "threads")?.parse().ok());
        let version = section_text(&sections, "fio").unwrap_or_default();
        let fio = fio::version_name(version.as_bytes());
        facts.tools.extend(fio.is_some().then(|| ("fio".to_owned(), version)));
        Ok(SeenHost { facts, fio })
    }

    fn inspect_request(&self, path: &Path) -> ShellRequest {
        let line = format!(
            "p={}; {DEVICE}{USERS}k=nothing; if [ -e \"$p\" ]; then k=other; fi; if [ -f \"$p\" ]; then k=file; fi; \
             if [ -d \"$p\" ]; then k='a folder'; fi; if [ -c \"$p\" ]; then k='a character device'; fi; \
             if [ -b \"$p\" ]; then k=block; fi; if [ -L \"$p\" ]; then s link echo yes; fi; s kind echo \"$k\"; \
             s user id -u; s system uname -s; s boot cat /proc/sys/kernel/random/boot_id; \
             if [ \"$k\" = file ]; then s stat stat -L -c '%s %i' \"$p\"; s bsdstat stat -L -f '%z %i' \"$p\"; \
             s open openers; tail -c 4096 \"$p\" | s trailer od -An -v -tx1; fi; \
             if [ \"$k\" = block ]; then s lsblk lsblk -J -b -o {COLUMNS} \"$p\"; s serials lsblk -J -d -o NAME,SERIAL; \
             s sequence cat /sys/class/block/$b/diskseq; s start cat /sys/class/block/$b/start; s partition cat /sys/class/block/$b/partition; s open openers; s mounts mounts; s exclusive exclusive; fi",
            shell::path(path)
        );
        ask(&line, &[])
    }

    fn parse_inspection(&self, path: &Path, said: &[u8]) -> Result<Option<Inspection>> {
        let sections = sections(said);
        let kind = section_text(&sections, "kind").context("it does not say what is there")?;
        let mut found = Inspection {
            symlink: section_text(&sections, "link").is_some(),
            ..Inspection::blank_at(path)
        };
        found.afar = true;
        match kind.as_str() {
            "nothing" => return Ok(None),
            "file" => file(&mut found, &sections)?,
            "block" => device(&mut found, &sections)?,
            other => found.kind = InspectedKind::Other(other.replace("other", "something else")),
        }
        Ok(Some(found))
    }

    /// Reads with one perl or, without it, a dd for each run.
    fn blocks_request(&self, path: &Path, runs: &[(u64, u64)]) -> Option<ShellRequest> {
        let line = format!("p={}; {BLOCKS}", shell::path(path));
        let runs: String = runs.iter().map(|(first, count)| format!("{first} {count}\n")).collect();
        Some(ask(&line, runs.as_bytes()))
    }

    /// Marks the end of the job with a line of ours, after which the input stays open until the
    /// connection ends. The shell itself reads the job, as sed could wait for the line after it.
    fn fio_request(&self, options: &[String], job_file: &str) -> ShellRequest {
        let line = format!(
            "exec 3<&0; cd /; n=$(printf '\\nx'); n=${{n%x}}; j=; \
             while IFS= read -r l && [ \"$l\" != '{END_OF_JOB}' ]; do j=\"$j$l$n\"; done; \
             printf '%s' \"$j\" | fio {} 3<&- & {WATCHED}",
            options.join(" ")
        );
        ShellRequest { held: true, ..ask(&line, format!("{job_file}{END_OF_JOB}\n").as_bytes()) }
    }

    fn ioengines(&self) -> Ioengines {
        Ioengines {
            at_depth_one: "psync",
            deeper: &["io_uring", "libaio", "posixaio"],
            has_disk_util: true,
        }
    }

    /// Flushes with a dd for each path, which opens and flushes it and writes nothing. `date` of
    /// some systems has no nanoseconds.
    fn flush_request(&self, paths: &[&Path]) -> ShellRequest {
        let names: Vec<String> = paths.iter().map(shell::path).collect();
        let line = format!(
            "k=; a=$(date +%s%N); for p in {}; do if [ -e \"$p\" ]; then dd if=/dev/null of=\"$p\" conv=notrunc,fsync & \
             k=\"$k $!\"; else echo \"$p is gone\" >&2; exit 1; fi; done; \
             for i in $k; do wait $i || exit 1; done; s flushed echo $a $(date +%s%N)",
            names.join(" ")
        );
        ask(&line, &[])
    }

    fn flushed_ns(&self, said: &[u8]) -> Result<Option<u64>> {
        let text =
            section_text(&sections(said), "flushed").context("it does not say that it flushed")?;
        // Times are nanoseconds since 1970. A time in seconds alone is nine digits shorter.
        let nanoseconds = |word: &str| word.parse::<u64>().ok().filter(|ns| *ns > 1 << 56);
        let times: Vec<Option<u64>> = text.split(' ').map(nanoseconds).collect();
        match times.as_slice() {
            [Some(from), Some(to)] => Ok(Some(to.saturating_sub(*from))),
            _ => Ok(None),
        }
    }

    /// Uses `set -C`, with which a redirection makes a new file or fails.
    fn create_request(&self, path: &Path) -> ShellRequest {
        let line = format!(
            "p={}; umask 077; set -C; : > \"$p\" || exit 1; s room df -Pk \"$p\"; s stat stat -c '0 %i' \"$p\"; \
             s bsdstat stat -f '0 %i' \"$p\"",
            shell::path(path)
        );
        ask(&line, &[])
    }

    fn parse_created(&self, said: &[u8]) -> Result<Created> {
        let sections = sections(said);
        let (_, inode) =
            size_and_inode(&sections).context("stat does not report the new file's inode")?;
        let room = section_text(&sections, "room").unwrap_or_default();
        let words: Vec<&str> = room.lines().last().unwrap_or_default().split_whitespace().collect();
        let kib = |at: usize| {
            words.get(at).and_then(|word| word.parse::<u64>().ok()).map(|kib| kib << 10)
        };
        let room = kib(1).zip(kib(3));
        let (total, free) =
            room.with_context(|| format!("df does not report the free space: {words:?}"))?;
        Ok(Created { inode, total, free })
    }

    fn mark_request(&self, path: &Path, bytes: u64, marker: &[u8]) -> ShellRequest {
        let blocks = bytes / marker::TRAILER;
        let line = format!(
            "p={}; if [ -f \"$p\" ]; then :; else exit 1; fi; \
             dd if=/dev/null of=\"$p\" bs=4096 seek={blocks} count=0 </dev/null || exit 1; \
             dd of=\"$p\" obs=4096 seek={blocks} conv=notrunc,fsync",
            shell::path(path)
        );
        ask(&line, marker)
    }

    fn fill_request(&self, path: &Path, bytes: u64) -> ShellRequest {
        let line = format!(
            "p={}; if [ -f \"$p\" ]; then :; else exit 1; fi; exec 3<&0; \
             dd if=/dev/urandom of=\"$p\" bs=1048576 count={} conv=notrunc,fsync </dev/null 3<&- & {WATCHED}",
            shell::path(path),
            bytes >> 20
        );
        ShellRequest { held: true, ..ask(&line, &[]) }
    }

    fn remove_request(&self, path: &Path, inode: u64) -> ShellRequest {
        let line = format!(
            "p={}; i=$(stat -c %i \"$p\" 2>/dev/null || stat -f %i \"$p\"); if [ \"$i\" = {inode} ]; then rm -f \"$p\"; \
             else echo \"it is another file now\" >&2; exit 1; fi",
            shell::path(path)
        );
        ask(&line, &[])
    }

    fn how_to_get_fio(&self, os: Option<&str>) -> String {
        let os = os.unwrap_or_default().to_ascii_lowercase();
        let by = |names: &[&str]| names.iter().any(|name| os.contains(name));
        match () {
            () if by(&["debian", "ubuntu"]) => "apt-get install fio",
            () if by(&["red hat", "fedora", "centos", "rocky", "alma", "oracle"]) => {
                "dnf install fio"
            }
            () if by(&["suse"]) => "zypper install fio",
            () if by(&["alpine"]) => "apk add fio",
            () if by(&["arch"]) => "pacman -S fio",
            () if by(&["freebsd"]) => "pkg install fio",
            () if by(&["darwin"]) => "brew install fio",
            () => "install the package fio there",
        }
        .to_owned()
    }
}

fn ask(line: &str, data: &[u8]) -> ShellRequest {
    let mut input = format!("{PRELUDE}{line}\n").into_bytes();
    input.extend(data);
    ShellRequest { command: COMMAND.to_owned(), input, held: false }
}

/// Returns the sections in their order, each with its name and text. What is outside of them comes
/// from a login profile.
pub(super) fn sections(said: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(said);
    let mut found: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line.strip_prefix("IOTAX-SSH ") {
            Some("]") => inside = false,
            Some(mark) => {
                inside = true;
                found.push((mark.trim_start_matches("[ ").to_owned(), String::new()));
            }
            None => {
                if let Some((_, section)) = found.last_mut().filter(|_| inside) {
                    section.push_str(line);
                    section.push('\n');
                }
            }
        }
    }
    found
}

/// Returns a section without the white space around it, or `None` if it is missing or empty.
pub(super) fn section_text(sections: &[(String, String)], name: &str) -> Option<String> {
    let text = sections.iter().find(|(known, _)| known == name)?.1.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn size_and_inode(sections: &[(String, String)]) -> Option<(u64, u64)> {
    let of = |name: &str| {
        let text = section_text(sections, name)?;
        let (size, inode) = text.split_once(' ')?;
        Some((size.parse().ok()?, inode.parse().ok()?))
    };
    of("stat").or_else(|| of("bsdstat"))
}

fn file(found: &mut Inspection, sections: &[(String, String)]) -> Result<()> {
    let (bytes, inode) = size_and_inode(sections).context("stat does not report its size")?;
    let trailer = section_text(sections, "trailer").unwrap_or_default();
    let trailer: Vec<u8> =
        trailer.split_whitespace().filter_map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    found.kind = InspectedKind::File;
    found.identity.inode = Some(inode);
    found.marker = marker::of_trailer(&trailer, bytes).filter(|marker| marker.inode == inode);
    found.bytes = found.marker.as_ref().map_or(bytes, |marker| marker.bytes);
    openers(found, sections);
    Ok(())
}

/// Adds the processes that have it open. Only root of a Linux sees those of other users; else the
/// check is noted as missing.
fn openers(found: &mut Inspection, sections: &[(String, String)]) {
    let linux = section_text(sections, "system").as_deref() == Some("Linux");
    let root = section_text(sections, "user").as_deref() == Some("0");
    if !linux || (!root && found.kind != InspectedKind::File) {
        let why = "open files of other users' processes are not seen over ssh there".to_owned();
        found.unchecked.push(UncheckedPoint { check: InspectionCheck::Open, why });
    }
    let open = section_text(sections, "open").unwrap_or_default();
    let processes: BTreeSet<(&str, &str)> = open
        .lines()
        .filter_map(|line| Some((line.split('/').nth(2)?, line.split_once(' ')?.1)))
        .collect();
    found.occupied.extend(processes.into_iter().map(|(pid, name)| Finding {
        kind: TargetUse::Open,
        text: format!("open in process {pid} ({name})"),
    }));
}

/// Row of lsblk, which prints numbers as JSON numbers or, before util-linux 2.33, as strings.
#[derive(Clone, Debug, Deserialize)]
struct LsblkNode {
    name: String,
    #[serde(rename = "maj:min")]
    devnum: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    size: Option<serde_json::Value>,
    ro: Option<serde_json::Value>,
    mountpoint: Option<String>,
    fstype: Option<String>,
    pttype: Option<String>,
    serial: Option<String>,
    wwn: Option<String>,
    model: Option<String>,
    pkname: Option<String>,
    #[serde(default)]
    children: Vec<LsblkNode>,
}

#[derive(Deserialize)]
struct Lsblk {
    blockdevices: Vec<LsblkNode>,
}

#[derive(Deserialize)]
struct Serials {
    blockdevices: Vec<SerialOf>,
}

#[derive(Deserialize)]
struct SerialOf {
    name: String,
    serial: Option<String>,
}

fn device(found: &mut Inspection, sections: &[(String, String)]) -> Result<()> {
    let text = section_text(sections, "lsblk").context(
        "there is no lsblk that describes the device as JSON (it is missing or too old)",
    )?;
    let all: Lsblk = serde_json::from_str(&text).map_err(|error| anyhow!("lsblk: {error}"))?;
    let node = all.blockdevices.into_iter().next().context("lsblk does not list it")?;
    found.kind = match node.kind.as_deref() {
        Some("part") => {
            InspectedKind::Partition(node.pkname.clone().unwrap_or_else(|| "its disk".into()))
        }
        _ => InspectedKind::Disk,
    };
    found.bytes = node.size.as_ref().and_then(number).context("lsblk does not report its size")?;
    found.read_only = node.ro.as_ref().is_some_and(truth);
    found.identity = identity(&node, sections);
    openers(found, sections);
    add_uses(found, &node, true);
    for point in section_text(sections, "mounts").unwrap_or_default().lines() {
        let known = found
            .occupied
            .iter()
            .any(|finding| finding.text.ends_with(&format!("mounted at {point}")));
        found.occupied.extend(
            (!known)
                .then(|| Finding { kind: TargetUse::Mounted, text: format!("mounted at {point}") }),
        );
    }
    match section_text(sections, "exclusive").as_deref() {
        Some("free") => {}
        Some(BUSY) => found.occupied.push(Finding {
            kind: TargetUse::Exclusive,
            text:
                "held exclusively by the kernel (an exclusive open says: device or resource busy)"
                    .into(),
        }),
        other => {
            let why = format!(
                "it cannot be opened exclusively over ssh: {}",
                other.map_or("there is no perl".into(), |errno| format!("error {errno}"))
            );
            found.unchecked.push(UncheckedPoint { check: InspectionCheck::Exclusive, why });
        }
    }
    if matches!(found.kind, InspectedKind::Partition(_)) {
        let why = "who uses the whole disk of a partition is not looked at over ssh".to_owned();
        found.unchecked.push(UncheckedPoint { check: InspectionCheck::Open, why });
    }
    Ok(())
}

fn identity(node: &LsblkNode, sections: &[(String, String)]) -> Identity {
    let word = |text: &Option<String>| {
        text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let (serial, wwn) = (word(&node.serial), word(&node.wwn));
    let others: Option<Serials> =
        section_text(sections, "serials").and_then(|text| serde_json::from_str(&text).ok());
    let disk = node.pkname.as_deref().unwrap_or(&node.name);
    let same =
        |other: &SerialOf| other.name != disk && serial.is_some() && word(&other.serial) == serial;
    let shared = others
        .map(|all| all.blockdevices.into_iter().filter(same).map(|other| other.name).collect());
    let attached = section_text(sections, "boot").zip(section_text(sections, "sequence"));
    let transient = attached
        .and_then(|(boot, sequence)| Some(format!("boot-{}-diskseq-{sequence}", boot.get(..8)?)));
    Identity {
        name: Some(node.name.clone()),
        devnum: node.devnum.clone(),
        model: word(&node.model),
        transient: transient.filter(|_| serial.is_none() && wwn.is_none()),
        serial,
        wwn,
        serial_shared_with: shared.unwrap_or_default(),
        part: part(node, sections),
        inode: None,
    }
}

/// Returns the extent of a partition from sysfs, in whose units of 512 bytes its start is; `None`
/// for a device that is no partition.
fn part(node: &LsblkNode, sections: &[(String, String)]) -> Option<PartitionExtent> {
    if node.kind.as_deref() != Some("part") {
        return None;
    }
    let field = |name: &str| section_text(sections, name)?.parse::<u64>().ok();
    let start = field("start")?.checked_mul(512)?;
    Some(PartitionExtent {
        number: field("partition")?,
        start,
        bytes: node.size.as_ref().and_then(number)?,
    })
}

/// Adds mounts, swap, devices that the kernel has stacked on it, and signatures, for a device and
/// all that lsblk shows below it. `top` is true for the inspected device itself.
fn add_uses(found: &mut Inspection, node: &LsblkNode, top: bool) {
    let name = &node.name;
    match node.mountpoint.as_deref() {
        Some("[SWAP]") => found
            .occupied
            .push(Finding { kind: TargetUse::Swap, text: format!("{name} is swap space") }),
        Some(point) => found.occupied.push(Finding {
            kind: TargetUse::Mounted,
            text: format!("{name} is mounted at {point}"),
        }),
        None => {}
    }
    let kind = node.kind.as_deref().unwrap_or("something");
    if !top && kind != "part" {
        found
            .occupied
            .push(Finding { kind: TargetUse::Holder, text: format!("{name} ({kind}) is on it") });
    }
    let place = if top { "by lsblk".to_owned() } else { format!("in {name} by lsblk") };
    for signature in [&node.fstype, &node.pttype].into_iter().flatten() {
        // The pttype of a partition is that of its disk.
        let of_the_disk = matches!(found.kind, InspectedKind::Partition(_)) || !top;
        if !(of_the_disk && node.pttype.as_ref() == Some(signature)) {
            found.signatures.push(Signature { name: signature.clone(), place: place.clone() });
        }
    }
    node.children.iter().for_each(|child| add_uses(found, child, false));
}

fn number(value: &serde_json::Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn truth(value: &serde_json::Value) -> bool {
    value.as_bool().unwrap_or_else(|| value.as_str() == Some("1") || value.as_u64() == Some(1))
}

/// Returns the text of each section by its name. The last section of a name counts.
pub(super) fn by_name(sections: &[(String, String)]) -> BTreeMap<&str, &str> {
    sections.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
}
