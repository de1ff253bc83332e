//! The rows of a table as its tags come: cells that go over several columns and rows are put into rows of one cell a column.

use html5gum::StartTag;

/// More columns are cut: nobody reads them.
const MOST_COLUMNS: usize = 512;
/// Copies that spans may make besides as many as there are cells: a few bytes could ask for millions.
const COPIES: usize = 10_000;

/// How many columns or rows a cell says that it takes.
pub(crate) fn span(tag: &StartTag<usize>, name: &[u8]) -> usize {
    let text = tag.attributes.get(name).and_then(|text| std::str::from_utf8(&text.value).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(1).clamp(1, 65_534)
}

/// A table that is read.
pub(crate) struct Rows<T> {
    /// The rows that are whole.
    pub rows: Vec<Row<T>>,
    open: Vec<T>,
    /// Line of the open row.
    line: usize,
    in_head: bool,
    /// Whether the open row has nothing but `<th>`.
    all_heads: bool,
    /// Of each column: in how many rows its cell goes on, and that cell.
    below: Vec<(usize, T)>,
    copies: usize,
}

/// A row.
pub(crate) struct Row<T> {
    /// Its line.
    pub line: usize,
    /// One a column.
    pub cells: Vec<T>,
    head: bool,
}

impl<T: Clone + Default> Rows<T> {
    /// A table that begins at a line.
    pub fn new(line: usize) -> Rows<T> {
        let (rows, open, below) = (Vec::new(), Vec::new(), Vec::new());
        Rows { rows, open, line, in_head: false, all_heads: true, below, copies: COPIES }
    }

    /// `<thead>` and the like begins or ends.
    pub fn section(&mut self, name: &[u8], begins: bool) {
        match name {
            b"thead" => self.in_head = begins,
            b"tbody" | b"tfoot" if begins => self.in_head = false,
            _ => {}
        }
    }

    /// `<td>` or `<th>`.
    pub fn cell_begins(&mut self, name: &[u8]) {
        self.all_heads &= name == b"th";
    }

    /// The next cell of the row, whole.
    pub fn cell(&mut self, cell: T, columns: usize, rows: usize) {
        self.go_on_from_above();
        self.copies += 1;
        for _ in 0..columns.min(MOST_COLUMNS) {
            if self.open.len() >= MOST_COLUMNS || self.copies == 0 {
                return;
            }
            if rows > 1 {
                let column = self.open.len();
                self.below.resize(self.below.len().max(column + 1), (0, T::default()));
                self.below[column] = (rows - 1, cell.clone());
            }
            self.copies -= 1;
            self.open.push(cell.clone());
        }
    }

    /// The row ends, the next one may begin at a line.
    pub fn row_ends(&mut self, line: usize) {
        if !self.open.is_empty() {
            self.go_on_from_above();
            let cells = std::mem::take(&mut self.open);
            self.rows.push(Row { line: self.line, head: self.in_head || self.all_heads, cells });
        }
        (self.all_heads, self.line) = (true, line);
    }

    /// How many rows at its top are heads.
    pub fn heads(&self) -> usize {
        self.rows.iter().take_while(|row| row.head).count()
    }

    /// Cells of rows above that go on here.
    fn go_on_from_above(&mut self) {
        while let Some((rows, cell)) = self.below.get_mut(self.open.len()).filter(|(rows, _)| *rows > 0) {
            if self.copies == 0 {
                return;
            }
            *rows -= 1;
            self.copies -= 1;
            self.open.push(cell.clone());
        }
    }
}
