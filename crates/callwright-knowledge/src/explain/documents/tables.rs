//! Tables → records: each row with the labels of its columns.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::explain::blocks::{BlockKind, folded};
use crate::explain::codes::{CodeLikelihood, normal_form, strength};
use crate::explain::labels::{LabelRole, is_label, role};
use crate::explain::records::{LabelledRecord, joined};

/// Maximum number of cells per row or members per object in one record, because each is compared with the others.
/// Further cells are omitted; further members form additional records.
pub(super) const MAX_COLUMNS: usize = 200;

/// Label of a code column without a label.
pub(super) const CODE_LABEL: &str = "code";

/// Parsed table row.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DocumentTableRow {
    /// Text of each cell; lines within a cell are separated by line feeds.
    pub(super) cells: Vec<String>,
    /// Whether all cells are marked as headers.
    pub(super) all_headers: bool,
    /// Whether the first cell is marked as a header.
    pub(super) first_is_header: bool,
}

/// Converts a table to blocks. The header is the row that is marked as such, or the first row if it looks like a
/// header.
pub(super) fn records(rows: Vec<DocumentTableRow>) -> Vec<BlockKind> {
    let marked = rows.iter().take_while(|row| row.all_headers).count();
    let rows: Vec<(Vec<String>, bool)> = rows
        .into_iter()
        .map(|row| (row.cells.iter().take(MAX_COLUMNS).map(|cell| cell_text(cell)).collect(), row.first_is_header))
        .collect();
    if let Some(record) = lying(&rows, marked) {
        return vec![BlockKind::Row(record)];
    }
    let reads_like_header = marked == 0 && rows.len() > 1 && rows.first().is_some_and(|(cells, _)| is_header(cells));
    let headers = if reads_like_header { 1 } else { marked };
    let header =
        headers.checked_sub(1).and_then(|last| rows.get(last)).map(|(cells, _)| cells.clone()).unwrap_or_default();
    labelled(header, rows.into_iter().skip(headers).map(|(cells, _)| cells).collect())
}

/// Labels rows by a header. Without a header, the column that consists mostly of codes is labelled as the code column.
pub(super) fn labelled(header: Vec<String>, rows: Vec<Vec<String>>) -> Vec<BlockKind> {
    let header = if header.is_empty() { header_of_codes(&rows) } else { header };
    rows.into_iter().filter_map(|cells| row(&header, cells)).collect()
}

/// Returns labels for a table without a header: `code` for the column in which more than half of the rows have distinct
/// codes, and empty labels for the others.
fn header_of_codes(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let codes = |column: usize| {
        let cells = rows.iter().filter_map(|cells| cells.get(column)).filter(|cell| is_code(cell));
        cells.collect::<HashSet<_>>().len()
    };
    let best = (0..columns).map(|column| (codes(column), Reverse(column))).max();
    match best {
        Some((count, Reverse(column))) if count * 2 > rows.len() => {
            (0..=column).map(|at| if at == column { CODE_LABEL.to_owned() } else { String::new() }).collect()
        }
        _ => Vec::new(),
    }
}

fn is_code(cell: &str) -> bool {
    let number = !cell.is_empty() && cell.bytes().all(|byte| byte.is_ascii_digit());
    number || normal_form(cell).is_some() && strength(cell) > CodeLikelihood::Name
}

fn row(header: &[String], cells: Vec<String>) -> Option<BlockKind> {
    let mut filled = cells.iter().filter(|cell| !cell.is_empty());
    match (filled.next(), filled.next()) {
        (None, _) => None,
        // A single-cell row in a table of several columns is a remark about the rows below.
        (Some(only), None) if header.len() > 2 => Some(BlockKind::Prose(only.clone())),
        _ => Some(BlockKind::Row(LabelledRecord::of_row(header, cells))),
    }
}

/// Converts a two-column table whose first column contains the labels to one record.
fn lying(rows: &[(Vec<String>, bool)], marked: usize) -> Option<LabelledRecord> {
    let pairs: Option<Vec<(String, String)>> = rows
        .iter()
        .map(|(cells, _)| match cells.as_slice() {
            [label, value] => Some((label.clone(), value.clone())),
            _ => None,
        })
        .collect();
    let pairs = pairs?;
    let of = |wanted: fn(LabelRole) -> bool| pairs.iter().filter(|(label, _)| wanted(role(label))).count();
    let codes = of(|role| matches!(role, LabelRole::Code(0 | 1)));
    let told = of(|role| matches!(role, LabelRole::Message | LabelRole::Description));
    let stands =
        rows.iter().skip(marked).all(|(_, first_is_header)| *first_is_header) && rows.len() > marked && marked == 0;
    // A header `Code | Description` has both roles in one row, and further codes below.
    let first_row_is_header =
        pairs.first().is_some_and(|(_, value)| is_label(value) || role(value) != LabelRole::Other);
    let lies = codes == 1 && (told >= 1 || stands);
    if !lies || first_row_is_header && told == 0 {
        return None;
    }
    let fields =
        pairs.into_iter().filter(|(label, value)| !(role(value) == LabelRole::Code(2) && is_heading_pair(label)));
    Some(LabelledRecord { fields: fields.collect() })
}

/// Whether the label is the header of such a vertical record: `Property | Value`, `Field | Description`.
fn is_heading_pair(label: &str) -> bool {
    matches!(label.to_lowercase().as_str(), "property" | "field" | "attribute" | "key" | "name" | "item" | "")
}

/// Whether an unmarked row looks like a header: it contains labels and nothing like a code.
pub(super) fn is_header(cells: &[String]) -> bool {
    let is_known = |cell: &String| is_label(cell) || role(cell) != LabelRole::Other;
    let is_data =
        |cell: &String| cell.is_empty() || cell.bytes().all(|byte| byte.is_ascii_digit()) || cell.starts_with('`');
    cells.iter().any(is_known) && !cells.iter().any(is_data)
}

/// Returns the text of a cell with its lines joined.
fn cell_text(cell: &str) -> String {
    joined(&cell.split('\n').map(folded).collect::<Vec<_>>())
}
