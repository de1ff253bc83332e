//! fio's normal text, 2.x to 3.4x: whole outputs, several of them, status lines between, client mode, and result lines that
//! somebody pasted without the rest. A line that fio does not print ends an output, unless fio goes on right behind it.

mod fields;
mod job;
mod lines;

use super::{Fio, Form, Job, MOST_JOBS, Version};
use crate::import::cut::Line;
use crate::import::{Format, Found, Said};
use crate::page::{Page, Unread};
use lines::Kind;

pub(crate) const FORMAT: Format = Format {
    name: "fio text",
    example: include_str!("../../../fixtures/fio/randrw-3.33.txt"),
    begins: lines::begins,
    read,
};

/// Lines that may stand in the middle of a job's results and are not fio's: a console's noise, a page's watermark.
const NOISE: usize = 2;

/// Lines of heads and progress without a result behind them that are looked at; behind more they are claimed as they are.
const LONELY: usize = 32;

fn read(page: &Page, first: usize) -> Option<Found> {
    let fio = Fio::default();
    let mut reader = Reader { page, fio, percentiles: None, group: None, unread: Vec::new() };
    let (mut at, mut end) = (first, first);
    while at < page.len() {
        let kind = lines::kind(page.bare(at).0);
        if kind == Kind::Foreign {
            let Some(next) = goes_on(page, at).filter(|_| reader.in_job()) else { break };
            let why = "lines in the middle of fio's output that fio does not print";
            reader.unread.push(page.unread(at..next, why));
            at = next;
            continue;
        }
        if at > first && reader.begins_another(kind) {
            break;
        }
        reader.line(kind, at);
        at += 1;
        end = if kind == Kind::Blank { end } else { at };
    }
    let Reader { fio, unread, .. } = reader;
    if fio.jobs.is_empty() && fio.statuses.is_empty() && at - first < LONELY {
        return None;
    }
    Some(Found { said: Said::Fio(Box::new(fio)), end: end.max(first + 1), unread })
}

/// Where a job's results go on behind a few foreign lines.
fn goes_on(page: &Page, at: usize) -> Option<usize> {
    (at + 1..=at + NOISE).find(|next| lines::kind(page.bare(*next).0).is_within_a_job())
}

struct Reader<'a> {
    page: &'a Page,
    fio: Fio,
    /// Nanoseconds of the unit of the list of percentiles that is being read.
    percentiles: Option<f64>,
    /// Number of the group whose status is being read.
    group: Option<u64>,
    unread: Vec<Unread>,
}

impl Reader<'_> {
    /// Whether a job's results have begun and the rest of them is still to come.
    fn in_job(&self) -> bool {
        let unfinished = self.fio.jobs.last().is_some_and(|job| job.issued.is_none());
        unfinished && self.fio.statuses.is_empty() && self.fio.form != Form::Excerpt
    }

    fn begins_another(&self, kind: Kind) -> bool {
        let over = !self.fio.statuses.is_empty();
        match kind {
            Kind::Asked => !self.fio.jobs.is_empty(),
            Kind::Version => !self.fio.jobs.is_empty() || self.fio.version.is_some(),
            Kind::Eta | Kind::Started | Kind::Job => over,
            // Result lines that were pasted have no job, and are of one result as long as each way comes once; a job that has its
            // results has no second of them.
            Kind::Result => match self.fio.form {
                Form::Excerpt => self.fio.jobs.last().is_some_and(|job| job.directions.len() >= 2),
                _ => over || self.fio.jobs.is_empty(),
            },
            _ => false,
        }
    }

    fn line(&mut self, kind: Kind, at: usize) {
        let line = &Line::of(self.page, at);
        let fio = &mut self.fio;
        match kind {
            Kind::Version => fio.version = Version::read(line.text.trim()),
            Kind::Client => fio.version = fio.version.or_else(|| job::version_of_client(line.text)),
            Kind::Started => fio.started = true,
            Kind::Asked if fio.asked.len() < MOST_JOBS => fio.asked.extend(job::asked(line, at)),
            Kind::Eta => fio.eta = job::eta(line).or(fio.eta.take()),
            Kind::Job => fio.jobs.push(job::job(line, at)),
            Kind::Group => self.group = lines::group_of(line.text),
            Kind::Status => fio.statuses.extend(job::status(line, self.group)),
            Kind::Asked | Kind::Known | Kind::Within | Kind::Blank | Kind::Foreign => {}
            _ => {
                if fio.jobs.is_empty() {
                    fio.form = Form::Excerpt;
                    fio.jobs.push(Job { line: at, ..Job::default() });
                }
                let Some(last) = fio.jobs.last_mut() else { return };
                if job::read(last, &mut self.percentiles, kind, line, at, fio.version).is_none() {
                    let why = "a line of fio's output that does not read as fio prints it";
                    self.unread.push(self.page.unread(at..at + 1, why));
                }
            }
        }
    }
}
