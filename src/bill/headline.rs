//! The one sentence of a run, or why there is none. Emulated comparisons never make one; "no difference" and what
//! a ceiling masks do not either, since a ceiling that both share looks the same.

use super::findings::{ChargeFinding, Charges, Comparison, WorkloadFindings};
use crate::stats::Verdict;

/// A sentence with the size of what it says.
struct Candidate<'a> {
    effect: f64,
    sentence: &'a str,
}

/// The largest difference in throughput; where there is none, the largest in latency at the matched rate, and then in
/// CPU time. Of the stack that is a ruler, if one is, none.
///
/// # Errors
/// Why there is none.
pub fn headline(workloads: &[WorkloadFindings], ruler: Option<&str>) -> Result<String, String> {
    let all: Vec<&Comparison> = workloads
        .iter()
        .flat_map(WorkloadFindings::all_comparisons)
        .filter(|one| Some(one.stack.as_str()) != ruler)
        .collect();
    let real: Vec<&Comparison> = all.iter().copied().filter(|one| one.emulated.is_none()).collect();
    let charges: Vec<&Charges> = workloads
        .iter()
        .flat_map(WorkloadFindings::all_charges)
        .filter(|one| one.emulated.is_none() && Some(one.stack.as_str()) != ruler)
        .collect();
    let by_rate = real.iter().filter(|one| one.masked.is_none()).filter_map(|one| rate(one));
    let by_charge = |pick: fn(&Charges) -> &ChargeFinding| {
        largest(charges.iter().filter_map(|one| charge(pick(one))), charges.len())
    };
    let said = largest(by_rate, real.len()).or_else(|| {
        let said = by_charge(|one| &one.latency).or_else(|| by_charge(|one| &one.cpu))?;
        let masked = real.iter().any(|one| one.masked.is_some());
        Some(if masked { format!("{said}; {HIDDEN}") } else { said })
    });
    said.ok_or_else(|| why_none(&all, &real))
}

/// Behind, or instead of, a headline where throughput is masked.
const HIDDEN: &str = "a ceiling that both sides share hides what throughput would show";

fn why_none(all: &[&Comparison], real: &[&Comparison]) -> String {
    let masked = real.iter().any(|one| one.masked.is_some());
    match () {
        () if all.is_empty() => "one stack only: nothing to compare",
        () if real.is_empty() => "figures are emulated and not representative",
        () if masked => HIDDEN,
        () if real.iter().any(|one| one.verdict.is_resolved()) => {
            "no difference was found, and a ceiling that both share would look the same"
        }
        () => "nothing is resolved",
    }
    .to_owned()
}

fn largest<'a>(candidates: impl Iterator<Item = Candidate<'a>>, of: usize) -> Option<String> {
    let largest = candidates.max_by(|a, b| a.effect.total_cmp(&b.effect))?;
    Some(match of {
        1 => largest.sentence.to_owned(),
        _ => format!("{} (the largest of {of} comparisons)", largest.sentence),
    })
}

fn rate(one: &Comparison) -> Option<Candidate<'_>> {
    Some(Candidate { effect: effect(&one.verdict)?, sentence: &one.sentence })
}

fn charge(one: &ChargeFinding) -> Option<Candidate<'_>> {
    Some(Candidate { effect: one.verdict.effect()?, sentence: &one.sentence })
}

/// Size of a resolved difference, as a logarithm so that costs and gains compare.
fn effect(verdict: &Verdict) -> Option<f64> {
    match verdict {
        Verdict::Costs { cost, .. } => Some((1.0 - cost).max(f64::MIN_POSITIVE).ln().abs()),
        Verdict::Gains { gain, .. } => Some((1.0 + gain).ln()),
        _ => None,
    }
}
