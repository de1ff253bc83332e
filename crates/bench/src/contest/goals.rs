//! Goals of the load generator as data: the target, the load, the opponent and the bound. They were
//! first measured with a prototype and the peers on a two-core cloud machine; the ratios are from
//! one run there and apply to no other machine.

use super::{Contender, ContestLoad, Peer, TargetKind};
use iotax_load::{EngineName, Iomem, Rw, Stamping};

/// A target, a load, and the contenders compared under it.
#[derive(Debug)]
pub struct Contest {
    pub spot: TargetKind,
    pub name: &'static str,
    /// Engine of iotax; others use the interface that is closest to it.
    pub engine: EngineName,
    pub bs: u64,
    /// I/Os in flight per thread.
    pub iodepth: u32,
    pub numjobs: u32,
    /// Lines of the contest's result.
    pub lines: &'static [GoalLine],
}

/// Something that must hold.
#[derive(Debug, PartialEq)]
pub struct GoalLine {
    /// Number of the goal.
    pub goal: u8,
    pub of: GoalFigure,
    pub ours: Ours,
    /// Opponent of iotax; `None` if iotax is measured by itself.
    pub against: Option<Contender>,
    /// Goal that the value must meet.
    pub bound: GoalBound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalFigure {
    Iops,
    /// CPU time in user mode per I/O.
    UserNs,
    /// CPU time per I/O.
    CpuNs,
    /// Share of the kernel in the CPU time.
    KernelShare,
    /// Wall time per I/O.
    NsAnIo,
}

/// Variant of iotax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ours {
    pub stamps: Stamping,
    /// Pages of the buffers.
    pub iomem: Iomem,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GoalBound {
    AtLeast(f64),
    AtMost(f64),
}

impl GoalBound {
    /// Returns true if the value meets the goal.
    pub fn holds(self, value: f64) -> bool {
        match self {
            GoalBound::AtLeast(least) => value >= least,
            GoalBound::AtMost(most) => value <= most,
        }
    }
}

const EACH: Ours = Ours { stamps: Stamping::Each, iomem: Iomem::Malloc };
const BATCH: Ours = Ours { stamps: Stamping::Batch, iomem: Iomem::Malloc };
const OFF: Ours = Ours { stamps: Stamping::Off, iomem: Iomem::Malloc };
const HUGE: Ours = Ours { stamps: Stamping::Each, iomem: Iomem::MmapHuge };

/// Compares the IOPS of iotax with another's.
const fn iops(goal: u8, ours: Ours, against: Peer, least: f64) -> GoalLine {
    GoalLine {
        goal,
        of: GoalFigure::Iops,
        ours,
        against: Some(Contender::Peer(against)),
        bound: GoalBound::AtLeast(least),
    }
}

/// Compares the IOPS of iotax with its own IOPS without latencies.
const fn recording(goal: u8, ours: Ours, least: f64) -> GoalLine {
    GoalLine {
        goal,
        of: GoalFigure::Iops,
        ours,
        against: Some(Contender::Ours(OFF)),
        bound: GoalBound::AtLeast(least),
    }
}

const fn alone(goal: u8, of: GoalFigure, ours: Ours, bound: GoalBound) -> GoalLine {
    GoalLine { goal, of, ours, against: None, bound }
}

const fn cpu(goal: u8, ours: Ours, against: Peer, most: f64) -> GoalLine {
    GoalLine {
        goal,
        of: GoalFigure::CpuNs,
        ours,
        against: Some(Contender::Peer(against)),
        bound: GoalBound::AtMost(most),
    }
}

use GoalBound::{AtLeast, AtMost};
use GoalFigure::{KernelShare, NsAnIo, UserNs};
use Peer::{FioDefault, FioHuge, FioLean, FioTuned, TIoUring};

pub const ALL: &[Contest] = &[
    Contest {
        spot: TargetKind::Nothing,
        name: "no I/O at all",
        engine: EngineName::Null,
        bs: 4096,
        iodepth: 32,
        numjobs: 1,
        lines: &[
            iops(1, EACH, FioTuned, 5.0),
            iops(1, EACH, FioLean, 3.0),
            alone(1, NsAnIo, EACH, AtMost(20.0)),
        ],
    },
    Contest {
        spot: TargetKind::PageCache,
        name: "a page-cached file",
        engine: EngineName::Uring,
        bs: 4096,
        iodepth: 32,
        numjobs: 1,
        lines: &[
            iops(2, EACH, FioDefault, 1.9),
            iops(2, EACH, FioTuned, 1.33),
            iops(2, EACH, FioLean, 1.28),
            iops(2, EACH, TIoUring, 1.0),
            alone(6, UserNs, BATCH, AtMost(15.0)),
            alone(6, UserNs, EACH, AtMost(40.0)),
            alone(7, KernelShare, BATCH, AtLeast(0.97)),
        ],
    },
    Contest {
        spot: TargetKind::PageCache,
        name: "a page-cached file",
        engine: EngineName::Uring,
        bs: 4096,
        iodepth: 1,
        numjobs: 1,
        lines: &[iops(2, EACH, FioTuned, 1.33), iops(2, EACH, TIoUring, 1.0)],
    },
    Contest {
        spot: TargetKind::PageCache,
        name: "a page-cached file",
        engine: EngineName::Uring,
        bs: 4096,
        iodepth: 128,
        numjobs: 1,
        lines: &[iops(2, EACH, FioTuned, 1.33), iops(2, EACH, TIoUring, 1.0)],
    },
    Contest {
        spot: TargetKind::Zero,
        name: "/dev/zero",
        engine: EngineName::Uring,
        bs: 4096,
        iodepth: 32,
        numjobs: 1,
        lines: &[
            iops(3, EACH, FioDefault, 2.9),
            iops(3, EACH, FioTuned, 1.25),
            iops(3, BATCH, FioDefault, 3.0),
            iops(3, BATCH, FioTuned, 1.3),
            iops(3, BATCH, FioLean, 1.25),
            alone(6, UserNs, BATCH, AtMost(15.0)),
            alone(6, UserNs, EACH, AtMost(40.0)),
            alone(7, KernelShare, BATCH, AtLeast(0.97)),
            recording(8, BATCH, 0.98),
            recording(8, EACH, 0.93),
        ],
    },
    Contest {
        spot: TargetKind::Zram,
        name: "zram",
        engine: EngineName::Sync,
        bs: 4096,
        iodepth: 1,
        numjobs: 1,
        lines: &[
            iops(4, EACH, FioTuned, 1.4),
            iops(4, EACH, TIoUring, 1.05),
            alone(7, KernelShare, BATCH, AtLeast(0.97)),
        ],
    },
    Contest {
        spot: TargetKind::Zram,
        name: "zram",
        engine: EngineName::Aio,
        bs: 4096,
        iodepth: 32,
        numjobs: 1,
        lines: &[
            iops(5, EACH, FioDefault, 1.95),
            iops(5, EACH, FioTuned, 1.12),
            iops(5, EACH, TIoUring, 1.0),
            alone(7, KernelShare, BATCH, AtLeast(0.97)),
        ],
    },
    Contest {
        spot: TargetKind::Zram,
        name: "zram",
        engine: EngineName::Aio,
        bs: 4096,
        iodepth: 1,
        numjobs: 1,
        lines: &[iops(5, EACH, FioTuned, 1.45)],
    },
    Contest {
        spot: TargetKind::PageCache,
        name: "a page-cached file",
        engine: EngineName::Uring,
        bs: 4096,
        iodepth: 32,
        numjobs: 2,
        lines: &[iops(9, EACH, FioTuned, 1.33), iops(9, EACH, TIoUring, 1.0)],
    },
    Contest {
        spot: TargetKind::Zram,
        name: "zram",
        engine: EngineName::Aio,
        bs: 1 << 20,
        iodepth: 8,
        numjobs: 1,
        lines: &[iops(10, HUGE, FioTuned, 2.5), iops(10, HUGE, FioHuge, 1.0)],
    },
    Contest {
        spot: TargetKind::PageCache,
        name: "a page-cached file",
        engine: EngineName::Uring,
        bs: 1 << 20,
        iodepth: 8,
        numjobs: 1,
        lines: &[iops(10, EACH, FioTuned, 1.08)],
    },
    Contest {
        spot: TargetKind::Disk,
        name: "a file with O_DIRECT",
        engine: EngineName::Uring,
        bs: 4096,
        iodepth: 32,
        numjobs: 1,
        lines: &[
            iops(11, EACH, FioTuned, 0.97),
            iops(11, EACH, FioDefault, 0.97),
            cpu(11, EACH, FioTuned, 0.95),
            cpu(11, EACH, FioDefault, 0.65),
        ],
    },
];

impl Contest {
    /// Returns every contender of the lines, iotax first.
    pub fn contenders(&self) -> Vec<Contender> {
        let ours = self.lines.iter().map(|line| Contender::Ours(line.ours));
        let others = self.lines.iter().filter_map(|line| line.against);
        let mut all: Vec<Contender> = Vec::new();
        for who in ours.chain(others) {
            if !all.contains(&who) {
                all.push(who);
            }
        }
        all
    }

    pub fn load(&self) -> ContestLoad {
        ContestLoad {
            rw: Rw::RandRead,
            bs: self.bs,
            iodepth: self.iodepth,
            numjobs: self.numjobs,
            direct: self.spot.direct(),
            engine: Some(self.engine),
            iomem: Iomem::Malloc,
            rate_iops: None,
        }
    }

    /// Returns `a page-cached file, uring, 4 KiB, iodepth 32 x 2`.
    pub fn to_sentence(&self) -> String {
        let bs = iotax_units::show_bytes(self.bs);
        let jobs = if self.numjobs > 1 { format!(" x {}", self.numjobs) } else { String::new() };
        format!("{}, {}, {bs}, iodepth {}{jobs}", self.name, self.engine, self.iodepth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_one_to_eleven_and_each_contest_has_lines() {
        let mut goals: Vec<u8> =
            ALL.iter().flat_map(|contest| contest.lines).map(|line| line.goal).collect();
        goals.sort_unstable();
        goals.dedup();
        assert_eq!(goals, (1..=11).collect::<Vec<_>>());
        for contest in ALL {
            assert!(contest.contenders().len() > 1, "{}", contest.to_sentence());
        }
    }

    #[test]
    fn bounds_hold_at_themselves() {
        assert!(AtLeast(1.0).holds(1.0) && !AtLeast(1.0).holds(0.99));
        assert!(AtMost(1.0).holds(1.0) && !AtMost(1.0).holds(1.01));
    }
}
