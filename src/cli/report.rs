//! `iotax report`: stored runs in any form. It uses the record alone, so the run may still be
//! going, may have been killed, or may have been measured elsewhere.

use super::output::{page, say_aside, say_bytes, say_in_colour, typed};
use super::ratings;
use super::report_table::print_tables;
use anyhow::{Context, Result};
use iotax_analysis::{self as bill, Findings, RunData};
use iotax_export::{self as export, ExportedRun};
use iotax_model::scenario::error::Origin;
use iotax_model::scenario::{measure, slo};
use iotax_report::{self as report, PageContext, ReportPlaces, TerminalLook};
use iotax_store::{self as store, OpenedRun, RunLock};
use iotax_units::exit::{DONE, Failed};
use iotax_units::harmless::lines;
use iotax_units::shell;
use std::fs::{File, Permissions};
use std::io::{IsTerminal, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Arguments of `report`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Runs: ids or parts of them, names, folders, packed files (x.iotax), `last` or `last~1`
    #[arg(value_name = "RUN", default_value = "last")]
    run: Vec<String>,
    /// Only a table: one of the scenario by its name, or those of a TOML file (docs/tables.md).
    /// Several runs give one table its figures
    #[arg(long, value_name = "NAME|FILE")]
    table: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    given: ReportArgs,
}

const EXAMPLES: &str = "\
Examples:
  iotax report last~1 -v
  iotax report nightly -o nightly.html
  iotax report last --table e0 -o table.md
  iotax report last -o carried.iotax       the run itself, in one file for another machine
  iotax report carried.iotax";

/// Settings of a report that override those of the run's record.
#[derive(clap::Args, Clone, Debug, Default)]
#[group(skip)]
pub struct ReportArgs {
    #[command(flatten)]
    ratings: ratings::GivenRatings,
    /// Latency percentiles to show in addition to p50, p99 and p99.9, instead of those of the
    /// scenario: p99.95,p90
    #[arg(long, value_name = "P,...")]
    percentiles: Option<String>,
    /// Latency that every stack must keep, instead of those of the scenario: "p99 < 500us". Repeat
    /// for more
    #[arg(long, value_name = "LEVEL")]
    slo: Vec<String>,
}

impl ReportArgs {
    pub const NONE: ReportArgs =
        ReportArgs { ratings: ratings::GivenRatings::NONE, percentiles: None, slo: Vec::new() };
}

/// Arguments for the format of a report and its destination.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct OutputArgs {
    /// terminal, markdown, html, json, csv, xlsx, slices, parquet, sqlite, postgres, junit,
    /// ci-summary, github-bigger, github-smaller, bencher, benchstat, openmetrics, or iotax (the
    /// run itself, packed) [default: by the extension of the output file, else terminal]
    #[arg(long, value_parser = known_format)]
    format: Option<String>,
    /// On a terminal: every figure, reason, warning and limit; without it the verdicts and one
    /// table, at most 25 lines
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    to: Destination,
}

/// Format of a whole run in one file.
const PACKED: &str = "iotax";
const PACKED_FORM: NamedForm = (PACKED, &[store::EXTENSION]);

/// Name of a format of output, and the extensions of its files.
pub type NamedForm = (&'static str, &'static [&'static str]);

fn forms() -> Vec<NamedForm> {
    let reports = report::ALL.iter().map(|renderer| (renderer.name, renderer.endings));
    let exports = export::ALL.iter().map(|exporter| (exporter.name, exporter.endings));
    reports.chain(exports).chain([PACKED_FORM]).collect()
}

/// Destination of a text: a file, or standard output.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Destination {
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn known_format(word: &str) -> Result<String, String> {
    known_word(word, forms().into_iter().map(|(name, _)| name))
}

/// Returns the word if it is one of these names of formats.
///
/// # Errors
/// Lists the names.
pub fn known_word<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Result<String, String> {
    let names: Vec<&str> = names.collect();
    match names.contains(&word) {
        true => Ok(word.to_owned()),
        false => Err(format!("known are {}", names.join(", "))),
    }
}

/// Prints the reports of the runs, or writes them to the file that was named.
///
/// # Errors
/// A run does not exist or cannot be read, a given setting is invalid, or the output cannot be
/// written.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    let opened: Vec<OpenedRun> = args
        .run
        .iter()
        .map(|name| Ok(store::open_run(runs, name).map_err(Failed::from)?))
        .collect::<Result<_>>()?;
    args.output.check_destination()?;
    if let Some(word) = &args.table {
        print_tables(word, &opened, &args.output, &args.given)?;
        return Ok(DONE);
    }
    if args.output.format() == PACKED {
        check_packable(&opened, &args.given)?;
        if args.output.to.file().is_none() && std::io::stdout().is_terminal() {
            let why = "a packed run is no text for a terminal; hint: -o run.iotax";
            return Err(Failed::input(why).into());
        }
    }
    args.output.write_report(&opened, &page(), &args.given)?;
    Ok(DONE)
}

/// Checks that a run can be packed: it is one, as it was measured, and does not grow meanwhile.
fn check_packable(runs: &[OpenedRun], given: &ReportArgs) -> Result<()> {
    let why = match runs {
        [run] if RunLock::is_held(run.folder()) => {
            "the run is still running; hint: wait for its end"
        }
        [_] if !given.slo.is_empty() || given.percentiles.is_some() || given.ratings.is_given() => {
            "a packed run is as it was measured; hint: give the options to the report of the packed run"
        }
        [_] => return Ok(()),
        _ => "a packed file holds one run; hint: one command for each run",
    };
    Err(Failed::input(format!("--format {PACKED}: {why}")).into())
}

/// Prints the report of a run that has just ended, or writes it to the file that was named. Beside
/// an answer on the terminal, leaves the page in the folder of the run.
///
/// # Errors
/// The run cannot be read, or the output cannot be written.
pub fn print(dir: &Path, output: &OutputArgs) -> Result<()> {
    let dirs = &[dir.to_owned()];
    if output.is_brief() {
        let html = render_runs(dirs, "html", &page(), &ReportArgs::NONE)?;
        // The report on the terminal does not depend on it.
        let html = lines(&html);
        let mut fill = |out: &mut dyn Write| out.write_all(html.as_bytes());
        let private = Permissions::from_mode(0o600);
        if let Err(error) = replace(&dir.join(PAGE), &mut fill, private) {
            say_aside(&format!("iotax: cannot write the page {PAGE}: {error}"));
        }
    }
    output.write_report(&[OpenedRun::from(dir.to_owned())], &page(), &ReportArgs::NONE)
}

impl OutputArgs {
    /// Returns the name of the format: the given one, else the one that the output file's extension
    /// means, else `terminal`.
    pub fn format(&self) -> &str {
        self.format.as_deref().or_else(|| self.to.format()).unwrap_or("terminal")
    }

    /// Returns true for a brief report: one in the terminal's format, on standard output, without
    /// --verbose. A file is read later and by others, so it has everything.
    fn is_brief(&self) -> bool {
        self.format() == "terminal" && !self.verbose && self.to.file().is_none()
    }

    fn write_report(
        &self,
        runs: &[OpenedRun],
        page: &PageContext,
        given: &ReportArgs,
    ) -> Result<()> {
        let dirs: Vec<PathBuf> = runs.iter().map(|run| run.folder().to_owned()).collect();
        if self.format() == PACKED {
            let one = |out: &mut dyn Write| {
                dirs.iter().try_for_each(|folder| store::pack_run(folder, out))
            };
            return self.to.write_bytes(&one);
        }
        if let Some(exporter) = export::by_name(self.format()) {
            let stored = stored(&dirs, given)?;
            return self.to.write_bytes(&|out| (exporter.write)(&stored, out));
        }
        let page = &self.fitting_page(page);
        self.to.write_text(&match self.is_brief() {
            true => brief(runs, page, given)?,
            false => render_runs(&dirs, self.format(), page, given)?,
        })
    }

    /// Returns the properties of the destination: a file is read later and by others, and is not
    /// a terminal.
    fn fitting_page(&self, page: &PageContext) -> PageContext {
        let look = TerminalLook { colour: false, ..page.look };
        if self.to.file().is_some() { PageContext { look, ..*page } } else { *page }
    }

    /// Prints a text made for the destination, or writes it to the file that was named.
    ///
    /// # Errors
    /// The file or standard output cannot be written.
    pub fn write_page(
        &self,
        page: &PageContext,
        render: &dyn Fn(&PageContext) -> String,
    ) -> Result<()> {
        self.to.write_text(&render(&self.fitting_page(page)))
    }

    /// Writes bytes to the file that was named, or to standard output.
    ///
    /// # Errors
    /// The file or standard output cannot be written.
    pub fn write_bytes(&self, fill: &dyn Fn(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
        self.to.write_bytes(fill)
    }

    pub fn check_destination(&self) -> Result<()> {
        self.to.check_for_report(self.format.as_deref())
    }
}

impl Destination {
    /// Prints the text, or writes it to the file that was named.
    ///
    /// # Errors
    /// The file or standard output cannot be written.
    pub fn write_text(&self, text: &str) -> Result<()> {
        match self.file() {
            None => say_in_colour(text),
            Some(path) => {
                write_whole(path, &lines(text))?;
                say_aside(&format!("written: {}", path.display()));
                Ok(())
            }
        }
    }

    /// Writes an export to the file that was named, or to standard output.
    ///
    /// # Errors
    /// The file or standard output cannot be written.
    pub fn write_bytes(&self, fill: &dyn Fn(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
        let Some(path) = self.file() else { return say_bytes(&mut |out| fill(out)) };
        write_as(path, &mut |out| fill(out))?;
        say_aside(&format!("written: {}", path.display()));
        Ok(())
    }

    /// Returns the format of a report that the output file's extension means; `None` without a file
    /// or for an unknown extension.
    pub fn format(&self) -> Option<&'static str> {
        self.format_among(&forms())
    }

    /// Returns the one of these formats that the output file's extension means; `None` without a
    /// file or for an unknown extension.
    pub fn format_among(&self, forms: &[NamedForm]) -> Option<&'static str> {
        let name = self.file()?.file_name()?.to_string_lossy().to_lowercase();
        // Of "x.slices.csv" the longer extension counts.
        let longest = |endings: &[&str]| {
            let known = endings.iter().filter(|ending| name.ends_with(&format!(".{ending}")));
            known.map(|ending| ending.len()).max().unwrap_or(0)
        };
        let best = forms.iter().max_by_key(|(_, endings)| longest(endings));
        best.filter(|(_, endings)| longest(endings) > 0).map(|(name, _)| *name)
    }

    /// Returns the output file's extension in lower case; `None` if the file or its name has none.
    fn ending(&self) -> Option<String> {
        Some(self.file()?.extension()?.to_string_lossy().to_lowercase())
    }

    /// Checks that the output file's extension, if it has one, belongs to one of these formats:
    /// nobody wants a terminal's text in a file called x.pdf.
    fn check_ending(&self, forms: &[NamedForm]) -> Result<(), String> {
        match self.ending() {
            Some(ending) if self.format_among(forms).is_none() => {
                let known: Vec<&str> =
                    forms.iter().filter_map(|(_, endings)| endings.first().copied()).collect();
                Err(format!(
                    "unknown ending \"{ending}\"; known are {}; hint: another ending, or name the \
                     form with --format",
                    known.join(", ")
                ))
            }
            _ => Ok(()),
        }
    }

    /// Returns the output file; `None` for standard output, which `-` means too.
    pub fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }

    /// Checks before a long measurement that the report can be written at its end. `format` is the
    /// given format; without it the file's extension must mean one.
    ///
    /// # Errors
    /// Bad input: the output file is a block device or a folder, its folder does not exist or
    /// cannot be written, or its extension belongs to no format.
    pub fn check_for_report(&self, format: Option<&str>) -> Result<()> {
        self.check_among(format, &forms())
    }

    /// Checks the output file as [`Destination::check_for_report`] does, but for these formats.
    ///
    /// # Errors
    /// Fails as [`Destination::check_for_report`] does.
    pub fn check_among(&self, format: Option<&str>, forms: &[NamedForm]) -> Result<()> {
        let Some(path) = self.file() else { return Ok(()) };
        let refuse = |why: String| -> Result<()> {
            Err(Failed::input(format!("--output {}: {why}", path.display())).into())
        };
        match std::fs::metadata(path).map(|meta| meta.file_type()) {
            Ok(kind) if kind.is_block_device() => {
                refuse("it is a block device, and a report is a file".into())
            }
            Ok(kind) if kind.is_dir() => refuse("it is a folder; hint: name a file in it".into()),
            Ok(kind) if !kind.is_file() => Ok(()),
            _ => match format.map_or_else(|| self.check_ending(forms), |_| Ok(())) {
                Ok(()) => may_write_in(folder_of(path)).or_else(refuse),
                Err(why) => refuse(why),
            },
        }
    }
}

/// Checks that a file can be created in a folder, by creating a temporary one.
///
/// # Errors
/// Says why it cannot.
pub(super) fn may_write_in(folder: &Path) -> Result<(), String> {
    match tempfile::NamedTempFile::new_in(folder) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(format!(
            "there is no folder {}; hint: mkdir -p {}",
            folder.display(),
            shell::path(folder)
        )),
        Err(error) => Err(format!("cannot write in {}: {}", folder.display(), error.kind())),
    }
}

/// Returns the findings of a stored run, with the given settings in place of its own.
///
/// # Errors
/// The run or a file of ratings cannot be read, or a given rating, percentile or service level is
/// invalid.
pub fn findings(dir: &Path, given: &ReportArgs) -> Result<Findings> {
    Ok(bill::findings(&loaded(dir, given)?))
}

/// Reads a stored run, with the given settings in place of its own. Fails as [`findings`] does.
fn loaded(dir: &Path, given: &ReportArgs) -> Result<RunData> {
    let mut run = store::load_run(dir).map_err(Failed::from)?;
    run.ratings = given.ratings.override_ratings(&run.ratings)?;
    if let Some(list) = &given.percentiles {
        measure::set_measure_key(&mut run.start.scenario.measure, measure::PERCENTILES, list)
            .map_err(|fault| {
                Failed::from(Origin::command_line().error_at_key("--percentiles", fault))
            })?;
    }
    if !given.slo.is_empty() {
        let scenario = &mut run.start.scenario;
        scenario.measure.slo = slo::parse_list(&given.slo.join(","))
            .and_then(|levels| slo::check_levels(&levels, &scenario.workloads).map(|()| levels))
            .map_err(|fault| Failed::from(Origin::command_line().error_at_key("--slo", fault)))?;
    }
    Ok(run)
}

/// Returns the runs in these folders with their findings. Fails as [`findings`] does.
fn stored(dirs: &[PathBuf], given: &ReportArgs) -> Result<Vec<ExportedRun>> {
    let one = |dir: &PathBuf| {
        let data = loaded(dir, given)?;
        let findings = bill::findings(&data);
        Ok(ExportedRun { data, findings })
    };
    dirs.iter().map(one).collect()
}

/// Returns opened runs with their findings.
///
/// # Errors
/// Fails as [`findings`] does.
pub fn stored_runs(opened: &[OpenedRun], given: &ReportArgs) -> Result<Vec<ExportedRun>> {
    let dirs: Vec<PathBuf> = opened.iter().map(|run| run.folder().to_owned()).collect();
    stored(&dirs, given)
}

/// Renders the runs in these folders in one format.
///
/// # Errors
/// The format is unknown, or [`findings`] fails for a run.
pub fn render_runs(
    dirs: &[PathBuf],
    format: &str,
    page: &PageContext,
    given: &ReportArgs,
) -> Result<String> {
    let renderer = report::by_name(format)
        .ok_or_else(|| Failed::input(format!("unknown format \"{format}\"")))?;
    Ok((renderer.render)(&audited(dirs, given)?, page))
}

/// Name of the page that `run` leaves in the folder of the run.
const PAGE: &str = "report.html";

fn brief(runs: &[OpenedRun], page: &PageContext, given: &ReportArgs) -> Result<String> {
    let dirs: Vec<PathBuf> = runs.iter().map(|run| run.folder().to_owned()).collect();
    let one = |(run, found): (&OpenedRun, &Findings)| {
        let command = match run.packed_file() {
            Some(file) => format!("iotax report {}", shell::path(file)),
            None => typed("report", run.folder()),
        };
        let path = run.folder().join(PAGE);
        let is_kept = run.packed_file().is_none() && path.is_file();
        let elsewhere = ReportPlaces { command: &command, page: is_kept.then_some(path.as_path()) };
        report::brief(found, &elsewhere, page)
    };
    Ok(runs.iter().zip(&audited(&dirs, given)?).map(one).collect::<Vec<_>>().join("\n"))
}

/// Returns the findings of the runs. Checks them by the rules of `iotax audit`, and prints what
/// does not hold as a fault of iotax.
fn audited(dirs: &[PathBuf], given: &ReportArgs) -> Result<Vec<Findings>> {
    let findings: Vec<Findings> =
        dirs.iter().map(|dir| findings(dir, given)).collect::<Result<_>>()?;
    for doubt in iotax_report_audit::own_audit::doubts(&findings) {
        say_aside(&format!(
            "iotax: this report does not pass the audit of iotax itself, which is a fault of iotax: {doubt}"
        ));
    }
    Ok(findings)
}

/// Writes the whole file or none: a full disk leaves no half page. A pipe or a terminal is written
/// to directly, a link leads to its file, and an existing file keeps its mode.
fn write_whole(path: &Path, text: &str) -> Result<()> {
    write_as(path, &mut |out| out.write_all(text.as_bytes()))
}

/// Writes a file piece by piece, otherwise as [`write_whole`] does.
///
/// # Errors
/// Fails if `fill` fails, or if the file cannot be written.
pub(super) fn write_as(path: &Path, fill: Fill) -> Result<()> {
    let written = match std::fs::metadata(path) {
        Ok(there) if there.file_type().is_block_device() => {
            Err(std::io::Error::other("it is a block device, and a report is a file"))
        }
        Ok(there) if !there.is_file() => File::options()
            .write(true)
            .open(path)
            .and_then(|file| write_buffered(file, fill).map(drop)),
        Ok(there) => path.canonicalize().and_then(|path| replace(&path, fill, there.permissions())),
        Err(_) => replace(path, fill, Permissions::from_mode(0o666 & !umask())),
    };
    written.with_context(|| format!("cannot write {}", path.display()))
}

type Fill<'a> = &'a mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>;

fn write_buffered<W: Write>(file: W, fill: Fill) -> std::io::Result<W> {
    let mut out = std::io::BufWriter::new(file);
    fill(&mut out)?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error)
}

fn replace(path: &Path, fill: Fill, permissions: Permissions) -> std::io::Result<()> {
    let file = write_buffered(tempfile::NamedTempFile::new_in(folder_of(path))?, fill)?;
    file.as_file().set_permissions(permissions)?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the umask of this process, which /proc reports without changing it; 0077 if it cannot be
/// read.
fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let word = status.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap_or("0077");
    u32::from_str_radix(word.trim(), 8).unwrap_or(0o077)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::{MetadataExt, symlink};

    fn to(path: &Path) -> OutputArgs {
        OutputArgs {
            format: None,
            verbose: false,
            to: Destination { output: Some(path.to_owned()) },
        }
    }

    #[test]
    fn a_file_is_replaced_with_its_mode_and_a_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        std::fs::write(&file, "a longer text from before").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        to(&link).check_destination().unwrap();
        write_whole(&link, "new").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o640);
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            2,
            "nothing half done is left"
        );
    }

    #[test]
    fn the_ending_of_the_file_is_its_form_unless_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for (name, form) in [
            ("x.html", "html"),
            ("x.htm", "html"),
            ("x.HTML", "html"),
            ("x.md", "markdown"),
            ("x.json", "json"),
            ("x.slices.csv", "slices"),
            ("x.xlsx", "xlsx"),
            ("x.txt", "terminal"),
            ("x", "terminal"),
        ] {
            let plain = to(&folder.path().join(name));
            assert_eq!(plain.format(), form);
            plain.check_destination().unwrap();
            assert_eq!(OutputArgs { format: Some("csv".into()), ..plain }.format(), "csv");
        }
    }

    #[test]
    fn an_ending_of_no_form_is_refused_unless_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let pdf = to(&folder.path().join("x.pdf"));
        let error = pdf.check_destination().unwrap_err().to_string();
        assert!(
            error.contains(
                "unknown ending \"pdf\"; known are txt, md, html, json, csv, slices.csv, xlsx"
            ),
            "{error}"
        );
        OutputArgs { format: Some("html".into()), ..pdf }.check_destination().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_pipe_stays_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        to(&pipe).check_destination().unwrap();
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || {
                let mut text = String::new();
                File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
                text
            }
        });
        write_whole(&pipe, "through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(pipe.metadata().unwrap().file_type().is_fifo());
    }

    #[test]
    fn what_cannot_be_written_is_known_before_anything_is_measured() {
        let folder = tempfile::tempdir().unwrap();
        let error = |path: &Path| to(path).check_destination().unwrap_err().to_string();
        assert!(error(folder.path()).contains("it is a folder"));
        let none = error(&folder.path().join("none/x.html"));
        assert!(
            none.contains("there is no folder ") && none.contains("; hint: mkdir -p "),
            "{none}"
        );
        to(Path::new("-")).check_destination().unwrap();
        let disk = std::fs::read_dir("/dev")
            .unwrap()
            .flatten()
            .find(|entry| entry.file_type().is_ok_and(|kind| kind.is_block_device()));
        match disk {
            Some(disk) => {
                assert!(error(&disk.path()).contains("block device"));
                // The write itself would refuse it too; nothing is opened.
                let refused = write_whole(&disk.path(), "").unwrap_err();
                assert!(format!("{refused:#}").contains("block device"));
            }
            None => println!("skipped: needs a block device in /dev"),
        }
    }
}
