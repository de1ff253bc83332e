//! vdbench's keys, a table for each part of a file: what is honoured, noted or refused. The order within a part is that
//! in which vdbench looks, because the first key that a shortened one begins is the one that is meant.
//! (Read off vdbench 5.04.06.)

use super::super::error::{Fault, nearest};
use super::super::jobfile::{
    COMMANDS, CPU, DATA, Noted, OFFSETS, PACE, REPLAY, REPORTS, Shaping, TARGET, TIMING, Unused, VERIFY,
    unknown_key,
};

/// A kind of definition, or what stands before the first one.
pub(super) struct Part {
    /// The key that begins a definition.
    pub(super) name: &'static str,
    what: &'static str,
    /// Whole keys, which may be shortened to two letters.
    keys: &'static [&'static str],
    /// Keys that may not.
    exact: &'static [&'static str],
    /// Other words for a key.
    aliases: &'static [(&'static str, &'static str)],
    pub(super) unused: Unused,
}

/// A parameter's key in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full {
    /// The whole word.
    pub(super) word: &'static str,
    /// The one that is kept of all words for the same: a later one takes its place.
    pub(super) slot: &'static str,
}

impl Part {
    /// The key that a word is, or is short for.
    pub(super) fn full(&self, written: &str) -> Option<Full> {
        let exact = self.exact.iter().find(|key| **key == written);
        let word = exact.or_else(|| self.keys.iter().find(|key| key.starts_with(written)))?;
        let slot = self.aliases.iter().find(|(alias, _)| alias == word).map_or(*word, |(_, slot)| *slot);
        Some(Full { word, slot })
    }

    /// Why a key is none of this part.
    pub(super) fn unknown(&self, written: &str) -> Fault {
        let known = self.known();
        let elsewhere = ALL.iter().find(|part| part.keys.contains(&written));
        match elsewhere.filter(|_| nearest(written, &known).is_none()) {
            Some(part) => Fault::hint(
                format!("unknown key of {}", self.what),
                format!(
                    "it is one of {}; vdbench reads all sd= before the first wd=, and all wd= before the first rd=",
                    part.what
                ),
            ),
            None => unknown_key(self.what, written, &known),
        }
    }

    pub(super) fn known(&self) -> Vec<&'static str> {
        self.keys.iter().chain(self.exact).copied().collect()
    }
}

/// All parts in the order in which they stand in a file.
pub(super) const ALL: &[&Part] = &[&GENERAL, &HD, &SD, &WD, &RD];

const GENERATOR: &str = "iotax sets its own generator up";
const PLACE: &str = "the load runs where the stack is";
const HITS: &str = "hits in a part of the target that is small enough for a cache are another load";
const SYNTHETIC: &str = "it changes how much of what is written is alike";
const FILES: &str = "iotax issues raw I/O, and no operations on files and folders";
const FORMAT: &str = "files are always written in full before measuring";
const STREAMS: &str = "it changes how many sequential passes are under way";
const ENDS: &str = "an I/O that fails is always counted as failed";
const JOINED: &str = "one address space over several SDs is a layer";

/// What stands before the first definition.
pub(super) const GENERAL: Part = Part {
    name: "",
    what: "what stands before the first definition",
    keys: &[
        "compratio",
        "compressionseed",
        "port",
        "pattern",
        "data_errors",
        "dataerrors",
        "swat",
        "validate",
        "unix2windows",
        "formatxfersize",
        "create_anchors",
        "formatsds",
        "report",
        "report_run_totals",
        "histogram",
        "psrset",
        "auxreport",
        "monitor",
        "concatenatesds",
        "messagescan",
        "abort_failed_skew",
        "misc",
    ],
    exact: &[
        "compression",
        "dedup",
        "dedupratio",
        "dedupunit",
        "dedupacross",
        "dedupmaxkey",
        "dedupsets",
        "deduphotsets",
        "dedupflipflop",
        "journal",
        "startcmd",
        "start_cmd",
        "endcmd",
        "end_cmd",
        "heartbeat_error",
        "debug",
        "pattern_buffer",
        "showlba",
        "loop",
    ],
    aliases: &[("compression", "compratio")],
    unused: Unused { noted: GENERAL_NOTED, shaping: GENERAL_SHAPING },
};

const GENERAL_NOTED: &[Noted] = &[
    ("compressionseed", "write data follow randseed"),
    ("port", GENERATOR),
    ("data_errors", ENDS),
    ("dataerrors", ENDS),
    ("unix2windows", TARGET),
    ("formatxfersize", FORMAT),
    ("create_anchors", FORMAT),
    ("formatsds", FORMAT),
    ("report", REPORTS),
    ("report_run_totals", REPORTS),
    ("histogram", REPORTS),
    ("auxreport", REPORTS),
    ("monitor", REPORTS),
    ("messagescan", "iotax does not read the system's log"),
    ("abort_failed_skew", "skew= is honoured exactly or refused"),
    ("showlba", REPORTS),
    ("loop", TIMING),
];

const ONE_RATIO: &str = "write dedupratio=1, or leave the key out";

const GENERAL_SHAPING: &[Shaping] = &[
    ("dedup", &[], SYNTHETIC, ONE_RATIO),
    ("dedupratio", &["1"], SYNTHETIC, ONE_RATIO),
    ("dedupunit", &[], SYNTHETIC, ONE_RATIO),
    ("dedupacross", &[], SYNTHETIC, ONE_RATIO),
    ("dedupmaxkey", &[], SYNTHETIC, ONE_RATIO),
    ("dedupsets", &[], SYNTHETIC, ONE_RATIO),
    ("deduphotsets", &[], SYNTHETIC, ONE_RATIO),
    ("dedupflipflop", &[], SYNTHETIC, ONE_RATIO),
    ("pattern", &[], DATA, "write compratio=N for data that compress N to 1"),
    ("pattern_buffer", &[], DATA, ""),
    ("swat", &[], "vdbench itself takes it no longer", "remove the line"),
    ("validate", &["no"], VERIFY, "in a scenario a workload has verify = true"),
    ("journal", &["no"], VERIFY, ""),
    ("psrset", &[], CPU, ""),
    ("concatenatesds", &["no"], JOINED, "write it as a layer of the stack"),
    // A fixed seed, when a silent host is given up, and how files are made: no load is another one by these.
    ("debug", &["8", "27", "28", "86"], "some of its numbers change what I/O is issued", ""),
    ("misc", &[], "it may change what I/O is issued", ""),
    ("startcmd", &[], COMMANDS, "run it yourself before"),
    ("start_cmd", &[], COMMANDS, "run it yourself before"),
    ("endcmd", &[], COMMANDS, "run it yourself afterwards"),
    ("end_cmd", &[], COMMANDS, "run it yourself afterwards"),
    ("heartbeat_error", &[], COMMANDS, ""),
];

/// Hosts.
pub(super) const HD: Part = Part {
    name: "hd",
    what: "a host (hd)",
    keys: &["system", "vdbench", "shell", "user", "jvms", "clients", "mount"],
    exact: &[],
    aliases: &[],
    unused: Unused {
        noted: &[
            ("system", PLACE),
            ("vdbench", PLACE),
            ("shell", PLACE),
            ("user", PLACE),
            ("jvms", GENERATOR),
        ],
        shaping: &[
            ("clients", &["1"], FILES, ""),
            ("mount", &[], COMMANDS, "mount it yourself, or write it as a layer of the stack"),
        ],
    },
};

/// Storage definitions.
pub(super) const SD: Part = Part {
    name: "sd",
    what: "a storage definition (sd)",
    keys: &[
        "host",
        "lun",
        "count",
        "size",
        "threads",
        "hitarea",
        "offset",
        "align",
        "kstat",
        "instance",
        "replay",
        "journal",
        "resetlun",
        "resetbus",
        "openflags",
        "range",
        "streams",
    ],
    exact: &[
        "hd",
        "dedup",
        "dedupratio",
        "dedupunit",
        "dedupacross",
        "dedupmaxkey",
        "dedupsets",
        "deduphotsets",
        "dedupflipflop",
    ],
    aliases: &[],
    unused: Unused {
        noted: &[
            ("host", PLACE),
            ("hd", PLACE),
            ("lun", TARGET),
            ("hitarea", "only rhpct and whpct make use of it, and they are 0"),
            ("kstat", REPORTS),
            ("instance", REPORTS),
        ],
        shaping: &[
            ("count", &[], "it makes several SDs of one", "write one sd= for each"),
            ("align", &["0"], OFFSETS, "I/Os are aligned to xfersize"),
            ("replay", &[], REPLAY, ""),
            ("journal", &[], VERIFY, ""),
            ("resetlun", &["0"], PACE, ""),
            ("resetbus", &["0"], PACE, ""),
            ("streams", &[], STREAMS, ""),
            ("dedup", &[], SYNTHETIC, ONE_RATIO),
            ("dedupratio", &["1"], SYNTHETIC, ONE_RATIO),
            ("dedupunit", &[], SYNTHETIC, ONE_RATIO),
            ("dedupacross", &[], SYNTHETIC, ONE_RATIO),
            ("dedupmaxkey", &[], SYNTHETIC, ONE_RATIO),
            ("dedupsets", &[], SYNTHETIC, ONE_RATIO),
            ("deduphotsets", &[], SYNTHETIC, ONE_RATIO),
            ("dedupflipflop", &[], SYNTHETIC, ONE_RATIO),
        ],
    },
};

/// Workload definitions.
pub(super) const WD: Part = Part {
    name: "wd",
    what: "a workload definition (wd)",
    keys: &[
        "skew",
        "xfersize",
        "readpct",
        "rdpct",
        "writepct",
        "wrpct",
        "range",
        "hotband",
        "seekpct",
        "stride",
        "priority",
        "iorate",
        "rhpct",
        "whpct",
        "host",
        "openflags",
        "threads",
        "streams",
    ],
    exact: &["sd", "hd", "user"],
    aliases: &[("readpct", "rdpct"), ("writepct", "rdpct"), ("wrpct", "rdpct")],
    unused: Unused {
        noted: &[("host", PLACE), ("hd", PLACE)],
        shaping: &[
            ("hotband", &[], OFFSETS, "this version draws uniformly"),
            ("stride", &[], OFFSETS, ""),
            ("priority", &[], PACE, "write skew= and iorate=N of the rd"),
            ("iorate", &[], PACE, "write skew= and iorate=N of the rd"),
            ("rhpct", &["0"], HITS, "write a range= that the cache holds"),
            ("whpct", &["0"], HITS, "write a range= that the cache holds"),
            ("threads", &[], JOINED, "write threads= of the sd or the rd"),
            ("streams", &[], STREAMS, ""),
            ("user", &[], "iotax runs no code of others", ""),
        ],
    },
};

/// Run definitions.
pub(super) const RD: Part = Part {
    name: "rd",
    what: "a run definition (rd)",
    keys: &[
        "iorate",
        "curve",
        "stopcurve",
        "elapsed",
        "interval",
        "warmup",
        "pause",
        "forxfersize",
        "forthreads",
        "forrdpct",
        "forrhpct",
        "forwhpct",
        "forseekpct",
        "forhitarea",
        "forcompratio",
        "forcompression",
        "fordepth",
        "forwidth",
        "forfiles",
        "forsizes",
        "fortotalsize",
        "forwss",
        "forworkingsetsize",
        "foroperations",
        "xfersize",
        "threads",
        "rdpct",
        "rhpct",
        "whpct",
        "seekpct",
        "hitarea",
        "compratio",
        "compression",
        "depth",
        "width",
        "files",
        "sizes",
        "totalsize",
        "wss",
        "workingsetsize",
        "distribution",
        "startcmd",
        "start_cmd",
        "endcmd",
        "end_cmd",
        "fwdrate",
        "operations",
        "format",
        "openflags",
        "mount",
    ],
    exact: &["wd", "sd", "replay", "maxdata", "maxdataread", "maxdatawritten"],
    aliases: &[
        ("forxfersize", "xfersize"),
        ("forthreads", "threads"),
        ("forrdpct", "rdpct"),
        ("forseekpct", "seekpct"),
        ("forcompratio", "compratio"),
        ("forcompression", "compratio"),
        ("compression", "compratio"),
    ],
    unused: Unused { noted: RD_NOTED, shaping: RD_SHAPING },
};

const RD_NOTED: &[Noted] = &[
    ("curve", "it acts only on iorate=curve"),
    ("stopcurve", "it acts only on iorate=curve"),
    ("elapsed", TIMING),
    ("interval", REPORTS),
    ("warmup", "the start of each slice is discarded"),
    ("pause", TIMING),
    ("maxdata", TIMING),
    ("maxdataread", TIMING),
    ("maxdatawritten", TIMING),
];

const RD_SHAPING: &[Shaping] = &[
    ("forrhpct", &["0", "(0)"], HITS, "write a range= that the cache holds"),
    ("forwhpct", &["0", "(0)"], HITS, "write a range= that the cache holds"),
    ("forhitarea", &["0", "(0)"], HITS, "write a range= that the cache holds"),
    ("rhpct", &["0", "(0)"], HITS, "write a range= that the cache holds"),
    ("whpct", &["0", "(0)"], HITS, "write a range= that the cache holds"),
    ("hitarea", &["0", "(0)"], HITS, "write a range= that the cache holds"),
    ("fordepth", &[], FILES, ""),
    ("forwidth", &[], FILES, ""),
    ("forfiles", &[], FILES, ""),
    ("forsizes", &[], FILES, ""),
    ("fortotalsize", &[], FILES, ""),
    ("forwss", &[], FILES, ""),
    ("forworkingsetsize", &[], FILES, ""),
    ("foroperations", &[], FILES, ""),
    ("depth", &[], FILES, ""),
    ("width", &[], FILES, ""),
    ("files", &[], FILES, ""),
    ("sizes", &[], FILES, ""),
    ("totalsize", &[], FILES, ""),
    ("wss", &[], FILES, ""),
    ("workingsetsize", &[], FILES, ""),
    ("fwdrate", &[], FILES, ""),
    ("operations", &[], FILES, ""),
    ("format", &[], FILES, ""),
    ("mount", &[], COMMANDS, "mount it yourself, or write it as a layer of the stack"),
    ("replay", &[], REPLAY, ""),
    ("startcmd", &[], COMMANDS, "run it yourself before"),
    ("start_cmd", &[], COMMANDS, "run it yourself before"),
    ("endcmd", &[], COMMANDS, "run it yourself afterwards"),
    ("end_cmd", &[], COMMANDS, "run it yourself afterwards"),
];

/// Keys that begin definitions of other kinds, and why those are refused.
pub(super) const OTHER_KINDS: &[Noted] = &[("fsd", FILES), ("fwd", FILES), ("rg", REPLAY)];
