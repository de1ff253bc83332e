//! Converts HTML to the text that a browser would show, as lines that know their line in the
//! source. Tables become rows between pipes, headings keep a `#`, and listings are put in fences.
//! Scripts and styles are dropped.

mod render;
mod rows;

use super::plain;
use crate::page::AuditedPage;
use encoding_rs::Encoding;
use html5gum::{DefaultEmitter, Token, Tokenizer};

const LOOKED_AT: usize = 64 << 10;
/// Least number of tags, in the bytes examined, that makes a text without `<html>` a page.
const TAGS: usize = 10;

pub fn is_html(bytes: &[u8]) -> bool {
    // Most pages are not HTML, and their first character shows it if it is ASCII. A zero may be
    // UTF-16.
    match bytes.iter().take(LOOKED_AT).find(|byte| !byte.is_ascii_whitespace()) {
        Some(first) if first.is_ascii() && !matches!(*first, b'<' | 0) => return false,
        _ => {}
    }
    let head = plain::head(bytes, LOOKED_AT);
    let mut head =
        head.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '\u{feff}');
    // Comments and declarations may precede it.
    for (opens, closes) in [("<!--", "-->"), ("<?xml", "?>")] {
        while let Some((_, after)) =
            head.strip_prefix(opens).and_then(|rest| rest.split_once(closes))
        {
            head = after.trim_start();
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

/// Tag or text, with its first and last line, from 1.
struct PlacedNode {
    pub token: Token<usize>,
    pub line: usize,
    pub last: usize,
}

impl PlacedNode {
    /// Returns the name of a tag; empty for a text.
    pub fn name(&self) -> &[u8] {
        match &self.token {
            Token::StartTag(tag) => &tag.name,
            Token::EndTag(tag) => &tag.name,
            _ => b"",
        }
    }
}

/// Returns the tags and texts of HTML, with their lines.
fn placed(text: &str) -> Vec<PlacedNode> {
    let (mut reached, mut line) = (0, 1);
    let mut line_of = |byte: usize| {
        let to = byte.clamp(reached, text.len());
        line += memchr::memchr_iter(b'\n', &text.as_bytes()[reached..to]).count();
        reached = to;
        line
    };
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

/// Returns true if a text has marks of Markdown, which may also contain tags.
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

pub(super) fn read(name: &str, bytes: Vec<u8>) -> AuditedPage {
    let declared = declared_encoding(&bytes);
    let (text, broken) = plain::decode(bytes, declared);
    let (lines, lost) = render::rendered_lines(&text);
    let mut page = AuditedPage::rendered(name, &lines);
    page.unread.extend(lost);
    if let Some(encoding) = broken {
        page.unread.extend(plain::undecodable(&page, encoding));
    }
    page
}

fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = plain::head(bytes, 4096).to_ascii_lowercase();
    let (_, after) = head.split_once("charset=")?;
    let part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let label = after.trim_start_matches(['"', '\'']).split(|letter| !part(letter)).next()?;
    let wide =
        |encoding: &&Encoding| [encoding_rs::UTF_16LE, encoding_rs::UTF_16BE].contains(encoding);
    // A declaration readable as ASCII cannot be UTF-16: the page was converted since. The HTML
    // standard has the same rule.
    Encoding::for_label(label.as_bytes()).filter(|encoding| !wide(encoding))
}

#[cfg(test)]
mod tests;
