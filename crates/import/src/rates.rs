//! Rates by counts and times, which are printed more exactly than rates are, and without the slips of rates: fio
//! before 3.26 loses a carry (`25.0k` of 25,991), people retype.

use iotax_audit::import::Reading;
use iotax_audit::page::Page;
use iotax_hardware::number::Figure;

const MIB: f64 = 1_048_576.0;

/// A reading whose rates are those of its counts and its time where these are told, and a sentence for each rate
/// that was printed otherwise.
pub(super) fn counted(page: &Page, mut reading: Reading, is_fio: bool) -> (Reading, Vec<String>) {
    let mut slips = Vec::new();
    // fio's rates are its counts over its milliseconds; other tools read their clocks once more.
    let room = if is_fio { 1e-3 } else { 0.02 };
    let seconds = reading.runtime_ns.filter(|time| time.low > 0.0).map(|time| time.scaled(1e-9));
    let rate = |count: Figure| seconds.map(|seconds| over(count, seconds));
    let mut take = |printed: Figure, counted: Figure, name: &str, unit: (f64, &str), by: String| {
        let is_finer = is_fio && counted.high - counted.low < printed.high - printed.low;
        if meets(&printed, &counted, room) {
            return if is_finer { counted } else { printed };
        }
        let taken = short(counted.value / unit.0);
        slips.push(format!(
            "{name}: {} is printed, {taken}{} is taken: {by}",
            page.quote(printed.spot),
            unit.1
        ));
        counted
    };
    let ios = reading.ios.filter(|ios| ios.value > 0.0);
    let by_count = ios.and_then(rate);
    let time = seconds.map_or(0.0, |seconds| seconds.value);
    if let Some(printed) = reading.iops {
        let by = || format!("{} I/Os in {time} s", ios.map_or(0.0, |ios| ios.value));
        let beside = || {
            format!("{} stands beside it", reading.bytes_per_second.map_or("", |one| page.quote(one.spot)))
        };
        let carried = || lost_carry(&printed, &reading.bytes_per_second.filter(|_| is_fio)?);
        reading.iops = match by_count {
            Some(counted) => Some(take(printed, counted, "IOPS", (1.0, ""), by())),
            None => {
                carried().map(|meant| take(printed, meant, "IOPS", (1.0, ""), beside())).or(Some(printed))
            }
        };
    }
    // A text of fio rounds its bytes; blocks may have been cut short, then their number says too much.
    let bytes = reading.bytes.filter(|bytes| !is_fio || bytes.low == bytes.high);
    let blocks = || Some(by_count?.scaled(reading.workload.bs? as f64));
    if let (Some(printed), Some(counted)) = (reading.bytes_per_second, bytes.and_then(rate).or_else(blocks)) {
        if bytes.is_some() || !is_fio || meets(&printed, &counted, room) || is_carried(&printed, &counted) {
            let by = match bytes {
                Some(bytes) => format!("{} bytes in {time} s", bytes.value),
                None => format!(
                    "{} I/Os of {} bytes in {time} s",
                    ios.map_or(0.0, |ios| ios.value),
                    reading.workload.bs.unwrap_or(0)
                ),
            };
            reading.bytes_per_second = Some(take(printed, counted, "bandwidth", (MIB, " MiB/s"), by));
        }
    }
    (reading, slips)
}

fn over(count: Figure, seconds: Figure) -> Figure {
    let (value, low, high) =
        (count.value / seconds.value, count.low / seconds.high, count.high / seconds.low);
    Figure { value, low, high, ..count }
}

/// Whether two figures may be the same; a whole number may have been cut off.
fn meets(printed: &Figure, counted: &Figure, room: f64) -> bool {
    let room = (room * counted.value).min(if room > 0.01 { f64::INFINITY } else { 1.0 });
    printed.low <= counted.high + room && counted.low <= printed.high + room
}

fn short(value: f64) -> String {
    let whole = value.abs().log10().floor().max(0.0) as usize;
    format!("{value:.*}", 4usize.saturating_sub(whole))
}

/// What a figure that was printed with one decimal, a 0, may have been before its carry was lost.
fn carry(printed: &Figure) -> Option<[f64; 2]> {
    let unit = 20.0 * (printed.value - printed.low);
    let digits = printed.value / unit;
    let is_whole = unit >= 1000.0 && digits >= 1.0 && (digits - digits.round()).abs() < 1e-6;
    is_whole.then_some([printed.value + 0.95 * unit, printed.value + unit])
}

fn is_carried(printed: &Figure, meant: &Figure) -> bool {
    carry(printed).is_some_and(|[low, high]| meant.low <= high && low <= meant.high)
}

/// The rate that is meant where a bandwidth is one of blocks of a usual size with the carry, and of none without.
fn lost_carry(printed: &Figure, bandwidth: &Figure) -> Option<Figure> {
    let fits = |low: f64, high: f64| {
        let mut sizes = (9..=22).map(|power| 2f64.powi(power));
        let both = |size: f64| [low.max(bandwidth.low / size), high.min(bandwidth.high / size)];
        sizes.find_map(|size| Some(both(size)).filter(|[low, high]| low <= high))
    };
    let [low, high] = carry(printed)?;
    let [low, high] = fits(low, high).filter(|_| fits(printed.low, printed.high).is_none())?;
    Some(Figure { value: f64::midpoint(low, high), low, high, ..*printed })
}
