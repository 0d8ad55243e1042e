//! Tools offered to the model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Reference to one operation of the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OperationRef {
    /// Name of the toolset in the configuration.
    pub toolset: String,
    /// Name of the tool within that toolset (unique there).
    pub tool: String,
}

/// Party that executes a tool's calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The client sent the tool: its calls are returned to the client.
    Client,
    /// The tool is from the catalog: the proxy executes its calls.
    Proxy(OperationRef),
    /// The proxy itself answers, by searching for tools that are not offered.
    Search,
}

impl Owner {
    /// Whether the proxy handles the tool's calls.
    pub fn is_proxy(&self) -> bool {
        match self {
            Self::Client => false,
            Self::Proxy(_) | Self::Search => true,
        }
    }
}

/// A tool offered to the model: a name, a description, a JSON Schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The name that the model is to use.
    pub name: String,
    /// The description that the model reads; may be empty.
    pub description: String,
    /// JSON Schema of the argument object; `null` if the client sent none (any arguments are accepted then).
    pub parameters: Arc<Value>,
    /// Whether it is a custom tool, which takes free text instead of a JSON object. Its calls are not evaluated.
    pub free_text: bool,
    /// Whether its calls are read-only, by the method of its operation (RFC 9110 section 9.2.1); `None` if no document
    /// states it.
    pub reads: Option<bool>,
    /// Party that executes its calls.
    pub owner: Owner,
}

impl Tool {
    /// Returns the text that tool search matches requests against.
    pub fn search_text(&self) -> String {
        format!("{} {}", self.name, self.description)
    }
}
