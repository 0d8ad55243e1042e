//! Applies the failure rules of the policy to an outcome.

use serde_json::Value;

use super::body_words::is_empty;
use callwright_common::json::{Pointer, scalar_text};
use callwright_common::limits::SHORT_BODY_BYTES;
use callwright_common::text::beginning_bytes;
use callwright_types::rules::{FailureRule, LinearRegex, RuledOutcome};

/// Outcome as input of the rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutcomeRuleInput<'a> {
    /// Either `toolset/tool`, or the name of a client's tool.
    pub(crate) tool: &'a str,
    /// HTTP status, if known.
    pub(crate) status: Option<u16>,
    /// Body as text.
    pub(crate) text: &'a str,
    /// Body as JSON, if it is JSON.
    pub(crate) json: Option<&'a Value>,
}

/// Returns the index and outcome of the first matching rule.
pub(crate) fn matching_rule(rules: &[FailureRule], subject: &OutcomeRuleInput<'_>) -> Option<(usize, RuledOutcome)> {
    let matching = rules.iter().enumerate().find(|(_, rule)| matches(rule, subject));
    matching.map(|(index, rule)| (index, rule.outcome))
}

fn matches(rule: &FailureRule, subject: &OutcomeRuleInput<'_>) -> bool {
    let status_fits = match subject.status {
        Some(status) if !rule.status.is_empty() => rule.status.contains(&status),
        status => rule.status.is_empty() && status.is_none_or(|status| status < 400),
    };
    status_fits && rule.tools.fit(subject.tool) && condition_holds(rule, subject)
}

fn condition_holds(rule: &FailureRule, subject: &OutcomeRuleInput<'_>) -> bool {
    if let (Some(expression), None) = (&rule.text, &rule.at) {
        return expression.is_found_in(beginning_bytes(subject.text, SHORT_BODY_BYTES));
    }
    if rule.conditions().is_empty() {
        return true;
    }
    let Some(json) = subject.json else { return false };
    let values = values_at(json, rule.at.as_ref().unwrap_or(&Pointer::root()));
    if rule.present == Some(false) {
        return values.iter().all(|value| value.is_none_or(Value::is_null));
    }
    !values.is_empty() && values.into_iter().all(|value| value.is_some_and(|value| holds(rule, value)))
}

fn holds(rule: &FailureRule, value: &Value) -> bool {
    let one_of = |values: &[Value]| values.iter().any(|expected| same(expected, value));
    rule.values.as_deref().is_none_or(one_of)
        && rule.except.as_deref().is_none_or(|values| !value.is_null() && !one_of(values))
        && rule.range.is_none_or(|range| number(value).is_some_and(|number| range.contains(number)))
        && rule.present.is_none_or(|present| present != value.is_null())
        && rule.empty.is_none_or(|empty| empty == is_empty(value))
        && rule.text.as_ref().is_none_or(|expression| matches_text(expression, value))
}

/// Compares numbers and strings as text, because vendors use both for the same code.
fn same(one: &Value, other: &Value) -> bool {
    one == other || scalar_text(one).is_some_and(|text| scalar_text(other) == Some(text))
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn matches_text(expression: &LinearRegex, value: &Value) -> bool {
    scalar_text(value).is_some_and(|text| expression.is_found_in(beginning_bytes(&text, SHORT_BODY_BYTES)))
}

/// Returns the values at a pointer: several if it contains `*`, and `None` for each missing one.
fn values_at<'a>(json: &'a Value, at: &Pointer) -> Vec<Option<&'a Value>> {
    let mut found = vec![Some(json)];
    for token in at.tokens() {
        found = found.into_iter().flat_map(|value| children(value, &token)).collect();
    }
    found
}

fn children<'a>(value: Option<&'a Value>, token: &str) -> Vec<Option<&'a Value>> {
    match value {
        Some(Value::Object(members)) if token == "*" => members.values().map(Some).collect(),
        Some(Value::Array(items)) if token == "*" => items.iter().map(Some).collect(),
        Some(Value::Object(members)) => vec![members.get(token)],
        Some(Value::Array(items)) => vec![token.parse().ok().and_then(|index: usize| items.get(index))],
        _ => vec![None],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> FailureRule {
        serde_json::from_str(text).unwrap()
    }

    fn does_match(text: &str, body: &str) -> bool {
        let json = serde_json::from_str(body).ok();
        let subject = OutcomeRuleInput { tool: "maps/route", status: Some(200), text: body, json: json.as_ref() };
        matches(&rule(text), &subject)
    }

    #[test]
    fn each_condition_has_bodies_that_match_and_bodies_that_do_not() {
        let cases = [
            (r#"{"at":"/code","values":[7],"outcome":"failed"}"#, r#"{"code":"7"}"#, r#"{"code":8}"#),
            (r#"{"at":"/code","except":["10000"],"outcome":"failed"}"#, r#"{"code":20000}"#, r#"{"code":10000}"#),
            (r#"{"at":"/code","except":["10000"],"outcome":"failed"}"#, r#"{"code":20000}"#, r#"{"x":1}"#),
            (r#"{"at":"/n","range":{"from":1},"outcome":"failed"}"#, r#"{"n":"2"}"#, r#"{"n":0}"#),
            (r#"{"at":"/e","present":true,"outcome":"failed"}"#, r#"{"e":0}"#, r#"{"e":null}"#),
            (r#"{"at":"/r","present":false,"outcome":"failed"}"#, r#"{"r":null}"#, r#"{"r":[]}"#),
            (r#"{"at":"/r","empty":true,"outcome":"fine"}"#, r#"{"r":[]}"#, r#"{"q":[]}"#),
            (r#"{"at":"/r","empty":false,"outcome":"failed"}"#, r#"{"r":[1]}"#, r#"{"r":{}}"#),
            (r#"{"empty":true,"outcome":"failed"}"#, "[]", "[1]"),
            (r#"{"at":"/m","text":"^No","outcome":"failed"}"#, r#"{"m":"No way"}"#, r#"{"m":"way, No"}"#),
            (r#"{"text":"(?i)quota","outcome":"failed"}"#, "the QUOTA", "the rate"),
            (r#"{"at":"/r/*/s","values":["bad"],"outcome":"failed"}"#, r#"{"r":[{"s":"bad"}]}"#, r#"{"r":[]}"#),
            (
                r#"{"at":"/r/*/s","values":["bad"],"outcome":"failed"}"#,
                r#"{"r":{"a":{"s":"bad"}}}"#,
                r#"{"r":[{"s":"bad"},{"s":"ok"}]}"#,
            ),
            (
                r#"{"at":"/r/*/s","values":["bad"],"outcome":"failed"}"#,
                r#"{"r":[{"s":"bad"},{"s":"bad"}]}"#,
                r#"{"r":[{"s":"bad"},{}]}"#,
            ),
            (r#"{"at":"/1","values":[true],"outcome":"failed"}"#, "[0,true]", "[0]"),
        ];
        for (rule, fitting, other) in cases {
            assert!(does_match(rule, fitting), "{rule} {fitting}");
            assert!(!does_match(rule, other), "{rule} {other}");
        }
    }

    #[test]
    fn a_rule_holds_for_its_tools_and_statuses() {
        let subject = |tool, status| OutcomeRuleInput { tool, status, text: "x", json: None };
        let answers = rule(r#"{"tools":["crm/*"],"status":[404],"outcome":"fine"}"#);
        assert!(matches(&answers, &subject("crm/get", Some(404))));
        assert!(
            !matches(&answers, &subject("crm/get", Some(500))) && !matches(&answers, &subject("maps/get", Some(404)))
        );
        assert!(!matches(&answers, &subject("crm/get", None)));
        let below_400 = rule(r#"{"text":"x","outcome":"failed"}"#);
        assert!(matches(&below_400, &subject("a", Some(200))) && matches(&below_400, &subject("a", None)));
        assert!(!matches(&below_400, &subject("a", Some(400))));
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = [r#"{"text":"x","outcome":"fine"}"#, r#"{"text":"xy","outcome":"failed"}"#].map(rule);
        let subject = OutcomeRuleInput { tool: "t", status: None, text: "xy", json: None };
        assert_eq!(matching_rule(&rules, &subject), Some((0, RuledOutcome::Fine)));
        assert_eq!(matching_rule(&rules, &OutcomeRuleInput { text: "z", ..subject }), None);
    }

    #[test]
    fn expressions_are_searched_only_in_the_beginning() {
        let long = format!("{}é{}", "a".repeat(SHORT_BODY_BYTES - 1), "b");
        assert!(!does_match(r#"{"text":"b$","outcome":"failed"}"#, &long));
        assert!(does_match(r#"{"text":"a$","outcome":"failed"}"#, &long));
    }
}
