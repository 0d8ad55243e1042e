//! The fault table and its rules, one file per code; `CheckedCall`.
//!
//! Owns the judgement of calls against the tools offered. Does no I/O and calls no model: what it cannot compute is handed to it.
//! A call that it did not pass cannot be executed: `CheckedCall` has no other constructor.

mod checked_call;
pub mod schema;
mod settings;
mod toolbook;

use std::sync::Arc;

use serde_json::Value;

pub use checked_call::CheckedCall;
pub use schema::{Parameter, Validators};
pub use settings::Settings;
pub use toolbook::{CompiledTool, Toolbook};

use crate::domain::json::Pointer;
use crate::domain::rules::ScanRules;
use crate::domain::{Call, Diagnosis, FaultCode};

/// Judges the call at `index` of an answer against the tools offered.
///
/// # Errors
/// The faults found: all of the first faulty level, or all that can be judged, as `rules` say.
pub fn scan(call: &Call, index: usize, toolbook: &Toolbook, _rules: &ScanRules) -> Result<CheckedCall, Vec<Diagnosis>> {
    let fault = |code, message: String| {
        vec![Diagnosis { code, call: index, path: Pointer::root(), message, facts: Value::Null, suggestion: None }]
    };
    let Some(tool) = toolbook.get(&call.name) else {
        return Err(fault(FaultCode::ToolUnknown, format!("no tool `{}` is offered", call.name)));
    };
    if tool.tool.free_text {
        return Ok(CheckedCall::new(call.clone(), Arc::clone(tool), serde_json::Map::new()));
    }
    let arguments = serde_json::from_str(&call.arguments)
        .map_err(|error| fault(FaultCode::NoCall, format!("the arguments are not a JSON object: {error}")))?;
    if !tool.accepts(&arguments) {
        return Err(fault(FaultCode::Constraint, "the arguments do not fit the tool's schema".to_owned()));
    }
    Ok(CheckedCall::new(call.clone(), Arc::clone(tool), arguments))
}
