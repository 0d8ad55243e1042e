//! The tools that a plan can be made of.

use std::fmt;
use std::sync::Arc;

use callwright_judge::scanner::{CompiledTool, Toolbook, Validators};
use callwright_types::{OutputField, Tool};

/// A tool that a plan can call.
#[derive(Debug, Clone)]
pub struct PlanTool {
    /// The tool, ready to judge calls by.
    pub tool: Arc<CompiledTool>,
    /// What its answers hold; empty where that is not known.
    pub outputs: Arc<[OutputField]>,
}

/// Gives tools by the positions that [`Producers`](crate::planner::producers::Producers) give them.
pub trait Tools: fmt::Debug + Send + Sync {
    /// The tool at a position; `None` where there is none, or it may not be called.
    fn tool(&self, position: usize) -> Option<PlanTool>;
}

/// Tools at their positions in a list.
#[derive(Debug, Clone, Default)]
pub struct ToolList {
    tools: Vec<Option<PlanTool>>,
}

impl ToolList {
    /// Compiles the tools; each comes with what its answers hold.
    pub fn compile(tools: Vec<(Arc<Tool>, Vec<OutputField>)>, validators: &Validators) -> Self {
        let compiled = |(tool, outputs): (Arc<Tool>, Vec<OutputField>)| {
            let book = Toolbook::compile(vec![tool], validators);
            Some(PlanTool { tool: Arc::clone(book.tools().first()?), outputs: outputs.into() })
        };
        Self { tools: tools.into_iter().map(compiled).collect() }
    }
}

impl Tools for ToolList {
    fn tool(&self, position: usize) -> Option<PlanTool> {
        self.tools.get(position)?.clone()
    }
}
