//! Tools that a plan can call.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use callwright_common::schema::{LocalSchema, Views};
use callwright_judge::scanner::{CompiledTool, ToolSet, Validators};
use callwright_types::{OutputField, Tool};

/// Tool that a plan can call.
#[derive(Debug, Clone)]
pub struct PlanTool {
    pub tool: Arc<CompiledTool>,
    /// Output fields of its answers; empty if unknown.
    pub outputs: Arc<[OutputField]>,
}

impl PlanTool {
    /// Returns the schemas of a value that `schema`, which is part of the tool's schema, describes.
    pub(super) fn schemas<'a>(&'a self, schema: &'a Value) -> Schemas<'a> {
        Views::new(LocalSchema::within(&self.tool.tool.parameters, schema))
    }
}

/// Schemas of a value in a tool's arguments.
pub(super) type Schemas<'a> = Views<'a, LocalSchema<'a>>;

/// Access to tools by their positions in [`Producers`](crate::producers::Producers).
pub trait Tools: fmt::Debug + Send + Sync {
    /// Returns the tool at a position; `None` if there is none or it may not be called.
    fn tool(&self, position: usize) -> Option<PlanTool>;
}

/// Tools by list position.
#[derive(Debug, Clone, Default)]
pub struct ToolList {
    tools: Vec<Option<PlanTool>>,
}

impl ToolList {
    /// Compiles the tools; each comes with the output fields of its answers.
    pub fn compile(tools: Vec<(Arc<Tool>, Vec<OutputField>)>, validators: &Validators) -> Self {
        let compiled = tools.into_iter().map(|(tool, outputs)| {
            let set = ToolSet::compile(vec![tool], validators);
            Some(PlanTool { tool: Arc::clone(set.tools().first()?), outputs: outputs.into() })
        });
        Self { tools: compiled.collect() }
    }
}

impl Tools for ToolList {
    fn tool(&self, position: usize) -> Option<PlanTool> {
        self.tools.get(position)?.clone()
    }
}
