//! Helpers for the unit tests of repair.

use super::proposal::RepairedCall;
use callwright_scanner::testing::{call, tool_set};
use callwright_types::rules::{RepairRules, ScanRules};
use callwright_types::{Call, RepairKind};

pub(super) fn repair_with(rules: &RepairRules, tools: &str, call: &Call) -> RepairedCall {
    super::repair_call(call, 0, &tool_set(tools), &ScanRules::default(), rules)
}

pub(super) fn repair_under(scan: &ScanRules, tools: &str, call: &Call) -> RepairedCall {
    super::repair_call(call, 0, &tool_set(tools), scan, &RepairRules::default())
}

pub(super) fn repair(tools: &str, call: &Call) -> RepairedCall {
    repair_with(&RepairRules::default(), tools, call)
}

/// Returns the arguments after repair, and the kinds of repair.
pub(super) fn repaired(tools: &str, name: &str, arguments: &str) -> (String, Vec<RepairKind>) {
    let repaired = repair(tools, &call(name, arguments));
    (repaired.call.arguments, repaired.repairs.iter().map(|repair| repair.kind).collect())
}

/// Whether the call is byte-identical after repair.
pub(super) fn unchanged(tools: &str, name: &str, arguments: &str) -> bool {
    let call = call(name, arguments);
    let repaired = repair(tools, &call);
    repaired.call == call && repaired.repairs.is_empty()
}
