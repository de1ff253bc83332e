//! Events that measuring reports while it goes on. Measuring itself prints nothing.

use std::sync::atomic::AtomicBool;

#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    Step {
        why: String,
    },
    /// The set-up that follows fills files, as far as they are not full yet.
    Filling {
        /// Bytes of all files together.
        total: u64,
    },
    Reaching {
        place: String,
    },
    Workload {
        subject: String,
        /// Measured time of earlier visits, in seconds.
        spent_s: f64,
        /// Further measured time after which this visit ends at the latest, in seconds.
        budget_s: f64,
    },
    /// Work before or after the rounds: the pilot, the baseline alone.
    Phase {
        what: String,
    },
    /// Work before or after the rounds that may take a minute or more.
    LongPhase {
        what: String,
    },
    Preconditioned {
        text: String,
    },
    Round(LiveState),
    Trial {
        text: String,
    },
    /// A remark on what is done and why.
    Note {
        text: String,
    },
    Warning {
        text: String,
    },
    WorkloadEnd {
        reason: String,
    },
    Removing,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LiveState {
    pub round: usize,
    /// Measured time so far, in seconds.
    pub elapsed_s: f64,
    /// Estimated time left, in seconds; `None` before there is an interval.
    pub left_s: Option<f64>,
    pub comparisons: Vec<LiveComparison>,
}

/// Comparison of a stack with the baseline by the rounds so far. The interval comes from a
/// confidence sequence, which stays valid although it is watched.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveComparison {
    pub stack: String,
    /// Cost so far as a fraction (negative: it gains).
    pub cost: f64,
    /// Half-width of the interval as a fraction; `None` before there are enough rounds.
    pub half_width: Option<f64>,
    /// Cost of reads and of writes in a mix, by the totals so far.
    pub directions: Option<[f64; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorAnswer {
    Done,
    Stopped,
    /// Nobody is there to ask.
    Nobody,
}

pub trait Observer {
    fn notify(&mut self, event: RunEvent);

    /// Asks a person to do something, and waits until they say that it is done or `stop` is set.
    fn ask_operator(&mut self, _request: &str, _stop: &AtomicBool) -> OperatorAnswer {
        OperatorAnswer::Nobody
    }
}
