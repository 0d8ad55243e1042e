//! Tables of text for the terminal.

use anstyle::Style;

use super::plain;

/// Alignment and width of a column. A column of the first kinds is as wide as its longest cell, or wider.
#[derive(Debug, Clone, Copy)]
pub(super) enum Column {
    /// Left-aligned first column; longer texts are cut.
    Cut(usize),
    /// Left-aligned; all but the first column follow a gap.
    Left(usize),
    /// Right-aligned; the width includes the gap.
    Right(usize),
    /// The rest of the line, after a gap.
    Rest,
}

/// Gap before a left-aligned column.
const GAP: &str = "  ";

/// A table whose cells cannot act on the terminal.
#[derive(Debug)]
pub(super) struct TextTable {
    columns: Vec<Column>,
    lines: Vec<Line>,
}

#[derive(Debug)]
enum Line {
    Header(Vec<String>),
    Row(Vec<String>),
    /// The program's own text.
    Text(String),
}

impl TextTable {
    pub(super) fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), lines: Vec::new() }
    }

    /// Appends a row; a row may have fewer cells than there are columns.
    pub(super) fn row(&mut self, name: &str, cells: &[impl AsRef<str>]) {
        let row = self.cells(name, cells);
        self.lines.push(Line::Row(row));
    }

    /// Appends the header line.
    pub(super) fn header(&mut self, name: &str, cells: &[&str]) {
        let header = self.cells(name, cells);
        self.lines.push(Line::Header(header));
    }

    /// Appends a line of the program's own text.
    pub(super) fn line(&mut self, line: &str) {
        self.lines.push(Line::Text(line.to_owned()));
    }

    /// Returns the cells of a row, and widens the columns that need it.
    fn cells(&mut self, name: &str, cells: &[impl AsRef<str>]) -> Vec<String> {
        let cells = std::iter::once(name).chain(cells.iter().map(AsRef::as_ref)).map(plain::text);
        let cells: Vec<String> = cells.collect();
        for (column, cell) in self.columns.iter_mut().zip(&cells) {
            if let Column::Left(width) = column {
                *width = (*width).max(cell.chars().count());
            }
        }
        cells
    }

    pub(super) fn into_text(self) -> String {
        let style = Style::new().bold();
        let mut text = String::new();
        for line in &self.lines {
            text.push_str(&match line {
                Line::Header(cells) => format!("{style}{}{style:#}", self.aligned(cells).trim_end()),
                Line::Row(cells) => self.aligned(cells),
                Line::Text(line) => line.clone(),
            });
            text.push('\n');
        }
        text
    }

    fn aligned(&self, cells: &[String]) -> String {
        let mut text = String::new();
        for (number, (column, cell)) in self.columns.iter().zip(cells).enumerate() {
            let gap = if number == 0 { "" } else { GAP };
            text.push_str(&match *column {
                Column::Cut(width) => format!("{:<width$}", cut(cell.clone(), width)),
                Column::Left(width) => format!("{gap}{cell:<width$}"),
                Column::Right(width) => format!("{cell:>width$}"),
                Column::Rest => format!("{gap}{cell}"),
            });
        }
        text
    }
}

/// Returns the beginning of a text for the last column of a list of what was learned.
pub(super) fn beginning(text: &str, is_retired: bool) -> String {
    let beginning: String = text.chars().take(80).collect();
    if is_retired { beginning + "  (retired)" } else { beginning }
}

/// Cuts a text to a width, and marks the cut.
fn cut(mut text: String, width: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(width) {
        text.truncate(end);
        text.pop();
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_aligned_cut_and_escaped() {
        let mut table = TextTable::new([Column::Cut(4), Column::Right(4), Column::Rest]);
        table.row("abcde", &["1", "rest"]);
        table.row("äb\u{1b}", &["22"]);
        table.line("end");
        assert_eq!(table.into_text(), "abc…   1  rest\näb\\…  22\nend\n");
    }
}
