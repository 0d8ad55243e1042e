//! Advice to the author of an OpenAPI document: changes that help models use its operations.
//!
//! A table of rules, one file each under `rules/`. The rules check the document and the tools made from it, because a
//! model sees only the tools. Advice has no effect on loading. It is computed only when a user requests a review.

mod findings;
mod inputs;
mod rules;
mod subject;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;

use serde::Serialize;

use super::document::ApiDocument;
use super::{DocumentLimits, Toolset};
use findings::Findings;
use subject::{AdviceSubject, OperationCase};

/// One piece of advice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// Code of the rule that gives the advice.
    pub code: &'static str,
    /// Method and path of the operation, the first if there are several; empty for the whole document.
    pub operation: String,
    /// File, line and JSON Pointer of the part to change.
    pub at: String,
    /// Describes the information that a model lacks.
    pub message: String,
    /// The change to make; the same text for all advice of one rule.
    pub fix: &'static str,
}

/// One rule of the table.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Stable identifier of the rule in reports and on the command line.
    pub code: &'static str,
    /// Short description of the problem that the rule finds.
    pub about: &'static str,
    /// The change to make.
    pub fix: &'static str,
    look: RuleCheck,
}

/// Scope of a rule and its check function.
#[derive(Clone, Copy)]
enum RuleCheck {
    /// Runs once per operation.
    Operation(fn(&AdviceSubject<'_>, &OperationCase<'_>, &mut Findings)),
    /// Runs once for the document with all its operations.
    Document(fn(&AdviceSubject<'_>, &mut Findings)),
}

impl Rule {
    /// All rules, in the order of reports.
    pub const ALL: [Self; 10] = [
        rules::missing_server::RULE,
        rules::confusable_names::RULE,
        rules::same_description::RULE,
        rules::missing_operation_id::RULE,
        rules::missing_description::RULE,
        rules::cut_description::RULE,
        rules::unexplained_parameter::RULE,
        rules::unexplained_values::RULE,
        rules::missing_example::RULE,
        rules::undocumented_errors::RULE,
    ];

    /// Returns the rule whose code is `code`.
    pub fn named(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.code == code)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

/// Runs `rules` on `document` and on the `toolset` made from it: first the rules for the whole document, then the
/// rules for each operation. A place that several operations share is reported once.
pub(super) fn advise(
    document: &ApiDocument,
    toolset: &Toolset,
    limits: &DocumentLimits,
    rules: &[Rule],
) -> Vec<Advice> {
    let subject = AdviceSubject::new(document, toolset, limits);
    let mut findings = Findings::default();
    for rule in rules {
        if let RuleCheck::Document(look) = rule.look {
            findings.begin(rule);
            look(&subject, &mut findings);
        }
    }
    if rules.iter().any(|rule| matches!(rule.look, RuleCheck::Operation(_))) {
        for case in subject.cases() {
            for rule in rules {
                if let RuleCheck::Operation(look) = rule.look {
                    findings.begin(rule);
                    look(&subject, &case, &mut findings);
                }
            }
        }
    }
    findings.finish()
}
