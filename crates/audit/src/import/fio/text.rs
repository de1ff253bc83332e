//! fio's normal text, 2.x to 3.4x: whole outputs, several of them, status lines between, client mode, and result lines that
//! somebody pasted without the rest. A line that fio does not print ends an output, unless fio goes on right behind it.

mod fields;
mod job;
mod lines;

use super::{Fio, Form, Version};
use crate::import::{Format, Found, Said};
use crate::page::{Page, Unread};
use lines::Kind;

/// The format's entry in the family.
pub const FORMAT: Format = Format {
    name: "fio text",
    help: "fio's normal output, 2.x to 3.4x: whole outputs, several, client mode, result lines alone",
    example: include_str!("../../../fixtures/fio/randrw-3.33.txt"),
    begins: lines::begins,
    read,
};

/// Lines that may stand in the middle of a job's results and are not fio's: a console's noise, a page's watermark.
const NOISE: usize = 2;

/// Lines of heads and progress without a result behind them that are looked at; behind more they are claimed as they are.
const LONELY: usize = 32;

fn read(page: &Page, first: usize) -> Option<Found> {
    // A line of progress alone is of an output in another form.
    if lines::kind(page.bare(first).0) == Kind::Eta && !leads_on(page, first) {
        return None;
    }
    let mut reader = Reader::new(page);
    let mut at = first;
    let mut end = first;
    let mut unread = Vec::new();
    while at < page.len() {
        let kind = lines::kind(page.bare(at).0);
        if kind == Kind::Blank {
            at += 1;
            continue;
        }
        if kind == Kind::Foreign {
            match goes_on(page, at).filter(|_| reader.in_job()) {
                Some(next) => {
                    unread.push(
                        page.unread(at..next, "lines in the middle of fio's output that fio does not print"),
                    );
                    at = next;
                    continue;
                }
                None => break,
            }
        }
        if at > first && reader.begins_another(kind) {
            break;
        }
        reader.line(kind, at);
        at += 1;
        end = at;
    }
    let (fio, troubles) = reader.finish();
    unread.extend(troubles);
    if fio.jobs.is_empty() && fio.statuses.is_empty() && at - first < LONELY {
        return None;
    }
    Some(Found { said: Said::Fio(Box::new(fio)), end: end.max(first + 1), unread })
}

/// Whether a job follows on a line of progress.
fn leads_on(page: &Page, first: usize) -> bool {
    let kinds = (first + 1..first + 4).map(|at| lines::kind(page.bare(at).0));
    kinds.take_while(|kind| matches!(kind, Kind::Eta | Kind::Blank | Kind::Job)).any(|kind| kind == Kind::Job)
}

/// Where a job's results go on behind a few foreign lines.
fn goes_on(page: &Page, at: usize) -> Option<usize> {
    (at + 1..=at + NOISE).find(|next| lines::kind(page.bare(*next).0).is_within_a_job())
}

struct Reader<'a> {
    page: &'a Page,
    fio: Fio,
    unread: Vec<Unread>,
}

impl<'a> Reader<'a> {
    fn new(page: &'a Page) -> Reader<'a> {
        Reader { page, fio: Fio::new(Form::Text, None), unread: Vec::new() }
    }

    /// Whether a job's results have begun and the rest of them is still to come.
    fn in_job(&self) -> bool {
        let unfinished = self.fio.jobs.last().is_some_and(|job| job.issued.is_none());
        unfinished && self.fio.statuses.is_empty() && self.fio.form != Form::Excerpt
    }

    /// Whether a line is of the next output.
    fn begins_another(&self, kind: Kind) -> bool {
        let over = !self.fio.statuses.is_empty() || !self.fio.disks.is_empty();
        match kind {
            Kind::Asked => !self.fio.jobs.is_empty(),
            Kind::Version => !self.fio.jobs.is_empty() || self.fio.version.is_some(),
            Kind::Eta | Kind::Started | Kind::Job => over,
            // Result lines that were pasted have no job; a job that has its results has no second of them.
            Kind::Result => match self.fio.form {
                Form::Excerpt => self.excerpt_is_full(),
                _ => over || self.fio.jobs.is_empty(),
            },
            _ => false,
        }
    }

    /// Pasted lines are of one result as long as each way comes once.
    fn excerpt_is_full(&self) -> bool {
        self.fio.jobs.last().is_some_and(|job| job.directions.len() >= 2)
    }

    fn line(&mut self, kind: Kind, at: usize) {
        let (text, from) = self.page.bare(at);
        let line = fields::Line { index: at, text, from };
        match kind {
            Kind::Version => self.fio.version = Version::read(text.trim()),
            Kind::Client => self.fio.version = self.fio.version.or_else(|| job::version_of_client(text)),
            Kind::Started => self.fio.started = job::started(line),
            Kind::Asked => job::asked(line).into_iter().for_each(|asked| self.fio.add_asked(asked)),
            Kind::Eta => self.fio.eta = job::eta(line).or(self.fio.eta.take()),
            Kind::Job => self.fio.jobs.push(job::job(line)),
            Kind::Status => self.status(line),
            Kind::Disk => self.fio.disks.extend(job::disk(line)),
            Kind::Group | Kind::DiskHead | Kind::Known | Kind::Blank | Kind::Foreign => {}
            _ => self.of_job(kind, line),
        }
    }

    fn status(&mut self, line: fields::Line) {
        let group = (0..self.fio.statuses.len() + 8)
            .map_while(|back| line.index.checked_sub(back))
            .find_map(|above| lines::group_of(self.page.bare(above).0));
        self.fio.statuses.extend(job::status(line, group));
    }

    fn of_job(&mut self, kind: Kind, line: fields::Line) {
        if self.fio.jobs.is_empty() {
            self.fio.form = Form::Excerpt;
            self.fio.jobs.push(super::Job { line: line.index, ..super::Job::default() });
        }
        let Some(last) = self.fio.jobs.last_mut() else { return };
        let read = job::read(last, kind, line, self.fio.version);
        if !read {
            let why = "a line of fio's output that does not read as fio prints it";
            self.unread.push(self.page.unread(line.index..line.index + 1, why));
        }
    }

    fn finish(self) -> (Fio, Vec<Unread>) {
        (self.fio, self.unread)
    }
}

#[cfg(test)]
mod tests;
