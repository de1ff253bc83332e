//! The answer of a run in a few words, for a list of many runs.

use super::number::Shown;
use super::sheet::quoted_rate;
use iotax_analysis::Findings;
use iotax_analysis::findings::{Comparison, ComparisonRole, WorkloadFindings};
use iotax_stats::Verdict;

/// Conclusion of a run in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunAnswer {
    /// One of [`VERDICTS`]; `None` for a run that compares nothing.
    pub verdict: Option<&'static str>,
    /// Stack that the verdict is about; `None` if it is about all.
    pub stack: Option<String>,
    /// The verdict with its interval, the rate of a single stack, or the reason why there is
    /// neither.
    pub words: String,
}

/// Words for the verdicts of runs.
pub const VERDICTS: [&str; 4] = ["costs", "gains", "none", "unresolved"];

fn verdict_word(verdict: &Verdict) -> &'static str {
    let at = match verdict {
        Verdict::Costs { .. } => 0,
        Verdict::Gains { .. } => 1,
        Verdict::NoDifference { .. } => 2,
        Verdict::Unresolved { .. } => 3,
    };
    VERDICTS[at]
}

/// Returns the verdict that a run's headline states, in a few words. Without a headline, returns
/// what all comparisons of stacks have in common, or the rate of the only stack.
pub fn run_answer(findings: &Findings) -> RunAnswer {
    let real = |one: &&Comparison| one.role == ComparisonRole::Stack && one.emulated.is_none();
    let comparisons = || {
        let all = findings.workloads.iter().flat_map(WorkloadFindings::all_comparisons);
        all.filter(real)
    };
    if let Some((stack, quantity)) = &findings.headline_of {
        let is_it = |one: &&Comparison| one.stack == *stack && one.rate.quantity == *quantity;
        if let Some(one) = comparisons().find(is_it) {
            return RunAnswer {
                verdict: Some(verdict_word(&one.rate.verdict)),
                stack: Some(stack.clone()),
                words: one.rate.verdict.phrase(),
            };
        }
    }
    let is_masked = comparisons().any(|one| one.masked.is_some());
    let least_certain = comparisons().map(|one| &one.rate.verdict).max_by(by_certainty);
    let is_load = findings.durability.is_none() && findings.limits.is_none();
    match least_certain.filter(|_| is_load && findings.headline.is_none()) {
        Some(verdict) if !is_masked => {
            RunAnswer { verdict: Some(verdict_word(verdict)), stack: None, words: verdict.phrase() }
        }
        found => RunAnswer {
            verdict: found.map(|_| VERDICTS[3]),
            stack: None,
            words: only_rate(findings).unwrap_or_else(|| sentence(findings)),
        },
    }
}

/// Orders verdicts without a headline: a wider bound or interval is less certain, and nothing is
/// less certain than no interval.
fn by_certainty(one: &&Verdict, other: &&Verdict) -> std::cmp::Ordering {
    let width = |verdict: &Verdict| match verdict {
        Verdict::NoDifference { above } => (0, *above),
        other => other.change().map_or((2, 0.0), |change| (1, change.half_width())),
    };
    let (one, other) = (width(one), width(other));
    one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
}

/// Returns the rate of the first load if the run has one stack.
fn only_rate(findings: &Findings) -> Option<String> {
    let workload = findings.workloads.first()?;
    let [row] = workload.rows.as_slice() else { return None };
    let rate = quoted_rate(workload, row);
    let unit = if workload.rate_unit == "1/s" { " IOPS" } else { "" };
    rate.value().map(|_| format!("{}{unit}", Shown::from_figure(rate).cell()))
}

fn sentence(findings: &Findings) -> String {
    let said = findings.headline.as_ref().or(findings.no_headline.as_ref());
    said.cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_analysis::{RunData, findings, twin};
    use iotax_stats::Concludes;

    fn answer(run: &RunData) -> RunAnswer {
        run_answer(&findings(run))
    }

    #[test]
    fn the_answer_is_the_headlines_verdict() {
        let run = twin::bill();
        let found = findings(&run);
        let answer = run_answer(&found);
        let (stack, _) = found.headline_of.clone().unwrap();
        assert_eq!((answer.verdict, answer.stack), (Some("costs"), Some(stack)));
        let headline = found.headline.unwrap();
        let figure = answer.words.strip_prefix("costs ").unwrap();
        assert!(headline.contains(figure), "{figure} in {headline}");
        assert_eq!(self::answer(&twin::faster()).verdict, Some("gains"));
    }

    #[test]
    fn runs_without_a_headline_have_an_answer_too() {
        let masked = answer(&twin::masked());
        assert_eq!(masked.verdict, Some("unresolved"));
        assert!(masked.words.contains("same limit"), "{masked:?}");
        let same = answer(&twin::a_against_a());
        assert_eq!(same.verdict, None, "{same:?}");
        let emulated = answer(&twin::guest());
        assert_eq!(emulated.verdict, None, "{emulated:?}");
        let mut one = twin::bill();
        one.start.scenario.stacks.truncate(1);
        one.start.scenario.bill = false;
        let one = answer(&one);
        assert!(
            one.verdict.is_none() && one.words.contains(" +- ") && one.words.ends_with(" IOPS"),
            "{one:?}"
        );
    }

    #[test]
    fn the_widest_of_the_unresolved_is_the_answer() {
        use iotax_stats::Refusal;
        let few = Verdict::from_refusal(Refusal::TooFewRounds { have: 1 });
        let verdicts = [few.clone(), Verdict::NoDifference { above: 0.01 }];
        assert_eq!(verdicts.iter().max_by(by_certainty), Some(&few));
        let verdicts = [0.03, 0.01].map(|above| Verdict::NoDifference { above });
        assert_eq!(verdicts.iter().max_by(by_certainty), Some(&verdicts[0]));
    }
}
