//! Common output of the Markdown and HTML parsers: events for headings, paragraphs, lists and tables → blocks.

use super::plain::{parts, plain};
use super::tables::{DocumentTableRow, MAX_COLUMNS, records};
use crate::documents::blocks::{BOLD_LINE, BlockKind, DocumentBlock, FLOW};
use callwright_common::text::one_line;

/// Maximum nesting depth of lists and definitions; deeper ones count as the deepest.
pub(crate) const MAX_NESTING: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    /// List or definition list.
    List,
    /// List item, or a term with its definition.
    Item,
}

/// Kind of the block whose text is being collected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum OpenBlockKind {
    #[default]
    Prose,
    Heading(usize),
    Item,
    Code,
}

/// Builds blocks from parser events.
#[derive(Debug, Default)]
pub(crate) struct BlockWriter {
    blocks: Vec<DocumentBlock>,
    text: String,
    open: OpenBlockKind,
    containers: Vec<Container>,
    table: Option<OpenTable>,
    /// Number of open strong elements, and whether the paragraph has text inside and outside of them.
    strong: usize,
    has_strong: bool,
    has_plain: bool,
}

#[derive(Debug, Default)]
struct OpenTable {
    rows: Vec<DocumentTableRow>,
    row: DocumentTableRow,
    in_cell: bool,
    in_head: bool,
    /// Number of open nested tables; their text belongs to the cell.
    within: usize,
    /// Number of further rows into which the cells of each column reach.
    below: Vec<usize>,
    /// Number of further columns that the last cell spans.
    wide: usize,
}

impl BlockWriter {
    /// Appends text to the current block.
    pub(crate) fn text(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.has_plain |= self.strong == 0;
            self.has_strong |= self.strong > 0;
        }
        match self.table.as_mut().filter(|table| table.in_cell) {
            Some(table) => table.row.cells.last_mut().into_iter().for_each(|cell| cell.push_str(text)),
            // Between table cells there is only whitespace, or text that browsers move in front of the table.
            None => self.text.push_str(text),
        }
    }

    /// Appends a code span.
    pub(crate) fn code(&mut self, code: &str) {
        self.text("`");
        self.text(code);
        self.text("`");
    }

    /// Starts or ends strong text.
    pub(crate) fn strong(&mut self, begins: bool) {
        self.strong = if begins { self.strong + 1 } else { self.strong.saturating_sub(1) };
    }

    /// Ends a line within a cell or a paragraph.
    pub(crate) fn end_line(&mut self) {
        if self.in_cell() {
            self.text("\n");
        } else if self.open == OpenBlockKind::Code {
            self.text.push('\n');
        } else {
            self.end_paragraph();
        }
    }

    /// Ends the current paragraph, heading or other text.
    pub(crate) fn end_paragraph(&mut self) {
        if self.in_cell() {
            return self.text("\n");
        }
        let is_bold = self.has_strong && !self.has_plain;
        let open = std::mem::take(&mut self.open);
        (self.has_strong, self.has_plain) = (false, false);
        let text = std::mem::take(&mut self.text);
        if open == OpenBlockKind::Code && !is_sample(&text) {
            let depth = self.depth();
            let lines = plain(&text).into_iter();
            self.blocks
                .extend(lines.map(|block| DocumentBlock { depth: block.depth.max(FLOW) - FLOW + depth, ..block }));
            return;
        }
        if open == OpenBlockKind::Prose
            && let Some(rows) = broken_table(&text)
        {
            return self.rows(rows);
        }
        let mut parts = if open == OpenBlockKind::Code { vec![one_line(&text)] } else { parts(&text) }.into_iter();
        let Some(text) = parts.next().filter(|text| !text.is_empty()) else {
            // The item's first paragraph is still to come.
            if open == OpenBlockKind::Item {
                self.open = open;
            }
            return;
        };
        let depth = self.depth();
        let (depth, kind) = match open {
            OpenBlockKind::Heading(level) => (level, BlockKind::Heading(text)),
            OpenBlockKind::Item => (depth.saturating_sub(1).max(FLOW), BlockKind::Item(text)),
            OpenBlockKind::Code => (depth, BlockKind::Code(text)),
            OpenBlockKind::Prose if is_bold && self.containers.is_empty() => (BOLD_LINE, BlockKind::Heading(text)),
            OpenBlockKind::Prose => (depth, BlockKind::Prose(text)),
        };
        self.blocks.push(DocumentBlock { depth, kind });
        let depth = self.depth();
        self.blocks.extend(parts.map(|text| DocumentBlock { depth, kind: BlockKind::Prose(text) }));
    }

    /// Starts a heading; [`BlockWriter::end_paragraph`] ends it.
    pub(crate) fn begin_heading(&mut self, level: usize) {
        self.end_paragraph();
        if !self.in_cell() {
            self.open = OpenBlockKind::Heading(level);
        }
    }

    /// Starts a code block; [`BlockWriter::end_paragraph`] ends it.
    pub(crate) fn begin_code(&mut self) {
        self.end_paragraph();
        if !self.in_cell() {
            self.open = OpenBlockKind::Code;
        }
    }

    pub(crate) fn begin_list(&mut self) {
        self.end_paragraph();
        self.containers.push(Container::List);
        self.containers.truncate(2 * MAX_NESTING);
    }

    /// Ends a list and its last item.
    pub(crate) fn end_list(&mut self) {
        self.end_container(Container::List);
    }

    /// Starts a list item or term; ends the previous one of the same list.
    pub(crate) fn begin_item(&mut self) {
        self.end_item();
        self.containers.push(Container::Item);
        self.containers.truncate(2 * MAX_NESTING);
        if !self.in_cell() {
            self.open = OpenBlockKind::Item;
        }
    }

    pub(crate) fn end_item(&mut self) {
        self.end_paragraph();
        self.open = OpenBlockKind::Prose;
        if self.containers.last() == Some(&Container::Item) {
            self.containers.pop();
        }
    }

    /// Ends the innermost container of a kind and everything inside it. Does nothing if none is open.
    fn end_container(&mut self, container: Container) {
        self.end_paragraph();
        self.open = OpenBlockKind::Prose;
        if let Some(at) = self.containers.iter().rposition(|open| *open == container) {
            self.containers.truncate(at);
        }
    }

    pub(crate) fn begin_table(&mut self) {
        match self.table.as_mut() {
            Some(table) => table.within += 1,
            None => {
                self.end_paragraph();
                self.table = Some(OpenTable::default());
            }
        }
    }

    /// Ends a table; its rows become records.
    pub(crate) fn end_table(&mut self) {
        match self.table.as_mut() {
            Some(table) if table.within > 0 => table.within -= 1,
            _ => {
                let Some(mut table) = self.table.take() else { return };
                table.end_row();
                self.rows(table.rows);
            }
        }
    }

    /// Adds a table that was read as a whole.
    pub(crate) fn table(&mut self, rows: Vec<DocumentTableRow>) {
        self.end_paragraph();
        self.rows(rows);
    }

    fn rows(&mut self, rows: Vec<DocumentTableRow>) {
        let depth = self.depth();
        self.blocks.extend(records(rows).into_iter().map(|kind| DocumentBlock { depth, kind }));
    }

    /// Starts or ends the header rows of a table.
    pub(crate) fn table_head(&mut self, begins: bool) {
        if let Some(table) = self.own_table() {
            table.end_row();
            table.in_head = begins;
        }
    }

    /// Ends the current row and starts the next.
    pub(crate) fn next_row(&mut self) {
        if let Some(table) = self.own_table() {
            table.end_row();
        }
    }

    /// Returns the number of columns of the current row that have a cell of it or of an earlier row.
    pub(crate) fn row_width(&mut self) -> usize {
        self.own_table().map_or(0, |table| {
            table.reach_down();
            table.row.cells.len()
        })
    }

    /// Starts a cell that spans this many rows and columns; ends the previous one.
    pub(crate) fn begin_cell(&mut self, is_header: bool, (rows, columns): (usize, usize)) {
        self.end_cell();
        if let Some(table) = self.own_table() {
            table.reach_down();
            let is_first = table.row.cells.iter().all(String::is_empty);
            table.row.all_headers = is_header && (is_first || table.row.all_headers);
            table.row.first_is_header |= is_first && is_header;
            table.span(rows, columns);
            table.in_cell = true;
        }
    }

    pub(crate) fn end_cell(&mut self) {
        let is_bold = self.has_strong && !self.has_plain;
        let Some(table) = self.own_table().filter(|table| table.in_cell) else { return };
        table.in_cell = false;
        if is_bold && table.row.cells.len() == 1 {
            table.row.first_is_header = true;
        }
        (self.has_strong, self.has_plain) = (false, false);
    }

    /// Returns the current table, unless the parser is inside a nested table.
    fn own_table(&mut self) -> Option<&mut OpenTable> {
        self.table.as_mut().filter(|table| table.within == 0)
    }

    fn in_cell(&self) -> bool {
        self.table.as_ref().is_some_and(|table| table.in_cell)
    }

    fn depth(&self) -> usize {
        FLOW + self.containers.iter().filter(|open| **open == Container::Item).count()
    }

    pub(crate) fn finish(mut self) -> Vec<DocumentBlock> {
        while self.table.is_some() {
            self.end_table();
        }
        self.end_paragraph();
        self.blocks
    }
}

/// Returns the rows of a paragraph whose lines are separated into cells by bars: a table that lost its header, for
/// example because a cell has a line break.
fn broken_table(text: &str) -> Option<Vec<DocumentTableRow>> {
    if !text.contains('|') {
        return None;
    }
    let mut rows: Vec<DocumentTableRow> = Vec::new();
    let mut others = 0;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let cells = bar_cells(line);
        match rows.last_mut().and_then(|row| row.cells.last_mut()) {
            _ if cells.len() > 1 => {
                rows.push(DocumentTableRow::new(cells, false));
            }
            Some(cell) => {
                others += 1;
                cell.push(' ');
                cell.push_str(line);
            }
            None => others += 1,
        }
    }
    (rows.len() > 1 && rows.len() >= 2 * others).then_some(rows)
}

/// Splits a line at bars outside of code spans.
fn bar_cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut in_code = false;
    for mark in line.trim_matches('|').chars() {
        in_code ^= mark == '`';
        match cells.last_mut() {
            _ if mark == '|' && !in_code => cells.push(String::new()),
            Some(cell) => cell.push(mark),
            None => {}
        }
    }
    if line.ends_with('|') && cells.len() == 1 {
        cells.push(String::new());
    }
    cells.truncate(MAX_COLUMNS);
    cells
}

/// Punctuation of programs and data.
const CODE_MARKS: [char; 12] = ['{', '}', '[', ']', '<', '>', '=', ';', '"', '\\', '$', '+'];

/// Whether a code block is a sample of a program or of data and not a list of codes with their meanings.
fn is_sample(text: &str) -> bool {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    let marks = text.chars().filter(|mark| CODE_MARKS.contains(mark)).count();
    let all = text.chars().filter(|mark| !mark.is_whitespace()).count();
    lines < 2 || marks * 25 > all
}

impl OpenTable {
    fn end_row(&mut self) {
        self.in_cell = false;
        if self.row.cells.is_empty() {
            return;
        }
        self.reach_down();
        let mut row = std::mem::take(&mut self.row);
        row.all_headers |= self.in_head;
        self.rows.push(row);
    }

    /// Adds empty cells where the last cell or cells of earlier rows reach.
    fn reach_down(&mut self) {
        let wide = self.row.cells.len() + std::mem::take(&mut self.wide);
        self.row.cells.resize(wide, String::new());
        while let Some(below) = self.below.get_mut(self.row.cells.len()).filter(|below| **below > 0) {
            *below -= 1;
            self.row.cells.push(String::new());
        }
    }

    /// Adds a cell that reaches into further rows and columns.
    fn span(&mut self, rows: usize, columns: usize) {
        let first = self.row.cells.len();
        let end = (first + columns.max(1)).min(MAX_COLUMNS);
        if rows > 1 && self.below.len() < end {
            self.below.resize(end, 0);
        }
        for below in self.below.iter_mut().take(end).skip(first) {
            *below = rows.saturating_sub(1);
        }
        self.row.cells.push(String::new());
        self.wide = end.saturating_sub(first + 1);
    }
}
