//! The parts of a conversation that determine the offered tools.

use std::collections::HashSet;

use callwright_common::limits::TEXT_LENGTH;
use callwright_common::text::beginning;
use callwright_wire::{MessageView, ModelRequest, ToolChoice};

/// Maximum number of user messages for a query, the last ones.
const USER_MESSAGES: usize = 3;

/// Maximum number of steps, the last ones, that are replayed for a session without stored state.
pub(super) const MAX_STEPS: usize = 16;

/// A conversation as steps: one per user message, with all earlier messages.
#[derive(Debug, Default)]
pub(super) struct OfferConversation {
    /// Oldest first; never empty.
    steps: Vec<End>,
    /// Names of called tools, in order.
    called: Vec<String>,
    /// Words that may be tool names, without duplicates.
    words: Vec<String>,
    /// Names that `tool_choice` requires.
    pub(super) required: Vec<String>,
}

/// The end of a step, and the messages up to it.
#[derive(Debug)]
struct End {
    /// User messages, newest first.
    user_messages: Vec<String>,
    called: usize,
    words: usize,
}

/// The conversation up to a user message.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ConversationStep<'a> {
    /// The last user messages, newest first.
    pub(super) user_messages: &'a [String],
    /// Names of called tools, in order.
    pub(super) called: &'a [String],
    /// Words that may be tool names.
    pub(super) words: &'a [String],
}

impl OfferConversation {
    /// Returns an empty conversation for turns without a selection.
    pub(super) fn unread() -> Self {
        let mut conversation = Self::default();
        conversation.end(&[]);
        conversation
    }

    /// Parses the last steps of a request's conversation.
    pub(super) fn read(request: &ModelRequest) -> Self {
        let mut conversation = Self { required: required(&request.tool_choice()), ..Self::default() };
        let (mut user_messages, mut known): (Vec<String>, HashSet<String>) = Default::default();
        let mut user_spoke = false;
        for message in request.messages() {
            // Consecutive user messages are one step.
            if user_spoke && message.role == "assistant" {
                conversation.end(&user_messages);
            }
            user_spoke = message.role == "user" || (user_spoke && message.role != "assistant");
            conversation.add(&message, &mut known);
            if message.role == "user" {
                user_messages.extend(message.text.as_deref().map(|text| beginning(text, TEXT_LENGTH).to_owned()));
            }
        }
        // Messages after the last user message belong to its step.
        if !user_spoke {
            conversation.steps.pop();
        }
        conversation.end(&user_messages);
        conversation.steps.drain(..conversation.steps.len().saturating_sub(MAX_STEPS));
        conversation
    }

    /// Returns the steps, oldest first.
    pub(super) fn steps(&self) -> Vec<ConversationStep<'_>> {
        let steps = self.steps.iter().map(|end| ConversationStep {
            user_messages: &end.user_messages,
            called: self.called.get(..end.called).unwrap_or_default(),
            words: self.words.get(..end.words).unwrap_or_default(),
        });
        steps.collect()
    }

    fn add(&mut self, message: &MessageView<'_>, known: &mut HashSet<String>) {
        self.called.extend(message.calls.iter().map(|call| call.name.clone()));
        // Tool results are data: names in them are not requests.
        if matches!(message.role.as_ref(), "tool" | "function") {
            return;
        }
        let text = message.text.as_deref().unwrap_or_default();
        for word in words(beginning(text, TEXT_LENGTH)) {
            if known.insert(word.to_owned()) {
                self.words.push(word.to_owned());
            }
        }
    }

    fn end(&mut self, user_messages: &[String]) {
        self.steps.push(End { user_messages: last(user_messages), called: self.called.len(), words: self.words.len() });
    }
}

/// Returns the last texts, newest first.
fn last(user_messages: &[String]) -> Vec<String> {
    user_messages.iter().rev().filter(|text| !text.trim().is_empty()).take(USER_MESSAGES).cloned().collect()
}

/// Returns the words that may be tool names: words of letters, digits, `_`, `-` and `.` with the spelling of an
/// identifier (`get_weather`, `getWeather`, `user.login`), or in quotation marks or backticks. A plain word such as
/// "weather" does not name a tool `weather`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let runs = text.split(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '_' | '-' | '.'));
    let runs = runs.filter(|run| !run.is_empty());
    runs.filter_map(move |run| {
        let word = run.trim_matches(['.', '-']);
        (is_spelt_as_a_name(word) || is_quoted(text, run)).then_some(word).filter(|word| !word.is_empty())
    })
}

fn is_spelt_as_a_name(word: &str) -> bool {
    let mut pairs = word.chars().zip(word.chars().skip(1));
    word.contains(|letter: char| matches!(letter, '_' | '.' | '-') || letter.is_ascii_digit())
        || pairs.any(|(before, here)| before.is_ascii_lowercase() && here.is_ascii_uppercase())
}

/// Whether a part of the text is between two identical quotation marks.
fn is_quoted(text: &str, run: &str) -> bool {
    let start = run.as_ptr().addr() - text.as_ptr().addr();
    let before = text.get(..start).and_then(|before| before.chars().next_back());
    let behind = text.get(start + run.len()..).and_then(|behind| behind.chars().next());
    before == behind && before.is_some_and(|mark| matches!(mark, '`' | '"' | '\''))
}

/// Returns the tools that the request itself requires.
fn required(choice: &ToolChoice) -> Vec<String> {
    match choice {
        ToolChoice::Named(name) => vec![name.clone()],
        ToolChoice::Allowed { names, .. } => names.clone(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::{Value, json};

    use super::*;

    fn read(messages: &Value) -> OfferConversation {
        OfferConversation::read(
            &ModelRequest::parse(
                callwright_types::Protocol::Chat,
                Bytes::from(json!({ "messages": messages }).to_string()),
            )
            .unwrap(),
        )
    }

    fn called(name: &str) -> Value {
        let call = json!({"id": "a", "type": "function", "function": {"name": name, "arguments": "{}"}});
        json!({"role": "assistant", "content": null, "tool_calls": [call]})
    }

    #[test]
    fn each_user_message_is_a_step_with_what_came_since_the_last() {
        let conversation = read(&json!([
            {"role": "system", "content": "Use get-weather."},
            {"role": "user", "content": "Ulm?"}, {"role": "user", "content": "Now."},
            called("listRooms"), {"role": "tool", "tool_call_id": "a", "content": "try payBill"},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Thanks"}, called("bookRoom"),
        ]));
        let steps = conversation.steps();
        assert_eq!(steps.len(), 2);
        assert_eq!((steps[0].user_messages, steps[0].called), (&["Now.".to_owned(), "Ulm?".to_owned()][..], &[][..]));
        assert_eq!(steps[1].user_messages, ["Thanks", "Now.", "Ulm?"]);
        assert_eq!(steps[1].called, ["listRooms", "bookRoom"]);
        assert_eq!(
            [steps[0].words, steps[1].words],
            [["get-weather"], ["get-weather"]],
            "names in a tool's result are ignored"
        );
    }

    #[test]
    fn names_are_told_from_words() {
        let found = |text: &'static str| words(text).collect::<Vec<_>>();
        assert_eq!(
            found("Use get_weather, then user.login. Or listUsers!"),
            ["get_weather", "user.login", "listUsers"]
        );
        assert_eq!(found("Search for `weather` or \"rooms\", don't search 'n weather..."), ["weather", "rooms"]);
        assert_eq!(found(""), Vec::<&str>::new());
    }

    #[test]
    fn a_conversation_without_messages_is_one_empty_step() {
        assert_eq!(read(&json!([])).steps().len(), 1);
        assert_eq!(read(&json!([{"role": "assistant", "content": "hi"}])).steps().len(), 1);
    }

    #[test]
    fn of_a_long_conversation_the_last_steps_are_read() {
        let messages: Vec<Value> = (0..40)
            .flat_map(|n| {
                [json!({"role": "user", "content": format!("m{n}")}), json!({"role": "assistant", "content": "ok"})]
            })
            .chain([json!({"role": "user", "content": "last"})])
            .collect();
        let conversation = read(&json!(messages));
        let steps = conversation.steps();
        assert_eq!(steps.len(), MAX_STEPS);
        assert_eq!(steps.last().unwrap().user_messages, ["last", "m39", "m38"]);
    }
}
