//! Classifies fio's lines by their first letters.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FioLineKind {
    Version,
    Client,
    Started,
    Asked,
    Eta,
    Job,
    Result,
    Latency,
    PercentileHead,
    Percentiles,
    Cpu,
    Issued,
    Group,
    Status,
    /// Latencies of syncs, or of I/Os of one priority, which belong to no direction.
    Aside,
    /// A line of a job's results without a figure to read: samples, buckets, depths.
    Within,
    /// Another line of fio without a figure to read.
    Known,
    Blank,
    Foreign,
}

impl FioLineKind {
    pub(super) fn is_within_a_job(self) -> bool {
        use FioLineKind::*;
        matches!(
            self,
            Result | Latency | PercentileHead | Percentiles | Cpu | Issued | Aside | Within
        )
    }
}

/// Beginnings of lines (separated by `;`; a blank matches any number of blanks or none), text that
/// the lines contain, and their kind.
const LINES: &[(&str, &str, FioLineKind)] = &[
    ("|", "th=[", FioLineKind::Percentiles),
    ("hostname=", "fio=fio-", FioLineKind::Client),
    ("Run status group ", "", FioLineKind::Group),
    ("bw (;iops :", "min=", FioLineKind::Within),
    ("issued", "total=", FioLineKind::Issued),
    ("cpu :", "usr=", FioLineKind::Cpu),
    ("IO depths :;latency : target=", "", FioLineKind::Within),
    ("fsync/fdatasync;sync (;sync percentiles (", "", FioLineKind::Aside),
    // `clat prio 0/4 (usec): min=`, `clat prio 0/4 (12.30% of IOs) percentiles (usec):`.
    ("clat prio ;slat prio ;lat prio ", "sec)", FioLineKind::Aside),
    ("clat percentiles (;slat percentiles (;lat percentiles (", "", FioLineKind::PercentileHead),
    ("READ: bw=;WRITE: bw=;TRIM: bw=;MIXED: bw=", "run=", FioLineKind::Status),
    ("READ: io=;WRITE: io=;TRIM: io=;MIXED: io=", "aggrb=", FioLineKind::Status),
    ("errors :", "total=", FioLineKind::Known),
    (
        "fio: ;Description :;Disk stats (;note: both iodepth >= 1;complete :;submit :;steadystate :;...",
        "",
        FioLineKind::Known,
    ),
];

/// Returns true if an output may begin here: only at lines that nothing but fio prints. Called for
/// every line of every page.
pub(super) fn begins(line: &str) -> bool {
    let text = line.trim_start();
    match text.as_bytes().first() {
        None => false,
        Some(b'f') if text.starts_with("fio-") => is_version_line(text),
        Some(b'r' | b'w' | b't' | b'm') if is_result(text) => true,
        Some(b'R') if text.starts_with("Run status group ") => true,
        _ => text.len() > 12 && job_line_kind(text).is_some(),
    }
}

pub(super) fn line_kind(line: &str) -> FioLineKind {
    let text = line.trim();
    let is = |(labels, within, _): &&(&str, &str, FioLineKind)| {
        text.contains(within) && after_label(text, labels).is_some()
    };
    match () {
        () if text.is_empty() => FioLineKind::Blank,
        () if text.starts_with("fio-") && is_version_line(text) => FioLineKind::Version,
        () if text.starts_with("Starting ") && started(text) => FioLineKind::Started,
        () if text.starts_with("Jobs: ") && eta(text) => FioLineKind::Eta,
        () if is_result(text) => FioLineKind::Result,
        () => job_line_kind(text)
            .or_else(|| LINES.iter().find(is).map(|(.., kind)| *kind))
            .or_else(|| latency(text))
            .or_else(|| is_disk_line(text).then_some(FioLineKind::Known))
            .or_else(|| text.contains(": Laying out IO file").then_some(FioLineKind::Known))
            .unwrap_or(FioLineKind::Foreign),
    }
}

/// Returns the text after its label, if that is one of `labels`.
fn after_label<'a>(text: &'a str, labels: &str) -> Option<&'a str> {
    let mut labels = labels.split(';').map(|label| label.split(' '));
    labels.find_map(|mut label| {
        label.try_fold(text, |text, word| text.trim_start().strip_prefix(word))
    })
}

/// Recognises lines that begin with the name of a job: `test: (g=0): rw=`, `test: (groupid=0,
/// jobs=4): err=`.
fn job_line_kind(text: &str) -> Option<FioLineKind> {
    let (_, rest) = text.split_once(": (g")?;
    if rest.starts_with('=') && rest.contains("): rw=") {
        return Some(FioLineKind::Asked);
    }
    (rest.starts_with("roupid=") && rest.contains("): err=")).then_some(FioLineKind::Job)
}

/// Returns the number of `Run status group 3 (all jobs):`.
pub(super) fn group_of(line: &str) -> Option<u64> {
    line.trim().strip_prefix("Run status group ")?.split(' ').next()?.parse().ok()
}

fn is_version_line(text: &str) -> bool {
    super::FioVersion::parse_fio_version(text).is_some() && !text.contains(' ')
}

fn started(text: &str) -> bool {
    text["Starting ".len()..].starts_with(|letter: char| letter.is_ascii_digit())
        && (text.contains("process") || text.contains("thread"))
}

/// Returns true for `Jobs: 4 (f=4): [m(4)]...`.
fn eta(text: &str) -> bool {
    text["Jobs: ".len()..].trim_start().starts_with(|letter: char| letter.is_ascii_digit())
        && text.contains("(f=")
}

/// Returns true for `read: IOPS=`, `read : io=`: the direction, a colon, and what fio prints after
/// it.
fn is_result(text: &str) -> bool {
    let rest = after_label(text, "read :;write :;trim :;mixed :");
    rest.map(str::trim_start).is_some_and(|rest| {
        rest.starts_with("IOPS=") || (rest.starts_with("io=") && rest.contains("iops="))
    })
}

/// Recognises `slat (usec): min=`, `lat (usec) : 2=0.1%`.
fn latency(text: &str) -> Option<FioLineKind> {
    let rest = after_label(text, "slat (;clat (;lat (")?;
    let (unit, rest) = rest.split_once(')')?;
    let rest = after_label(rest, " :")?.trim_start();
    match matches!(unit, "nsec" | "usec" | "msec") {
        true if rest.starts_with("min=") => Some(FioLineKind::Latency),
        known => (known && rest.contains('%')).then_some(FioLineKind::Within),
    }
}

fn is_disk_line(text: &str) -> bool {
    let Some(at) = text.find(": ios=") else { return false };
    at <= 64 && !text[..at].contains(' ') && (text.contains("merge=") || text.contains("sectors="))
}
