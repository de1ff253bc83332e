//! Shares of one cell's figure of another's. Two stacks of one run under one load are compared as
//! everywhere in a report; of other figures the share is their quotient.

use super::chosen::{ChosenFigure, given_figure};
use crate::findings::article::CellOrigin;
use crate::findings::{Interval, MeasuredFigure, SampleUnit};
use crate::results::ratios;
use iotax_stats::Verdict;

/// A share of one figure of another.
pub struct FigureShare {
    pub figure: MeasuredFigure,
    pub origin: CellOrigin,
    pub verdict: Option<Verdict>,
    pub masked: Option<String>,
}

/// Returns one figure as a share of another; with `loss`, what it lacks to all of it.
pub fn share_of(own: &ChosenFigure, base: &ChosenFigure, loss: bool) -> FigureShare {
    let mut shared = plain_share(own, base);
    if loss {
        shared.figure = shared.figure.map("1", |share| 1.0 - share);
    }
    shared
}

fn plain_share(own: &ChosenFigure, base: &ChosenFigure) -> FigureShare {
    let alone = |figure, origin| FigureShare { figure, origin, verdict: None, masked: None };
    if let Some((a, b)) = base.measured.zip(own.measured) {
        let is_same_load = std::ptr::eq(a.reading, b.reading) && a.metric == b.metric;
        if is_same_load && a.stack == b.stack {
            let is_known = own.figure.value().is_some();
            let whole = given_figure(1.0, "1", SampleUnit::Rounds);
            return alone(if is_known { whole } else { own.figure.clone() }, CellOrigin::Whole);
        }
        if is_same_load {
            let found = ratios::metric_share(a.reading, a.metric, [a.stack, b.stack]);
            return FigureShare {
                figure: found.share,
                origin: CellOrigin::Share,
                verdict: found.verdict,
                masked: found.masked,
            };
        }
    }
    let (MeasuredFigure::Known { unit, .. }, MeasuredFigure::Known { unit: of, .. }) =
        (&own.figure, &base.figure)
    else {
        let lacking = if own.figure.value().is_some() { base } else { own };
        return alone(lacking.figure.clone(), CellOrigin::Given);
    };
    if unit != of {
        let why = "a figure is no share of one in another unit";
        return alone(MeasuredFigure::missing(why), CellOrigin::Given);
    }
    let (value, divisor) = (own.figure.value().unwrap_or(0.0), base.figure.value().unwrap_or(1.0));
    match (own.origin, base.origin) {
        // The interval of the figure is that of its share of a constant.
        (CellOrigin::Measured, CellOrigin::Given) => {
            alone(own.figure.clone().map("1", |value| value / divisor), CellOrigin::Share)
        }
        (CellOrigin::Given, CellOrigin::Given) => {
            let share = given_figure(value / divisor, "1", SampleUnit::PublishedFigures);
            alone(share, CellOrigin::Given)
        }
        _ => {
            let interval = Interval::Missing {
                missing: "the two figures are of different runs or loads".to_owned(),
            };
            let of = (1, SampleUnit::Runs);
            let share = MeasuredFigure::known_value(value / divisor, "1", of, interval);
            alone(share, CellOrigin::Share)
        }
    }
}
