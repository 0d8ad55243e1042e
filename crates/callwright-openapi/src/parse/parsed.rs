//! A parsed text.

use serde_json::Value;

/// Maximum nesting of a document. It is serde_json's own limit, so that JSON and YAML have the same one. All later
/// traversals of a document may recurse to this depth without a stack overflow.
pub(crate) const MAX_NESTING: usize = 127;

/// Syntax by which a text was parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// JSON (RFC 8259).
    Json,
    /// YAML 1.2, including JSON-like texts that are parsed as YAML.
    Yaml,
}

#[derive(Debug)]
pub(crate) struct ParsedText {
    pub(crate) value: Value,
    /// The text, after repairs if any were needed; its line numbers are those of the file.
    pub(crate) text: String,
    pub(crate) syntax: Syntax,
    /// Tolerated faults of the text, as sentences without a subject.
    pub(crate) remarks: Vec<String>,
}
