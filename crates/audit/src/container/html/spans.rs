//! Cells that go over several columns and rows, as HTML has them, put into rows of one cell a column.

/// More columns are cut: nobody reads them.
const MOST_COLUMNS: usize = 512;
/// Copies that spans may make besides as many as there are cells: a few bytes could ask for millions.
const COPIES: usize = 10_000;

/// The rows of a table as they are read.
#[derive(Debug)]
pub(crate) struct Spans<T> {
    row: Vec<T>,
    /// Of each column: in how many rows its cell goes on, and that cell.
    below: Vec<(usize, Option<T>)>,
    copies: usize,
}

impl<T> Default for Spans<T> {
    fn default() -> Spans<T> {
        Spans { row: Vec::new(), below: Vec::new(), copies: COPIES }
    }
}

impl<T: Clone + Default> Spans<T> {
    /// The count that an attribute says.
    pub fn count(attribute: Option<&[u8]>) -> usize {
        let text = attribute.and_then(|text| std::str::from_utf8(text).ok());
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(1).clamp(1, 65_534)
    }

    /// The next cell of the row.
    pub fn cell(&mut self, cell: T, columns: usize, rows: usize) {
        self.go_on_from_above();
        self.copies += 1;
        for _ in 0..columns.min(MOST_COLUMNS) {
            if self.row.len() >= MOST_COLUMNS || self.copies == 0 {
                return;
            }
            let column = self.row.len();
            if rows > 1 {
                self.below.resize_with(self.below.len().max(column + 1), || (0, None));
                self.below[column] = (rows - 1, Some(cell.clone()));
            }
            self.copies -= 1;
            self.row.push(cell.clone());
        }
    }

    /// The row, whole.
    pub fn end_row(&mut self) -> Vec<T> {
        if !self.row.is_empty() {
            self.go_on_from_above();
        }
        std::mem::take(&mut self.row)
    }

    /// Cells of rows above that go on here.
    fn go_on_from_above(&mut self) {
        while let Some((rows, cell)) = self.below.get_mut(self.row.len()).filter(|(rows, _)| *rows > 0) {
            if self.copies == 0 {
                return;
            }
            *rows -= 1;
            self.copies -= 1;
            self.row.push(cell.clone().unwrap_or_default());
        }
    }
}
