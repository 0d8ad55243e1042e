//! Encoding of a row as a line of JSON.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::TraceRow;

/// Line for reading. The document remains text, because its nesting may exceed the parser's limit.
#[derive(Deserialize)]
struct SpilledLine<'a> {
    row: TraceRow,
    #[serde(borrow)]
    document: &'a RawValue,
}

/// Line for writing, without its document.
#[derive(Serialize)]
struct SpilledLineHead<'a> {
    row: &'a TraceRow,
}

/// Encodes rows as lines.
pub(super) fn lines(rows: &[TraceRow]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut lines, &SpilledLineHead { row })?;
        // Inserts the document before the closing brace of the object: it already is JSON on one line.
        lines.pop();
        lines.extend_from_slice(b",\"document\":");
        lines.extend_from_slice(row.document.as_bytes());
        lines.extend_from_slice(b"}\n");
    }
    Ok(lines)
}

/// Decodes a line; returns `None` if it is invalid.
pub(super) fn row(line: &[u8]) -> Option<TraceRow> {
    let SpilledLine { mut row, document } = serde_json::from_slice(line).ok()?;
    row.document = document.get().into();
    Some(row)
}
