//! The headline of a run, or the reason why it has no headline, and the check of the ruler. A
//! headline is a verdict on throughput that holds over all comparisons of the run together.
//! Latency, CPU time, emulated figures and what a ceiling masks never make a headline. Neither does
//! a stack against itself, which only checks the measuring.

use crate::compare::verdicts;
use crate::findings::ceiling::Ceiling;
use crate::findings::{Comparison, ComparisonRole, RulerCheck, WorkloadFindings};
use crate::gather::subject::comparison_subject;
use iotax_stats::round::percent_up;
use iotax_stats::{Refusal, Verdict};
use iotax_units::{count_noun, distinct, show_names};

pub struct Headline {
    pub stack: String,
    pub quantity: String,
    pub sentence: String,
}

/// Returns the comparison with the largest certain difference in throughput. `others` is the share
/// of the CPU time used on this host that was for other work than the load.
///
/// # Errors
/// Returns the reason why no headline exists: what was found instead, or what is missing.
pub fn headline(workloads: &[WorkloadFindings], others: Option<f64>) -> Result<Headline, String> {
    let all: Vec<&Comparison> = of_role(workloads, ComparisonRole::Stack).collect();
    let real: Vec<&Comparison> = all.iter().copied().filter(|one| one.emulated.is_none()).collect();
    let differing = real
        .iter()
        .copied()
        .filter(|one| one.masked.is_none())
        .filter_map(|one| Some((effect(one)?, one)));
    let largest = differing.max_by(|one, other| one.0.total_cmp(&other.0));
    match largest {
        Some((_, one)) => Ok(Headline {
            stack: one.stack.clone(),
            quantity: one.rate.quantity.clone(),
            sentence: headline_sentence(one, verdicts::simultaneous_comparisons(workloads)),
        }),
        None => Err(why_none(workloads, &all, &real, others)),
    }
}

fn of_role(
    workloads: &[WorkloadFindings],
    role: ComparisonRole,
) -> impl Iterator<Item = &Comparison> {
    workloads.iter().flat_map(WorkloadFindings::all_comparisons).filter(move |one| one.role == role)
}

/// Returns the absolute logarithm of a certain difference, with which costs and gains compare;
/// `None` if the verdict is another.
fn effect(one: &Comparison) -> Option<f64> {
    let differs = matches!(one.rate.verdict, Verdict::Costs { .. } | Verdict::Gains { .. });
    let ratio = one.rate.ratio.value().filter(|_| differs && one.rate.simultaneous.is_some())?;
    Some(ratio.max(f64::MIN_POSITIVE).ln().abs())
}

/// Returns the sentence for a comparison. If the `family` has several, it says that this one was
/// chosen for being the largest.
fn headline_sentence(one: &Comparison, family: usize) -> String {
    if family < 2 {
        return one.rate.sentence.clone();
    }
    let who = comparison_subject(&one.stack, &one.against, false);
    let over = crate::compare::ratio::over_attaches(&one.rate.ratio);
    let verdict = one.rate.verdict.phrase_about(&one.rate.quantity);
    format!(
        "{who}: {verdict}{over} (the largest difference; the interval holds for all {family} comparisons together)"
    )
}

/// Text instead of a headline where nothing is compared.
pub const ONE_STACK: &str = "one stack only: nothing to compare";

/// Text instead of a headline where throughput is masked.
const HIDDEN: &str =
    "both stacks hit the same limit, so throughput does not show what a layer costs";

const SAME: &str = "a limit that both stacks hit would look the same";

/// Text instead of a headline where no comparison is of real hardware.
pub const EMULATED: &str = "the guests are emulated, and emulated figures are never the headline";

fn why_none(
    workloads: &[WorkloadFindings],
    all: &[&Comparison],
    real: &[&Comparison],
    others: Option<f64>,
) -> String {
    let mut masked = real.iter().filter_map(|one| one.masked.as_ref());
    let others = others.filter(|_| masked.any(|masked| matches!(masked.by, Ceiling::Cpus { .. })));
    match others {
        _ if all.is_empty() && of_role(workloads, ComparisonRole::Same).next().is_some() => {
            "only a stack and itself were compared: a check of the ruler".to_owned()
        }
        _ if all.is_empty() => ONE_STACK.to_owned(),
        _ if real.is_empty() => EMULATED.to_owned(),
        Some(part) => format!(
            "other work took {:.0} % of the CPU time that this machine used, so throughput does not show what a layer costs: \
             stop that work and run again",
            100.0 * part
        ),
        _ if real.iter().any(|one| one.masked.is_some()) => HIDDEN.to_owned(),
        None => not_found(workloads, real),
    }
}

/// Returns what was found if no difference is certain: the largest bound of a verdict "no
/// difference", and the widest interval of the others. Lines of a bill count, too, except the
/// first, which repeats a comparison.
fn not_found(workloads: &[WorkloadFindings], real: &[&Comparison]) -> String {
    let lines = workloads
        .iter()
        .flat_map(|workload| &workload.bill)
        .flat_map(|bill| bill.lines.iter().skip(1));
    let verdicts = real.iter().map(|one| &one.rate.verdict).chain(lines.map(|line| &line.verdict));
    let (alike, open): (Vec<&Verdict>, Vec<&Verdict>) =
        verdicts.partition(|one| matches!(one, Verdict::NoDifference { .. }));
    let of = match verdicts::simultaneous_comparisons(workloads) {
        0 => format!(
            "{}, none with an interval",
            count_noun(real.len() as u64, "comparison", "comparisons")
        ),
        many => count_noun(many as u64, "comparison", "comparisons"),
    };
    match (largest_bound(&alike), widest(&open)) {
        (Some(above), _) if open.is_empty() => {
            format!("no difference above {above} in throughput ({of}), and {SAME}")
        }
        (Some(above), widest) => format!(
            "no difference above {above} in throughput in {} of {of}, the others unresolved{}; {SAME}",
            alike.len(),
            widest.map(|widest| format!(" ({widest})")).unwrap_or_default()
        ),
        (None, widest) => real.iter().find_map(|one| at_limit(one)).unwrap_or_else(|| {
            format!(
                "nothing was resolved in throughput ({of}{})",
                widest.map(|widest| format!(", {widest}")).unwrap_or_default()
            )
        }),
    }
}

/// Describes the limit that withheld the verdict, with the stack that ran at it; `None` if no limit
/// did.
fn at_limit(one: &Comparison) -> Option<String> {
    let Refusal::AtLimit { of_baseline, limit } = one.rate.verdict.reason()? else { return None };
    let whose = if *of_baseline { &one.against } else { &one.stack };
    Some(format!("a limit hides the cost of {whose}: {limit}"))
}

/// Returns the largest bound among the verdicts "no difference"; `None` if there are none.
fn largest_bound(all: &[&Verdict]) -> Option<String> {
    let bounds = all.iter().filter_map(|one| match one {
        Verdict::NoDifference { above } => Some(*above),
        _ => None,
    });
    bounds.max_by(f64::total_cmp).map(percent_up)
}

/// Returns the widest interval: `+- 4.0 % at the widest`; `None` without any interval.
fn widest(all: &[&Verdict]) -> Option<String> {
    let widths = all.iter().filter_map(|one| one.change());
    let widest = widths.max_by(|one, other| one.half_width().total_cmp(&other.half_width()));
    let width = widest?.digits().width()?;
    Some(if all.len() > 1 { format!("{width} at the widest") } else { width })
}

/// Returns the check of the ruler: stacks that were compared with themselves must not differ.
/// `None` if there are none.
pub fn ruler(workloads: &[WorkloadFindings]) -> Option<RulerCheck> {
    let all: Vec<&Comparison> = of_role(workloads, ComparisonRole::Same).collect();
    let first = all.first()?;
    let names = distinct(all.iter().map(|one| &one.stack));
    let emulated = all.iter().any(|one| one.emulated.is_some());
    let who = comparison_subject(&show_names(names), &first.against, emulated);
    let off = all
        .iter()
        .copied()
        .filter(|one| matches!(one.rate.verdict, Verdict::Costs { .. } | Verdict::Gains { .. }));
    let worst = off.max_by(|one, other| width(one).total_cmp(&width(other)));
    let sentence = match worst {
        Some(worst) => format!(
            "Check of the ruler FAILED: {}, and nothing is between them: treat differences below {} with care",
            worst.rate.sentence,
            percent_up(width(worst))
        ),
        None => format!("Check of the ruler: {who}: {}", ruler_found(&all)),
    };
    Some(RulerCheck { holds: worst.is_none(), sentence })
}

/// Returns the bound of the interval that is farther from no difference, as a fraction; 0 without
/// an interval.
fn width(one: &Comparison) -> f64 {
    one.rate.verdict.change().map_or(0.0, |change| change.low.abs().max(change.high.abs()))
}

fn ruler_found(all: &[&Comparison]) -> String {
    let verdicts = all.iter().map(|one| &one.rate.verdict);
    let (alike, open): (Vec<&Verdict>, Vec<&Verdict>) =
        verdicts.partition(|one| matches!(one, Verdict::NoDifference { .. }));
    let width = widest(&open).map(|width| format!(" ({width})")).unwrap_or_default();
    let counts = format!("({} of {})", alike.len(), all.len());
    match largest_bound(&alike) {
        Some(above) if open.is_empty() => format!("no difference above {above} {counts}"),
        Some(above) => {
            format!("no difference above {above} {counts}, the others unresolved{width}")
        }
        None if width.is_empty() => "unresolved: too little was measured".to_owned(),
        None => format!("unresolved{width}"),
    }
}
