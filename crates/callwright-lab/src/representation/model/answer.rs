//! Parses a model's text into the requested list.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use callwright_judge::repair::answers::{AnswerShape, read_value};
use callwright_prompt::MAX_BYTES;

/// Pattern as written by a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) struct ProposedPattern {
    pub(super) description: String,
    pub(super) cases: Vec<String>,
}

/// Answer to both proposing prompts.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the form is used: the list may also be written alone")]
pub(super) struct PatternsAnswer {
    patterns: Vec<ProposedPattern>,
}

/// Parses the first list of an answer that has the requested form.
///
/// # Errors
/// Feedback for the model: the fault and its fix.
pub(super) fn parse_list(text: &str) -> Result<Vec<ProposedPattern>, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("the answer is longer than {MAX_BYTES} bytes; give a short JSON list"));
    }
    read_value(text, AnswerShape::List, patterns).map_err(|fault| fault.to_string())
}

fn patterns(list: Value) -> Result<Vec<ProposedPattern>, String> {
    let Value::Array(items) = list else { return Err(format!("the answer is {}, and not a JSON list", kind(&list))) };
    items.into_iter().enumerate().map(|(index, item)| parse_item(item, index + 1)).collect()
}

fn parse_item(item: Value, number: usize) -> Result<ProposedPattern, String> {
    if !item.is_object() {
        return Err(format!("item {number} of the list is {}, and not an object", kind(&item)));
    }
    for (key, is_right, form) in [
        ("description", item.get("description").is_some_and(Value::is_string), "a string"),
        ("cases", item.get("cases").is_some_and(is_strings), "a list of strings"),
    ] {
        if !is_right {
            return Err(format!("item {number} of the list has no `{key}` that is {form}"));
        }
    }
    serde_json::from_value(item).map_err(|error| format!("item {number} of the list: {error}"))
}

fn is_strings(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_judge::repair::answers::assert_understood;
    use callwright_prompt::MAX_BYTES;

    const ONE: &str = r#"[{"description": "a", "cases": ["b", "c"], "why": 1}]"#;

    #[test]
    fn lists_are_parsed_alone_in_fences_and_after_reasoning() {
        let expected = [ProposedPattern { description: "a".to_owned(), cases: vec!["b".to_owned(), "c".to_owned()] }];
        for text in [
            ONE.to_owned(),
            format!("\n {ONE} \n"),
            format!("```json\n{ONE}\n```"),
            format!("```\n{ONE}```"),
            format!("<think>[] or not?</think>\n{ONE}"),
            format!("<think>x</think>```json\n{ONE}\n```"),
            format!("Here you are: {ONE} Anything else?"),
            format!("{{\"patterns\": {ONE}}}"),
            ONE.replace('"', "'"),
            "[{\"description\": \"a\", \"cases\": [\"b\", \"c\",],},]".to_owned(),
            ONE.trim_start_matches('[').trim_end_matches(']').to_owned(),
        ] {
            assert_eq!(parse_list(&text).as_deref(), Ok(&expected[..]), "{text}");
        }
        assert_eq!(parse_list("[]"), Ok(Vec::new()));
    }

    #[test]
    fn patterns_are_parsed_in_every_habit() {
        let expected =
            vec![ProposedPattern { description: "a card's \"loss\"".to_owned(), cases: vec!["b".to_owned()] }];
        let list = r#"[{"description": "a card's \"loss\"", "cases": ["b"]}]"#;
        for one in [list.to_owned(), format!("{{\"patterns\": {list}}}")] {
            assert_understood("proposer", &one, &expected, |text| parse_list(text).ok());
        }
        assert_understood("proposer", r#"{"patterns": []}"#, &Vec::new(), |text| parse_list(text).ok());
    }

    #[test]
    fn other_answers_are_rejected_with_the_fault() {
        let cases = [
            ("", "is empty"),
            ("I cannot help with that.", "not a JSON list"),
            ("[1]", "item 1 of the list is a number"),
            (r#"[{"description": "a", "cases": []}, {"cases": []}]"#, "item 2 of the list has no `description`"),
            (r#"[{"description": ["a"], "cases": []}]"#, "no `description` that is a string"),
            (r#"[{"description": "a"}]"#, "no `cases` that is a list of strings"),
            (r#"[{"description": "a", "cases": "b"}]"#, "no `cases` that is a list of strings"),
            (r#"[{"description": "a", "cases": [1]}]"#, "no `cases` that is a list of strings"),
            ("<think>[]", "is empty"),
        ];
        for (text, expected) in cases {
            let error = parse_list(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(parse_list(&"[".repeat(MAX_BYTES)).unwrap_err().contains("not a JSON list"));
        assert!(parse_list(&" ".repeat(MAX_BYTES + 1)).unwrap_err().contains("longer than"));
    }
}
