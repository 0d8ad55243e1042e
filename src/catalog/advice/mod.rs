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
    /// What a model lacks there, and what to write.
    pub message: String,
}

/// One rule of the table.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its stable name in reports and on the command line.
    pub code: &'static str,
    /// What it finds, in a few words.
    pub about: &'static str,
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
        Self::document("missing-server", "requests have no address to go to", rules::missing_server::look),
        Self::document(
            "confusable-names",
            "names of tools that models take for each other",
            rules::confusable_names::look,
        ),
        Self::document("same-description", "one text describes several operations", rules::same_description::look),
        Self::operation(
            "missing-operation-id",
            "a tool is named after method and path",
            rules::missing_operation_id::look,
        ),
        Self::operation("missing-description", "nothing says what an operation does", rules::missing_description::look),
        Self::operation(
            "cut-description",
            "a description is longer than models get to read",
            rules::cut_description::look,
        ),
        Self::operation(
            "unexplained-parameter",
            "nothing says what a parameter is for",
            rules::unexplained_parameter::look,
        ),
        Self::operation(
            "unexplained-values",
            "nothing says what each allowed value means",
            rules::unexplained_values::look,
        ),
        Self::operation("missing-example", "a format is demanded and no value shown", rules::missing_example::look),
        Self::operation(
            "undocumented-errors",
            "nothing explains why a call can fail",
            rules::undocumented_errors::look,
        ),
    ];

    /// The rule with this code.
    pub fn named(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.code == code)
    }

    const fn operation(
        code: &'static str,
        about: &'static str,
        look: fn(&Subject<'_>, &Case<'_>, &mut Findings),
    ) -> Self {
        Self { code, about, look: Look::Operation(look) }
    }

    const fn document(code: &'static str, about: &'static str, look: fn(&Subject<'_>, &mut Findings)) -> Self {
        Self { code, about, look: Look::Document(look) }
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
            findings.begin(rule.code);
            look(&subject, &mut findings);
        }
    }
    if rules.iter().any(|rule| matches!(rule.look, Look::Operation(_))) {
        for case in subject.cases() {
            for rule in rules {
                if let Look::Operation(look) = rule.look {
                    findings.begin(rule.code);
                    look(&subject, &case, &mut findings);
                }
            }
        }
    }
    findings.finish()
}
