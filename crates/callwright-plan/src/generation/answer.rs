//! Parses a model's text into the requested answer types.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};

/// Answer to a goal selection: the tools whose calls serve the request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) struct Selection {
    pub(super) goals: Vec<SelectedGoal>,
}

/// One independent goal of the request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) struct SelectedGoal {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) task: String,
}

/// Answer to an argument completion: the source of each argument of a call.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub(super) struct CompletionAnswer {
    #[serde(default)]
    pub(super) calls: Vec<NewCall>,
    pub(super) arguments: Vec<ArgumentAnswer>,
}

/// New call that has to be made first.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) struct NewCall {
    pub(super) call: String,
    pub(super) tool: String,
    #[serde(default)]
    pub(super) task: String,
}

/// One argument with its source.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub(super) struct ArgumentAnswer {
    pub(super) name: String,
    pub(super) source: ArgumentOrigin,
    #[serde(default)]
    #[schemars(schema_with = "value_schema")]
    pub(super) value: Value,
    #[serde(default)]
    pub(super) words: Option<String>,
    #[serde(default)]
    pub(super) outputs: Option<Vec<TakenOutput>>,
    #[serde(default)]
    pub(super) question: Option<String>,
}

/// Kind of source of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ArgumentOrigin {
    Value,
    Tool,
    #[serde(rename = "ask")]
    User,
}

/// Output value of another call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) struct TakenOutput {
    pub(super) call: String,
    #[serde(default)]
    pub(super) output: String,
    #[serde(default)]
    pub(super) item: Option<ItemSelection>,
}

/// Items that are taken from a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ItemSelection {
    First,
    All,
    Choose,
}

/// Returns the schema of a value: a scalar, or a list of them. An object is written as JSON text.
pub(super) fn value_schema(_: &mut SchemaGenerator) -> Schema {
    let scalar = json!(["string", "number", "boolean", "null"]);
    json_schema!({"anyOf": [{"type": scalar}, {"type": "array", "items": {"type": scalar}}]})
}

#[cfg(test)]
mod tests {
    use callwright_judge::repair::answers::{assert_understood, habits};

    use super::*;
    use callwright_prompt::{MAX_BYTES, parse};

    #[test]
    fn a_selection_is_parsed_in_every_notation() {
        const ONE: &str = r#"{"goals": [{"tool": "a", "task": "b", "why": 1}]}"#;
        let expected = vec![SelectedGoal { tool: "a".to_owned(), task: "b".to_owned() }];
        assert_understood("selection", ONE, &expected, |text| Some(parse::<Selection>(text).ok()?.goals));
    }

    #[test]
    fn a_completion_may_omit_members_that_do_not_apply() {
        let text = r#"{"arguments": [{"name": "a", "source": "tool", "outputs": [{"call": "x", "output": "/id", "item": "choose"}], "value": null}]}"#;
        for text in habits(text) {
            let completion: CompletionAnswer = parse(&text).unwrap();
            let [given] = completion.arguments.as_slice() else { panic!("{text}") };
            assert_eq!((given.source, given.words.as_deref()), (ArgumentOrigin::Tool, None), "{text}");
            assert_eq!(given.outputs.as_ref().unwrap()[0].item, Some(ItemSelection::Choose), "{text}");
        }
    }

    #[test]
    fn other_answers_are_rejected_with_a_reason() {
        for (text, expected) in [
            ("", "is empty"),
            ("I cannot help.", "not one JSON object"),
            ("{\"goals\": [", "not one JSON object"),
            ("[1]", "not one JSON object"),
            ("{}", "missing field `goals`"),
            ("{\"goals\": [{}]}", "missing field `tool`"),
        ] {
            let error = parse::<Selection>(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(
            parse::<CompletionAnswer>(r#"{"arguments": [{"name": "a", "source": "guess"}]}"#)
                .unwrap_err()
                .contains("guess")
        );
        assert!(parse::<Selection>(&"[".repeat(MAX_BYTES)).is_err());
        assert!(parse::<Selection>(&" ".repeat(MAX_BYTES + 1)).unwrap_err().contains("longer"));
    }
}
