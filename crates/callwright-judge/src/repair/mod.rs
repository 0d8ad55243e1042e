//! Repairs tool calls without loss of data and without a model.
//!
//! Owns the rescue of calls from text, renames, type coercions and repairs of malformed JSON. Must not report faults:
//! those that cannot be repaired remain for the scanner.

#[cfg(test)]
mod actions;
mod arguments;
mod coercion;
mod default;
mod format;
#[cfg(test)]
mod hostile_tests;
mod judge;
mod lenient;
mod message;
mod no_answer;
mod null;
mod option;
mod parameter_name;
mod passes;
#[cfg(test)]
mod properties;
pub mod rescue;
#[cfg(test)]
mod testing;
mod tool_name;
mod unknown_parameter;
mod wrapper;

use std::collections::HashMap;

pub use judge::judge;
pub use message::{JudgedCall, JudgedMessage, Spoken, Unjudged, judge_message};
pub use no_answer::TextAnswer;
pub use rescue::notations::{Notations, Settings};
use serde_json::Value;

use crate::scanner::{CompiledTool, Context, ToolSet};
use callwright_common::json::{Edit, Pointer, RawObject};
use callwright_types::rules::{RepairRules, ScanRules};
use callwright_types::{Call, FaultCode, Repair, RepairKind};

/// A call after repair.
#[derive(Debug, Clone, PartialEq)]
pub struct Mended {
    /// The call; unchanged if nothing was repaired.
    pub call: Call,
    /// The changes in order; empty if there are none.
    pub repairs: Vec<Repair>,
}

/// Repairs the call at `index` of an answer without loss of data, within `rules` (DESIGN section 5, third column).
///
/// A call without faults is never changed, not even its whitespace. A value is changed only if it then fits its schema.
/// Faults that cannot be repaired remain for the scanner. The operation is idempotent.
pub fn mend(call: &Call, index: usize, tool_set: &ToolSet, scan: &ScanRules, rules: &RepairRules) -> Mended {
    mend_in(call, index, tool_set, scan, rules, &Context::default())
}

/// Repairs like [`mend`], with the conversation, the budget and the similarity of `context`.
fn mend_in(
    call: &Call,
    index: usize,
    tool_set: &ToolSet,
    scan: &ScanRules,
    rules: &RepairRules,
    context: &Context<'_>,
) -> Mended {
    let mut mended = Mended { call: call.clone(), repairs: Vec::new() };
    let renames = rules.names && scan.faults.of(FaultCode::ToolNameLiteral).mends();
    let Some(tool) = tool_name::mend(&mut mended, tool_set, renames).filter(|_| context.step()) else { return mended };
    if !tool.tool.free_text {
        let job = RepairJob { tool, tool_set, scan, rules, context };
        if rules.values && job.mends(FaultCode::NoCall) {
            arguments::mend(&mut mended, &job);
        }
        // Parsers differ in which of two duplicate members they use, and a repair would choose one of them.
        if !gives_two_values(&mended.call.arguments) {
            passes::mend(&mut mended, &job);
        }
    }
    for repair in &mut mended.repairs {
        repair.call = index;
    }
    mended
}

/// Whether an argument object has a duplicate member with different values.
fn gives_two_values(arguments: &str) -> bool {
    let Ok(object) = RawObject::parse(arguments) else { return false };
    let mut seen: HashMap<&str, &str> = HashMap::new();
    object.iter().any(|(key, value)| seen.insert(key, value.get()).is_some_and(|other| other != value.get()))
}

/// Inputs of every repair of arguments.
struct RepairJob<'a> {
    tool: &'a CompiledTool,
    tool_set: &'a ToolSet,
    scan: &'a ScanRules,
    rules: &'a RepairRules,
    context: &'a Context<'a>,
}

impl RepairJob<'_> {
    /// Whether policy lets this fault be repaired.
    fn mends(&self, code: FaultCode) -> bool {
        self.scan.faults.of(code).mends()
    }
}

/// A proposed repair, and the edit that makes it.
#[derive(Debug, Clone)]
struct RepairProposal {
    repair: Repair,
    edit: Edit,
}

impl RepairProposal {
    /// Creates a change that replaces the value at `path`.
    fn set(kind: RepairKind, path: &Pointer, from: &Value, to: Value) -> Self {
        let repair = Repair { kind, call: 0, path: path.clone(), from: from.clone(), to: to.clone() };
        Self { repair, edit: Edit::Set(path.clone(), to) }
    }

    /// Creates a change that removes the member at `path`.
    fn remove(kind: RepairKind, path: &Pointer, from: &Value) -> Self {
        let repair = Repair { kind, call: 0, path: path.clone(), from: from.clone(), to: Value::Null };
        Self { repair, edit: Edit::Remove(path.clone()) }
    }
}
