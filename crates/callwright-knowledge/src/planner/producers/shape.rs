//! Source-independent description of a tool.

use serde_json::Value;

use callwright_search::retrieval::ToolText;
use callwright_types::{OutputField, OutputLink};

/// Tool as input of the producer index: a catalog operation, a client's tool or a line of a file.
#[derive(Debug, Clone)]
pub struct ToolShape<'a> {
    /// Name, unique within its segment.
    pub name: &'a str,
    /// Description; may be empty.
    pub description: &'a str,
    /// JSON Schema of its arguments; `null` if unknown.
    pub parameters: &'a Value,
    /// Output fields of its answers; empty if unknown.
    pub outputs: &'a [OutputField],
    /// HTTP request of a catalog operation.
    pub http: Option<Http<'a>>,
    /// OpenAPI links from its answers to arguments.
    pub links: &'a [OutputLink],
}

impl ToolShape<'_> {
    /// Returns the text to embed for [`Segment::with_vectors`](super::Segment::with_vectors): name and description.
    pub fn embedded(&self) -> String {
        let (name, description) = (self.name.to_owned(), self.description.to_owned());
        ToolText { name, description, ..ToolText::default() }.embedded()
    }
}

/// Method and path template of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Http<'a> {
    /// Method, in upper case.
    pub method: &'a str,
    /// Path template: `/users/{id}`.
    pub path: &'a str,
}
