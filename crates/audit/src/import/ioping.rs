//! ioping's statistics: `4 requests completed in 837.1 us, 16 KiB read, 4.78 k iops, 18.7 MiB/s`, with the requests before them.
//! Prefixes of counts are of 1000, of bytes of 1024.

use super::cut::{Line, SIZES, TIMES};
use super::sheet::*;
use super::{Format, Found, Way, Workload};
use crate::claim::Metric;
use crate::number::Figure;
use crate::page::Page;

pub(crate) const FORMAT: Format = Format {
    name: "ioping",
    help: "requests and statistics of ioping",
    example: include_str!("../../fixtures/ioping/read.txt"),
    begins: |line| {
        (line.starts_with("--- ") && line.ends_with(" ioping statistics ---")) || request(line).is_some()
    },
    read,
};

/// `4 KiB <<< . (ext4 /dev/vda): request=1 time=76.1 us`: what is before the sign, and whether it is a write.
fn request(line: &str) -> Option<(&str, bool)> {
    let (head, rest) = line.split_once(": request=")?;
    rest.contains(" time=").then_some(())?;
    let of = |sign: &str| head.split_once(sign).map(|(size, _)| size);
    of(" <<< ").or(of(" from ")).map(|size| (size, false)).or(of(" >>> ").map(|size| (size, true)))
}

fn read(page: &Page, line: usize) -> Option<Found> {
    // The first of several requests tells.
    if line > 0 && request(page.bare(line).0).is_some() && request(page.bare(line - 1).0).is_some() {
        return None;
    }
    let mut sheet = Sheet::new(line, Some(Way::Read));
    let (mut at, mut times) = (line, Vec::new());
    while let Some((size, writes)) = request(page.bare(at).0) {
        let size = Line::of(page, at).measured(size, SIZES).map(|(size, _)| size.value as u64);
        sheet.workload.bs = size;
        sheet.way = Some(if writes { Way::Write } else { Way::Read });
        let here = Line::of(page, at);
        times.extend(
            here.text
                .split_once(" time=")
                .and_then(|(_, time)| here.measured(time, TIMES))
                .map(|(time, _)| time),
        );
        at += 1;
    }
    at += usize::from(page.bare(at).0.is_empty());
    if !page.bare(at).0.starts_with("--- ") {
        return None;
    }
    completed(&Line::of(page, at + 1), &mut sheet)?;
    at += 2;
    at += usize::from(page.bare(at).0.starts_with("generated "));
    at += usize::from(latencies(&Line::of(page, at), &mut sheet).is_some());
    // The first may be to warm up.
    let counted = sheet.figure(IOS).and_then(|ios| times.len().checked_sub(ios.value as usize));
    if let Some(counted) = counted.and_then(|first| times.get(first..)) {
        let by = |one: &&Figure, other: &&Figure| one.value.total_cmp(&other.value);
        for (name, time) in EXTREMES.into_iter().zip([counted.iter().min_by(by), counted.iter().max_by(by)]) {
            sheet.figures.extend(time.map(|time| (Metric::Other, named(name, "", *time))));
        }
    }
    sheet.workload = Workload {
        iodepth: Some(1),
        numjobs: Some(1),
        runtime_s: sheet.figure(TIME).map(|time| time.value / 1e9),
        ..sheet.workload
    };
    Found::sheets(vec![sheet], at)
}

/// Of the requests that the statistics count.
const EXTREMES: [&str; 2] = ["the fastest request", "the slowest request"];
const COUNTS: &[(&str, f64)] = &[("k", 1e3), ("M", 1e6), ("G", 1e9)];

fn completed(line: &Line, sheet: &mut Sheet) -> Option<()> {
    let counted = |text| line.measured(text, COUNTS).or_else(|| line.number(text, 1.0));
    let (ios, rest) = counted(line.text)?;
    let (time, rest) = line.measured(rest.trim_start().strip_prefix("requests completed in")?, TIMES)?;
    // A prefix leaves three digits.
    let metric = if ios.value == (ios.low + 0.5) { Metric::Issued } else { Metric::Interval };
    sheet.add(metric, named(IOS, "", ios));
    sheet.add(Metric::Runtime, named(TIME, "", time));
    for part in rest.split(',').skip(1) {
        if let Some((bytes, rest)) = line.measured(part, SIZES) {
            match rest.trim() {
                "/s" => sheet.add(Metric::Bandwidth, named(BANDWIDTH, "", bytes)),
                "written" => {
                    sheet.way = Some(Way::Write);
                    sheet.add(Metric::Total, named(BYTES, "", bytes));
                }
                _ => sheet.add(Metric::Total, named(BYTES, "", bytes)),
            }
        } else if let Some((iops, " iops" | "iops")) = counted(part) {
            sheet.add(Metric::Iops, named(IOPS, "iops", iops));
        }
    }
    sheet.get(IOPS).map(|_| ())
}

/// `min/avg/max/mdev = 187.5 us / 209.3 us / 234.0 us / 17.0 us`.
fn latencies(line: &Line, sheet: &mut Sheet) -> Option<()> {
    let rest = line.text.strip_prefix("min/avg/max/mdev = ")?;
    let names = [LEAST, MEAN, MOST, "the deviation of the latency"];
    for (name, part) in names.into_iter().zip(rest.split(" / ")) {
        sheet.add(Metric::Latency, named(name, "", line.measured(part, TIMES)?.0));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    #[test]
    fn extremes_are_those_of_the_requests_that_count() {
        let page = include_str!("../../fixtures/ioping/read.txt");
        assert_eq!(found(page, "X29"), []);
        let told = found(&page.replace("/ 234.0 us /", "/ 324.0 us /"), "X29");
        assert!(told.len() == 1 && told[0].printed.starts_with("324.0"), "{told:#?}");
    }
}
