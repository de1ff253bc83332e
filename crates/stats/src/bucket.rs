//! Finds a token bucket in a course of load: the amount that came through over time. Once its
//! bucket is empty a limiter lets burst + rate x t through. Two lines are therefore fitted to the
//! course, with the knee where the sum of squared residuals is least: the slope of the second line
//! is the rate, its intercept the burst.
//!
//! A drive that slows down has two lines as well. A limiter differs in that it makes up for every
//! delay: the amount stays near its line for ever, while the sum of a drive's own ups and downs
//! drifts away from any line, farther the longer it lasts.

use serde::Serialize;
use std::fmt;

/// Largest relative difference of two rates that count as one limit.
pub const SAME_RATE: f64 = 0.03;
/// Smallest number of points that a course may have.
pub const LEAST_POINTS: usize = 48;
/// Smallest number of points after the knee; at least one in [`TAIL_SHARE`] of all points, too.
const LEAST_TAIL: usize = 40;
const TAIL_SHARE: usize = 5;
/// Bound below which an amount counts as held to its line: mean squared distance from the line,
/// divided by the number of points and by the mean squared deviation of a step. The quotient is
/// 1/15 for a sum of independent deviations, is below this bound in less than 1 % of such sums, and
/// is 1 / (2 x points) if every delay is made up for.
const PINNED: f64 = 0.014;
/// Distance from a line, as a fraction of the whole amount, that counts as zero.
const EXACT: f64 = 1e-5;
/// Number of equal parts of the course after the knee whose rates are compared.
const PARTS: usize = 8;
/// Largest coefficient of variation (standard deviation over mean) of the parts' rates after a
/// burst, if they are a limiter's.
const LEVEL: f64 = 0.05;
/// Largest coefficient of variation of the parts' rates under a cap without a burst.
const VERY_LEVEL: f64 = 0.005;
/// Smallest ratio of the rate during the burst to the rate after it.
const FASTER: f64 = 1.1;
/// Smallest burst that counts, in seconds at the rate after it. A deep queue looks like a smaller
/// burst.
const LEAST_BURST_S: f64 = 0.05;
/// Multiple of the points' median distance from a line beyond which a point is far off it.
const FAR: f64 = 6.0;
/// Number of standard errors by which a burst must exceed 0.
const SURE: f64 = 3.0;
/// Multiple of the median deviation of a step within which a point lies on a line. A line that
/// bounds the amount from above must meet this constant and the next five.
const ON_LINE: f64 = 2.0;
/// Smallest share of the points that must lie on the line, in at least [`ON_LINE_PARTS`] of its
/// eight parts.
const ON_LINE_SHARE: f64 = 0.25;
const ON_LINE_PARTS: usize = 4;
/// Largest share of the points that may lie above the line.
const ABOVE: f64 = 0.02;
/// Shortest duration of the line, as a share of the course's duration.
const LONG: f64 = 0.5;
/// Smallest depth to which the amount must fall below the line, in standard deviations of a step
/// times the square root of the number of points. A sum of independent deviations that stays below
/// a line falls that deep in one of ten million cases.
const DEEP: f64 = 3.0;
/// Shortest edge of the hull that may be a limiter's, as a share of the course's duration.
const SHORT_EDGE: f64 = 0.1;
/// Standard deviation of a normal distribution divided by its median absolute deviation.
const DEVIATION: f64 = 1.48;
/// Smallest slowdown that is reported where no limiter was found, as the rate before over the rate
/// after.
const FALLS: f64 = 1.25;

/// Shape that was found in a course.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub enum CourseShape {
    /// A burst, then a rate that is held.
    Bucket(Bucket),
    /// One rate from the start that is as steady as a limiter's: that of a cap without a burst, or
    /// simply that of the layer below.
    Cap {
        /// Amount per second, with its standard error.
        rate: UncertainValue,
    },
    /// No limit was found up to the whole amount.
    Open {
        /// Amount that came through in total.
        amount: f64,
        /// Mean amount per second over the whole course.
        mean: f64,
        /// Fall of the rate that is not a limiter's, because the rate after it is not held; `None`
        /// if there was none.
        fell: Option<Fall>,
    },
}

/// A value with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UncertainValue {
    /// Estimate of the value.
    pub value: f64,
    /// Standard error of the estimate.
    pub error: f64,
}

impl UncertainValue {
    fn times(self, unit: f64) -> UncertainValue {
        UncertainValue { value: self.value * unit, error: self.error * unit }
    }
}

/// Parameters of a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bucket {
    /// Amount per second once the bucket is empty.
    pub rate: UncertainValue,
    /// Amount that the bucket held at the start.
    pub burst: UncertainValue,
    /// Amount per second until the bucket was empty.
    pub peak: f64,
    /// Time at which the bucket was empty, in seconds from the start.
    pub knee_s: f64,
    /// Seconds from `knee_s` to the end of the course.
    pub tail_s: f64,
}

impl Bucket {
    /// Returns the seconds in which the empty bucket fills again if no load runs.
    pub fn refill_s(&self) -> f64 {
        self.burst.value / self.rate.value
    }
}

/// Fall of a rate that is not a limiter's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fall {
    /// Amount per second before the fall.
    pub from: f64,
    /// Amount per second after the fall.
    pub to: f64,
    /// Amount that came through before the fall.
    pub after: f64,
}

/// Reason why a course cannot be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The course has too few points; this is their number.
    Short(usize),
    /// The time or the amount of the point with this index is not finite.
    NotANumber(usize),
    /// The point with this index is not later than the one before it.
    TimeGoesBack(usize),
    /// The amount of the point with this index is less than that of the one before it.
    AmountFalls(usize),
    /// No amount came through.
    Nothing,
}

impl fmt::Display for Unfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Short(points) => {
                write!(
                    out,
                    "the course has {points} points and needs {LEAST_POINTS}; a longer course has more"
                )
            }
            Unfit::NotANumber(at) => write!(out, "point {at} is not a finite number"),
            Unfit::TimeGoesBack(at) => {
                write!(out, "point {at} is not later than the one before it")
            }
            Unfit::AmountFalls(at) => {
                write!(out, "the amount of point {at} is below that of the one before it")
            }
            Unfit::Nothing => write!(out, "nothing came through"),
        }
    }
}

/// Finds a limit in a course. Each point holds the seconds since the load began and the amount that
/// had come through by then.
///
/// # Errors
/// [`Unfit`] for a course that is too short, holds a number that is not finite, goes back in time
/// or amount, or has no amount at all.
pub fn find_bucket(course: &[(f64, f64)]) -> Result<CourseShape, Unfit> {
    check_course(course)?;
    let (seconds, amount) = course[course.len() - 1];
    // Scaled so that sums of squares are of numbers near 1.
    let scaled: Vec<(f64, f64)> = course.iter().map(|(t, a)| (t / seconds, a / amount)).collect();
    let rate_unit = amount / seconds;
    let (knee, head) = best_knee(&scaled);
    let tail = Tail::from_points(after_knee(&scaled[knee + 1..]));
    let burst = tail.intercept.times(amount);
    let rate = tail.slope.times(rate_unit);
    let faster = head / tail.slope.value.max(f64::MIN_POSITIVE);
    // A course without flow shows no limiter.
    let flows = rate.value > SURE * rate.error;
    let bursts = burst.value > SURE * burst.error && burst.value > LEAST_BURST_S * rate.value;
    let held = tail.is_pinned() && tail.level <= LEVEL;
    if flows && bursts && faster >= FASTER && held {
        let knee_s = burst.value / (head * rate_unit - rate.value).max(f64::MIN_POSITIVE);
        let knee_s = knee_s.min(course[(knee + 1).min(course.len() - 1)].0);
        return Ok(CourseShape::Bucket(Bucket {
            rate,
            burst,
            peak: head * rate_unit,
            knee_s,
            tail_s: seconds - knee_s,
        }));
    }
    if let Some(found) = under_a_line(&scaled) {
        let (rate, burst) = (found.rate.times(rate_unit), found.burst.times(amount));
        if burst.value > SURE * burst.error && burst.value > LEAST_BURST_S * rate.value {
            let (peak, knee_s) = (found.peak * rate_unit, found.knee_s * seconds);
            return Ok(CourseShape::Bucket(Bucket {
                rate,
                burst,
                peak,
                knee_s,
                tail_s: seconds - knee_s,
            }));
        }
    }
    let whole = Tail::from_points(&scaled);
    if whole.is_pinned() && whole.level <= VERY_LEVEL {
        return Ok(CourseShape::Cap { rate: whole.slope.times(rate_unit) });
    }
    let fell = (faster >= FALLS && tail.fastest * FALLS <= head && knee > 1).then(|| Fall {
        from: head * rate_unit,
        to: rate.value,
        after: course[knee].1,
    });
    Ok(CourseShape::Open { amount, mean: rate_unit, fell })
}

fn check_course(course: &[(f64, f64)]) -> Result<(), Unfit> {
    if course.len() < LEAST_POINTS {
        return Err(Unfit::Short(course.len()));
    }
    let mut before = (0.0, 0.0);
    for (at, (seconds, amount)) in course.iter().enumerate() {
        if !seconds.is_finite() || !amount.is_finite() {
            return Err(Unfit::NotANumber(at));
        }
        // The load begins at 0, where a first point may be.
        if *seconds < before.0 || *seconds == before.0 && at > 0 {
            return Err(Unfit::TimeGoesBack(at));
        }
        if *amount < before.1 {
            return Err(Unfit::AmountFalls(at));
        }
        before = (*seconds, *amount);
    }
    if before.1 > 0.0 { Ok(()) } else { Err(Unfit::Nothing) }
}

/// Finds a limit on a machine that is busy with other work. For a while the machine gives less than
/// the limit, and the amount drops below burst + rate x t. Tokens gather meanwhile. When there is
/// time again the amount comes back to that very line and stays on it, never above. A course that
/// keeps to no line for long has a line above it too, but touches it at its ends only. Times and
/// amounts, of the result too, are shares of the whole course.
fn under_a_line(course: &[(f64, f64)]) -> Option<Bucket> {
    let found = edges(course)
        .filter_map(|edge| Under::below_edge(course, edge))
        .max_by_key(|found| found.on.len());
    let Under { from, on, line } = found?;
    let tail = Tail::from_points(&on);
    let peak = from.1 / from.0;
    (line > 0.0 && peak >= FASTER * line).then_some(Bucket {
        rate: tail.slope,
        burst: tail.intercept,
        peak,
        knee_s: from.0,
        tail_s: 1.0 - from.0,
    })
}

/// Returns the edges of the upper convex hull of a course in order of time, without the edge from
/// the origin and those shorter than [`SHORT_EDGE`].
fn edges(course: &[(f64, f64)]) -> impl Iterator<Item = [(f64, f64); 2]> {
    let mut hull: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    for point in course.iter().filter(|point| point.0 > 0.0) {
        while let [.., a, b] = hull.as_slice() {
            let turn = (b.0 - a.0) * (point.1 - a.1) - (b.1 - a.1) * (point.0 - a.0);
            if turn < 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(*point);
    }
    let edges: Vec<[(f64, f64); 2]> = hull.windows(2).map(|two| [two[0], two[1]]).collect();
    edges.into_iter().filter(|[from, to]| from.0 > 0.0 && to.0 - from.0 >= SHORT_EDGE)
}

/// A line that bounds a course from above, from one of its points on.
struct Under {
    from: (f64, f64),
    /// Points that lie on the line.
    on: Vec<(f64, f64)>,
    line: f64,
}

impl Under {
    /// Fits the line of an edge to the points near it. Returns `None` if the line is not a
    /// limiter's.
    fn below_edge(course: &[(f64, f64)], [from, to]: [(f64, f64); 2]) -> Option<Under> {
        let span = &course[course.partition_point(|point| point.0 < from.0)..];
        if span.len() < LEAST_TAIL || 1.0 - from.0 < LONG {
            return None;
        }
        let n = span.len() as f64;
        let mut line = ((to.1 - from.1) / (to.0 - from.0), 0.0);
        line.1 = from.1 - line.0 * from.0;
        let (mut on, mut left, mut step): (Vec<(f64, f64)>, Vec<f64>, f64) = Default::default();
        for _ in 0..4 {
            left = span.iter().map(|(t, a)| a - line.1 - line.0 * t).collect();
            let mut steps: Vec<f64> = left.windows(2).map(|two| (two[1] - two[0]).abs()).collect();
            steps.sort_by(f64::total_cmp);
            step = (steps[steps.len() / 2]).max(EXACT / ON_LINE);
            let is_on = |off: &f64| off.abs() <= ON_LINE * step;
            on = span
                .iter()
                .zip(&left)
                .filter(|(_, off)| is_on(off))
                .map(|(point, _)| *point)
                .collect();
            if on.len() < LEAST_TAIL {
                return None;
            }
            let (slope, intercept, _) = Sums::from_points(&on).fitted_line();
            line = (slope, intercept);
        }
        let part =
            |point: &(f64, f64)| ((point.0 - from.0) / (1.0 - from.0) * PARTS as f64) as usize;
        let mut parts: Vec<usize> = on.iter().map(|point| part(point).min(PARTS - 1)).collect();
        parts.dedup();
        let above = left.iter().filter(|off| **off > 2.0 * ON_LINE * step).count() as f64;
        let deepest = left.iter().copied().fold(0.0, f64::min);
        let holds = on.len() as f64 >= ON_LINE_SHARE * n
            && parts.len() >= ON_LINE_PARTS
            && above <= ABOVE * n
            && -deepest >= DEEP * DEVIATION * step * n.sqrt()
            // A bucket that overflows loses tokens, and no line has them.
            && -deepest <= line.1;
        holds.then_some(Under { from, on, line: line.0 })
    }
}

/// Sums over points (t, a) of a course: their number, and the sums of times, amounts and products.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: f64,
    t: f64,
    a: f64,
    tt: f64,
    ta: f64,
    aa: f64,
}

impl Sums {
    fn from_points(points: &[(f64, f64)]) -> Sums {
        points.iter().fold(Sums::default(), |sums, point| sums.with_point(*point))
    }

    fn with_point(self, (t, a): (f64, f64)) -> Sums {
        Sums {
            n: self.n + 1.0,
            t: self.t + t,
            a: self.a + a,
            tt: self.tt + t * t,
            ta: self.ta + t * a,
            aa: self.aa + a * a,
        }
    }

    fn without_first(self, first: Sums) -> Sums {
        Sums {
            n: self.n - first.n,
            t: self.t - first.t,
            a: self.a - first.a,
            tt: self.tt - first.tt,
            ta: self.ta - first.ta,
            aa: self.aa - first.aa,
        }
    }

    /// Returns the slope of the least-squares line through the origin, and the residual sum of
    /// squares.
    fn line_through_start(self) -> (f64, f64) {
        if self.tt <= 0.0 {
            return (0.0, self.aa);
        }
        let slope = self.ta / self.tt;
        (slope, (self.aa - slope * self.ta).max(0.0))
    }

    /// Returns slope and intercept of the least-squares line, and the residual sum of squares.
    fn fitted_line(self) -> (f64, f64, f64) {
        let (t, a) = (self.t / self.n, self.a / self.n);
        let (tt, ta) = (self.tt - self.n * t * t, self.ta - self.n * t * a);
        let slope = ta / tt;
        let left = self.aa - self.n * a * a - slope * ta;
        (slope, a - slope * t, left.max(0.0))
    }
}

/// Returns the knee at which two lines fit best, as the index of the last point of the first line,
/// and the slope of that line, which starts at the origin.
fn best_knee(course: &[(f64, f64)]) -> (usize, f64) {
    let mut sums = vec![Sums::default()];
    for point in course {
        sums.push(sums[sums.len() - 1].with_point(*point));
    }
    let last = course.len() - LEAST_TAIL.max(course.len() / TAIL_SHARE) - 1;
    let all = sums[course.len()];
    let of = |knee: usize| {
        let (slope, left) = sums[knee + 1].line_through_start();
        let (_, _, right) = all.without_first(sums[knee + 1]).fitted_line();
        (knee, slope, left + right)
    };
    // A first point at the start has no slope.
    let first = usize::from(course[0].0 == 0.0);
    let best = (first..=last).map(of).min_by(|a, b| a.2.total_cmp(&b.2));
    best.map_or((first, 0.0), |(knee, slope, _)| (knee, slope))
}

/// Drops the first points that are far off the line of the others: where the first line is ragged,
/// the knee may be found a few points early.
fn after_knee(points: &[(f64, f64)]) -> &[(f64, f64)] {
    let sums = Sums::from_points(points);
    let (slope, intercept, _) = sums.fitted_line();
    let off = |(t, a): &(f64, f64)| (a - intercept - slope * t).abs();
    let mut all: Vec<f64> = points.iter().map(off).collect();
    all.sort_by(f64::total_cmp);
    let far = FAR * all[all.len() / 2];
    let early =
        points.iter().take(points.len() - LEAST_TAIL).take_while(|point| off(point) > far).count();
    &points[early..]
}

/// Line of a stretch, and the distance of the amount from it.
struct Tail {
    slope: UncertainValue,
    intercept: UncertainValue,
    /// Mean squared distance from the line, divided by the number of points and by the mean squared
    /// deviation of a step.
    drift: f64,
    /// Coefficient of variation (standard deviation over mean) of the rates of its parts.
    level: f64,
    /// Highest rate among its parts.
    fastest: f64,
}

impl Tail {
    fn from_points(points: &[(f64, f64)]) -> Tail {
        let n = points.len() as f64;
        let sums = Sums::from_points(points);
        let (slope, intercept, _) = sums.fitted_line();
        let left: Vec<f64> = points.iter().map(|(t, a)| a - intercept - slope * t).collect();
        let square = left.iter().map(|left| left * left).sum::<f64>() / n;
        let steps = left.windows(2).map(|two| (two[1] - two[0]).powi(2)).sum::<f64>() / (n - 1.0);
        // So near a line, the remainder comes from single I/Os and from the precision of the sums.
        let drift = if square <= EXACT * EXACT { 0.0 } else { square / (n * steps) };
        let together = left.windows(2).map(|two| two[1] * two[0]).sum::<f64>() / n;
        let repeats = if square > 0.0 { (together / square).clamp(0.0, 0.99) } else { 0.0 };
        let independent = (n * (1.0 - repeats) / (1.0 + repeats)).max(3.0);
        let mean_t = sums.t / n;
        let spread = (sums.tt / n - mean_t * mean_t).max(f64::MIN_POSITIVE);
        let variance = square * n / (n - 2.0) / (independent - 2.0).max(1.0);
        let (level, fastest) = part_rates(points);
        Tail {
            slope: UncertainValue { value: slope, error: (variance / spread).sqrt() },
            intercept: UncertainValue {
                value: intercept,
                error: (variance * (1.0 + mean_t * mean_t / spread)).sqrt(),
            },
            drift,
            level,
            fastest,
        }
    }

    fn is_pinned(&self) -> bool {
        self.drift < PINNED
    }
}

/// Returns the coefficient of variation of the rates of equal parts of a stretch, and the highest
/// rate.
fn part_rates(points: &[(f64, f64)]) -> (f64, f64) {
    let at = |part: usize| points.len() * part / PARTS;
    // By lines, since a stall at the end of a part would count twice.
    let rates =
        (0..PARTS).map(|part| Sums::from_points(&points[at(part)..at(part + 1)]).fitted_line().0);
    let rates: Vec<f64> = rates.collect();
    let mean = rates.iter().sum::<f64>() / PARTS as f64;
    let square = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (PARTS - 1) as f64;
    (square.sqrt() / mean.max(f64::MIN_POSITIVE), rates.iter().copied().fold(0.0, f64::max))
}

#[cfg(test)]
#[path = "bucket_tests.rs"]
mod tests;
