//! The tools offered in a turn, ready to judge calls by.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::schema::{Parameter, SharedSchema, Validators};
use crate::domain::Tool;

/// The tools offered in a turn, compiled.
#[derive(Debug, Clone, Default)]
pub struct Toolbook {
    tools: Vec<Arc<CompiledTool>>,
    by_name: HashMap<String, usize>,
}

impl Toolbook {
    /// Compiles `tools`; of several with one name the first counts, because that is the one that would be called.
    pub fn compile(tools: Vec<Arc<Tool>>, validators: &Validators) -> Self {
        let mut book = Self::default();
        for tool in tools {
            if !book.by_name.contains_key(&tool.name) {
                book.by_name.insert(tool.name.clone(), book.tools.len());
                let schema = validators.get(&tool.parameters);
                book.tools.push(Arc::new(CompiledTool { tool, schema }));
            }
        }
        book
    }

    /// The tool of exactly this name.
    pub fn get(&self, name: &str) -> Option<&Arc<CompiledTool>> {
        self.tools.get(*self.by_name.get(name)?)
    }

    /// Every tool, in the order offered.
    pub fn tools(&self) -> &[Arc<CompiledTool>] {
        &self.tools
    }

    /// Is no tool offered?
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

/// A tool with its compiled schema.
#[derive(Debug)]
pub struct CompiledTool {
    /// The tool as it was offered.
    pub tool: Arc<Tool>,
    schema: SharedSchema,
}

impl CompiledTool {
    /// The tool's name.
    pub fn name(&self) -> &str {
        &self.tool.name
    }

    /// The schema of the argument object, normalised (see [`super::schema`]).
    pub fn schema(&self) -> &Value {
        self.schema.schema()
    }

    /// The tool's parameters, in the order of the schema.
    pub fn parameters(&self) -> impl Iterator<Item = Parameter<'_>> {
        let required = self.schema().get("required").and_then(Value::as_array);
        let properties = self.schema().get("properties").and_then(Value::as_object);
        properties.into_iter().flatten().map(move |(name, schema)| Parameter {
            name,
            required: required.is_some_and(|names| names.iter().any(|required| required == name)),
            schema,
        })
    }

    /// What of the schema could not be used, and why; such parts judge nothing.
    pub fn problems(&self) -> &[String] {
        self.schema.problems()
    }

    /// Do the arguments fit the schema?
    pub fn accepts(&self, arguments: &Map<String, Value>) -> bool {
        self.schema.accepts(arguments)
    }
}
