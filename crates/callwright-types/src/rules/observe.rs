//! Observation of outcomes: the check of successful answers, and the parts of the feedback loop that can be left out.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Action, ScanRules};
use crate::FaultCode;

/// Rules of observation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ObserveRules {
    /// Check of successful answers of the proxy's tools.
    pub check: SuccessCheck,
    /// Parts of the feedback loop that are left out, to measure their effect (AutoFeedback, ablation study).
    pub without: Vec<Ablation>,
}

/// Check of a successful answer, from least to most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuccessCheck {
    /// A successful answer is not checked.
    #[default]
    Off,
    /// A model reports whether the answer is what was requested. A doubt is added below the answer.
    Model,
}

/// Part of the feedback loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ablation {
    /// Feedback on the faults E1 to E4 before a call is executed.
    Detection,
    /// Passages of the documentation in the feedback on a failure.
    Retrieval,
    /// Earlier rounds in the feedback.
    Record,
}

impl ObserveRules {
    /// Whether a part of the feedback loop is left out.
    pub fn lacks(&self, part: Ablation) -> bool {
        self.without.contains(&part)
    }

    /// Returns the rules of the scan that apply: without detection, the faults E1 to E4 are only recorded.
    pub fn scan<'a>(&self, rules: &'a ScanRules) -> Cow<'a, ScanRules> {
        if !self.lacks(Ablation::Detection) {
            return Cow::Borrowed(rules);
        }
        let mut rules = rules.clone();
        for code in FaultCode::ALL {
            let is_detected = ["E1", "E2", "E3", "E4"].iter().any(|level| code.code().starts_with(level));
            if is_detected && rules.faults.of(code) > Action::Advise {
                rules.faults = rules.faults.with(code, Action::Advise);
            }
        }
        Cow::Owned(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_detection_faults_of_calls_are_recorded_only() {
        let rules = ScanRules::default();
        let all = ObserveRules::default();
        assert_eq!(*all.scan(&rules), rules);
        let without = ObserveRules { without: vec![Ablation::Detection], ..ObserveRules::default() };
        let scan = without.scan(&rules);
        for code in FaultCode::ALL {
            let expected = match code.code().get(..2) {
                Some("E1" | "E2" | "E3" | "E4") => rules.faults.of(code).min(Action::Advise),
                _ => rules.faults.of(code),
            };
            assert_eq!(scan.faults.of(code), expected, "{code:?}");
        }
    }
}
