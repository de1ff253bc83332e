//! The family of renderers for audits: what pages of others claim, what of it does not hold, and by which arithmetic. Nothing is
//! judged here but what there is room for; text of pages is hostile, and every renderer makes it harmless.

mod digest;
mod html;
mod json;
pub mod list;
mod markdown;
mod pinned;
mod quote;
mod repeated;
mod sarif;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod words;

pub use digest::{Document, Skipped, Told, digest};
pub use iotax_audit::finding::Severity;
pub use pinned::PinsUsed;
pub use repeated::Repeated;
pub(crate) use text::shown;

/// What a renderer may know about where its text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Columns of the terminal; at least 40 are used.
    pub width: usize,
    /// Whether severities and figures are coloured.
    pub colour: bool,
    /// The least severity that people are shown; forms for programs have all.
    pub show: Severity,
}

/// All pages that were looked at.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// In the order in which they were named.
    pub documents: Vec<Document>,
    /// Files that are no pages.
    pub skipped: Vec<Skipped>,
    /// What could not be opened.
    pub refused: Vec<Skipped>,
}

impl Audit {
    /// The worst that was found.
    pub fn worst(&self) -> Option<Severity> {
        self.documents.iter().filter_map(Document::worst).min()
    }
}

/// A form of an audit.
pub struct Renderer {
    /// `--format NAME`.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Endings of the files it is written to, as those of a report.
    pub endings: &'static [&'static str],
    /// What can be told of a page as soon as it is audited, beside those before it; nothing where the form is one whole.
    pub page: fn(&Document, &View, &mut Repeated) -> String,
    /// What is told when all pages are: the rest, or the whole.
    pub end: fn(&Audit, &View) -> String,
}

impl Renderer {
    /// The whole text.
    pub fn whole(&self, audit: &Audit, view: &View) -> String {
        let mut repeated = Repeated::default();
        let page = |document| (self.page)(document, view, &mut repeated);
        let pages: String = audit.documents.iter().map(page).collect();
        pages + &(self.end)(audit, view)
    }
}

/// For forms that are one whole.
fn no_page(_: &Document, _: &View, _: &mut Repeated) -> String {
    String::new()
}

/// All of them.
pub const ALL: &[&Renderer] =
    &[&terminal::RENDERER, &markdown::RENDERER, &html::RENDERER, &sarif::RENDERER, &json::RENDERER];

/// The renderer of that name.
pub fn by_name(name: &str) -> Option<&'static Renderer> {
    ALL.iter().copied().find(|renderer| renderer.name == name)
}
