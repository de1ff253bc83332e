//! A load as far as a page says it: in a command, an output, a head, a label or a line of text.
//! Two texts mean one load if nothing that both say differs and one of
//! them says all that the other does.

use iotax_audit::import::workload::Workload;

/// A load in fio's words; `None` is what the text does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PageLoad {
    pub read: bool,
    pub write: bool,
    pub random: Option<bool>,
    /// Number of bytes per I/O.
    pub bs: Option<u64>,
    pub iodepth: Option<u64>,
    pub numjobs: Option<u64>,
    pub fsync: Option<u64>,
    pub end_fsync: bool,
    /// Share of reads in percent.
    pub rwmixread: Option<u64>,
    /// Percent of I/Os at random offsets, where only a part of them is.
    pub percentage_random: Option<u64>,
    pub engine: Option<String>,
    pub size: Option<String>,
    pub runtime: Option<String>,
    pub probe: Option<&'static str>,
    /// Number of the line that says it first.
    pub line: u32,
}

/// Shares of I/Os in percent that a load may have.
const WHOLE: u64 = 100;

impl PageLoad {
    /// Returns true if the text says a direction or a probe, without which it names no load.
    pub fn is_named(&self) -> bool {
        self.read || self.write || self.probe.is_some() || self.rwmixread.is_some()
    }

    /// Returns true if the text says nothing but reads or writes, which may be those of a mix.
    pub fn is_direction_alone(&self) -> bool {
        let alone =
            PageLoad { read: self.read, write: self.write, line: self.line, ..PageLoad::default() };
        self.read != self.write && *self == alone
    }

    pub fn is_mix(&self) -> bool {
        self.read && self.write
    }

    /// Reads the direction from a mix: 0 % of reads are writes.
    pub fn settle(mut self) -> PageLoad {
        if let Some(share) = self.rwmixread {
            (self.read, self.write) = (share > 0, share < WHOLE);
        }
        if self.read != self.write {
            self.rwmixread = None;
        }
        if let Some(share) = self.percentage_random {
            self.random = Some(share > 0);
            self.percentage_random = Some(share).filter(|share| (1..WHOLE).contains(share));
        }
        self
    }

    pub fn from_workload(workload: &Workload, ways: (bool, bool), line: u32) -> PageLoad {
        let mut load = PageLoad { line, ..PageLoad::default() };
        match &workload.rw {
            Some(rw) => load.set_rw(rw),
            None => (load.read, load.write) = ways,
        }
        load.bs = workload.bs;
        load.iodepth = workload.iodepth;
        load.numjobs = workload.numjobs;
        load.engine.clone_from(&workload.ioengine);
        load.rwmixread = workload.rwmixread.map(|share| share as u64).filter(|_| load.is_mix());
        load
    }

    /// Sets the direction and order from fio's word: `randrw`. Other words change nothing.
    pub fn set_rw(&mut self, word: &str) {
        let word = word.split([':', ',']).next().unwrap_or(word).to_ascii_lowercase();
        let way = word.strip_prefix("rand").unwrap_or(&word);
        let (read, write) = match way {
            "read" => (true, false),
            "write" => (false, true),
            "rw" | "readwrite" => (true, true),
            _ => return,
        };
        (self.read, self.write, self.random) = (read, write, Some(way.len() < word.len()));
    }

    /// Returns true if both may be one load: nothing that both say differs, and one of them says
    /// all that the other does.
    pub fn fits(&self, other: &PageLoad) -> bool {
        let numbers = |load: &PageLoad| {
            let order = load.random.map(u64::from);
            [
                order,
                load.bs,
                load.iodepth,
                load.numjobs,
                load.rwmixread,
                load.percentage_random,
                load.fsync,
            ]
        };
        let (own, others) = (numbers(self), numbers(other));
        let pairs = || own.iter().zip(&others);
        // A mix at random offsets and one of which a part is are two loads.
        let parts =
            [self, other].map(|load| load.percentage_random.is_some() || load.rwmixread.is_some());
        (self.read, self.write, self.probe) == (other.read, other.write, other.probe)
            && parts[0] == parts[1]
            && pairs().all(|(one, other)| one.is_none() || other.is_none() || one == other)
            && (pairs().all(|(one, other)| one.is_none() || other.is_some())
                || pairs().all(|(one, other)| other.is_none() || one.is_some()))
    }

    /// Adds what the other text says of the same load.
    pub fn learn(&mut self, other: &PageLoad) {
        fn fill<T: Clone>(own: &mut Option<T>, other: &Option<T>) {
            if own.is_none() {
                own.clone_from(other);
            }
        }
        (self.read, self.write) = (self.read || other.read, self.write || other.write);
        self.end_fsync |= other.end_fsync;
        fill(&mut self.random, &other.random);
        fill(&mut self.bs, &other.bs);
        fill(&mut self.iodepth, &other.iodepth);
        fill(&mut self.numjobs, &other.numjobs);
        fill(&mut self.fsync, &other.fsync);
        fill(&mut self.rwmixread, &other.rwmixread);
        fill(&mut self.percentage_random, &other.percentage_random);
        fill(&mut self.engine, &other.engine);
        fill(&mut self.size, &other.size);
        fill(&mut self.runtime, &other.runtime);
        fill(&mut self.probe, &other.probe);
    }

    /// Returns fio's word for direction and order; `None` if the page says no direction.
    pub fn rw_word(&self) -> Option<&'static str> {
        Some(match (self.read, self.write, self.random == Some(true)) {
            (true, true, true) => "randrw",
            (true, true, false) => "rw",
            (true, false, true) => "randread",
            (true, false, false) => "read",
            (false, true, true) => "randwrite",
            (false, true, false) => "write",
            (false, false, _) => return None,
        })
    }

    /// Returns a name made of what the load says: `randread-4k-qd32-x4`.
    pub fn name(&self) -> String {
        if let Some(probe) = self.probe {
            return probe.trim_end_matches(')').replace('(', "-");
        }
        let bs = self.bs.map(|bs| match bs {
            _ if bs % (1 << 20) == 0 => format!("-{}M", bs >> 20),
            _ if bs % 1024 == 0 => format!("-{}k", bs >> 10),
            _ => format!("-{bs}"),
        });
        let part = |sign: &str, number: Option<u64>| number.map(|number| format!("{sign}{number}"));
        let parts = [
            self.rw_word().map(str::to_owned).or_else(|| Some("load".to_owned())),
            part("", self.rwmixread),
            bs,
            part("-random", self.percentage_random),
            part("-qd", self.iodepth),
            part("-x", self.numjobs.filter(|jobs| *jobs > 1)),
            part("-fsync", self.fsync),
        ];
        parts.into_iter().flatten().collect()
    }
}

/// Loads of a page, each once.
#[derive(Default)]
pub(super) struct LoadList {
    pub all: Vec<PageLoad>,
}

impl LoadList {
    /// Returns the index of the load that a text means: the only one that it fits, or a new one.
    /// What the text says beyond it is added.
    pub fn find_or_add(&mut self, load: &PageLoad) -> usize {
        let mut fitting = (0..self.all.len()).filter(|at| self.all[*at].fits(load));
        let first = fitting.next();
        let found = match first {
            Some(at) if fitting.next().is_none() => Some(at),
            // Of several, one that the text says wholly.
            Some(_) => {
                self.all.iter().position(|known| known.name() == load.name() && known.fits(load))
            }
            None => None,
        };
        let at = found.unwrap_or_else(|| {
            self.all.push(load.clone());
            self.all.len() - 1
        });
        self.all[at].learn(load);
        at
    }

    /// Returns the only load of I/O; `None` if there are none or several.
    pub fn only(&self) -> Option<usize> {
        let mut io = (0..self.all.len()).filter(|at| self.all[*at].probe.is_none());
        io.next().filter(|_| io.next().is_none())
    }

    /// Returns the only mix of reads and writes, if no load of the page is of that direction alone.
    pub fn only_mix(&self, way: &PageLoad) -> Option<usize> {
        let mut mixes = (0..self.all.len()).filter(|at| self.all[*at].is_mix());
        let first = mixes.next().filter(|_| mixes.next().is_none());
        first.filter(|_| !self.all.iter().any(|load| load.fits(way)))
    }
}
