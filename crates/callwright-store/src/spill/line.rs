//! A row as a line of JSON.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::TraceRow;

/// A line as it is read. The document stays the text that it was: it may be nested deeper than can be parsed.
#[derive(Deserialize)]
struct Line<'a> {
    row: TraceRow,
    #[serde(borrow)]
    document: &'a RawValue,
}

/// A line as it is written, without its document.
#[derive(Serialize)]
struct Head<'a> {
    row: &'a TraceRow,
}

/// The lines of rows.
pub(super) fn lines(rows: &[TraceRow]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut lines, &Head { row })?;
        // Into the object, before its closing brace: the document is JSON on one line already.
        lines.pop();
        lines.extend_from_slice(b",\"document\":");
        lines.extend_from_slice(row.document.as_bytes());
        lines.extend_from_slice(b"}\n");
    }
    Ok(lines)
}

/// The row of a line; `None` where it is none.
pub(super) fn row(line: &[u8]) -> Option<TraceRow> {
    let Line { mut row, document } = serde_json::from_slice(line).ok()?;
    row.document = document.get().into();
    Some(row)
}
