//! `iotax demo`: the main job on what this machine has, told in five short parts. The first audits
//! what somebody published; every other figure is measured here and now, and the hidden delay is drawn anew each time.

use super::ratings::Given;
use super::{columns, doctor, report, run, say};
use crate::bill::findings::{Comparison, Figure};
use crate::exit::{DONE, Failed, UNDO_INCOMPLETE, code_of};
use crate::guard::marker::{self, Removal};
use crate::measure::survey;
use crate::report::audit;
use crate::scenario::Scenario;
use crate::scenario::check::{Request, from_arguments};
use crate::units::{GIB, MIB, show_bytes};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Arguments of `demo`.
#[derive(clap::Args)]
pub struct Args {
    /// Folder for the file under test, on the disk to be measured
    #[arg(long, default_value = "/var/tmp")]
    dir: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// As `run`.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    let demo = Demo::new(&args.dir, runs)?;
    let told = demo.tell();
    let removed = demo.remove_file();
    told.and(removed)?;
    Ok(DONE)
}

struct Demo<'a> {
    file: PathBuf,
    bytes: u64,
    runs: &'a Path,
}

impl Demo<'_> {
    fn new<'a>(dir: &Path, runs: &'a Path) -> Result<Demo<'a>> {
        // One name: what a killed demo leaves is used and removed by the next.
        let file = dir.join("iotax-demo.img");
        Ok(Demo { file, bytes: GIB, runs })
    }

    fn tell(&self) -> Result<()> {
        say(&format!(
            "iotax tells what every layer of a storage stack charges. This demo measures a file of {} in {}.\n",
            show_bytes(self.bytes),
            self.dir().display()
        ))?;
        published()?;
        let mut dirs = Vec::new();
        self.one_after_the_other(&mut dirs)?;
        self.hidden_delay(&mut dirs)?;
        self.guest(&mut dirs)?;
        say("\n(e) What this machine would need for more\n")?;
        say(&doctor::missing_lines(&self.dir()))?;
        let page = dirs.last().context("nothing was measured")?.join("report.html");
        let html = report::render(&dirs, "html", columns(), &Given::NONE)?;
        std::fs::write(&page, html).with_context(|| format!("cannot write {}", page.display()))?;
        say(&format!("\nThe report: {}\n", page.display()))
    }

    /// (b) Two runs of the same file, and iotax on the same pair.
    fn one_after_the_other(&self, dirs: &mut Vec<PathBuf>) -> Result<()> {
        say("\n(b) The same file twice, 10 s each, one after the other, as people do it by hand\n")?;
        let alone = self.scenario(&[""], false, &[("slice", "5s"), ("min_time", "10s")])?;
        let mut rates = Vec::new();
        for number in 1..=2 {
            let dir = self.measure(&alone)?;
            let rate = report::findings(&dir, &Given::NONE)?.workloads[0].rows[0]
                .iops
                .value()
                .context("the run gave no rate")?;
            say(&format!("    run {number}: {rate:.0} IOPS\n"))?;
            rates.push(rate);
        }
        let apart = (rates[1] / rates[0] - 1.0) * 100.0;
        say(&format!(
            "    They land {:.1} % apart, with nothing changed. iotax on the same pair, in slices:\n",
            apart.abs()
        ))?;
        let pair = self.scenario(
            &["", " | null"],
            false,
            &[("slice", "20ms"), ("min_time", "15s"), ("budget", "60s")],
        )?;
        let dir = self.measure(&pair)?;
        self.tell_verdicts(&dir)?;
        dirs.push(dir);
        Ok(())
    }

    /// (c) A bill with a delay in it that nobody was told.
    fn hidden_delay(&self, dirs: &mut Vec<PathBuf>) -> Result<()> {
        let settings = [("slice", "20ms"), ("min_time", "15s"), ("budget", "60s")];
        let lacking = survey::missing(&self.scenario(&[" | loop | fs(xfs)"], true, &settings)?);
        let layers = if lacking.is_empty() { " | loop | fs(xfs)" } else { "" };
        say(&format!("\n(c) The bill of file{layers}, with a delay hidden on top of it\n"))?;
        for missing in &lacking {
            say(&format!(
                "    without loop and xfs: {} {} ({})\n",
                missing.what, missing.why, missing.command
            ))?;
        }
        let hidden = hidden_cost()?;
        let stack = format!("{layers} | delay(percent={:.4})", 100.0 * hidden / (1.0 - hidden));
        let scenario = self.scenario(&[&stack], true, &settings)?;
        let dir = self.measure(&scenario)?;
        say(&report::render(std::slice::from_ref(&dir), "terminal", columns(), &Given::NONE)?)?;
        self.tell_hidden(&dir, hidden)?;
        dirs.push(dir);
        Ok(())
    }

    fn tell_hidden(&self, dir: &Path, hidden: f64) -> Result<()> {
        let findings = report::findings(dir, &Given::NONE)?;
        let bill = findings.workloads[0].bill.as_ref().context("the run gave no bill")?;
        let line = bill.lines.last().context("the bill has no line")?;
        let Some((ratio, (low, high))) = known(&line.ratio) else {
            return say(
                "    The delay's line has no interval: the machine was too noisy for the time given.\n",
            );
        };
        let percent = |ratio: f64| 100.0 * (1.0 - ratio);
        let word = match (low..=high).contains(&(1.0 - hidden)) {
            true => "inside its interval",
            false => "outside its interval (one in twenty is)",
        };
        say(&format!(
            "    Hidden were {:.1} % of the rate; the bill's last line says {:.1} % [{:.1}, {:.1}]: {word}.\n",
            100.0 * hidden,
            percent(ratio),
            percent(high),
            percent(low)
        ))
    }

    /// (d) A guest over the file; no headline where its processor is emulated.
    fn guest(&self, dirs: &mut Vec<PathBuf>) -> Result<()> {
        say("\n(d) A guest (QEMU, virtio-blk) against the file below it\n")?;
        let scenario = self.scenario(
            &["", " | vm(memory=256MiB)"],
            false,
            &[("slice", "50ms"), ("min_time", "10s"), ("budget", "25s")],
        )?;
        let lacking = survey::missing(&scenario);
        if !lacking.is_empty() {
            return lacking.iter().try_for_each(|missing| {
                say(&format!("    not measured: {} {} ({})\n", missing.what, missing.why, missing.command))
            });
        }
        match self.measure(&scenario) {
            Ok(dir) => {
                self.tell_verdicts(&dir)?;
                dirs.push(dir);
                Ok(())
            }
            // The story goes on without a guest, but not over something that could not be taken down.
            Err(error) if code_of(&error) == UNDO_INCOMPLETE => Err(error),
            Err(error) => say(&format!("    not measured: {error:#}\n")),
        }
    }

    fn tell_verdicts(&self, dir: &Path) -> Result<()> {
        for comparison in &report::findings(dir, &Given::NONE)?.workloads[0].comparisons {
            say(&format!("    {}\n", sentence(comparison)))?;
        }
        Ok(())
    }

    fn scenario(&self, layers: &[&str], bill: bool, settings: &[(&str, &str)]) -> Result<Scenario> {
        let medium = format!("file:{},size={}MiB,keep=true", self.file.display(), self.bytes / MIB);
        let stacks: Vec<String> = layers.iter().map(|layers| format!("{medium}{layers}")).collect();
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        // A bill would be measured at a second depth; the demo has one thing to show.
        let words = if bill { vec![("iodepth".to_owned(), "1".to_owned())] } else { Vec::new() };
        let measure = settings.iter().map(own).collect();
        let request = Request { bill, words, measure, ..Request::default() };
        Ok(from_arguments(&stacks, &request).map_err(Failed::from)?)
    }

    fn measure(&self, scenario: &Scenario) -> Result<PathBuf> {
        let (dir, result) = run::measure(scenario, Vec::new(), self.runs)?;
        match result? {
            crate::measure::session::Outcome::Complete => Ok(dir),
            crate::measure::session::Outcome::Interrupted => Err(Failed::measurement("interrupted").into()),
        }
    }

    fn dir(&self) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("/")).to_owned()
    }

    fn remove_file(&self) -> Result<()> {
        let Some(marker) = marker::read(&self.file)? else { return Ok(()) };
        match marker::remove_if_ours(&self.file, marker.inode, &marker.run_id)? {
            // Another demo measures it, and removes it at its end.
            Removal::Refused(why) => say(&format!("\nThe file under test was left in place: {why}\n")),
            _ => Ok(()),
        }
    }
}

/// fio's output and the conclusion that somebody published; its file says who.
const PUBLISHED: &str = include_str!("../../crates/audit/fixtures/published/passthrough.md");

/// (a) What others publish, recomputed: a headline, and the figure of the tool that it was computed from.
fn published() -> Result<()> {
    say("\n(a) A headline as it was published, with fio's output beside it, recomputed\n\n")?;
    let page = iotax_audit::page::Page::new("crates/audit/fixtures/published/passthrough.md", PUBLISHED);
    let mut audited = iotax_audit::audit::audit(page);
    audited.findings.retain(|finding| matches!(finding.rule, "N2" | "N10"));
    let headline = audited.findings.iter().find(|finding| finding.rule == "N10");
    let headline = headline.context("the published headline was not found")?.clone();
    let renderer = audit::by_name("terminal").context("the terminal has a renderer")?;
    let view = audit::View { width: columns(), colour: false, show: audit::Severity::WrongFigure };
    say(&(renderer.page)(&audit::digest(audited, None), &view, &mut audit::Repeated::default()))?;
    say(&format!(
        "\n    Published: a loss of {}. It is {}. The rest of what does not hold there: iotax audit {}\n",
        headline.printed, headline.recomputed, "crates/audit/fixtures/published"
    ))
}

fn sentence(comparison: &Comparison) -> String {
    match &comparison.emulated {
        Some(why) => format!("{} [{why}]", comparison.sentence),
        None => comparison.sentence.clone(),
    }
}

fn known(figure: &Figure) -> Option<(f64, (f64, f64))> {
    Some((figure.value()?, figure.bounds()?))
}

/// A cost of 4 to 20 %, from the kernel's random numbers. It is a share of each I/O's own time and not
/// so many microseconds: a disk that idles in between answers the next I/O later, which would add to
/// it (docs/decisions/known-delay.md).
fn hidden_cost() -> Result<f64> {
    let mut byte = [0u8; 1];
    rustix::rand::getrandom(&mut byte, rustix::rand::GetRandomFlags::empty())?;
    Ok(0.04 + 0.16 * f64::from(byte[0]) / 255.0)
}
