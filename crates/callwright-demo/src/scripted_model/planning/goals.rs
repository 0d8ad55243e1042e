//! Choice of the tools that achieve the user's goals.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::request::{HeardLine, PlannerTool, gives_something, users_latest_first};

/// Words with which the user abandons a goal.
const GIVING_UP: [&str; 3] = ["never mind", "forget it", "cancel that"];

/// Plan in progress.
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
pub(super) fn answer(conversation: &[HeardLine], tools: &[PlannerTool], present: Option<&PlannerProgress>) -> Value {
    let now = users_latest_first(conversation).next().unwrap_or_default();
    let Some(present) = present else {
        return json!({ "goals": wanted(now, tools).into_iter().collect::<Vec<_>>() });
    };
    if GIVING_UP.iter().any(|words| now.to_lowercase().contains(words)) {
        return json!({ "goals": [], "changed": [] });
    }
    let mut goals: Vec<&PlannerGoal> = present.goals.iter().filter(|goal| !goal.done).collect();
    let added = wanted(now, tools).filter(|goal| goals.iter().all(|known| known.tool != goal.tool));
    goals.extend(&added);
    let changed: Vec<&str> = present.calls.iter().map(|call| call.call.as_str()).collect();
    json!({ "goals": goals, "changed": if gives_something(now) { changed } else { Vec::new() } })
}

/// Returns the tool whose description begins with a verb of the request; of several, the one with the most words in
/// common.
fn wanted(request: &str, tools: &[PlannerTool]) -> Option<PlannerGoal> {
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
    let words = text.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word.to_lowercase().trim_end_matches('s').to_owned()).collect()
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

    fn heard(text: &str) -> Vec<HeardLine> {
        serde_json::from_value(json!([{ "from": "user", "text": text }])).unwrap()
    }

    #[test]
    fn the_verb_that_the_user_said_and_the_words_in_common_tell_the_tool() {
        let asked = |text: &str| answer(&heard(text), &tools(), None);
        assert_eq!(
            asked("Book a room for Jack."),
            json!({ "goals": [{ "tool": "bookRoom", "task": "Books a room" }] })
        );
        assert_eq!(asked("Please book me a flight.")["goals"][0]["tool"], "bookFlight");
        assert_eq!(asked("Tell me a joke."), json!({ "goals": [] }));
    }

    #[test]
    fn a_plan_under_way_goes_on_unless_the_user_gives_it_up() {
        let present: PlannerProgress = serde_json::from_value(json!({
            "goals": [{ "tool": "bookRoom", "task": "for Jack", "done": false }, { "tool": "bookFlight", "task": "x", "done": true }],
            "calls": [{ "call": "call1", "tool": "bookRoom", "task": "for Jack", "arguments": {} }]
        }))
        .unwrap();
        let asked = |text: &str| answer(&heard(text), &tools(), Some(&present));
        let goal = json!({ "tool": "bookRoom", "task": "for Jack" });
        assert_eq!(asked("Thanks."), json!({ "goals": [goal], "changed": [] }));
        assert_eq!(asked("Rather from 11."), json!({ "goals": [goal], "changed": ["call1"] }));
        assert_eq!(asked("Oh, never mind."), json!({ "goals": [], "changed": [] }));
        assert_eq!(asked("And book a flight.")["goals"][1]["tool"], "bookFlight");
    }
}
