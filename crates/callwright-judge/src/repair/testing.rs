//! Helpers for the unit tests of repair.

use super::Mended;
use crate::scanner::testing::{call, tool_set};
use callwright_types::rules::{RepairRules, ScanRules};
use callwright_types::{Call, RepairKind};

pub(super) fn mend_with(rules: &RepairRules, tools: &str, call: &Call) -> Mended {
    super::mend(call, 0, &tool_set(tools), &ScanRules::default(), rules)
}

pub(super) fn mend_under(scan: &ScanRules, tools: &str, call: &Call) -> Mended {
    super::mend(call, 0, &tool_set(tools), scan, &RepairRules::default())
}

pub(super) fn mend(tools: &str, call: &Call) -> Mended {
    mend_with(&RepairRules::default(), tools, call)
}

/// Returns the arguments after repair, and the kinds of repair.
pub(super) fn mended(tools: &str, name: &str, arguments: &str) -> (String, Vec<RepairKind>) {
    let mended = mend(tools, &call(name, arguments));
    (mended.call.arguments, mended.repairs.iter().map(|repair| repair.kind).collect())
}

/// Whether the call is byte-identical after repair.
pub(super) fn unchanged(tools: &str, name: &str, arguments: &str) -> bool {
    let call = call(name, arguments);
    let mended = mend(tools, &call);
    mended.call == call && mended.repairs.is_empty()
}
