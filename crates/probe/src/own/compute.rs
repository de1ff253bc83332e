//! Probes of computation: one with integers and texts, one with floating-point numbers. Each does
//! the work of a pass of an old and well-known benchmark (Dhrystone, Whetstone) with its own code,
//! so that a rate means about the same.

use super::crew::prepare;
use super::work::{SHORTEST_SLICE_NS, Work};
use crate::{Argument, Definition, ProbeError, ProbeSpec, ProbeUnit};
use iotax_load::Histogram;
use std::hint::black_box;

pub(super) static INTEGER: Definition = Definition {
    name: "integer",
    argument: Argument::None,
    unit: ProbeUnit::Count("passes"),
    subject: "integer work",
    about: "Copies a record, compares two texts of 30 letters, and stores into a table of 50 x 50 numbers.",
    relative: "UnixBench dhry2reg, which runs 10 s and more in one piece",
    program: None,
    shortest_slice_ns: SHORTEST_SLICE_NS,
    needs_peer: false,
    prepare: |spec| prepare(spec, integer),
};

pub(super) static FLOAT: Definition = Definition {
    name: "float",
    argument: Argument::None,
    unit: ProbeUnit::Count("passes"),
    subject: "floating-point work",
    about: "Adds and multiplies four numbers, then takes two arc tangents of sines and cosines and a root of an exponential.",
    relative: "UnixBench whetstone-double, which runs 10 s and more in one piece",
    program: None,
    shortest_slice_ns: SHORTEST_SLICE_NS,
    needs_peer: false,
    prepare: |spec| prepare(spec, float),
};

const TEXT: [u8; 31] = *b"A RECORD WITH A TEXT, THE FIRST";
const SIDE: usize = 50;

#[derive(Clone)]
struct ComputeRecord {
    kind: u32,
    number: i32,
    text: [u8; 31],
}

/// State of the integer probe, on pages of its own: the position of its parts in a page would
/// change the rate by some percent.
#[repr(align(4096))]
struct Integer {
    first: ComputeRecord,
    second: ComputeRecord,
    table: [[i32; SIDE]; SIDE],
    pass: usize,
}

fn integer(_: &ProbeSpec) -> Result<Box<dyn Work>, ProbeError> {
    let record = ComputeRecord { kind: 1, number: 1, text: TEXT };
    Ok(Box::new(Integer {
        first: record.clone(),
        second: record,
        table: [[0; SIDE]; SIDE],
        pass: 0,
    }))
}

impl Work for Integer {
    fn run_batch(&mut self, units: u64, _: &mut Histogram) -> Result<(), ProbeError> {
        let Integer { first, second, table, pass } = self;
        for _ in 0..units {
            let mut text = TEXT;
            text[2] = b'A' + (*pass & 7) as u8;
            second.clone_from(black_box(&*first));
            second.kind ^= 1;
            let larger = black_box(&text).as_slice() > black_box(&first.text).as_slice();
            second.number = first.number + if larger { 5 } else { 7 };
            let at = *pass % 40 + 3;
            table[at][at] = table[at][at].wrapping_add(second.number);
            table[at][at - 1] = (at as i32).wrapping_mul(second.number) / (at as i32 - 2);
            first.number = table[at][at] & 1023;
            *pass += 1;
            black_box(&mut *table);
        }
        Ok(())
    }
}

struct Float {
    four: [f64; 4],
    two: [f64; 2],
}

fn float(_: &ProbeSpec) -> Result<Box<dyn Work>, ProbeError> {
    Ok(Box::new(Float { four: [1.0, -1.0, -1.0, -1.0], two: [0.5, 0.5] }))
}

impl Work for Float {
    fn run_batch(&mut self, units: u64, _: &mut Histogram) -> Result<(), ProbeError> {
        const T: f64 = 0.499_975;
        let ([mut a, mut b, mut c, mut d], [mut x, mut y]) = (self.four, self.two);
        for _ in 0..units {
            a = (a + b + c - d) * T;
            b = (a + b - c + d) * T;
            c = (a - b + c + d) * T;
            d = (-a + b + c + d) * T;
            let below = |x: f64, y: f64| (x + y).cos() + (x - y).cos() - 1.0;
            x = T * (2.0 * x.sin() * x.cos() / below(x, y)).atan();
            y = T * (2.0 * y.sin() * y.cos() / below(x, y)).atan();
            x = ((x.abs() + 0.1).ln() / 0.500_25).exp().sqrt();
        }
        (self.four, self.two) = ([a, b, c, d], [x, y]);
        black_box(self);
        Ok(())
    }
}
