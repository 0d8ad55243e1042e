//! Recognises failed outcomes of calls that the proxy executed ([`is_failure`]), and failures in messages of clients'
//! tools ([`recognise`]).
//!
//! Rules of the policy are applied first (`policy_rules`). A status that reports no success ([`ApiAnswer::is_success`])
//! and a missing response are failures. Some APIs also return 2xx with an error in the body: [`RULES`] recognise such
//! bodies.

mod body;
pub(crate) mod body_words;
mod details;
mod error_rules;
mod evidence;
mod json_text;
mod markup;
mod message;
mod policy_rules;
mod promise;
mod substance;
mod text;
mod text_rules;

use std::cell::OnceCell;

use serde_json::Value;

use self::body::body_failure;
pub use self::error_rules::{RULES, Rule};
pub use self::evidence::FailureEvidence;
pub use self::message::{ReportedFailure, ToolMessage, recognise};
use self::policy_rules::{OutcomeRuleInput, matching_rule};
pub use self::promise::PROMISE_RULES;
pub(crate) use self::promise::shortfall;
use self::text::text_failure;
pub use self::text_rules::{TEXT_RULES, TextRule};
use body_words::{is_absent, is_code_name, is_companion, scalar};
use callwright_types::Outcome;
use callwright_types::outcome::ApiAnswer;
use callwright_types::promise::Shortfall;
use callwright_types::rules::{FailureRule, RuledOutcome};

/// Kind of a failed outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    /// The API returned this status, which reports no success: a redirect that is not followed, or 400 and more.
    Status(u16),
    /// The API returned a successful status with an error body. Contains the name of the rule that recognised it.
    ErrorBody(&'static str),
    /// A rule of the policy marks it as failed. Contains the rule's index, from 0.
    Ruled(usize),
    /// The API returned a lower status with a bare code that the documentation describes as an error.
    NamedCode(String),
    /// The API returned a lower status but nothing that its document promises.
    NotAsPromised(Shortfall),
    /// The request did not reach the API.
    Unreachable,
    /// The request was sent but no response arrived.
    Unknown,
    /// The request was not sent: a policy or safety rule forbids it, or a required credential is not available.
    Refused,
}

/// Verdict on an outcome or a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureVerdict<Failure = FailureKind> {
    /// It failed.
    Failed(Failure),
    /// It did not fail: a rule of the policy matched, or nothing was attempted.
    Fine,
    /// There is no evidence of a failure.
    Undecided,
}

impl<Failure> FailureVerdict<Failure> {
    /// Returns the failure, if any.
    pub fn failure(self) -> Option<Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Fine | Self::Undecided => None,
        }
    }
}

/// Outcome whose body is parsed as JSON at most once and only on demand, because every response is classified.
pub(crate) struct ParsedOutcome<'a> {
    outcome: &'a Outcome,
    json: OnceCell<Option<Value>>,
}

impl<'a> ParsedOutcome<'a> {
    pub(crate) fn new(outcome: &'a Outcome) -> Self {
        Self { outcome, json: OnceCell::new() }
    }

    /// Returns the body if it is JSON.
    fn json(&self) -> Option<&Value> {
        let Outcome::Answered(answer) = self.outcome else { return None };
        self.json.get_or_init(|| serde_json::from_slice(&answer.body).ok()).as_ref()
    }
}

/// Classifies an outcome by itself and by the rules of the policy, without documentation. `tool` is `toolset/tool`.
pub(crate) fn is_failure(parsed: &ParsedOutcome<'_>, tool: &str, rules: &[FailureRule]) -> FailureVerdict {
    match parsed.outcome {
        Outcome::Answered(answer) => match rule_outcome(parsed, answer, tool, rules) {
            Some((index, RuledOutcome::Failed)) => FailureVerdict::Failed(FailureKind::Ruled(index)),
            Some((_, RuledOutcome::Fine)) => FailureVerdict::Fine,
            None if !answer.is_success() => FailureVerdict::Failed(FailureKind::Status(answer.status)),
            None => error_body(parsed, answer)
                .map_or(FailureVerdict::Undecided, |rule| FailureVerdict::Failed(FailureKind::ErrorBody(rule))),
        },
        Outcome::Unreachable { .. } => FailureVerdict::Failed(FailureKind::Unreachable),
        Outcome::Unknown { .. } => FailureVerdict::Failed(FailureKind::Unknown),
        Outcome::Refused(_) | Outcome::Unauthorised { .. } => FailureVerdict::Failed(FailureKind::Refused),
        // Nothing was attempted that documentation could explain.
        Outcome::Unapproved(_) => FailureVerdict::Fine,
    }
}

fn rule_outcome(
    parsed: &ParsedOutcome<'_>,
    answer: &ApiAnswer,
    tool: &str,
    rules: &[FailureRule],
) -> Option<(usize, RuledOutcome)> {
    if rules.is_empty() {
        return None;
    }
    let subject = OutcomeRuleInput { tool, status: Some(answer.status), text: &answer.text(), json: parsed.json() };
    matching_rule(rules, &subject)
}

/// Returns the code of a body that contains only a code, such as `{"info_code":"20000"}`. Such a code can mean an error
/// or a success, so the documentation decides.
pub(crate) fn suspected_code(parsed: &ParsedOutcome<'_>) -> Option<String> {
    let body = parsed.json()?.as_object()?;
    let mut codes = body.iter().filter(|(name, _)| is_code_name(name));
    let (_, value) = codes.next()?;
    let bare = body.iter().all(|(name, value)| is_code_name(name) || is_companion(name) || value.is_null());
    (bare && codes.next().is_none()).then(|| scalar(value)).flatten().filter(|code| !is_absent(code))
}

/// Returns the rule that recognises an error in the body. Rules based on wording alone are excluded; the documentation
/// decides these cases.
fn error_body(parsed: &ParsedOutcome<'_>, answer: &ApiAnswer) -> Option<&'static str> {
    // RFC 9457 section 3: the media type alone marks the content as a problem.
    if answer.header("content-type").is_some_and(|kind| kind.trim().starts_with("application/problem+json")) {
        return Some("problem_details");
    }
    let found = match parsed.json() {
        Some(body) => body_failure(body),
        None => text_failure(&answer.text()),
    };
    found.filter(|(_, evidence)| *evidence == FailureEvidence::Form).map(|(rule, _)| rule)
}

#[cfg(test)]
mod outcome_tests;
#[cfg(test)]
mod tests;
