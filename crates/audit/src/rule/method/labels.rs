//! T7: what a load is called against what it does.

use super::loads::{Load, loads};
use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::prose::{Topic, topic};

/// More jobs are data.
const MOST: usize = 100;

pub(super) fn check(evidence: &Evidence, sink: &mut Sink) {
    let mut loads = loads(evidence);
    loads.retain(|load| !load.is_template() && contradicts(load));
    while let Some((name, rw)) = loads.first().map(|load| (load.name, load.rw().unwrap_or(""))) {
        let alike = |load: &Load| says(load.name) == says(name) && load.rw() == Some(rw);
        let (mine, others): (Vec<Load>, Vec<Load>) = loads.into_iter().partition(alike);
        let mut message = format!("the job is called {name}, but its rw is {rw}");
        if mine.len() > 1 {
            message.push_str(&format!("; so it is of {} more that are called like it", mine.len() - 1));
        }
        let more = mine[1..].iter().take(MOST).map(|load| load.spot);
        sink.finds(Finding::new("T7", Severity::Cosmetic, mine[0].spot, message).against(more));
        loads = others;
    }
}

/// What a name says. A parameter is no word: `job(readers=0,write_bw=0)`; what it is set to may be one: `rw=randread`.
fn says(name: &str) -> Topic {
    let separators = |letter: char| letter.is_whitespace() || "(),;:[]{}/-".contains(letter);
    let worded = |part| match str::split_once(part, '=') {
        Some(("rw" | "readwrite" | "mode" | "type" | "test", value)) => value,
        Some(_) => "",
        None => part,
    };
    let words: Vec<&str> = name.split(separators).map(worded).collect();
    Topic { size: None, ..topic(&words.join(" ")) }
}

fn contradicts(load: &Load) -> bool {
    let (said, rw) = (says(load.name), load.rw().unwrap_or(""));
    // Shares of the mix, or of what is random, may make it so after all.
    if load.entry(&["percentage_random", "rwmixread", "rwmixwrite"]).is_some() {
        return false;
    }
    let random = rw.starts_with("rand");
    let (read, write) = match rw.trim_start_matches("rand") {
        "read" => (true, false),
        "write" => (false, true),
        "rw" | "readwrite" => (true, true),
        _ => return false,
    };
    let order = said.random != said.sequential && said.random != random;
    let way = said.read != said.write && (said.read, said.write) != (read, write);
    order || way
}
