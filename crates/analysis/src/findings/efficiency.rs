//! A stack against the most that its drives allow.

use super::figure::MeasuredFigure;
use serde::Serialize;

/// One stack under one load, against its drives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Efficiency {
    pub stack: String,
    /// How its layers lay data over the drives: `RAID5`; empty where nothing joins them.
    pub layout: String,
    pub drives: u64,
    /// Where the figures of the drives come from.
    #[serde(flatten)]
    pub by: FigureOrigin,
    /// The arithmetic, in words; empty where every I/O is one of a drive.
    pub rule: String,
    /// The most that the drives allow, in the unit that people speak of under this load.
    pub could: MeasuredFigure,
    /// What the stack reaches, over that.
    pub share: MeasuredFigure,
    /// The same over what the drives do by themselves, whatever lays data over them; `None` where
    /// nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_all: Option<MeasuredFigure>,
    /// What was published of the same stack and load, over the scenario's rating; `None` where
    /// nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<MeasuredFigure>,
    /// What the layout may do to get past that bound, beside a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unless: Option<&'static str>,
    /// Reads and writes apart, each against the limit of a load of that direction alone; only of a
    /// mix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<DirectionEfficiency>,
    /// Why its figures are not representative.
    pub emulated: Option<String>,
    pub sentence: String,
    /// So many times the bound is no doubt yet: 1 of what was measured or is a line rate, more of
    /// what data sheets round.
    #[serde(skip)]
    pub scatter: f64,
}

/// One direction of a mix against what the drives could do if the load were nothing else.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionEfficiency {
    pub direction: &'static str,
    /// The most that the drives allow of it alone.
    pub could: MeasuredFigure,
    /// What the stack reaches of it beside the other.
    pub share: MeasuredFigure,
    /// The same over what the drives do of it by themselves; `None` where nothing lays data over
    /// them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_all: Option<MeasuredFigure>,
}

/// Where the figures of the drives come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum FigureOrigin {
    /// All of them loaded at once, in the same run.
    Measured { each: String },
    Rated {
        source: String,
        /// The drive that its model names in what iotax knows or was given; `None` of a scenario's
        /// own rating.
        #[serde(skip_serializing_if = "Option::is_none")]
        drive: Option<String>,
    },
    /// What the data of the drives cross.
    Link {
        /// Its narrowest part: `PCIe 4.0 x4`.
        link: String,
    },
    /// What lies between the two ends of a layer.
    Network {
        /// Of its slowest card: `25GbE`.
        network: String,
    },
    /// What TCP carried between the two ends of a layer, in the same run.
    Tcp {
        between: String,
        /// Connections side by side.
        streams: u32,
    },
}

impl FigureOrigin {
    /// For a table's cell.
    pub fn word(&self) -> &'static str {
        match self {
            FigureOrigin::Measured { .. } => "measured",
            FigureOrigin::Rated { .. } => "rated",
            FigureOrigin::Link { .. } => "link",
            FigureOrigin::Network { .. } => "network",
            FigureOrigin::Tcp { .. } => "tcp",
        }
    }

    /// What the share is against.
    pub fn against(&self) -> &str {
        match self {
            FigureOrigin::Measured { each } => each,
            FigureOrigin::Rated { .. } => "rating",
            FigureOrigin::Link { link } => link,
            FigureOrigin::Network { network } => network,
            FigureOrigin::Tcp { between, .. } => between,
        }
    }

    /// Whether it is no drive's, but what the data cross.
    pub fn is_on_the_way(&self) -> bool {
        matches!(
            self,
            FigureOrigin::Link { .. } | FigureOrigin::Network { .. } | FigureOrigin::Tcp { .. }
        )
    }
}
