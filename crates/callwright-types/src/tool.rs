//! What the model is offered.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Names one operation of the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OperationRef {
    /// The toolset's name in the configuration.
    pub toolset: String,
    /// The tool's name within that toolset (unique there).
    pub tool: String,
}

/// Who executes a tool's calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The client sent the tool: calls go back to it.
    Client,
    /// The tool comes from the catalog: the proxy executes its calls.
    Proxy(OperationRef),
    /// The proxy itself answers: it searches for tools that are not offered.
    Search,
}

impl Owner {
    /// Is the client spared the tool's calls?
    pub fn is_proxy(&self) -> bool {
        match self {
            Self::Client => false,
            Self::Proxy(_) | Self::Search => true,
        }
    }
}

/// What the model is offered: a name, a description, a JSON Schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The name that the model is to use.
    pub name: String,
    /// The description that the model reads; may be empty.
    pub description: String,
    /// JSON Schema of the argument object; `null` where the client sent none (anything goes then).
    pub parameters: Arc<Value>,
    /// A custom tool takes free text instead of a JSON object; its calls pass unjudged.
    pub free_text: bool,
    /// Whether its calls only read, by the method of its operation (RFC 9110 section 9.2.1); `None` where no document says.
    pub reads: Option<bool>,
    /// Who executes it.
    pub owner: Owner,
}

impl Tool {
    /// What a search for tools that serve a request looks at.
    pub fn search_text(&self) -> String {
        format!("{} {}", self.name, self.description)
    }
}
