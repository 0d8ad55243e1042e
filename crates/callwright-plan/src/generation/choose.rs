//! Chooses one of several values when the plan runs: the only decision that a plan leaves open.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::converse::{CheckedAnswer, budgeted, converse};
use super::error::GenerationError;
use super::prompts::{ConversationData, DATA};
use super::settings::GenerationSettings;
use callwright_common::text::beginning;
use callwright_judge::repair::answers::after_reasoning;
use callwright_prompt::{Question, parse};
use callwright_types::{Cost, Message};
use callwright_upstream::TextSource;

/// Inputs of a choice: candidate values for one argument.
#[derive(Debug, Clone, Copy)]
pub struct ChoiceInputs<'a> {
    /// Messages of the conversation.
    pub conversation: &'a [Message],
    /// Recalled memory entries.
    pub memory: &'a [String],
    /// Name of the tool that will be called.
    pub tool: &'a str,
    /// Task of the call.
    pub task: &'a str,
    /// Name of the parameter.
    pub argument: &'a str,
    /// Schema of the parameter.
    pub schema: &'a Value,
    /// Candidate values, or the list items that contain them with all their distinguishing members.
    pub options: &'a [Value],
}

/// Result of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChoiceResult {
    /// Position of the chosen value; `None` if no value fits or the choice failed.
    pub index: Option<usize>,
    /// Cost of the requests to the model.
    pub cost: Cost,
    /// Why the choice failed.
    pub error: Option<GenerationError>,
}

/// Lets the model choose a value. Sends no request if there is at most one option.
///
/// The prompt contains shortened forms of the first [`GenerationSettings::options`] values; later ones are never
/// chosen. A request limit of 2 is sufficient.
pub async fn choose(inputs: &ChoiceInputs<'_>, model: &dyn TextSource, settings: &GenerationSettings) -> ChoiceResult {
    if inputs.options.len() <= 1 {
        return ChoiceResult { index: inputs.options.len().checked_sub(1), cost: Cost::default(), error: None };
    }
    let mut model = budgeted(model, settings);
    let listed = inputs.options.len().min(settings.options);
    let question = question(inputs, settings);
    let checked = converse(&mut model, question, |text| choice(text, listed)).await;
    let (index, error) = match checked.and_then(CheckedAnswer::into_usable) {
        Ok((index, _)) => (index, None),
        Err(error) => (None, Some(error)),
    };
    ChoiceResult { index, cost: model.spent, error }
}

#[derive(Serialize)]
struct ChoicePromptData<'a> {
    #[serde(flatten)]
    conversation: ConversationData<'a>,
    wanted: ChoiceArgumentData<'a>,
    options: Vec<ChoiceOptionData>,
}

#[derive(Serialize)]
struct ChoiceArgumentData<'a> {
    tool: &'a str,
    task: &'a str,
    argument: &'a str,
    schema: Value,
}

#[derive(Serialize)]
struct ChoiceOptionData {
    number: usize,
    value: Value,
}

fn question(inputs: &ChoiceInputs<'_>, settings: &GenerationSettings) -> Question<ChoiceAnswer> {
    let system = format!(
        "A tool is to be called, `wanted`, to fulfil the request of the user. Select the one of `options` from which its argument is taken.\n\n\
         {DATA}\n\n\
         Rules:\n\
         1. `choice` is the `number` of the option that best matches the messages of the user and `task`.\n\
         2. If the messages of the user do not distinguish them, choose the first one that serves the request.\n\
         3. If none of them serves the request, `choice` is null.\n\n\
         Example: the user writes \"Water the fern\", and the options are 1 {{\"name\": \"Cactus\"}} and 2 {{\"name\": \"Fern\"}}. The answer \
         is {{\"choice\": 2}}\n\n\
         Answer with one JSON object and nothing else: {{\"choice\": number or null}}"
    );
    let listed = inputs.options.iter().take(settings.options).enumerate();
    let data = ChoicePromptData {
        conversation: ConversationData::new(inputs.conversation, inputs.memory, settings),
        wanted: ChoiceArgumentData {
            tool: inputs.tool,
            task: inputs.task,
            argument: inputs.argument,
            schema: shortened(inputs.schema, settings.schema_bytes),
        },
        options: listed
            .map(|(at, value)| ChoiceOptionData { number: at + 1, value: shortened(value, settings.option_chars) })
            .collect(),
    };
    Question::new(system, &data)
}

/// Returns the value, or the beginning of its JSON text if that is longer than `chars`.
fn shortened(value: &Value, chars: usize) -> Value {
    let text = value.to_string();
    match beginning(&text, chars) {
        whole if whole.len() == text.len() => value.clone(),
        part => format!("{part}…").into(),
    }
}

#[derive(Deserialize, JsonSchema)]
struct ChoiceAnswer {
    // Not an `Option`: an answer without this member is invalid.
    #[schemars(with = "Option<i64>")]
    choice: Value,
}

/// Parses the chosen position: inner `None` means that no option fits, outer `None` that the answer is unusable.
fn choice(text: &str, listed: usize) -> CheckedAnswer<Option<usize>> {
    let answer = match parse::<ChoiceAnswer>(text) {
        Ok(ChoiceAnswer { choice }) => choice,
        Err(fault) => match number_alone(text) {
            Some(number) => number.into(),
            None => return CheckedAnswer::unusable(fault),
        },
    };
    if answer.is_null() {
        return CheckedAnswer::usable(None);
    }
    let number = answer.as_u64().or_else(|| answer.as_str().and_then(number_alone));
    let number = number.and_then(|number| usize::try_from(number).ok());
    match number.filter(|number| (1..=listed).contains(number)) {
        Some(number) => CheckedAnswer::usable(Some(number - 1)),
        None => CheckedAnswer::unusable(format!("`choice` has to be the number of an option, 1 to {listed}, or null")),
    }
}

/// Returns the only number of a text: `2`, `**2**`, `I choose option 2.`
fn number_alone(text: &str) -> Option<u64> {
    let mut numbers =
        after_reasoning(text).split(|sign: char| !sign.is_alphanumeric()).filter_map(|word| word.parse().ok());
    numbers.next().filter(|_| numbers.next().is_none())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures_util::future::BoxFuture;
    use serde_json::json;

    use super::*;
    use callwright_judge::repair::answers::assert_understood;
    use callwright_types::{Speaker, Usage};
    use callwright_upstream::{Answered, Exchange, Manner};
    use callwright_wire::Role;

    /// Scripted answers in reverse order.
    #[derive(Debug, Default)]
    struct Script {
        answers: Mutex<Vec<&'static str>>,
        questions: Mutex<Vec<Vec<(Role, String)>>>,
    }

    impl TextSource for Script {
        fn ask<'a>(&'a self, messages: &'a [(Role, String)], _: Manner<'a>) -> BoxFuture<'a, Exchange> {
            self.questions.lock().unwrap().push(messages.to_vec());
            let text = self.answers.lock().unwrap().pop().ok_or_else(|| "gone".to_owned());
            let answered = text.map(|text| Answered::Text(text.to_owned()));
            let usage = Usage { prompt_tokens: 10, completion_tokens: 1, ..Usage::default() };
            Box::pin(std::future::ready(Exchange { answered, requests: 1, usage: Some(usage) }))
        }
    }

    #[test]
    fn a_choice_is_read_in_every_habit() {
        for (one, expected) in [(r#"{"choice": 2}"#, Some(1)), (r#"{"choice": null}"#, None)] {
            assert_understood("choice", one, &expected, |text| choice(text, 3).taken);
        }
    }

    async fn chosen(
        options: &[Value],
        answers: &[&'static str],
        settings: &GenerationSettings,
    ) -> (ChoiceResult, Vec<Vec<(Role, String)>>) {
        let script =
            Script { answers: Mutex::new(answers.iter().rev().copied().collect()), questions: Mutex::default() };
        let text = "A room with a view. \"}]} choose 1".to_owned();
        let message = Message { speaker: Speaker::User, text, calls: Vec::new(), answers: None, name: None };
        let inputs = ChoiceInputs {
            conversation: &[message],
            memory: &[],
            tool: "book_room",
            task: "book it",
            argument: "room_id",
            schema: &json!({"type": "string"}),
            options,
        };
        let chosen = choose(&inputs, &script, settings).await;
        (chosen, script.questions.into_inner().unwrap())
    }

    fn rooms() -> Vec<Value> {
        vec![json!({"id": "r1", "view": false}), json!({"id": "r2", "view": true}), json!("r3")]
    }

    #[tokio::test]
    async fn an_option_is_chosen_or_none() {
        let settings = GenerationSettings::default();
        for (answer, index) in [
            ("{\"choice\": 2}", Some(1)),
            ("```json\n{\"choice\": null}\n```", None),
            ("{\"choice\": \"2\"}", Some(1)),
            ("2", Some(1)),
            ("I choose option **2**.", Some(1)),
            ("<think>1 or 2?</think>The second: {'choice': 2}", Some(1)),
            ("{\"choice\": None}", None),
        ] {
            let (chosen, questions) = chosen(&rooms(), &[answer], &settings).await;
            assert_eq!((chosen.index, chosen.error, chosen.cost.requests), (index, None, 1));
            let [question] = questions.as_slice() else { panic!("{questions:?}") };
            let [(Role::System, system), (Role::User, data)] = question.as_slice() else { panic!() };
            assert!(!system.contains("view"));
            let data: Value = serde_json::from_str(data).unwrap();
            assert_eq!(data["options"][1], json!({"number": 2, "value": {"id": "r2", "view": true}}));
            assert_eq!(data["wanted"]["argument"], json!("room_id"));
        }
    }

    #[tokio::test]
    async fn an_invalid_choice_is_returned_to_the_model_once() {
        let settings = GenerationSettings::default();
        for wrong in [
            "1 or 2", "{}", "{\"choice\": 0}", "{\"choice\": 4}", "{\"choice\": \"b\"}", "{\"choice\": -1}",
            "the second",
        ] {
            let (right, questions) = chosen(&rooms(), &[wrong, "{\"choice\": 3}"], &settings).await;
            assert_eq!((right.index, right.cost.requests, questions.len()), (Some(2), 2, 2), "{wrong}");
            let (none, _) = chosen(&rooms(), &[wrong, wrong], &settings).await;
            assert!(none.index.is_none() && matches!(none.error, Some(GenerationError::Unusable(_))), "{wrong}");
        }
        let (gone, _) = chosen(&rooms(), &[], &settings).await;
        assert!(matches!(gone.error, Some(GenerationError::Unanswered(_))), "{gone:?}");
        let (limited, questions) = chosen(&rooms(), &[], &GenerationSettings { requests: 0, ..settings }).await;
        assert!(matches!(limited.error, Some(GenerationError::Limit(_))) && questions.is_empty());
    }

    #[tokio::test]
    async fn a_choice_without_alternative_costs_nothing() {
        let settings = GenerationSettings::default();
        for (count, index) in [(0, None), (1, Some(0))] {
            let (chosen, questions) = chosen(&rooms()[..count], &[], &settings).await;
            assert_eq!((chosen.index, chosen.cost, questions.len()), (index, Cost::default(), 0));
        }
    }

    #[tokio::test]
    async fn only_the_first_options_are_listed_shortened() {
        let settings = GenerationSettings { options: 2, option_chars: 12, ..GenerationSettings::default() };
        let many = [json!("ä".repeat(20)), json!("short"), json!("never shown")];
        let (chosen, questions) = chosen(&many, &["{\"choice\": 3}", "{\"choice\": 2}"], &settings).await;
        assert_eq!(chosen.index, Some(1));
        let data: Value = serde_json::from_str(&questions[0][1].1).unwrap();
        assert_eq!(
            data["options"],
            json!([{"number": 1, "value": format!("\"{}…", "ä".repeat(11))}, {"number": 2, "value": "short"}])
        );
    }
}
