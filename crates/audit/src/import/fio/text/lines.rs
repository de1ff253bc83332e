//! Which of fio's lines a line is, by its first letters. Asked of every line of every page.

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `fio-3.16`.
    Version,
    /// `hostname=a, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-3.33, flags=1` of client mode.
    Client,
    /// `Starting 4 processes`.
    Started,
    /// `test: (g=0): rw=randrw, ...`.
    Asked,
    /// `Jobs: 4 (f=4): [m(4)]...`.
    Eta,
    /// `test: (groupid=0, jobs=4): err= 0: ...`.
    Job,
    /// `read: IOPS=26.0k, BW=...`, `read : io=..., bw=...`.
    Result,
    /// ` lat (usec): min=...`.
    Latency,
    /// `clat percentiles (usec):`.
    PercentileHead,
    /// `| 1.00th=[ 48], ...`.
    Percentiles,
    /// `bw ( KiB/s): min=...`.
    Bandwidth,
    /// `iops : min=...`.
    Iops,
    /// `lat (usec) : 2=0.04%, ...`.
    Buckets,
    /// `cpu : usr=...`.
    Cpu,
    /// `IO depths : 1=100.0%`.
    Depths,
    /// `issued rwts: total=...`.
    Issued,
    /// `latency : target=0, ...`.
    Target,
    /// `Run status group 0 (all jobs):`.
    Group,
    /// `READ: bw=...`.
    Status,
    /// `Disk stats (read/write):`.
    DiskHead,
    /// `sda: ios=...`.
    Disk,
    /// Latencies of syncs, or of I/Os of one priority: not of a way.
    Aside,
    /// A line of fio's without a figure that is read: `submit`, `complete`, `...`, `Laying out`.
    Known,
    /// Nothing.
    Blank,
    /// Not fio's.
    Foreign,
}

impl Kind {
    /// Whether it stands between a job's first line and its last.
    pub(super) fn is_within_a_job(self) -> bool {
        matches!(
            self,
            Kind::Result
                | Kind::Latency
                | Kind::PercentileHead
                | Kind::Percentiles
                | Kind::Bandwidth
                | Kind::Iops
                | Kind::Buckets
                | Kind::Cpu
                | Kind::Depths
                | Kind::Issued
                | Kind::Target
                | Kind::Aside
        )
    }
}

/// Whether an output may begin here: only at lines that nothing but fio prints.
pub(super) fn begins(line: &str) -> bool {
    let text = line.trim_start();
    match text.as_bytes().first() {
        None => false,
        Some(b'f') if text.starts_with("fio-") => version(text),
        Some(b'J') if text.starts_with("Jobs: ") => eta(text),
        Some(b'r' | b'w' | b't' | b'm') if is_result(text) => true,
        Some(b'R') if text.starts_with("Run status group ") => true,
        _ => text.len() > 12 && (asked(text) || job(text)),
    }
}

/// The kind of a line.
pub(super) fn kind(line: &str) -> Kind {
    let text = line.trim();
    let Some(first) = text.as_bytes().first() else { return Kind::Blank };
    let labelled =
        |label: &str| text.strip_prefix(label).is_some_and(|rest| rest.trim_start().starts_with(':'));
    let known = |kind, is: bool| is.then_some(kind);
    let by_first = match first {
        b'|' => known(Kind::Percentiles, text.contains("th=[")),
        b'f' if text.starts_with("fsync/fdatasync") => Some(Kind::Aside),
        b'f' if text.starts_with("fio: ") => Some(Kind::Known),
        b'f' => known(Kind::Version, text.starts_with("fio-") && version(text)),
        b'h' => known(Kind::Client, text.starts_with("hostname=") && text.contains("fio=fio-")),
        b'S' => known(Kind::Started, text.starts_with("Starting ") && started(text)),
        b'J' => known(Kind::Eta, text.starts_with("Jobs: ") && eta(text)),
        b'r' | b'w' | b't' | b'm' => known(Kind::Result, is_result(text)),
        b'R' if text.starts_with("Run status group ") => Some(Kind::Group),
        b'R' | b'W' | b'T' | b'M' => known(Kind::Status, is_status(text)),
        b'D' if labelled("Description") => Some(Kind::Known),
        b'D' => known(Kind::DiskHead, text.starts_with("Disk stats (")),
        b'I' => known(Kind::Depths, labelled("IO depths")),
        b'n' => known(Kind::Known, text.starts_with("note: both iodepth >= 1")),
        b'e' => known(Kind::Known, labelled("errors") && text.contains("total=")),
        b'b' => known(Kind::Bandwidth, bandwidth(text)),
        b'i' if labelled("iops") => known(Kind::Iops, text.contains("min=")),
        b'i' => known(Kind::Issued, text.starts_with("issued") && text.contains("total=")),
        b'c' if labelled("cpu") => known(Kind::Cpu, text.contains("usr=")),
        b'c' | b's' if ["complete", "submit", "steadystate"].iter().any(|label| labelled(label)) => {
            Some(Kind::Known)
        }
        b'l' if labelled("latency") => known(Kind::Target, text.contains("target=")),
        b'c' | b's' | b'l' => latency(text),
        b'.' => known(Kind::Known, text == "..."),
        _ => None,
    };
    by_first.unwrap_or_else(|| named(text))
}

/// Lines that begin with the name of a job, a disk or a host.
fn named(text: &str) -> Kind {
    if asked(text) {
        Kind::Asked
    } else if job(text) {
        Kind::Job
    } else if disk(text) {
        Kind::Disk
    } else if sync_latency(text) {
        Kind::Aside
    } else if text.contains(": Laying out IO file") {
        Kind::Known
    } else {
        Kind::Foreign
    }
}

/// The number of `Run status group 3 (all jobs):`.
pub(super) fn group_of(line: &str) -> Option<u64> {
    let rest = line.trim().strip_prefix("Run status group ")?;
    rest.split(' ').next()?.parse().ok()
}

fn version(text: &str) -> bool {
    super::Version::read(text).is_some() && !text.contains(' ')
}

fn started(text: &str) -> bool {
    let rest = &text["Starting ".len()..];
    rest.starts_with(|letter: char| letter.is_ascii_digit())
        && (rest.contains("process") || rest.contains("thread"))
}

fn eta(text: &str) -> bool {
    text["Jobs: ".len()..].trim_start().starts_with(|letter: char| letter.is_ascii_digit())
        && text.contains("(f=")
}

/// `read: IOPS=`, `read : io=`: the way, a colon, what fio prints behind it.
fn is_result(text: &str) -> bool {
    let way = ["read", "write", "trim", "mixed"].iter().find(|way| text.starts_with(**way));
    let Some(rest) = way.and_then(|way| text[way.len()..].trim_start().strip_prefix(':')) else {
        return false;
    };
    let rest = rest.trim_start();
    rest.starts_with("IOPS=") || (rest.starts_with("io=") && rest.contains("iops="))
}

fn is_status(text: &str) -> bool {
    let way = ["READ:", "WRITE:", "TRIM:", "MIXED:"].iter().find(|way| text.starts_with(**way));
    let Some(rest) = way.map(|way| text[way.len()..].trim_start()) else { return false };
    (rest.starts_with("bw=") && rest.contains("run=")) || (rest.starts_with("io=") && rest.contains("aggrb="))
}

fn bandwidth(text: &str) -> bool {
    text.strip_prefix("bw").is_some_and(|rest| rest.trim_start().starts_with('(')) && text.contains("min=")
}

/// `slat (usec): min=`, `lat (usec) : 2=0.1%`, `clat percentiles (usec):`.
fn latency(text: &str) -> Option<Kind> {
    let rest = ["slat", "clat", "lat"].iter().find_map(|name| text.strip_prefix(name))?;
    let rest = rest.trim_start();
    // `clat prio 0/4 (usec): min=`, `clat prio 0/4 (12.30% of IOs) percentiles (usec):`.
    if rest.starts_with("prio ") && rest.contains("sec)") {
        return Some(Kind::Aside);
    }
    if rest.starts_with("percentiles (") {
        return Some(Kind::PercentileHead);
    }
    let (unit, behind) = rest.strip_prefix('(')?.split_once(')')?;
    matches!(unit, "nsec" | "usec" | "msec").then_some(())?;
    let behind = behind.trim_start().strip_prefix(':')?.trim_start();
    if behind.starts_with("min=") {
        Some(Kind::Latency)
    } else {
        behind.contains('%').then_some(Kind::Buckets)
    }
}

/// `test: (g=0): rw=`.
fn asked(text: &str) -> bool {
    let Some(at) = text.find(": (g=") else { return false };
    text[at..].contains("): rw=")
}

/// `test: (groupid=0, jobs=4): err=`.
fn job(text: &str) -> bool {
    let Some(at) = text.find(": (groupid=") else { return false };
    text[at..].contains("): err=")
}

/// `sda: ios=1/2, merge=`.
fn disk(text: &str) -> bool {
    let Some(at) = text.find(": ios=") else { return false };
    at <= 64 && !text[..at].contains(' ') && (text.contains("merge=") || text.contains("sectors="))
}

/// `sync (usec): min=`, `sync percentiles (usec):`.
fn sync_latency(text: &str) -> bool {
    text.strip_prefix("sync").is_some_and(|rest| rest.starts_with(" (") || rest.starts_with(" percentiles ("))
}
