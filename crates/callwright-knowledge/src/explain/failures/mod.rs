//! What counts as a failed outcome: of a call that the proxy executed ([`is_failure`]), and in a message of a client's tool
//! ([`recognise`]).
//!
//! What policy says about an outcome holds first (`ruled`). Beyond a status of 400 or more and what never got an answer, some APIs answer
//! 2xx with an error in the body: [`RULES`] say which bodies are evidently one.

mod body;
mod error_rules;
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
pub use self::message::{Grounds, Recognised, ToolMessage, recognise};
pub use self::promise::PROMISE_RULES;
pub(super) use self::promise::shortfall;
use self::ruled::{Subject, ruling};
use self::text::text_failure;
pub use self::text_rules::{TEXT_RULES, TextRule};
use super::body_words::{is_absent, is_code_name, is_companion, scalar};
use callwright_types::Outcome;
use callwright_types::outcome::ApiAnswer;
use callwright_types::promise::Shortfall;
use callwright_types::rules::{FailureRule, RuledOutcome};

/// In which way an outcome failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    /// The API answered with this status, 400 or more.
    Status(u16),
    /// The API answered with a lower status, and the body is evidently an error: the name of the rule that says so.
    ErrorBody(&'static str),
    /// A rule of policy says that it failed: its place in the list, from 0.
    Ruled(usize),
    /// The API answered with a lower status and a bare code, which the operation's documentation names as an error.
    NamedCode(String),
    /// The API answered with a lower status, and with nothing of what its document promises.
    NotAsPromised(Shortfall),
    /// Nothing reached the API.
    Unreachable,
    /// The request was sent and no answer came.
    Unknown,
    /// It was not sent: a rule of policy or safety forbids it, or a credential that it needs cannot be had.
    Refused,
}

/// What an outcome or a message says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged<Failure = FailureKind> {
    /// It failed.
    Failed(Failure),
    /// It did not: a rule of policy says so, or nothing was tried.
    Fine,
    /// Nothing speaks for a failure.
    Silent,
}

impl<Failure> Judged<Failure> {
    /// In which way it failed, if it did.
    pub fn failure(self) -> Option<Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Fine | Self::Silent => None,
        }
    }
}

/// An outcome whose body is read as JSON once, if anything asks for it: every answer is judged, and most of them are none of these.
pub(super) struct Read<'a> {
    outcome: &'a Outcome,
    json: OnceCell<Option<Value>>,
}

impl<'a> Read<'a> {
    pub(super) fn of(outcome: &'a Outcome) -> Self {
        Self { outcome, json: OnceCell::new() }
    }

    /// The body, where it is JSON.
    fn json(&self) -> Option<&Value> {
        let Outcome::Answered(answer) = self.outcome else { return None };
        self.json.get_or_init(|| serde_json::from_slice(&answer.body).ok()).as_ref()
    }
}

/// Did an outcome fail, as far as the outcome alone and the policy's rules tell? `tool` is `toolset/tool`.
pub(super) fn is_failure(read: &Read<'_>, tool: &str, rules: &[FailureRule]) -> Judged {
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
        Outcome::Refused { .. } | Outcome::Unauthorised { .. } => Judged::Failed(FailureKind::Refused),
        // Nothing was tried that documentation could explain.
        Outcome::Unapproved(_) => Judged::Fine,
    }
}

fn ruled(read: &Read<'_>, answer: &ApiAnswer, tool: &str, rules: &[FailureRule]) -> Option<(usize, RuledOutcome)> {
    if rules.is_empty() {
        return None;
    }
    let subject = Subject { tool, status: Some(answer.status), text: &answer.text(), json: read.json() };
    ruling(rules, &subject)
}

/// The code of a body that holds a code and nothing of substance beside it, such as `{"info_code":"20000"}`: an error in one API and
/// success in another, so that only documentation can tell.
pub(super) fn suspected_code(read: &Read<'_>) -> Option<String> {
    let body = read.json()?.as_object()?;
    let mut codes = body.iter().filter(|(name, _)| is_code_name(name));
    let (_, value) = codes.next()?;
    let bare = body.iter().all(|(name, value)| is_code_name(name) || is_companion(name) || value.is_null());
    (bare && codes.next().is_none()).then(|| scalar(value)).flatten().filter(|code| !is_absent(code))
}

/// The name of the rule that recognises an error in the body. What only words speak for is left to the documentation to decide.
fn error_body(read: &Read<'_>, answer: &ApiAnswer) -> Option<&'static str> {
    // RFC 9457 section 3: the media type alone says that the content is a problem.
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
