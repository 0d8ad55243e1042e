//! CSV and TSV → blocks: each record with the labels of the header.

use csv::ReaderBuilder;

use super::markdown::inline_text;
use super::tables::{MAX_COLUMNS, is_header, labelled};
use crate::documents::blocks::{DocumentBlock, FLOW};

/// Delimiters, the most likely first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Parses delimited text (RFC 4180, leniently: records may have different lengths). The delimiter is the most frequent
/// candidate in the first line. The first record is the header if it resembles one.
pub(crate) fn delimited(text: &[u8]) -> Vec<DocumentBlock> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut reader =
        ReaderBuilder::new().delimiter(delimiter(text)).has_headers(false).flexible(true).from_reader(text);
    let mut records = reader.byte_records().flatten().map(|record| {
        record.iter().take(MAX_COLUMNS).map(|cell| inline_text(&String::from_utf8_lossy(cell))).collect::<Vec<_>>()
    });
    let Some(first) = records.next() else { return Vec::new() };
    let (header, data) = if is_header(&first) { (first, None) } else { (Vec::new(), Some(first)) };
    let rows = data.into_iter().chain(records).filter(|cells| cells.iter().any(|cell| !cell.is_empty()));
    labelled(header, rows.collect()).into_iter().map(|kind| DocumentBlock { depth: FLOW, kind }).collect()
}

/// Parses delimited text into cells without interpreting them.
pub(crate) fn csv_rows(text: &[u8], delimiter: u8) -> Vec<Vec<String>> {
    let mut builder = ReaderBuilder::new();
    builder.delimiter(delimiter).has_headers(false).flexible(true).trim(csv::Trim::All);
    let records = builder.from_reader(text).into_byte_records().flatten();
    let cells = records.map(|record| record.iter().take(MAX_COLUMNS).map(lossy).collect::<Vec<_>>());
    cells.filter(|cells| cells.iter().any(|cell| !cell.is_empty())).collect()
}

fn lossy(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell).into_owned()
}

fn delimiter(text: &[u8]) -> u8 {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |delimiter: u8| line.iter().filter(|byte| **byte == delimiter).count();
    let mut best = DELIMITERS[0];
    for delimiter in DELIMITERS {
        if count(delimiter) > count(best) {
            best = delimiter;
        }
    }
    best
}
