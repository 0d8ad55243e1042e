//! Queries the model whether a request needs a plan: one small request, where the rule without a model finds no reason.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::converse::{CheckedAnswer, budgeted, converse};
use super::error::GenerationError;
use super::generate::PlanInputs;
use super::prompts::{ConversationData, DATA, OfferedData, offered};
use super::settings::GenerationSettings;
use callwright_prompt::{Question, parse, truth, truth_word};
use callwright_types::Cost;
use callwright_upstream::TextSource;

/// Answer to the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanNeed {
    /// Whether a call needs a value that only another call's answer has.
    pub is_chain: bool,
    /// Cost of the requests.
    pub cost: Cost,
    /// Why the question was not answered.
    pub error: Option<GenerationError>,
}

/// Determines whether the request needs a chain of calls. Sends no request if fewer than two tools are offered. A
/// request limit of 2 is sufficient.
pub async fn need(inputs: &PlanInputs<'_>, model: &dyn TextSource, settings: &GenerationSettings) -> PlanNeed {
    let tools: Vec<_> = inputs.offered.iter().filter_map(|at| inputs.tools.tool(*at)).collect();
    // A chain has at least two tools.
    if tools.len() < 2 {
        return PlanNeed { is_chain: false, cost: Cost::default(), error: None };
    }
    let descriptions: Vec<(&str, &str)> =
        tools.iter().map(|tool| (tool.tool.name(), tool.tool.tool.description.as_str())).collect();
    let mut model = budgeted(model, settings);
    let checked = converse(&mut model, question(inputs, &descriptions, settings), chain).await;
    let (is_chain, error) = match checked.and_then(CheckedAnswer::into_usable) {
        Ok((is_chain, _)) => (is_chain, None),
        Err(error) => (false, Some(error)),
    };
    PlanNeed { is_chain, cost: model.spent, error }
}

#[derive(Serialize)]
struct NeedPromptData<'a> {
    #[serde(flatten)]
    conversation: ConversationData<'a>,
    tools: Vec<OfferedData<'a>>,
}

fn question(inputs: &PlanInputs<'_>, tools: &[(&str, &str)], settings: &GenerationSettings) -> Question<NeedAnswer> {
    let system = format!(
        "Determine whether the last message of the user takes a chain of calls of `tools`: a call that needs a value which neither the \
         conversation nor the memory has, and which the answer of another tool has.\n\n{DATA}\n\n\
         Rules:\n\
         1. Several calls that all have their values from the conversation are no chain.\n\
         2. If no tool serves the message, or if only the user has the value, `chain` is false.\n\n\
         Example: the tools are `list_plants` and `water_plant`, which takes a `plant_id`. For \"Water the fern\" the answer is {{\"chain\": true}}, \
         for \"Which plants are there?\" it is {{\"chain\": false}}\n\n\
         Answer with one JSON object and nothing else: {{\"chain\": true or false}}"
    );
    let conversation = ConversationData::new(inputs.conversation, inputs.memory, settings);
    let data = NeedPromptData { conversation, tools: offered(tools, settings) };
    Question::new(system, &data)
}

#[derive(Deserialize, JsonSchema)]
struct NeedAnswer {
    #[schemars(with = "bool")]
    chain: Value,
}

fn chain(text: &str) -> CheckedAnswer<bool> {
    let answer = match parse::<NeedAnswer>(text) {
        Ok(NeedAnswer { chain }) => truth(&chain),
        Err(fault) => match truth_word(text) {
            Some(chain) => Some(chain),
            None => return CheckedAnswer::unusable(fault),
        },
    };
    match answer {
        Some(is_chain) => CheckedAnswer::usable(is_chain),
        None => CheckedAnswer::unusable("`chain` has to be true or false".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use callwright_judge::repair::answers::assert_understood;

    use super::*;

    #[test]
    fn the_answer_is_read_in_every_habit() {
        for (answer, expected) in [("{\"chain\": true}", true), ("{\"chain\": false}", false)] {
            assert_understood("need", answer, &expected, |text| chain(text).taken);
        }
        for (text, expected) in [("true", true), ("**Yes.**", true), ("no", false), ("{\"chain\": \"yes\"}", true)] {
            assert_eq!(chain(text).taken, Some(expected), "{text}");
        }
        for text in ["", "perhaps", "{\"chain\": null}", "{}"] {
            assert_eq!(chain(text).taken, None, "{text}");
        }
    }
}
