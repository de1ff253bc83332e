//! OpenMetrics text, for the textfile collector of node_exporter or a push gateway. Each figure has
//! its interval's bounds as samples of their own.
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>

use crate::exporter::{ExportedRun, Exporter};
use crate::tracked_figure::{TrackedQuantity, tracked_figures};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::io::{Error, Result, Write};
use std::sync::atomic::AtomicU64;

pub const EXPORTER: Exporter =
    Exporter { name: "openmetrics", endings: &["prom", "openmetrics"], write };

type GaugeFamily = Family<Vec<(String, String)>, Gauge<f64, AtomicU64>>;

fn write(runs: &[ExportedRun], out: &mut dyn Write) -> Result<()> {
    let mut registry = Registry::with_prefix("iotax");
    let started = GaugeFamily::default();
    let (help, unit) = ("Start of the run since 1970", Unit::Seconds);
    registry.register_with_unit("run_start_timestamp", help, unit, started.clone());
    let families = TrackedQuantity::ALL.map(|quantity| (quantity, GaugeFamily::default()));
    for (quantity, family) in &families {
        let (name, help, unit) = family_words(*quantity);
        match unit {
            Some(unit) => registry.register_with_unit(name, help, unit, family.clone()),
            None => registry.register(name, help, family.clone()),
        }
    }
    for run in runs {
        let id = run.findings.run.id.clone();
        if let Ok(at) = run.findings.run.at.parse::<jiff::Timestamp>() {
            let seconds = at.as_millisecond() as f64 / 1e3;
            started.get_or_create(&vec![("run".into(), id.clone())]).set(seconds);
        }
        for one in tracked_figures(&run.findings) {
            let family = families.iter().find(|(quantity, _)| *quantity == one.quantity);
            let Some((_, family)) = family else { continue };
            let (low, high) =
                one.bounds.map_or((None, None), |(low, high)| (Some(low), Some(high)));
            for (bound, value) in [("value", Some(one.value)), ("low", low), ("high", high)] {
                let Some(value) = value else { continue };
                let label = |key: &str, text: &str| (key.to_owned(), text.to_owned());
                let labels = vec![
                    label("run", &id),
                    label("load", &one.load),
                    label("stack", &one.stack),
                    label("direction", one.direction),
                    label("bound", bound),
                ];
                family.get_or_create(&labels).set(value);
            }
        }
    }
    let mut text = String::new();
    encode(&mut text, &registry).map_err(Error::other)?;
    out.write_all(text.as_bytes())
}

/// Returns the name of a family without its unit, its help, and the unit, which ends its name.
fn family_words(quantity: TrackedQuantity) -> (&'static str, &'static str, Option<Unit>) {
    let per_second = || Some(Unit::Other("bytes_per_second".into()));
    match quantity {
        TrackedQuantity::Iops => ("iops", "I/Os per second", None),
        TrackedQuantity::Throughput => ("throughput", "Bytes per second", per_second()),
        TrackedQuantity::RateRatio => (
            "rate_over_baseline",
            "Rate over that of the baseline",
            Some(Unit::Other("ratio".into())),
        ),
        TrackedQuantity::MeanLatency => ("latency_mean", "Mean latency", Some(Unit::Seconds)),
        TrackedQuantity::P50Latency => ("latency_p50", "Median latency", Some(Unit::Seconds)),
        TrackedQuantity::P99Latency => ("latency_p99", "Latency p99", Some(Unit::Seconds)),
        TrackedQuantity::P999Latency => ("latency_p99_9", "Latency p99.9", Some(Unit::Seconds)),
        TrackedQuantity::CpuPerIo => ("cpu_per_io", "CPU time per I/O", Some(Unit::Seconds)),
    }
}
