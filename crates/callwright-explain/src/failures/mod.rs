//! Recognises failed outcomes of calls that the proxy executed ([`is_failure`]), and failures in messages of clients'
//! tools ([`recognise`]).
//!
//! Rules of the policy are applied first (`policy_rules`). A status that reports no success ([`ApiAnswer::is_success`])
//! and a missing response are failures. Some APIs also return 2xx with an error in the body: `error_rules` recognise such
//! bodies.

mod body;
pub(crate) mod body_words;
mod error_rules;
mod json_text;
mod markup;
mod message;
mod policy_rules;
mod promise;
mod text_rules;
mod verdict;

use serde_json::Value;

use self::body::body_failure;
pub use self::message::recognise;
use self::policy_rules::{OutcomeRuleInput, matching_rule};
pub(crate) use self::promise::shortfall;
use self::text_rules::text_failure;
use self::verdict::FailureEvidence;
pub use self::verdict::{FailureKind, FailureVerdict};
use body_words::{is_absent, is_code_name, is_companion, scalar};
use callwright_types::Outcome;
use callwright_types::outcome::ApiAnswer;
use callwright_types::rules::{FailureRule, RuledOutcome};

/// Classifies an outcome by itself and by the rules of the policy, without documentation. `json` is its body if that is
/// JSON, and `tool` is `toolset/tool`.
pub(crate) fn is_failure(outcome: &Outcome, json: Option<&Value>, tool: &str, rules: &[FailureRule]) -> FailureVerdict {
    let failure = match outcome {
        Outcome::Answered(answer) => {
            let text = answer.text();
            let subject = OutcomeRuleInput { tool, status: Some(answer.status), text: &text, json };
            match matching_rule(rules, &subject) {
                Some((index, RuledOutcome::Failed)) => FailureKind::Ruled(index),
                Some((_, RuledOutcome::Fine)) => return FailureVerdict::Fine,
                None if !answer.is_success() => FailureKind::Status(answer.status),
                None => match error_body(answer, &text, json) {
                    Some(rule) => FailureKind::ErrorBody(rule),
                    None => return FailureVerdict::Undecided,
                },
            }
        }
        Outcome::Unreachable { .. } => FailureKind::Unreachable,
        Outcome::Unknown { .. } => FailureKind::Unknown,
        Outcome::Refused(_) | Outcome::Unauthorised { .. } => FailureKind::Refused,
        // Nothing was attempted that documentation could explain.
        Outcome::Unapproved(_) => return FailureVerdict::Fine,
    };
    FailureVerdict::Failed(failure)
}

/// Returns the code of a body that contains only a code, such as `{"info_code":"20000"}`. Such a code can mean an error
/// or a success, so the documentation decides.
pub(crate) fn suspected_code(json: Option<&Value>) -> Option<String> {
    let body = json?.as_object()?;
    let mut codes = body.iter().filter(|(name, _)| is_code_name(name));
    let (_, value) = codes.next()?;
    let bare = body.iter().all(|(name, value)| is_code_name(name) || is_companion(name) || value.is_null());
    (bare && codes.next().is_none()).then(|| scalar(value)).flatten().filter(|code| !is_absent(code))
}

/// Returns the rule that recognises an error in the body. Rules based on wording alone are excluded; the documentation
/// decides these cases.
fn error_body(answer: &ApiAnswer, text: &str, json: Option<&Value>) -> Option<&'static str> {
    // RFC 9457 section 3: the media type alone marks the content as a problem.
    if answer.header("content-type").is_some_and(|kind| kind.trim().starts_with("application/problem+json")) {
        return Some("problem_details");
    }
    let found = json.map_or_else(|| text_failure(text), body_failure);
    found.filter(|(_, evidence)| *evidence == FailureEvidence::Form).map(|(rule, _)| rule)
}

#[cfg(test)]
mod outcome_tests;
#[cfg(test)]
mod tests;
