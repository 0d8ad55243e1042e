//! Parses a model's text into the requested answer types.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use callwright_common::json::bare;
use callwright_common::text::excerpt;
use callwright_types::plan::Source;

/// Maximum size of an answer, in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// Maximum number of characters of an unreadable answer that are quoted in its fault.
const QUOTED_CHARS: usize = 120;

/// Answer to a goal selection: the tools whose calls serve the request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Selection {
    pub(super) goals: Vec<SelectedGoal>,
}

/// One independent goal of the request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct SelectedGoal {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) task: String,
}

/// Answer to an argument completion: the source of each argument of a call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct CompletionAnswer {
    #[serde(default)]
    pub(super) calls: Vec<NewCall>,
    pub(super) arguments: Vec<ArgumentAnswer>,
}

/// New call that has to be made first.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct NewCall {
    pub(super) call: String,
    pub(super) tool: String,
    #[serde(default)]
    pub(super) task: String,
}

/// One argument with its source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ArgumentAnswer {
    pub(super) name: String,
    pub(super) source: ArgumentOrigin,
    #[serde(default)]
    pub(super) value: Value,
    #[serde(default)]
    pub(super) words: Option<String>,
    #[serde(default)]
    pub(super) outputs: Option<Vec<TakenOutput>>,
    #[serde(default)]
    pub(super) question: Option<String>,
}

impl ArgumentAnswer {
    /// Returns the question to the user; `None` if the answer has none.
    pub(super) fn question_source(&self) -> Option<Source> {
        let question = self.question.as_deref()?.trim();
        (!question.is_empty()).then(|| Source::Missing { question: question.to_owned() })
    }
}

/// Kind of source of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ArgumentOrigin {
    Value,
    Tool,
    Ask,
}

/// Output value of another call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct TakenOutput {
    pub(super) call: String,
    #[serde(default)]
    pub(super) output: String,
    #[serde(default)]
    pub(super) item: Option<ItemSelection>,
}

/// Items that are taken from a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ItemSelection {
    First,
    All,
    Choose,
}

/// Parses an answer: one JSON object, bare or in a Markdown code fence, optionally preceded by the thoughts of a
/// reasoning model. Other text around it is an error.
///
/// # Errors
/// Feedback for the model: the fault and its fix.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("the answer is longer than {MAX_BYTES} bytes"));
    }
    let text = bare(text);
    if text.is_empty() {
        return Err("the answer is empty".to_owned());
    }
    serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => format!("the answer has not the form that was asked for ({error})"),
        _ => format!("the answer is not one JSON object ({error}); it begins: {}", excerpt(text, QUOTED_CHARS)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_is_read_alone_in_a_fence_and_behind_thoughts() {
        const ONE: &str = r#"{"goals": [{"tool": "a", "task": "b", "why": 1}]}"#;
        for text in [ONE.to_owned(), format!("```json\n{ONE}\n```"), format!("<think>{{}}?</think>\n{ONE}")] {
            let goals = read::<Selection>(&text).unwrap().goals;
            assert_eq!(goals, [SelectedGoal { tool: "a".to_owned(), task: "b".to_owned() }]);
        }
    }

    #[test]
    fn a_completion_may_leave_out_what_does_not_apply() {
        let text = r#"{"arguments": [{"name": "a", "source": "tool", "outputs": [{"call": "x", "output": "/id", "item": "choose"}], "value": null}]}"#;
        let completion: CompletionAnswer = read(text).unwrap();
        let [given] = completion.arguments.as_slice() else { panic!() };
        assert_eq!((given.source, given.words.as_deref()), (ArgumentOrigin::Tool, None));
        assert_eq!(given.outputs.as_ref().unwrap()[0].item, Some(ItemSelection::Choose));
    }

    #[test]
    fn whatever_else_is_refused_in_words_that_say_what_is_wrong() {
        for (text, expected) in [
            ("", "is empty"),
            ("I cannot help.", "not one JSON object"),
            ("{\"goals\": [] } and more", "not one JSON object"),
            ("{\"goals\": [", "not one JSON object"),
            ("[]", "not the form"),
            ("{}", "missing field `goals`"),
            ("{\"goals\": [{}]}", "missing field `tool`"),
        ] {
            let error = read::<Selection>(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(
            read::<CompletionAnswer>(r#"{"arguments": [{"name": "a", "source": "guess"}]}"#)
                .unwrap_err()
                .contains("guess")
        );
        assert!(read::<Selection>(&"[".repeat(MAX_BYTES)).is_err());
        assert!(read::<Selection>(&" ".repeat(MAX_BYTES + 1)).unwrap_err().contains("longer"));
    }
}
