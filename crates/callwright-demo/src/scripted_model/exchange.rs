//! The part of a conversation that the next answer is about: what the user asked last, and what came back since.

use serde_json::{Map, Value};

use super::request::Message;

/// A question and what was told about it since.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// The user's question, its first paragraph; empty where the conversation holds none.
    pub(super) question: String,
    /// What stands behind the question in the same message: notes.
    pub(super) notes: String,
    /// What tools returned and what was sent back, oldest first: every later message that is not the assistant's own.
    pub(super) told: Vec<String>,
    /// Messages of the whole conversation: the only source of fresh ids that a stateless model has.
    pub(super) position: usize,
}

impl Exchange {
    /// Finds it in a conversation. It starts behind the last answer that called nothing; a user message after the question is
    /// feedback, too.
    pub(super) fn of(messages: &[Message]) -> Self {
        let start = messages.iter().rposition(Message::ends_an_exchange).map_or(0, |index| index + 1);
        let mut current = messages.iter().skip(start).skip_while(|message| message.role != "user");
        let asked = current.next().map(Message::text).unwrap_or_default();
        let (question, notes) = asked.split_once("\n\n").unwrap_or((&asked, ""));
        let told = current.filter(|message| message.role == "tool" || message.role == "user").map(Message::text);
        let (question, notes) = (question.to_owned(), notes.to_owned());
        Self { question, notes, told: told.collect(), position: messages.len() }
    }

    /// The newest result that has `member`. A result is recognised by what it holds: a JSON object that is the whole message.
    pub(super) fn result_with(&self, member: &str) -> Option<Map<String, Value>> {
        self.told.iter().rev().find_map(|text| result(text).filter(|object| object.contains_key(member)))
    }

    /// The newest result of all.
    pub(super) fn last_result(&self) -> Option<Map<String, Value>> {
        self.told.iter().rev().find_map(|text| result(text))
    }

    /// What was noted in earlier conversations, and what was sent back: all that was told and is no result.
    pub(super) fn feedback(&self) -> impl Iterator<Item = &str> {
        let told = self.told.iter().map(String::as_str).filter(|text| result(text).is_none());
        std::iter::once(self.notes.as_str()).chain(told)
    }
}

fn result(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calling() -> Message {
        serde_json::from_value(serde_json::json!({"role": "assistant", "content": null, "tool_calls": [{"id": "1"}]}))
            .unwrap()
    }

    #[test]
    fn an_exchange_starts_behind_the_last_word_of_the_assistant() {
        let messages = [
            Message::of("system", "Be brief."),
            Message::of("user", "first"),
            Message::of("assistant", "done"),
            Message::of("user", "second"),
            calling(),
            Message::of("tool", r#"{"routes": []}"#),
            Message::of("tool", "The call is wrong."),
        ];
        let exchange = Exchange::of(&messages);
        assert_eq!(exchange.question, "second");
        assert!(exchange.result_with("routes").is_some());
        assert!(exchange.result_with("places").is_none());
        assert_eq!(exchange.feedback().collect::<Vec<_>>(), ["", "The call is wrong."]);
    }

    #[test]
    fn a_conversation_without_a_question_is_an_empty_exchange() {
        assert_eq!(Exchange::of(&[]).question, "");
        assert_eq!(Exchange::of(&[Message::of("assistant", "hello")]).question, "");
    }
}
