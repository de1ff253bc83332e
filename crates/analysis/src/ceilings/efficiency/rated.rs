//! Bounds by the maker's rating of a drive: the scenario's `[rating]`, else what is known of the
//! model that the place reports.

use super::bound::{DriveRates, IoCost, LoadNeed, bounded_rate};
use super::{
    Efficiency, EfficiencyCase, FigureOrigin, Layout, ReachedBound, efficiency_words, reads_of,
};
use crate::findings::{MeasuredFigure, SampleUnit};
use crate::gather::subject;
use crate::results::published;
use iotax_hardware::media::Medium;
use iotax_hardware::ratings::{ABOVE_RATING, BELOW_RATED_LATENCY, DriveMatch, RatedWrites};
use iotax_load::Job;
use iotax_model::scenario::{DriveRatings, Metric, PublishedFigure, Rating};
use std::collections::BTreeMap;

struct DriveSheet {
    /// Ratings in I/Os per second, bytes per second or nanoseconds.
    figures: BTreeMap<DriveRatings, f64>,
    /// True if the rating of writes is for an SLC cache.
    burst: bool,
}

impl DriveSheet {
    fn rated_value(&self, rated: DriveRatings) -> Option<f64> {
        self.figures.get(&rated).copied()
    }

    fn of_scenario(rating: &Rating) -> DriveSheet {
        let figures = rating.figures.iter().map(|(rated, figure)| (*rated, figure.value)).collect();
        DriveSheet { figures, burst: false }
    }

    /// Returns the figures of a known drive: the best over the sizes that it may have, so that no
    /// size exceeds them. I/Os at random places of a rotating disk depend on how far apart they
    /// are, and give no bound.
    fn of_known(drive: &DriveMatch) -> DriveSheet {
        let turns = drive.drive.media == Medium::Hdd;
        let value = |rated: DriveRatings| match rated {
            DriveRatings::Read | DriveRatings::Write => drive.most(rated),
            _ if turns => None,
            DriveRatings::RandreadIops | DriveRatings::RandwriteIops => drive.most(rated),
            DriveRatings::RandreadLatency | DriveRatings::RandwriteLatency => drive.least(rated),
        };
        let figures =
            DriveRatings::ALL.into_iter().filter_map(|(rated, _)| Some((rated, value(rated)?)));
        DriveSheet { figures: figures.collect(), burst: drive.drive.writes == RatedWrites::Burst }
    }
}

impl EfficiencyCase<'_> {
    /// Compares the stack with the rating of its drives: the scenario's, else that of their model.
    /// `None` if there is none, or if that of the model gives no bound for this load.
    pub(super) fn rated_efficiency(&self) -> Option<Efficiency> {
        if let Some(rating) = &self.reading.run.start.scenario.rating {
            let by = FigureOrigin::Rated { source: rating.source.clone(), drive: None };
            let sheet = DriveSheet::of_scenario(rating);
            let found = self.finding(by, |case, layout, job| {
                match (self.other_model(rating), &rating.model) {
                    (Some(other), Some(model)) => {
                        Err(format!("the rating is of {model}, and the drive is {other}"))
                    }
                    _ => case.against_sheet(&sheet, layout, job),
                }
            });
            return Some(self.beside_published(found));
        }
        let known = self.hardware.as_ref()?.rating(&self.reading.run.ratings)?;
        let sheet = DriveSheet::of_known(&known);
        let by = FigureOrigin::Rated {
            source: known.drive.source.clone(),
            drive: Some(known.drive.name.clone()),
        };
        let found = self.finding(by, |case, layout, job| case.against_sheet(&sheet, layout, job));
        found.could.value().is_some().then_some(found)
    }

    /// Adds the published rate of this stack and workload as a share of the same bound, if there is
    /// one.
    fn beside_published(&self, found: Efficiency) -> Efficiency {
        let scenario = &self.reading.run.start.scenario;
        let is_it = |figure: &&PublishedFigure| {
            let bytes = subject::rate_unit(self.reading.workload) == "B/s";
            let same = figure.stack == found.stack && figure.workload == self.reading.workload.name;
            same && figure.metric == Metric::Rate { bytes, durable: false, way: None }
                && !figure.share
                && !figure.is_bound()
        };
        let published = scenario.published.as_ref().and_then(|all| all.figures.iter().find(is_it));
        let over = |(figure, could): (&PublishedFigure, f64)| {
            published::single(figure.value / could, "1", false)
        };
        let share = published.zip(found.could.value()).map(over);
        let found = Efficiency { published: share, ..found };
        Efficiency { sentence: efficiency_words(&found, self.reading.workload), ..found }
    }

    fn other_model(&self, rating: &Rating) -> Option<String> {
        let rated = rating.model.as_ref()?.to_lowercase();
        let models = || self.devices().filter_map(|device| device.model.as_ref());
        let is_it = |model: &String| model.to_lowercase().contains(&rated);
        if models().any(is_it) { None } else { models().next().cloned() }
    }

    fn against_sheet(
        &self,
        sheet: &DriveSheet,
        layout: &Layout,
        job: &Job,
    ) -> Result<ReachedBound, String> {
        let need = self.need(layout, job)?;
        let most = rated_most(sheet, &need, job)?;
        let depth = (u64::from(job.iodepth) * u64::from(job.numjobs) * self.at_once()) as f64;
        let by_latency = rated_latency(sheet, &need, job).map(|ns| depth * 1e9 / ns);
        let slc =
            (sheet.burst && job.rw.writes()).then(|| "writes as into its cache of SLC".to_owned());
        let (bound, also, scatter) = match by_latency.filter(|rate| *rate < most) {
            Some(rate) => (
                rate,
                Some(format!("{depth} in flight at the rated latency")),
                1.0 / BELOW_RATED_LATENCY,
            ),
            None => (most, slc, ABOVE_RATING),
        };
        let could = MeasuredFigure::bare(
            bound,
            "1/s",
            (1, SampleUnit::Ratings),
            "a rating has no interval",
        );
        let all = self.plain_need(layout, job).and_then(|need| rated_most(sheet, &need, job));
        let of_all = Some(all.map_or_else(MeasuredFigure::missing, |bound| self.share_of(bound)));
        Ok(ReachedBound {
            could: self.in_unit(could, job),
            share: self.share_of(bound),
            of_all,
            need,
            also,
            scatter,
        })
    }
}

/// Returns the I/Os per second at which all drives are busy by their rating. Fails if a part of the
/// load is not rated.
fn rated_most(sheet: &DriveSheet, need: &LoadNeed, job: &Job) -> Result<f64, String> {
    let places = [(need.random, need.share, true), (need.sequential, 1.0 - need.share, false)];
    let mut parts = Vec::new();
    for (cost, share, random) in places.into_iter().filter(|(_, share, _)| *share > 0.0) {
        let of = |ios: f64, reads: bool| match ios > 0.0 {
            true => rated_rate(sheet, job.bs, reads, random),
            false => Ok(1.0),
        };
        let rates = DriveRates { reads: of(cost.reads, true)?, writes: of(cost.writes, false)? };
        parts.push((IoCost { reads: cost.reads * share, writes: cost.writes * share }, rates));
    }
    Ok(bounded_rate(&parts))
}

/// Bytes of a random I/O that a rating is of.
const RATED_BS: u64 = 4 << 10;

/// Returns the rated I/Os per second of one drive at this block size, for reads or for writes.
/// Fails if these are not rated.
fn rated_rate(sheet: &DriveSheet, bs: u64, reads: bool, random: bool) -> Result<f64, String> {
    let (ios, bytes) = if reads {
        (DriveRatings::RandreadIops, DriveRatings::Read)
    } else {
        (DriveRatings::RandwriteIops, DriveRatings::Write)
    };
    let by_bytes = sheet.rated_value(bytes).map(|bytes| bytes / bs as f64);
    let by_ios = sheet.rated_value(ios).filter(|_| random);
    let what = if reads { "reads" } else { "writes" };
    match (by_ios, by_bytes) {
        (Some(ios), Some(bytes)) => Ok(ios.min(bytes)),
        (Some(ios), None) if bs <= RATED_BS => Ok(ios),
        (None, Some(bytes)) if !random => Ok(bytes),
        _ if random => Err(format!("the rating says nothing of random {what} of this size")),
        _ => Err(format!("the rating says nothing of sequential {what}")),
    }
}

/// Returns the least mean time in ns that an I/O of the load takes at the rated latencies. A write
/// of a part of a stripe first waits for what it reads. `None` for loads with sequential or larger
/// I/Os, and if a latency is not rated.
fn rated_latency(sheet: &DriveSheet, need: &LoadNeed, job: &Job) -> Option<f64> {
    if need.share < 1.0 || job.bs > RATED_BS {
        return None;
    }
    let [read, write] = [DriveRatings::RandreadLatency, DriveRatings::RandwriteLatency]
        .map(|one| sheet.rated_value(one));
    let reads = reads_of(job);
    let first = if need.reads_first { read? } else { 0.0 };
    let of_reads = if reads > 0.0 { reads * read? } else { 0.0 };
    let of_writes = if reads < 1.0 { (1.0 - reads) * (first + write?) } else { 0.0 };
    Some(of_reads + of_writes)
}
