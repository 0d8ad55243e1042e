//! Recognises failures in messages of clients' tools.

use super::body::body_failure;
use super::json_text::{json, labelled};
use super::policy_rules::{OutcomeRuleInput, matching_rule};
use super::text_rules::text_failure;
use super::verdict::{FailureEvidence, FailureVerdict, Finding};
use callwright_types::rules::{FailureRule, RuledOutcome};

/// Decides whether the message of a client's tool reports a failure; `tool` is its name, if known. Returns the name of the rule in traces and metrics: `policy`, or
/// one of the built-in rules. Runs in linear time on a bounded part of the text.
pub fn recognise(tool: &str, text: &str, rules: &[FailureRule]) -> FailureVerdict<&'static str> {
    let json = json(text);
    let subject = OutcomeRuleInput { tool, status: None, text, json: json.as_ref() };
    match matching_rule(rules, &subject) {
        Some((_, RuledOutcome::Fine)) => FailureVerdict::Fine,
        Some((_, RuledOutcome::Failed)) => FailureVerdict::Failed("policy"),
        None => json
            .as_ref()
            .map_or_else(|| plain_text_failure(text), body_failure)
            .map_or(FailureVerdict::Undecided, |(rule, _)| FailureVerdict::Failed(rule)),
    }
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
        let rule = |tool, text| recognise(tool, text, &rules).failure();
        assert_eq!(rule("search", "nothing found"), Some("policy"));
        assert_eq!(rule("list", "nothing found"), None);
        assert_eq!(rule("list", r#"{"error":{"code":"x"}}"#), None);
        assert_eq!(rule("list", r#"{"ok":false,"message":"x"}"#), Some("not_successful"));
    }
}
