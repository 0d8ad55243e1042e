//! YAML → blocks, by the same rules as JSON.

use serde_json::Value;

use super::json::values;
use crate::explain::documents::blocks::DocumentBlock;
use callwright_common::yaml::{Bounds, YamlProblem, read};

/// Limits on the expansion of a file. Catalogues of errors are nested a few levels deep; each level takes some kilobytes
/// of the stack.
const BOUNDS: Bounds = Bounds { depth: 32, events: 4_000_000 };

/// Parses YAML: one document, or several that are separated by `---`.
///
/// # Errors
/// Also returns the problem of the first document that cannot be read; the blocks contain the documents before it.
pub(crate) fn yaml(text: &str) -> (Vec<DocumentBlock>, Option<YamlProblem>) {
    let mut blocks = Vec::new();
    for document in documents(text) {
        match read::<Value>(document, BOUNDS) {
            Ok(value) => blocks.extend(values([value].iter())),
            Err(problem) => return (blocks, Some(problem)),
        }
    }
    (blocks, None)
}

/// Splits a stream into its documents, without those that have no data.
fn documents(text: &str) -> impl Iterator<Item = &str> {
    let mut starts = vec![0];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if line.trim_end() == "---" {
            starts.push(at);
        }
    }
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([text.len()]).collect();
    let parts = starts.into_iter().zip(ends).filter_map(|(start, end)| text.get(start..end));
    let parts = parts.map(|part| part.trim_end().strip_suffix("---").unwrap_or(part));
    parts.filter(|part| !callwright_common::yaml::is_blank(part))
}
