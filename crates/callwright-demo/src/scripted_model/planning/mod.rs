//! Answers of the scripted model to planning requests. Owns its planning strategy. Must not read anything but the
//! request.
//!
//! The strategy is minimal:
//!
//! - [`goals`]: the goal is the tool whose description begins with a verb of the user;
//! - [`sources`]: an argument takes a value from the user, otherwise from a tool with a matching output name, otherwise
//!   a question to the user;
//! - [`choice`]: of several items, the one that the user named, or preferred by a measure, or the first.

mod choice;
mod goals;
mod request;
mod sources;

use serde::Deserialize;
use serde_json::Value;

use super::request::ScriptedMessage;
use request::{PlannerMessage, PlannerTool};

/// Data of a planning request. The system message explains these members.
#[derive(Debug, Default, Deserialize)]
struct PlannerQuestion {
    conversation: Vec<PlannerMessage>,
    /// Tools to choose from.
    #[serde(default)]
    tools: Option<Vec<PlannerTool>>,
    #[serde(default)]
    present: Option<goals::PlannerProgress>,
    /// Call whose arguments are requested, all or one.
    #[serde(default)]
    #[serde(rename = "wanted")]
    requested: Option<Value>,
    /// Items to choose from.
    #[serde(default)]
    options: Option<Vec<choice::PlannerOption>>,
}

/// Returns the answer to a planning request; `None` for other requests.
pub(super) fn answer(messages: &[ScriptedMessage]) -> Option<String> {
    let [system, user, ..] = messages else { return None };
    if system.role != "system" || user.role != "user" {
        return None;
    }
    let PlannerQuestion { conversation, tools, present, requested, options } =
        serde_json::from_str(&user.text()).ok()?;
    let answer = match (requested, options, tools) {
        (Some(_), Some(options), _) => choice::answer(&conversation, &options),
        (Some(requested), None, _) => sources::answer(&conversation, &serde_json::from_value(requested).ok()?),
        (None, None, Some(tools)) => goals::answer(&conversation, &tools, present.as_ref()),
        _ => return None,
    };
    Some(answer.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer_to(question: &Value) -> Value {
        let messages = [ScriptedMessage::new("system", "Plan."), ScriptedMessage::new("user", &question.to_string())];
        serde_json::from_str(&answer(&messages).unwrap()).unwrap()
    }

    fn user_line(text: &str) -> Value {
        json!([{ "from": "user", "text": text }])
    }

    #[test]
    fn a_question_is_recognised_by_its_data() {
        let conversation = user_line("Book a room for Jack.");
        let tools = json!([{ "name": "createBooking", "description": "Book a room" }]);
        let goals = answer_to(&json!({ "conversation": conversation, "tools": tools }));
        assert_eq!(goals["goals"][0]["tool"], "createBooking");
        let requested =
            json!({ "tool": "findPeople", "arguments": [{ "name": "name", "required": true, "tools": [] }] });
        let sources = answer_to(&json!({ "conversation": conversation, "wanted": requested }));
        assert_eq!(sources["arguments"][0]["value"], "Jack");
        let options = json!([{ "number": 1, "value": "r-1" }, { "number": 2, "value": "r-2" }]);
        let choice = answer_to(&json!({ "conversation": conversation, "wanted": requested, "options": options }));
        assert_eq!(choice, json!({ "choice": 1 }));
    }

    #[test]
    fn other_requests_are_answered_normally() {
        for messages in [
            vec![ScriptedMessage::new("user", "Book a room for Jack.")],
            vec![ScriptedMessage::new("system", "Be brief."), ScriptedMessage::new("user", "Book a room for Jack.")],
            vec![ScriptedMessage::new("system", "Be brief."), ScriptedMessage::new("user", r#"{"conversation": []}"#)],
            vec![
                ScriptedMessage::new("user", "{}"),
                ScriptedMessage::new("user", r#"{"conversation": [], "tools": []}"#),
            ],
        ] {
            assert_eq!(answer(&messages), None, "{messages:?}");
        }
    }
}
