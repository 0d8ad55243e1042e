//! Advice to the author of an OpenAPI document: changes that help models use its operations.
//!
//! A table of rules ([`Rule::ALL`]). They check the document and the tools made from it, because a
//! model sees only the tools. Advice has no effect on loading. It is computed only when a user requests a review.

mod argument_rules;
mod document_rules;
mod inputs;
mod operation_rules;
mod rule;
#[cfg(test)]
mod tests;

use argument_rules::{missing_example, unexplained_parameter, unexplained_values};
use document_rules::{confusable_names, missing_server, same_description};
use operation_rules::{cut_description, missing_description, missing_operation_id, undocumented_errors};
pub use rule::Rule;
use rule::{AdviceSubject, Findings, RuleCheck};

use crate::load::toolset_from;
use crate::{Advice, ApiDocument, DocumentLimits, Fetch, LoadError, Origin, Toolset, ToolsetSettings, dialect};
use callwright_types::SchemaDialect;

impl Rule {
    /// All rules, in the order of reports.
    pub const ALL: [Self; 10] = [
        Self {
            code: "missing-server",
            about: "operations have no server URL",
            fix: "give an absolute http or https URL under `servers` (in Swagger 2.0: a `host`, and `schemes` of http \
                  or https), or set the toolset's `base_url`",
            check: RuleCheck::Document(missing_server),
        },
        Self {
            code: "confusable-names",
            about: "tool names that models confuse",
            fix: "make each `operationId` distinct, such as `list` for many and `get` for one",
            check: RuleCheck::Document(confusable_names),
        },
        Self {
            code: "same-description",
            about: "several operations share one description",
            fix: "describe in each when to use it instead of the others",
            check: RuleCheck::Document(same_description),
        },
        Self {
            code: "missing-operation-id",
            about: "a tool is named after method and path",
            fix: "add an `operationId` that describes the action: a verb and its object",
            check: RuleCheck::Operation(missing_operation_id),
        },
        Self {
            code: "missing-description",
            about: "an operation has no description",
            fix: "describe in `summary` or `description` what it does, what it returns, and when to use it",
            check: RuleCheck::Operation(missing_description),
        },
        Self {
            code: "cut-description",
            about: "a description is longer than the limit",
            fix: "begin with what it does and when to use it, or raise the toolset's `limits.description_chars` if the \
                  provider accepts more",
            check: RuleCheck::Operation(cut_description),
        },
        Self {
            code: "unexplained-parameter",
            about: "a parameter has no description",
            fix: "add a `description`: its meaning, its unit or format, and the default if it is omitted",
            check: RuleCheck::Operation(unexplained_parameter),
        },
        Self {
            code: "unexplained-values",
            about: "allowed values have no explanation",
            fix: "list the values with their meanings in the `description`",
            check: RuleCheck::Operation(unexplained_values),
        },
        Self {
            code: "missing-example",
            about: "a required format has no example",
            fix: "give it an `example`",
            check: RuleCheck::Operation(missing_example),
        },
        Self {
            code: "undocumented-errors",
            about: "error responses are not documented",
            fix: "describe under `responses` what causes each `4xx` and how to fix it",
            check: RuleCheck::Operation(undocumented_errors),
        },
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

/// Loads and reviews the document at `origin`; the report of the toolset has the review. Files that the document refers
/// to are read as `settings` allow; `fetch` fetches remote files.
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
