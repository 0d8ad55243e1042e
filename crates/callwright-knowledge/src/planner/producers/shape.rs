//! What is known of a tool, wherever it comes from.

use serde_json::Value;

use callwright_search::retrieval::ToolText;
use callwright_types::{OutputField, OutputLink};

/// A tool as producers see it: of a catalog's operation, a client's tool or a line of a file.
#[derive(Debug, Clone)]
pub struct ToolShape<'a> {
    /// Its name, unique within its segment.
    pub name: &'a str,
    /// What it does; may be empty.
    pub description: &'a str,
    /// JSON Schema of its arguments; `null` where none is known.
    pub parameters: &'a Value,
    /// What its answers hold; empty where that is not known.
    pub outputs: &'a [OutputField],
    /// The request that it makes, where it is an operation.
    pub http: Option<Http<'a>>,
    /// Arguments that its answers supply by the document's own word.
    pub links: &'a [OutputLink],
}

impl ToolShape<'_> {
    /// The text whose vector can be given to [`Segment::with_vectors`](super::Segment::with_vectors): name and description.
    pub fn embedded(&self) -> String {
        let (name, description) = (self.name.to_owned(), self.description.to_owned());
        ToolText { name, description, ..ToolText::default() }.embedded()
    }
}

/// An operation's method and path template.
#[derive(Debug, Clone, Copy)]
pub struct Http<'a> {
    /// The method, in upper case.
    pub method: &'a str,
    /// The path: `/users/{id}`.
    pub path: &'a str,
}
