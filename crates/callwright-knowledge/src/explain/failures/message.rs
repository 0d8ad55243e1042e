//! Recognises failures in messages of clients' tools.

use super::Judged;
use super::body::body_failure;
use super::grounds::{Finding, Grounds};
use super::reading::{json, labelled};
use super::ruled::{OutcomeRuleInput, ruling};
use super::telling::{FailureDetails, told_by_body, told_by_text};
use super::text::text_failure;
use callwright_types::rules::{FailureRule, RuledOutcome};

/// Message of a client's tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolMessage<'a> {
    /// Name of the tool; empty if unknown.
    pub tool: &'a str,
    /// Text of the message.
    pub text: &'a str,
}

/// Failure that a tool's message reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    /// Name of the rule in traces and metrics: `policy`, or one of the built-in rules.
    pub rule: &'static str,
    /// Grounds of the decision.
    pub grounds: Grounds,
    /// HTTP status in the message.
    pub status: Option<u16>,
    /// Error code in the message.
    pub code: Option<String>,
    /// Reason in words, truncated to a few hundred characters.
    pub reason: Option<String>,
}

/// Decides whether a tool's message reports a failure. Runs in linear time on a bounded part of the text.
pub fn recognise(message: &ToolMessage<'_>, rules: &[FailureRule]) -> Judged<Recognised> {
    let json = json(message.text);
    let subject = OutcomeRuleInput { tool: message.tool, status: None, text: message.text, json: json.as_ref() };
    let found = match ruling(rules, &subject) {
        Some((_, RuledOutcome::Fine)) => return Judged::Fine,
        Some((_, RuledOutcome::Failed)) => Some(("policy", Grounds::Policy)),
        None => json.as_ref().map_or_else(|| in_words(message.text), body_failure),
    };
    let Some((rule, grounds)) = found else { return Judged::Silent };
    let told = match &json {
        Some(body) => told_by_body(body),
        None => match labelled(message.text) {
            Some((label, body)) => {
                let by_body = told_by_body(&body);
                let by_label = told_by_text(label, true);
                FailureDetails {
                    status: by_label.status.or(by_body.status),
                    code: by_body.code,
                    reason: by_body.reason.or(by_label.reason),
                }
            }
            None => {
                told_by_text(message.text, rule.starts_with("status_") || rule == "traceback" || rule == "exception")
            }
        },
    };
    Judged::Failed(Recognised { rule, grounds, status: told.status, code: told.code, reason: told.reason })
}

/// Classifies a text that is not JSON: words, or JSON after a label that does not itself report a failure.
fn in_words(text: &str) -> Option<Finding> {
    match labelled(text) {
        Some((label, value)) => {
            let by_label = text_failure(label).filter(|(_, grounds)| *grounds == Grounds::Form);
            by_label
                .or_else(|| body_failure(&value))
                .or_else(|| is_status(label).then_some(("status_line", Grounds::Form)))
        }
        None => text_failure(text),
    }
}

/// Whether the label is only a status of 4xx or 5xx: "422 -", "HTTP 404:".
fn is_status(label: &str) -> bool {
    let label = label.trim().trim_start_matches("HTTP").trim_matches([' ', '-', ':', ',']);
    label.parse::<u16>().is_ok_and(|status| (400..600).contains(&status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_policy_says_holds_first() {
        let rules: Vec<FailureRule> = serde_json::from_str(
            r#"[{"tools":["search"],"text":"^nothing","outcome":"failed"},{"at":"/error","present":true,"outcome":"fine"}]"#,
        )
        .unwrap();
        let grounds = |tool, text| recognise(&ToolMessage { tool, text }, &rules).failure().map(|found| found.grounds);
        assert_eq!(grounds("search", "nothing found"), Some(Grounds::Policy));
        assert_eq!(grounds("list", "nothing found"), None);
        assert_eq!(grounds("list", r#"{"error":{"code":"x"}}"#), None);
        assert_eq!(grounds("list", r#"{"ok":false,"message":"x"}"#), Some(Grounds::Form));
    }
}
