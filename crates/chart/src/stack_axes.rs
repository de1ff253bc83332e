//! Two axes on which stacks lie, found in their names: cache modes and queues, protocols and back
//! ends.

use iotax_units::distinct;

/// Stacks as a table: the words that differ, and the index of the stack in each cell.
#[derive(Debug, PartialEq)]
pub(crate) struct StackAxes {
    pub(crate) rows: Vec<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) cells: Vec<Vec<Option<usize>>>,
}

/// Least number of stacks that make a table.
const LEAST: usize = 4;

/// Returns the axes of stacks whose names have the same words but for two; `None` for others.
/// `names` has the index of each stack.
pub(crate) fn stack_axes(names: &[(usize, &str)]) -> Option<StackAxes> {
    let words: Vec<Vec<&str>> = names.iter().map(|(_, name)| words_of(name)).collect();
    let length = words.first()?.len();
    if names.len() < LEAST || words.iter().any(|one| one.len() != length) {
        return None;
    }
    let differs = |at: &usize| words.iter().any(|one| one[*at] != words[0][*at]);
    let differing: Vec<usize> = (0..length).filter(differs).collect();
    let [a, b] = differing[..] else { return None };
    let rows = distinct(words.iter().map(|one| one[a]));
    let columns = distinct(words.iter().map(|one| one[b]));
    let find = |row: &str, column: &str| {
        let mut found =
            words.iter().zip(names).filter(|(one, _)| one[a] == row && one[b] == column);
        let first = found.next().map(|(_, (index, _))| *index);
        (first, found.next().is_none())
    };
    let mut cells = Vec::new();
    for row in &rows {
        let of_row: Vec<_> = columns.iter().map(|column| find(row, column)).collect();
        // Two stacks of one name have no cell of their own.
        if of_row.iter().any(|(_, is_sole)| !is_sole) {
            return None;
        }
        cells.push(of_row.into_iter().map(|(stack, _)| stack).collect());
    }
    let is_table =
        rows.len() > 1 && columns.len() > 1 && 2 * names.len() > rows.len() * columns.len();
    let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
    is_table.then(|| StackAxes { rows: owned(rows), columns: owned(columns), cells })
}

fn words_of(name: &str) -> Vec<&str> {
    name.split([' ', '(', ')', ',', '+', '|', '-']).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_two_words_are_a_table() {
        let names = [
            "vm(cache=none,queues=1)",
            "vm(cache=none,queues=4)",
            "vm(cache=unsafe,queues=4)",
            "vm(cache=unsafe,queues=1)",
        ];
        let numbered: Vec<(usize, &str)> = names.into_iter().enumerate().collect();
        let axes = stack_axes(&numbered).unwrap();
        assert_eq!(
            (axes.rows, axes.columns),
            (
                vec!["cache=none".into(), "cache=unsafe".into()],
                vec!["queues=1".into(), "queues=4".into()]
            )
        );
        assert_eq!(axes.cells, [[Some(0), Some(1)], [Some(3), Some(2)]]);
        assert_eq!(stack_axes(&numbered[..3]), None);
        let same: Vec<(usize, &str)> = vec![(0, "a-b"), (1, "a-b"), (2, "c-b"), (3, "c-d")];
        assert_eq!(stack_axes(&same), None);
        let diagonal: Vec<(usize, &str)> = vec![(0, "a-b"), (1, "c-d"), (2, "e-f"), (3, "g-h")];
        assert_eq!(stack_axes(&diagonal), None);
    }
}
