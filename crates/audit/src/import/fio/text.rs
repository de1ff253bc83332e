//! fio's normal text, 2.x to 3.4x: whole outputs, several of them, status lines between, client
//! mode, and result lines pasted without the rest. A line that fio does not print ends an output,
//! unless fio continues right after it.

mod fields;
mod job;
mod lines;

use super::{Fio, FioForm, FioReport, FioVersion, MOST_JOBS};
use crate::import::cut::UnnumberedLine;
use crate::import::format::{Format, ImportedOutputs, ToolReport};
use crate::page::{AuditedPage, UnreadRange};
use lines::FioLineKind;

pub(crate) const FORMAT: Format = Format {
    name: "fio text",
    example: include_str!("../../../fixtures/fio/randrw-3.33.txt"),
    begins: lines::begins,
    read,
};

/// Limit of foreign lines within a job's results: noise of a console, a page's watermark.
const NOISE: usize = 2;

/// Number of lines of heads and progress that count as output even if no result follows. Fewer
/// without a result are not an output.
const LONELY: usize = 32;

fn read(page: &AuditedPage, first: usize) -> Option<ImportedOutputs> {
    let fio = Fio::default();
    let mut reader =
        FioTextReader { page, fio, percentiles: None, group: None, unread: Vec::new() };
    let (mut at, mut end) = (first, first);
    while at < page.len() {
        let kind = lines::line_kind(page.bare_line(at).0);
        if kind == FioLineKind::Foreign {
            let Some(next) = goes_on(page, at).filter(|_| reader.in_job()) else { break };
            let why = "lines in the middle of fio's output that fio does not print";
            reader.unread.push(page.unread(at..next, why));
            at = next;
            continue;
        }
        if at > first && reader.begins_another(kind) {
            break;
        }
        reader.read_text_line(kind, at);
        at += 1;
        end = if kind == FioLineKind::Blank { end } else { at };
    }
    let FioTextReader { fio, unread, .. } = reader;
    if fio.jobs.is_empty() && fio.statuses.is_empty() && at - first < LONELY {
        return None;
    }
    Some(ImportedOutputs { said: ToolReport::Fio(Box::new(fio)), end: end.max(first + 1), unread })
}

/// Returns the line on which a job's results continue after a few foreign lines.
fn goes_on(page: &AuditedPage, at: usize) -> Option<usize> {
    (at + 1..=at + NOISE).find(|next| lines::line_kind(page.bare_line(*next).0).is_within_a_job())
}

struct FioTextReader<'a> {
    page: &'a AuditedPage,
    fio: Fio,
    /// Nanoseconds per unit in the list of percentiles that is being read.
    percentiles: Option<f64>,
    group: Option<u64>,
    unread: Vec<UnreadRange>,
}

impl FioTextReader<'_> {
    /// Returns true if a job's results have begun and are not complete yet.
    fn in_job(&self) -> bool {
        let unfinished = self.fio.jobs.last().is_some_and(|job| job.issued.is_none());
        unfinished && self.fio.statuses.is_empty() && self.fio.form != FioForm::Excerpt
    }

    fn begins_another(&self, kind: FioLineKind) -> bool {
        let over = !self.fio.statuses.is_empty();
        match kind {
            FioLineKind::Asked => !self.fio.jobs.is_empty(),
            FioLineKind::Version => !self.fio.jobs.is_empty() || self.fio.version.is_some(),
            FioLineKind::Eta | FioLineKind::Started | FioLineKind::Job => over,
            // Pasted result lines have no job, and belong to one result as long as each direction
            // comes once. A job that has its results gets no second set.
            FioLineKind::Result => match self.fio.form {
                FioForm::Excerpt => {
                    self.fio.jobs.last().is_some_and(|job| job.directions.len() >= 2)
                }
                _ => over || self.fio.jobs.is_empty(),
            },
            _ => false,
        }
    }

    fn read_text_line(&mut self, kind: FioLineKind, at: usize) {
        let line = &UnnumberedLine::from_page(self.page, at);
        let fio = &mut self.fio;
        match kind {
            FioLineKind::Version => fio.version = FioVersion::parse_fio_version(line.text.trim()),
            FioLineKind::Client => {
                fio.version = fio.version.or_else(|| job::version_of_client(line.text))
            }
            FioLineKind::Started => fio.started = true,
            FioLineKind::Asked if fio.asked.len() < MOST_JOBS => {
                fio.asked.extend(job::parse_job_settings(line, at))
            }
            FioLineKind::Eta => fio.eta = job::eta(line).or(fio.eta.take()),
            FioLineKind::Job => fio.jobs.push(job::job(line, at)),
            FioLineKind::Group => self.group = lines::group_of(line.text),
            FioLineKind::Status => fio.statuses.extend(job::status(line, self.group)),
            FioLineKind::Asked
            | FioLineKind::Known
            | FioLineKind::Within
            | FioLineKind::Blank
            | FioLineKind::Foreign => {}
            _ => {
                if fio.jobs.is_empty() {
                    fio.form = FioForm::Excerpt;
                    fio.jobs.push(FioReport { line: at, ..FioReport::default() });
                }
                let Some(last) = fio.jobs.last_mut() else { return };
                if job::read_result_line(last, &mut self.percentiles, kind, line, at, fio.version)
                    .is_none()
                {
                    let why = "a line of fio's output that does not read as fio prints it";
                    self.unread.push(self.page.unread(at..at + 1, why));
                }
            }
        }
    }
}
