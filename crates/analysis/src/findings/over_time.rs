//! Rates of the slices of one load in the order of time, for drawings.

/// Rates of one stack in the slices of the comparison itself.
#[derive(Clone, Debug, PartialEq)]
pub struct StackRates {
    /// Index of the stack's row.
    pub row: usize,
    /// The slices in the order of time; at least one.
    pub slices: Vec<SliceRate>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceRate {
    /// Seconds from the first slice of the load to the start of this one.
    pub start_s: f64,
    pub window_s: f64,
    /// Rate in the unit of the load's rates.
    pub rate: f64,
    /// Visit, set and round: slices of one round took turns.
    pub round: (u32, u32, u32),
}
