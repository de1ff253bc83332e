//! The choice of the kind of chart for a run.

use crate::drawing::ChartDrawing;
use crate::request::{ChartQuantity, ChartRequest};
use crate::{ALL, ChartKind};

/// Reason why a chart cannot be drawn.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChartError {
    #[error("no kind of chart is called \"{name}\"; known are {}", kind_names(ALL))]
    UnknownKind { name: String },
    #[error("this run has no data for the chart \"{name}\"{part}; it has {has}")]
    NoData { name: &'static str, part: String, has: String },
    #[error("--in {word}: the chart \"{name}\" has one figure only; leave it out, or take {other}")]
    OneQuantity { word: &'static str, name: &'static str, other: String },
    #[error("this run has no data for any chart{part}: {reason}")]
    Nothing { part: String, reason: String },
}

fn kind_names(kinds: &[&ChartKind]) -> String {
    kinds.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

/// Returns the kinds that a run has data for, the best one first.
pub fn kinds_of_run(request: &ChartRequest) -> Vec<&'static ChartKind> {
    let has_data =
        |kind: &&&ChartKind| kind.offers(request.quantity) && (kind.draw)(request).is_some();
    ALL.iter().filter(has_data).copied().collect()
}

/// Draws a chart of the kind with this name, or of the best kind for the run.
///
/// # Errors
/// No kind has this name, or the run has no data for it; the error lists the kinds that it has.
pub fn chart(
    request: &ChartRequest,
    name: Option<&str>,
) -> Result<(&'static ChartKind, ChartDrawing), ChartError> {
    let Some(name) = name else {
        let of_kind = |kind: &&'static ChartKind| Some((*kind, kind.drawing(request)?));
        return ALL.iter().find_map(of_kind).ok_or_else(|| nothing(request));
    };
    let kind = ALL.iter().copied().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| ChartError::UnknownKind { name: name.to_owned() })?;
    if !kind.offers(request.quantity) {
        let other: Vec<&ChartKind> = ALL.iter().filter(|one| one.has_quantities).copied().collect();
        let other = kind_names(&other).replace(", ", " or ");
        let word = request.quantity.word();
        return Err(ChartError::OneQuantity { word, name: kind.name, other });
    }
    let drawing = kind.drawing(request).ok_or_else(|| match kinds_of_run(request).as_slice() {
        [] => nothing(request),
        some => {
            ChartError::NoData { name: kind.name, part: asked_part(request), has: kind_names(some) }
        }
    })?;
    Ok((kind, drawing))
}

fn asked_part(request: &ChartRequest) -> String {
    let load = request.load.map(|load| format!(" with --load {load}")).unwrap_or_default();
    match request.quantity {
        ChartQuantity::Rate => load,
        other => format!("{load} with --in {}", other.word()),
    }
}

fn nothing(request: &ChartRequest) -> ChartError {
    let loads = &request.findings.workloads;
    let reason = match request.load {
        Some(load) if load == 0 || load > loads.len() => {
            let numbered = loads.iter().enumerate();
            let names: Vec<String> =
                numbered.map(|(at, one)| format!("{} {}", at + 1, one.name)).collect();
            format!("its loads are {}", names.join(", "))
        }
        _ => format!(
            "it is {}, and has no figure that a chart shows; hint: iotax report has all of it",
            request.findings.run.state
        ),
    };
    ChartError::Nothing { part: asked_part(request), reason }
}
