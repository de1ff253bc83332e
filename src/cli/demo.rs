//! `iotax demo`: shows what iotax does, on this machine and in five short parts. The first part
//! audits what somebody published. Every other figure is measured here and now, and the hidden
//! delay is drawn again each time.

use super::output::{self, columns, hanging_paragraph, say, say_in_colour};
use super::progress::ProgressPrinter;
use super::report::ReportArgs;
use super::{doctor, report, run};
use anyhow::{Context, Result};
use iotax_analysis::Findings;
use iotax_analysis::findings::{Comparison, MeasuredFigure};
use iotax_host::guard::marker::{self, Removal};
use iotax_model::scenario::Scenario;
use iotax_model::scenario::check::{ScenarioRequest, from_arguments};
use iotax_plan::survey;
use iotax_report::{PageContext, answer};
use iotax_units::exit::{DONE, Failed, UNDO_INCOMPLETE, code_of};
use iotax_units::{GIB, MIB, show_bytes};
use std::path::{Path, PathBuf};

/// Arguments of `demo`.
#[derive(clap::Args)]
pub struct Args {
    /// Folder for the file under test, on the disk to be measured
    #[arg(long, default_value = "/var/tmp")]
    dir: PathBuf,
}

pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    let demo = Demo::new(&args.dir, runs)?;
    let shown = demo.show_parts();
    let removed = demo.remove_file();
    shown.and(removed)?;
    Ok(DONE)
}

struct Demo<'a> {
    file: PathBuf,
    bytes: u64,
    runs: &'a Path,
}

impl Demo<'_> {
    fn new<'a>(dir: &Path, runs: &'a Path) -> Result<Demo<'a>> {
        // A fixed name: the next demo uses and removes what a killed one leaves.
        let file = dir.join("iotax-demo.img");
        Ok(Demo { file, bytes: GIB, runs })
    }

    fn show_parts(&self) -> Result<()> {
        let width = columns();
        say(&intro(&show_bytes(self.bytes), &self.dir(), width))?;
        say(&published_part(width))?;
        let mut dirs = Vec::new();
        self.one_after_the_other(&mut dirs, width)?;
        self.hidden_delay(&mut dirs, width)?;
        self.guest(&mut dirs, width)?;
        say(&lacking_part(&doctor::summary(&self.dir()), width))?;
        // The first one leads the page, which lies in its folder.
        let page = dirs.first().context("nothing was measured")?.join("report.html");
        let html = report::render_runs(&dirs, "html", &output::page(), &ReportArgs::NONE)?;
        std::fs::write(&page, html).with_context(|| format!("cannot write {}", page.display()))?;
        say(&closing(&doctor::command_here(&self.dir()), &page))
    }

    /// Prints part (b): the rates of two runs of the same file, then iotax's comparison of the file
    /// with itself.
    fn one_after_the_other(&self, dirs: &mut Vec<PathBuf>, width: usize) -> Result<()> {
        say(&part_heading(
            "(b) The same file twice, 4 s each, one after the other, as people do it by hand",
        ))?;
        let alone = self.scenario(&[""], false, &[("slice", "2s"), ("min_time", "4s")])?;
        let rate = || {
            let dir = self.measure(&alone)?;
            let found = report::findings(&dir, &ReportArgs::NONE)?;
            found.workloads[0].rows[0].iops.value().context("the run gave no rate")
        };
        let rates = [rate()?, rate()?];
        say(&compare_rates(rates, width))?;
        let pair = self.scenario(&["", " | null"], false, &[("budget", "20s")])?;
        let dir = self.measure(&pair)?;
        say(&ruler(&report::findings(&dir, &ReportArgs::NONE)?, width))?;
        dirs.push(dir);
        Ok(())
    }

    /// Prints part (c): the bill of a stack with a random delay on top, and whether the bill shows
    /// it.
    fn hidden_delay(&self, dirs: &mut Vec<PathBuf>, width: usize) -> Result<()> {
        let settings = [("budget", "30s")];
        let lacking =
            survey::unmet_needs(&self.scenario(&[" | loop | fs(xfs)"], true, &settings)?);
        let layers = if lacking.is_empty() { " | loop | fs(xfs)" } else { "" };
        say(&part_heading(&format!(
            "(c) The bill of file{layers}, with a delay hidden on top of it"
        )))?;
        if let Some(missing) = lacking.first() {
            say(&part_line(
                &format!("without loop and xfs: {} ({})", missing.what, missing.command),
                width,
            ))?;
        }
        let hidden = hidden_cost()?;
        let stack = format!("{layers} | delay(percent={:.4})", 100.0 * hidden / (1.0 - hidden));
        let scenario = self.scenario(&[&stack], true, &settings)?;
        let dir = self.measure(&scenario)?;
        say_in_colour(&billed(&report::findings(&dir, &ReportArgs::NONE)?, hidden, width)?)?;
        // The page begins with the bill.
        dirs.insert(0, dir);
        Ok(())
    }

    /// Prints part (d): a guest compared with the file below it, or why it was not measured.
    fn guest(&self, dirs: &mut Vec<PathBuf>, width: usize) -> Result<()> {
        say(&part_heading("(d) A guest (QEMU, virtio-blk) against the file below it"))?;
        let scenario = self.scenario(&["", " | vm(memory=256MiB)"], false, &[("budget", "15s")])?;
        if let Some(missing) = survey::unmet_needs(&scenario).first() {
            return say(&part_line(
                &format!("not measured: {} ({})", missing.what, missing.command),
                width,
            ));
        }
        match self.measure(&scenario) {
            Ok(dir) => {
                say(&verdicts(&report::findings(&dir, &ReportArgs::NONE)?, width))?;
                dirs.push(dir);
                Ok(())
            }
            // The demo continues without a guest, but not after something that could not be
            // removed.
            Err(error) if code_of(&error) == UNDO_INCOMPLETE => Err(error),
            Err(error) => say(&part_line(&format!("not measured: {error:#}"), width)),
        }
    }

    fn scenario(&self, layers: &[&str], bill: bool, settings: &[(&str, &str)]) -> Result<Scenario> {
        let medium = format!("file:{},size={}MiB,keep=true", self.file.display(), self.bytes / MIB);
        let stacks: Vec<String> = layers.iter().map(|layers| format!("{medium}{layers}")).collect();
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        // A bill would be measured at a second depth, but the demo shows only one thing.
        let words = if bill { vec![("iodepth".to_owned(), "1".to_owned())] } else { Vec::new() };
        let measure = settings.iter().map(own).collect();
        let request = ScenarioRequest { bill, words, measure, ..ScenarioRequest::default() };
        let scenario = from_arguments(&stacks, &request).map_err(Failed::from)?;
        Ok(Scenario { name: Some("demo".to_owned()), ..scenario })
    }

    fn measure(&self, scenario: &Scenario) -> Result<PathBuf> {
        let (dir, result) =
            run::measure(scenario, Vec::new(), self.runs, ProgressPrinter::of_bar())?;
        match result? {
            iotax_measure::session::RunOutcome::Complete => Ok(dir),
            iotax_measure::session::RunOutcome::Interrupted => {
                Err(Failed::measurement("interrupted").into())
            }
        }
    }

    fn dir(&self) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("/")).to_owned()
    }

    fn remove_file(&self) -> Result<()> {
        let Some(marker) = marker::read_marker(&self.file)? else { return Ok(()) };
        match marker::remove_if_ours(&self.file, marker.inode, &marker.run_id)? {
            // Another demo measures it, and removes it at its end.
            Removal::Refused(why) => {
                say(&format!("\nThe file under test was left in place: {why}\n"))
            }
            _ => Ok(()),
        }
    }
}

/// Published page with fio's output and a conclusion from it; the file names its author.
const PUBLISHED: &str = include_str!("../../crates/audit/fixtures/published/passthrough.md");

fn intro(size: &str, dir: &Path, width: usize) -> String {
    let said = "iotax measures what each layer of a storage stack costs, here on a file of";
    hanging_paragraph("", &format!("{said} {size} in {}.", dir.display()), width)
}

/// Returns part (a): a published headline, recomputed from fio's output beside it.
fn published_part(width: usize) -> String {
    const FOLDER: &str = "crates/audit/fixtures/published";
    let page = iotax_audit::page::AuditedPage::new("passthrough.md", PUBLISHED);
    let verdict = iotax_audit::verdict::verdict(&iotax_audit::audit::audit(page));
    part_heading("(a) A headline as it was published, recomputed from fio's output beside it")
        + &part_line(&format!("{}. The findings: iotax audit {FOLDER}", verdict.line), width)
}

/// Returns a line on how far apart two rates of the same stack are.
fn compare_rates(rates: [f64; 2], width: usize) -> String {
    let [first, second] = rates;
    let apart = 100.0 * (second / first - 1.0).abs();
    part_line(
        &format!(
            "{first:.0} and {second:.0} IOPS: {apart:.1} % apart, with nothing changed. iotax on the same pair, in slices:"
        ),
        width,
    )
}

fn ruler(found: &Findings, width: usize) -> String {
    found.ruler.iter().map(|check| part_line(&check.sentence, width)).collect()
}

/// Largest number of lines of the bill's table: more than the demo has layers.
const BILL_LINES: usize = 10;

/// Returns the bill's table, and a line on whether the interval of its last layer contains the
/// hidden cost.
fn billed(found: &Findings, hidden: f64, width: usize) -> Result<String> {
    let bill = found.workloads[0].bill.as_ref().context("the run gave no bill")?;
    let last = bill.lines.last().context("the bill has no line")?;
    let page = PageContext { width, ..output::page() };
    let table = answer::informative_table(found, BILL_LINES, &page);
    Ok(table.trim_start_matches('\n').to_owned() + &part_line(&hit(&last.ratio, hidden), width))
}

fn hit(last: &MeasuredFigure, hidden: f64) -> String {
    let Some((ratio, (low, high))) = known_interval(last) else {
        return "The delay's line has no interval: the machine was too noisy for the time given."
            .to_owned();
    };
    let percent = |ratio: f64| 100.0 * (1.0 - ratio);
    let word = match ((low..=high).contains(&(1.0 - hidden)), (low..=high).contains(&1.0)) {
        (true, false) => "the interval contains it",
        (true, true) => "consistent, but too noisy to detect it",
        (false, _) => "outside the interval, as one in twenty is",
    };
    format!(
        "The hidden delay costs {:.1} % of the rate. iotax measured {:.1} % ({:.1} to {:.1} %): {word}.",
        100.0 * hidden,
        percent(ratio),
        percent(high),
        percent(low)
    )
}

/// Returns the conclusions, and once the reason why they are not representative, if a processor is
/// emulated.
fn verdicts(found: &Findings, width: usize) -> String {
    let comparisons = &found.workloads[0].comparisons;
    let said = comparisons
        .iter()
        .map(|one: &Comparison| part_line(&one.rate.sentence, width))
        .collect::<String>();
    let emulated = found.emulated.first().map(|why| part_line(&format!("~ {why}"), width));
    said + &emulated.unwrap_or_default()
}

/// Returns part (e): what this machine lacks to measure more.
fn lacking_part(summary: &str, width: usize) -> String {
    part_heading("(e) What is missing here")
        + &part_line(&format!("{summary}; the commands that install it: iotax doctor -v"), width)
}

/// Returns a command for the user's own disk, if there is one, and the path of the page.
fn closing(command: &Result<String, String>, page: &Path) -> String {
    let next = command.as_ref().map_or(String::new(), |command| {
        format!("Next, with a folder on your own disk in the path:\n    {command}\n")
    });
    format!("\n{next}The report: {}\n", page.display())
}

fn part_heading(text: &str) -> String {
    format!("\n{text}\n")
}

fn part_line(text: &str, width: usize) -> String {
    hanging_paragraph("    ", text, width)
}

fn known_interval(figure: &MeasuredFigure) -> Option<(f64, (f64, f64))> {
    Some((figure.value()?, figure.bounds()?))
}

/// Returns a random cost of 4 to 20 % of the rate. It becomes a share of each I/O's own time, not a
/// number of microseconds: a disk that idles in between answers the next I/O later, which would add
/// to it (docs/decisions/known-delay.md).
fn hidden_cost() -> Result<f64> {
    let mut byte = [0u8; 1];
    rustix::rand::getrandom(&mut byte, rustix::rand::GetRandomFlags::empty())?;
    Ok(0.04 + 0.16 * f64::from(byte[0]) / 255.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_analysis::{findings, twin};

    /// Lines that the shell script takes.
    const AROUND: usize = 2;

    #[test]
    fn the_whole_demo_is_forty_lines() {
        for width in [80, 160] {
            let summary = "21 modules of the kernel, 5 programs, kvm, spdk, lab-image, iommu, ovmf, qemu-io_uring";
            let parts = [
                intro("1 GiB", Path::new("/var/tmp"), width),
                published_part(width),
                part_heading("(b)")
                    + &compare_rates([20_004.0, 19_240.0], width)
                    + &ruler(&findings(&twin::a_against_a()), width),
                part_heading("(c)") + &billed(&findings(&twin::bill()), 0.1, width).unwrap(),
                part_heading("(d)") + &verdicts(&findings(&twin::guest()), width),
                lacking_part(summary, width),
                closing(&Ok("iotax run --bill ...".into()), Path::new("/x/report.html")),
            ];
            let text = parts.concat();
            println!("{text}");
            assert!(text.lines().count() + AROUND <= 40, "{} lines\n{text}", text.lines().count());
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let slip = "3 do not hold: write: IOPS 26.0k, not 25.0k";
            assert!(flat.contains(slip), "{text}");
            assert!(
                text.contains("Check of the ruler: ") && text.contains("iotax measured 9.8 %"),
                "{text}"
            );
        }
    }
}
