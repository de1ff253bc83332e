//! One self-contained page without fonts or requests, from the document of each run. It is
//! readable in light, dark, on a phone and on paper, and without its script.

pub(crate) mod forest;
pub(crate) mod histogram;

use super::document::{
    Block, Document, DocumentHead, DocumentSection, DocumentTable, SectionAudience,
};
use super::table::capital;
use super::typography::typographic;
use super::verdicts::VerdictSentence;
use super::{PageContext, ReportRenderer};
use base64::Engine;
use iotax_analysis::Findings;
use iotax_units::harmless::lines;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

pub const RENDERER: ReportRenderer =
    ReportRenderer { name: "html", endings: &["html", "htm"], render };

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");

fn render(findings: &[Findings], _page: &PageContext) -> String {
    let documents: Vec<Document> = findings.iter().map(Document::from_findings).collect();
    let ids = findings.iter().map(|one| one.run.id.as_str()).collect::<Vec<_>>().join(", ");
    let titles = documents.iter().map(|one| one.title.as_str()).collect::<Vec<_>>().join(", ");
    page_of(&format!("{titles} \u{b7} iotax {ids}"), &documents)
}

pub(super) fn page_of(title: &str, documents: &[Document]) -> String {
    let with_ids: Vec<_> =
        documents.iter().enumerate().map(|(at, one)| (one, section_ids(at, one))).collect();
    let contents = html! {
        @for (one, ids) in &with_ids {
            @if documents.len() > 1 { p { (one.title) } }
            ul { @for (section, id) in of_page(one).zip(ids) { li { a href={ "#" (id) } { (section.heading) } } } }
        }
    };
    let content = html! {
        @for (one, ids) in &with_ids {
            (head(&one.head, &one.title))
            @for (section, id) in of_page(one).zip(ids) { (section_markup(section, id)) }
        }
    };
    page_with(title, "", Some(&contents), &content)
}

fn of_page(document: &Document) -> impl Iterator<Item = &DocumentSection> {
    document.sections.iter().filter(|one| one.audience != SectionAudience::Text)
}

/// Returns an id for each section of the page, from its heading: `the-bill`. Those of the second
/// document and further ones begin with its number.
fn section_ids(document: usize, of: &Document) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for section in of_page(of) {
        let letters = section.heading.to_lowercase();
        let words =
            letters.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let mut id = words.take(8).collect::<Vec<_>>().join("-");
        if document > 0 {
            id = format!("{}-{id}", document + 1);
        }
        let like = |known: &&String| {
            known.strip_prefix(&id).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let same = ids.iter().filter(like).count();
        ids.push(if same > 0 { format!("{id}-{}", same + 1) } else { id });
    }
    ids
}

/// Returns a complete page; `style` is added for this kind of page after the common one.
pub fn whole_page(title: &str, style: &str, content: &Markup) -> String {
    page_with(title, style, None, content)
}

fn page_with(title: &str, style: &str, contents: Option<&Markup>, content: &Markup) -> String {
    let style = format!("{STYLE}{}{style}", iotax_chart::page_rules());
    // Nothing is requested, and no other script runs.
    let policy = format!(
        "default-src 'none'; img-src data:; style-src 'sha256-{}'; script-src 'sha256-{}'",
        hash_of(&style),
        hash_of(SCRIPT)
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(&style)) }
            }
            body class=[contents.map(|_| "with-contents")] {
                @if let Some(contents) = contents { nav class="contents" aria-label="Contents" { (contents) } }
                main { (content) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    lines(&page.into_string()).into_owned()
}

fn hash_of(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text))
}

fn head(head: &DocumentHead, title: &str) -> Markup {
    html! {
        header {
            p class="eyebrow" { (head.identity) }
            @for alarm in &head.alarms { p class="alarm" { (capital(alarm)) "." } }
            @match (&head.answer, &head.headline) {
                (Some(answer), _) => h1 class=(answer.class) { (typographic(&answer.text)) },
                (None, Ok(headline)) => h1 { (typographic(headline)) },
                (None, Err(_)) => h1 { (title) },
            }
            @match &head.headline {
                // It may begin with the name of a stack.
                Ok(headline) if head.answer.is_some() => p { (typographic(headline)) "." },
                Err(Some(reason)) => p class="soft" { (sentence(reason)) },
                _ => {},
            }
            @if let Some((check, holds)) = &head.ruler {
                p class=(if *holds { "soft" } else { "alarm" }) { (typographic(check)) "." }
            }
        }
    }
}

fn section_markup(section: &DocumentSection, id: &str) -> Markup {
    let heading = html! { h2 { (section.heading) } };
    html! {
        section id=(id) class=[section.folded.as_ref().map(|_| "folded")] {
            @match &section.folded {
                Some(verdicts) => details {
                    summary class="whole-section" { (heading) (verdict_list(verdicts)) }
                    (blocks(&section.blocks))
                },
                None => { (heading) (blocks(&section.blocks)) },
            }
        }
    }
}

fn blocks(blocks: &[Block]) -> Markup {
    html! { @for block in blocks { (block_markup(block)) } }
}

fn block_markup(block: &Block) -> Markup {
    html! {
        @match block {
            Block::Heading(text) => h3 { (typographic(text)) },
            Block::Paragraph(text) => p { (sentence(text)) },
            Block::Note(text) => p class="soft" { (sentence(text)) },
            Block::Verdicts(verdicts) => { (verdict_list(verdicts)) },
            Block::Lines(lines) => ul class="soft" { @for line in lines { li { (typographic(line)) } } },
            Block::Table(table) => { (table_markup(table)) },
            Block::Chart(chart) => { (chart) },
            Block::Folded { summary, blocks: inner } => details { summary { (summary) } (blocks(inner)) },
            Block::Facts(facts) => dl { @for (key, value) in facts { dt { (key) } dd { (value) } } },
            Block::Commands(commands) => { @for command in commands { pre { (command) } } },
        }
    }
}

/// Returns a text as a sentence of the page: with a capital and a full stop.
fn sentence(text: &str) -> String {
    format!("{}.", capital(&typographic(text)))
}

fn verdict_list(all: &[VerdictSentence]) -> Markup {
    html! { ul class="verdicts" { @for said in all { li class=(said.class) { (typographic(&said.text)) } } } }
}

/// Number of shades in the style sheet.
const SHADES: f64 = 5.0;

fn table_markup(one: &DocumentTable) -> Markup {
    let Some((names, columns)) = one.table.columns.split_first() else { return html! {} };
    let shade = |column: usize, row: usize| {
        let good = (*one.shades.as_ref()?.get(column)?.get(row)?)?;
        Some(format!("heat{:.0}", (good * SHADES).ceil().clamp(1.0, SHADES)))
    };
    html! {
        div class="scroll" tabindex="0" {
            table {
                thead { tr { @for column in &one.table.columns { th scope="col" { (column.head) } } } }
                tbody {
                    @for (row, name) in names.cells.iter().enumerate() {
                        tr class=(if one.total == Some(row) { "total" } else { "" }) {
                            (name_of_row(name))
                            @for (at, column) in columns.iter().enumerate() {
                                (cell(&column.cells[row], shade(at, row)))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cell(text: &str, shade: Option<String>) -> Markup {
    match text {
        "-" => html! { td class="absent" { "\u{2013}" } },
        "failed" => html! { td class="failed" { "failed" } },
        text => html! { td class=[shade] { (figure_kept(&typographic(text))) } },
    }
}

/// Returns the cell of a row's name. Names of rows below another row are indented.
fn name_of_row(name: &str) -> Markup {
    html! { td class=[name.starts_with(' ').then_some("below")] { (breakable(name.trim_start())) } }
}

/// Keeps a figure on one line, except for its interval in brackets; words may wrap.
fn figure_kept(text: &str) -> Markup {
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+\u{2212}<".contains(c)) {
        return html! { (text) };
    }
    let (value, interval) =
        text.split_once(" (").map_or((text, None), |(value, rest)| (value, Some(rest)));
    html! {
        span class="whole" { (value) }
        @if let Some(interval) = interval { " " span class="whole" { "(" (interval) } }
    }
}

/// Lets a name wrap after its commas too. A mark stays with its name, and a state is not split.
fn breakable(name: &str) -> Markup {
    let name = name
        .replace(" *", "\u{a0}*")
        .replace(" ~", "\u{a0}~")
        .replace("healthy again", "healthy\u{a0}again");
    html! { @for part in name.split_inclusive(',') { (part) @if part.ends_with(',') { wbr; } } }
}

/// Returns the page without its own script, which must be there once and unchanged.
#[cfg(test)]
pub(super) fn without_own_script(page: &str) -> String {
    let own = format!("<script>{SCRIPT}</script>");
    assert_eq!(page.matches(&own).count(), 1);
    page.replace(&own, "")
}

#[cfg(test)]
pub(super) fn escaped_signed(text: &str) -> String {
    html! { (typographic(text)) }.into_string()
}
