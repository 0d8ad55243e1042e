//! Choice of the tools that achieve the user's goals.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::request::{PlannerMessage, PlannerTool, gives_something, users_latest_first};

/// Words with which the user abandons a goal.
const GIVING_UP: [&str; 3] = ["never mind", "forget it", "cancel that"];

#[derive(Debug, Deserialize)]
pub(super) struct PlannerProgress {
    goals: Vec<PlannerGoal>,
    calls: Vec<PlannerCall>,
}

#[derive(Debug, Serialize, Deserialize)]
struct PlannerGoal {
    tool: String,
    task: String,
    #[serde(skip_serializing, default)]
    done: bool,
}

#[derive(Debug, Deserialize)]
struct PlannerCall {
    call: String,
}

/// Returns the goals: those of the plan in progress, and those of the current request.
pub(super) fn answer(
    conversation: &[PlannerMessage],
    tools: &[PlannerTool],
    present: Option<&PlannerProgress>,
) -> Value {
    let now = users_latest_first(conversation).next().unwrap_or_default();
    let Some(present) = present else {
        return json!({ "goals": goal_of(now, tools).into_iter().collect::<Vec<_>>() });
    };
    if GIVING_UP.iter().any(|words| now.to_lowercase().contains(words)) {
        return json!({ "goals": [], "changed": [] });
    }
    let mut goals: Vec<&PlannerGoal> = present.goals.iter().filter(|goal| !goal.done).collect();
    let added = goal_of(now, tools).filter(|goal| goals.iter().all(|earlier| earlier.tool != goal.tool));
    goals.extend(&added);
    let changed: Vec<&str> = present.calls.iter().map(|call| call.call.as_str()).collect();
    json!({ "goals": goals, "changed": if gives_something(now) { changed } else { Vec::new() } })
}

/// Returns the tool whose description begins with a verb of the request; of several, the one with the most words in
/// common.
fn goal_of(request: &str, tools: &[PlannerTool]) -> Option<PlannerGoal> {
    let request_words = words(request);
    let matching =
        tools.iter().filter(|tool| words(&tool.description).first().is_some_and(|word| request_words.contains(word)));
    let tool = matching
        .max_by_key(|tool| words(&tool.description).iter().filter(|word| request_words.contains(word)).count())?;
    Some(PlannerGoal { tool: tool.name.clone(), task: summary(&tool.description), done: false })
}

/// Returns the task of a call: the beginning of its tool's description.
pub(super) fn summary(description: &str) -> String {
    let end = description.find(['\n', '.']).unwrap_or(description.len());
    description.get(..end).unwrap_or_default().trim().to_owned()
}

/// Returns the words in lower case, without the `s` of a third person or a plural.
fn words(text: &str) -> Vec<String> {
    callwright_common::text::words(text).map(|word| word.to_lowercase().trim_end_matches('s').to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Vec<PlannerTool> {
        let tool = |name: &str, description: &str| PlannerTool {
            name: name.to_owned(),
            description: description.to_owned(),
            outputs: None,
        };
        vec![
            tool("getBooking", "Look a booking up\nReturns one booking."),
            tool("bookRoom", "Books a room.\nFor a person."),
            tool("bookFlight", "Book a flight"),
        ]
    }

    fn conversation(text: &str) -> Vec<PlannerMessage> {
        serde_json::from_value(json!([{ "from": "user", "text": text }])).unwrap()
    }

    #[test]
    fn the_verb_and_the_common_words_select_the_tool() {
        let answer_to = |text: &str| answer(&conversation(text), &tools(), None);
        assert_eq!(
            answer_to("Book a room for Jack."),
            json!({ "goals": [{ "tool": "bookRoom", "task": "Books a room" }] })
        );
        assert_eq!(answer_to("Please book me a flight.")["goals"][0]["tool"], "bookFlight");
        assert_eq!(answer_to("Tell me a joke."), json!({ "goals": [] }));
    }

    #[test]
    fn a_running_plan_continues_unless_the_user_cancels_it() {
        let present: PlannerProgress = serde_json::from_value(json!({
            "goals": [{ "tool": "bookRoom", "task": "for Jack", "done": false }, { "tool": "bookFlight", "task": "x", "done": true }],
            "calls": [{ "call": "call1", "tool": "bookRoom", "task": "for Jack", "arguments": {} }]
        }))
        .unwrap();
        let answer_to = |text: &str| answer(&conversation(text), &tools(), Some(&present));
        let goal = json!({ "tool": "bookRoom", "task": "for Jack" });
        assert_eq!(answer_to("Thanks."), json!({ "goals": [goal], "changed": [] }));
        assert_eq!(answer_to("Rather from 11."), json!({ "goals": [goal], "changed": ["call1"] }));
        assert_eq!(answer_to("Oh, never mind."), json!({ "goals": [], "changed": [] }));
        assert_eq!(answer_to("And book a flight.")["goals"][1]["tool"], "bookFlight");
    }
}
