//! Advice to the author of a document: what would make models use its operations better.
//!
//! A table of rules, one file each under `rules/`. They look at the document and at the tools that were made from it: what counts is what a
//! model is shown. Nothing here bears on loading, so it is only done where a person asks for a review.

mod findings;
mod inputs;
mod rules;
mod subject;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;

use serde::Serialize;

use super::document::Document;
use super::{DocumentLimits, Toolset};
use findings::Findings;
use subject::{Case, Subject};

/// One piece of advice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// The rule that gives it.
    pub code: &'static str,
    /// Method and path of the operation, the first of several; empty where the whole document is meant.
    pub operation: String,
    /// File, line and pointer of what is to be changed.
    pub at: String,
    /// What a model lacks there.
    pub message: String,
    /// What to write; the same for all advice of one rule.
    pub fix: &'static str,
}

/// One rule of the table.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its stable name in reports and on the command line.
    pub code: &'static str,
    /// What it finds, in a few words.
    pub about: &'static str,
    /// What to write instead.
    pub fix: &'static str,
    look: Look,
}

/// What a rule looks at.
#[derive(Clone, Copy)]
enum Look {
    /// Each operation by itself.
    Operation(fn(&Subject<'_>, &Case<'_>, &mut Findings)),
    /// The document with all its operations.
    Document(fn(&Subject<'_>, &mut Findings)),
}

impl Rule {
    /// Every rule, in the order of reports.
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

    /// The rule with this code.
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

/// What `rules` have to say about `document`, which became `toolset`: first about the whole, then operation by operation. What several
/// operations share is told once.
pub(super) fn advise(document: &Document, toolset: &Toolset, limits: &DocumentLimits, rules: &[Rule]) -> Vec<Advice> {
    let subject = Subject::new(document, toolset, limits);
    let mut findings = Findings::default();
    for rule in rules {
        if let Look::Document(look) = rule.look {
            findings.begin(rule);
            look(&subject, &mut findings);
        }
    }
    if rules.iter().any(|rule| matches!(rule.look, Look::Operation(_))) {
        for case in subject.cases() {
            for rule in rules {
                if let Look::Operation(look) = rule.look {
                    findings.begin(rule);
                    look(&subject, &case, &mut findings);
                }
            }
        }
    }
    findings.finish()
}
