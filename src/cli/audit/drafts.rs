//! `--scenario FILE`: drafts scenarios from the audited page. A file that exists is never written
//! to, since drafts are completed by hand.

use super::super::output::say_aside;
use super::super::report::{folder_of, may_write_in, write_as};
use anyhow::Result;
use iotax_audit::audit::Audited;
use iotax_audit::verdict::count_with_noun;
use iotax_draft::{DraftKind, ScenarioDraft, draft_scenarios};
use iotax_units::exit::{Failed, contained};
use iotax_units::shell;
use std::path::{Path, PathBuf};

pub(super) struct DraftFile {
    file: PathBuf,
    /// Drafts of the page, or why there are none; `None` before it is read.
    drafts: Option<Result<Vec<ScenarioDraft>, String>>,
}

impl DraftFile {
    /// Checks that drafts can be written.
    ///
    /// # Errors
    /// Bad input: another ending than `.toml`, a file that exists, a folder that cannot be written,
    /// or several pages.
    pub(super) fn new(file: &Path, sources: &[PathBuf]) -> Result<DraftFile> {
        let refuse = |why: &str| Err(refused(file, why));
        if file.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("toml")) {
            return refuse("a scenario is a file of .toml")?;
        }
        if sources.len() > 1 || sources.iter().any(|source| source.is_dir()) {
            return refuse("a draft is of one page; hint: name one file")?;
        }
        refuse_existing(file)?;
        may_write_in(folder_of(file)).map_err(|why| refused(file, &why))?;
        Ok(DraftFile { file: file.to_owned(), drafts: None })
    }

    pub(super) fn take_page(&mut self, audited: &Audited) {
        let drafted = contained(|| draft_scenarios(audited));
        self.drafts = Some(drafted.and_then(|drafts| drafts));
    }

    /// Writes the drafts: the first to the file, each further one beside it with the name of its
    /// kind. Writes nothing if no page could be read.
    ///
    /// # Errors
    /// Bad input: the page has too much for a scenario, or a file exists. Else: it cannot be
    /// written.
    pub(super) fn write_drafts(self) -> Result<()> {
        let Some(drafts) = self.drafts else { return Ok(()) };
        let drafts = drafts.map_err(|why| refused(&self.file, &why))?;
        let name = |(at, draft): (usize, &ScenarioDraft)| match at {
            0 => self.file.clone(),
            _ => file_beside(&self.file, draft.kind),
        };
        let files: Vec<PathBuf> = drafts.iter().enumerate().map(name).collect();
        files.iter().try_for_each(|file| refuse_existing(file))?;
        for (file, draft) in files.iter().zip(&drafts) {
            write_as(file, &mut |out| out.write_all(draft.text.as_bytes()))?;
            let ScenarioDraft { stacks, loads, figures, open, .. } = draft;
            let counts = [
                count_with_noun(*stacks, "stack", "stacks"),
                count_with_noun(*loads, "load", "loads"),
                count_with_noun(*figures, "figure", "figures"),
                format!("stacks to fill in: {open}"),
            ];
            let counts = counts.join(", ");
            let next = format!("iotax plan {}", shell::path(file));
            say_aside(&format!("written: {}: {counts}; then: {next}", file.display()));
        }
        Ok(())
    }
}

/// Returns `x-network.toml` for `x.toml`.
fn file_beside(file: &Path, kind: DraftKind) -> PathBuf {
    let word = match kind {
        DraftKind::Storage => "storage",
        DraftKind::Machine => "machine",
        DraftKind::Network => "network",
    };
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!("{stem}-{word}.toml"))
}

fn refuse_existing(file: &Path) -> Result<()> {
    match file.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(_) => {
            Err(refused(file, "it exists, and may have been completed; hint: name a new file")
                .into())
        }
    }
}

fn refused(file: &Path, why: &str) -> Failed {
    Failed::input(format!("--scenario {}: {why}", file.display()))
}
