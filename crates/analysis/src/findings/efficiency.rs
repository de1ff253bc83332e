//! Comparison of a stack with the most that its drives allow.

use super::figure::MeasuredFigure;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Efficiency {
    pub stack: String,
    /// Layout of data over the drives by the stack's layers: `RAID5`; empty if nothing joins the
    /// drives.
    pub layout: String,
    pub drives: u64,
    #[serde(flatten)]
    pub by: FigureOrigin,
    /// The arithmetic in words; empty where every I/O is one I/O of a drive.
    pub rule: String,
    /// Most that the drives allow, in the unit of this load's rates.
    pub could: MeasuredFigure,
    /// Rate that the stack reaches, over that bound.
    pub share: MeasuredFigure,
    /// Rate that the stack reaches, over what the drives do by themselves, whatever the layout;
    /// `None` if nothing joins the drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_all: Option<MeasuredFigure>,
    /// Published rate of the same stack and load, over the same bound; `None` if none was
    /// published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<MeasuredFigure>,
    /// Means by which the layout may exceed the bound, apart from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unless: Option<&'static str>,
    /// Reads and writes separately, each against the limit of a load of that direction alone; only
    /// for a mix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<DirectionEfficiency>,
    pub emulated: Option<String>,
    pub sentence: String,
    /// Share of the bound up to which a figure raises no doubt: 1 for a measured bound or a line
    /// rate, more for what data sheets round.
    #[serde(skip)]
    pub scatter: f64,
}

/// One direction of a mix compared with what the drives could do if the load were nothing else.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionEfficiency {
    pub direction: &'static str,
    /// Most that the drives allow for this direction alone.
    pub could: MeasuredFigure,
    /// Rate that the stack reaches in this direction along with the other, over that bound.
    pub share: MeasuredFigure,
    /// Rate that the stack reaches in this direction, over what the drives do in it by themselves;
    /// `None` if nothing joins the drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_all: Option<MeasuredFigure>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum FigureOrigin {
    /// Measured in the same run with all drives loaded at once.
    Measured { each: String },
    Rated {
        source: String,
        /// Name of the known drive, of iotax's list or the user's, that the model matches; `None`
        /// for a scenario's own rating.
        #[serde(skip_serializing_if = "Option::is_none")]
        drive: Option<String>,
    },
    /// Limit of the link that the drives' data cross.
    Link {
        /// Slowest part of the path: `PCIe 4.0 x4`.
        link: String,
    },
    /// Limit of the network between the two ends of a layer.
    Network {
        /// Speed of the slowest card: `25GbE`.
        network: String,
    },
    /// Rate that a probe of the network carried between the two ends of a layer, in the same run.
    MeasuredLink {
        /// Probe as it is written: `tcp`, `iperf3(reverse)`.
        probe: String,
        between: String,
        streams: u32,
    },
}

impl FigureOrigin {
    pub fn word(&self) -> &'static str {
        match self {
            FigureOrigin::Measured { .. } => "measured",
            FigureOrigin::Rated { .. } => "rated",
            FigureOrigin::Link { .. } => "link",
            FigureOrigin::Network { .. } => "network",
            FigureOrigin::MeasuredLink { .. } => "measured link",
        }
    }

    pub fn bound_words(&self) -> &str {
        match self {
            FigureOrigin::Measured { each } => each,
            FigureOrigin::Rated { .. } => "rating",
            FigureOrigin::Link { link } => link,
            FigureOrigin::Network { network } => network,
            FigureOrigin::MeasuredLink { between, .. } => between,
        }
    }

    /// Returns true if the limit belongs to the path of the data and not to a drive.
    pub fn is_on_the_way(&self) -> bool {
        matches!(
            self,
            FigureOrigin::Link { .. }
                | FigureOrigin::Network { .. }
                | FigureOrigin::MeasuredLink { .. }
        )
    }
}
