//! Writes the draft of a scenario: comments, stacks, workloads, the rating and published figures.

use super::figures::{DraftKind, PageFigure};
use super::gaps::find_gaps;
use super::headings::{file_name, page_title, taken_lines};
use super::labels::{PageMetric, read_label};
use super::loads::PageLoad;
use super::rows::{PublishedRow, rows_of};
use super::stacks::{StackGuess, guess_stack};
use super::systems::PageSystem;
use super::tables::QuotedRating;
use super::toml_lines::{clipped, comment, list, quoted, setting};
use super::{MOST_UNUSED, ScenarioDraft};
use iotax_audit::audit::Audited;
use iotax_audit::finding::Finding;
use iotax_audit::number::NumberUnit;
use iotax_audit::page::TextSpan;
use iotax_audit::prose::{Sentence, sentences};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

const LONGEST_HARDWARE: usize = 600;

/// All that is known of a page.
pub(super) struct DraftPage<'a> {
    pub audited: &'a Audited,
    pub loads: &'a [PageLoad],
    pub systems: &'a [PageSystem],
    pub figures: &'a [PageFigure],
    pub rated: &'a [QuotedRating],
    pub versions: &'a [String],
    /// Figures that no draft has, in words.
    pub unused: Vec<String>,
}

/// A workload of the draft, with its name.
struct NamedLoad<'a> {
    index: usize,
    name: String,
    load: &'a PageLoad,
}

impl DraftPage<'_> {
    /// Returns the draft for the systems of one kind. The first one lists what is not used.
    pub fn draft(&mut self, kind: DraftKind, is_first: bool) -> ScenarioDraft {
        let systems: Vec<&PageSystem> =
            self.systems.iter().filter(|one| one.kind == kind).collect();
        let rows = rows_of(kind, &systems, self.loads, self.figures, &mut self.unused);
        let loads = self.loads_of(kind, &rows);
        let guesses: Vec<StackGuess> = guesses(&systems);
        let mut out = self.comments(kind, &systems, &loads, is_first);
        self.write_top(&mut out, &systems, &loads);
        let open = write_stacks(&mut out, kind, &systems, &guesses);
        loads.iter().for_each(|load| write_load(&mut out, load));
        if kind == DraftKind::Storage {
            self.write_rating(&mut out);
        }
        let figures = rows.iter().flat_map(|row| &row.cells).flatten().count();
        if figures > 0 {
            self.write_published(&mut out, &systems, &loads, &rows);
        }
        let (stacks, loads) = (systems.len().max(1), loads.len());
        ScenarioDraft { kind, text: out, stacks, loads, figures, open }
    }

    /// Returns the loads that the rows have; those of storage also without a figure.
    fn loads_of(&self, kind: DraftKind, rows: &[PublishedRow]) -> Vec<NamedLoad<'_>> {
        let used: HashSet<usize> = rows.iter().map(|row| row.load).collect();
        let mut names: HashSet<String> = HashSet::new();
        let all = self.loads.iter().enumerate();
        all.filter(|(index, load)| {
            used.contains(index) || kind == DraftKind::Storage && load.probe.is_none()
        })
        .map(|(index, load)| {
            let own = load.name();
            let numbered = (2..).map(|number| format!("{own}-{number}"));
            let mut choices = std::iter::once(own.clone()).chain(numbered);
            let name = choices.find(|name| names.insert(name.clone())).unwrap_or(own.clone());
            NamedLoad { index, name, load }
        })
        .collect()
    }

    fn comments(
        &self,
        kind: DraftKind,
        systems: &[&PageSystem],
        loads: &[NamedLoad],
        is_first: bool,
    ) -> String {
        let page = &self.audited.page;
        let mut out = String::new();
        comment(
            &mut out,
            &format!("Draft of a scenario from {}, by iotax audit --scenario.", page.name),
        );
        comment(
            &mut out,
            "What the page does not say is marked with \"say:\". When it is filled in,",
        );
        comment(&mut out, "iotax plan FILE shows what a run would do.");
        let used: Vec<PageLoad> = loads.iter().map(|one| one.load.clone()).collect();
        let is_of_guests = systems.iter().any(|system| guess_stack(&system.text, kind).is_guest);
        let gaps = find_gaps(page, kind, &used, self.versions, is_of_guests);
        list(&mut out, "say: the page does not say", &gaps);
        if is_first {
            list(&mut out, "Do not hold, but stay as printed", &self.wrong_figures());
            list(&mut out, "Not used", &self.unused);
            list(&mut out, "Not used: figures in sentences", &self.sentences());
        }
        out
    }

    /// Returns the figures that the audit found wrong, each with its line and what it should be.
    fn wrong_figures(&self) -> Vec<String> {
        let audited = self.audited;
        let wrong = audited
            .findings
            .iter()
            .filter(|one| !one.recomputed.is_empty() && !one.printed.contains('%'));
        let text = |finding: &Finding| {
            let line = audited.page.line_number(finding.spot.index());
            format!("line {line}: {} should be {}", finding.printed, finding.recomputed)
        };
        wrong.take(MOST_UNUSED).map(text).collect()
    }

    /// Returns the sentences with a rate or a time, each with its line.
    fn sentences(&self) -> Vec<String> {
        let page = &self.audited.page;
        let mut taken: Vec<_> =
            self.audited.outputs.iter().map(|output| output.lines.clone()).collect();
        taken.extend(self.audited.tables.iter().map(|table| table.lines.clone()));
        taken.sort_by_key(|lines| lines.start);
        let is_result = |unit: NumberUnit| unit.is_rate() || unit == NumberUnit::Nanoseconds;
        let with_result = sentences(page, &taken)
            .into_iter()
            .filter(|one| one.figures.iter().any(|figure| is_result(figure.unit)));
        let text = |one: Sentence| {
            let text = page.line_text(one.line).get(one.bytes).unwrap_or_default();
            let text = text.trim_start_matches(|letter: char| !letter.is_alphanumeric()).trim_end();
            format!("line {}: {text}", page.line_number(one.line))
        };
        with_result.take(MOST_UNUSED).map(text).collect()
    }

    fn write_top(&self, out: &mut String, systems: &[&PageSystem], loads: &[NamedLoad]) {
        out.push('\n');
        setting(out, "name", &clipped(page_title(&self.audited.page)));
        if let Some(baseline) = self.baseline(systems) {
            setting(out, "baseline", baseline);
        }
        let engines: HashSet<&str> =
            loads.iter().filter_map(|one| one.load.engine.as_deref()).collect();
        if let [only] = engines.into_iter().collect::<Vec<_>>().as_slice() {
            match engine_of(only) {
                Some(engine) => setting(out, "engine", engine),
                None => comment(
                    out,
                    &format!("say: engine: iotax has no engine like the page's {only}"),
                ),
            }
        }
    }

    /// Returns the stack that most ratios of the page are shares of; else the first host or stack.
    fn baseline<'s>(&self, systems: &[&'s PageSystem]) -> Option<&'s str> {
        let mut counts: HashMap<TextSpan, usize> = HashMap::new();
        for link in &self.audited.links {
            *counts.entry(link.denominator.figure.spot).or_default() += 1;
        }
        let mut by_system: HashMap<&str, usize> = HashMap::new();
        for figure in self.figures {
            let count = figure.spot.and_then(|spot| counts.get(&spot)).copied().unwrap_or(0);
            *by_system.entry(figure.system.as_str()).or_default() += count;
        }
        let count = |system: &PageSystem| by_system.get(system.text.as_str()).copied().unwrap_or(0);
        let most = systems.iter().map(|system| count(system)).max().filter(|count| *count > 0);
        let divisor = systems.iter().find(|system| Some(count(system)) == most);
        let host = || systems.iter().find(|system| guess_stack(&system.text, system.kind).is_host);
        divisor.or_else(host).or(systems.first()).map(|system| system.name.as_str())
    }

    fn write_rating(&self, out: &mut String) {
        let Some(head) = self.rated.first().map(|rated| rated.head.as_str()) else { return };
        let mut keys: Vec<(&str, &str)> = Vec::new();
        for rated in self.rated.iter().filter(|rated| rated.head == head) {
            let key = match (self.loads[rated.load].rw_word(), rated.metric) {
                (Some("randread"), PageMetric::Iops) => "randread_iops",
                (Some("randwrite"), PageMetric::Iops) => "randwrite_iops",
                (Some("read"), PageMetric::Throughput) => "read",
                (Some("write"), PageMetric::Throughput) => "write",
                _ => continue,
            };
            if keys.iter().all(|(known, _)| *known != key) {
                keys.push((key, &rated.text));
            }
        }
        if keys.is_empty() {
            return;
        }
        out.push_str("\n[rating]\n");
        comment(out, "say: the model as the kernel reports it; other drives ignore the rating");
        let model = read_label(head).name;
        setting(out, "model", if model.is_empty() { "not said" } else { &model });
        setting(out, "source", &format!("as the page quotes it: {}", clipped(head)));
        keys.into_iter().for_each(|(key, text)| setting(out, key, text));
    }

    fn write_published(
        &self,
        out: &mut String,
        systems: &[&PageSystem],
        loads: &[NamedLoad],
        rows: &[PublishedRow],
    ) {
        out.push_str("\n[published]\n");
        let title = page_title(&self.audited.page);
        setting(out, "source", &format!("{} ({})", clipped(title), file_name(&self.audited.page)));
        comment(out, "say: author, site and date of the page, and what is missing of the hardware");
        setting(out, "hardware", &self.hardware());
        let names: Vec<String> = systems.iter().map(|system| quoted(&system.name)).collect();
        let _ = writeln!(out, "stacks = [{}]", names.join(", "));
        out.push_str("figures = [\n");
        let names: HashMap<usize, &str> =
            loads.iter().map(|one| (one.index, one.name.as_str())).collect();
        for row in rows {
            let Some(name) = names.get(&row.load) else { continue };
            let note = row.note.map_or(String::new(), |note| format!(", note = {}", quoted(note)));
            let cells = row.cells.iter().map(|cell| quoted(cell.as_deref().unwrap_or("-")));
            let _ = writeln!(
                out,
                "    {{ workload = {}, metric = {}{note}, printed = [{}] }},",
                quoted(name),
                quoted(&row.metric),
                cells.collect::<Vec<_>>().join(", ")
            );
        }
        out.push_str("]\n");
    }

    /// Returns the lines of the page that say a part of the hardware, and the versions of fio.
    fn hardware(&self) -> String {
        const PARTS: [&str; 17] = [
            "cpu",
            "processor",
            "motherboard",
            "ram",
            "memory",
            "drive",
            "drives",
            "disk",
            "disks",
            "kernel",
            "os",
            "内存",
            "硬盘",
            "内核",
            "操作系统",
            "диски",
            "ос",
        ];
        let (page, taken) = (&self.audited.page, taken_lines(self.audited));
        let mut said: Vec<String> = Vec::new();
        for line in (0..page.len()).filter(|line| !taken[*line]) {
            let text = page.line_text(line).trim().trim_start_matches(['-', '*', '•', ' ']);
            let Some((part, value)) = text.split_once([':', '：']) else { continue };
            let is_part = PARTS.contains(&part.trim().to_lowercase().as_str());
            let text = format!("{}: {}", part.trim(), value.trim());
            let length = said.iter().map(String::len).sum::<usize>() + text.len();
            let fits = (1..=120).contains(&value.trim().len()) && length < LONGEST_HARDWARE;
            if is_part && fits && !said.contains(&text) {
                said.push(text);
            }
        }
        said.extend(self.versions.iter().cloned());
        if said.is_empty() { "not said".to_owned() } else { said.join("; ") }
    }
}

/// Returns a guess for each system. Two systems with one guess are no longer known.
fn guesses(systems: &[&PageSystem]) -> Vec<StackGuess> {
    let mut all: Vec<StackGuess> =
        systems.iter().map(|system| guess_stack(&system.text, system.kind)).collect();
    let keys: Vec<(bool, String)> =
        all.iter().map(|guess| (guess.is_whole, guess.lines.join("\n"))).collect();
    for (guess, key) in all.iter_mut().zip(&keys) {
        guess.is_whole &= keys.iter().filter(|other| *other == key).count() == 1;
    }
    all
}

/// Writes the stacks. Returns how many are open.
fn write_stacks(
    out: &mut String,
    kind: DraftKind,
    systems: &[&PageSystem],
    guesses: &[StackGuess],
) -> usize {
    if kind == DraftKind::Storage {
        out.push_str("\n[device.disk]\n");
        comment(out, "say: the drive or the file below the stacks, for example:");
        comment(
            out,
            "path = \"/dev/disk/by-id/...\", or path = \"/srv/x.img\" and size = \"16GiB\"",
        );
    }
    if systems.is_empty() {
        out.push_str("\n[stack.system]\n");
        comment(out, "say: what the page measured, for example: on = \"disk\"");
        return 1;
    }
    let mut open = 0;
    for (system, guess) in systems.iter().zip(guesses) {
        let _ = writeln!(out, "\n[stack.{}]", system.name);
        let lines = match system.lines {
            (first, last) if first == last => format!("line {first}"),
            (first, last) => format!("lines {first} to {last}"),
        };
        comment(out, &format!("{}: {}", lines, clipped(&system.text)));
        if guess.is_whole {
            guess.lines.iter().for_each(|line| out.push_str(&format!("{line}\n")));
            continue;
        }
        open += 1;
        comment(out, "say: its layers, for example:");
        guess.lines.iter().for_each(|line| comment(out, line));
    }
    open
}

fn write_load(out: &mut String, NamedLoad { name, load, .. }: &NamedLoad) {
    out.push_str("\n[[workload]]\n");
    setting(out, "name", name);
    if let Some(probe) = load.probe {
        return setting(out, "probe", probe);
    }
    let Some(rw) = load.rw_word() else { return };
    setting(out, "rw", rw);
    let order = load.random.is_none().then_some("whether offsets are random");
    let unsaid = [
        order,
        load.bs.is_none().then_some("bs"),
        load.iodepth.is_none().then_some("iodepth"),
        load.numjobs.is_none().then_some("numjobs"),
    ];
    let mut number = |key: &str, value: Option<u64>| {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{key} = {value}");
        }
    };
    number("rwmixread", load.rwmixread);
    number("percentage_random", load.percentage_random);
    number("iodepth", load.iodepth);
    number("numjobs", load.numjobs);
    number("fsync", load.fsync);
    if let Some(bs) = load.bs {
        setting(out, "bs", &size_text(bs));
    }
    let unsaid: Vec<&str> = unsaid.into_iter().flatten().collect();
    if !unsaid.is_empty() {
        comment(out, &format!("say: {}", unsaid.join(", ")));
    }
    let more = [
        load.size.as_ref().map(|size| format!("size={size}")),
        load.runtime.as_ref().map(|runtime| format!("runtime={runtime}")),
        load.end_fsync.then(|| "end_fsync=1".to_owned()),
        load.engine.as_ref().map(|engine| format!("ioengine={engine}")),
    ];
    let more: Vec<String> = more.into_iter().flatten().collect();
    if !more.is_empty() {
        comment(out, &clipped(&format!("the page: {}", more.join(", "))));
    }
}

fn size_text(bytes: u64) -> String {
    match bytes {
        _ if bytes % (1 << 20) == 0 => format!("{}MiB", bytes >> 20),
        _ if bytes % 1024 == 0 => format!("{}KiB", bytes >> 10),
        _ => format!("{bytes}B"),
    }
}

/// Returns the engine of iotax for one of fio's.
fn engine_of(engine: &str) -> Option<&'static str> {
    Some(match engine {
        "libaio" => "aio",
        "io_uring" => "uring",
        "posixaio" => "posixaio",
        "sync" | "psync" | "pvsync" | "pvsync2" | "vsync" => "sync",
        _ => return None,
    })
}
