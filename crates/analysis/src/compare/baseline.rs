//! Design of a workload's measurement, and a check whether the other stacks disturbed the baseline
//! while they were up but not loaded.

use crate::compare::ratio::EstimatedRatio;
use crate::findings::{DesignReport, InterferenceCheck, MeasuredFigure, SliceStart};
use crate::gather::reading::WorkloadView;
use crate::gather::rounds;
use crate::gather::rounds::RoundTotal;
use iotax_load::Transient;
use iotax_model::record::Purpose;
use iotax_model::stack::Stack;
use iotax_stats::conclusion::{size_words as said_size, width};
use iotax_stats::pilot::Pattern;
use iotax_stats::round::percent_up;
use iotax_stats::{Concludes, RatioChange, Verdict, alone};
use iotax_units::show_ns;

pub fn design(reading: &WorkloadView) -> Option<DesignReport> {
    let design =
        reading.run.designs.iter().rfind(|design| design.workload == reading.workload.name)?;
    let order = match design.pattern {
        Pattern::Mirror => "a random order and its mirror image",
        Pattern::Double => "a random order, its mirror image, and both the other way round",
    };
    let period =
        design.period_ns.map(|ns| format!("; something comes back every {}", show_ns(ns as f64)));
    let pilot = match design.pilot_slices {
        0 => String::new(),
        slices => format!(" (pilot of {slices} slices)"),
    };
    let in_turn = design.series.map(|series| {
        let discard = show_ns(series.discard_ns as f64);
        format!(", {} rounds in a series, the first {discard} of each discarded", series.rounds)
    });
    Some(DesignReport {
        sentence: format!(
            "slices of {} in {order}{}{}: {}{pilot}",
            show_ns(design.slice_ns as f64),
            in_turn.unwrap_or_default(),
            period.unwrap_or_default(),
            design.why
        ),
        slice_ns: design.slice_ns,
        pattern: design.pattern,
        period_ns: design.period_ns,
        pilot_slices: design.pilot_slices,
        why: design.why.clone(),
        starts: design
            .series
            .map(|series| starts(reading, design.slice_ns + series.discard_ns))
            .unwrap_or_default(),
    })
}

/// Returns each stack's rate over the course of a slice of this length, from all visits, in percent
/// of its steady rate. Slices with one I/O at a time are left out.
fn starts(reading: &WorkloadView, slice_ns: u64) -> Vec<SliceStart> {
    let of_stack = |stack: &Stack| {
        let ours = reading.run.transients.iter().filter(|one| {
            !one.one_at_a_time && one.workload == reading.workload.name && one.stack == stack.name
        });
        let mut whole = Transient::default();
        ours.for_each(|one| whole.merge(&one.transient));
        // The ends of windows cut the last bins.
        let bins = (slice_ns / whole.bin_ns.max(1)).saturating_sub(2) as usize;
        let ios = whole.ios.get(..bins).filter(|ios| ios.len() >= 2)?;
        let late = &ios[bins / 2..];
        let steady = late.iter().sum::<u64>() as f64 / late.len() as f64;
        let percent = ios.iter().map(|ios| 100.0 * *ios as f64 / steady).collect();
        (steady > 0.0).then(|| SliceStart {
            stack: stack.name.clone(),
            bin_ns: whole.bin_ns,
            percent,
        })
    };
    reading.run.start.scenario.stacks.iter().filter_map(of_stack).collect()
}

/// Compares the baseline's rate while the other stacks are up with its rate alone, in the rounds
/// that have both. `None` if there are no such rounds.
pub fn interference(reading: &WorkloadView) -> Option<InterferenceCheck> {
    let base = reading.run.start.scenario.baseline;
    let side = |purpose| rounds::sides(reading.run, reading.workload, purpose).0.swap_remove(base);
    let (alone, beside) = (side(Purpose::Alone), side(Purpose::Beside));
    let rate = |round: &RoundTotal| {
        let amount = if reading.workload.writes() { round.bytes } else { round.ios };
        amount / round.window_s
    };
    let pairs: Vec<(f64, f64)> = alone
        .rounds
        .iter()
        .filter_map(|(id, round)| Some((rate(round), rate(beside.rounds.get(id)?))))
        .collect();
    if pairs.is_empty() {
        return None;
    }
    let found = alone::beside_over_alone(&pairs);
    let verdict = Verdict::of_rounds(&found, reading.zone());
    let ratio = found.map_or_else(MeasuredFigure::missing, |found| {
        EstimatedRatio::Rounds(found).estimated_figure()
    });
    let therefore = match &reading.run.apart {
        Some(_) => " (it was measured in visits therefore)",
        None => "",
    };
    Some(InterferenceCheck {
        sentence: format!("{}{therefore}", verdict_words(&verdict)),
        ratio,
        verdict,
    })
}

fn verdict_words(verdict: &Verdict) -> String {
    const BESIDE: &str = "beside the other stacks the baseline runs";
    match verdict {
        Verdict::Costs { cost: value, low, high, .. } => {
            format!(
                "{BESIDE} {} slower",
                said_size(RatioChange { value: *value, low: *low, high: *high }, true)
            )
        }
        Verdict::Gains { gain: value, low, high, .. } => {
            format!(
                "{BESIDE} {} faster",
                said_size(RatioChange { value: *value, low: *low, high: *high }, false)
            )
        }
        Verdict::NoDifference { above } => {
            format!("{BESIDE} as it does alone: no difference above {}", percent_up(*above))
        }
        Verdict::Unresolved { change, reason, .. } => {
            let wide = change
                .as_ref()
                .and_then(width)
                .map(|wide| format!(" ({wide})"))
                .unwrap_or_default();
            format!("whether the other stacks disturb the baseline is unresolved{wide}: {reason}")
        }
    }
}
