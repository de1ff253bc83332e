//! Published claims about two stacks, or about one per core, next to what the run measured.

use super::published::{agreement_of, single, spoils_comparison};
use super::ratios::{MetricShare, metric_share};
use crate::compare::rows;
use crate::findings::published::{Agreement, ClaimFinding, RatioBeside};
use crate::findings::{MeasuredFigure, WorkloadFindings};
use crate::gather::reading::WorkloadView;
use iotax_model::scenario::article::TableMetric;
use iotax_model::scenario::{Metric, PublishedClaim};
use iotax_stats::Verdict;
use iotax_store::RunData;

/// Returns the claims of the scenario's `[published]` next to the measured figures.
pub fn claims(
    run: &RunData,
    readings: &[WorkloadView],
    workloads: &[WorkloadFindings],
) -> Vec<ClaimFinding> {
    let Some(published) = run.start.scenario.published.as_ref() else { return Vec::new() };
    let of = |claim: &PublishedClaim| {
        let at = workloads.iter().position(|workload| workload.name == claim.workload)?;
        let named = |name: &str| workloads[at].rows.iter().position(|row| row.stack == *name);
        let stack = named(&claim.stack)?;
        let against = claim.against.as_deref().map(named);
        if against == Some(None) {
            return None;
        }
        let (reading, found) = (&readings[at], &workloads[at]);
        Some(ClaimCell { claim, reading, found, stack, against: against.flatten() }.finding())
    };
    published.claims.iter().filter_map(of).collect()
}

struct ClaimCell<'a> {
    claim: &'a PublishedClaim,
    reading: &'a WorkloadView<'a>,
    found: &'a WorkloadFindings,
    stack: usize,
    against: Option<usize>,
}

impl ClaimCell<'_> {
    fn finding(&self) -> ClaimFinding {
        let claim = self.claim;
        let unit = self.against.map_or(claim.metric.base_unit(), |_| "1");
        let emulated = self.reading.emulated_pair(self.against.unwrap_or(self.stack), self.stack);
        let (measured, masked, spoilt) = self.measured();
        let rounding = [claim.low, claim.high];
        let is_number = |value: &f64| value.is_finite() && *value >= 0.0;
        let spoilt = match emulated {
            Some(_) => Some("figures of an emulated CPU are not representative".to_owned()),
            // A record that somebody edited may hold anything.
            None if !(rounding.iter().all(is_number) && claim.value > 0.0) => {
                Some("what was printed is no positive number".to_owned())
            }
            None => spoilt,
        };
        let agreement = match spoilt {
            Some(reason) => Agreement::Unresolved { reason },
            // A figure per core is held against the claimed one in shares of that.
            None if self.against.is_none() => {
                let share = |value: f64| value / claim.value;
                Agreement::with_figure(&measured.clone().map("1", share), rounding.map(share))
            }
            None => agreement_of(&measured, rounding, self.reading.zone()),
        };
        let verdict = match (&agreement, measured.value()) {
            (Agreement::Differs, Some(value)) if value > claim.value => "above",
            (Agreement::Differs, _) => "below",
            (other, _) => other.word(),
        };
        ClaimFinding {
            text: claim.text.clone(),
            workload: claim.workload.clone(),
            subject: self.found.subject.clone(),
            metric: match claim.per_guest {
                true => format!("{} per guest", claim.metric),
                false => claim.metric.to_string(),
            },
            stack: claim.stack.clone(),
            against: claim.against.clone(),
            printed: claim.printed.clone(),
            verdict,
            beside: RatioBeside {
                published: single(claim.value, unit, claim.is_bound()),
                rounding: Some(rounding),
                measured,
                masked,
                agreement,
            },
            emulated,
        }
    }

    /// Returns the measured figure, a limit that masks it, and the reason why it cannot be held
    /// against a claim, if there is one.
    fn measured(&self) -> (MeasuredFigure, Option<String>, Option<String>) {
        let (metric, against) = match (self.claim.metric, self.against) {
            (TableMetric::Figure(metric), Some(against)) => (metric, against),
            (TableMetric::CpuPerIo, _) => {
                return (self.found.rows[self.stack].cpu.clone(), None, None);
            }
            _ => return (rows::iops_per_core(&self.found.rows[self.stack]), None, None),
        };
        let pair = [against, self.stack];
        let MetricShare { share, verdict, masked } = metric_share(self.reading, metric, pair);
        let rate = Metric::Rate { bytes: false, durable: false, way: None };
        // A latency has no verdict of its own: what spoils the rates of these slices spoils it too.
        let verdict = verdict.or_else(|| metric_share(self.reading, rate, pair).verdict);
        let reason = verdict.as_ref().and_then(Verdict::reason);
        let spoilt = reason.filter(|reason| spoils_comparison(metric, reason));
        let share = match self.claim.per_guest {
            false => share,
            true => {
                let stacks = &self.reading.run.start.scenario.stacks;
                let [base, ours] = pair.map(|at| f64::from(stacks[at].guests().max(1)));
                share.map("1", |ratio| ratio * base / ours)
            }
        };
        (share, masked, spoilt.map(ToString::to_string))
    }
}

/// Returns the sentences about the claims: how many agree, and why the others do not.
pub fn claim_sentences(claims: &[ClaimFinding]) -> Vec<String> {
    if claims.is_empty() {
        return Vec::new();
    }
    let count = |word: &str| claims.iter().filter(|one| one.verdict == word).count();
    let counts = ["agrees", "above", "below", "unresolved"];
    let counts = counts.map(|word| format!("{word} {}", count(word))).join(", ");
    let mut said = vec![format!(
        "{} claims: {counts}; measured on other hardware, and each by a 95 % interval of its own",
        claims.len()
    )];
    for one in claims {
        let named = format!("{} of {} under {}", one.metric, one.pair_words(), one.workload);
        if let Agreement::Unresolved { reason } = &one.beside.agreement {
            said.push(format!("unresolved: {reason}: {named}"));
        }
        if let Some(masked) = &one.beside.masked {
            said.push(format!("a limit masks the measured ratio: {masked}: {named}"));
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{findings, twin};

    fn claims_of(run: &RunData) -> Vec<ClaimFinding> {
        findings(run).published.unwrap().claims
    }

    #[test]
    fn claims_agree_or_say_on_which_side_the_measured_figure_is() {
        let all = claims_of(&twin::published());
        let verdicts: Vec<&str> = all.iter().map(|one| one.verdict).collect();
        assert_eq!(verdicts, ["agrees", "below", "above", "agrees", "unresolved"], "{all:#?}");
        // Latencies of 90 and 93.7 us at iodepth 1.
        let ratio = all[0].beside.measured.value().unwrap();
        assert!((ratio - 90.0 / 93.7).abs() < 0.005, "{ratio}");
        assert!(all.iter().take(4).all(|one| one.beside.measured.bounds().is_some()));
        let reason = &all[4].beside.agreement;
        assert!(matches!(reason, Agreement::Unresolved { reason } if reason.contains("threads")));
        let said = findings(&twin::published()).published.unwrap().sentences.join("\n");
        assert!(said.contains("5 claims: agrees 2, above 1, below 1, unresolved 1"), "{said}");
    }

    #[test]
    fn a_claim_per_guest_divides_by_the_guests_of_each_side() {
        let mut run = twin::published();
        run.start.scenario.published.as_mut().unwrap().claims[1].per_guest = true;
        let alone = claims_of(&run)[1].beside.measured.value().unwrap();
        let mut layer = twin::crowd().start.scenario.stacks;
        let with_guests = layer.iter_mut().find(|stack| stack.guests() > 1).unwrap();
        let copies = f64::from(with_guests.guests());
        run.start.scenario.stacks[1].layers = with_guests.layers.clone();
        let shared = claims_of(&run)[1].beside.measured.value().unwrap();
        assert!((alone / shared - copies).abs() < 1e-9, "{alone} {shared} {copies}");
    }

    #[test]
    fn figures_per_core_are_held_against_the_claimed_one() {
        let claimed = |low: f64, high: f64| {
            let interval = crate::findings::Interval::from_bounds(low, high);
            let n = (20, crate::findings::SampleUnit::Rounds);
            let figure = MeasuredFigure::known_value((low + high) / 2.0, "1", n, interval);
            Agreement::with_figure(&figure, [0.95, 1.05]).word()
        };
        assert_eq!(claimed(0.98, 1.0), "agrees");
        assert_eq!(claimed(1.04, 1.1), "agrees");
        assert_eq!(claimed(1.06, 1.2), "differs");
        assert_eq!(claimed(0.7, 1.2), "unresolved");
    }

    #[test]
    fn emulated_figures_agree_with_no_claim() {
        let mut run = twin::published();
        run.places[0].emulated = Some("no KVM".into());
        assert!(claims_of(&run).iter().all(|one| one.verdict == "unresolved"));
    }
}
