//! The shape of a renderer: findings in, text out.

use super::look::TerminalLook;
use iotax_analysis::Findings;

/// Properties of the destination that a renderer may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageContext {
    /// Columns of the terminal; at least 40 are used.
    pub width: usize,
    pub look: TerminalLook,
}

impl PageContext {
    pub fn of_width(width: usize) -> PageContext {
        PageContext { width, look: TerminalLook::default() }
    }
}

impl Default for PageContext {
    fn default() -> Self {
        PageContext::of_width(80)
    }
}

pub struct ReportRenderer {
    pub name: &'static str,
    /// Endings of files for which the renderer is chosen, without a dot and in small letters; the
    /// usual one first.
    pub endings: &'static [&'static str],
    /// Makes the text of one run or of several, in the order given.
    pub render: fn(&[Findings], &PageContext) -> String,
}
