//! Statistics of a comparison: values in, values out, no clock and no device. METHOD.md gives the
//! formulas with their reasons. Nothing here guesses: too little data is a [`Refusal`], not a
//! number.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod alike;
pub mod alone;
pub mod bucket;
pub mod carry;
pub mod charge;
pub mod checks;
pub mod conclusion;
pub mod exceedance;
pub mod fairness;
pub mod family;
pub mod gate;
pub mod judge;
pub mod length;
pub mod level;
pub mod noise;
pub mod outliers;
pub mod phrase;
pub mod pilot;
pub mod quantile;
pub mod random_effects;
pub mod ratio;
pub mod round;
pub mod rounds;
pub mod schedule;
pub mod selfcheck;
pub mod sequence;
pub mod share;
pub mod shown;
pub mod spectrum;
pub mod spread;
pub mod steady;
pub mod stop;
pub mod student;
pub mod trial;
pub mod unpaired;
pub mod verdict;
pub mod visits;

pub mod refusal;
#[cfg(test)]
mod trap_tests;

pub use charge::Charge;
pub use conclusion::{Concludes, RatioChange};
pub use gate::BatchGate;
pub use phrase::Phrase;
pub use ratio::Ratio;
pub use refusal::Refusal;
pub use shown::Digits;
pub use spread::MeanSpread;
pub use student::{ALPHA, Uncertain, t_quantile, t_two_sided, t975};
pub use verdict::Verdict;
