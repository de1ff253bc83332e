//! Colours of our own in a terminal's text, and an output filter that passes these and no other
//! control sequence.

use iotax_units::harmless::lines;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Colour of text about things that cannot be undone.
    Red,
    BoldRed,
    BoldYellow,
    /// Colour of text about things that only look wrong.
    BoldCyan,
    /// Colour of the text around a quoted line.
    BoldBlue,
    Bold,
    /// Colour of paths and of what is said by the way.
    Dim,
    Green,
    Yellow,
    Blue,
}

const ALL: [Ink; 10] = [
    Ink::Red,
    Ink::BoldRed,
    Ink::BoldYellow,
    Ink::BoldCyan,
    Ink::BoldBlue,
    Ink::Bold,
    Ink::Dim,
    Ink::Green,
    Ink::Yellow,
    Ink::Blue,
];
const END: &str = "\x1b[0m";

impl Ink {
    fn sequence(self) -> &'static str {
        match self {
            Ink::Red => "\x1b[31m",
            Ink::BoldRed => "\x1b[1;31m",
            Ink::BoldYellow => "\x1b[1;33m",
            Ink::BoldCyan => "\x1b[1;36m",
            Ink::BoldBlue => "\x1b[1;34m",
            Ink::Bold => "\x1b[1m",
            Ink::Dim => "\x1b[2m",
            Ink::Green => "\x1b[32m",
            Ink::Yellow => "\x1b[33m",
            Ink::Blue => "\x1b[34m",
        }
    }

    pub fn on(self, text: &str) -> String {
        format!("{}{text}{END}", self.sequence())
    }
}

/// Makes text safe for a terminal: no control sequence remains but those of [`Ink`].
pub fn lines_in_colour(text: &str) -> String {
    let ours = || ALL.into_iter().map(Ink::sequence).chain([END]);
    let mut pieces = text.split('\x1b');
    let mut out = lines(pieces.next().unwrap_or_default()).into_owned();
    for piece in pieces {
        let piece = format!("\x1b{piece}");
        let kept = ours().find(|sequence| piece.starts_with(sequence)).unwrap_or_default();
        out += kept;
        out += &lines(&piece[kept.len()..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_colours_stay_and_nothing_else_does() {
        for ink in ALL {
            assert_eq!(lines_in_colour(&ink.on("a\n")), ink.on("a\n"));
        }
        let strange = "\x1b[2J\x1b[31\u{202e}m\x1b[31;5m\x1b]0;x\x07";
        let harmless = lines_in_colour(strange);
        assert!(!harmless.contains(['\x1b', '\u{202e}', '\x07']), "{harmless:?}");
        assert_eq!(
            lines_in_colour(&format!("{strange}{}", Ink::Red.on("b"))),
            harmless + &Ink::Red.on("b")
        );
    }
}
