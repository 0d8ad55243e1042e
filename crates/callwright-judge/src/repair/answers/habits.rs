//! Ways in which models write a requested JSON value, for the tests of every prompt.

use std::fmt::Debug;

use serde_json::Value;

/// Checks that the reader of a prompt understands the JSON object or list `one` in every habit.
///
/// # Panics
/// If it reads anything but `expected`.
pub fn assert_understood<T: PartialEq + Debug>(
    prompt: &str,
    one: &str,
    expected: &T,
    read: impl Fn(&str) -> Option<T>,
) {
    for text in habits(one) {
        assert_eq!(read(&text).as_ref(), Some(expected), "{prompt}: {text}");
    }
}

/// Returns the JSON object or list `one` as models write it: with text, reasoning and fences around it, as a literal of
/// a programming language, wrapped, encoded, and without its last bracket.
///
/// # Panics
/// If `one` is neither a JSON object nor a list.
#[allow(clippy::expect_used, reason = "a sample of a test is JSON")]
pub fn habits(one: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(one).expect("a sample is JSON");
    let python = literal(&value, "");
    let unclosed = one.strip_suffix(['}', ']']).expect("a sample is an object or a list");
    let (open, content) = one.split_at(1);
    vec![
        one.to_owned(),
        format!("```json\n{one}\n```"),
        format!("<think>Maybe {{}}, or {{\"x\": []}}?</think>\n{one}"),
        format!("First, I list {{}} what is needed.\n</think>\n\n```\n{one}\n```"),
        format!("Here is the [requested] answer: {one}"),
        format!("{one}\n\nThis is the whole answer (see {{above}})."),
        format!("Sure!\n```json\n{one}\n```\nAnything else?"),
        format!("answer = {python}"),
        literal(&value, ","),
        format!("[{one}]"),
        format!("{{\"answer\": {one}}}"),
        Value::from(one).to_string(),
        unclosed.to_owned(),
        format!("{open} // the answer\n{content}"),
    ]
}

/// Returns a value as a Python literal, with this text before each closing bracket that follows an item.
fn literal(value: &Value, last: &str) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.contains('\'') => value.to_string(),
        Value::String(text) => format!("'{}'", text.replace('\\', "\\\\")),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| literal(item, last)).collect();
            format!("[{}{}]", items.join(", "), if items.is_empty() { "" } else { last })
        }
        Value::Object(members) => {
            let written = members.iter().map(|(key, value)| format!("'{key}': {}", literal(value, last)));
            let written: Vec<String> = written.collect();
            format!("{{{}{}}}", written.join(", "), if written.is_empty() { "" } else { last })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::super::{AnswerFault, AnswerShape, read_object, read_value};
    use super::*;

    /// Goals, as a prompt may request them.
    #[derive(Debug, PartialEq, Deserialize)]
    struct Goals {
        goals: Vec<Goal>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Goal {
        tool: String,
        is_last: Option<bool>,
    }

    const ONE: &str = r#"{"goals": [{"tool": "pay", "is_last": true}]}"#;

    #[test]
    fn an_object_is_read_in_every_habit() {
        let expected = Goals { goals: vec![Goal { tool: "pay".to_owned(), is_last: Some(true) }] };
        assert_understood("goals", ONE, &expected, |text| read_object(text).ok());
    }

    #[test]
    fn a_list_is_read_in_every_habit() {
        let items = r#"[{"tool": "pay"}, {"tool": "log"}]"#;
        let objects = |list: Value| {
            let is_right = list.as_array().is_some_and(|items| items.iter().all(Value::is_object));
            is_right.then_some(list).ok_or_else(|| "not objects".to_owned())
        };
        let read = |text: &str| read_value(text, AnswerShape::List, objects);
        let texts = [
            items.to_owned(),
            format!("<think>[]</think> {items}"),
            format!("The list: {items}. That is all."),
            format!("```json\n{items}\n```"),
            format!("{{\"goals\": {items}}}"),
            items.replace('"', "'"),
            "{\"tool\": \"pay\"}\n{\"tool\": \"log\"}".to_owned(),
            "1. {\"tool\": \"pay\"}\n2. {\"tool\": \"log\"}".to_owned(),
        ];
        for text in texts.into_iter().chain(habits(items)) {
            assert_eq!(read(&text), Ok(json!([{"tool": "pay"}, {"tool": "log"}])), "{text}");
        }
        assert_eq!(read("Nothing to add: []"), Ok(json!([])));
    }

    #[test]
    fn an_answer_without_the_value_has_a_fault_that_names_it() {
        for (text, expected) in [
            ("", "is empty"),
            ("<think>{\"goals\": []}", "is empty"),
            ("I cannot help.", "not one JSON object; it begins: I cannot help."),
            ("{\"goals\": [", "not one JSON object"),
            ("[1, 2]", "not one JSON object"),
            ("{}", "missing field `goals`"),
            ("{\"goals\": [{}]}", "missing field `tool`"),
        ] {
            let fault = read_object::<Goals>(text).unwrap_err();
            assert!(fault.to_string().contains(expected), "{text}: {fault}");
        }
        assert_eq!(read_object::<Goals>(" ").unwrap_err(), AnswerFault::Empty);
    }

    #[test]
    fn hostile_answers_are_read_in_linear_time() {
        for text in ["[".repeat(200_000), "{\"a\":[".repeat(50_000), "[1,".repeat(100_000), "{'a': \"".repeat(50_000)] {
            assert!(read_object::<Goals>(&text).is_err());
        }
        let deep = format!("{}{ONE}{}", "[".repeat(50), "]".repeat(50));
        assert!(read_object::<Goals>(&deep).is_err(), "a value is not searched for at any depth");
    }
}
