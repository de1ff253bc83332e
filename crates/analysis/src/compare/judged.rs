//! Rates, latencies and CPU times of pairs of stacks, and their verdicts when all of a run are
//! judged together.

use crate::compare::charges::ChargedStack;
use crate::compare::ratio::EstimatedRatio;
use crate::compare::{charges, directions, drives, verdicts};
use crate::findings::{Charges, Comparison, WorkloadFindings};
use crate::gather::reading::WorkloadView;
use iotax_stats::family::Family;
use iotax_store::RunData;

/// Estimates for the findings of a workload, in their order. `None` where nothing could be
/// estimated, and for the ruler. Stacks against the baseline come first, then states of arrays
/// against the healthy array.
#[derive(Default)]
pub struct WorkloadEstimates {
    pub comparisons: Vec<Option<EstimatedRatio>>,
    /// Estimates for the lines of the bill, then for its total.
    pub bill_lines: Vec<Option<EstimatedRatio>>,
    pub latency: Vec<Option<EstimatedRatio>>,
    pub cpu: Vec<Option<EstimatedRatio>>,
    /// Estimates for the throughput of reads and writes separately, comparison by comparison.
    pub directions: Vec<Option<EstimatedRatio>>,
    pub direction_latency: Vec<Option<EstimatedRatio>>,
    /// Estimates for drives against the median of the others.
    pub drives: Vec<Option<EstimatedRatio>>,
}

impl WorkloadEstimates {
    pub fn add_estimates(&mut self, more: WorkloadEstimates) {
        self.comparisons.extend(more.comparisons);
        self.bill_lines.extend(more.bill_lines);
        self.latency.extend(more.latency);
        self.cpu.extend(more.cpu);
        self.directions.extend(more.directions);
        self.direction_latency.extend(more.direction_latency);
        self.drives.extend(more.drives);
    }
}

/// Comparisons of rates, and of latencies and CPU times (`charges`), with their estimates.
#[derive(Default)]
pub struct JudgedPairs {
    pub comparisons: Vec<Comparison>,
    pub charges: Vec<Charges>,
    pub estimates: WorkloadEstimates,
}

impl JudgedPairs {
    /// Adds the comparison of the second stack of a pair with the first.
    pub fn add_pair(&mut self, reading: &WorkloadView, pair: [usize; 2]) {
        // A ruler is no member of the families that are judged together.
        let judged = reading.run.start.scenario.ruler() != Some(pair[1]);
        let compared = verdicts::of_pair(reading, pair);
        // The first is the acknowledged figure; the CPU times are of its slices.
        let throughput = compared.first().map(|one| &one.comparison.rate.verdict);
        let counted = |found: Option<EstimatedRatio>| found.filter(|_| judged);
        // A probe's figure is already the time that one of its units takes.
        if reading.workload.probe.is_none() {
            self.charge(charges::of_pair(reading, pair, throughput), counted);
        }
        for one in compared {
            self.estimates.comparisons.push(counted(one.estimated));
            self.estimates.directions.extend(one.directions.into_iter().map(counted));
            self.comparisons.push(one.comparison);
        }
    }

    fn charge(
        &mut self,
        charged: ChargedStack,
        counted: impl Fn(Option<EstimatedRatio>) -> Option<EstimatedRatio>,
    ) {
        self.estimates.latency.push(counted(charged.latency));
        self.estimates.cpu.push(counted(charged.cpu));
        self.estimates.direction_latency.extend(charged.directions.into_iter().map(counted));
        self.charges.push(charged.charges);
    }
}

/// Weight of throughput when the errors that a run may make are shared among kinds of figures. The
/// others have 1: throughput is what readers come for.
const WEIGHT_OF_THROUGHPUT: f64 = 3.0;

/// Gives all verdicts of a run simultaneous intervals, so that at most 5 of 100 runs report any
/// false difference, over all figures together.
pub fn settle_verdicts(
    run: &RunData,
    workloads: &mut [WorkloadFindings],
    all: Vec<WorkloadEstimates>,
) {
    let (mut comparisons, mut lines) = (Vec::new(), Vec::new());
    let (mut latency, mut cpu) = (Vec::new(), Vec::new());
    let (mut directions, mut direction_latency) = (Vec::new(), Vec::new());
    let mut of_median = Vec::new();
    for one in all {
        comparisons.push(one.comparisons);
        lines.push(one.bill_lines);
        latency.extend(one.latency);
        cpu.extend(one.cpu);
        directions.extend(one.directions);
        direction_latency.extend(one.direction_latency);
        of_median.extend(one.drives);
    }
    let zone = run.start.scenario.measure.equivalence;
    let kind = |estimates: &[Option<EstimatedRatio>]| (estimates.iter().flatten().count(), 1.0);
    let families = Family::weighted([
        (verdicts::judged_together(&comparisons, &lines), WEIGHT_OF_THROUGHPUT),
        kind(&directions),
        kind(&latency),
        kind(&cpu),
        kind(&direction_latency),
        kind(&of_median),
    ]);
    let [of_rates, of_directions, of_latency, of_cpu, of_direction_latency, of_drives] = families;
    drives::settle_drives(workloads, &of_median, of_drives, zone);
    verdicts::settle_throughput(workloads, &comparisons, &lines, of_rates, zone);
    directions::settle_directions(workloads, &directions, of_directions, zone);
    verdicts::say(run, workloads);
    verdicts::settle_charges(workloads, &latency, of_latency, zone, |charges| {
        vec![&mut charges.latency]
    });
    verdicts::settle_charges(workloads, &cpu, of_cpu, zone, |charges| vec![&mut charges.cpu]);
    verdicts::settle_charges(
        workloads,
        &direction_latency,
        of_direction_latency,
        zone,
        |charges| charges.directions.iter_mut().map(|one| &mut one.latency).collect(),
    );
    workloads.iter_mut().for_each(verdicts::same_in_the_bill);
}
