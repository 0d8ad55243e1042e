//! What the scripted model answers to the questions by which plans are drawn.
//!
//! It reads the question and nothing else, by a strategy that is as small as its others:
//!
//! - [`goals`]: what is wanted is the tool whose description begins with a verb that the user said;
//! - [`sources`]: what the user said is a value; what the user did not say, and a tool tells of by name, comes from that tool; for what is
//!   left the user is asked;
//! - [`choice`]: of several items the one that the user named, or wished for by a measure, or else the first.

mod choice;
mod goals;
mod heard;
mod sources;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::request::Message;
use heard::Line;

/// A question, as its data tell it. The system's message says in words what these members mean.
#[derive(Debug, Default, Deserialize)]
struct Question {
    conversation: Vec<Line>,
    /// Tools of which one may be wanted.
    #[serde(default)]
    tools: Option<Vec<ToolData>>,
    /// A plan under way.
    #[serde(default)]
    present: Option<goals::Present>,
    /// A call whose arguments are wanted, or of one of them.
    #[serde(default)]
    wanted: Option<Value>,
    /// Items of which one is wanted.
    #[serde(default)]
    options: Option<Vec<choice::OptionData>>,
}

/// A tool as a question tells it.
#[derive(Debug, Default, Deserialize)]
struct ToolData {
    name: String,
    #[serde(default)]
    description: String,
    /// What it answers with; nothing where nobody knows.
    #[serde(default)]
    outputs: Option<Map<String, Value>>,
}

/// The answer to a question about a plan; `None` where the request is none.
pub(super) fn answer(messages: &[Message]) -> Option<String> {
    let [system, user, ..] = messages else { return None };
    if system.role != "system" || user.role != "user" {
        return None;
    }
    let Question { conversation, tools, present, wanted, options } = serde_json::from_str(&user.text()).ok()?;
    let answer = match (wanted, options, tools) {
        (Some(_), Some(options), _) => choice::answer(&conversation, &options),
        (Some(wanted), None, _) => sources::answer(&conversation, &serde_json::from_value(wanted).ok()?),
        (None, None, Some(tools)) => goals::answer(&conversation, &tools, present.as_ref()),
        _ => return None,
    };
    Some(answer.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(question: &Value) -> Value {
        let messages = [Message::of("system", "Plan."), Message::of("user", &question.to_string())];
        serde_json::from_str(&answer(&messages).unwrap()).unwrap()
    }

    fn said(text: &str) -> Value {
        json!([{ "from": "user", "text": text }])
    }

    #[test]
    fn a_question_is_known_by_its_data() {
        let conversation = said("Book a room for Jack.");
        let tools = json!([{ "name": "createBooking", "description": "Book a room" }]);
        let goals = asked(&json!({ "conversation": conversation, "tools": tools }));
        assert_eq!(goals["goals"][0]["tool"], "createBooking");
        let wanted = json!({ "tool": "findPeople", "arguments": [{ "name": "name", "required": true, "tools": [] }] });
        let sources = asked(&json!({ "conversation": conversation, "wanted": wanted }));
        assert_eq!(sources["arguments"][0]["value"], "Jack");
        let options = json!([{ "number": 1, "value": "r-1" }, { "number": 2, "value": "r-2" }]);
        let choice = asked(&json!({ "conversation": conversation, "wanted": wanted, "options": options }));
        assert_eq!(choice, json!({ "choice": 1 }));
    }

    #[test]
    fn what_is_no_question_is_answered_as_any_other_request() {
        for messages in [
            vec![Message::of("user", "Book a room for Jack.")],
            vec![Message::of("system", "Be brief."), Message::of("user", "Book a room for Jack.")],
            vec![Message::of("system", "Be brief."), Message::of("user", r#"{"conversation": []}"#)],
            vec![Message::of("user", "{}"), Message::of("user", r#"{"conversation": [], "tools": []}"#)],
        ] {
            assert_eq!(answer(&messages), None, "{messages:?}");
        }
    }
}
