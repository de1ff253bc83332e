//! Load generator: resident workers that issue I/O in slices and record every latency.
//!
//! A [`worker::Worker`] is prepared once on a target (file or block device), or on several that get
//! the same jobs at once. It then runs slices with rests between them; its threads, memory, queue
//! and files stay as they are. It refuses to write to targets that are not marked as writable. All
//! `unsafe` of the generator lives in this crate.
#![warn(missing_docs)]

mod buffer;
pub mod clock;
pub mod cpu;
mod crew;
mod data;
mod distribution;
pub mod engine;
pub mod fio_options;
mod gate;
mod hold;
pub mod job;
mod lane;
mod offsets;
mod pace;
mod scatter;
pub mod seat;
pub mod series;
mod source;
pub mod spec;
pub mod stamp;
mod stamps;
mod tally;
mod target;
pub mod transient;
pub mod verify;
pub mod worker;

pub use data::{DataKind, Stream};
pub use distribution::Distribution;
pub use engine::{Chosen, EngineName};
pub use iotax_histogram as histogram;
pub use iotax_histogram::{DecodeError, Histogram};
pub use iotax_units::random::{self, Random};
pub use job::{Hold, Iomem, Job, Rw, Stamping, Stride, WriteSync};
pub use pace::MAX_RATE;
pub use seat::cpu_list;
pub use series::run_series;
pub use spec::{
    Direction, LoadError, MachineTimes, ReadMachine, SeriesResult, SeriesSpec, ShortLength,
    ShortSlice, SliceBound, SliceResult, SliceSpec, TargetSpec,
};
pub use transient::Transient;
pub use verify::VerifiedWorker;
pub use worker::{MAX_DEPTH, Worker};
