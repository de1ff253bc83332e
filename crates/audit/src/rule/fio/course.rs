//! Compares the end of a run with its mean.

use super::JobDirection;
use crate::evidence::EvidenceSink;
use crate::finding::{Finding, Severity};
use crate::import::ResultDirection;
use crate::import::fio::index_of;
use crate::number::PrintedNumber;

/// Returns the bandwidth of the last progress line, if that is from the end of a run that is long
/// enough.
fn last(run: &JobDirection) -> Option<PrintedNumber> {
    let eta = run.fio.eta.as_ref()?;
    let long = run.runtime_ms()? >= 30e3 && eta.done.is_some_and(|done| done >= 95.0);
    // Progress lines cover all jobs together.
    let only = run.fio.jobs.len() == 1 && run.direction.way != ResultDirection::Both;
    eta.bytes_per_second[index_of(run.direction.way)]
        .filter(|figure| long && only && figure.value > 0.0)
}

pub(super) fn end(run: &JobDirection, sink: &mut EvidenceSink) -> Option<()> {
    let (last, mean) = (last(run)?, run.direction.bandwidth?);
    let off = last.value / mean.value - 1.0;
    if off.abs() <= 0.1 {
        sink.plausible("F28", &last);
        return None;
    }
    let message = format!(
        "the run ended at {}, {:+.0} % from its mean of {}: no steady state, the mean depends on when it was stopped",
        run.page.quote(last.spot),
        100.0 * off,
        run.page.quote(mean.spot)
    );
    sink.finds(Finding::new("F28", Severity::Ambiguous, mean.spot, message).against([last.spot]));
    Some(())
}
