//! How a terminal's text looks: signs of print or ASCII, and colour.

use super::ink::Ink;
use super::table::TextTable;
use super::typography::typographic;

/// Properties of a terminal that the text makes use of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalLook {
    pub colour: bool,
    /// True if the locale has no UTF-8: `+-` and `v` take the place of signs.
    pub ascii: bool,
}

/// Marks of verdicts by class: the class, the sign, its ASCII form, and its colour.
const MARKS: [(&str, char, char, Ink); 5] = [
    ("cost", '\u{25bc}', 'v', Ink::Red),
    ("gain", '\u{25b2}', '^', Ink::Green),
    ("none", '\u{2248}', '=', Ink::Blue),
    ("open", '?', '?', Ink::Yellow),
    ("doubt", '!', '!', Ink::Yellow),
];

impl TerminalLook {
    /// Returns the course of values in one character for each, from the smallest to the largest.
    pub fn sparkline(self, values: impl Iterator<Item = f64> + Clone) -> String {
        let levels: Vec<char> = match self.ascii {
            true => "_.-=*#".chars().collect(),
            false => ('\u{2581}'..='\u{2588}').collect(),
        };
        let (low, high) =
            values.clone().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (f64::min(low, value), f64::max(high, value))
            });
        let level = |value: f64| {
            let share = if high > low { (value - low) / (high - low) } else { 0.5 };
            levels[(share * (levels.len() - 1) as f64).round() as usize]
        };
        values.map(level).collect()
    }

    /// Returns the text with the signs of the terminal.
    pub fn signs(self, text: &str) -> String {
        match self.ascii {
            true => text.to_owned(),
            false => typographic(text).replace('\u{a0}', " "),
        }
    }

    /// Returns the table with the signs of the terminal in all cells.
    pub(super) fn table(self, table: &TextTable) -> TextTable {
        let mut table = table.clone();
        for column in &mut table.columns {
            column.head = self.signs(&column.head);
            column.cells.iter_mut().for_each(|cell| *cell = self.signs(cell));
        }
        table
    }

    /// Returns the mark of a class of verdicts; a space for a class without one.
    pub(super) fn mark(self, class: &str) -> char {
        let mark = MARKS.iter().find(|mark| mark.0 == class);
        mark.map_or(' ', |(_, sign, ascii, _)| if self.ascii { *ascii } else { *sign })
    }

    /// Returns the text with its marks in colour: those at the start of a line, and within a table
    /// those between spaces.
    pub(super) fn painted(self, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let ink_of = |letter: char| {
            let known = |mark: &&(&str, char, char, Ink)| letter == self.mark(mark.0);
            MARKS.iter().find(known).map(|mark| mark.3)
        };
        let line = |line: &str| {
            let mut out = String::new();
            let mut before = ' ';
            let mut letters = line.chars().peekable();
            while let Some(letter) = letters.next() {
                let alone = before == ' ' && letters.peek() == Some(&' ');
                match ink_of(letter).filter(|_| alone) {
                    Some(ink) => out += &ink.on(&letter.to_string()),
                    None => out.push(letter),
                }
                before = letter;
            }
            out
        };
        text.split('\n').map(line).collect::<Vec<_>>().join("\n")
    }

    /// Returns the text in this colour, line by line, if the terminal has colours.
    pub(super) fn ink(self, ink: Ink, text: &str) -> String {
        let line = |line: &str| if line.is_empty() { String::new() } else { ink.on(line) };
        match self.colour {
            true => text.split('\n').map(line).collect::<Vec<_>>().join("\n"),
            false => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_coloured_where_they_stand_alone() {
        let look = TerminalLook { colour: true, ascii: false };
        let painted = look.painted("\u{25bc} loop  ? x  a? (?)");
        assert_eq!(
            painted,
            format!("{} loop  {} x  a? (?)", Ink::Red.on("\u{25bc}"), Ink::Yellow.on("?"))
        );
        assert_eq!(TerminalLook::default().painted("? x"), "? x");
        assert_eq!(look.signs("-4.3 +- 1.5 %"), "\u{2212}4.3 \u{b1} 1.5 %");
        let ascii = TerminalLook { ascii: true, ..look };
        assert_eq!((ascii.signs("+- 2 us"), ascii.mark("cost")), ("+- 2 us".into(), 'v'));
    }
}
