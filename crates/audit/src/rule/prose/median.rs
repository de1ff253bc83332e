//! S10: what the means say and what the medians say of two outputs of one load.

use crate::finding::{Finding, Severity};
use crate::import::fio::{Direction, Fio, Job};
use crate::page::Page;
use crate::rule::{Evidence, Rule, Sink};

/// S10.
pub const RULE: Rule = Rule {
    id: "S10",
    name: "mean and median say the same of two systems",
    severity: Severity::Ambiguous,
    holds: "of two outputs of one load that a page compares, the ratio by mean latency and that by its median differ by at most 5 points",
    silent: "unless the page has exactly two outputs of that load and a figure that compares them, and both have their percentiles",
    check,
};

/// Points that are one statement.
const APART: f64 = 5.0;

fn check(evidence: &Evidence, sink: &mut Sink) {
    let outputs: Vec<&Fio> =
        evidence.fio().filter(|fio| fio.jobs.len() == 1 && evidence.compares(fio)).take(400).collect();
    for (at, one) in outputs.iter().enumerate() {
        let same: Vec<usize> = (0..outputs.len()).filter(|other| alike(one, outputs[*other])).collect();
        match same.as_slice() {
            [first, second] if *first == at => {
                of_pair(evidence.page, &one.jobs[0], &outputs[*second].jobs[0], sink);
            }
            _ => {}
        }
    }
}

/// Whether two outputs are of one load.
fn alike(one: &Fio, other: &Fio) -> bool {
    let load = |fio: &Fio| {
        let job = &fio.jobs[0];
        let asked = fio.asked_of(job);
        let ways: Vec<_> = job.directions.iter().map(|direction| direction.way).collect();
        (
            job.name.clone(),
            job.jobs,
            ways,
            asked.and_then(|asked| asked.rw.clone()),
            asked.map(|asked| asked.bs),
            asked.and_then(|asked| asked.iodepth),
        )
    };
    load(one) == load(other)
}

fn median(direction: &Direction) -> Option<f64> {
    let points = &direction.percentiles.as_ref().filter(|list| list.of != "slat")?.points;
    points
        .iter()
        .find(|(share, _)| *share == 50.0)
        .map(|(_, figure)| figure.value)
        .filter(|value| *value > 0.0)
}

fn of_pair(page: &Page, one: &Job, other: &Job, sink: &mut Sink) {
    for (left, right) in one.directions.iter().zip(&other.directions) {
        let of = |direction: &Direction| {
            let list = direction.percentiles.as_ref()?.of;
            if list == "lat" { direction.lat } else { direction.clat }
        };
        let (Some(left_mean), Some(right_mean)) =
            (of(left).map(|one| one.mean), of(right).map(|one| one.mean))
        else {
            continue;
        };
        let (Some(left_median), Some(right_median)) = (median(left), median(right)) else { continue };
        if left_mean.value <= 0.0 || right_mean.value <= 0.0 {
            continue;
        }
        let mean = 100.0 * left_mean.value / right_mean.value;
        let median = 100.0 * left_median / right_median;
        // The smaller of both ways to put it: of the slower system.
        let (mean, median) = if mean > 100.0 { (1e4 / mean, 1e4 / median) } else { (mean, median) };
        if (mean - median).abs() <= APART {
            continue;
        }
        let message = format!(
            "by the mean latency it is {mean:.0} % of the other (line {}), by the median {median:.0} %: the mean is of the slow ones, not of most I/Os",
            page.number(left.line)
        );
        sink.finds(
            Finding::new("S10", Severity::Ambiguous, right_mean.spot, message)
                .by(format!("{} / {}", page.quote(left_mean.spot), page.quote(right_mean.spot)))
                .against([left_mean.spot]),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    fn output(mean: &str, median: &str) -> String {
        format!(
            "t: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=1\nfio-3.33\nStarting 1 process\n\
             t: (groupid=0, jobs=1): err= 0: pid=11: Tue Mar  5 10:00:00 2024\n  read: IOPS=9.9k, BW=38.7MiB/s (40.6MB/s)(2321MiB/60002msec)\n    \
             clat (usec): min=20, max=9000, avg={mean}, stdev=20.00\n    clat percentiles (usec):\n     |  1.00th=[   30],  5.00th=[   40], 50.00th=[   {median}], 99.00th=[  400]\n\n"
        )
    }

    #[test]
    fn means_and_medians_that_differ_are_told() {
        let table = "| | IOPS | share |\n|---|---|---|\n| host | 9900 | 100% |\n| guest | 9700 | 98% |\n";
        let page = |median: &str| format!("{}{}{table}", output("100.00", "90"), output("102.00", median));
        assert_eq!(found(&page("60"), "S10").len(), 1);
        assert_eq!(found(&page("92"), "S10"), []);
        let three = format!("{}{}", page("60"), output("102.00", "60"));
        assert_eq!(found(&three, "S10"), [], "which two are compared nobody knows");
        assert_eq!(found(&page("60").replace('%', ""), "S10"), [], "nothing is compared");
    }
}
