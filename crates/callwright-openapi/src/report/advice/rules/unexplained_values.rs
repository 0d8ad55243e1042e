//! `unexplained-values`: enumerated codes whose meanings are not documented.

use serde_json::Value;

use super::super::inputs::InputArgument;
use super::super::rule::{AdviceSubject, Findings, OperationCase, Rule, RuleCheck};
use super::super::words::listed;

/// Maximum number of values that a message lists.
const SHOWN: usize = 6;

/// Maximum length of a code, in characters. Longer values are words, which explain themselves.
const MAX_CODE_CHARS: usize = 3;

/// Largest number that counts as a code. Larger numbers are quantities, such as page sizes.
const MAX_CODE_NUMBER: u64 = 9;

pub(crate) const RULE: Rule = Rule {
    code: "unexplained-values",
    about: "allowed values have no explanation",
    fix: "list the values with their meanings in the `description`",
    check: RuleCheck::Operation(check),
};

fn check(_: &AdviceSubject<'_>, case: &OperationCase<'_>, findings: &mut Findings) {
    for input in &case.inputs {
        let Some(codes) = codes(input) else { continue };
        let words: Vec<&str> = input.description().unwrap_or_default().split(|c: char| !c.is_alphanumeric()).collect();
        let explained = codes.iter().filter(|code| words.contains(&code.as_str())).count();
        if explained * 2 < codes.len() {
            let (kind, argument, codes) = (input.kind, input.argument, listed(codes.iter().map(String::as_str), SHOWN));
            let message = format!("the values {codes} of the {kind} `{argument}` have no explanation");
            findings.add(&case.label, &input.at, message);
        }
    }
}

/// Returns the values of `enum` if there are several and all are codes.
fn codes(input: &InputArgument<'_>) -> Option<Vec<String>> {
    let values = input.keyword("enum")?.as_array()?.iter().filter(|value| !value.is_null());
    let codes: Vec<String> = values.map(code).collect::<Option<_>>()?;
    (codes.len() > 1).then_some(codes)
}

/// Returns a small number, or a short string with fewer than two letters, as a code. Two letters are a country or
/// language code.
fn code(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => {
            number.as_u64().filter(|number| *number <= MAX_CODE_NUMBER).map(|number| number.to_string())
        }
        Value::String(text) => {
            let is_short = (1..=MAX_CODE_CHARS).contains(&text.chars().count());
            let is_code = text.chars().all(char::is_alphanumeric)
                && text.chars().filter(|letter| letter.is_alphabetic()).count() < 2;
            (is_short && is_code).then(|| text.clone())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::advice_on_operation;
    use serde_json::{Value, json};

    fn messages_for(values: &Value, description: &str) -> Vec<String> {
        let schema = json!({"type": "array", "items": {"enum": values}});
        let parameter = json!({"name": "s", "in": "query", "schema": schema, "description": description});
        let found = advice_on_operation("unexplained-values", json!({"parameters": [parameter]}));
        found.into_iter().map(|advice| advice.message).collect()
    }

    #[test]
    fn codes_without_meanings_are_reported() {
        let expected = "the values `0`, `1`, `2` of the query parameter `s` have no explanation";
        assert_eq!(messages_for(&json!([0, 1, 2]), "The status."), [expected]);
        assert_eq!(messages_for(&json!(["A", "T1", null]), "The status.").len(), 1);
    }

    #[test]
    fn meanings_words_and_amounts_are_enough() {
        assert!(messages_for(&json!([0, 1, 2]), "0: open, 1: closed").is_empty(), "most of them are explained");
        for values in [
            json!(["open", "closed"]),
            json!(["de", "en"]),
            json!([10, 20]),
            json!([1]),
            json!([true, 1]),
            json!([-1, 1]),
        ] {
            assert!(messages_for(&values, "").is_empty(), "{values}");
        }
    }
}
