//! A parsed text.

use serde_json::Value;

/// Maximum nesting of a document. It is serde_json's own limit, so that JSON and YAML have the same one. All later
/// traversals of a document may recurse to this depth without a stack overflow.
pub(in super::super) const MAX_NESTING: usize = 127;

/// Syntax by which a text was parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Syntax {
    /// JSON (RFC 8259).
    Json,
    /// YAML 1.2, including JSON-like texts that are parsed as YAML.
    Yaml,
}

#[derive(Debug)]
pub(in super::super) struct ParsedText {
    pub(in super::super) value: Value,
    /// The text, after repairs if any were needed; its line numbers are those of the file.
    pub(in super::super) text: String,
    pub(in super::super) syntax: Syntax,
    /// Tolerated faults of the text, as sentences without a subject.
    pub(in super::super) remarks: Vec<String>,
}
