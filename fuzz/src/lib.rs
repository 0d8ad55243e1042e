//! Helpers of the fuzz targets: tool_sets, and arbitrary JSON.

mod json;

use std::sync::Arc;

pub use json::arbitrary_json;

use callwright_types::{Owner, Tool, ToolKind};
use callwright_judge::scanner::{ToolSet, Validators};
use serde_json::Value;

/// Builds a tool_set from `(name, parameters)` pairs.
pub fn tool_set<'a>(tools: impl IntoIterator<Item = (&'a str, Value)>) -> ToolSet {
    let tool = |(name, parameters): (&str, Value)| {
        Arc::new(Tool {
            name: name.to_owned(),
            description: "Does what its name says.".to_owned(),
            parameters: Arc::new(parameters),
            kind: ToolKind::Function,
            reads: None,
            owner: Owner::Client,
        })
    };
    ToolSet::compile(tools.into_iter().map(tool).collect(), &Validators::default())
}
