//! Prompt for a new user message while a plan is in progress: the current goals and the calls that change.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::accept::validate_goals;
use super::answer::SelectedGoal;
use super::converse::CheckedAnswer;
use super::prompts::{ConversationData, DATA, OfferedData, offered};
use super::settings::GenerationSettings;
use crate::prompt::{Question, parse};

/// Plan in progress, as shown in the prompt.
#[derive(Debug, Serialize)]
pub(super) struct PresentData<'a> {
    pub(super) goals: Vec<PresentGoal<'a>>,
    /// Calls that are not executed yet.
    pub(super) calls: Vec<PresentCall<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct PresentGoal<'a> {
    pub(super) tool: &'a str,
    pub(super) task: &'a str,
    pub(super) done: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct PresentCall<'a> {
    pub(super) call: String,
    pub(super) tool: &'a str,
    pub(super) task: &'a str,
    pub(super) arguments: Map<String, Value>,
}

#[derive(Serialize)]
struct RenewalPromptData<'a> {
    #[serde(flatten)]
    conversation: &'a ConversationData<'a>,
    present: &'a PresentData<'a>,
    tools: Vec<OfferedData<'a>>,
}

/// Builds the prompt that requests the current goals.
pub(super) fn question(
    conversation: &ConversationData<'_>,
    present: &PresentData<'_>,
    tools: &[(&str, &str)],
    settings: &GenerationSettings,
) -> Question<RenewalAnswer> {
    let system = format!(
        "You plan calls of tools backward, from the request of the user. A plan is in progress, `present`, and the user has sent another \
         message. Determine the current goals.\n\n{DATA}\n\n\
         Rules:\n\
         1. `goals` are the independent things that the user now requests. Repeat the `present.goals` that are still requested, with the \
         same `tool` and `task`. Omit those that the user has given up and those that are `done`.\n\
         2. Add new requests: for each goal, the one tool whose call is the last step. Omit tools that are only needed to find an argument \
         of another call. `task` describes the call in a few words.\n\
         3. `changed` names the `present.calls` of which the latest message of the user changes an argument or supplies a missing one.\n\
         4. If nothing is requested any more, `goals` is [].\n\n\
         Example: `present` has the goal `water_plant` (\"water the fern\") with the pending call `call1`, and the user writes \"Two litres, and \
         write to Ada\". The answer is {{\"goals\": [{{\"tool\": \"water_plant\", \"task\": \"water the fern\"}}, {{\"tool\": \
         \"send_message\", \"task\": \"write to Ada\"}}], \"changed\": [\"call1\"]}}\n\n\
         Answer with one JSON object and nothing else: {{\"goals\": [{{\"tool\": \"...\", \"task\": \"...\"}}], \"changed\": [\"...\"]}}"
    );
    let names: Vec<&str> = tools.iter().map(|(name, _)| *name).collect();
    let calls: Vec<&str> = present.calls.iter().map(|call| call.call.as_str()).collect();
    let data = RenewalPromptData { conversation, present, tools: offered(tools, settings) };
    Question::new(system, &data)
        .allowing("/properties/goals/items/properties/tool", &names)
        .allowing("/properties/changed/items", &calls)
}

/// Current goals and changed calls.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) struct RenewalAnswer {
    pub(super) goals: Vec<SelectedGoal>,
    /// Labels of calls whose arguments have to be requested again.
    #[serde(default)]
    pub(super) changed: Vec<String>,
}

/// Parses and validates an answer.
pub(super) fn parse_renewal(
    text: &str,
    present: &PresentData<'_>,
    tools: &HashSet<&str>,
    at_most: usize,
) -> CheckedAnswer<RenewalAnswer> {
    let RenewalAnswer { goals, mut changed } = match parse(text) {
        Ok(renewal) => renewal,
        Err(fault) => return CheckedAnswer::unusable(fault),
    };
    let CheckedAnswer { taken, mut faults } = validate_goals(goals, tools, at_most);
    let before = changed.len();
    changed.retain(|label| present.calls.iter().any(|call| call.call == *label));
    if changed.len() < before {
        faults.push("`changed` names calls that are none of `present.calls`".to_owned());
    }
    CheckedAnswer { taken: taken.map(|goals| RenewalAnswer { goals, changed }), faults }
}

#[cfg(test)]
mod tests {
    use callwright_judge::repair::answers::assert_understood;

    use super::*;

    #[test]
    fn renewed_goals_are_read_in_every_habit() {
        let call = PresentCall { call: "call1".to_owned(), tool: "water", task: "", arguments: Map::new() };
        let present = PresentData { goals: Vec::new(), calls: vec![call] };
        let one = r#"{"goals": [{"tool": "water", "task": "the fern's pot"}], "changed": ["call1"]}"#;
        let goal = SelectedGoal { tool: "water".to_owned(), task: "the fern's pot".to_owned() };
        let expected = RenewalAnswer { goals: vec![goal], changed: vec!["call1".to_owned()] };
        let tools = HashSet::from(["water"]);
        assert_understood("renewal", one, &expected, |text| parse_renewal(text, &present, &tools, 4).taken);
        let none = RenewalAnswer { goals: Vec::new(), changed: Vec::new() };
        let nothing = r#"{"goals": [], "changed": []}"#;
        assert_understood("renewal", nothing, &none, |text| parse_renewal(text, &present, &tools, 4).taken);
    }
}
