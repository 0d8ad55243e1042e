//! Advice to the author of an OpenAPI document: changes that help models use its operations.
//!
//! A table of rules, one file each under `rules/`. The rules check the document and the tools made from it, because a
//! model sees only the tools. Advice has no effect on loading. It is computed only when a user requests a review.

mod inputs;
mod rule;
mod rules;
#[cfg(test)]
mod tests;
mod words;

use crate::dialect;
use crate::document::ApiDocument;
use crate::files::{Fetch, Origin};
use crate::load::toolset_from;
use crate::report::{Advice, Report};
use crate::{DocumentLimits, LoadError, Toolset, ToolsetSettings};
use callwright_types::SchemaDialect;
pub use rule::Rule;
use rule::{AdviceSubject, Findings, RuleCheck};

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

/// Optional parts of a review.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Review {
    /// Dialect whose losses are added to the simplified parts.
    pub dialect: Option<SchemaDialect>,
    /// Rules of the advice, applied in this order to each operation.
    pub advice: Vec<Rule>,
}

/// Reviews the document at `origin`. Files that it refers to are read as `settings` allow; `fetch` fetches remote
/// files.
///
/// # Errors
///
/// Returns an error if the document as a whole cannot be loaded.
pub fn review(
    origin: Origin<'_>,
    settings: &ToolsetSettings,
    review: &Review,
    fetch: &dyn Fetch,
) -> Result<Report, LoadError> {
    reviewed(origin, settings, review, fetch).map(|toolset| toolset.report)
}

/// Like [`review()`], but returns the toolset, whose report has the review.
///
/// # Errors
///
/// Returns an error if the document as a whole cannot be loaded.
pub fn reviewed(
    origin: Origin<'_>,
    settings: &ToolsetSettings,
    review: &Review,
    fetch: &dyn Fetch,
) -> Result<Toolset, LoadError> {
    let path = origin.to_path();
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let document = ApiDocument::load(origin, settings, fetch)?;
    let mut toolset = toolset_from(&document, &name, &path, settings)?;
    if let Some(dialect) = review.dialect {
        toolset.report.simplified.extend(dialect::losses(&toolset.operations, dialect));
    }
    toolset.report.advice = advise(&document, &toolset, &settings.limits, &review.advice);
    Ok(toolset)
}

/// Runs `rules` on `document` and on the `toolset` made from it: first the rules for the whole document, then the
/// rules for each operation. A position that several operations share is reported once.
fn advise(document: &ApiDocument, toolset: &Toolset, limits: &DocumentLimits, rules: &[Rule]) -> Vec<Advice> {
    let subject = AdviceSubject::new(document, toolset, limits);
    let mut findings = Findings::default();
    for rule in rules {
        if let RuleCheck::Document(check) = rule.check {
            findings.begin(rule);
            check(&subject, &mut findings);
        }
    }
    if rules.iter().any(|rule| matches!(rule.check, RuleCheck::Operation(_))) {
        for case in subject.cases() {
            for rule in rules {
                if let RuleCheck::Operation(check) = rule.check {
                    findings.begin(rule);
                    check(&subject, &case, &mut findings);
                }
            }
        }
    }
    findings.finish()
}
