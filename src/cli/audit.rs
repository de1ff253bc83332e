//! `iotax audit`: recomputes the pages that others publish. Pages are read, audited and released
//! one after the other. The exit code is 1 if a finding is as bad as `--fail-on` says, so that a
//! pipeline can act on it.

mod drafts;
mod pages;

use super::output::{columns, hanging_paragraph, look, say, say_aside};
use super::report::{Destination, NamedForm, folder_of, may_write_in, write_as};
use anyhow::Result;
use clap::builder::PossibleValuesParser;
use drafts::DraftFile;
use iotax_audit::audit::audit_by;
use iotax_audit::rule;
use iotax_model::scenario::error::nearest;
use iotax_report_audit::claims::{ENDINGS, List};
use iotax_report_audit::{ALL, Audit, Severity, Skipped, View, by_name, digest, escape_line};
use iotax_units::exit::{BAD_INPUT, DONE, FINDING, Failed, contained};
use pages::{Content, STANDARD_INPUT};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Arguments of `audit`.
#[derive(clap::Args)]
pub struct Args {
    /// Files, folders with all that is in them, or `-` for standard input [default: what is piped
    /// in]
    #[arg(value_name = "PAGE")]
    page: Vec<PathBuf>,
    /// terminal, markdown, html, sarif or json [default: by the extension of the output file, else
    /// terminal]
    #[arg(long, hide_possible_values = true, value_parser = one_of_words(ALL.iter().map(|renderer| renderer.name)))]
    format: Option<String>,
    #[command(flatten)]
    to: Destination,
    /// Exit with code 1 when a finding is as bad or worse: wrong-conclusion, wrong-figure,
    /// ambiguous, cosmetic or never
    #[arg(long, value_name = "SEVERITY", default_value = "wrong-figure", hide_possible_values = true,
        value_parser = one_of_words(severities().chain(["never"])))]
    fail_on: String,
    /// In the terminal: every finding with its lines and arithmetic; without it at most 20 lines
    #[arg(long, short)]
    verbose: bool,
    /// The least severity that the terminal and Markdown show [default: ambiguous; cosmetic with -v
    /// and in files]
    #[arg(long, value_name = "SEVERITY", hide_possible_values = true, value_parser = one_of_words(severities()))]
    show: Option<String>,
    /// Only what these rules say: T1,F4
    #[arg(long, value_name = "RULE,..", value_delimiter = ',', conflicts_with = "without", value_parser = known_rule)]
    only: Vec<&'static str>,
    /// All but what these rules say
    #[arg(long, value_name = "RULE,..", value_delimiter = ',', value_parser = known_rule)]
    without: Vec<&'static str>,
    /// Every figure with its status and why, into a file of .csv or .json
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
    /// Draft a scenario from the page: stacks, loads and published figures, into a new file of .toml
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// List the rules: what each holds, and when it is silent
    #[arg(long)]
    rules: bool,
}

/// Returns a parser that accepts only these words; for any other, clap suggests the closest.
fn one_of_words(words: impl Iterator<Item = &'static str>) -> PossibleValuesParser {
    PossibleValuesParser::new(words)
}

fn severities() -> impl Iterator<Item = &'static str> {
    Severity::ALL.into_iter().map(Severity::severity_word)
}

fn severity(word: &str) -> Option<Severity> {
    Severity::ALL.into_iter().find(|severity| severity.severity_word() == word)
}

fn known_rule(word: &str) -> Result<&'static str, String> {
    let known: Vec<&'static str> = rule::all_rules().iter().map(|rule| rule.id).collect();
    let found = known.iter().find(|id| id.eq_ignore_ascii_case(word.trim())).copied();
    found.ok_or_else(|| {
        let near = nearest(word, &known)
            .map(|near| format!("did you mean \"{near}\"? "))
            .unwrap_or_default();
        format!("{near}hint: iotax audit --rules lists them")
    })
}

/// Audits the named pages, or lists the rules. Returns the exit code. A page that cannot be read is
/// reported, and the others are audited all the same; then the exit code is that of bad input.
///
/// # Errors
/// Bad input: no page is named and nothing is piped in, a format or ending is unknown, or an output
/// file is one of the pages or cannot be written.
pub fn run(args: &Args) -> Result<u8> {
    if args.rules {
        say(&list_rules(args, columns()))?;
        return Ok(DONE);
    }
    let forms: Vec<NamedForm> =
        ALL.iter().map(|renderer| (renderer.name, renderer.endings)).collect();
    args.to.check_among(args.format.as_deref(), &forms)?;
    let name =
        args.format.as_deref().or_else(|| args.to.format_among(&forms)).unwrap_or("terminal");
    let renderer =
        by_name(name).ok_or_else(|| Failed::input(format!("unknown format \"{name}\"")))?;
    let as_json = args.claims.as_deref().map(claims_as_json).transpose()?;
    let sources = sources(&args.page, std::io::stdin().is_terminal())?;
    let written: Vec<&Path> = args.to.file().into_iter().chain(args.claims.as_deref()).collect();
    refuse_overwriting(&sources, &written)?;
    let mut drafts =
        args.scenario.as_deref().map(|file| DraftFile::new(file, &sources)).transpose()?;
    let mut audit = Audit::default();
    if let Some((file, json)) = args.claims.as_deref().zip(as_json) {
        write_as(file, &mut |out| {
            let mut list = List::begin(out, json)?;
            audit_pages(args, &sources, Some(&mut list), drafts.as_mut(), &mut audit)?;
            list.end_list()
        })?;
        say_aside(&format!("written: {}", file.display()));
    } else {
        audit_pages(args, &sources, None, drafts.as_mut(), &mut audit)?;
    }
    let view = view(args);
    let text = (renderer.render)(&audit, &view);
    args.to.write_text(&text)?;
    drafts.map(|drafts| drafts.write_drafts()).transpose()?;
    let fails =
        audit.worst().zip(severity(&args.fail_on)).is_some_and(|(worst, bound)| worst <= bound);
    // If nothing was audited at all, nothing was found to be sound.
    let audited = audit.refused.is_empty() && !audit.documents.is_empty();
    Ok(match (audited, fails) {
        (false, _) => BAD_INPUT,
        (true, true) => FINDING,
        (true, false) => DONE,
    })
}

fn view(args: &Args) -> View {
    let to_file = args.to.file().is_some();
    let colour = !to_file && look().colour;
    // A file is read later and by others, so it has everything.
    let verbose = args.verbose || to_file;
    let least = if verbose { Severity::Cosmetic } else { Severity::Ambiguous };
    let show = args.show.as_deref().and_then(severity).unwrap_or(least);
    View { width: columns(), colour, verbose, show }
}

/// Returns true if the file of `--claims` is JSON by its ending, false if it is CSV. Refuses other
/// endings, and a folder that cannot be written.
fn claims_as_json(path: &Path) -> Result<bool> {
    let refused = |why: String| Failed::input(format!("--claims {}: {why}", path.display()));
    let ending =
        path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    if !ENDINGS.contains(&ending.as_str()) {
        return Err(
            refused(format!("its ending is its form; known are {}", ENDINGS.join(", "))).into()
        );
    }
    may_write_in(folder_of(path)).map_err(refused)?;
    Ok(ending == "json")
}

/// Returns the named sources in their order, or standard input if none is named. Refuses standard
/// input that is a terminal (`typed`), and `-` twice.
fn sources(named: &[PathBuf], typed: bool) -> Result<Vec<PathBuf>> {
    let stdin = named.iter().filter(|page| page.as_os_str() == STANDARD_INPUT).count();
    match named {
        [] if typed => Err(Failed::input(
            "audit: no page is named; hint: iotax audit FILE, or pipe one in: fio job.fio | iotax audit",
        )
        .into()),
        [] => Ok(vec![STANDARD_INPUT.into()]),
        _ if stdin > 1 => {
            Err(Failed::input("audit: - is named twice; standard input can be read once").into())
        }
        named => Ok(named.to_vec()),
    }
}

fn refuse_overwriting(sources: &[PathBuf], written: &[&Path]) -> Result<()> {
    // A file that does not exist yet is nobody's page.
    for (file, own) in written.iter().filter_map(|file| Some((file, file.canonicalize().ok()?))) {
        let whole =
            |named: &PathBuf| Some((named.display().to_string(), named.canonicalize().ok()?));
        let mut pages = sources.iter().filter_map(whole);
        let Some((named, page)) = pages.find(|(_, page)| own.starts_with(page)) else { continue };
        let file = file.display();
        let why = match page == own {
            true => {
                format!("{file} is the page that is to be audited; hint: write to another file")
            }
            false => {
                format!("{file} is one of the pages in {named}; hint: write outside of that folder")
            }
        };
        return Err(Failed::input(why).into());
    }
    Ok(())
}

/// Audits the pages of all sources and collects the results in `audit`. Writes the figures of each
/// page to `list`, if there is one, whose errors are the only ones, and drafts a scenario from it.
fn audit_pages(
    args: &Args,
    sources: &[PathBuf],
    mut list: Option<&mut List>,
    mut drafts: Option<&mut DraftFile>,
    audit: &mut Audit,
) -> std::io::Result<()> {
    let asked = |id: &str| args.asks(id);
    pages::each(sources, &mut |name, content| {
        match content {
            Content::Page(page) => match contained(|| audit_by(page, &asked)) {
                Ok(audited) => {
                    list.as_deref_mut().map(|list| list.page(&audited)).transpose()?;
                    drafts.iter_mut().for_each(|drafts| drafts.take_page(&audited));
                    audit.documents.push(digest(audited));
                }
                Err(why) => refuse(name, why, audit),
            },
            Content::NoPage(why) => {
                say_aside(&format!("skipped: {}: {why}", escape_line(name)));
                audit.skipped.push(Skipped { name: name.to_owned(), why });
            }
            Content::Refused(why) => refuse(name, why, audit),
        }
        Ok(())
    })
}

/// Reports and records a page that cannot be opened or audited. The others are audited all the
/// same.
fn refuse(name: &str, why: String, audit: &mut Audit) {
    say_aside(&format!("iotax: {}: {}", escape_line(name), escape_line(&why)));
    audit.refused.push(Skipped { name: name.to_owned(), why });
}

impl Args {
    fn asks(&self, id: &str) -> bool {
        (self.only.is_empty() || self.only.contains(&id)) && !self.without.contains(&id)
    }
}

/// Returns a paragraph for each rule that --only and --without leave, at most `width` columns wide.
fn list_rules(args: &Args, width: usize) -> String {
    let mut out = String::new();
    for rule in rule::all_rules().iter().filter(|rule| args.asks(rule.id)) {
        let head = format!("{} ({})", rule.name, rule.severity.severity_word());
        out += &hanging_paragraph(&format!("{:5}", rule.id), &head, width);
        out += &hanging_paragraph("     holds:  ", rule.holds, width);
        out += &hanging_paragraph("     silent: ", rule.silent, width);
        out += "\n";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_known_by_their_ids_and_standard_input_is_read_once() {
        assert!(known_rule("no such rule").unwrap_err().contains("iotax audit --rules"));
        assert!(
            rule::all_rules().iter().all(|rule| known_rule(&rule.id.to_lowercase()) == Ok(rule.id))
        );
        assert!(sources(&[], true).unwrap_err().to_string().contains("hint: iotax audit FILE"));
        assert_eq!(sources(&[], false).unwrap(), [Path::new("-")]);
        assert_eq!(sources(&["-".into()], true).unwrap(), [Path::new("-")]);
        assert!(sources(&["-".into(), "-".into()], false).is_err());
    }
}
