//! Pages of one machine, command or sentence and a figure that it bounds: sound where the figure lies within, a slip where it does not.

use super::{Draft, Guise, Random, Role};

/// What a page says, and the figure in it.
pub struct Case {
    /// The rule that knows the bound.
    pub rule: &'static str,
    /// Lines; `@` is where the figure stands.
    page: &'static str,
    /// The figure.
    figure: Figure,
}

/// The figure of a case: sound, wrong.
enum Figure {
    /// Between two values each.
    Between(Guise, [f64; 2], [f64; 2]),
    /// Words.
    Words(&'static str, &'static str),
}

const MB: Guise = Guise::new(1e6, 0, " MB/s");
const IOPS: Guise = Guise::new(1.0, 0, " IOPS");
const COUNT: Guise = Guise::new(1.0, 0, "");

/// All of them.
pub const CASES: &[Case] = &[
    Case {
        rule: "P1",
        page: "Both hosts are connected by 10GbE.\n\n| iSCSI | MB/s |\n|---|---|\n| 1M sequential read | @ |",
        figure: Figure::Between(MB, [600e6, 1100e6], [2000e6, 3000e6]),
    },
    Case {
        rule: "P2",
        page: "We round down to 34 Gbits/sec (or 4.25 Gbytes/s).\n\n| iSER | MB/s |\n|---|---|\n| 4M sequential write | @ |",
        figure: Figure::Between(MB, [3000e6, 4100e6], [4500e6, 5500e6]),
    },
    Case {
        rule: "P3",
        page: "The drive sits behind PCIe 3.0 x4.\n\n| load | MB/s |\n|---|---|\n| 128k sequential read | 3604 MB/s |\n| 4k random read | @ |\n\n\
               Sequential and random reads are limited by the PCIe 3.0 x4 interface.",
        figure: Figure::Between(MB, [3530e6, 3600e6], [2000e6, 3100e6]),
    },
    Case {
        rule: "P4",
        page: "The drive sits behind PCIe 3.0 x4.\n\n| load | guest | host |\n|---|---|---|\n| 128k sequential read | @ | 3604 MB/s |",
        figure: Figure::Between(MB, [2000e6, 3000e6], [3560e6, 3600e6]),
    },
    Case {
        rule: "P5",
        page: "A Samsung 980 PRO is measured.\n\n| load | result |\n|---|---|\n| 4k random read | @ |",
        figure: Figure::Between(IOPS, [300e3, 900e3], [1300e3, 2000e3]),
    },
    Case {
        rule: "P6",
        page: "| PM9A3 | bare |\n|---|---|\n| 4k random read qd=1 | @ |",
        figure: Figure::Between(MB, [40e6, 60e6], [95e6, 200e6]),
    },
    Case {
        rule: "P7",
        page: "| load | physical host | VM |\n|---|---|---|\n| 4k random read | 2000 IOPS | @ |\n| 1M sequential read | 1056 MiB/s | 980 MiB/s |",
        figure: Figure::Between(IOPS, [1200.0, 2000.0], [6000.0, 20_000.0]),
    },
    Case {
        rule: "P10",
        page: "Drives: 6xPM9A3 1.92TB\n\n## LVM - iSER\n\n| LVM - iSER | IOPS |\n|---|---|\n| 4k-50rdpct-80randompct | 131652.90 |\n\
               | 8k-75rdpct-80randompct | 122509.10 |\n| 4k-0rdpct-100randompct | @ |\n| 4k-100rdpct-100randompct | 129386.40 |",
        figure: Figure::Between(COUNT, [240e3, 400e3], [125e3, 138e3]),
    },
    Case {
        rule: "P11",
        page: "The RAID has a 6+2 layout.\n\n@ each drive reads 100k IOPS and writes 50k IOPS.",
        figure: Figure::Words("From the data sheet:", "The theoretical rate of 8 drives:"),
    },
    Case {
        rule: "P12",
        page: "CPU: dual AMD EPYC 9534, 64 cores\nMemory: 768 GB\n\nWe ran @ VMs.\nEvery one has 8 vCPUs.",
        figure: Figure::Between(COUNT, [2.0, 15.0], [40.0, 60.0]),
    },
    Case {
        rule: "P13",
        page: "Drives: 10 x Kioxia CM7-V 3.2TB\nCPU: dual AMD EPYC 9534, 64 cores\nEach CPU has 8 CCDs, each CCD of 8 cores.\n\
               The target runs on 2 cores per CCD.\n\nIt has @ IOPS per core.",
        figure: Figure::Between(Guise::new(1e6, 2, "M"), [0.2e6, 0.6e6], [1.0e6, 1.3e6]),
    },
    Case {
        rule: "P14",
        page: "```\nfio --name=a --rw=randread --bs=4k --iodepth=16 --numjobs=1 --filename=/dev/rbd0\n\
               fio --name=b --rw=read --bs=1m --iodepth=@ --numjobs=1 --filename=/dev/rbd0\n```\n\n\
               The network was not saturated; the bottleneck is the software.",
        figure: Figure::Words("32", "1"),
    },
    Case {
        rule: "M7",
        page: "```\n$ dd if=/dev/zero of=/data/test bs=1M count=1024@\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2 s, 537 MB/s\n```",
        figure: Figure::Words(" oflag=direct", ""),
    },
    Case {
        rule: "M8",
        page: "```\n$ zpool create -O compression=@ tank /dev/sdb\n$ dd if=/dev/zero of=/tank/file bs=1M count=1024 oflag=direct\n\
               1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2 s, 537 MB/s\n```",
        figure: Figure::Words("off", "lz4"),
    },
    Case {
        rule: "M9",
        page: "```\nfio --name=a --rw=randread --bs=4k --ioengine=@ --iodepth=32 --filename=/dev/sdb\n```",
        figure: Figure::Words("libaio", "psync"),
    },
    Case {
        rule: "M12",
        page: "PCIe 4.0 drives compared\n\nServer: PowerEdge @",
        figure: Figure::Words("R750", "R740"),
    },
    Case {
        rule: "M13",
        page: "Ubuntu 20.04 was tried as well, but Ubuntu 22.04 was faster.\n\n| @ | IOPS |\n|---|---|\n| read | 20.1k |\n| write | 18.3k |",
        figure: Figure::Words("Ubuntu 20.04", "load"),
    },
];

/// The page of a random case.
pub(super) fn bounded(draft: &mut Draft, random: &mut Random) {
    let at = random.below(CASES.len());
    let case = &CASES[at];
    let (text, value, guise) = shown(case, random, false);
    let (mark, _) = draft.plant_text(text, value, guise, Role::Bounded(at));
    for line in case.page.replace('@', &mark).lines() {
        draft.line(line);
    }
}

/// The figure of a case, wrong or sound.
fn shown(case: &Case, random: &mut Random, wrong: bool) -> (String, f64, Guise) {
    match &case.figure {
        Figure::Between(guise, sound, beyond) => {
            let [low, high] = if wrong { *beyond } else { *sound };
            let value = random.between(low, high);
            (guise.show(value), value, *guise)
        }
        Figure::Words(sound, beyond) => ((if wrong { beyond } else { sound }).to_string(), 0.0, COUNT),
    }
}

/// Puts the figure of a page of that rule's case out of its bounds; which figure.
pub fn exceed(draft: &mut Draft, random: &mut Random, rule: &str) -> Option<usize> {
    let of = |role: &Role| matches!(role, Role::Bounded(at) if CASES[*at].rule == rule);
    let id = draft.figures.iter().position(|figure| of(&figure.role))?;
    let Role::Bounded(at) = draft.figures[id].role else { return None };
    draft.figures[id].text = shown(&CASES[at], random, true).0;
    Some(id)
}
