//! Helpers of the fuzz targets: toolbooks, and arbitrary JSON.

mod json;

use std::sync::Arc;

pub use json::arbitrary_json;

use callwright_types::{Owner, Tool};
use callwright_judge::scanner::{Toolbook, Validators};
use serde_json::Value;

/// Builds a toolbook from `(name, parameters)` pairs.
pub fn toolbook<'a>(tools: impl IntoIterator<Item = (&'a str, Value)>) -> Toolbook {
    let tool = |(name, parameters): (&str, Value)| {
        Arc::new(Tool {
            name: name.to_owned(),
            description: "Does what its name says.".to_owned(),
            parameters: Arc::new(parameters),
            free_text: false,
            reads: None,
            owner: Owner::Client,
        })
    };
    Toolbook::compile(tools.into_iter().map(tool).collect(), &Validators::default())
}
