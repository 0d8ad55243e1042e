//! Nested lists that serve as tables (components of MDX): the first item has the names of the columns, and each further
//! item is a row with the same number of cells.

use std::mem::take;

use super::tables::{MAX_COLUMNS, labelled};
use crate::documents::blocks::{BlockKind, DocumentBlock, LEAST_SERIES};
use crate::documents::labels::{LabelRole, role};

/// Replaces such lists by rows.
pub(crate) fn with_rows(blocks: Vec<DocumentBlock>) -> Vec<DocumentBlock> {
    let mut converted = Vec::with_capacity(blocks.len());
    let mut open: Vec<DocumentBlock> = Vec::new();
    for block in blocks {
        let continues = matches!(block.kind, BlockKind::Item(_) | BlockKind::Prose(_))
            && open.first().is_none_or(|first| block.depth >= first.depth);
        if !continues {
            close(&mut open, &mut converted);
        }
        if continues && (!open.is_empty() || matches!(block.kind, BlockKind::Item(_))) {
            open.push(block);
        } else {
            converted.push(block);
        }
    }
    close(&mut open, &mut converted);
    converted
}

fn close(open: &mut Vec<DocumentBlock>, converted: &mut Vec<DocumentBlock>) {
    let blocks = take(open);
    match rows(&blocks) {
        Some((depth, mut rows)) => {
            let header = rows.remove(0);
            converted.extend(labelled(header, rows).into_iter().map(|kind| DocumentBlock { depth, kind }));
        }
        None => converted.extend(blocks),
    }
}

/// Returns the depth and the rows of a list that is a table.
fn rows(blocks: &[DocumentBlock]) -> Option<(usize, Vec<Vec<String>>)> {
    let depth = blocks.first()?.depth;
    let mut rows: Vec<Vec<String>> = Vec::new();
    for block in blocks {
        let text = match &block.kind {
            BlockKind::Item(text) => text.clone(),
            BlockKind::Prose(text) if block.depth > depth => text.clone(),
            _ => return None,
        };
        match rows.last_mut() {
            Some(row) if block.depth > depth => row.push(text),
            _ => rows.push(vec![text]),
        }
    }
    let header = rows.first()?;
    let columns = header.len();
    let regular = rows.iter().filter(|row| row.len() == columns).count();
    let named = header.iter().filter(|cell| role(cell) != LabelRole::Other).count();
    let capital = header.iter().all(|cell| !cell.chars().any(char::is_lowercase));
    let is_table = rows.len() >= LEAST_SERIES
        && (2..=MAX_COLUMNS).contains(&columns)
        && regular * 5 >= rows.len() * 4
        && (named * 2 >= columns || capital);
    is_table.then_some((depth, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(depth: usize, text: &str) -> DocumentBlock {
        DocumentBlock { depth, kind: BlockKind::Item(text.to_owned()) }
    }

    #[test]
    fn lists_of_lists_with_a_header_are_rows() {
        let list = ["CODE", "MEANING", "E_A", "first", "E_B", "second"];
        let blocks = list.iter().enumerate().map(|(at, text)| item(8 + at % 2, text)).collect();
        let converted = with_rows(blocks);
        assert_eq!(converted.len(), 2);
        assert!(
            matches!(&converted[1].kind, BlockKind::Row(record) if record.lines() == ["E_B", "MEANING: second"] || record.lines() == ["E_B: second"]),
            "{converted:?}"
        );
    }

    #[test]
    fn other_lists_are_kept() {
        let blocks = vec![item(8, "one"), item(9, "two"), item(8, "three"), item(8, "four")];
        assert_eq!(with_rows(blocks.clone()), blocks);
    }
}
