//! Loads that a page asks fio for: command lines, and job files line by line.

/// A load as it was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// Index of its first line.
    pub line: usize,
    /// Index of its last.
    pub last: usize,
    /// `randread`.
    pub rw: Option<String>,
    /// Bytes of an I/O.
    pub bs: Option<u64>,
    /// I/Os in flight a job; fio's default is one.
    pub iodepth: u64,
    /// Jobs.
    pub numjobs: u64,
    /// Whether it goes around the page cache.
    pub direct: bool,
    /// `libaio`.
    pub ioengine: Option<String>,
}

/// Reads commands line by line.
#[derive(Default)]
pub(super) struct Reader {
    done: Vec<Command>,
    job: Option<Command>,
}

impl Reader {
    pub(super) fn line(&mut self, at: usize, text: &str) {
        if text.len() > 4000 {
            return self.end_job();
        }
        let bare = text.trim();
        if bare.starts_with('[') && bare.ends_with(']') && bare.len() > 2 && !bare.contains(' ') {
            let job = self.job.get_or_insert_with(|| new(at));
            job.last = at;
            return;
        }
        if let Some(job) = &mut self.job {
            match bare.split_once('=') {
                Some((key, value)) if key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') => {
                    set(job, key, value);
                    job.last = at;
                }
                None if bare.is_empty()
                    || bare == "group_reporting"
                    || bare == "time_based"
                    || bare == "thread" => {}
                _ => self.end_job(),
            }
            return;
        }
        if memchr::memmem::find(bare.as_bytes(), b"rw=").is_some() && bare.split_whitespace().any(is_fio) {
            let mut command = new(at);
            for (key, value) in bare.split_whitespace().filter_map(|part| part.split_once('=')) {
                set(&mut command, key.trim_start_matches('-'), value);
            }
            self.done.push(command);
        }
    }

    /// What follows is no line of the job that was read.
    pub(super) fn end_job(&mut self) {
        self.done.extend(self.job.take().filter(|job| job.rw.is_some()));
    }

    pub(super) fn done(mut self) -> Vec<Command> {
        self.end_job();
        self.done
    }
}

fn is_fio(word: &str) -> bool {
    word == "fio" || word.ends_with("/fio") || word == "fio.exe"
}

fn new(line: usize) -> Command {
    Command { line, last: line, iodepth: 1, numjobs: 1, ..Command::default() }
}

fn set(command: &mut Command, key: &str, value: &str) {
    let value = value.trim().trim_matches(['"', '\'', '`']);
    match key {
        "rw" | "readwrite" => command.rw = Some(value.to_owned()),
        "bs" | "blocksize" => command.bs = size(value),
        "iodepth" => command.iodepth = value.parse().unwrap_or(command.iodepth),
        "numjobs" => command.numjobs = value.parse().unwrap_or(command.numjobs),
        "direct" => command.direct = value == "1",
        "buffered" => command.direct = value == "0",
        "ioengine" => command.ioengine = Some(value.to_owned()),
        _ => {}
    }
}

/// `4k`, `1m`, `4096`, `128KiB`.
pub(crate) fn size(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text.get(..digits)?.parse().ok()?;
    let shift = match text[digits..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        _ => return None,
    };
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
}

impl Command {
    /// I/Os in flight in all.
    pub fn in_flight(&self) -> u64 {
        self.iodepth.saturating_mul(self.numjobs)
    }
}
