//! Live progress on standard error: a bar with the interval as it narrows on a terminal, plain
//! lines elsewhere. Standard output stays for the report.

use crate::measure::observer::{Event, Live, LiveComparison, Observer};
use crate::store;
use crate::units::show_bytes;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often a log file is told.
const PLAIN_INTERVAL: Duration = Duration::from_secs(15);

/// A live interval wider than the whole of the baseline tells nothing.
const TELLING: f64 = 1.0;

/// The observer for people.
pub struct Progress {
    bar: Option<ProgressBar>,
    said: Instant,
    budget_s: f64,
}

impl Progress {
    /// A bar when standard error is a terminal.
    pub fn new() -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            let style = ProgressStyle::with_template("{spinner} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Progress { bar, said: Instant::now(), budget_s: 0.0 }
    }

    /// Tells on the bar how far a fill is. Fills run below the journal, out of the observer's sight.
    pub fn of_fills(&self) -> impl Fn(u64) + Send + 'static {
        let bar = self.bar.clone();
        move |bytes| {
            if let Some(bar) = &bar {
                bar.set_message(format!("filling with incompressible data: {}", show_bytes(bytes)));
            }
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            // A closed standard error cannot be told anything.
            None => drop(writeln!(std::io::stderr(), "{text}")),
        }
    }

    fn status(&mut self, text: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(text);
        } else if self.said.elapsed() > PLAIN_INTERVAL {
            self.said = Instant::now();
            self.line(&text);
        }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Progress::new()
    }
}

impl Observer for Progress {
    fn tell(&mut self, event: Event) {
        match event {
            Event::Step { why } => self.status(format!("setting up: {why}")),
            Event::Reaching { place } => self.status(format!("waiting for {place}")),
            Event::Workload { subject, budget_s } => {
                self.budget_s = budget_s;
                self.line(&format!("measuring {subject} (at most {budget_s:.0} s)"));
            }
            Event::Phase { what } => self.status(what),
            Event::Round(live) => {
                let text = show_live(&live, self.budget_s);
                self.status(text);
            }
            Event::Trial { text } => self.line(&text),
            Event::Note { text } => self.line(&format!("note: {text}")),
            Event::Warning { text } => self.line(&format!("warning: {text}")),
            // Of a failure the rest is the run's last word.
            Event::WorkloadEnd { reason } => self.line(&format!("  ended: {}", store::first_line(&reason))),
            Event::TakingDown => self.status("taking down".into()),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// How far simulations are, while it lives: a bar on a terminal, a line now and then elsewhere.
pub struct Simulating {
    over: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
}

impl Simulating {
    /// Of so many cells with so many repetitions each; `done` counts repetitions.
    pub fn new(done: Arc<AtomicU64>, cells: u64, reps: u64) -> Simulating {
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let watch = move || {
            let bar = std::io::stderr().is_terminal().then(|| simulation_bar(cells * reps));
            let mut said = Instant::now();
            while !ends.load(Ordering::Relaxed) {
                let done = done.load(Ordering::Relaxed);
                let text = format!("{} of {cells} cells simulated", done / reps);
                if let Some(bar) = &bar {
                    bar.set_position(done);
                    bar.set_message(text);
                } else if said.elapsed() > PLAIN_INTERVAL {
                    said = Instant::now();
                    super::say_aside(&text);
                }
                std::thread::park_timeout(PLAIN_INTERVAL / 60);
            }
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
        };
        Simulating { over, watcher: Some(std::thread::spawn(watch)) }
    }
}

fn simulation_bar(repetitions: u64) -> ProgressBar {
    let bar = ProgressBar::new(repetitions);
    let style = ProgressStyle::with_template("{wide_msg} about {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

impl Drop for Simulating {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            // A bar that could not be drawn spoils nothing.
            let _ = watcher.join();
        }
    }
}

/// Seconds of a recording, while it lives; quiet when standard error is no terminal.
pub struct Recording(Option<ProgressBar>);

impl Recording {
    /// Of a target.
    pub fn new(target: &str) -> Recording {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            bar.set_prefix(format!("recording {target}"));
            let style = ProgressStyle::with_template("{prefix}: {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar
        });
        Recording(bar)
    }

    /// So many of so many seconds are done.
    pub fn at(&self, done_s: f64, seconds: f64) {
        if let Some(bar) = &self.0 {
            bar.set_message(format!("{done_s:.0} of {seconds:.0} s"));
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn show_live(live: &Live, budget_s: f64) -> String {
    let left = match live.left_s {
        Some(left) => format!("about {:.0} s left", left.min(budget_s - live.elapsed_s).max(0.0)),
        None => "too early to tell".to_owned(),
    };
    if live.comparisons.is_empty() {
        return format!("{:.0} s", live.elapsed_s);
    }
    let comparisons: Vec<String> = live.comparisons.iter().map(show_comparison).collect();
    format!("round {} {:.0} s, {left}: {}", live.round, live.elapsed_s, comparisons.join(", "))
}

fn show_comparison(live: &LiveComparison) -> String {
    match live.half_width {
        Some(half_width) if half_width < TELLING => {
            format!("{} costs {:.1} +- {:.1} %", live.stack, live.cost * 100.0, half_width * 100.0)
        }
        _ => format!("{} costs ?", live.stack),
    }
}
