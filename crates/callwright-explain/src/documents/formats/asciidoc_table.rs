//! Tables of AsciiDoc → rows.

use super::delimited::csv_rows;
use super::tables::{DocumentTableRow, MAX_COLUMNS};
use super::writer::BlockWriter;

/// Options in the block attributes before a table.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableOptions {
    columns: Option<usize>,
    has_header: bool,
    separator: Option<char>,
    is_delimited: bool,
}

impl TableOptions {
    pub(crate) fn parse(attributes: &str) -> Self {
        let value = |name: &str| {
            let (_, behind) = attributes.split_once(name)?;
            let behind = behind.strip_prefix('=')?;
            match behind.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next(),
                None => behind.split([',', ']']).next(),
            }
        };
        let named = attributes.contains("%header") || value("options").or_else(|| value("opts")).is_some_and(is_header);
        let separator = value("separator").or_else(|| value("format").and_then(separator_of));
        Self {
            columns: value("cols").map(columns),
            has_header: named,
            separator: separator.and_then(|text| text.chars().next()),
            is_delimited: value("format").is_some(),
        }
    }
}

fn is_header(options: &str) -> bool {
    options.split(',').any(|option| option.trim() == "header")
}

fn separator_of(format: &str) -> Option<&'static str> {
    match format {
        "csv" => Some(","),
        "dsv" => Some(":"),
        "tsv" => Some("\t"),
        _ => None,
    }
}

/// Returns the number of columns of a specification: `1,2a`, `3*`, `2*,4`.
fn columns(specification: &str) -> usize {
    let counts = specification.split([',', ';']).map(|column| {
        let repeated = column.trim().split_once('*').and_then(|(count, _)| count.parse::<usize>().ok());
        repeated.unwrap_or(1).min(MAX_COLUMNS)
    });
    counts.sum::<usize>().clamp(1, MAX_COLUMNS)
}

/// Maximum number of copies of a cell.
const MAX_COPIES: usize = 20;

#[derive(Debug)]
struct Cell {
    text: String,
    rows: usize,
    columns: usize,
    copies: usize,
}

/// Table that is being read.
pub(crate) struct AsciidocTable {
    options: TableOptions,
    separator: char,
    cells: Vec<Cell>,
    /// Number of cells in the first line with cells.
    first_line: usize,
    /// Number of cells before the first blank line behind the first cells.
    first_group: Option<usize>,
    /// Whether a blank line follows the first line with cells.
    has_gap: bool,
    /// Unparsed lines of a table in a delimited format.
    raw: Vec<String>,
}

impl AsciidocTable {
    /// Starts a table if the line is its delimiter.
    pub(crate) fn begins(line: &str, options: &TableOptions) -> Option<Self> {
        let mark = line.strip_suffix("===").filter(|mark| matches!(*mark, "|" | "," | ":" | "!"))?.chars().next()?;
        let mut options = options.clone();
        options.is_delimited |= matches!(mark, ',' | ':');
        let separator = options.separator.unwrap_or(mark);
        Some(Self {
            options,
            separator,
            cells: Vec::new(),
            first_line: 0,
            first_group: None,
            has_gap: false,
            raw: Vec::new(),
        })
    }

    pub(crate) fn line(&mut self, line: &str) {
        if self.options.is_delimited {
            return self.raw.push(line.to_owned());
        }
        if line.is_empty() {
            if !self.cells.is_empty() && self.first_group.is_none() {
                self.first_group = Some(self.cells.len());
                self.has_gap = self.first_line == self.cells.len();
            }
            if let Some(cell) = self.cells.last_mut() {
                cell.text.push('\n');
            }
            return;
        }
        let before = self.cells.len();
        let mut parts = split_unescaped(line, self.separator);
        let head = parts.remove(0);
        let (text, mut next) = if parts.is_empty() { (head, Cell::new()) } else { cell_of(&head) };
        self.append(&text);
        let count = parts.len();
        for (at, part) in parts.into_iter().enumerate() {
            let (text, behind) = if at + 1 < count { cell_of(&part) } else { (part, Cell::new()) };
            next.text = text.trim().to_owned();
            self.cells.push(std::mem::replace(&mut next, behind));
        }
        if before == 0 {
            self.first_line = self.cells.len();
        }
    }

    fn append(&mut self, text: &str) {
        if let Some(cell) = self.cells.last_mut().filter(|_| !text.trim().is_empty()) {
            if !cell.text.is_empty() && !cell.text.ends_with('\n') {
                cell.text.push(if text.trim_start().starts_with(['*', '-', '.']) { '\n' } else { ' ' });
            }
            cell.text.push_str(text.trim());
        }
    }

    /// Writes the rows; `inline` removes the markup of a cell.
    pub(crate) fn write(self, to: &mut BlockWriter, inline: fn(&str) -> String) {
        if self.options.is_delimited {
            let separator = u8::try_from(self.separator).unwrap_or(b',');
            let rows = csv_rows(self.raw.join("\n").as_bytes(), separator).into_iter().enumerate();
            let rows = rows.map(|(at, cells)| {
                let cells = cells.iter().map(|cell| inline(cell)).collect();
                DocumentTableRow::new(cells, self.options.has_header && at == 0)
            });
            return to.table(rows.collect());
        }
        let columns = self.columns();
        to.begin_table();
        to.table_head(self.options.has_header || self.has_gap && self.first_line == columns);
        for cell in &self.cells {
            for _ in 0..cell.copies {
                if to.row_width() >= columns {
                    to.table_head(false);
                }
                to.begin_cell(false, (cell.rows, cell.columns));
                to.text(&inline(cell.text.trim()));
            }
        }
        to.end_table();
    }

    fn columns(&self) -> usize {
        let by_lines = if self.first_line > 1 { self.first_line } else { self.first_group.unwrap_or(self.first_line) };
        let spans = self.cells.iter().take(by_lines).map(|cell| cell.columns * cell.copies);
        self.options.columns.unwrap_or_else(|| spans.sum()).clamp(1, MAX_COLUMNS)
    }
}

impl Cell {
    fn new() -> Self {
        Self { text: String::new(), rows: 1, columns: 1, copies: 1 }
    }
}

/// Splits off the specification of the next cell at the end of a text: `2.3+^.>s`.
fn cell_of(text: &str) -> (String, Cell) {
    let mut cell = Cell::new();
    let trimmed = text.trim_end_matches(['a', 'd', 'e', 'h', 'l', 'm', 's', 'v']);
    // At most one letter names the style.
    let styled = if text.len() - trimmed.len() <= 1 { trimmed } else { text };
    let aligned = styled.trim_end_matches(['<', '>', '^', '.']);
    let start = aligned.trim_end_matches(|character: char| !character.is_whitespace()).len();
    let (before, specification) = aligned.split_at(start);
    let (spans, factor) = match (specification.strip_suffix('+'), specification.strip_suffix('*')) {
        (Some(spans), _) => (spans, false),
        (_, Some(count)) => (count, true),
        _ if specification.is_empty() && (before.is_empty() || before.ends_with(char::is_whitespace)) => {
            return (before.to_owned(), cell);
        }
        _ => return (text.to_owned(), cell),
    };
    let (columns, rows) = spans.split_once('.').unwrap_or((spans, ""));
    if !columns.bytes().chain(rows.bytes()).all(|byte| byte.is_ascii_digit()) {
        return (text.to_owned(), cell);
    }
    let count = columns.parse().unwrap_or(1).clamp(1, MAX_COLUMNS);
    if factor {
        cell.copies = count.min(MAX_COPIES);
    } else {
        cell.columns = count;
        cell.rows = rows.parse().unwrap_or(1).clamp(1, MAX_COLUMNS);
    }
    (before.to_owned(), cell)
}

/// Splits a line at a separator that no backslash precedes.
fn split_unescaped(line: &str, separator: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut marks = line.chars().peekable();
    while let Some(mark) = marks.next() {
        if mark == '\\' && marks.peek() == Some(&separator) {
            marks.next();
            if let Some(part) = parts.last_mut() {
                part.push(separator);
            }
        } else if mark == separator {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(mark);
        }
    }
    parts
}
