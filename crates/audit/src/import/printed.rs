//! Figures of JSON as tools print them: whole numbers are exact or truncated, decimals are rounded.
//! At the end of a text a number may have lost digits.

use crate::json::{JsonNode, JsonValue};
use crate::number::{self, PrintedNumber};
use crate::page::{AuditedPage, TextSpan};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WholeNumber {
    Exact,
    /// The value is truncated: it is from the printed number up to, but not including, the next
    /// whole one.
    Cut,
}

fn figure(
    spot: TextSpan,
    text: &str,
    value: f64,
    decimals: usize,
    scale: f64,
    whole: WholeNumber,
) -> PrintedNumber {
    let exponent = text.find(['e', 'E']).and_then(|at| text[at + 1..].parse::<i32>().ok());
    let (low, high) = match (exponent, decimals, whole) {
        (None, 0, WholeNumber::Exact) => (value, value),
        (None, 0, WholeNumber::Cut) => (value, value + 1.0),
        _ => {
            let decimals = i32::try_from(decimals).unwrap_or(i32::MAX);
            let half = 0.5 * 10f64.powi(exponent.unwrap_or(0).saturating_sub(decimals));
            (value - half, value + half)
        }
    };
    PrintedNumber { spot, value: value * scale, low: low * scale, high: high * scale }
}

pub(crate) struct PrintedFigures<'p> {
    page: &'p AuditedPage,
    text: &'p str,
}

impl<'p> PrintedFigures<'p> {
    pub(crate) fn new(page: &'p AuditedPage, line: usize) -> PrintedFigures<'p> {
        PrintedFigures { page, text: page.json_text(line) }
    }

    pub(crate) fn line_of_byte(&self, byte: usize) -> usize {
        self.page.spot(byte..byte + 1).index()
    }

    /// Returns the figure of a number, also of one in quotes, multiplied by `scale`. `None` for
    /// anything else, and for a number that the end of the text may have cut.
    pub(crate) fn node_figure(
        &self,
        node: Option<&JsonNode>,
        scale: f64,
        whole: WholeNumber,
    ) -> Option<PrintedNumber> {
        let node = node?;
        let (text, start) = match node.value {
            JsonValue::Number(text) => (text, node.bytes.start),
            JsonValue::Text(text) => (text, node.bytes.start + 1),
            _ => return None,
        };
        let (value, bytes, decimals) = number::leading(text)?;
        if bytes != text.len()
            || (matches!(node.value, JsonValue::Number(_)) && !self.ended(node.bytes.end))
        {
            return None;
        }
        let spot = self.page.spot(start..start + bytes);
        Some(figure(spot, text, value, decimals, scale, whole))
    }

    /// Returns true if the text after a number ends it. In JSON that breaks off, the last number
    /// may be incomplete.
    fn ended(&self, at: usize) -> bool {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        let next = rest.iter().find(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
        matches!(next, Some(b',' | b'}' | b']'))
    }

    pub(crate) fn exact(&self, node: Option<&JsonNode>, scale: f64) -> Option<PrintedNumber> {
        self.node_figure(node, scale, WholeNumber::Exact)
    }

    /// Returns the figure of a number that the tool truncated if it is whole, multiplied by
    /// `scale`.
    pub(crate) fn cut(&self, node: Option<&JsonNode>, scale: f64) -> Option<PrintedNumber> {
        self.node_figure(node, scale, WholeNumber::Cut)
    }
}
