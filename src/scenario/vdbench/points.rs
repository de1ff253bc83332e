//! The lists of an rd as points, one a workload: vdbench's own order of loops, and what single values of them mean.

use super::super::block_size_word;
use super::super::error::{Fault, InputError};
use super::super::sweep::MOST_POINTS;
use super::lines::Param;
use super::values::{block, number, numbers, percent, whole};
use super::{Entry, Setting};

/// What the lists of an rd say for one workload, in place of what its wds and SDs say.
#[derive(Clone, Default)]
pub(super) struct Point {
    values: Vec<Value>,
    /// ` xfersize=4k threads=8`: the values of lists with more than one.
    pub(super) suffix: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Xfersize(u64),
    Threads(u32),
    Rdpct(u8),
    Seekpct(u8),
    Compratio(f64),
    /// `None`: as fast as it goes.
    Rate(Option<f64>),
}

impl Point {
    /// What a list says, where there is that list.
    pub(super) fn find<T>(&self, of: impl Fn(Value) -> Option<T>) -> Option<T> {
        self.values.iter().find_map(|value| of(*value))
    }

    fn with(&self, value: Value, suffix: &str) -> Point {
        let values = self.values.iter().copied().chain([value]).collect();
        Point { values, suffix: format!("{}{suffix}", self.suffix) }
    }
}

/// The first list runs slowest, as vdbench nests them; rates run fastest wherever they stand.
pub(super) fn points(rd: &Entry) -> Result<Vec<Point>, InputError> {
    let Some(rate) = rd.get("iorate") else {
        let fault = Fault::hint("no iorate=", "write iorate=max for as fast as it goes");
        return Err(rd.origin().error("rd", fault));
    };
    let others = rd.settings.iter().filter(|setting| setting.full.slot != "iorate");
    let mut points = vec![Point::default()];
    for setting in others.chain([rate]) {
        let Some(values) = loop_of(setting)? else { continue };
        if points.len() * values.len() > MOST_POINTS {
            let why = format!("{} runs of one rd; {MOST_POINTS} are the most", points.len() * values.len());
            let hint = "leave values out: each run takes its own budget of time";
            return Err(setting.param.error(Fault::hint(why, hint)));
        }
        let several = values.len() > 1;
        let suffix = |value: &Value| if several { format!(" {}", value.shown()) } else { String::new() };
        let across = |point: &Point| -> Vec<Point> {
            values.iter().map(|value| point.with(*value, &suffix(value))).collect()
        };
        points = points.iter().flat_map(across).collect();
    }
    Ok(points)
}

impl Value {
    fn shown(self) -> String {
        match self {
            Value::Xfersize(bytes) => format!("xfersize={}", block_size_word(bytes)),
            Value::Threads(threads) => format!("threads={threads}"),
            Value::Rdpct(percent) => format!("rdpct={percent}"),
            Value::Seekpct(percent) => format!("seekpct={percent}"),
            Value::Compratio(ratio) => format!("compratio={ratio}"),
            Value::Rate(None) => "iorate=max".to_owned(),
            Value::Rate(Some(rate)) => format!("iorate={rate}"),
        }
    }
}

/// The values of a key of an rd that takes a list; `None`: it takes none.
fn loop_of(setting: &Setting) -> Result<Option<Vec<Value>>, InputError> {
    let param = &setting.param;
    let each = |of: &dyn Fn(f64) -> Result<Value, Fault>| -> Result<Option<Vec<Value>>, InputError> {
        let values = numbers(param)?.into_iter().map(of).collect::<Result<Vec<_>, _>>();
        values.map(Some).map_err(|fault| param.error(fault))
    };
    match setting.full.slot {
        "xfersize" => each(&|number| block(number).map(Value::Xfersize)),
        "threads" => each(&|number| threads_of(number).map(Value::Threads)),
        "rdpct" => each(&|number| percent(number).map(Value::Rdpct)),
        "seekpct" => match seeks(param, param.values().as_slice()) {
            // Words stand alone; numbers may be lists and ranges.
            Ok(percent) => Ok(Some(vec![Value::Seekpct(percent)])),
            Err(error) if param.list.is_none() => Err(error),
            Err(_) => each(&|number| percent(number).map(Value::Seekpct)),
        },
        "compratio" => each(&|number| ratio(setting.full.word, number).map(Value::Compratio)),
        "iorate" => rates(param).map(Some),
        _ => Ok(None),
    }
}

pub(super) fn threads_of(number: f64) -> Result<u32, Fault> {
    // vdbench makes one thread of none.
    whole(number, 0, 65_536).map(|threads| u32::try_from(threads).unwrap_or(u32::MAX).max(1))
}

fn rates(param: &Param) -> Result<Vec<Value>, InputError> {
    let values = param.values();
    if values.contains(&"curve") {
        let why = "cannot be honoured: rates would be shares of a rate that is measured first";
        let hint = "leave it to matched_rate of [measure], or sweep over rate_iops in a scenario";
        return Err(param.error(Fault::hint(why, hint)));
    }
    let positive = |rate: f64| match rate > 0.0 {
        true => Ok(Value::Rate(Some(rate))),
        false => Err(param.error(Fault::hint("a rate of nothing", "write iorate=max, or a rate"))),
    };
    if !values.contains(&"max") {
        return numbers(param)?.into_iter().map(positive).collect();
    }
    let one = |value: &str| match value {
        "max" => Ok(Value::Rate(None)),
        other => positive(number(other).map_err(|fault| param.error(fault))?),
    };
    values.into_iter().map(one).collect()
}

/// N of `N:1`; `compression=` is the percentage that is left.
pub(super) fn ratio(word: &str, number: f64) -> Result<f64, Fault> {
    let ratio = if word.ends_with("compression") { 100.0 / number } else { number };
    match (1.0..=25.0).contains(&ratio) {
        true => Ok(ratio),
        false => Err(Fault::hint(
            format!("{number}: data compress 1 to 1 up to 25 to 1 in vdbench"),
            "write compratio=N from 1 to 25",
        )),
    }
}

/// How many of a hundred I/Os seek: 100 is random, 0 sequential.
pub(super) fn seeks(param: &Param, values: &[&str]) -> Result<u8, InputError> {
    let fault = |fault| Err(param.error(fault));
    match values {
        [word, ..] if "poisson".starts_with(word) => {
            fault(Fault::hint("poisson: this version draws uniformly", "write seekpct=100"))
        }
        [word] if "random".starts_with(word) => Ok(100),
        [word] if "sequential".starts_with(word) || *word == "eof" || is_negative(word) => Ok(0),
        [word] => number(word).and_then(percent).map_err(|fault| param.error(fault)),
        _ => fault(Fault::hint("several values", "write one percentage")),
    }
}

pub(super) fn is_negative(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|number| number.parse::<u32>().is_ok_and(|number| number > 0))
}
