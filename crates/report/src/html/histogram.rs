//! Histograms of the page: hosts by their deviation from the others. Their positions are
//! percentages, so that a phone shows them without scrolling.

use crate::typography::typographic;
use iotax_analysis::findings::fleet::DeviationBins;
use maud::{Markup, html};

/// Height of the tallest bar in pixels.
const HEIGHT: f64 = 120.0;
/// Height of the axis below the bars.
const AXIS: f64 = 22.0;

/// Draws the bins; bars with outliers have another colour. `name` says what the figure is.
pub(crate) fn draw_histogram(name: &str, bins: &DeviationBins) -> Markup {
    let most = bins.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let width = 100.0 / bins.counts.len().max(1) as f64;
    let percent = |share: f64| format!("{share:.2}%");
    let hosts: usize = bins.counts.iter().sum();
    let to = bins.from + bins.width * bins.counts.len() as f64;
    let words = format!(
        "{name}: {hosts} hosts by their deviation from the others, {:.1} to {:+.1} %",
        100.0 * bins.from,
        100.0 * to
    );
    let label = |value: f64| typographic(&format!("{:+.1} %", 100.0 * value));
    html! {
        figure {
            figcaption { (name) }
            svg class="histogram" role="img" width="100%" height=(HEIGHT + AXIS) aria-label=(words) {
                title { (words) }
                @for (at, count) in bins.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                    @let height = (HEIGHT * *count as f64 / most).max(2.0);
                    rect class=(if bins.has_outlier[at] { "cost" } else { "level" })
                        x=(percent(at as f64 * width)) width=(percent(0.9 * width))
                        y=(format!("{:.1}", HEIGHT - height)) height=(format!("{height:.1}")) {
                        title { (count) " hosts" }
                    }
                }
                line class="zero" x1="50%" x2="50%" y1="0" y2=(HEIGHT) {}
                text x="0" y=(HEIGHT + 16.0) { (label(bins.from)) }
                text x="50%" y=(HEIGHT + 16.0) text-anchor="middle" { "0 %" }
                text x="100%" y=(HEIGHT + 16.0) text-anchor="end" { (label(to)) }
            }
        }
    }
}
