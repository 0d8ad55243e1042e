//! Recognises failed outcomes of calls that the proxy executed ([`is_failure`]), and failures in messages of clients'
//! tools ([`recognise`]).
//!
//! Rules of the policy are applied first (`ruled`). A status of 400 or more and a missing response are failures. Some
//! APIs also return 2xx with an error in the body: [`RULES`] recognise such bodies.

mod body;
mod error_rules;
mod grounds;
mod markup;
mod message;
mod promise;
mod reading;
mod ruled;
mod substance;
mod telling;
mod text;
mod text_rules;

use std::cell::OnceCell;

use serde_json::Value;

use self::body::body_failure;
pub use self::error_rules::{RULES, Rule};
pub use self::grounds::Grounds;
pub use self::message::{Recognised, ToolMessage, recognise};
pub use self::promise::PROMISE_RULES;
pub(super) use self::promise::shortfall;
use self::ruled::{OutcomeRuleInput, ruling};
use self::text::text_failure;
pub use self::text_rules::{TEXT_RULES, TextRule};
use super::body_words::{is_absent, is_code_name, is_companion, scalar};
use callwright_types::Outcome;
use callwright_types::outcome::ApiAnswer;
use callwright_types::promise::Shortfall;
use callwright_types::rules::{FailureRule, RuledOutcome};

/// Kind of a failed outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    /// The API returned this status, 400 or more.
    Status(u16),
    /// The API returned a lower status with an error body. Contains the name of the rule that recognised it.
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
pub enum Judged<Failure = FailureKind> {
    /// It failed.
    Failed(Failure),
    /// It did not fail: a rule of the policy matched, or nothing was attempted.
    Fine,
    /// There is no evidence of a failure.
    Silent,
}

impl<Failure> Judged<Failure> {
    /// Returns the failure, if any.
    pub fn failure(self) -> Option<Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Fine | Self::Silent => None,
        }
    }
}

/// Outcome whose body is parsed as JSON at most once and only on demand, because every response is classified.
pub(super) struct ParsedOutcome<'a> {
    outcome: &'a Outcome,
    json: OnceCell<Option<Value>>,
}

impl<'a> ParsedOutcome<'a> {
    pub(super) fn of(outcome: &'a Outcome) -> Self {
        Self { outcome, json: OnceCell::new() }
    }

    /// Returns the body if it is JSON.
    fn json(&self) -> Option<&Value> {
        let Outcome::Answered(answer) = self.outcome else { return None };
        self.json.get_or_init(|| serde_json::from_slice(&answer.body).ok()).as_ref()
    }
}

/// Classifies an outcome by itself and by the rules of the policy, without documentation. `tool` is `toolset/tool`.
pub(super) fn is_failure(read: &ParsedOutcome<'_>, tool: &str, rules: &[FailureRule]) -> Judged {
    match read.outcome {
        Outcome::Answered(answer) => match ruled(read, answer, tool, rules) {
            Some((index, RuledOutcome::Failed)) => Judged::Failed(FailureKind::Ruled(index)),
            Some((_, RuledOutcome::Fine)) => Judged::Fine,
            None if answer.status >= 400 => Judged::Failed(FailureKind::Status(answer.status)),
            None => {
                error_body(read, answer).map_or(Judged::Silent, |rule| Judged::Failed(FailureKind::ErrorBody(rule)))
            }
        },
        Outcome::Unreachable { .. } => Judged::Failed(FailureKind::Unreachable),
        Outcome::Unknown { .. } => Judged::Failed(FailureKind::Unknown),
        Outcome::Refused(_) | Outcome::Unauthorised { .. } => Judged::Failed(FailureKind::Refused),
        // Nothing was attempted that documentation could explain.
        Outcome::Unapproved(_) => Judged::Fine,
    }
}

fn ruled(
    read: &ParsedOutcome<'_>,
    answer: &ApiAnswer,
    tool: &str,
    rules: &[FailureRule],
) -> Option<(usize, RuledOutcome)> {
    if rules.is_empty() {
        return None;
    }
    let subject = OutcomeRuleInput { tool, status: Some(answer.status), text: &answer.text(), json: read.json() };
    ruling(rules, &subject)
}

/// Returns the code of a body that contains only a code, such as `{"info_code":"20000"}`. Such a code can mean an error
/// or a success, so the documentation decides.
pub(super) fn suspected_code(read: &ParsedOutcome<'_>) -> Option<String> {
    let body = read.json()?.as_object()?;
    let mut codes = body.iter().filter(|(name, _)| is_code_name(name));
    let (_, value) = codes.next()?;
    let bare = body.iter().all(|(name, value)| is_code_name(name) || is_companion(name) || value.is_null());
    (bare && codes.next().is_none()).then(|| scalar(value)).flatten().filter(|code| !is_absent(code))
}

/// Returns the rule that recognises an error in the body. Rules based on wording alone are excluded; the documentation
/// decides these cases.
fn error_body(read: &ParsedOutcome<'_>, answer: &ApiAnswer) -> Option<&'static str> {
    // RFC 9457 section 3: the media type alone marks the content as a problem.
    if answer.header("content-type").is_some_and(|kind| kind.trim().starts_with("application/problem+json")) {
        return Some("problem_details");
    }
    let found = match read.json() {
        Some(body) => body_failure(body),
        None => text_failure(&answer.text()),
    };
    found.filter(|(_, grounds)| *grounds == Grounds::Form).map(|(rule, _)| rule)
}

#[cfg(test)]
mod outcome_tests;
#[cfg(test)]
mod tests;
