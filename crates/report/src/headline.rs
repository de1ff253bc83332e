//! The answer in about a dozen words: which stacks cost how much of what.

use crate::verdicts::{VerdictSentence, class_of};
use iotax_analysis::Findings;
use iotax_analysis::findings::{
    Bill, Comparison, ComparisonRole, MeasuredFigure, Quantity, WorkloadFindings,
};
use iotax_stats::Verdict;
use iotax_units::{count_noun, show_ns};

/// Largest number of stacks that are all named.
const NAMED: usize = 3;

/// Returns the answer with its class: wrong data above all, else costs and gains. Returns `None` if nothing
/// is resolved on real hardware, for which the findings have the reason.
pub(crate) fn short_headline(findings: &Findings) -> Option<VerdictSentence> {
    if let Some(alarm) = findings.verification.as_ref().and_then(|found| found.alarm()) {
        return Some(VerdictSentence { class: "cost", text: alarm });
    }
    // Another headline tells of durability or of limits.
    findings.headline_of.as_ref()?;
    let bill = findings.joint_bills.first().map(|joint| &joint.bill);
    let own = match findings.workloads.as_slice() {
        [one] => one.bill.as_ref(),
        _ => None,
    };
    bill.or(own).and_then(|bill| of_bill(findings, bill)).or_else(|| of_stacks(findings))
}

/// Returns `the layers cost 17 % of the IOPS of file and 18 us per I/O; delay takes most`; `None` if
/// the total is no certain cost.
fn of_bill(findings: &Findings, bill: &Bill) -> Option<VerdictSentence> {
    let Verdict::Costs { cost, .. } = bill.total.verdict else { return None };
    let base = &bill.lines.first()?.on;
    let unit = unit_of(findings.workloads.first()?);
    let latency = bill.total.added_latency.value().filter(|added| *added > 0.0);
    let latency = latency.map(|ns| format!(" and {} per I/O", show_ns(ns))).unwrap_or_default();
    let share = |line: &&iotax_analysis::findings::BillLine| {
        Some(1.0 - line.of_baseline.value().or_else(|| line.ratio.value())?)
    };
    let dearest = bill.lines.iter().filter_map(|line| Some((share(&line)?, line)));
    let dearest = dearest.max_by(|one, other| one.0.total_cmp(&other.0));
    let most = match (dearest, bill.lines.len()) {
        (Some((_, line)), 2..) => format!("; {} takes most", line.layer),
        _ => String::new(),
    };
    let who = if bill.lines.len() > 1 { "the layers cost" } else { "it costs" };
    let text = format!("{who} {} of the {unit} of {base}{latency}{most}", show_percent(cost));
    Some(VerdictSentence { class: "cost", text })
}

/// Conclusions about one stack under all loads.
#[derive(Default)]
struct StackAnswer<'a> {
    stack: &'a str,
    costs: Vec<f64>,
    gains: Vec<f64>,
    alike: usize,
    open: usize,
    /// True if I/Os of the stack failed, so that it has no rate.
    failed: bool,
}

impl StackAnswer<'_> {
    fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Costs { cost, .. } => self.costs.push(*cost),
            Verdict::Gains { gain, .. } => self.gains.push(*gain),
            Verdict::NoDifference { .. } => self.alike += 1,
            Verdict::Unresolved { .. } => self.open += 1,
        }
    }

    /// Returns the largest difference, by which stacks are ordered.
    fn size(&self) -> f64 {
        let costs = self.costs.iter().map(|cost| -(1.0 - cost).max(1e-9).ln());
        let gains = self.gains.iter().map(|gain| (1.0 + gain).ln());
        costs.chain(gains).fold(0.0, f64::max)
    }

    /// Returns the verb and the size: `costs` and `4.3 to 51 %`.
    fn words(&self) -> (&'static str, String) {
        let rest = self.alike + self.open > 0;
        if self.failed {
            return ("failed", String::new());
        }
        match (self.costs.is_empty(), self.gains.is_empty()) {
            (false, true) => ("costs", percent_range(&self.costs, rest)),
            (true, false) => ("gains", percent_range(&self.gains, rest)),
            (false, false) => {
                let gains = percent_range(&self.gains, true);
                ("costs", format!("{}, gains {gains}", percent_range(&self.costs, true)))
            }
            (true, true) if self.open == 0 => ("costs", "nothing measurable".to_owned()),
            (true, true) => ("is", "unresolved".to_owned()),
        }
    }
}

fn of_stacks(findings: &Findings) -> Option<VerdictSentence> {
    let mut all: Vec<StackAnswer> = Vec::new();
    let comparisons = || findings.workloads.iter().flat_map(|one| &one.comparisons);
    for one in comparisons().filter(|one| is_answer(one)) {
        match all.iter_mut().find(|known| known.stack == one.stack) {
            Some(known) => known.add(&one.rate.verdict),
            None => {
                let failed = has_failed(findings, &one.stack);
                let mut new = StackAnswer { stack: &one.stack, failed, ..StackAnswer::default() };
                new.add(&one.rate.verdict);
                all.push(new);
            }
        }
    }
    let count = all.len();
    let against = &comparisons().next()?.against;
    let unit = unit_of(findings.workloads.first()?);
    if count > NAMED {
        all.sort_by(|one, other| other.size().total_cmp(&one.size()));
        all.truncate(1);
    }
    let first = all.first()?;
    let class = match () {
        () if all.iter().any(|one| one.failed || !one.costs.is_empty()) => "cost",
        () if all.iter().any(|one| !one.gains.is_empty()) => "gain",
        () if first.open > 0 => "open",
        () => "none",
    };
    let (mut verb, mut is_named) = ("", false);
    let each = all.iter().map(|one| {
        let (own, size) = one.words();
        let repeated = std::mem::replace(&mut verb, own) == own;
        let verb = if repeated { String::new() } else { format!("{own} ") };
        // The unit is named once.
        let of = match own {
            _ if is_named => String::new(),
            "costs" if size.ends_with('%') => format!(" of the {unit} of {against}"),
            "gains" => format!(" over {against} in {unit}"),
            _ => String::new(),
        };
        is_named |= !of.is_empty();
        format!("{} {verb}{size}{of}", one.stack).trim_end().to_owned()
    });
    let text = each.collect::<Vec<_>>().join(", ");
    let most = match count > NAMED {
        true => format!(", the most of {}", count_noun(count as u64, "stack", "stacks")),
        false => String::new(),
    };
    Some(VerdictSentence { class, text: text + &most })
}

fn has_failed(findings: &Findings, stack: &str) -> bool {
    let mut rows = findings.workloads.iter().flat_map(|one| &one.rows);
    rows.any(|row| row.stack == stack && matches!(row.iops, MeasuredFigure::Failed { .. }))
}

/// Returns true for verdicts that an answer may rest on: those on rates of real, unmasked stacks.
fn is_answer(one: &Comparison) -> bool {
    one.role == ComparisonRole::Stack
        && one.emulated.is_none()
        && one.masked.is_none()
        && one.of_write != Some(Quantity::Durable)
}

fn unit_of(workload: &WorkloadFindings) -> &str {
    match (&workload.probe, workload.rate_unit) {
        (Some(probe), _) => &probe.head,
        (None, "B/s") => "throughput",
        (None, _) => "IOPS",
    }
}

fn percent_range(sizes: &[f64], is_part: bool) -> String {
    let (least, most) = sizes.iter().fold((f64::INFINITY, 0.0), |(least, most), size| {
        (f64::min(least, *size), f64::max(most, *size))
    });
    match () {
        () if is_part => format!("up to {}", show_percent(most)),
        () if show_percent(least) == show_percent(most) => show_percent(most),
        () => format!("{} to {}", show_percent(least).trim_end_matches(" %"), show_percent(most)),
    }
}

fn show_percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent.abs() < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// Returns the class of the verdict on a stack's rate, for the mark of its row.
pub(crate) fn class_of_stack(workload: &WorkloadFindings, stack: &str) -> &'static str {
    let one = workload.comparisons.iter().find(|one| one.stack == stack);
    one.map_or("", |one| class_of(&one.rate.verdict))
}
