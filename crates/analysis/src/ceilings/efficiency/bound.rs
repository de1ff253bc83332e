//! Bound of a load's rate by its drives: the number of drive I/Os that one I/O of the load takes,
//! by the arithmetic of the layout. Layers are assumed to cost nothing, so only a cache, or what
//! [`LoadNeed::unless`] names, can exceed the bound. METHOD.md has the formulas.

use super::cover::CoveredPart;
use super::layout::{Layout, LayoutSpread};

/// Load as the drives see it. `reads` is the share of reads, `bs` the bytes of an I/O.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveLoad {
    pub reads: f64,
    /// Share of I/Os at a random place.
    pub random: f64,
    pub bs: u64,
    /// Number of sequential streams on one array: threads, over all targets and guests that are on
    /// it. Each may be at a different place.
    pub streams: u64,
    /// True if the drives are known not to rotate: parity that a read skips then costs no time.
    pub flash: bool,
    /// Part of concatenated drives that the load is on. `None` for other layouts, and if the sizes
    /// of the drives are not recorded.
    pub covered: Option<CoveredPart>,
}

/// Time that one I/O of the load takes of each of its drives, as a number of reads and writes of
/// the load's block size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IoCost {
    pub reads: f64,
    pub writes: f64,
}

impl IoCost {
    fn scaled_cost(self, factor: f64) -> IoCost {
        IoCost { reads: self.reads * factor, writes: self.writes * factor }
    }

    fn plus_cost(self, other: IoCost) -> IoCost {
        IoCost { reads: self.reads + other.reads, writes: self.writes + other.writes }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadNeed {
    /// Cost of an I/O at a random place; 0 if the load has none.
    pub random: IoCost,
    pub sequential: IoCost,
    /// Share of I/Os at a random place.
    pub share: f64,
    /// Arithmetic that was used, in words; empty where every I/O is one I/O of a drive.
    pub rule: String,
    /// True if a write waits for reads.
    pub reads_first: bool,
    /// Means, apart from a cache, by which the layout may exceed the bound.
    pub unless: Option<&'static str>,
}

impl LoadNeed {
    /// Computes what a load needs of the drives of a layout.
    ///
    /// # Errors
    /// Returns the reason why this is not known: too many drives are lost, the sizes of
    /// concatenated drives are not recorded, or no arithmetic is known for this load on this
    /// layout.
    pub fn for_load(layout: &Layout, ask: &DriveLoad) -> Result<LoadNeed, String> {
        let case = BoundCase {
            layout,
            ask: *ask,
            drives: layout.drives as f64,
            rules: Vec::new(),
            reads_first: false,
        };
        case.need()
    }

    pub fn cost(&self) -> IoCost {
        self.random.scaled_cost(self.share).plus_cost(self.sequential.scaled_cost(1.0 - self.share))
    }
}

/// I/Os per second of one drive at the load's block size, with reads alone and with writes alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveRates {
    pub reads: f64,
    pub writes: f64,
}

/// Returns the I/Os per second that keep the drives busy all the time. The parts of an I/O follow
/// each other, each with its cost and the rates of its reads and writes. 0 if there is no cost.
pub fn bounded_rate(parts: &[(IoCost, DriveRates)]) -> f64 {
    let time = |ios: f64, rate: f64| if ios > 0.0 { ios / rate } else { 0.0 };
    let all: f64 = parts
        .iter()
        .map(|(cost, rates)| time(cost.reads, rates.reads) + time(cost.writes, rates.writes))
        .sum();
    if all > 0.0 { 1.0 / all } else { 0.0 }
}

struct BoundCase<'a> {
    layout: &'a Layout,
    ask: DriveLoad,
    drives: f64,
    rules: Vec<String>,
    reads_first: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum IoPosition {
    Random,
    Sequential,
}

impl BoundCase<'_> {
    fn need(mut self) -> Result<LoadNeed, String> {
        let share = self.ask.random;
        let mut at = |wanted: f64, place| {
            if wanted > 0.0 { self.cost_at(place) } else { Ok(IoCost::default()) }
        };
        let (random, sequential) =
            (at(share, IoPosition::Random)?, at(1.0 - share, IoPosition::Sequential)?);
        // With several arrays, each has its part of the I/Os.
        let part = 1.0 / self.layout.arrays as f64;
        let (random, sequential) = (random.scaled_cost(part), sequential.scaled_cost(part));
        let (rule, reads_first, unless) = (self.rules.join("; "), self.reads_first, self.unless());
        Ok(LoadNeed { random, sequential, share, rule, reads_first, unless })
    }

    fn cost_at(&mut self, place: IoPosition) -> Result<IoCost, String> {
        let reads = if self.ask.reads > 0.0 { self.read_cost(place)? } else { IoCost::default() };
        let writes = if self.ask.reads < 1.0 { self.write_cost(place)? } else { IoCost::default() };
        Ok(reads.scaled_cost(self.ask.reads).plus_cost(writes.scaled_cost(1.0 - self.ask.reads)))
    }

    fn rule(&mut self, words: impl Into<String>) {
        let words = words.into();
        if !self.rules.contains(&words) {
            self.rules.push(words);
        }
    }

    fn unless(&self) -> Option<&'static str> {
        let is_zfs = self.layout.name.starts_with("ZFS") || self.layout.name.starts_with("raidz");
        (is_zfs && self.ask.reads < 1.0).then_some("ZFS gathers writes and writes them in order")
    }

    fn read_cost(&mut self, place: IoPosition) -> Result<IoCost, String> {
        let (drives, lost) = (self.drives, self.layout.failed as f64);
        let reads = match self.layout.spread {
            LayoutSpread::Striped { .. } | LayoutSpread::Linear { .. }
                if self.layout.failed > 0 =>
            {
                return Err(GONE.to_owned());
            }
            LayoutSpread::Striped { over } => 1.0 / over as f64,
            LayoutSpread::Linear { .. } => self.linear(place)?,
            LayoutSpread::Mirrored { copies, groups } => self.mirror_read(copies as f64, groups)?,
            LayoutSpread::Parity { parity, .. } | LayoutSpread::Raidz { parity, .. }
                if self.layout.failed > parity =>
            {
                return Err(GONE.to_owned());
            }
            LayoutSpread::Parity { parity, chunk, .. } => {
                self.parity_read(place, drives - parity as f64, lost, chunk)
            }
            LayoutSpread::Raidz { parity, block, sector } => {
                self.raidz_read(place, drives - parity as f64, block, sector)?
            }
        };
        Ok(IoCost { reads, writes: 0.0 })
    }

    /// Returns the share of I/Os on the busiest of concatenated drives. Random I/Os reach every
    /// drive that has a part of the region. Sequential ones are on one drive, unless several
    /// threads are at several places.
    fn linear(&mut self, place: IoPosition) -> Result<f64, String> {
        let covered = self.ask.covered.ok_or(UNKNOWN_PART)?;
        if covered.drives < self.layout.drives {
            self.rule(format!("the region is on {} of {} drives", covered.drives, self.drives));
        }
        if place == IoPosition::Random {
            return Ok(1.0 / covered.worth);
        }
        self.rule("in order on one drive after the other");
        Ok(1.0 / (covered.drives.min(self.ask.streams.max(1)) as f64))
    }

    /// Returns the share of reads on the busiest drive of a mirror. If one drive is lost, only the
    /// rest of its group replaces it if the drives form `groups`; otherwise all remaining drives
    /// share its reads, at best evenly.
    fn mirror_read(&mut self, copies: f64, groups: bool) -> Result<f64, String> {
        match self.layout.failed {
            0 => Ok(1.0 / self.drives),
            1 if copies > 1.0 && !groups => Ok(1.0 / (self.drives - 1.0)),
            1 if copies > 1.0 => {
                self.rule("the copies that are left answer for the one that is lost");
                Ok(copies / self.drives / (copies - 1.0))
            }
            _ => Err(MANY_LOST.to_owned()),
        }
    }

    fn parity_read(&mut self, place: IoPosition, data: f64, lost: f64, chunk: u64) -> f64 {
        let alive = self.drives - lost;
        match place {
            IoPosition::Random if lost > 0.0 => {
                self.rule(format!("reconstruction: what was on the lost drive takes {data} reads"));
                let chunks = self.ask.bs.div_ceil(chunk.max(1)) as f64;
                let rows =
                    (chunks / data).floor() * data + self.degraded_row(chunks % data, data, lost);
                rows / chunks / alive
            }
            IoPosition::Random => 1.0 / self.drives,
            // Whole rows of a stripe: any chunks, as many as there are data chunks, give them all.
            IoPosition::Sequential if self.ask.flash => 1.0 / alive,
            IoPosition::Sequential => {
                self.rule(format!("{data} of {} drives are data", self.drives));
                1.0 / data
            }
        }
    }

    /// Returns the mean number of chunks that are read when `wanted` chunks of a row are. If one of
    /// these is lost, that is as many as the row has `data` chunks.
    fn degraded_row(&self, wanted: f64, data: f64, lost: f64) -> f64 {
        let whole = |at: u64| (self.drives - lost - at as f64) / (self.drives - at as f64);
        let none_lost: f64 = (0..wanted as u64).map(whole).product();
        none_lost * wanted + (1.0 - none_lost) * if wanted > 0.0 { data } else { 0.0 }
    }

    /// Returns the reads of each drive per read of the load. A block is read as a whole, from all
    /// drives that have a part of it.
    fn raidz_read(
        &mut self,
        place: IoPosition,
        data: f64,
        block: u64,
        sector: u64,
    ) -> Result<f64, String> {
        if self.layout.failed > 0 {
            return Err("what a degraded raidz takes is not known".to_owned());
        }
        match place {
            IoPosition::Random => Ok(self.pieces(data, block, sector) / self.drives),
            IoPosition::Sequential if self.ask.flash => Ok(1.0 / self.drives),
            IoPosition::Sequential => {
                self.rule(format!("{data} of {} drives are data", self.drives));
                Ok(1.0 / data)
            }
        }
    }

    /// Returns the cost of a block in I/Os of the load's size: its bytes in such I/Os, but at least
    /// one, and at most one for each drive that has a part of it.
    fn pieces(&mut self, data: f64, block: u64, sector: u64) -> f64 {
        let columns = data.min(block.div_ceil(sector) as f64);
        let pieces = columns.min((block as f64 / self.ask.bs as f64).max(1.0));
        if pieces > 1.0 {
            self.rule(format!(
                "whole blocks: {} on {columns} drives",
                iotax_units::show_bytes(block)
            ));
        }
        pieces
    }

    fn write_cost(&mut self, place: IoPosition) -> Result<IoCost, String> {
        let only = |writes: f64| Ok(IoCost { reads: 0.0, writes });
        match self.layout.spread {
            LayoutSpread::Striped { .. } | LayoutSpread::Linear { .. }
                if self.layout.failed > 0 =>
            {
                Err(GONE.to_owned())
            }
            LayoutSpread::Striped { over } => only(1.0 / over as f64),
            LayoutSpread::Linear { .. } => only(self.linear(place)?),
            LayoutSpread::Mirrored { copies, .. } if self.layout.failed < copies => {
                self.rule(format!("{copies} copies of a write"));
                only(copies as f64 / self.drives)
            }
            LayoutSpread::Mirrored { .. } => Err(MANY_LOST.to_owned()),
            LayoutSpread::Parity { parity, .. } if self.layout.failed > parity => {
                Err(GONE.to_owned())
            }
            LayoutSpread::Parity { parity, chunk, whole } => {
                self.parity_write(place, parity as f64, chunk, whole)
            }
            LayoutSpread::Raidz { .. } if self.layout.failed > 0 => {
                Err("what a degraded raidz takes is not known".to_owned())
            }
            LayoutSpread::Raidz { parity, block, sector } => {
                let data = self.drives - parity as f64;
                let columns = data.min(block.div_ceil(sector) as f64);
                let pieces = if place == IoPosition::Random {
                    self.pieces(data, block, sector)
                } else {
                    1.0
                };
                self.rule(format!("{parity} of parity for {columns} of data"));
                only(pieces * (columns + parity as f64) / columns / self.drives)
            }
        }
    }

    /// Returns the cost of a write with parity. Sequential writes, and those of whole stripes, read
    /// nothing. For others either the old data and parity are read, or the rest of the data,
    /// whichever is less.
    fn parity_write(
        &mut self,
        place: IoPosition,
        parity: f64,
        chunk: u64,
        whole: bool,
    ) -> Result<IoCost, String> {
        let data = self.drives - parity;
        let stripe = data as u64 * chunk;
        let fills = self.ask.bs % stripe == 0;
        if place == IoPosition::Sequential || fills {
            self.rule(match self.ask.bs >= stripe {
                true => format!("full stripes: {data} of {} drives are data", self.drives),
                false => "full stripes, gathered from several writes".to_owned(),
            });
            return Ok(IoCost { reads: 0.0, writes: 1.0 / data });
        }
        if whole {
            let stripe = iotax_units::show_bytes(stripe);
            return Err(format!("it takes whole stripes of {stripe} only"));
        }
        match (self.layout.failed, self.ask.bs <= chunk) {
            (0, _) => Ok(self.partial_write(data, parity, chunk)),
            (1, true) => Ok(self.degraded_write(data, parity)),
            _ => {
                Err("what a write takes of a stripe that is degraded so far is not known"
                    .to_owned())
            }
        }
    }

    fn partial_write(&mut self, data: f64, parity: f64, chunk: u64) -> IoCost {
        let chunks = self.ask.bs.div_ceil(chunk) as f64;
        let (rows, rest) = ((chunks / data).floor(), chunks % data);
        let modify = rest + parity;
        let reads = if rest > 0.0 { modify.min(data - rest) } else { 0.0 };
        self.reads_first |= reads > 0.0;
        let writes = rows * self.drives + if rest > 0.0 { modify } else { 0.0 };
        let name = if reads < modify { "reconstruct-write" } else { "read-modify-write" };
        self.rule(match chunks {
            1.0 => format!("{name} bound: {} I/Os a write", reads + writes),
            _ => format!("{name} bound: {reads} reads and {writes} writes of a chunk for {chunks}"),
        });
        IoCost { reads: reads / chunks / self.drives, writes: writes / chunks / self.drives }
    }

    /// Returns the mean cost of a write of at most a chunk with one drive lost: the drive of the
    /// data, one of parity, or one that the write does not touch.
    fn degraded_write(&mut self, data: f64, parity: f64) -> IoCost {
        let (drives, alive) = (self.drives, self.drives - 1.0);
        // Weight, reads and writes of each case.
        let of_data = (1.0, data - 1.0, parity);
        let of_parity = (parity, if parity > 1.0 { parity.min(data - 1.0) } else { 0.0 }, parity);
        let beside = (data - 1.0, 1.0 + parity, 1.0 + parity);
        let cases = [of_data, of_parity, beside];
        let mean = |pick: fn(&(f64, f64, f64)) -> f64| {
            cases.iter().map(|case| case.0 * pick(case)).sum::<f64>() / drives
        };
        let (reads, writes) = (mean(|case| case.1), mean(|case| case.2));
        self.reads_first = true;
        self.rule(format!("degraded: {:.2} I/Os a write", reads + writes));
        IoCost { reads: reads / alive, writes: writes / alive }
    }
}

const UNKNOWN_PART: &str = "how many of its drives the region of the load covers cannot be determined: their size is not recorded";
const GONE: &str = "more drives are lost than its redundancy makes up for";
const MANY_LOST: &str = "which copies are left of several lost drives is not known";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KIB: u64 = 1 << 10;

    fn layout(drives: u64, spread: LayoutSpread) -> Layout {
        Layout { spread, name: "RAID".into(), ..Layout::without_join(drives) }
    }

    fn raid5(drives: u64) -> Layout {
        layout(drives, LayoutSpread::Parity { parity: 1, chunk: 64 * KIB, whole: false })
    }

    fn raid6(drives: u64) -> Layout {
        layout(drives, LayoutSpread::Parity { parity: 2, chunk: 64 * KIB, whole: false })
    }

    fn ask(reads: f64, random: f64, bs: u64) -> DriveLoad {
        DriveLoad { reads, random, bs, streams: 1, flash: false, covered: None }
    }

    const READ: f64 = 400.0;
    const WRITE: f64 = 100.0;
    const DRIVE: DriveRates = DriveRates { reads: READ, writes: WRITE };

    /// Returns the bound for drives of 400 reads and 100 writes a second.
    fn most(layout: &Layout, ask: &DriveLoad) -> f64 {
        bounded_rate(&[(LoadNeed::for_load(layout, ask).unwrap().cost(), DRIVE)])
    }

    fn is(found: f64, wanted: f64) {
        assert!((found / wanted - 1.0).abs() < 1e-12, "{found}, not {wanted}");
    }

    const RANDREAD: (f64, f64) = (1.0, 1.0);
    const RANDWRITE: (f64, f64) = (0.0, 1.0);
    const SEQREAD: (f64, f64) = (1.0, 0.0);
    const SEQWRITE: (f64, f64) = (0.0, 0.0);

    fn of(layout: &Layout, (reads, random): (f64, f64), bs: u64) -> f64 {
        most(layout, &ask(reads, random, bs))
    }

    #[test]
    fn stripes_and_mirrors_by_hand() {
        let stripe = layout(6, LayoutSpread::Striped { over: 6 });
        is(of(&stripe, RANDREAD, 4 * KIB), 6.0 * READ);
        is(of(&stripe, RANDWRITE, 4 * KIB), 6.0 * WRITE);
        let narrow = layout(6, LayoutSpread::Striped { over: 2 });
        is(of(&narrow, RANDREAD, 4 * KIB), 2.0 * READ);
        let pairs = layout(4, LayoutSpread::Mirrored { copies: 2, groups: true });
        is(of(&pairs, RANDREAD, 4 * KIB), 4.0 * READ);
        is(of(&pairs, RANDWRITE, 4 * KIB), 2.0 * WRITE);
        let mirror = layout(3, LayoutSpread::Mirrored { copies: 3, groups: true });
        is(of(&mirror, SEQWRITE, 1024 * KIB), WRITE);
        // 70 % of 1/1600 s and 30 % of 1/200 s.
        is(of(&pairs, (0.7, 1.0), 4 * KIB), 1.0 / (0.7 / 1600.0 + 0.3 / 200.0));
    }

    #[test]
    fn linear_drives_are_all_there_for_random_io_only() {
        let linear = layout(4, LayoutSpread::Linear { chunk: None });
        let on = |worth: f64, streams: u64, random: f64| DriveLoad {
            covered: Some(CoveredPart { worth, drives: worth.ceil() as u64 }),
            streams,
            ..ask(1.0, random, 4 * KIB)
        };
        is(most(&linear, &on(4.0, 1, 1.0)), 4.0 * READ);
        is(most(&linear, &on(4.0, 1, 0.0)), READ);
        is(most(&linear, &on(4.0, 3, 0.0)), 3.0 * READ);
        // The region is that of one drive, and all of it on the first.
        is(most(&linear, &on(1.0, 1, 1.0)), READ);
        is(most(&linear, &on(1.0, 3, 0.0)), READ);
        is(most(&linear, &on(1.5, 3, 1.0)), 1.5 * READ);
        assert_eq!(
            LoadNeed::for_load(&linear, &on(1.5, 3, 1.0)).unwrap().rule,
            "the region is on 2 of 4 drives"
        );
        assert_eq!(
            LoadNeed::for_load(&linear, &ask(1.0, 1.0, 4 * KIB)),
            Err(UNKNOWN_PART.to_owned())
        );
    }

    #[test]
    fn small_writes_on_parity_by_hand() {
        // Five drives: two reads and two writes.
        is(of(&raid5(5), RANDWRITE, 4 * KIB), 5.0 / (2.0 / READ + 2.0 / WRITE));
        // Three: the other chunk is read instead of data and parity.
        is(of(&raid5(3), RANDWRITE, 4 * KIB), 3.0 / (1.0 / READ + 2.0 / WRITE));
        is(of(&raid6(8), RANDWRITE, 4 * KIB), 8.0 / (3.0 / READ + 3.0 / WRITE));
        is(of(&raid6(4), RANDWRITE, 4 * KIB), 4.0 / (1.0 / READ + 3.0 / WRITE));
        // Two of four chunks: two reads, three writes, each half of the I/O.
        is(of(&raid5(5), RANDWRITE, 128 * KIB), 5.0 / (1.0 / READ + 1.5 / WRITE));
        let rule =
            |layout: &Layout, bs| LoadNeed::for_load(layout, &ask(0.0, 1.0, bs)).unwrap().rule;
        assert_eq!(rule(&raid5(5), 4 * KIB), "read-modify-write bound: 4 I/Os a write");
        assert_eq!(rule(&raid5(3), 4 * KIB), "reconstruct-write bound: 3 I/Os a write");
        assert_eq!(rule(&raid6(8), 4 * KIB), "read-modify-write bound: 6 I/Os a write");
        assert_eq!(
            rule(&raid5(5), 128 * KIB),
            "reconstruct-write bound: 2 reads and 3 writes of a chunk for 2"
        );
    }

    #[test]
    fn full_stripes_cost_their_parity_only() {
        let stripe = 4 * 64 * KIB;
        for (load, bs) in
            [(SEQWRITE, stripe), (SEQWRITE, 1024 * KIB), (RANDWRITE, stripe), (SEQWRITE, 4 * KIB)]
        {
            is(of(&raid5(5), load, bs), 4.0 * WRITE);
        }
        is(of(&raid6(6), SEQWRITE, stripe), 4.0 * WRITE);
        let words = LoadNeed::for_load(&raid5(5), &ask(0.0, 0.0, 4 * KIB)).unwrap().rule;
        assert_eq!(words, "full stripes, gathered from several writes");
        // One stripe and a quarter: nine writes of a chunk and two reads for five chunks... of the
        // rest, two of two.
        let odd = of(&raid5(5), RANDWRITE, 320 * KIB);
        is(odd, 5.0 / (2.0 / 5.0 / READ + 7.0 / 5.0 / WRITE));
    }

    #[test]
    fn reads_in_order_skip_parity_at_no_cost_on_flash_only() {
        is(of(&raid5(5), RANDREAD, 4 * KIB), 5.0 * READ);
        is(of(&raid5(5), SEQREAD, 1024 * KIB), 4.0 * READ);
        is(of(&raid6(6), SEQREAD, 1024 * KIB), 4.0 * READ);
        let flash = DriveLoad { flash: true, ..ask(1.0, 0.0, 1024 * KIB) };
        is(most(&raid5(5), &flash), 5.0 * READ);
    }

    #[test]
    fn what_a_lost_drive_takes_by_hand() {
        let degraded = |layout: Layout| Layout { failed: 1, ..layout };
        // A fifth of the reads takes all four that are left, the others one of them.
        is(of(&degraded(raid5(5)), RANDREAD, 4 * KIB), 4.0 * READ / (0.8 + 0.2 * 4.0));
        // Two chunks of a row of five drives: in two of five cases one of them is lost, and the
        // other four are read instead.
        is(
            of(&degraded(raid5(5)), RANDREAD, 128 * KIB),
            4.0 * READ / ((0.6 * 2.0 + 0.4 * 4.0) / 2.0),
        );
        // Whole rows take what their data takes: any four of what is left.
        is(of(&degraded(raid5(5)), RANDREAD, 256 * KIB), 4.0 * READ);
        is(
            of(&degraded(raid5(5)), RANDREAD, 320 * KIB),
            4.0 * READ / ((4.0 + 0.8 + 0.2 * 4.0) / 5.0),
        );
        is(of(&degraded(raid5(5)), SEQREAD, 1024 * KIB), 4.0 * READ);
        is(of(&degraded(raid5(5)), SEQWRITE, 1024 * KIB), 4.0 * WRITE);
        // Data lost: 3 reads, 1 write; parity lost: 1 write; neither: 2 and 2.
        let (reads, writes) = ((3.0 + 0.0 + 3.0 * 2.0) / 5.0, (1.0 + 1.0 + 3.0 * 2.0) / 5.0);
        is(of(&degraded(raid5(5)), RANDWRITE, 4 * KIB), 4.0 / (reads / READ + writes / WRITE));
        let twice = Layout { failed: 2, ..raid6(6) };
        is(of(&twice, RANDREAD, 4 * KIB), 4.0 * READ / (4.0 / 6.0 + 2.0 / 6.0 * 4.0));
        let pairs = degraded(layout(4, LayoutSpread::Mirrored { copies: 2, groups: true }));
        is(of(&pairs, RANDREAD, 4 * KIB), 2.0 * READ);
        is(of(&pairs, RANDWRITE, 4 * KIB), 2.0 * WRITE);
        let far = degraded(layout(4, LayoutSpread::Mirrored { copies: 2, groups: false }));
        is(of(&far, RANDREAD, 4 * KIB), 3.0 * READ);
        let triple = degraded(layout(3, LayoutSpread::Mirrored { copies: 3, groups: true }));
        is(of(&triple, RANDREAD, 4 * KIB), 2.0 * READ);
        for (lost, load) in [(2, RANDREAD), (2, RANDWRITE)] {
            let gone = Layout { failed: lost, ..raid5(5) };
            assert_eq!(
                LoadNeed::for_load(&gone, &ask(load.0, load.1, 4 * KIB)),
                Err(GONE.to_owned())
            );
        }
        let lost = degraded(layout(4, LayoutSpread::Striped { over: 4 }));
        assert_eq!(LoadNeed::for_load(&lost, &ask(1.0, 1.0, 4 * KIB)), Err(GONE.to_owned()));
    }

    #[test]
    fn two_arrays_at_once_are_twice_one() {
        let twice = |layout: Layout| Layout { arrays: 2, ..layout };
        for (load, bs) in [(RANDREAD, 4 * KIB), (RANDWRITE, 4 * KIB), (SEQWRITE, 1024 * KIB)] {
            for one in [raid5(5), Layout { failed: 1, ..raid5(5) }, raid6(6)] {
                is(of(&twice(one.clone()), load, bs), 2.0 * of(&one, load, bs));
            }
        }
        // Ten drives, of which each write takes two reads and two writes.
        is(of(&twice(raid5(5)), RANDWRITE, 4 * KIB), 10.0 / (2.0 / READ + 2.0 / WRITE));
    }

    #[test]
    fn raidz_reads_whole_blocks() {
        let raidz = |block| layout(6, LayoutSpread::Raidz { parity: 1, block, sector: 4 * KIB });
        // A block of 128 KiB is on all five: one drive's reads, and a little since parity is
        // skipped.
        is(of(&raidz(128 * KIB), RANDREAD, 4 * KIB), 6.0 / 5.0 * READ);
        is(of(&raidz(16 * KIB), RANDREAD, 4 * KIB), 6.0 / 4.0 * READ);
        is(of(&raidz(16 * KIB), RANDREAD, 8 * KIB), 6.0 / 2.0 * READ);
        is(of(&raidz(4 * KIB), RANDREAD, 4 * KIB), 6.0 * READ);
        is(of(&raidz(16 * KIB), RANDREAD, 64 * KIB), 6.0 * READ);
        // Parity for every sector: as a mirror.
        is(of(&raidz(4 * KIB), RANDWRITE, 4 * KIB), 3.0 * WRITE);
        is(of(&raidz(16 * KIB), SEQWRITE, 1024 * KIB), 6.0 * 4.0 / 5.0 * WRITE);
    }

    #[test]
    fn what_takes_whole_stripes_refuses_others() {
        let raid5f = layout(5, LayoutSpread::Parity { parity: 1, chunk: 64 * KIB, whole: true });
        let why = LoadNeed::for_load(&raid5f, &ask(0.0, 1.0, 4 * KIB)).unwrap_err();
        assert_eq!(why, "it takes whole stripes of 256 KiB only");
        is(of(&raid5f, RANDWRITE, 256 * KIB), 4.0 * WRITE);
    }

    #[test]
    fn a_load_half_in_order_is_half_of_each() {
        let need = LoadNeed::for_load(&raid5(5), &ask(0.0, 0.2, 64 * KIB)).unwrap();
        let slow = DriveRates { reads: READ, writes: WRITE };
        let fast = DriveRates { reads: 2.0 * READ, writes: 2.0 * WRITE };
        let both = bounded_rate(&[
            (need.random.scaled_cost(0.2), slow),
            (need.sequential.scaled_cost(0.8), fast),
        ]);
        let random = 0.2 * (2.0 / READ + 2.0 / WRITE) / 5.0;
        is(both, 1.0 / (random + 0.8 / (4.0 * 2.0 * WRITE)));
    }

    fn spreads() -> impl Strategy<Value = (u64, LayoutSpread)> {
        (3u64..=12).prop_flat_map(|drives| {
            let parity = (1u64..drives.min(3), 1u64..=512).prop_map(|(parity, chunk)| {
                LayoutSpread::Parity { parity, chunk: chunk * 4 * KIB, whole: false }
            });
            let raidz = (1u64..drives.min(4), 0u32..8).prop_map(|(parity, power)| {
                LayoutSpread::Raidz { parity, block: (4 * KIB) << power, sector: 4 * KIB }
            });
            let spread = prop_oneof![
                (1..=drives).prop_map(|over| LayoutSpread::Striped { over }),
                Just(LayoutSpread::Linear { chunk: None }),
                (1..=drives, any::<bool>())
                    .prop_map(|(copies, groups)| LayoutSpread::Mirrored { copies, groups }),
                parity,
                raidz
            ];
            (Just(drives), spread)
        })
    }

    proptest! {
        /// No layout makes more of its drives than all of them at once do, and one whose drive is
        /// lost makes less.
        #[test]
        fn no_layout_is_more_than_its_drives(
            (drives, spread) in spreads(), reads in 0.0..=1.0f64, random in 0.0..=1.0f64, power in 0u32..10, flash in any::<bool>(),
        ) {
            let covered = Some(CoveredPart { worth: drives as f64, drives });
            let ask = DriveLoad { reads, random, bs: (4 * KIB) << power, streams: 4, flash, covered };
            let whole = layout(drives, spread);
            let bound = most(&whole, &ask);
            let each = most(&layout(drives, LayoutSpread::Striped { over: drives }), &ask);
            prop_assert!(bound <= each * (1.0 + 1e-9), "{bound} of {each}");
            prop_assert!(bound > 0.0);
            if let Ok(need) = LoadNeed::for_load(&Layout { failed: 1, ..whole }, &ask) {
                let left = bounded_rate(&[(need.cost(), DRIVE)]);
                prop_assert!(left <= bound * (1.0 + 1e-9), "{left} of {bound}");
            }
        }
    }
}
