//! Counts of judged answers.

use std::collections::BTreeMap;

use crate::answers::LineSummary;
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

impl LineSummary for ScanSummary {
    fn add(&mut self, other: &Self) {
        add_all(&mut self.verdicts, &other.verdicts);
        add_all(&mut self.codes, &other.codes);
        add_all(&mut self.noted, &other.noted);
        add_all(&mut self.repairs, &other.repairs);
        self.calls += other.calls;
        self.problems += other.problems;
    }

    fn records(&self) -> u64 {
        Self::records(self)
    }

    fn problems(&mut self) -> &mut u64 {
        &mut self.problems
    }
}

fn add_all<K: Ord + Copy>(counts: &mut BTreeMap<K, u64>, others: &BTreeMap<K, u64>) {
    for (key, count) in others {
        *counts.entry(*key).or_default() += count;
    }
}
