//! `iotax audit`: the pages that others publish, recomputed. Pages are read, audited, told and let go one after the other; exit
//! code 1 when something is found that is as bad as `--fail-on` says, so that a pipeline can ask.

mod pages;

use super::report::{Destination, Form};
use super::{behind, columns, say, say_aside};
use crate::exit::{BAD_INPUT, DONE, FINDING, Failed};
use crate::report::audit::{ALL, Audit, Renderer, Severity, Skipped, View, by_name, digest, shown};
use crate::scenario::error::nearest;
use anyhow::Result;
use iotax_audit::audit::audit_by;
use iotax_audit::rule;
use pages::{Given, Source};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Arguments of `audit`.
#[derive(clap::Args)]
pub struct Args {
    /// Files, folders with all that is in them, or `-` for standard input [default: what is piped in]
    #[arg(value_name = "PAGE")]
    page: Vec<PathBuf>,
    /// terminal, markdown, html, sarif or json [default: by the ending of the output file, else terminal]
    #[arg(long, value_parser = known_format)]
    format: Option<String>,
    #[command(flatten)]
    to: Destination,
    /// Exit with code 1 when a finding is as bad or worse: wrong-conclusion, wrong-figure, ambiguous, cosmetic or never
    #[arg(long, value_name = "SEVERITY", default_value = "wrong-figure", value_parser = bound)]
    fail_on: Bound,
    /// The least severity that the terminal and Markdown show; the other forms have all
    #[arg(long, value_name = "SEVERITY", default_value = "ambiguous", value_parser = severity)]
    show: Severity,
    /// Only what these rules say: T1,F4
    #[arg(long, value_name = "RULE,..", value_delimiter = ',', conflicts_with = "without", value_parser = known_rule)]
    only: Vec<&'static str>,
    /// All but what these rules say
    #[arg(long, value_name = "RULE,..", value_delimiter = ',', value_parser = known_rule)]
    without: Vec<&'static str>,
    /// List the rules: what each holds, and when it is silent
    #[arg(long)]
    rules: bool,
}

/// `--fail-on`: the least severity that fails; `None` for never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bound(Option<Severity>);

fn bound(word: &str) -> Result<Bound, String> {
    const NEVER: &str = "never";
    match word {
        NEVER => Ok(Bound(None)),
        word => parsed(word, &[NEVER]).map(|severity| Bound(Some(severity))),
    }
}

fn severity(word: &str) -> Result<Severity, String> {
    parsed(word, &[])
}

fn parsed(word: &str, others: &[&'static str]) -> Result<Severity, String> {
    let known: Vec<&str> =
        Severity::ALL.into_iter().map(Severity::word).chain(others.iter().copied()).collect();
    let found = Severity::ALL.into_iter().find(|severity| severity.word() == word);
    found.ok_or_else(|| unknown(word, &known, &format!("known are {}", known.join(", "))))
}

fn known_format(word: &str) -> Result<String, String> {
    let known: Vec<&str> = ALL.iter().map(|renderer| renderer.name).collect();
    let found = known.iter().find(|name| **name == word).map(|name| (*name).to_owned());
    found.ok_or_else(|| format!("known are {}", known.join(", ")))
}

fn known_rule(word: &str) -> Result<&'static str, String> {
    let known: Vec<&'static str> = rule::ALL.iter().map(|rule| rule.id).collect();
    let found = known.iter().find(|id| id.eq_ignore_ascii_case(word.trim())).copied();
    found.ok_or_else(|| unknown(word, &known, "hint: iotax audit --rules lists them"))
}

fn unknown(word: &str, known: &[&str], hint: &str) -> String {
    let near = nearest(word, known).map(|near| format!("did you mean \"{near}\"? ")).unwrap_or_default();
    format!("{near}{hint}")
}

/// Runs the command.
///
/// # Errors
/// Bad input: no page is named and nothing is piped in, or the output cannot be written. A page that cannot be read is told, and
/// the others are audited all the same; then the exit code is that of bad input.
pub fn run(args: &Args) -> Result<u8> {
    if args.rules {
        say(&listed(args, columns()))?;
        return Ok(DONE);
    }
    let forms: Vec<Form> = ALL.iter().map(|renderer| (renderer.name, renderer.endings)).collect();
    args.to.check_among(args.format.as_deref(), &forms)?;
    let name = args.format.as_deref().or_else(|| args.to.format_among(&forms)).unwrap_or("terminal");
    let renderer = by_name(name).ok_or_else(|| Failed::input(format!("unknown format \"{name}\"")))?;
    let sources = sources(&args.page, std::io::stdin().is_terminal())?;
    let teller = Teller { args, renderer, view: view(args), at_once: args.to.file().is_none() };
    let audit = teller.all(&sources)?;
    match teller.at_once {
        true => say(&(renderer.end)(&audit, &teller.view))?,
        false => args.to.write(&renderer.whole(&audit, &teller.view))?,
    }
    let fails = audit.worst().zip(args.fail_on.0).is_some_and(|(worst, bound)| worst <= bound);
    Ok(match (audit.refused.is_empty(), fails) {
        (false, _) => BAD_INPUT,
        (true, true) => FINDING,
        (true, false) => DONE,
    })
}

fn view(args: &Args) -> View {
    // https://no-color.org: any value but an empty one.
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let colour = args.to.file().is_none() && std::io::stdout().is_terminal() && !no_colour && !dumb;
    View { width: columns(), colour, show: args.show }
}

/// What was named, in its order.
fn sources(named: &[PathBuf], typed: bool) -> Result<Vec<Source>> {
    let stdin = Path::new("-");
    match named {
        [] if typed => Err(Failed::input(
            "audit: no page is named; hint: iotax audit FILE, or pipe one in: fio job.fio | iotax audit",
        )
        .into()),
        [] => Ok(vec![Source::StandardInput]),
        named if named.iter().filter(|page| *page == stdin).count() > 1 => {
            Err(Failed::input("audit: - is named twice; standard input can be read once").into())
        }
        named => Ok(named
            .iter()
            .map(|page| if page == stdin { Source::StandardInput } else { Source::Path(page.clone()) })
            .collect()),
    }
}

/// Audits, and tells what it can as soon as it knows.
struct Teller<'a> {
    args: &'a Args,
    renderer: &'static Renderer,
    view: View,
    at_once: bool,
}

impl Teller<'_> {
    fn all(&self, sources: &[Source]) -> Result<Audit> {
        let mut audit = Audit::default();
        pages::each(sources, &mut |name, given| {
            match given {
                Given::Pages(pages) => {
                    for page in pages {
                        let audited = audit_by(page, &|id| self.args.asks(id));
                        let file = (name != pages::STANDARD_INPUT).then(|| name.to_owned());
                        let document = digest(audited, file);
                        if self.at_once {
                            say(&(self.renderer.page)(&document, &self.view))?;
                        }
                        audit.documents.push(document);
                    }
                }
                Given::NoPage(why) => {
                    say_aside(&format!("skipped: {}: {why}", shown(name)));
                    audit.skipped.push(Skipped { name: name.to_owned(), why });
                }
                Given::Refused(why) => {
                    say_aside(&format!("iotax: {}: {why}", shown(name)));
                    audit.refused.push(Skipped { name: name.to_owned(), why });
                }
            }
            Ok(())
        })?;
        Ok(audit)
    }
}

impl Args {
    fn asks(&self, id: &str) -> bool {
        (self.only.is_empty() || self.only.contains(&id)) && !self.without.contains(&id)
    }
}

/// The rules that are asked for, a paragraph each.
fn listed(args: &Args, width: usize) -> String {
    let mut out = String::new();
    for rule in rule::ALL.iter().filter(|rule| args.asks(rule.id)) {
        let head = format!("{} ({})", rule.name, rule.severity.word());
        out += &behind(&format!("{:5}", rule.id), &head, width);
        out += &behind("     holds:  ", rule.holds, width);
        out += &behind("     silent: ", rule.silent, width);
        out += "\n";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_unknown_get_the_nearest() {
        assert_eq!(bound("never"), Ok(Bound(None)));
        assert_eq!(bound("ambiguous"), Ok(Bound(Some(Severity::Ambiguous))));
        let error = bound("wrong-figures").unwrap_err();
        assert!(error.contains("did you mean \"wrong-figure\"? known are wrong-conclusion, "), "{error}");
        assert!(severity("never").is_err() && known_format("pdf").unwrap_err().contains("sarif"));
        let error = known_rule("no such rule").unwrap_err();
        assert!(error.contains("iotax audit --rules"), "{error}");
        for rule in rule::ALL {
            assert_eq!(known_rule(&rule.id.to_lowercase()), Ok(rule.id));
        }
    }

    #[test]
    fn standard_input_is_read_where_something_is_piped_in_and_once() {
        assert!(sources(&[], true).unwrap_err().to_string().contains("hint: iotax audit FILE"));
        assert_eq!(sources(&[], false).unwrap(), [Source::StandardInput]);
        assert_eq!(sources(&["-".into()], true).unwrap(), [Source::StandardInput]);
        assert!(sources(&["-".into(), "-".into()], false).is_err());
    }
}
