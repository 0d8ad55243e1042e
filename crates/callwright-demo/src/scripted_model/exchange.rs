//! Part of a conversation that the next answer is about: the last question of the user, and the messages since.

use serde_json::{Map, Value};

use super::request::ScriptedMessage;

/// Question and the messages since.
#[derive(Debug, Default)]
pub(super) struct ScriptedExchange {
    /// First paragraph of the user's question; empty if there is no question.
    pub(super) question: String,
    /// Notes after the question in the same message.
    pub(super) notes: String,
    /// Tool results and feedback, oldest first: all later messages that are not the assistant's.
    pub(super) results: Vec<String>,
    /// Number of messages in the conversation: the only source of unique ids in a stateless model.
    pub(super) position: usize,
}

impl ScriptedExchange {
    /// Finds the exchange in a conversation. It starts after the last answer without calls. A user message after the
    /// question counts as feedback, too.
    pub(super) fn latest(messages: &[ScriptedMessage]) -> Self {
        let start = messages.iter().rposition(ScriptedMessage::ends_an_exchange).map_or(0, |index| index + 1);
        let mut current = messages.iter().skip(start).skip_while(|message| message.role != "user");
        let message = current.next().map(ScriptedMessage::text).unwrap_or_default();
        let (question, notes) = message.split_once("\n\n").unwrap_or((&message, ""));
        let results =
            current.filter(|message| message.role == "tool" || message.role == "user").map(ScriptedMessage::text);
        let (question, notes) = (question.to_owned(), notes.to_owned());
        Self { question, notes, results: results.collect(), position: messages.len() }
    }

    /// Returns the newest result with `member`. A result is recognised by its content: a message that is a single JSON
    /// object.
    pub(super) fn result_with(&self, member: &str) -> Option<Map<String, Value>> {
        self.results.iter().rev().find_map(|text| result(text).filter(|object| object.contains_key(member)))
    }

    /// Returns the newest result.
    pub(super) fn last_result(&self) -> Option<Map<String, Value>> {
        self.results.iter().rev().find_map(|text| result(text))
    }

    /// Returns notes of earlier conversations, and messages since the question that are not results.
    pub(super) fn feedback(&self) -> impl Iterator<Item = &str> {
        let results = self.results.iter().map(String::as_str).filter(|text| result(text).is_none());
        std::iter::once(self.notes.as_str()).chain(results)
    }
}

fn result(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calling() -> ScriptedMessage {
        serde_json::from_value(serde_json::json!({"role": "assistant", "content": null, "tool_calls": [{"id": "1"}]}))
            .unwrap()
    }

    #[test]
    fn an_exchange_starts_after_the_last_message_of_the_assistant() {
        let messages = [
            ScriptedMessage::new("system", "Be brief."),
            ScriptedMessage::new("user", "first"),
            ScriptedMessage::new("assistant", "done"),
            ScriptedMessage::new("user", "second"),
            calling(),
            ScriptedMessage::new("tool", r#"{"routes": []}"#),
            ScriptedMessage::new("tool", "The call is wrong."),
        ];
        let exchange = ScriptedExchange::latest(&messages);
        assert_eq!(exchange.question, "second");
        assert!(exchange.result_with("routes").is_some());
        assert!(exchange.result_with("places").is_none());
        assert_eq!(exchange.feedback().collect::<Vec<_>>(), ["", "The call is wrong."]);
    }

    #[test]
    fn a_conversation_without_a_question_is_an_empty_exchange() {
        assert_eq!(ScriptedExchange::latest(&[]).question, "");
        assert_eq!(ScriptedExchange::latest(&[ScriptedMessage::new("assistant", "hello")]).question, "");
    }
}
