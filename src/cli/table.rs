//! Tables of text for the terminal.

use anstyle::Style;

use super::plain;

/// Alignment and width of a column.
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
    text: String,
}

impl TextTable {
    pub(super) fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), text: String::new() }
    }

    /// Appends a row; a row may have fewer cells than there are columns.
    pub(super) fn row(&mut self, name: &str, cells: &[impl AsRef<str>]) {
        let cells = std::iter::once(name).chain(cells.iter().map(AsRef::as_ref));
        for (number, (column, cell)) in self.columns.iter().zip(cells).enumerate() {
            let cell = plain::text(cell);
            let gap = if number == 0 { "" } else { GAP };
            self.text.push_str(&match *column {
                Column::Cut(width) => format!("{:<width$}", cut(cell, width)),
                Column::Left(width) => format!("{gap}{cell:<width$}"),
                Column::Right(width) => format!("{cell:>width$}"),
                Column::Rest => format!("{gap}{cell}"),
            });
        }
        self.text.push('\n');
    }

    /// Appends the header line.
    pub(super) fn header(&mut self, name: &str, cells: &[&str]) {
        let style = Style::new().bold();
        let start = self.text.len();
        self.row(name, cells);
        let line = self.text.split_off(start);
        self.text.push_str(&format!("{style}{}{style:#}\n", line.trim_end()));
    }

    /// Appends a line of the program's own text.
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
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
