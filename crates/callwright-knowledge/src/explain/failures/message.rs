//! Recognises failures in messages of clients' tools.

use super::body::body_failure;
use super::details::{FailureDetails, details_of_body, details_of_text};
use super::json_text::{json, labelled};
use super::policy_rules::{OutcomeRuleInput, matching_rule};
use super::text_rules::text_failure;
use super::{FailureEvidence, FailureVerdict, Finding};
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
pub struct ReportedFailure {
    /// Name of the rule in traces and metrics: `policy`, or one of the built-in rules.
    pub rule: &'static str,
    /// Evidence of the decision.
    pub evidence: FailureEvidence,
    /// HTTP status in the message.
    pub status: Option<u16>,
    /// Error code in the message.
    pub code: Option<String>,
    /// Reason in words, truncated to a few hundred characters.
    pub reason: Option<String>,
}

/// Decides whether a tool's message reports a failure. Runs in linear time on a bounded part of the text.
pub fn recognise(message: &ToolMessage<'_>, rules: &[FailureRule]) -> FailureVerdict<ReportedFailure> {
    let json = json(message.text);
    let subject = OutcomeRuleInput { tool: message.tool, status: None, text: message.text, json: json.as_ref() };
    let found = match matching_rule(rules, &subject) {
        Some((_, RuledOutcome::Fine)) => return FailureVerdict::Fine,
        Some((_, RuledOutcome::Failed)) => Some(("policy", FailureEvidence::Policy)),
        None => json.as_ref().map_or_else(|| plain_text_failure(message.text), body_failure),
    };
    let Some((rule, evidence)) = found else { return FailureVerdict::Undecided };
    let details = match &json {
        Some(body) => details_of_body(body),
        None => match labelled(message.text) {
            Some((label, body)) => {
                let by_body = details_of_body(&body);
                let by_label = details_of_text(label, true);
                FailureDetails {
                    status: by_label.status.or(by_body.status),
                    code: by_body.code,
                    reason: by_body.reason.or(by_label.reason),
                }
            }
            None => {
                details_of_text(message.text, rule.starts_with("status_") || rule == "traceback" || rule == "exception")
            }
        },
    };
    FailureVerdict::Failed(ReportedFailure {
        rule,
        evidence,
        status: details.status,
        code: details.code,
        reason: details.reason,
    })
}

/// Classifies a text that is not JSON: words, or JSON after a label that does not itself report a failure.
fn plain_text_failure(text: &str) -> Option<Finding> {
    match labelled(text) {
        Some((label, value)) => {
            let by_label = text_failure(label).filter(|(_, evidence)| *evidence == FailureEvidence::Form);
            by_label
                .or_else(|| body_failure(&value))
                .or_else(|| is_status(label).then_some(("status_line", FailureEvidence::Form)))
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
    fn policy_rules_take_precedence() {
        let rules: Vec<FailureRule> = serde_json::from_str(
            r#"[{"tools":["search"],"text":"^nothing","outcome":"failed"},{"at":"/error","present":true,"outcome":"fine"}]"#,
        )
        .unwrap();
        let evidence =
            |tool, text| recognise(&ToolMessage { tool, text }, &rules).failure().map(|found| found.evidence);
        assert_eq!(evidence("search", "nothing found"), Some(FailureEvidence::Policy));
        assert_eq!(evidence("list", "nothing found"), None);
        assert_eq!(evidence("list", r#"{"error":{"code":"x"}}"#), None);
        assert_eq!(evidence("list", r#"{"ok":false,"message":"x"}"#), Some(FailureEvidence::Form));
    }
}
