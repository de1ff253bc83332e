//! What measuring tells while it goes on. Measuring itself prints nothing.

use std::sync::atomic::AtomicBool;

#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    /// A step is about to be performed.
    Step {
        /// What it is for.
        why: String,
    },
    /// What the files of a set-up still lack is filled now and then between its steps.
    Filling {
        /// Bytes of all of them.
        total: u64,
    },
    /// A guest boots, a host is reached.
    Reaching {
        place: String,
    },
    Workload {
        subject: String,
        /// Measured time of earlier visits, seconds.
        spent_s: f64,
        /// After how much more of it this visit ends at the latest, seconds.
        budget_s: f64,
    },
    /// What is done before or after the rounds: the pilot, the baseline alone.
    Phase {
        what: String,
    },
    /// The same where it may take a minute or more.
    LongPhase {
        what: String,
    },
    Preconditioned {
        text: String,
    },
    /// A round is over.
    Round(LiveState),
    /// A durability trial is over.
    Trial {
        text: String,
    },
    /// What was understood of the scenario and is not asked for by it.
    Note {
        text: String,
    },
    /// A reader must know.
    Warning {
        text: String,
    },
    /// A workload is over.
    WorkloadEnd {
        reason: String,
    },
    /// Everything is being removed.
    TakingDown,
}

/// The state after a round.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveState {
    pub round: usize,
    /// Measured time so far, seconds.
    pub elapsed_s: f64,
    /// Estimated time left, seconds; `None` before there is an interval.
    pub left_s: Option<f64>,
    /// A line a comparison.
    pub comparisons: Vec<LiveComparison>,
}

/// One comparison while it narrows. The interval is the confidence sequence: it may be watched.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveComparison {
    /// Name of the stack.
    pub stack: String,
    /// Cost so far, a fraction (negative: it gains).
    pub cost: f64,
    /// Half-width of the interval, a fraction; `None` before there are enough rounds.
    pub half_width: Option<f64>,
    /// Of a mix, the same cost of reads and of writes, by the totals so far.
    pub directions: Option<[f64; 2]>,
}

/// What a person said to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorAnswer {
    Done,
    Stopped,
    /// Nobody is there to ask.
    Nobody,
}

pub trait Observer {
    fn tell(&mut self, event: RunEvent);

    /// Asks a person to do something, and waits until they say that it is done or `stop` is set.
    fn ask(&mut self, _request: &str, _stop: &AtomicBool) -> OperatorAnswer {
        OperatorAnswer::Nobody
    }
}
