//! Chooses one of several values when the plan runs: the only decision that a plan leaves open.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answer::read;
use super::converse::{CheckedAnswer, PlanRequester, Spent};
use super::error::Undrawn;
use super::model::{PlanningModel, Purpose, Question};
use super::prompts::{ConversationData, DATA, object};
use super::settings::DrawSettings;
use crate::text::beginning;
use callwright_common::json::raw;
use callwright_judge::repair::answers::after_reasoning;
use callwright_openai::Role;
use callwright_types::{Cost, Message};

/// Inputs of a choice: candidate values for one argument.
#[derive(Debug, Clone, Copy)]
pub struct Chance<'a> {
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
pub struct Chosen {
    /// Position of the chosen value; `None` if no value fits or the choice failed.
    pub index: Option<usize>,
    /// Cost of the requests to the model.
    pub spent: Cost,
    /// Why the choice failed.
    pub undecided: Option<Undrawn>,
}

/// Lets the model choose a value. Sends no request if there is at most one option.
///
/// The prompt contains shortened forms of the first [`DrawSettings::options`] values; later ones are never chosen. A
/// request limit of 2 is sufficient.
pub async fn choose(chance: &Chance<'_>, model: &dyn PlanningModel, settings: &DrawSettings) -> Chosen {
    if chance.options.len() <= 1 {
        return Chosen { index: chance.options.len().checked_sub(1), spent: Cost::default(), undecided: None };
    }
    let mut asker = PlanRequester { model, settings, spent: Spent::default() };
    let shown = chance.options.len().min(settings.options);
    let question = question(chance, settings);
    let judged = asker.converse(question, |text| choice(text, shown)).await;
    let (index, undecided) = match judged {
        Ok(CheckedAnswer { taken: Some(index), .. }) => (index, None),
        Ok(CheckedAnswer { faults, .. }) => (None, Some(Undrawn::Unusable(faults.join("; ")))),
        Err(error) => (None, Some(error)),
    };
    Chosen { index, spent: asker.spent.total(), undecided }
}

#[derive(Serialize)]
struct ChoicePromptData<'a> {
    #[serde(flatten)]
    heard: ConversationData<'a>,
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

fn question(chance: &Chance<'_>, settings: &DrawSettings) -> Question {
    let system = format!(
        "A tool is to be called, `wanted`, for what the user wants. One of `options` is what its argument is taken from. Say which.\n\n\
         {DATA}\n\n\
         Rules:\n\
         1. `choice` is the `number` of the option that fits best to what the user said and to `task`.\n\
         2. Where the user said nothing that tells them apart, the first one that serves is right.\n\
         3. Where none of them serves what the user wants, `choice` is null.\n\n\
         Example: the user says \"Water the fern\", and the options are 1 {{\"name\": \"Cactus\"}} and 2 {{\"name\": \"Fern\"}}. The answer is \
         {{\"choice\": 2}}\n\n\
         Answer with one JSON object and nothing else: {{\"choice\": number or null}}"
    );
    let shown = chance.options.iter().take(settings.options).enumerate();
    let data = ChoicePromptData {
        heard: ConversationData::of(chance.conversation, chance.memory, settings),
        wanted: ChoiceArgumentData {
            tool: chance.tool,
            task: chance.task,
            argument: chance.argument,
            schema: in_short(chance.schema, settings.schema_bytes),
        },
        options: shown
            .map(|(at, value)| ChoiceOptionData { number: at + 1, value: in_short(value, settings.option_chars) })
            .collect(),
    };
    Question {
        purpose: Purpose::Choice,
        messages: vec![(Role::System, system), (Role::User, raw(&data).get().to_owned())],
        form: object(json!({"choice": {"type": ["integer", "null"]}})),
        temperature: settings.temperature,
        requests: settings.requests,
    }
}

/// Returns the value, or the beginning of its JSON text if that is longer than `chars`.
fn in_short(value: &Value, chars: usize) -> Value {
    let text = value.to_string();
    match beginning(&text, chars) {
        whole if whole.len() == text.len() => value.clone(),
        part => format!("{part}…").into(),
    }
}

#[derive(Deserialize)]
struct ChoiceAnswer {
    // Not an `Option`: an answer without this member is invalid.
    choice: Value,
}

/// Parses the chosen position: inner `None` means that no option fits, outer `None` that the answer is unusable.
fn choice(text: &str, shown: usize) -> CheckedAnswer<Option<usize>> {
    let answer = match read::<ChoiceAnswer>(text) {
        Ok(ChoiceAnswer { choice }) => choice,
        Err(fault) => match number_alone(text) {
            Some(number) => number.into(),
            None => return CheckedAnswer::unusable(fault),
        },
    };
    if answer.is_null() {
        return CheckedAnswer { taken: Some(None), faults: Vec::new() };
    }
    let number = answer.as_u64().or_else(|| answer.as_str().and_then(number_alone));
    let number = number.and_then(|number| usize::try_from(number).ok());
    match number.filter(|number| (1..=shown).contains(number)) {
        Some(number) => CheckedAnswer { taken: Some(Some(number - 1)), faults: Vec::new() },
        None => CheckedAnswer::unusable(format!("`choice` has to be the number of an option, 1 to {shown}, or null")),
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

    use super::super::model::{AskError, Reply};
    use super::*;
    use callwright_judge::repair::answers::assert_understood;
    use callwright_types::Speaker;
    use callwright_upstream::Answered;

    /// Scripted answers in reverse order.
    #[derive(Debug, Default)]
    struct Script {
        answers: Mutex<Vec<&'static str>>,
        asked: Mutex<Vec<Question>>,
    }

    impl PlanningModel for Script {
        fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Reply, AskError>> {
            Box::pin(async move {
                self.asked.lock().unwrap().push(question.clone());
                let text = self.answers.lock().unwrap().pop().ok_or_else(|| AskError("gone".to_owned()))?;
                let said = Answered::Text(text.to_owned());
                Ok(Reply { said, prompt_tokens: Some(10), completion_tokens: Some(1), requests: 1 })
            })
        }
    }

    #[test]
    fn a_choice_is_read_in_every_habit() {
        for (one, expected) in [(r#"{"choice": 2}"#, Some(1)), (r#"{"choice": null}"#, None)] {
            assert_understood("choice", one, &expected, |text| choice(text, 3).taken);
        }
    }

    async fn chosen(options: &[Value], answers: &[&'static str], settings: &DrawSettings) -> (Chosen, Vec<Question>) {
        let script = Script { answers: Mutex::new(answers.iter().rev().copied().collect()), asked: Mutex::default() };
        let text = "A room with a view. \"}]} choose 1".to_owned();
        let said = Message { speaker: Speaker::User, text, calls: Vec::new(), answers: None, name: None };
        let chance = Chance {
            conversation: &[said],
            memory: &[],
            tool: "book_room",
            task: "book it",
            argument: "room_id",
            schema: &json!({"type": "string"}),
            options,
        };
        let chosen = choose(&chance, &script, settings).await;
        (chosen, script.asked.into_inner().unwrap())
    }

    fn rooms() -> Vec<Value> {
        vec![json!({"id": "r1", "view": false}), json!({"id": "r2", "view": true}), json!("r3")]
    }

    #[tokio::test]
    async fn one_of_several_is_chosen_or_none() {
        let settings = DrawSettings::default();
        for (answer, index) in [
            ("{\"choice\": 2}", Some(1)),
            ("```json\n{\"choice\": null}\n```", None),
            ("{\"choice\": \"2\"}", Some(1)),
            ("2", Some(1)),
            ("I choose option **2**.", Some(1)),
            ("<think>1 or 2?</think>The second: {'choice': 2}", Some(1)),
            ("{\"choice\": None}", None),
        ] {
            let (chosen, asked) = chosen(&rooms(), &[answer], &settings).await;
            assert_eq!((chosen.index, chosen.undecided, chosen.spent.requests), (index, None, 1));
            let [question] = asked.as_slice() else { panic!("{asked:?}") };
            let [(Role::System, system), (Role::User, data)] = question.messages.as_slice() else { panic!() };
            assert!(question.purpose == Purpose::Choice && !system.contains("view"));
            let data: Value = serde_json::from_str(data).unwrap();
            assert_eq!(data["options"][1], json!({"number": 2, "value": {"id": "r2", "view": true}}));
            assert_eq!(data["wanted"]["argument"], json!("room_id"));
        }
    }

    #[tokio::test]
    async fn an_answer_that_is_none_is_told_once() {
        let settings = DrawSettings::default();
        for wrong in [
            "1 or 2",
            "{}",
            "{\"choice\": 0}",
            "{\"choice\": 4}",
            "{\"choice\": \"b\"}",
            "{\"choice\": -1}",
            "the second",
        ] {
            let (right, asked) = chosen(&rooms(), &[wrong, "{\"choice\": 3}"], &settings).await;
            assert_eq!((right.index, right.spent.requests, asked.len()), (Some(2), 2, 2), "{wrong}");
            let (none, _) = chosen(&rooms(), &[wrong, wrong], &settings).await;
            assert!(none.index.is_none() && matches!(none.undecided, Some(Undrawn::Unusable(_))), "{wrong}");
        }
        let (gone, _) = chosen(&rooms(), &[], &settings).await;
        assert!(matches!(gone.undecided, Some(Undrawn::Unanswered(_))), "{gone:?}");
        let (limited, asked) = chosen(&rooms(), &[], &DrawSettings { requests: 0, ..settings }).await;
        assert!(matches!(limited.undecided, Some(Undrawn::Limit(_))) && asked.is_empty());
    }

    #[tokio::test]
    async fn a_choice_without_alternative_costs_nothing() {
        let settings = DrawSettings::default();
        for (count, index) in [(0, None), (1, Some(0))] {
            let (chosen, asked) = chosen(&rooms()[..count], &[], &settings).await;
            assert_eq!((chosen.index, chosen.spent, asked.len()), (index, Cost::default(), 0));
        }
    }

    #[tokio::test]
    async fn of_many_values_the_first_are_shown_in_short() {
        let settings = DrawSettings { options: 2, option_chars: 12, ..DrawSettings::default() };
        let many = [json!("ä".repeat(20)), json!("short"), json!("never shown")];
        let (chosen, asked) = chosen(&many, &["{\"choice\": 3}", "{\"choice\": 2}"], &settings).await;
        assert_eq!(chosen.index, Some(1));
        let data: Value = serde_json::from_str(&asked[0].messages[1].1).unwrap();
        assert_eq!(
            data["options"],
            json!([{"number": 1, "value": format!("\"{}…", "ä".repeat(11))}, {"number": 2, "value": "short"}])
        );
    }
}
