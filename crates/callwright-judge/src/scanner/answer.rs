//! The scan of an answer without a call.

use super::faults::{Check, TABLE};
use super::toolbook::Toolbook;
use callwright_types::Diagnosis;
use callwright_types::rules::{Action, ScanRules};

/// An answer without a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallFreeAnswer<'a> {
    /// Its text, without reasoning.
    pub text: &'a str,
    /// Whether there is reasoning.
    pub reasoned: bool,
}

/// Judges an answer without a call: the first fault of the table that is there and is not switched off.
pub fn scan_answer(answer: &CallFreeAnswer<'_>, toolbook: &Toolbook, rules: &ScanRules) -> Option<Diagnosis> {
    if toolbook.is_empty() {
        return None;
    }
    TABLE.iter().filter(|fault| rules.faults.of(fault.code) != Action::Off).find_map(|fault| match fault.check {
        Check::Answer(check) => check(answer),
        _ => None,
    })
}
