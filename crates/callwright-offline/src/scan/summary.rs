//! Counts of judged answers.

use std::collections::BTreeMap;

use callwright_judge::repair::JudgedMessage;
use callwright_types::{FaultCode, RepairKind, Verdict};

/// Counts over a scan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanSummary {
    /// Answers by verdict label.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Diagnoses by code.
    pub codes: BTreeMap<FaultCode, u64>,
    /// Noted faults by code.
    pub noted: BTreeMap<FaultCode, u64>,
    /// Repairs by label of their kind.
    pub repairs: BTreeMap<&'static str, u64>,
    /// Calls in the answers.
    pub calls: u64,
    /// Unusable lines.
    pub problems: u64,
}

impl ScanSummary {
    /// Returns the number of judged answers.
    pub fn records(&self) -> u64 {
        self.verdicts.values().sum()
    }

    /// Returns the number of answers with this verdict.
    pub fn of_verdict(&self, verdict: Verdict) -> u64 {
        self.verdicts.get(verdict.label()).copied().unwrap_or_default()
    }

    pub(super) fn count(&mut self, message: &JudgedMessage) {
        *self.verdicts.entry(message.verdict().label()).or_default() += 1;
        self.calls += message.calls.len() as u64;
        for diagnosis in message.diagnoses() {
            *self.codes.entry(diagnosis.code).or_default() += 1;
        }
        for diagnosis in message.advice() {
            *self.noted.entry(diagnosis.code).or_default() += 1;
        }
        for repair in message.calls.iter().flat_map(|call| &call.repairs) {
            *self.repairs.entry(RepairKind::label(repair.kind)).or_default() += 1;
        }
    }
}
