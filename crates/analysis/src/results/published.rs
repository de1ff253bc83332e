//! Published figures of the same stacks and workloads, next to the measured ones. Between two
//! machines only a ratio to the baseline compares. It is compared with the run's own; the figures
//! themselves are shown and not judged.

use super::claims;
use crate::compare::directions;
use crate::compare::rows;
use crate::compare::tails;
use crate::findings::published::{Agreement, PublishedFinding, PublishedFindings, RatioBeside};
use crate::findings::{
    Comparison, Interval, MeasuredFigure, RateFinding, SampleUnit, WorkloadFindings,
};
use crate::gather::reading::WorkloadView;
use crate::gather::rounds;
use crate::gather::subject::Quantity;
use iotax_load::Job;
use iotax_model::scenario::{Metric, Published, PublishedFigure};
use iotax_stats::{Concludes, Refusal, Verdict};
use iotax_store::RunData;
use std::collections::{BTreeMap, BTreeSet};

impl Agreement {
    pub fn word(&self) -> &'static str {
        match self {
            Agreement::Agrees => "agrees",
            Agreement::Differs => "differs",
            Agreement::Unresolved { .. } => "unresolved",
        }
    }

    fn unresolved(reason: impl ToString) -> Agreement {
        Agreement::Unresolved { reason: reason.to_string() }
    }

    /// Compares a figure with the range of a printed one, both as multiples of what was printed.
    /// The result is unresolved for an interval that reaches further than a tenth.
    pub(super) fn with_figure(measured: &MeasuredFigure, [least, most]: [f64; 2]) -> Agreement {
        let Some((value, (low, high))) = measured.value().zip(measured.bounds()) else {
            return without_interval(measured);
        };
        match () {
            () if high < least || low > most => Agreement::Differs,
            () if low >= least && high <= most => Agreement::Agrees,
            () if least == 0.0 && high > most => {
                Agreement::unresolved("the measured interval reaches over the printed bound")
            }
            () if least > 0.0 && (value - low).max(high - value) > WIDE * value => {
                Agreement::unresolved("the measured interval reaches further than a tenth")
            }
            () => Agreement::Agrees,
        }
    }

    /// Compares a measured ratio and its bounds with the range of a printed one. The result is
    /// unresolved for an interval so wide that it would agree with almost anything: the run itself
    /// concludes nothing from it, or it does not say by how much the sides differ.
    fn with_printed(ratio: f64, low: f64, high: f64, printed: [f64; 2], zone: f64) -> Agreement {
        let [least, most] = printed;
        let is_bound = least == 0.0;
        let half_width = (ratio / low).ln().max((high / ratio).ln());
        let wide = half_width > zone.max(WIDE * ratio.ln().abs());
        match Verdict::of_interval(ratio, low, high, zone).reason() {
            _ if high < least || low > most => Agreement::Differs,
            _ if is_bound && high <= most => Agreement::Agrees,
            _ if is_bound => {
                Agreement::unresolved("the measured interval reaches over the printed bound")
            }
            Some(_) => Agreement::unresolved(format!(
                "the measured interval takes in no difference as well, and reaches beyond {} %",
                100.0 * zone
            )),
            None if wide => Agreement::unresolved(format!(
                "the measured interval reaches further than {} % and a tenth of the logarithm of its ratio",
                100.0 * zone
            )),
            None => Agreement::Agrees,
        }
    }
}

/// Largest half-width of an interval that still says by how much the sides differ, as a share of
/// the logarithm of the ratio. A run that misses its precision also stops at this width.
const WIDE: f64 = 0.1;

/// Returns the published figures next to the measured ones; `None` if the scenario has none.
pub fn published(
    run: &RunData,
    readings: &[WorkloadView],
    workloads: &[WorkloadFindings],
) -> Option<PublishedFindings> {
    let published = run.start.scenario.published.as_ref()?;
    let of = |figure: &PublishedFigure| {
        let at = workloads.iter().position(|workload| workload.name == figure.workload)?;
        let stack = workloads[at].rows.iter().position(|row| row.stack == figure.stack)?;
        let beside = PublishedCell {
            published,
            figure,
            reading: &readings[at],
            found: &workloads[at],
            stack,
        };
        Some(beside.finding())
    };
    let figures: Vec<PublishedFinding> = published.figures.iter().filter_map(of).collect();
    let claims = claims::claims(run, readings, workloads);
    let mut sentences = agreement_sentences(&figures);
    sentences.extend(claims::claim_sentences(&claims));
    Some(PublishedFindings {
        source: published.source.clone(),
        hardware: published.hardware.clone(),
        note: published.note.clone(),
        sentences,
        figures,
        claims,
    })
}

struct PublishedCell<'a> {
    published: &'a Published,
    figure: &'a PublishedFigure,
    reading: &'a WorkloadView<'a>,
    found: &'a WorkloadFindings,
    stack: usize,
}

impl PublishedCell<'_> {
    fn finding(&self) -> PublishedFinding {
        let base = self.reading.run.start.scenario.baseline;
        let is_baseline = self.stack == base;
        PublishedFinding {
            workload: self.found.name.clone(),
            subject: self.found.subject.clone(),
            metric: self.figure.metric.to_string(),
            note: self.figure.note.clone(),
            stack: self.figure.stack.clone(),
            against: (!is_baseline).then(|| self.reading.name(base).to_owned()),
            printed: self.figure.printed.clone(),
            published: self.printed_figure(),
            measured: self.measured_value(),
            ratio: (!is_baseline).then(|| self.ratio_beside(base)),
            emulated: self.reading.emulated_pair(base, self.stack),
        }
    }

    fn printed_figure(&self) -> MeasuredFigure {
        match self.figure.share {
            true => MeasuredFigure::missing(format!(
                "only its share of {} was published",
                self.published.baseline
            )),
            false => single(self.figure.value, self.figure.metric.unit(), self.figure.is_bound()),
        }
    }

    fn measured_value(&self) -> MeasuredFigure {
        let side = &self.reading.sides[self.stack];
        match self.figure.metric {
            metric @ Metric::Rate { durable, .. } => {
                let quantity = if durable { Quantity::Durable } else { Quantity::Acknowledged };
                rows::stack_rate(
                    self.reading,
                    self.stack,
                    metric.unit(),
                    quantity,
                    self.direction(),
                )
            }
            Metric::Latency { .. } if side.rounds.is_empty() => self.reading.absence(self.stack),
            metric @ Metric::Latency { .. } => {
                let way = directions::of_latency(self.reading, metric);
                rows::latency_at(side.of_way(way), metric.quantile())
            }
        }
    }

    fn ratio_beside(&self, base: usize) -> RatioBeside {
        let rounding = self.rounding();
        let published = match &rounding {
            Ok(([_, most], _)) if self.figure.is_bound() => single(*most, "1", true),
            Ok((_, value)) => single(*value, "1", false),
            Err(reason) => MeasuredFigure::missing(reason),
        };
        let comparison = self.comparison();
        let measured = self.measured_ratio(base, comparison);
        let agreement = match (&rounding, self.spoilt(comparison).as_ref()) {
            (_, Some(reason)) | (Err(reason), _) => Agreement::unresolved(reason),
            (Ok((printed, _)), None) => agreement_of(&measured, *printed, self.reading.zone()),
        };
        RatioBeside {
            published,
            rounding: rounding.ok().map(|(printed, _)| printed),
            masked: comparison
                .and_then(|one| one.masked.as_ref())
                .map(|masked| masked.words.clone()),
            measured,
            agreement,
        }
    }

    /// Returns the range that the published ratio may have, and its value. Fails if no figure of
    /// the baseline was published from which a ratio follows.
    fn rounding(&self) -> Result<([f64; 2], f64), String> {
        let baseline = self.reading.name(self.reading.run.start.scenario.baseline);
        let figure = self.figure;
        if figure.share {
            return match self.published.baseline == baseline {
                true => Ok(([figure.low, figure.high], figure.value)),
                false => Err(format!(
                    "a share of {} was published, and none of {baseline}",
                    self.published.baseline
                )),
            };
        }
        let of_baseline = |one: &&PublishedFigure| one.stack == baseline && one.is_of_row(figure);
        match self.published.figures.iter().find(of_baseline) {
            Some(base) if !base.share && !base.is_bound() => {
                Ok(([figure.low / base.high, figure.high / base.low], figure.value / base.value))
            }
            _ => Err(format!("no such figure of {baseline} was published")),
        }
    }

    /// Returns the run's own comparison of the stack. Writes have two, with and without the flush.
    fn comparison(&self) -> Option<&Comparison> {
        let ours = self.found.comparisons.iter().filter(|one| one.stack == self.figure.stack);
        ours.clone().nth(usize::from(self.figure.metric.is_durable()))
    }

    /// Returns the direction of the figure's metric; `None` if it covers all I/Os.
    fn direction(&self) -> Option<rounds::IoDirection> {
        directions::of_metric(self.reading, self.figure.metric)
    }

    fn rate_finding<'a>(&self, one: &'a Comparison) -> &'a RateFinding {
        one.rate_of(self.direction().map(rounds::IoDirection::word)).unwrap_or(&one.rate)
    }

    fn measured_ratio(&self, base: usize, comparison: Option<&Comparison>) -> MeasuredFigure {
        let metric = self.figure.metric;
        match (metric, comparison) {
            (Metric::Rate { bytes, .. }, Some(_))
                if bytes != self.reading.basis().by_bytes && self.mixes_blocks() =>
            {
                let counts = if bytes { ["I/Os", "bytes"] } else { ["bytes", "I/Os"] };
                MeasuredFigure::missing(format!(
                    "the run compares {}, and with jobs of unlike bs the ratio of {} is another",
                    counts[0], counts[1]
                ))
            }
            (Metric::Rate { .. }, Some(one)) => self.rate_finding(one).at_once(),
            (Metric::Latency { .. }, Some(_)) => {
                let way = directions::of_latency(self.reading, metric);
                tails::latency_ratio(self.reading, [base, self.stack], way, metric.quantile())
            }
            (_, None) => MeasuredFigure::missing("it was not compared"),
        }
    }

    /// Returns true if jobs differ in block size, so that I/Os and bytes per second have different
    /// ratios.
    fn mixes_blocks(&self) -> bool {
        let is_of = |job: &&Job| match self.direction() {
            None => true,
            Some(rounds::IoDirection::Read) => job.rw.reads(),
            Some(_) => job.rw.writes(),
        };
        let blocks: BTreeSet<u64> =
            self.reading.workload.jobs.iter().filter(is_of).map(|job| job.bs).collect();
        blocks.len() > 1
    }

    /// Returns the reason why the measured ratio cannot be compared, if there is one. A verdict
    /// that is withheld only because the interval is wide, or one of many, is no such reason: it is
    /// about whether there is a difference. Refusals of rates apply to latencies only if they
    /// concern the slices or a limit.
    fn spoilt(&self, comparison: Option<&Comparison>) -> Option<String> {
        let one = comparison?;
        if one.emulated.is_some() {
            return Some("figures of an emulated CPU are not representative".to_owned());
        }
        let verdict = match self.figure.metric {
            Metric::Rate { .. } => &self.rate_finding(one).verdict,
            Metric::Latency { .. } => &one.rate.verdict,
        };
        let reason = verdict.reason()?;
        spoils_comparison(self.figure.metric, reason).then(|| reason.to_string())
    }
}

/// Returns true if a measured ratio in this metric means nothing, given why the verdict on the rate
/// was withheld.
pub(super) fn spoils_comparison(metric: Metric, reason: &Refusal) -> bool {
    match (metric, reason) {
        (Metric::Rate { .. }, _) => {
            !matches!(reason, Refusal::TooWide { .. } | Refusal::AmongMany { .. })
        }
        (_, Refusal::RateLimited { .. } | Refusal::SteadyNotShown { .. }) => true,
        (Metric::Latency { .. }, _) => reason.is_of_slices(),
    }
}

/// Compares a measured ratio with the range of a printed one.
pub(super) fn agreement_of(measured: &MeasuredFigure, printed: [f64; 2], zone: f64) -> Agreement {
    match measured.value().zip(measured.bounds()) {
        Some((ratio, (low, high))) => Agreement::with_printed(ratio, low, high, printed, zone),
        None => without_interval(measured),
    }
}

fn without_interval(measured: &MeasuredFigure) -> Agreement {
    match measured {
        MeasuredFigure::Known { interval: Interval::Missing { missing }, .. } => {
            Agreement::unresolved(missing)
        }
        MeasuredFigure::Failed { reason } | MeasuredFigure::Missing { reason } => {
            Agreement::unresolved(reason)
        }
        MeasuredFigure::Known { .. } => Agreement::unresolved("it has no interval"),
    }
}

/// Creates a figure from a single published value, without an interval.
pub(crate) fn single(value: f64, unit: &'static str, is_bound: bool) -> MeasuredFigure {
    let interval = Interval::Missing { missing: "one published figure has no interval".to_owned() };
    let caution = is_bound.then(|| "a bound: it was said to lie below".to_owned());
    MeasuredFigure::known_value(value, unit, (1, SampleUnit::PublishedFigures), interval)
        .cautioned(caution)
}

/// Returns the sentences: how to read the figures, how many agree, and why the others do not.
fn agreement_sentences(figures: &[PublishedFinding]) -> Vec<String> {
    if figures.is_empty() {
        return Vec::new();
    }
    let ratios: Vec<&RatioBeside> = figures.iter().filter_map(|one| one.ratio.as_ref()).collect();
    let but = match ratios.is_empty() {
        true => ", and no ratio to the baseline was published",
        false => "; ratios to the baseline are, as far as the printed digits allow",
    };
    let mut said = vec![
        "each published figure is a single one and has no interval: how far another run there would have been from it is not known"
            .to_owned(),
        format!("published figures are from other hardware and are not held against the measured ones{but}"),
    ];
    if !ratios.is_empty() {
        let count = |word: &str| ratios.iter().filter(|one| one.agreement.word() == word).count();
        let counts =
            ["agrees", "differs", "unresolved"].map(|word| format!("{word} {}", count(word)));
        said.push(format!(
            "{} ratios: {}; each has a 95 % interval of its own, so that chance sets about one in 20 apart that are the same",
            ratios.len(),
            counts.join(", ")
        ));
    }
    said.extend(reasons(figures, "unresolved", |one| match &one.agreement {
        Agreement::Unresolved { reason } => Some(reason),
        _ => None,
    }));
    said.extend(reasons(figures, "a limit masks the measured ratio", |one| one.masked.as_ref()));
    said
}

/// Returns one line per reason that `pick` returns, with the figures that it applies to.
fn reasons<'a>(
    figures: &'a [PublishedFinding],
    what: &str,
    pick: impl Fn(&'a RatioBeside) -> Option<&'a String>,
) -> Vec<String> {
    let mut about: BTreeMap<&str, Vec<&PublishedFinding>> = BTreeMap::new();
    for one in figures {
        if let Some(reason) = one.ratio.as_ref().and_then(&pick) {
            about.entry(reason).or_default().push(one);
        }
    }
    let all = figures.iter().filter(|one| one.ratio.is_some()).count();
    about
        .into_iter()
        .map(|(reason, about)| format!("{what}: {reason}: {}", figure_names(&about, all)))
        .collect()
}

/// Names the figures: `iops of a, b under read-4k, p99 of a under read-4k`; `all` is the number of
/// ratios.
fn figure_names(about: &[&PublishedFinding], all: usize) -> String {
    if about.len() == all && all > 1 {
        return "all ratios".to_owned();
    }
    let row = |rows: &[&PublishedFinding]| {
        let stacks: Vec<&str> = rows.iter().map(|one| one.stack.as_str()).collect();
        format!("{} of {} under {}", rows[0].metric_said(), stacks.join(", "), rows[0].workload)
    };
    let rows = about.chunk_by(|a, b| a.is_of_row(b));
    rows.map(row).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{findings, twin};
    use iotax_load::Rw;

    fn word(ours: (f64, f64, f64), printed: [f64; 2]) -> &'static str {
        let (ratio, low, high) = ours;
        Agreement::with_printed(ratio, low, high, printed, 0.02).word()
    }

    #[test]
    fn a_printed_ratio_is_held_against_an_interval() {
        let (narrow, wide) = ((0.94, 0.93, 0.95), (0.95, 0.88, 1.02));
        assert_eq!(word(narrow, [0.935, 0.945]), "agrees");
        assert_eq!(word(narrow, [0.951, 0.96]), "differs");
        // The rounding of the printed digits reaches into the interval.
        assert_eq!(word(narrow, [0.9499, 0.96]), "agrees");
        assert_eq!(word(wide, [0.935, 0.945]), "unresolved");
        assert_eq!(word(wide, [0.5, 0.51]), "differs");
        assert_eq!(word((1.0, 0.99, 1.01), [0.993, 0.994]), "agrees");
        for (high, expected) in [(0.24, "agrees"), (0.26, "unresolved")] {
            assert_eq!(word((0.22, 0.2, high), [0.0, 0.25]), expected);
        }
        assert_eq!(word((0.3, 0.28, 0.32), [0.0, 0.25]), "differs");
    }

    #[test]
    fn an_interval_that_takes_in_almost_anything_agrees_with_nothing() {
        assert_eq!(word((30.0, 5.0, 55.0), [6.0, 6.1]), "unresolved");
        assert_eq!(word((30.0, 5.0, 55.0), [60.0, 61.0]), "differs");
        // A tenth of ln 30 is 0.34: 21.4 to 42.2.
        assert_eq!(word((30.0, 22.0, 40.0), [25.0, 25.1]), "agrees");
        assert_eq!(word((30.0, 22.0, 43.0), [25.0, 25.1]), "unresolved");
        assert_eq!(word((0.7, 0.6, 0.8), [0.7, 0.71]), "unresolved");
        assert_eq!(word((0.7, 0.68, 0.72), [0.7, 0.71]), "agrees");
        assert_eq!(word((0.7, 0.0, 0.72), [0.7, 0.71]), "unresolved");
        assert_eq!(
            word((0.1, 0.02, 0.2), [0.0, 0.25]),
            "agrees",
            "below a bound is below it, wide or not"
        );
    }

    fn found() -> PublishedFindings {
        findings(&twin::published()).published.unwrap()
    }

    fn ratio<'a>(found: &'a PublishedFindings, stack: &str, metric: &str) -> &'a RatioBeside {
        let ours = |one: &&PublishedFinding| one.stack == stack && one.metric == metric;
        found.figures.iter().find(ours).unwrap().ratio.as_ref().unwrap()
    }

    #[test]
    fn each_figure_stands_beside_its_own() {
        let found = found();
        let whole = findings(&twin::published());
        let workload = &whole.workloads[0];
        let base = &found.figures[0];
        assert_eq!(
            (base.stack.as_str(), base.printed.as_str(), base.ratio.is_none()),
            ("file", "195", true)
        );
        assert_eq!(base.measured, workload.rows[0].iops);
        let MeasuredFigure::Known {
            value: 195.0, n: 1, interval: Interval::Missing { .. }, ..
        } = base.published
        else {
            panic!("{:?}", base.published)
        };
        let of_loop = ratio(&found, "loop", "iops");
        assert_eq!(of_loop.measured, workload.comparisons[0].rate.at_once());
        let [low, high] = of_loop.rounding.unwrap();
        assert!(
            (low - 187.5 / 195.5).abs() < 1e-12 && (high - 188.5 / 194.5).abs() < 1e-12,
            "{low} {high}"
        );
        assert_eq!(of_loop.agreement, Agreement::Agrees);
        assert_eq!(ratio(&found, "fs(xfs)", "iops").agreement, Agreement::Differs);
    }

    #[test]
    fn latencies_have_the_ratio_of_the_same_percentile() {
        let found = found();
        let whole = findings(&twin::published());
        let known = &whole.workloads[0].comparisons[0].latency_ratios;
        assert_eq!(
            ratio(&found, "loop", "read p99").measured,
            known.iter().find(|one| one.1 == 0.99).unwrap().2
        );
        let mean = ratio(&found, "loop", "read mean").measured.bounds().unwrap();
        assert!(mean.0 < 93_700.0 / 90_000.0 && 93_700.0 / 90_000.0 < mean.1, "{mean:?}");
        let thin = ratio(&found, "loop", "read p99.99");
        assert!(
            matches!(&thin.agreement, Agreement::Unresolved { reason } if reason.contains("too few I/Os")),
            "{thin:?}"
        );
    }

    #[test]
    fn a_ratio_of_bytes_is_not_that_of_ios_where_blocks_are_unlike() {
        let with = |metric: &str, blocks: &[u64], rw: Rw| {
            let mut run = twin::published();
            let workload = run.start.scenario.workloads[0].name.clone();
            let jobs = blocks.iter().map(|bs| Job { bs: *bs, rw, ..Job::default() });
            run.start.scenario.workloads[0].jobs = jobs.collect();
            let unit = if metric == "iops" { "" } else { "MB/s" };
            let published = run.start.scenario.published.as_mut().unwrap();
            let row = |(stack, printed): (&str, &str)| {
                let metric = metric.to_owned().try_into().unwrap();
                PublishedFigure::from_printed(&workload, metric, stack, &format!("{printed}{unit}"))
                    .unwrap()
            };
            published.figures = [("file", "195"), ("loop", "188")].map(row).to_vec();
            ratio(&findings(&run).published.unwrap(), "loop", metric).clone()
        };
        let says = |one: &RatioBeside, words: &str| match &one.agreement {
            Agreement::Unresolved { reason } => reason.contains(words),
            _ => false,
        };
        assert!(says(
            &with("throughput", &[4096, 65536], Rw::RandRead),
            "compares I/Os, and with jobs of unlike bs"
        ));
        assert!(says(
            &with("iops", &[4096, 65536], Rw::RandWrite),
            "compares bytes, and with jobs of unlike bs"
        ));
        assert!(with("iops", &[4096, 65536], Rw::RandRead).measured.value().is_some());
        for blocks in [&[4096][..], &[4096, 4096]] {
            assert!(with("throughput", blocks, Rw::RandRead).measured.value().is_some());
        }
    }

    #[test]
    fn latencies_of_visits_are_held_against_what_visits_tell() {
        let mut run = twin::visits();
        let workload = run.start.scenario.workloads[0].name.clone();
        let row = |stack: &str, printed: &str| {
            PublishedFigure::from_printed(
                &workload,
                "read p50".to_owned().try_into().unwrap(),
                stack,
                printed,
            )
            .unwrap()
        };
        let published = twin::published().start.scenario.published.unwrap();
        let figures = vec![row("mdraid(level=5)", "200us"), row("lvm", "150us")];
        let baseline = "mdraid(level=5)".to_owned();
        run.start.scenario.published =
            Some(Box::new(Published { baseline, figures, ..*published }));
        let p50 =
            |run: &RunData| ratio(&findings(run).published.unwrap(), "lvm", "read p50").clone();
        assert!(
            matches!(
                p50(&run).measured,
                MeasuredFigure::Known { n: 6, of: SampleUnit::Visits, .. }
            ),
            "{:?}",
            p50(&run)
        );
        run.slices.retain(|slice| slice.visit < 3);
        let few = p50(&run);
        assert!(
            matches!(&few.agreement, Agreement::Unresolved { reason } if reason.contains("visits")),
            "{few:?}"
        );
    }

    #[test]
    fn what_cannot_be_held_against_anything_says_why() {
        let found = found();
        assert_eq!(
            ratio(&found, "fs(xfs)", "read mean").agreement,
            Agreement::unresolved("no such figure of file was published")
        );
        assert!(
            ratio(&found, "fs(xfs)", "read p99").published.value() == Some(0.25),
            "a bound of a share"
        );
        let mut run = twin::published();
        run.start.scenario.baseline = 1;
        let other = findings(&run).published.unwrap();
        let Agreement::Unresolved { reason } = &ratio(&other, "fs(xfs)", "read p99").agreement
        else {
            panic!()
        };
        assert_eq!(reason, "a share of file was published, and none of loop");
        assert!(
            ratio(&other, "file", "iops").published.value().unwrap() > 1.0,
            "turned round with the baseline"
        );
    }

    #[test]
    fn sentences_count_and_say_what_published_figures_lack() {
        let said = found().sentences.join("\n");
        for part in [
            "has no interval",
            "other hardware",
            "7 ratios: agrees 1, differs 3, unresolved 3",
            "unresolved: no such figure of file was published: read mean of loop, fs(xfs) under 4k-randread-qd1",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }

    #[test]
    fn without_a_ratio_nothing_is_held_against_anything() {
        let mut run = twin::published();
        let published = run.start.scenario.published.as_mut().unwrap();
        published.figures.retain(|figure| figure.stack == "file");
        published.claims.clear();
        let found = findings(&run).published.unwrap();
        assert!(found.figures.iter().all(|figure| figure.ratio.is_none()));
        assert_eq!(found.sentences.len(), 2);
        assert!(
            found.sentences[1].ends_with("and no ratio to the baseline was published"),
            "{:?}",
            found.sentences
        );
    }

    #[test]
    fn emulated_and_lost_stacks_are_unresolved() {
        let mut run = twin::failed();
        run.start.scenario.published = twin::published().start.scenario.published;
        let found = findings(&run).published.unwrap();
        let Agreement::Unresolved { reason } = &ratio(&found, "loop", "iops").agreement else {
            panic!()
        };
        assert!(reason.contains("loop failed"), "{reason}");
        assert!(matches!(found.figures[1].measured, MeasuredFigure::Failed { .. }));
        let mut run = twin::published();
        run.places[0].emulated = Some("no KVM".into());
        let found = findings(&run).published.unwrap();
        let said = "unresolved: figures of an emulated CPU are not representative: all ratios";
        assert!(found.sentences.iter().any(|sentence| sentence == said), "{:?}", found.sentences);
    }
}
