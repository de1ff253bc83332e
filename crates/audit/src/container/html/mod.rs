//! HTML: what a browser would show, as lines that know which line of the source they come from.
//! Tables become rows between pipes, headings keep a `#`, listings stand in fences; scripts and
//! styles are dropped.

mod render;
mod rows;

use super::{Container, plain};
use crate::page::AuditedPage;
use encoding_rs::Encoding;
use html5gum::{DefaultEmitter, Token, Tokenizer};

pub(crate) use rows::HtmlRows;

pub const CONTAINER: Container = Container {
    name: "HTML",
    knows: |bytes| knows(bytes),
    read: |name, bytes| vec![read(name, bytes)],
};

const LOOKED_AT: usize = 64 << 10;
/// A page without `<html>` has at least so many tags in what is looked at.
const TAGS: usize = 10;

fn knows(bytes: &[u8]) -> bool {
    // Most pages are none: told by their first sign, where that is of ASCII. A zero may be of
    // UTF-16.
    match bytes.iter().take(LOOKED_AT).find(|byte| !byte.is_ascii_whitespace()) {
        Some(first) if first.is_ascii() && !matches!(*first, b'<' | 0) => return false,
        _ => {}
    }
    let head = plain::head(bytes, LOOKED_AT);
    let mut head =
        head.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '\u{feff}');
    // Comments and declarations stand before it.
    for (opens, closes) in [("<!--", "-->"), ("<?xml", "?>")] {
        while let Some((_, behind)) =
            head.strip_prefix(opens).and_then(|rest| rest.split_once(closes))
        {
            head = behind.trim_start();
        }
    }
    let begins = |names: &str| {
        let begins = |name: &str| {
            head.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name))
        };
        names.split('|').any(begins)
    };
    begins("<!doctype html|<html|<head>|<body")
        || begins("<table|<div|<article|<section|<main|<p>|<p |<h1|<h2|<ul|<style|<meta")
            && !markdown(head)
            && tags(head) >= TAGS
}

/// A tag or a text, the line that it begins at and the one in which it ends.
pub(crate) struct PlacedNode {
    pub token: Token<usize>,
    pub line: usize,
    pub last: usize,
}

impl PlacedNode {
    /// The name of a tag; nothing of a text.
    pub fn name(&self) -> &[u8] {
        match &self.token {
            Token::StartTag(tag) => &tag.name,
            Token::EndTag(tag) => &tag.name,
            _ => b"",
        }
    }
}

/// The tags and texts of HTML; asked for the line of each byte in their order.
pub(crate) fn placed(text: &str, mut line_of: impl FnMut(usize) -> usize) -> Vec<PlacedNode> {
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    let tokens = Tokenizer::new_with_emitter(text, emitter).map(|Ok(token)| token);
    let placed = |token: Token<usize>| {
        let span = match &token {
            Token::StartTag(tag) => tag.span,
            Token::EndTag(tag) => tag.span,
            Token::String(string) => string.span,
            _ => return None,
        };
        Some(PlacedNode { line: line_of(span.start), last: line_of(span.end), token })
    };
    tokens.filter_map(placed).collect()
}

/// Whether a text has marks of Markdown, which allows tags too.
fn markdown(text: &str) -> bool {
    ["\n# ", "\n## ", "\n### ", "\n```", "](http", "|---", "| ---", "|:--"]
        .iter()
        .any(|mark| text.contains(mark))
}

fn tags(text: &str) -> usize {
    let bytes = text.as_bytes();
    let named = |at: &usize| {
        bytes.get(at + 1).is_some_and(|next| next.is_ascii_alphabetic() || *next == b'/')
    };
    memchr::memchr_iter(b'<', bytes).filter(named).count()
}

fn read(name: &str, bytes: Vec<u8>) -> AuditedPage {
    let declared = declared(&bytes);
    let (text, broken) = plain::decode(bytes, declared);
    let (lines, lost) = render::lines(&text);
    let mut page = AuditedPage::rendered(name, &lines);
    page.unread.extend(lost);
    if let Some(encoding) = broken {
        page.unread.extend(plain::undecodable(&page, encoding));
    }
    page
}

/// The encoding that `<meta charset=...>` declares.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = plain::head(bytes, 4096).to_ascii_lowercase();
    let (_, behind) = head.split_once("charset=")?;
    let part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let label = behind.trim_start_matches(['"', '\'']).split(|letter| !part(letter)).next()?;
    let wide =
        |encoding: &&Encoding| [encoding_rs::UTF_16LE, encoding_rs::UTF_16BE].contains(encoding);
    // A declaration that can be read as ASCII is none of UTF-16: the page was converted since (so
    // does the HTML standard).
    Encoding::for_label(label.as_bytes()).filter(|encoding| !wide(encoding))
}

#[cfg(test)]
mod tests;
