//! Computes rates from counts and times. These are printed more exactly than rates, and without the
//! slips that rates have: fio before 3.26 loses a carry (`25.0k` for 25,991), and people mistype.

use iotax_audit::import::fio::num2str::{self, DigitStyle};
use iotax_audit::import::workload::ToolResult;
use iotax_audit::page::AuditedPage;
use iotax_hardware::number::{Interval, PrintedNumber};

const MIB: f64 = 1_048_576.0;

/// Returns the reading with rates computed from its counts and its time, if it has these, and one
/// sentence for each printed rate that contradicts them.
pub(super) fn recount_rates(
    page: &AuditedPage,
    mut reading: ToolResult,
    is_fio: bool,
) -> (ToolResult, Vec<String>) {
    let seconds = reading.runtime_ns.filter(|time| time.low > 0.0).map(|time| time.scaled(1e-9));
    let time = seconds.map_or(0.0, |seconds| (seconds.value * 1e6).round() / 1e6);
    let rate = |count: PrintedNumber| seconds.map(|seconds| count_per_second(count, seconds));
    let mut judge = Judge { page, is_fio, slips: Vec::new() };
    let ios = reading.ios.filter(|ios| ios.value > 0.0);
    let count = ios.map_or(0.0, |ios| ios.value);
    let by_count = ios.and_then(rate);
    if let Some(printed) = reading.iops {
        let beside = reading.bytes_per_second.filter(|_| is_fio && by_count.is_none());
        if let Some(counted) = by_count {
            reading.iops = Some(
                judge.choose_rate(&IOPS, printed, counted, || format!("{count} I/Os in {time} s")),
            );
        } else if let Some((bandwidth, meant)) =
            beside.and_then(|one| Some((one, lost_carry(page, &printed, &one)?)))
        {
            let by = || format!("{} beside it", page.quote(bandwidth.spot));
            reading.iops = Some(judge.choose_rate(&IOPS, printed, meant, by));
        }
    }
    // fio's text output rounds its bytes, and short I/Os move fewer bytes than their number
    // suggests.
    let bytes = reading.bytes.filter(|bytes| !is_fio || bytes.low == bytes.high);
    let size = reading.workload.bs.unwrap_or(0);
    let blocks = by_count.filter(|_| size > 0).map(|rate| rate.scaled(size as f64));
    if let (Some(printed), Some(counted)) =
        (reading.bytes_per_second, bytes.and_then(rate).or(blocks))
    {
        let is_whole = bytes.is_some()
            || !is_fio
            || carried(page, &printed).is_some_and(|meant| meant.overlaps_with(counted.interval()));
        if is_whole || judge.meets(&BANDWIDTH, &printed, &counted) {
            let moved = bytes.map_or(format!("{count} I/Os of {size} bytes"), |one| {
                format!("{} bytes", one.value)
            });
            let by = || format!("{moved} in {time} s");
            reading.bytes_per_second = Some(judge.choose_rate(&BANDWIDTH, printed, counted, by));
        }
    }
    (reading, judge.slips)
}

/// Name and units with which a slip prints a rate.
struct RateKind {
    name: &'static str,
    unit: (f64, &'static str),
    /// Error that fio's own arithmetic may make: a fraction of the rate, and a minimum.
    of_fio: (f64, f64),
}

const IOPS: RateKind = RateKind { name: "IOPS", unit: (1.0, ""), of_fio: (0.0, 1.0) };
const BANDWIDTH: RateKind =
    RateKind { name: "bandwidth", unit: (MIB, " MiB/s"), of_fio: (1e-3, 0.0) };

/// Chooses between printed and counted rates.
struct Judge<'p> {
    page: &'p AuditedPage,
    is_fio: bool,
    slips: Vec<String>,
}

impl Judge<'_> {
    /// Returns true if two rates may be the same. Tools other than fio get more room, because they
    /// read their clocks once more.
    fn meets(&self, kind: &RateKind, printed: &PrintedNumber, counted: &PrintedNumber) -> bool {
        let (share, least) = if self.is_fio { kind.of_fio } else { (0.02, 0.0) };
        let room = least.max(share * counted.value);
        printed.low <= counted.high + room && counted.low <= printed.high + room
    }

    /// Returns the printed rate, or the counted one if the tool is fio and it is as exact. If they
    /// contradict each other, returns the counted one and records a slip, in which `by` names the
    /// counts.
    fn choose_rate(
        &mut self,
        kind: &RateKind,
        printed: PrintedNumber,
        counted: PrintedNumber,
        by: impl Fn() -> String,
    ) -> PrintedNumber {
        let width = |one: &PrintedNumber| one.high - one.low;
        if self.meets(kind, &printed, &counted) {
            let is_finer = width(&counted) <= width(&printed) + 1e-6 * counted.value;
            return if self.is_fio && is_finer { counted } else { printed };
        }
        let (scale, unit) = kind.unit;
        let (said, taken) = (self.page.quote(printed.spot), five_digits(counted.value / scale));
        self.slips.push(format!(
            "{}: {said} is printed, but {taken}{unit} follows from {}",
            kind.name,
            by()
        ));
        counted
    }
}

fn count_per_second(count: PrintedNumber, seconds: PrintedNumber) -> PrintedNumber {
    let (value, low, high) =
        (count.value / seconds.value, count.low / seconds.high, count.high / seconds.low);
    PrintedNumber { value, low, high, ..count }
}

fn five_digits(value: f64) -> String {
    let whole = value.abs().log10().floor().max(0.0) as usize;
    format!("{value:.*}", 4usize.saturating_sub(whole))
}

/// Returns the interval that a figure represents if fio lost its carry; `None` if its digits rule
/// that out.
fn carried(page: &AuditedPage, printed: &PrintedNumber) -> Option<Interval> {
    num2str::lost_carry_interval(page.quote(printed.spot), printed, DigitStyle::LostCarry)
}

/// Returns the IOPS with the lost carry, if the bandwidth matches a usual block size with the carry
/// and none without it.
fn lost_carry(
    page: &AuditedPage,
    printed: &PrintedNumber,
    bandwidth: &PrintedNumber,
) -> Option<PrintedNumber> {
    let fits = |rate: Interval| {
        let mut sizes = (9..=22).map(|power| 2f64.powi(power));
        let both =
            |size: f64| [rate.low.max(bandwidth.low / size), rate.high.min(bandwidth.high / size)];
        sizes.find_map(|size| Some(both(size)).filter(|[low, high]| low <= high))
    };
    let meant = carried(page, printed)?;
    let [low, high] = fits(meant).filter(|_| fits(printed.interval()).is_none())?;
    Some(PrintedNumber { value: f64::midpoint(low, high), low, high, ..*printed })
}
