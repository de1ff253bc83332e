//! A stack against the most that its drives allow: what `each([..])` of the same drives reached in
//! the same run, the maker's rating where the scenario has one or the model is known, and what the
//! links and networks carry that the data cross. A result that no drive explains is reported as a
//! doubt (`doubts`), not hidden here.

mod bound;
#[cfg(test)]
mod ceilings_tests;
mod cover;
mod hardware;
mod layout;
mod link;
mod network;
mod rated;
#[cfg(test)]
mod tests;

pub use hardware::drive_below;
pub use layout::{Layout, LayoutSpread, is_joined, joining, stripe_unit};
pub use network::trips;

use crate::compare::ratio::RateComparison;
use crate::compare::rows;
use crate::compare::standing::rate_level;
use crate::findings::efficiency::{DirectionEfficiency, Efficiency, FigureOrigin};
use crate::findings::{Interval, MeasuredFigure, SampleUnit, StackRow};
use crate::gather::pairing::RoundBasis;
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::IoDirection;
use crate::gather::subject;
use crate::gather::subject::{Quantity, mark_emulated};
use bound::{DriveLoad, IoCost, LoadNeed};
use cover::{CoveredPart, LoadRegion};
use hardware::Hardware;
use iotax_facts::machine::Device;
use iotax_load::{Job, Rw};
use iotax_model::scenario::Workload;
use iotax_model::stack::Medium;
use iotax_stats::{Digits, unpaired};
use std::path::PathBuf;

/// Share of the bandwidth of a link or network below which its bound is left out, unless the load's
/// rates are in bytes.
const OF_LINK: f64 = 0.5;

/// Returns the efficiencies of the stacks of workload `at`, for each bound that is known. Loads
/// with a set rate have none, since they ask for no more than that. Neither have trims, which no
/// layout accounts for, nor probes.
pub fn efficiencies(readings: &[WorkloadView], at: usize, rows: &[StackRow]) -> Vec<Efficiency> {
    let reading = &readings[at];
    if reading.workload.probe.is_some()
        || reading.workload.jobs.iter().any(|job| job.rate_iops.is_some() || job.rw.trims())
    {
        return Vec::new();
    }
    let of_stack = |(stack, row)| {
        let hardware = Hardware::from_run(reading.run, &reading.run.start.scenario.stacks[stack]);
        let case = EfficiencyCase {
            readings,
            reading,
            stack,
            row,
            hardware: hardware.as_ref(),
            way: None,
        };
        [
            case.measured_efficiency(),
            // What was measured between the two places says more than the speed of their cards.
            case.measured_link_efficiency().or_else(|| case.network_efficiency()),
            case.link_efficiency(),
            case.rated_efficiency(),
        ]
    };
    let is_loaded = |at: usize| {
        let stacks = &reading.run.start.scenario.stacks;
        reading.workload.is_for(&stacks[at], stacks)
    };
    let rows = rows.iter().enumerate().filter(|(at, _)| is_loaded(*at));
    let mut found: Vec<Efficiency> = rows.flat_map(of_stack).flatten().collect();
    let of_link = |one: &Efficiency| one.by.is_on_the_way();
    let near =
        |one: &Efficiency| of_link(one) && one.share.value().is_some_and(|share| share >= OF_LINK);
    if subject::rate_unit(reading.workload) != "B/s" && !found.iter().any(near) {
        found.retain(|one| !of_link(one));
    }
    found
}

#[derive(Clone, Copy)]
struct EfficiencyCase<'a> {
    readings: &'a [WorkloadView<'a>],
    reading: &'a WorkloadView<'a>,
    stack: usize,
    row: &'a StackRow,
    hardware: Option<&'a Hardware<'a>>,
    /// Direction of a mix that is compared with what is possible for it alone; `None`: the whole
    /// load.
    way: Option<IoDirection>,
}

struct ReachedBound {
    need: LoadNeed,
    could: MeasuredFigure,
    share: MeasuredFigure,
    of_all: Option<MeasuredFigure>,
    /// What else limits the bound, in words.
    also: Option<String>,
    /// Share of the bound up to which a figure raises no doubt.
    scatter: f64,
}

impl EfficiencyCase<'_> {
    fn stack(&self) -> &iotax_model::stack::Stack {
        &self.reading.run.start.scenario.stacks[self.stack]
    }

    /// Compares the stack with its drives, if the run also loaded all of them at once, without
    /// layers. `None` also if nothing joins the drives.
    fn measured_efficiency(&self) -> Option<Efficiency> {
        is_joined(self.stack()).then_some(())?;
        let stacks = &self.reading.run.start.scenario.stacks;
        let is_each = |one: &&usize| {
            let one = &stacks[**one];
            one.layers.is_empty() && same_members(&one.medium, &self.stack().medium)
        };
        let each = (0..stacks.len()).collect::<Vec<_>>().iter().find(is_each).copied()?;
        let by = FigureOrigin::Measured { each: self.reading.name(each).to_owned() };
        Some(self.finding(by, |case, layout, job| case.against_each(each, layout, job)))
    }

    /// Returns the finding by the bound that `held` computes: for the whole load, and for a mix
    /// also for its reads and writes separately.
    fn finding(
        &self,
        by: FigureOrigin,
        held: impl Fn(&EfficiencyCase, &Layout, &Job) -> Result<ReachedBound, String>,
    ) -> Efficiency {
        let layout = Layout::from_stack(self.stack());
        let joins = layout.as_ref().map_or(true, |layout| !layout.name.is_empty());
        let direction = |layout: &Layout, job: &Job, way: IoDirection| {
            let held =
                held(&EfficiencyCase { way: Some(way), ..*self }, layout, &one_way_job(job, way));
            let (could, share, of_all) = figures(held);
            DirectionEfficiency {
                direction: way.word(),
                could,
                share,
                of_all: of_all.filter(|_| joins),
            }
        };
        let directions = match (&layout, self.reading.workload.jobs.as_slice()) {
            (Ok(layout), [job]) => self
                .reading
                .mix_directions()
                .iter()
                .map(|way| direction(layout, job, *way))
                .collect(),
            _ => Vec::new(),
        };
        let held = match (&layout, self.reading.workload.jobs.as_slice()) {
            (Ok(_), [job]) if !job.fio_options.is_empty() => {
                Err("the load has options that only fio honours".to_owned())
            }
            (Ok(layout), [job]) => held(self, layout, job),
            (Ok(_), _) => {
                Err("several jobs at once share the drives in a way that is not known".to_owned())
            }
            (Err(reason), _) => Err(reason.clone()),
        };
        let (drives, name) = layout
            .as_ref()
            .map_or((self.stack().medium.members().len() as u64, String::new()), |layout| {
                (layout.all_drives(), layout.to_sentence())
            });
        let (rule, unless) = held.as_ref().map_or((String::new(), None), |held| {
            let rules = [held.need.rule.clone(), held.also.clone().unwrap_or_default()];
            let rules: Vec<String> = rules.into_iter().filter(|rule| !rule.is_empty()).collect();
            (rules.join("; "), held.need.unless)
        });
        let scatter = held.as_ref().map_or(1.0, |held| held.scatter);
        let (could, share, of_all) = figures(held);
        let mut found = Efficiency {
            stack: self.reading.name(self.stack).to_owned(),
            layout: name,
            drives,
            by,
            rule,
            could,
            share,
            of_all: of_all.filter(|_| joins),
            published: None,
            directions,
            unless,
            emulated: self.reading.emulated(self.stack),
            sentence: String::new(),
            scatter,
        };
        found.sentence = efficiency_words(&found, self.reading.workload);
        found
    }

    /// Returns the need of the load if every I/O were one I/O of a drive.
    fn plain_need(&self, layout: &Layout, job: &Job) -> Result<LoadNeed, String> {
        self.need(&Layout::without_join(layout.all_drives()), job)
    }

    fn need(&self, layout: &Layout, job: &Job) -> Result<LoadNeed, String> {
        let random = if job.rw.random() { f64::from(job.percentage_random) / 100.0 } else { 0.0 };
        let ask = DriveLoad {
            reads: reads_of(job),
            random,
            bs: job.bs,
            streams: u64::from(job.numjobs) * self.of_an_array(layout),
            flash: self.is_flash(),
            covered: self.covered_part(layout, job),
        };
        LoadNeed::for_load(layout, &ask)
    }

    /// Returns the number of targets that every job of the load has at the same time.
    fn at_once(&self) -> u64 {
        self.stack().target_count()
    }

    /// Returns the number of targets that are on one array, at least 1.
    fn of_an_array(&self, layout: &Layout) -> u64 {
        (self.at_once() / layout.arrays).max(1)
    }

    /// Returns the part of concatenated drives that the load is on; `None` for other layouts, and
    /// if the size of a drive is not recorded.
    fn covered_part(&self, layout: &Layout, job: &Job) -> Option<CoveredPart> {
        let members = self.stack().medium.members();
        let smallest =
            members.iter().map(|member| self.member_bytes(member)).collect::<Option<Vec<_>>>()?;
        let target = self.reading.worker(self.stack)?.bytes;
        let rest = target.saturating_sub(job.offset);
        let bytes = job
            .size
            .map_or(rest, |size| (job.last_offset() - job.offset).saturating_add(size).min(rest));
        let region = LoadRegion { offset: job.offset, bytes, parts: self.of_an_array(layout) };
        CoveredPart::by_region(layout, smallest.into_iter().min()?, &region)
    }

    fn member_bytes(&self, member: &Medium) -> Option<u64> {
        match member {
            Medium::Drive { place, .. } => {
                self.reading.run.start.scenario.labs.get(place).map(|lab| lab.drive_size)
            }
            Medium::File { .. }
            | Medium::Rbd { .. }
            | Medium::VhostUser { .. }
            | Medium::Many { .. } => None,
            member => hardware::targets(self.reading.run, member).next()?.1.devices.first()?.bytes,
        }
    }

    fn devices(&self) -> impl Iterator<Item = &Device> {
        let run = self.reading.run;
        let media = self.stack().medium.members().iter();
        let of_media =
            media.flat_map(|member| hardware::targets(run, member).map(|(_, target)| target));
        let own = self.reading.worker(self.stack).map(|worker| PathBuf::from(&worker.target));
        let all = run.places.iter().flat_map(|place| &place.facts.targets);
        let loaded = all.filter(move |target| Some(&target.path) == own.as_ref());
        of_media.chain(loaded).flat_map(|target| &target.devices)
    }

    fn is_flash(&self) -> bool {
        let mut turning = self.devices().filter_map(|device| device.rotational);
        turning.next() == Some(false) && !turning.any(|turns| turns)
    }

    /// Compares the stack with stack `each`, its bare drives. If the layout changes the mix of
    /// reads and writes, the bound is from the drives' rates with reads alone and with writes
    /// alone; it fails if the run does not have these.
    fn against_each(
        &self,
        each: usize,
        layout: &Layout,
        job: &Job,
    ) -> Result<ReachedBound, String> {
        let need = self.need(layout, job)?;
        // Costs of all drives together.
        let drives = layout.all_drives() as f64;
        let cost =
            IoCost { reads: need.cost().reads * drives, writes: need.cost().writes * drives };
        let own = |reading: &WorkloadView| {
            rows::stack_rate(reading, each, "1/s", Quantity::Acknowledged, None)
        };
        if let Some(times) = same_mix(cost, reads_of(job)).filter(|_| self.way.is_none()) {
            let could = own(self.reading).map("1/s", |rate| rate / times);
            let share = self.ratio_over_drives(each, times);
            return Ok(ReachedBound {
                could: self.in_unit(could, job),
                share,
                of_all: Some(self.ratio_over_drives(each, 1.0)),
                need,
                also: None,
                scatter: 1.0,
            });
        }
        let wanted =
            [(cost.reads, true), (cost.writes, false)].into_iter().filter(|(ios, _)| *ios > 0.0);
        let parts = wanted.map(|(ios, reads)| Ok((ios, self.one_way_workload(reads, job)?)));
        let parts = parts.collect::<Result<Vec<_>, String>>()?;
        let share = parts.iter().map(|(ios, reading)| self.share_of_drives(each, reading, *ios));
        let could = parts.iter().map(|(ios, reading)| own(reading).map("s", |rate| ios / rate));
        let could = sum(could).map("1/s", |seconds| 1.0 / seconds);
        let of_all = match self.way {
            None => self.ratio_over_drives(each, 1.0),
            Some(way) => self.share_of_drives(
                each,
                self.one_way_workload(way == IoDirection::Read, job)?,
                1.0,
            ),
        };
        Ok(ReachedBound {
            could: self.in_unit(could, job),
            share: sum(share),
            of_all: Some(of_all),
            need,
            also: None,
            scatter: 1.0,
        })
    }

    /// Returns the workload with the same load of only reads, or only writes. Fails if the run has
    /// none.
    fn one_way_workload(&self, reads: bool, job: &Job) -> Result<&WorkloadView<'_>, String> {
        let like = |other: &Job| Job {
            name: String::new(),
            rw: job.rw,
            rwmixread: job.rwmixread,
            ..other.clone()
        };
        let wanted = Job { name: String::new(), ..job.clone() };
        let is_it = |reading: &&WorkloadView| match reading.workload.jobs.as_slice() {
            [other] => {
                other.rw.reads() == reads
                    && other.rw.writes() != reads
                    && other.rw.random() == job.rw.random()
                    && like(other) == wanted
            }
            _ => false,
        };
        self.readings.iter().find(is_it).ok_or_else(|| {
            let what = if reads { "reads" } else { "writes" };
            let why = format!(
                "{what} alone were not measured on the drives at this bs, iodepth and numjobs"
            );
            match self.way {
                None => why,
                Some(_) => {
                    format!("{why}, and the rate of a mix cannot be split into reads and writes")
                }
            }
        })
    }

    /// Returns the rate of the stack over that of all drives, multiplied by `times`. The ratio is
    /// paired where both ran under this load; else its interval includes the machine's drift
    /// between the two.
    fn share_of_drives(&self, each: usize, under: &WorkloadView, times: f64) -> MeasuredFigure {
        match under.workload.name == self.reading.workload.name {
            true => self.ratio_over_drives(each, times),
            false => self.over_another(each, under).map("1", |ratio| ratio * times),
        }
    }

    fn ratio_over_drives(&self, each: usize, times: f64) -> MeasuredFigure {
        let pair = [each, self.stack];
        if let Some(absent) = pair.into_iter().find(|at| self.reading.sides[*at].rounds.is_empty())
        {
            return MeasuredFigure::missing(self.reading.not_measured(absent));
        }
        let paired = self.reading.pair(&self.reading.sides[each], &self.reading.sides[self.stack]);
        let basis = RoundBasis { quantity: Quantity::Acknowledged, ..self.reading.basis() };
        let found = RateComparison::estimate(self.reading, pair, &paired, basis);
        // Problems that the slices show spoil the ratio. A wide ratio, or one of many, does not.
        let spoilt =
            found.verdict.reason().filter(|reason| reason.is_of_slices()).map(ToString::to_string);
        let figure = found.rate_ratio_figure().map("1", |ratio| ratio * times);
        if spoilt.is_some() { figure.cautioned(spoilt) } else { figure }
    }

    fn over_another(&self, each: usize, under: &WorkloadView) -> MeasuredFigure {
        for (reading, at) in [(self.reading, self.stack), (under, each)] {
            if reading.sides[at].rounds.is_empty() {
                return MeasuredFigure::missing(reading.not_measured(at));
            }
        }
        let levels = rate_level(&under.sides[each], None).and_then(|drives| {
            Ok((drives, rate_level(&self.reading.sides[self.stack], self.way)?))
        });
        let rates = [(under, each, None), (self.reading, self.stack, self.way)].map(
            |(reading, at, way)| {
                rows::stack_rate(reading, at, "1/s", Quantity::Acknowledged, way).value()
            },
        );
        match (levels, rates) {
            (Ok((drives, stack)), _) => {
                let found =
                    unpaired::compare_levels(&drives, &stack, separation([under, self.reading]));
                let interval = Interval::from_bounds(found.low, found.high);
                let (n, caution) = (found.units as u64, None);
                MeasuredFigure::Known {
                    value: found.ratio,
                    unit: "1",
                    n,
                    of: SampleUnit::Rounds,
                    interval,
                    caution,
                }
            }
            (Err(reason), [Some(drives), Some(stack)]) if drives > 0.0 => MeasuredFigure::bare(
                stack / drives,
                "1",
                (self.row.rounds, SampleUnit::Rounds),
                reason,
            ),
            (Err(reason), _) => MeasuredFigure::missing(reason),
        }
    }

    /// Returns the stack's rate over a bound in I/Os a second that has no interval.
    fn share_of(&self, bound: f64) -> MeasuredFigure {
        let rate = match self.way {
            None => self.row.iops.clone(),
            Some(way) => {
                rows::stack_rate(self.reading, self.stack, "1/s", Quantity::Acknowledged, Some(way))
            }
        };
        rate.map("1", |rate| rate / bound)
    }

    /// Converts I/Os per second to bytes per second, if the rates of this workload are given in
    /// bytes.
    fn in_unit(&self, figure: MeasuredFigure, job: &Job) -> MeasuredFigure {
        match subject::rate_unit(self.reading.workload) {
            "B/s" => figure.map("B/s", |ios| ios * job.bs as f64),
            _ => figure,
        }
    }
}

/// Returns the job with only the reads, or only the writes, of a mix.
fn one_way_job(job: &Job, way: IoDirection) -> Job {
    let rw = match (way == IoDirection::Read, job.rw.random()) {
        (true, true) => Rw::RandRead,
        (true, false) => Rw::Read,
        (false, true) => Rw::RandWrite,
        (false, false) => Rw::Write,
    };
    Job { rw, ..job.clone() }
}

fn figures(
    held: Result<ReachedBound, String>,
) -> (MeasuredFigure, MeasuredFigure, Option<MeasuredFigure>) {
    match held {
        Ok(held) => (held.could, held.share, held.of_all),
        Err(reason) => {
            let missing = MeasuredFigure::missing(reason);
            (missing.clone(), missing.clone(), Some(missing))
        }
    }
}

fn reads_of(job: &Job) -> f64 {
    match (job.rw.reads(), job.rw.writes()) {
        (true, true) => f64::from(job.rwmixread) / 100.0,
        (reads, _) => f64::from(u8::from(reads)),
    }
}

/// Returns the number of drive I/Os that one I/O of the load takes, if the share of reads among
/// them is `reads`, that of the load. The drives' result under the same load then suffices.
fn same_mix(cost: IoCost, reads: f64) -> Option<f64> {
    let all = cost.reads + cost.writes;
    ((cost.reads - reads * all).abs() < 1e-9 * all).then_some(all)
}

/// Returns true if both media consist of the same several drives.
fn same_members(one: &Medium, other: &Medium) -> bool {
    let (Medium::Many { members: one, .. }, Medium::Many { members: other, .. }) = (one, other)
    else {
        return false;
    };
    one.len() == other.len() && one.iter().all(|member| other.contains(member))
}

fn sum(parts: impl Iterator<Item = MeasuredFigure>) -> MeasuredFigure {
    parts.reduce(add_figures).unwrap_or_else(|| MeasuredFigure::missing("nothing was measured"))
}

/// Adds two figures whose errors may be correlated: the bounds of the intervals add up.
fn add_figures(one: MeasuredFigure, other: MeasuredFigure) -> MeasuredFigure {
    let (n, caution) = match (&one, &other) {
        (
            MeasuredFigure::Known { n, caution, .. },
            MeasuredFigure::Known { n: more, caution: its, .. },
        ) => (*n.min(more), caution.clone().or_else(|| its.clone())),
        (MeasuredFigure::Known { .. }, absent) | (absent, _) => return absent.clone(),
    };
    let (
        MeasuredFigure::Known { value, unit, of, interval, .. },
        MeasuredFigure::Known { value: more, interval: its, .. },
    ) = (one, other)
    else {
        return MeasuredFigure::missing("nothing was measured");
    };
    let interval = match (interval, its) {
        (Interval::Bounds { low, high, .. }, Interval::Bounds { low: from, high: to, .. }) => {
            Interval::from_bounds(low + from, high + to)
        }
        (missing @ Interval::Missing { .. }, _) | (_, missing) => missing,
    };
    MeasuredFigure::Known { value: value + more, unit, n, of, interval, caution }
}

/// Returns the time between the starts of two loads, in lengths of the shorter one; 1 if a load has
/// no slices.
fn separation(pair: [&WorkloadView; 2]) -> f64 {
    let span = |reading: &WorkloadView| {
        let slices =
            reading.run.slices.iter().filter(|slice| slice.workload == reading.workload.name);
        let times = slices.map(|slice| (slice.start_ns, slice.start_ns + slice.window_ns));
        times.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
    };
    match pair.map(span) {
        [Some(a), Some(b)] => {
            let shorter = (a.1 - a.0).min(b.1 - b.0).max(1) as f64;
            a.0.abs_diff(b.0) as f64 / shorter
        }
        _ => 1.0,
    }
}

fn efficiency_words(found: &Efficiency, workload: &Workload) -> String {
    let who = mark_emulated(&found.stack, found.emulated.is_some());
    if let FigureOrigin::MeasuredLink { probe, between, streams } = &found.by {
        return network::network_words(&who, [probe, between], *streams, found);
    }
    let kind = workload.kind_subject();
    let drives = match (&found.by, found.drives) {
        (FigureOrigin::Link { .. }, 1) => "the link of its drive".to_owned(),
        (FigureOrigin::Network { .. } | FigureOrigin::MeasuredLink { .. }, _) => {
            "the network below it".to_owned()
        }
        (FigureOrigin::Link { .. }, many) => format!("the links of {many} drives"),
        (_, 1) => "its drive".to_owned(),
        (_, many) => format!("{many} drives"),
    };
    let source = match &found.by {
        FigureOrigin::Measured { each } => format!("measured: {each}"),
        FigureOrigin::Rated { source, drive: None } => format!("rated: {source}"),
        FigureOrigin::Rated { source, drive: Some(drive) } => format!("{drive} rated: {source}"),
        FigureOrigin::Link { .. }
        | FigureOrigin::Network { .. }
        | FigureOrigin::MeasuredLink { .. } => "at the most".to_owned(),
    };
    let at = format!("{} {kind}", found.layout);
    let at = at.trim_start();
    match (found.share.value(), &found.share) {
        (Some(share), _) => {
            let rule =
                if found.rule.is_empty() { String::new() } else { format!("{}; ", found.rule) };
            let share = Digits::format_share(share, found.share.bounds()).to_words();
            let published = found.published.as_ref().and_then(MeasuredFigure::value);
            let published =
                published.map(|share| format!("; {:.1} % was published", 100.0 * share));
            let published = published.unwrap_or_default();
            let apart = describe_directions(&found.directions);
            format!(
                "{who}: reaches {share} of what {drives} can do at {at} ({rule}{source}){published}{apart}"
            )
        }
        (None, MeasuredFigure::Failed { reason } | MeasuredFigure::Missing { reason }) => {
            format!("{who}: no share of what {drives} can do at {at} ({source}): {reason}")
        }
        (None, MeasuredFigure::Known { .. }) => String::new(),
    }
}

/// Describes reads and writes of a mix, each against the limit of a load of that direction alone.
fn describe_directions(directions: &[DirectionEfficiency]) -> String {
    let said = |one: &DirectionEfficiency| match (one.share.value(), &one.share) {
        (Some(share), _) => {
            let share = Digits::format_share(share, one.share.bounds()).to_words();
            format!("; {}s reach {share} of the limit of {0}s alone", one.direction)
        }
        (None, MeasuredFigure::Failed { reason } | MeasuredFigure::Missing { reason }) => {
            format!("; no share of {}s alone: {reason}", one.direction)
        }
        (None, MeasuredFigure::Known { .. }) => String::new(),
    };
    directions.iter().map(said).collect()
}

/// Returns the reason why a share of a bound cannot be that of the drives alone, with possible
/// causes. `None` if the share is not surely above the bound.
pub fn excess_reason(found: &Efficiency) -> Option<String> {
    let (low, _) = found.share.bounds()?;
    let share = found.share.value().filter(|_| low > found.scatter)?;
    let words = Digits::format_share(share, found.share.bounds()).to_words();
    let what = match &found.by {
        FigureOrigin::Measured { each } => format!("what its drives could do by {each}"),
        FigureOrigin::Rated { .. } => "what its drives are rated at".to_owned(),
        FigureOrigin::Link { link: name } | FigureOrigin::Network { network: name } => {
            format!("what {name} carries")
        }
        FigureOrigin::MeasuredLink { probe, between, .. } => {
            format!("what {probe} carried between {between}")
        }
    };
    let mut causes = match &found.by {
        FigureOrigin::MeasuredLink { .. } => {
            vec!["something is cached", "it uses more connections than were measured"]
        }
        FigureOrigin::Link { .. } | FigureOrigin::Network { .. } => {
            vec!["something is cached", "what was never written is answered before the link"]
        }
        _ => vec!["something is cached", "requests are merged", "it reads what was never written"],
    };
    causes.extend(found.unless);
    match &found.by {
        FigureOrigin::Measured { .. } => {}
        FigureOrigin::Rated { .. } => causes.push("the drives are fresh or better than rated"),
        FigureOrigin::Link { .. }
        | FigureOrigin::Network { .. }
        | FigureOrigin::MeasuredLink { .. } => causes.push("a layer makes less of the data"),
    }
    let last = causes.pop().unwrap_or_default();
    Some(format!("it reaches {words} of {what}: {}, or {last}", causes.join(", ")))
}
