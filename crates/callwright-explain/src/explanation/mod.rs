//! Explanations of failed outcomes, from the index of a toolset's documentation.

mod client_tool;
mod explainer;

pub use client_tool::{ClientTool, ToolExplanation};
pub use explainer::{DeferredDocs, Explainer, OperationDocs};
