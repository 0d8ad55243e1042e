//! Scan of an answer without a tool call.

use super::faults::{Check, TABLE};
use super::tool_set::ToolSet;
use callwright_types::Diagnosis;
use callwright_types::rules::{Action, ScanRules};

/// An answer without a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallFreeAnswer<'a> {
    /// Content of the answer, without reasoning.
    pub text: &'a str,
    /// Whether the answer has reasoning content.
    pub reasoned: bool,
}

/// Scans an answer without a tool call. Returns the first fault of the table that applies and is not switched off.
pub fn scan_answer(answer: &CallFreeAnswer<'_>, tool_set: &ToolSet, rules: &ScanRules) -> Option<Diagnosis> {
    if tool_set.is_empty() {
        return None;
    }
    TABLE.iter().filter(|fault| rules.faults.of(fault.code) != Action::Off).find_map(|fault| match fault.check {
        Check::Answer(check) => check(answer),
        _ => None,
    })
}
