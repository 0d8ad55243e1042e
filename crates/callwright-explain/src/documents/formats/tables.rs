//! Tables → records: each row with the labels of its columns, or each group of rows whose first cells are the labels.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::documents::blocks::BlockKind;
use crate::documents::labels::{LabelRole, MAX_LABEL_WORDS, role};
use crate::documents::records::{LabelledRecord, joined};
use crate::index::codes::{CodeLikelihood, is_integer, normal_form, strength};
use callwright_common::text::{letters, one_line};

/// Maximum number of cells per row or members per object in one record, because each is compared with the others.
/// Further cells are omitted; further members form additional records.
pub(crate) const MAX_COLUMNS: usize = 200;

/// Label of a code column without a label.
pub(crate) const CODE_LABEL: &str = "code";

/// Maximum number of different labels in the first column of a table whose rows are the members of records.
const MAX_ROW_LABELS: usize = 12;

/// Maximum length in bytes of a cell that the rows below inherit.
const MAX_INHERITED_BYTES: usize = 120;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DocumentTableRow {
    /// Text of each cell; lines within a cell are separated by line feeds.
    pub(crate) cells: Vec<String>,
    /// Whether all cells are marked as headers.
    pub(crate) all_headers: bool,
    /// Whether the first cell is marked as a header.
    pub(crate) first_is_header: bool,
}

impl DocumentTableRow {
    /// Creates a row, all cells of which are headers or none.
    pub(crate) fn new(cells: Vec<String>, all_headers: bool) -> Self {
        Self { cells, all_headers, first_is_header: false }
    }
}

/// Converts a table to blocks. The header is the row that is marked as such, or the first row if it resembles a
/// header.
pub(crate) fn records(rows: Vec<DocumentTableRow>) -> Vec<BlockKind> {
    let marked = rows.iter().take_while(|row| row.all_headers).count();
    let rows: Vec<(Vec<String>, bool)> = rows
        .into_iter()
        .map(|row| (row.cells.iter().take(MAX_COLUMNS).map(|cell| cell_text(cell)).collect(), row.first_is_header))
        .collect();
    if let Some(records) = repeated_labels(&rows, marked) {
        return records.into_iter().map(BlockKind::Row).collect();
    }
    if let Some(record) = vertical_record(&rows, marked) {
        return vec![BlockKind::Row(record)];
    }
    let reads_like_header = marked == 0 && rows.len() > 1 && rows.first().is_some_and(|(cells, _)| is_header(cells));
    let headers = if reads_like_header { 1 } else { marked };
    let header =
        headers.checked_sub(1).and_then(|last| rows.get(last)).map(|(cells, _)| cells.clone()).unwrap_or_default();
    labelled(header, rows.into_iter().skip(headers).map(|(cells, _)| cells).collect())
}

/// Labels rows by a header. Without a header, the column that consists mostly of codes is labelled as the code column.
pub(crate) fn labelled(header: Vec<String>, rows: Vec<Vec<String>>) -> Vec<BlockKind> {
    let header = if header.iter().all(String::is_empty) { header_of_codes(&rows) } else { header };
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default().max(header.len());
    let full = rows.iter().filter(|cells| filled(cells) > 1).count();
    let mut rows_of = TableRows {
        code: code_column(&header),
        takes_remarks: columns > 1 && 2 * full >= rows.len(),
        header,
        above: Vec::new(),
        blocks: Vec::new(),
    };
    for cells in rows {
        rows_of.row(cells);
    }
    rows_of.blocks
}

fn filled(cells: &[String]) -> usize {
    cells.iter().filter(|cell| !cell.is_empty()).count()
}

/// Rows of a table that are being converted.
struct TableRows {
    header: Vec<String>,
    code: usize,
    /// Whether a row with a single cell is a remark about the rows below.
    takes_remarks: bool,
    /// Cells of the previous row.
    above: Vec<String>,
    blocks: Vec<BlockKind>,
}

impl TableRows {
    fn row(&mut self, mut cells: Vec<String>) {
        let Some(first) = cells.iter().position(|cell| !cell.is_empty()) else { return };
        let continues = first > self.code && cells.get(self.code).is_some_and(String::is_empty);
        if continues && self.extend(&cells) {
            return;
        }
        if self.takes_remarks && filled(&cells) == 1 {
            let only = cells.swap_remove(first);
            let defines = first == self.code && strength(&only) > CodeLikelihood::Name && normal_form(&only).is_some();
            if !defines {
                // A short text is the heading of a group, which explains no row by itself.
                if is_sentence(&only) {
                    self.blocks.push(BlockKind::Prose(only));
                }
                return;
            }
            cells = vec![String::new(); first];
            cells.push(only);
        } else {
            // A cell that spans several rows, or is not repeated, applies to the rows below.
            for (cell, above) in cells.iter_mut().zip(&self.above).take(first.min(self.code)) {
                cell.clone_from(above);
            }
        }
        self.above.clear();
        self.above.extend(cells.iter().take(self.code).map(|cell| inherited(cell)));
        self.blocks.push(BlockKind::Row(LabelledRecord::of_row(&self.header, cells)));
    }

    /// Adds a row without a code to the record of the previous row.
    fn extend(&mut self, cells: &[String]) -> bool {
        let Some(BlockKind::Row(record)) = self.blocks.last_mut() else { return false };
        for ((_, value), more) in record.fields.iter_mut().zip(cells).filter(|(_, more)| !more.is_empty()) {
            if value != more {
                *value = joined(&[std::mem::take(value), more.clone()]);
            }
        }
        true
    }
}

fn is_sentence(text: &str) -> bool {
    text.ends_with(['.', '!', '?', '。', ':']) || text.split_whitespace().nth(MAX_LABEL_WORDS).is_some()
}

fn inherited(cell: &str) -> String {
    if cell.len() <= MAX_INHERITED_BYTES { cell.to_owned() } else { String::new() }
}

/// Returns the column of the codes by its label, or else the first.
fn code_column(header: &[String]) -> usize {
    let ranked = header.iter().enumerate().filter_map(|(at, label)| match role(label) {
        LabelRole::Code(rank) => Some((rank, at)),
        _ => None,
    });
    ranked.min().map_or(0, |(_, at)| at)
}

/// Returns labels for a table without a header: `code` for the column in which more than half of the rows have distinct
/// codes, and empty labels for the others.
fn header_of_codes(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let best = (0..columns).map(|column| (distinct_codes(rows, column), Reverse(column))).max();
    match best {
        Some((count, Reverse(column))) if count * 2 > rows.len() => {
            (0..=column).map(|at| if at == column { CODE_LABEL.to_owned() } else { String::new() }).collect()
        }
        _ => Vec::new(),
    }
}

fn distinct_codes(rows: &[Vec<String>], column: usize) -> usize {
    let cells = rows.iter().filter_map(|cells| cells.get(column)).filter(|cell| is_code(cell));
    cells.collect::<HashSet<_>>().len()
}

fn is_code(cell: &str) -> bool {
    is_integer(cell) || normal_form(cell).is_some() && strength(cell) > CodeLikelihood::Name
}

/// Converts a two-column table whose first column repeats the same few labels: a record ends where its first label
/// recurs, or at an empty row.
fn repeated_labels(rows: &[(Vec<String>, bool)], marked: usize) -> Option<Vec<LabelledRecord>> {
    let mut groups: Vec<Vec<(String, String)>> = vec![Vec::new()];
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut are_marked = true;
    for (cells, first_is_header) in rows.iter().skip_while(|(cells, _)| filled(cells) == 0) {
        let (label, value) = match cells.as_slice() {
            [label, value, rest @ ..] if rest.iter().all(String::is_empty) => (label, value),
            [label] => (label, label),
            _ => return None,
        };
        let open = groups.last_mut()?;
        if filled(cells) == 0 {
            groups.push(Vec::new());
            continue;
        }
        let key = letters(label);
        *counts.entry(key.clone()).or_default() += 1;
        are_marked &= *first_is_header;
        let field = (label.clone(), if std::ptr::eq(label, value) { String::new() } else { value.clone() });
        if open.iter().any(|(earlier, _)| letters(earlier) == key) {
            groups.push(vec![field]);
        } else if open.len() > MAX_ROW_LABELS {
            return None;
        } else {
            open.push(field);
        }
    }
    groups.retain(|group| !group.is_empty());
    let members: usize = groups.iter().map(Vec::len).sum();
    let recurring: usize = counts.values().filter(|count| **count > 1).sum();
    let few = counts.len() > 1 && counts.len() <= MAX_ROW_LABELS && members >= 2 * groups.len();
    let has_labels = groups.iter().flatten().any(|(label, _)| role(label) != LabelRole::Other);
    let repeats = groups.len() > 1 && recurring * 5 >= members * 4 && has_labels;
    // A single record has labels that are set in bold type.
    let single = groups.len() == 1 && are_marked && marked == 0 && has_labels && members > 1;
    (few && (repeats || single)).then(|| groups.into_iter().map(|fields| LabelledRecord { fields }).collect())
}

/// Converts a two-column table whose first column contains the labels to one record.
fn vertical_record(rows: &[(Vec<String>, bool)], marked: usize) -> Option<LabelledRecord> {
    let pairs: Option<Vec<(String, String)>> = rows
        .iter()
        .map(|(cells, _)| match cells.as_slice() {
            [label, value] => Some((label.clone(), value.clone())),
            _ => None,
        })
        .collect();
    let pairs = pairs?;
    let codes = with_role(&pairs, |role| matches!(role, LabelRole::Code(0 | 1)));
    let descriptions = with_role(&pairs, |role| matches!(role, LabelRole::Message | LabelRole::Description));
    let has_header_column =
        rows.iter().skip(marked).all(|(_, first_is_header)| *first_is_header) && rows.len() > marked && marked == 0;
    // A header `Code | Description` has both roles in one row, and further codes below.
    let first_row_is_header = pairs.first().is_some_and(|(_, value)| role(value) != LabelRole::Other);
    let is_vertical = codes == 1 && (descriptions >= 1 || has_header_column);
    if !is_vertical || first_row_is_header && descriptions == 0 {
        return None;
    }
    let fields =
        pairs.into_iter().filter(|(label, value)| !(role(value) == LabelRole::Code(2) && is_heading_pair(label)));
    Some(LabelledRecord { fields: fields.collect() })
}

fn with_role(pairs: &[(String, String)], has_role: fn(LabelRole) -> bool) -> usize {
    pairs.iter().filter(|(label, _)| has_role(role(label))).count()
}

/// Whether the label is the header of such a vertical record: `Property | Value`, `Field | Description`.
fn is_heading_pair(label: &str) -> bool {
    matches!(label.to_lowercase().as_str(), "property" | "field" | "attribute" | "key" | "name" | "item" | "")
}

/// Whether an unmarked row resembles a header: it contains labels and nothing like a code.
pub(crate) fn is_header(cells: &[String]) -> bool {
    cells.iter().any(|cell| role(cell) != LabelRole::Other) && !cells.iter().any(|cell| is_data(cell))
}

fn is_data(cell: &str) -> bool {
    cell.is_empty() || is_integer(cell) || cell.starts_with('`')
}

/// Returns the text of a cell with its lines joined.
fn cell_text(cell: &str) -> String {
    joined(&cell.split('\n').map(one_line).collect::<Vec<_>>())
}
