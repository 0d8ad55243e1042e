//! Inputs and results of repairs.

use serde_json::{Map, Value};

use callwright_common::json::{Edit, Pointer};
use callwright_scanner::{CompiledTool, Context, Examination, ToolSet};
use callwright_types::rules::{RepairRules, ScanRules};
use callwright_types::{Call, FaultCode, Repair, RepairKind};

/// A call after repair.
#[derive(Debug, Clone, PartialEq)]
pub struct RepairedCall {
    /// The call; unchanged if nothing was repaired.
    pub call: Call,
    /// The changes in order; empty if there are none.
    pub repairs: Vec<Repair>,
}

/// Inputs of every repair of arguments.
pub(super) struct RepairJob<'a> {
    pub(super) tool: &'a CompiledTool,
    pub(super) tool_set: &'a ToolSet,
    pub(super) scan: &'a ScanRules,
    pub(super) rules: &'a RepairRules,
    pub(super) context: &'a Context<'a>,
}

impl RepairJob<'_> {
    /// Returns the findings in the arguments.
    pub(super) fn examine(&self, arguments: &Value) -> Examination<'_> {
        self.tool.examine(arguments, self.scan.unknown_parameters)
    }

    /// Whether the arguments have no faults.
    pub(super) fn fits(&self, arguments: &Value) -> bool {
        self.examine(arguments).is_clean()
    }

    /// Whether policy lets this fault be repaired.
    pub(super) fn repairs(&self, code: FaultCode) -> bool {
        self.scan.faults.of(code).repairs()
    }
}

/// Parses the text of an argument object.
pub(super) fn parse(text: &str) -> Option<Value> {
    serde_json::from_str::<Map<String, Value>>(text).ok().map(Value::Object)
}

/// A proposed repair, and the edit that makes it.
#[derive(Debug, Clone)]
pub(super) struct RepairProposal {
    pub(super) repair: Repair,
    pub(super) edit: Edit,
}

impl RepairProposal {
    /// Creates a change that replaces the value at `path`.
    pub(super) fn set(kind: RepairKind, path: &Pointer, from: &Value, to: Value) -> Self {
        let repair = Repair { path: path.clone(), ..Repair::of_call(kind, 0, from.clone(), to.clone()) };
        Self { repair, edit: Edit::Set(path.clone(), to) }
    }

    /// Creates a change that replaces the value at `path` with a JSON text whose digits `to` does not keep.
    pub(super) fn set_text(kind: RepairKind, path: &Pointer, from: &Value, to: Value, text: String) -> Self {
        let repair = Repair { path: path.clone(), ..Repair::of_call(kind, 0, from.clone(), to) };
        Self { repair, edit: Edit::SetText(path.clone(), text) }
    }

    /// Creates a change that removes the member at `path`.
    pub(super) fn remove(kind: RepairKind, path: &Pointer, from: &Value) -> Self {
        let repair = Repair { path: path.clone(), ..Repair::of_call(kind, 0, from.clone(), Value::Null) };
        Self { repair, edit: Edit::Remove(path.clone()) }
    }
}
