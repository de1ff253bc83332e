//! Syntax tree of the one-line grammar (docs/stack-grammar.md), before any meaning is checked.

use std::ops::Range;

/// `BASE | LAYER | LAYER xN`.
#[derive(Clone, Debug, PartialEq)]
pub struct StackExpr {
    pub base: BaseExpr,
    /// Layers from the bottom up.
    pub layers: Vec<LayerExpr>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum BaseExpr {
    One(MediumExpr),
    Many(Vec<MediumExpr>),
    Each(Vec<MediumExpr>),
    /// `each([[a,b],[c,d]])`: a layer that joins members is made from each list.
    Groups(Vec<Vec<MediumExpr>>),
}

/// `/dev/x`, `file:/x,size=4GiB`, `ssh:host:/dev/x`, or the name of a device in TOML.
#[derive(Clone, Debug, PartialEq)]
pub struct MediumExpr {
    /// `file`, `ssh`, ...; `None` for a path or a name.
    pub scheme: Option<String>,
    /// Text after the scheme, without options.
    pub body: String,
    pub options: Vec<OptionExpr>,
    pub place: Option<String>,
    /// Byte range in the source text.
    pub span: Range<usize>,
}

/// `@PLACE`, and for a fabric `@A>B` or `@A>[B,C]`.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerEnds {
    pub near: String,
    /// Places at the far end, as the bodies of media; `...` stands for those between two names.
    pub far: Vec<MediumExpr>,
}

/// `name(key=value, ...) @place>place xN`.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerExpr {
    pub name: String,
    pub options: Vec<OptionExpr>,
    pub place: Option<LayerEnds>,
    pub fanout: Option<u32>,
    pub span: Range<usize>,
}

/// `key=value`, `key=[a,b]`, or a lone word such as the `xfs` in `fs(xfs)`.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionExpr {
    /// `None` for a lone word.
    pub key: Option<String>,
    /// One value, or several for a grid.
    pub values: Vec<String>,
    pub span: Range<usize>,
}
