//! Live progress on standard error: on a terminal the time left and the narrowing interval of every
//! stack, plain lines elsewhere. Standard output is kept for the report.

use super::output::{columns, look, say_aside};
use indicatif::{ProgressBar, ProgressStyle};
use iotax_measure::observer::{LiveComparison, LiveState, Observer, OperatorAnswer, RunEvent};
use iotax_report::{TerminalLook, wrap_words};
use iotax_store as store;
use iotax_units::harmless::lines;
use iotax_units::show_bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval between lines in a log file.
const PLAIN_INTERVAL: Duration = Duration::from_secs(15);

/// Half-width of a live interval, as a share of the baseline, from which on it is not shown: it
/// says nothing.
const TELLING: f64 = 1.0;

const SOON_S: f64 = 0.5;

const GAP: &str = "...";

/// Number of columns that the spinner takes at the start of a line.
const SPINNER: usize = 2;

pub struct ProgressPrinter {
    bar: Option<ProgressBar>,
    /// True if lines are printed next to the bar, or instead of it.
    prints: bool,
    plain: Arc<Mutex<Plain>>,
    budget_s: f64,
    fills: Arc<Mutex<Fills>>,
    courses: CostCourses,
}

/// Latest costs of each stack under the present load, the newest last.
type CostCourses = BTreeMap<String, Vec<f64>>;

/// Largest number of costs in a course.
const COURSE: usize = 8;

/// Latest activity, of which a log file gets a line from time to time. `said` is when the last line
/// was printed.
#[derive(Debug)]
struct Plain {
    said: Instant,
    latest: Option<String>,
}

impl Plain {
    fn due(&mut self, now: Instant) -> Option<String> {
        let is_due = now.saturating_duration_since(self.said) > PLAIN_INTERVAL;
        let text = self.latest.take_if(|_| is_due)?;
        self.said = now;
        Some(text)
    }

    /// Prints the latest activity, if there is a new one and the last line is old enough.
    fn print(plain: &Mutex<Plain>) {
        let text = plain.lock().unwrap_or_else(PoisonError::into_inner).due(Instant::now());
        if let Some(text) = text {
            say_aside(&text);
        }
    }

    fn set_latest(plain: &Mutex<Plain>, latest: Option<String>) {
        plain.lock().unwrap_or_else(PoisonError::into_inner).latest = latest;
    }
}

/// Progress of filling the files of a set-up, in bytes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Fills {
    total: u64,
    /// Bytes of the files before the present one.
    before: u64,
    present: u64,
}

impl Fills {
    /// Returns the progress after `bytes` of a file are filled. A number that is not larger than
    /// the one before belongs to the next file.
    fn filled_words(&mut self, bytes: u64) -> String {
        if bytes <= self.present {
            self.before += self.present;
        }
        self.present = bytes;
        let done = self.before + self.present;
        // Fills beyond the plan never make the part larger than the whole.
        let total = self.total.max(done);
        format!("filling with incompressible data: {} of {}", show_bytes(done), show_bytes(total))
    }
}

impl ProgressPrinter {
    /// Returns a printer with a bar if standard error is a terminal.
    pub fn new() -> ProgressPrinter {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            let style = ProgressStyle::with_template("{spinner} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        let plain = Arc::new(Mutex::new(Plain { said: Instant::now(), latest: None }));
        if bar.is_none() {
            let held = Arc::downgrade(&plain);
            std::thread::spawn(move || {
                while let Some(plain) = held.upgrade() {
                    Plain::print(&plain);
                    drop(plain);
                    std::thread::sleep(PLAIN_INTERVAL / 15);
                }
            });
        }
        ProgressPrinter {
            bar,
            prints: true,
            plain,
            budget_s: 0.0,
            fills: Arc::default(),
            courses: CostCourses::new(),
        }
    }

    /// Returns a printer that shows the bar but prints no lines, for callers that report on the run
    /// themselves.
    pub fn of_bar() -> ProgressPrinter {
        let mut quiet = ProgressPrinter::new();
        quiet.prints = false;
        quiet
    }

    /// Returns a function that shows how many bytes of a file are filled. It is called by what
    /// carries out a step, since the observer of a run sees no progress within one.
    pub fn of_fills(&self) -> impl Fn(u64) + Send + 'static {
        let (fills, show) = (Arc::clone(&self.fills), self.of_status());
        move |bytes| show(fills.lock().unwrap_or_else(PoisonError::into_inner).filled_words(bytes))
    }

    pub fn of_syncs(&self) -> impl Fn(f64) + Send + 'static {
        let show = self.of_status();
        move |share| show(format!("setting up: the array syncs, {:.0} % done", share * 100.0))
    }

    fn of_status(&self) -> impl Fn(String) + Send + 'static {
        let (bar, plain, prints) = (self.bar.clone(), Arc::clone(&self.plain), self.prints);
        move |text| match &bar {
            Some(bar) => bar.set_message(text),
            None if prints => Plain::set_latest(&plain, Some(text)),
            None => {}
        }
    }

    /// Returns a function that shows what a step waits for. Without a bar, each new text is a line.
    pub fn of_waits(&self) -> impl FnMut(String) + Send + 'static {
        let (bar, mut said) = (self.bar.clone(), String::new());
        move |text| match &bar {
            Some(bar) => bar.set_message(lines(&text).into_owned()),
            None if text != said => {
                say_aside(&text);
                said = text;
            }
            None => {}
        }
    }

    pub(super) fn print_line(&self, text: &str) {
        match &self.bar {
            _ if !self.prints => {}
            Some(bar) => {
                let indent = text.len() - text.trim_start().len();
                let room = columns().saturating_sub(indent);
                let lines = wrap_words(text, room, "  ");
                lines.lines().for_each(|line| bar.println(format!("{:indent$}{line}", "")));
            }
            None => say_aside(text),
        }
    }

    fn status(&mut self, text: String) {
        if let Some(bar) = &self.bar {
            let room = columns().saturating_sub(SPINNER);
            bar.set_message(wrap_words(&text, room, "    ").trim_end().to_owned());
        } else if self.prints {
            Plain::set_latest(&self.plain, Some(text));
            Plain::print(&self.plain);
        }
    }
}

impl Default for ProgressPrinter {
    fn default() -> Self {
        ProgressPrinter::new()
    }
}

impl Observer for ProgressPrinter {
    fn ask_operator(&mut self, request: &str, stop: &AtomicBool) -> OperatorAnswer {
        let input = std::io::stdin();
        if !(input.is_terminal() && std::io::stderr().is_terminal()) {
            return OperatorAnswer::Nobody;
        }
        request.lines().for_each(|line| self.print_line(line));
        self.status(
            "press Enter when that is done; Ctrl-C ends the run, and iotax resume goes on"
                .to_owned(),
        );
        while !stop.load(Ordering::Relaxed) {
            let wait = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
            // A signal ends the wait early, and is seen by the flag.
            if !matches!(poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&wait)), Ok(1..)) {
                continue;
            }
            let mut line = String::new();
            return match input.read_line(&mut line) {
                Ok(1..) => OperatorAnswer::Done,
                _ => OperatorAnswer::Nobody,
            };
        }
        OperatorAnswer::Stopped
    }

    fn notify(&mut self, event: RunEvent) {
        if matches!(
            event,
            RunEvent::Workload { .. } | RunEvent::LongPhase { .. } | RunEvent::WorkloadEnd { .. }
        ) {
            // The next event is about something else.
            Plain::set_latest(&self.plain, None);
        }
        match event {
            RunEvent::Step { why } => self.status(format!("setting up: {why}")),
            RunEvent::Filling { total } => {
                let fills = Fills { total, ..Fills::default() };
                *self.fills.lock().unwrap_or_else(PoisonError::into_inner) = fills;
            }
            RunEvent::Reaching { place } => self.status(format!("waiting for {place}")),
            RunEvent::Workload { subject, spent_s, budget_s } => {
                // Rounds report the time of all visits.
                self.budget_s = spent_s + budget_s;
                self.courses.clear();
                self.print_line(&format!("measuring {subject} (at most {budget_s:.0} s)"));
            }
            RunEvent::Phase { what } => self.status(what),
            RunEvent::LongPhase { what } if self.bar.is_some() => self.status(what),
            RunEvent::LongPhase { what } => self.print_line(&what),
            RunEvent::Round(live) => match &self.bar {
                Some(bar) => {
                    for one in live.comparisons.iter().filter(|one| one.half_width.is_some()) {
                        let course = self.courses.entry(one.stack.clone()).or_default();
                        course.push(one.cost);
                        course.drain(..course.len().saturating_sub(COURSE));
                    }
                    let text = lines_of(&live, &self.courses, self.budget_s, screen(), look());
                    bar.set_message(lines(&text).into_owned())
                }
                None => self.status(show_live(&live, self.budget_s)),
            },
            RunEvent::Trial { text } | RunEvent::Preconditioned { text } => self.print_line(&text),
            RunEvent::Note { text } => self.print_line(&format!("note: {text}")),
            RunEvent::Warning { text } => self.print_line(&format!("warning: {text}")),
            // The run's last message has the rest of a failure.
            RunEvent::WorkloadEnd { reason } => {
                self.print_line(&format!("  ended: {}", store::first_line(&reason)))
            }
            RunEvent::Removing => self.status("taking down".into()),
        }
    }
}

impl Drop for ProgressPrinter {
    fn drop(&mut self) {
        Plain::set_latest(&self.plain, None);
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Shows the progress of simulations while it lives: a bar on a terminal, a line now and then
/// elsewhere.
pub struct Simulating {
    over: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
}

impl Simulating {
    /// Starts the display for `cells` cells with `reps` repetitions each. `done` is the number of
    /// repetitions so far, of all cells.
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
                    say_aside(&text);
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
            // A bar that could not be drawn does no harm.
            let _ = watcher.join();
        }
    }
}

/// Returns the columns and rows of the terminal; without one, 24 rows.
fn screen() -> (usize, usize) {
    let rows = terminal_size::terminal_size().map_or(24, |(_, rows)| usize::from(rows.0));
    (columns(), rows)
}

/// Returns the time and the stacks' costs in one line, for a log file. Stacks of which nothing is
/// known yet are left out.
fn show_live(live: &LiveState, budget_s: f64) -> String {
    let cost = |one: &LiveComparison| Some(format!("{} {}", one.stack, show_cost(one)?));
    let comparisons: Vec<String> = live.comparisons.iter().filter_map(cost).collect();
    match comparisons.is_empty() {
        true => show_time(live, budget_s),
        false => format!("{}: {}", show_time(live, budget_s), comparisons.join(", ")),
    }
}

/// Returns `round 12, 14 s, about 20 s of these rounds left`. Other rounds may follow, for other
/// rates or sets, and then the removal.
fn show_time(live: &LiveState, budget_s: f64) -> String {
    let at_most_s = budget_s - live.elapsed_s;
    let left = match live.left_s {
        _ if live.comparisons.is_empty() => return format!("{:.0} s", live.elapsed_s),
        // A round is measured to its end, whatever time is left.
        _ if at_most_s < SOON_S => "the time of these rounds is up".to_owned(),
        Some(left) if left < SOON_S => "these rounds end soon".to_owned(),
        Some(left) => format!("about {:.0} s of these rounds left", left.min(at_most_s)),
        None => format!("at most {at_most_s:.0} s of these rounds left"),
    };
    format!("round {}, {:.0} s, {left}", live.round, live.elapsed_s)
}

/// Returns the time with a bar, and below it a line for each stack of which something is known: its
/// name, the course of its cost, and the cost. The widest interval decides when to stop. Stacks
/// beyond half of the screen's rows are only counted. `screen` is its columns and rows.
fn lines_of(
    live: &LiveState,
    courses: &CostCourses,
    budget_s: f64,
    (columns, rows): (usize, usize),
    look: TerminalLook,
) -> String {
    const WIDEST: &str = "  <- widest";
    let most = (rows / 2).max(3);
    let known: Vec<(&LiveComparison, String)> =
        live.comparisons.iter().filter_map(|one| Some((one, show_cost(one)?))).collect();
    let widths = known.iter().filter_map(|(one, _)| one.half_width);
    let widest = widths.fold(0.0, f64::max);
    let figures = known.iter().map(|(_, cost)| cost.chars().count()).max().unwrap_or(0);
    let fixed = 1 + 2 + 2 + COURSE + 2 + figures + WIDEST.len();
    let room = columns.saturating_sub(fixed).max(GAP.len() + 3);
    let names: Vec<String> =
        known.iter().map(|(one, _)| middle_left_out(&one.stack, room)).collect();
    let name_width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let line = |((one, cost), name): (&(&LiveComparison, String), &String)| {
        let course = courses.get(&one.stack).map_or(&[][..], Vec::as_slice);
        let decides = known.len() > 1 && one.half_width == Some(widest);
        let mark = if decides { WIDEST } else { "" };
        let course = look.sparkline(course.iter().copied());
        format!("  {name:<name_width$}  {course:<COURSE$}  {cost:>figures$}{mark}")
    };
    let mut lines =
        vec![format!("{}{}", show_time(live, budget_s), time_bar(live, budget_s, look))];
    lines.extend(known.iter().zip(&names).take(most).map(line).map(|line| look.signs(&line)));
    if known.len() > most {
        lines.push(format!("  and {} more stacks", known.len() - most));
    }
    lines.join("\n")
}

/// Returns a bar of the time that has passed, of all that is expected or, before there is an
/// interval, allowed.
fn time_bar(live: &LiveState, budget_s: f64, look: TerminalLook) -> String {
    const WIDTH: usize = 10;
    let whole = live.left_s.map_or(budget_s, |left| (live.elapsed_s + left).min(budget_s));
    if live.comparisons.is_empty() || whole <= 0.0 {
        return String::new();
    }
    let done = ((live.elapsed_s / whole).clamp(0.0, 1.0) * WIDTH as f64).round() as usize;
    let [full, rest] = if look.ascii { ["#", "."] } else { ["\u{2588}", "\u{2591}"] };
    format!("  {}{}", full.repeat(done), rest.repeat(WIDTH - done))
}

/// Shortens a name to `room` columns by leaving out its middle. It keeps less of the front than of
/// the end, since names begin alike and differ towards their end.
fn middle_left_out(name: &str, room: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= room {
        return name.to_owned();
    }
    let kept = room.saturating_sub(GAP.len());
    let (front, back) = (kept / 3, kept - kept / 3);
    let part = |letters: &[char]| letters.iter().collect::<String>();
    part(&letters[..front]) + GAP + &part(&letters[letters.len() - back..])
}

fn show_cost(live: &LiveComparison) -> Option<String> {
    let half_width = live.half_width.filter(|half_width| *half_width < TELLING)?;
    let verb = if live.cost < 0.0 { "gains" } else { "costs" };
    let directions = live.directions.map(|[reads, writes]| {
        format!(" (reads {:.1} %, writes {:.1} %)", reads * 100.0, writes * 100.0)
    });
    let cost = format!("{verb} {:.1} +- {:.1} %", live.cost.abs() * 100.0, half_width * 100.0);
    Some(cost + &directions.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(stacks: &[&str]) -> LiveState {
        let comparison = |(at, stack): (usize, &&str)| LiveComparison {
            stack: (*stack).to_owned(),
            cost: 0.05 * at as f64,
            half_width: (at != 1).then_some(0.012),
            directions: None,
        };
        let comparisons = stacks.iter().enumerate().map(comparison).collect();
        LiveState { round: 12, elapsed_s: 14.2, left_s: Some(100.0), comparisons }
    }

    #[test]
    fn every_stack_has_a_line_and_the_time_left_comes_first() {
        let names = [
            "vm cache=none,num-queues=1",
            "vm cache=none,num-queues=2",
            "vm cache=writeback,num-queues=1",
        ];
        let courses = BTreeMap::from([(names[2].to_owned(), vec![0.2, 0.1])]);
        let look = TerminalLook { ascii: true, colour: false };
        let text = lines_of(&live(&names), &courses, 60.0, (100, 24), look);
        let expected = [
            "round 12, 14 s, about 46 s of these rounds left  ##........",
            "  vm cache=none,num-queues=1                  costs 0.0 +- 1.2 %  <- widest",
            "  vm cache=writeback,num-queues=1  #_        costs 10.0 +- 1.2 %  <- widest",
        ];
        assert_eq!(text.lines().count(), 3, "{text}");
        for (line, expected) in text.lines().zip(expected) {
            let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(line), words(expected), "of the second nothing is known: {text}");
        }
        let many = lines_of(&live(&["a"; 9]), &courses, 60.0, (80, 10), look);
        assert_eq!((many.lines().count(), many.lines().last()), (7, Some("  and 3 more stacks")));
        assert_eq!(
            show_live(&live(&["vm", "unknown"]), 60.0),
            "round 12, 14 s, about 46 s of these rounds left: vm costs 0.0 +- 1.2 %"
        );
        let faster = LiveComparison {
            stack: "vm".into(),
            cost: -0.254,
            half_width: Some(0.012),
            directions: None,
        };
        assert_eq!(show_cost(&faster).as_deref(), Some("gains 25.4 +- 1.2 %"));
    }

    #[test]
    fn a_mix_has_reads_and_writes_apart_while_it_is_measured() {
        let mut mix = live(&["vm"]);
        mix.comparisons[0].directions = Some([0.104, -0.02]);
        let said = "vm costs 0.0 +- 1.2 % (reads 10.4 %, writes -2.0 %)";
        assert!(show_live(&mix, 60.0).ends_with(said), "{}", show_live(&mix, 60.0));
    }

    #[test]
    fn of_a_long_name_the_middle_is_left_out_since_names_differ_at_their_end() {
        let names =
            ["4 drives | mdraid(level=5,chunk=64KiB) | split(8) | vm(vcpus=6,num-queues=1)"; 3];
        for columns in [40, 60, 80] {
            let look = TerminalLook { ascii: true, colour: false };
            let text = lines_of(&live(&names), &BTreeMap::new(), 60.0, (columns, 24), look);
            let stacks: Vec<&str> = text.lines().skip(1).collect();
            assert_eq!(stacks.len(), 2);
            let is_cut = |line: &&str| line.starts_with("  4") || line.contains("...");
            assert!(stacks.iter().all(|line| line.contains("...") && is_cut(line)), "{text}");
            let fits = |line: &&str| line.len() < columns || columns < 50;
            assert!(stacks.iter().all(fits), "{text}");
        }
        assert_eq!(middle_left_out("abcdef", 6), "abcdef");
        assert_eq!(middle_left_out("abcdefghijkl", 9), "ab...ijkl");
    }

    #[test]
    fn what_earlier_visits_took_is_no_part_of_a_visits_time() {
        let plain = Arc::new(Mutex::new(Plain { said: Instant::now(), latest: None }));
        let mut progress = ProgressPrinter {
            bar: None,
            prints: true,
            plain,
            budget_s: 0.0,
            fills: Arc::default(),
            courses: CostCourses::new(),
        };
        progress.notify(RunEvent::Workload {
            subject: "reads".into(),
            spent_s: 10.0,
            budget_s: 10.0,
        });
        let said = show_time(
            &LiveState { elapsed_s: 12.0, left_s: None, ..live(&["a"]) },
            progress.budget_s,
        );
        assert_eq!(said, "round 12, 12 s, at most 8 s of these rounds left");
    }

    #[test]
    fn while_work_goes_on_nobody_says_that_no_time_is_left() {
        let at =
            |elapsed_s, left_s| show_time(&LiveState { elapsed_s, left_s, ..live(&["a"]) }, 15.0);
        assert_eq!(at(14.2, None), "round 12, 14 s, at most 1 s of these rounds left");
        assert_eq!(at(15.3, None), "round 12, 15 s, the time of these rounds is up");
        assert_eq!(at(15.3, Some(7.0)), "round 12, 15 s, the time of these rounds is up");
        assert_eq!(at(3.0, Some(0.0)), "round 12, 3 s, these rounds end soon");
    }

    #[test]
    fn a_log_file_gets_what_is_under_way_when_its_time_has_come_and_only_once() {
        let said = Instant::now();
        let mut plain = Plain { said, latest: Some("make the cluster".into()) };
        assert_eq!(plain.due(said + PLAIN_INTERVAL / 2), None);
        let later = said + PLAIN_INTERVAL * 2;
        assert_eq!(plain.due(later).as_deref(), Some("make the cluster"));
        plain.latest = Some("fill it".into());
        assert_eq!(
            (plain.due(later), plain.due(later + PLAIN_INTERVAL * 2).as_deref()),
            (None, Some("fill it"))
        );
        assert_eq!(plain.due(later + PLAIN_INTERVAL * 4), None);
    }

    #[test]
    fn a_fill_counts_over_all_files() {
        let mut fills = Fills { total: 3 << 20, ..Fills::default() };
        let told = [1, 2, 1].map(|mebibytes| fills.filled_words(mebibytes << 20));
        assert!(
            told[0].ends_with(": 1 MiB of 3 MiB") && told[1].ends_with(": 2 MiB of 3 MiB"),
            "{told:?}"
        );
        assert!(told[2].ends_with(": 3 MiB of 3 MiB"), "the second file: {told:?}");
        assert!(fills.filled_words(1 << 20).ends_with(": 4 MiB of 4 MiB"), "more than was planned");
    }
}
