//! Tools that a plan can call.

use std::fmt;
use std::sync::Arc;

use callwright_judge::scanner::{CompiledTool, ToolSet, Validators};
use callwright_types::{OutputField, Tool};

/// Tool that a plan can call.
#[derive(Debug, Clone)]
pub struct PlanTool {
    /// Compiled tool.
    pub tool: Arc<CompiledTool>,
    /// Output fields of its answers; empty if unknown.
    pub outputs: Arc<[OutputField]>,
}

/// Access to tools by their positions in [`Producers`](crate::planner::producers::Producers).
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
