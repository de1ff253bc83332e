//! The regime of writes in a run: the rounds that a verdict may rest on, the caches on the path,
//! and where the pace fell. A verdict on steady writes rests only on rounds past the caches; one on
//! a burst states what it includes.

use crate::findings::WarningReport;
use crate::findings::steady::{ChangeReport, VisitReport, WritesReport};
use crate::gather::precondition;
use crate::gather::rounds;
use crate::gather::rounds::{RoundId, StackSide};
use crate::gather::subject::Quantity;
use iotax_facts::machine::WriteCache;
use iotax_model::record::Purpose;
use iotax_model::scenario::{Regime, Workload};
use iotax_model::stack::Stack;
use iotax_stats::steady::{
    self, LastingFall, Steady, SteadySpec, Why, Window, WrittenRound, Wrote,
};
use iotax_stats::{Concludes, Refusal, Verdict};
use iotax_store::RunData;
use iotax_units::show_bytes;
use std::collections::BTreeSet;
use std::ops::Range;

/// Regime of the writes of one workload, with its caches and visits; empty for loads that do not
/// write.
#[derive(Debug, Default)]
pub struct WriteCourse {
    regime: Regime,
    caches: Vec<WriteCache>,
    names: Vec<String>,
    /// What makes the flushes of each stack do nothing; `None` if nothing does.
    no_flush: Vec<Option<String>>,
    visits: Vec<(u32, Steady, Range<usize>)>,
    /// For each written round, true if it is neither a long one nor one of preconditioning.
    plain: Vec<bool>,
    refused: Option<Refusal>,
    /// True if the load ran before every visit until its rate was steady.
    preconditioned: bool,
    /// Stacks whose judged rounds are not level by SNIA's measure.
    uneven: Vec<(String, Window)>,
}

impl WriteCourse {
    /// Finds the rounds that are past the caches. In the steady regime, keeps only these rounds of
    /// the sides; if nothing shows where the caches end, it keeps all rounds and refuses verdicts.
    pub fn settle_regime(
        run: &RunData,
        workload: &Workload,
        sides: &mut [StackSide],
    ) -> WriteCourse {
        if !workload.writes() {
            return WriteCourse::default();
        }
        let scenario = &run.start.scenario;
        // Long rounds and those that precondition are not judged, but their writes fill the caches
        // too.
        let (long, _) = rounds::sides(run, workload, Purpose::Long);
        let (before, _) = rounds::sides(run, workload, Purpose::Precondition);
        let (ids, rounds): (Vec<NumberedRound>, Vec<WrittenRound>) =
            writes(&[sides, &long, &before]).into_iter().unzip();
        let spec = SteadySpec {
            known_cache: run.start.write_caches.first().map(|cache| cache.bytes as f64),
            reaches: scenario.reaches(),
        };
        let visits = steady::by_visit(&rounds, &spec);
        let mut course = WriteCourse {
            regime: scenario.measure.regime,
            caches: run.start.write_caches.clone(),
            names: scenario.stacks.iter().map(|stack| stack.name.clone()).collect(),
            no_flush: scenario.stacks.iter().map(Stack::drops_flushes).collect(),
            visits: visits
                .into_iter()
                .map(|(range, found)| (ids[range.start].0.0, found, range))
                .collect(),
            preconditioned: precondition::is_steady(run, &workload.name),
            plain: ids.iter().map(|(_, kind)| *kind == PLAIN).collect(),
            ..WriteCourse::default()
        };
        if course.regime == Regime::Steady {
            match steady::mark_judged(&rounds, &spec) {
                Ok(kept) => course.keep(run, sides, &ids, &kept),
                Err(reason) => course.refused = Some(reason),
            }
        }
        course
    }

    fn keep(
        &mut self,
        run: &RunData,
        sides: &mut [StackSide],
        ids: &[NumberedRound],
        kept: &[bool],
    ) {
        let judged = ids.iter().zip(kept).filter(|((_, kind), kept)| **kept && *kind == PLAIN);
        let kept: BTreeSet<RoundId> = judged.map(|((id, _), _)| *id).collect();
        for (side, name) in sides.iter_mut().zip(&self.names) {
            side.keep(run, |id| kept.contains(id));
            let wrote: Vec<f64> =
                side.rounds.values().map(|round| round.bytes / round.window_s).collect();
            let window = Window::from_paces(&wrote).filter(|window| !window.is_level());
            self.uneven.extend(window.map(|window| (name.clone(), window)));
        }
    }

    /// Returns the reason why no verdict of the workload can be given, on any figure: the steady
    /// regime was not reached. Otherwise `None`.
    pub fn regime_refusal(&self) -> Option<&Refusal> {
        self.refused.as_ref()
    }

    /// Returns the verdict on two stacks, or the refusal if the writes allow none: the steady
    /// regime was not reached, a flush does nothing (durable rates), or a cache above the flush
    /// acknowledges (acknowledged rates). The flush after every slice empties such a cache, so no
    /// writes get past it, however many there are.
    pub fn verdict(&self, found: Verdict, which: Quantity, stacks: [usize; 2]) -> Verdict {
        let undone = stacks.into_iter().find_map(|stack| self.without_flush(stack));
        if let Some(refused) = undone.filter(|_| which == Quantity::Durable) {
            return match found {
                absent @ Verdict::Unresolved { reason: Refusal::NotMeasured { .. }, .. } => absent,
                _ => Verdict::from_refusal(refused),
            };
        }
        let taken = stacks.into_iter().find_map(|stack| self.cache_above_the_flush(stack));
        let acknowledged = which == Quantity::Acknowledged && self.regime == Regime::Steady;
        let refused = self.refused.clone().or_else(|| {
            let (stack, cache) = taken.filter(|_| acknowledged)?;
            let reason = format!(
                "{stack} acknowledges from {}, which the flush after each slice empties, so that it is never full; hint: read the durable figure",
                cache.name
            );
            Some(Refusal::NotMeasured { reason })
        });
        match (&refused, found) {
            // A stack that was not measured at all has the better reason.
            (_, absent @ Verdict::Unresolved { reason: Refusal::NotMeasured { .. }, .. }) => absent,
            (Some(reason), _) => Verdict::from_refusal(reason.clone()),
            (None, found) => found,
        }
    }

    /// Returns the reason why a stack has no durable figure: a flush that does nothing empties no
    /// cache either.
    fn without_flush(&self, stack: usize) -> Option<Refusal> {
        let what = self.no_flush.get(stack)?.as_ref()?;
        let reason = format!(
            "a flush does nothing on {}, by {what}: nothing is durable when it is acknowledged; hint: read the acknowledged figure",
            self.names[stack]
        );
        Some(Refusal::NotMeasured { reason })
    }

    fn cache_above_the_flush(&self, stack: usize) -> Option<(&str, &WriteCache)> {
        let name = self.names.get(stack).filter(|_| self.without_flush(stack).is_none())?;
        let cache = self.caches.iter().find(|cache| cache.stacks.contains(name))?;
        Some((name, cache))
    }

    /// Returns the findings for the report; `None` for loads that do not write.
    pub fn writes_report(&self) -> Option<WritesReport> {
        if self.visits.is_empty() {
            return None;
        }
        let visits: Vec<VisitReport> = self.visits.iter().map(|visit| self.visit(visit)).collect();
        let sentences = self.regime_sentences(&visits);
        Some(WritesReport {
            regime: self.regime,
            known_caches: self.caches.clone(),
            visits,
            sentences,
        })
    }

    fn visit(&self, (visit, found, range): &(u32, Steady, Range<usize>)) -> VisitReport {
        let change = |change: &LastingFall| ChangeReport {
            stack: self.names[change.stack].clone(),
            written: change.written,
            before: change.before,
            after: change.after,
        };
        let plain = |range: Range<usize>| self.plain[range].iter().filter(|plain| **plain).count();
        let until_steady = range.start..range.start + found.from_round.min(range.len());
        VisitReport {
            visit: *visit,
            written: found.written,
            rounds: plain(range.clone()),
            steady_from: found.reached.then(|| plain(until_steady)),
            why: found.why,
            changes: found.changes.iter().map(change).collect(),
        }
    }

    fn regime_sentences(&self, visits: &[VisitReport]) -> Vec<String> {
        let several = visits.len() > 1;
        let of = |visit: &VisitReport| {
            if several { format!("visit {}: ", visit.visit) } else { String::new() }
        };
        let mut lines = vec![self.caches_sentence()];
        for visit in visits {
            let changes =
                visit.changes.iter().map(|change| format!("{}{}", of(visit), fall(change)));
            lines.extend(changes);
            if self.regime == Regime::Steady {
                lines.push(format!("{}{}", of(visit), reached(visit)));
            }
        }
        lines
    }

    fn caches_sentence(&self) -> String {
        let said = |cache: &WriteCache| format!("{}, {}", cache.name, show_bytes(cache.bytes));
        let regime = self.regime.regime_word();
        match self.caches.as_slice() {
            [] => format!("writes, {regime}: no cache on the path is known"),
            caches => {
                let known: Vec<String> = caches.iter().map(said).collect();
                format!("writes, {regime}: known caches on the path: {}", known.join("; "))
            }
        }
    }

    pub fn warnings(&self, workload: &str) -> Vec<WarningReport> {
        let warning = |kind: &str, subject: &str, text: String| WarningReport {
            kind: kind.into(),
            subject: subject.into(),
            text: format!("{workload}: {text}"),
        };
        let mut found: Vec<WarningReport> = Vec::new();
        for (name, window) in &self.uneven {
            let text = format!(
                "the judged rounds are not level by SNIA's measure: {}",
                window.to_sentence()
            );
            found.push(warning("not_level", name, text));
        }
        for (visit, steady, _) in self.visits.iter().filter(|_| self.refused.is_none()) {
            if self.regime == Regime::Steady && !steady.reached {
                let written = show_bytes(steady.written as u64);
                let text = format!(
                    "visit {visit} is left out: with {written} written it did not come past the caches"
                );
                found.push(warning("not_steady", workload, text));
            }
            // A burst that lasted longer than a cache is the mean of two regimes.
            let falls = steady.changes.iter().filter(|_| self.regime == Regime::Burst);
            found.extend(falls.map(|change| {
                let text = format!(
                    "the pace fell after {} in visit {visit}, and rounds after that count as a burst too; hint: a shorter budget, or regime = \"steady\"",
                    show_bytes(change.written as u64)
                );
                warning("two_regimes", &self.names[change.stack], text)
            }));
        }
        found
    }
}

/// Number of a round, and the index of its kind: each kind has numbers of its own.
type NumberedRound = (RoundId, usize);

/// Index of the kind of the rounds that verdicts rest on.
const PLAIN: usize = 0;
/// Index of the kind of the preconditioning rounds.
const PRECONDITIONS: usize = 2;

/// Returns the whole rounds of every kind in order of time, with what each stack wrote.
fn writes(kinds: &[&[StackSide]]) -> Vec<(NumberedRound, WrittenRound)> {
    let of_kind = |(kind, sides): (usize, &&[StackSide])| -> BTreeSet<NumberedRound> {
        sides.iter().flat_map(|side| side.rounds.keys()).map(|id| (*id, kind)).collect()
    };
    let ids: BTreeSet<NumberedRound> = kinds.iter().enumerate().flat_map(of_kind).collect();
    let wrote = |(id, kind): &NumberedRound| {
        let of = |(stack, side): (usize, &StackSide)| {
            let round = side.rounds.get(id)?;
            let durable_s = round.flush_s.map(|flush| round.window_s + flush);
            Some(Wrote { stack, bytes: round.bytes, seconds: round.window_s, durable_s })
        };
        kinds[*kind].iter().enumerate().filter_map(of).collect()
    };
    let of = |id: NumberedRound| {
        (
            id,
            WrittenRound {
                visit: id.0.0,
                stacks: wrote(&id),
                preconditions: id.1 == PRECONDITIONS,
            },
        )
    };
    ids.into_iter().map(of).collect()
}

/// Returns the sentence: `file: burst 410 MiB/s until 12 GiB, then steady 145 MiB/s`.
fn fall(change: &ChangeReport) -> String {
    let pace = |bytes: f64| format!("{}/s", show_bytes(bytes as u64));
    let until = show_bytes(change.written as u64);
    format!(
        "{}: burst {} until {until}, then steady {}",
        change.stack,
        pace(change.before),
        pace(change.after)
    )
}

fn reached(visit: &VisitReport) -> String {
    let written = show_bytes(visit.written as u64);
    let by = match visit.why {
        Why::NotReached => {
            return format!("steady was not reached with {written} written to a drive");
        }
        Why::PastCache { cache } => {
            format!("the largest known cache, {}", show_bytes(cache as u64))
        }
        Why::PastChange { written } => {
            format!("the fall of pace after {}", show_bytes(written as u64))
        }
        Why::Preconditioned { rounds } => format!("{rounds} rounds of preconditioning"),
    };
    let from = visit.steady_from.unwrap_or(visit.rounds);
    let judged = visit.rounds.saturating_sub(from);
    format!(
        "steady after {by}: {judged} of {} rounds count, {written} written to a drive",
        visit.rounds
    )
}

/// Returns lines on what verdicts on writes do not exclude.
pub fn not_excluded(all: &[&WriteCourse]) -> Vec<String> {
    let writes = || all.iter().filter(|writes| !writes.visits.is_empty());
    let of =
        |regime: Regime| writes().any(|writes| writes.regime == regime && writes.refused.is_none());
    // Covers all visits of a workload, since a fall in one of them shows the drive's own pace.
    let by_cache = |writes: &&WriteCourse| {
        let known = |(_, steady, _): &(u32, Steady, Range<usize>)| {
            matches!(steady.why, Why::PastCache { .. })
        };
        writes.visits.iter().any(known)
            && writes.visits.iter().all(|(_, steady, _)| steady.changes.is_empty())
    };
    let mut lines = Vec::new();
    let bursts =
        || writes().filter(|writes| writes.regime == Regime::Burst && writes.refused.is_none());
    if bursts().any(|writes| !writes.preconditioned) {
        lines.push(
            "the steady state of writes: slices of seconds are a burst that caches may absorb"
                .to_owned(),
        );
    }
    if bursts().any(|writes| writes.preconditioned) {
        lines.push(
            "the burst of a drive that is fresh or has rested: the load ran until it was steady before it was measured"
                .to_owned(),
        );
    }
    if of(Regime::Steady) && writes().any(by_cache) {
        lines.push(
            "a cache of writes that is larger than the largest known one: no drive showed a change of pace of its own"
                .to_owned(),
        );
    }
    if of(Regime::Steady) {
        lines.push("the burst: what writes cost while caches take them".to_owned());
    }
    lines
}

#[cfg(test)]
#[path = "steady_tests.rs"]
mod tests;
