//! Semantic validation of rules about failures.

use super::error::PolicyFault;
use callwright_common::json::Pointer;
use callwright_types::rules::{FailureRule, NumberRange};

/// Maximum number of rules of one kind, which are evaluated one after the other for each call or outcome, and of
/// languages of a message to users.
pub(super) const MAX_RULES: usize = 64;

/// Returns the first mistake; `place` is the location of the rules.
pub(super) fn failures(rules: &[FailureRule], place: &Pointer) -> Result<(), PolicyFault> {
    if rules.len() > MAX_RULES {
        let message = format!("{} rules about failures are too many; {MAX_RULES} are allowed", rules.len());
        return Err(PolicyFault::new(place.clone(), message));
    }
    rules.iter().enumerate().try_for_each(|(index, rule)| one(rule, &place.item(index)))
}

fn one(rule: &FailureRule, place: &Pointer) -> Result<(), PolicyFault> {
    conditions(rule, place)?;
    for (index, status) in rule.status.iter().enumerate() {
        if !(100..=599).contains(status) {
            let message = format!("`{status}` is not an HTTP status; it must be 100 to 599");
            return Err(PolicyFault::new(place.child("status").item(index), message));
        }
    }
    let lists = [("values", &rule.values), ("except", &rule.except)];
    for (key, values) in lists.into_iter().filter_map(|(key, values)| Some((key, values.as_ref()?))) {
        if values.is_empty() {
            return Err(PolicyFault::new(place.child(key), format!("`{key}` is empty; give at least one value")));
        }
        if let Some(index) = values.iter().position(|value| value.is_array() || value.is_object()) {
            let message = format!("`{key}` compares single values: texts, numbers, true, false, null");
            return Err(PolicyFault::new(place.child(key).item(index), message));
        }
    }
    rule.range.as_ref().map_or(Ok(()), |range| self::range(range, place.child("range")))
}

/// Checks that a rule has at most one condition, and at least one criterion.
fn conditions(rule: &FailureRule, place: &Pointer) -> Result<(), PolicyFault> {
    if let Some(at) = rule.at.as_ref().filter(|at| !at.is_root() && !at.as_str().starts_with('/')) {
        let message = format!("`{at}` is not a JSON Pointer; it must begin with `/`, such as `/{at}`");
        return Err(PolicyFault::new(place.child("at"), message));
    }
    match rule.conditions().as_slice() {
        [] if rule.at.is_some() => {
            let message = "`at` without a condition; give `values`, `except`, `range`, `present`, `empty` or `text`";
            Err(PolicyFault::new(place.child("at"), message))
        }
        [] if rule.status.is_empty() => {
            let message = "the rule matches everything; give `status`, or a condition: `values`, `except`, `range`, `present`, `empty` or `text`";
            Err(PolicyFault::new(place.clone(), message))
        }
        [_, second, ..] => {
            let message =
                format!("a rule has one condition, and `{second}` is a second one; make it a rule of its own");
            Err(PolicyFault::new(place.child(second), message))
        }
        _ => Ok(()),
    }
}

fn range(range: &NumberRange, place: Pointer) -> Result<(), PolicyFault> {
    let ends = [range.from, range.to];
    let problem = match ends {
        [None, None] => "`range` has no bound; give `from`, `to` or both",
        _ if ends.iter().flatten().any(|end| !end.is_finite()) => "a bound of `range` must be a finite number",
        [Some(from), Some(to)] if from > to => "`range` is empty: `from` is greater than `to`",
        _ => return Ok(()),
    };
    Err(PolicyFault::new(place, problem))
}

#[cfg(test)]
mod tests {
    use crate::parse::tests::{error, policy};

    #[test]
    fn rules_about_failures_are_read() {
        let explain = policy(
            "explain:\n  client_tools: off\n  failures:\n  - {tools: ['maps/*'], at: /infocode, except: ['10000', 0], outcome: failed}\n  \
             - {status: [404], outcome: fine}\n  - {text: '(?i)^quota', outcome: failed}\n",
        )
        .explain;
        assert_eq!(explain.failures.len(), 3);
        assert!(explain.failures[0].tools.fit("maps/route") && !explain.failures[0].tools.fit("crm/list"));
    }

    #[test]
    fn what_a_rule_may_not_say_is_shown_with_its_place() {
        let many = format!("explain: {{failures: [{}]}}", vec!["{status: [404], outcome: fine}"; 65].join(", "));
        // The rule, the text at whose start the mistake is reported, and the expected message.
        let cases = [
            ("{status: [404]}", "status", "outcome"),
            ("{outcome: fine}", "{outcome", "matches everything"),
            ("{outcome: fine, status: [99]}", "99", "`99` is not an HTTP status"),
            ("{outcome: fine, at: /a}", "/a", "`at` without a condition"),
            ("{outcome: fine, at: a, empty: true}", "a, empty", "`a` is not a JSON Pointer"),
            ("{outcome: fine, empty: true, text: x}", "x}", "`text` is a second one"),
            ("{outcome: fine, values: []}", "[]", "`values` is empty"),
            ("{outcome: fine, except: [[1]]}", "[1]", "single values"),
            ("{outcome: fine, range: {}}", "{}", "has no bound"),
            ("{outcome: fine, range: {from: 2, to: 1}}", "{from", "`from` is greater"),
            ("{outcome: fine, range: {to: .inf}}", "{to", "finite"),
            ("{outcome: fine, text: '(a'}", "'(a'", "unclosed group"),
            ("{outcome: fine, text: a, tools: ['b[']}", "['b[']", "error parsing glob 'b['"),
            ("{outcome: good, text: a}", "good", "unknown value `good`"),
            ("{outcome: fine, txt: a}", "txt", "did you mean `text`?"),
        ];
        let mut wrong = Vec::new();
        for (rule, shown, expected) in cases {
            let text = format!("explain: {{failures: [{rule}]}}");
            let place = format!("team.yaml:1:{}: ", text.find(shown).unwrap() + 1);
            let error = error(&text);
            if !error.starts_with(&place) || !error.contains(expected) {
                wrong.push(format!("{rule}: {error}; expected at {place}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(error(&many).contains("65 rules about failures are too many"));
        assert!(error("explain: {client_tools: yes}").contains("unknown value `yes`; expected one of off, advise, on"));
    }
}
