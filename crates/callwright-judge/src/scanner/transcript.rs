//! The conversation before a call, as far as judging it needs that.

use std::cell::LazyCell;
use std::fmt;

use callwright_types::{Call, Message, Speaker};

/// Gives the conversation before a call. Reading it takes time, and most calls are judged without it: a [`LazyCell`] reads
/// it when it is asked for first.
pub trait Conversation: fmt::Debug {
    /// The conversation.
    fn transcript(&self) -> &Transcript;

    /// Were calls made since the user last spoke? `true` where telling takes as long as reading the conversation.
    fn may_have_calls(&self) -> bool {
        !self.transcript().rounds().is_empty()
    }
}

impl Conversation for Transcript {
    fn transcript(&self) -> &Transcript {
        self
    }
}

impl<F: FnOnce() -> Transcript> Conversation for LazyCell<Transcript, F> {
    fn transcript(&self) -> &Transcript {
        self
    }
}

/// What was said and called before, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    /// Texts that the model did not write itself: of users, of the system, of tools.
    texts: Vec<String>,
    /// The place of the last user's message in `texts`.
    last_asked: Option<usize>,
    /// The rounds of calls since the last user's message, in order.
    rounds: Vec<Round>,
}

/// The calls that one answer made, with their results.
pub type Round = Vec<PastCall>;

/// A call that was made before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCall {
    /// The upstream's id of the call; empty where it has none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments' text.
    pub arguments: String,
    /// What it returned; `None` where nothing was handed back.
    pub result: Option<String>,
}

impl From<Call> for PastCall {
    fn from(Call { id, name, arguments }: Call) -> Self {
        Self { id, name, arguments, result: None }
    }
}

impl Transcript {
    /// Reads a conversation.
    pub fn read(messages: impl IntoIterator<Item = Message>) -> Self {
        let mut transcript = Self::default();
        for Message { speaker, text, calls, answers, name } in messages {
            match speaker {
                Speaker::User => transcript.asked(text),
                Speaker::Model => transcript.called(calls.into_iter().map(PastCall::from).collect()),
                Speaker::Tool => transcript.returned(answers.as_deref(), name.as_deref().unwrap_or_default(), text),
                Speaker::Other => transcript.given(text),
            }
        }
        transcript
    }

    /// Adds a text that the model was given, other than a user's message and a tool's result.
    pub fn given(&mut self, text: impl Into<String>) {
        self.texts.push(text.into());
    }

    /// Adds a user's message: from here on everything may be meant anew.
    pub fn asked(&mut self, text: impl Into<String>) {
        self.last_asked = Some(self.texts.len());
        self.texts.push(text.into());
        self.rounds.clear();
    }

    /// Adds the calls of one answer; their results follow.
    pub fn called(&mut self, calls: Round) {
        if !calls.is_empty() {
            self.rounds.push(calls);
        }
    }

    /// Adds the result of a call of the last round: the first that has none and is of this id (or, where the id is `None`, of
    /// this name).
    pub fn returned(&mut self, id: Option<&str>, name: &str, result: impl Into<String>) {
        let result = result.into();
        let calls = self.rounds.last_mut().into_iter().flatten();
        let is_it = |call: &&mut PastCall| match id {
            Some(id) => call.id == id,
            None => call.name == name,
        };
        if let Some(call) = calls.filter(|call| call.result.is_none()).find(is_it) {
            call.result = Some(result.clone());
        }
        self.texts.push(result);
    }

    /// The texts that the model was given.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// The text of the last user's message.
    pub fn last_asked(&self) -> Option<&str> {
        self.texts.get(self.last_asked?).map(String::as_str)
    }

    /// The rounds of calls since the last user's message, in order.
    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(id: &str, name: &str) -> PastCall {
        PastCall { id: id.to_owned(), name: name.to_owned(), arguments: "{}".to_owned(), result: None }
    }

    #[test]
    fn results_find_their_calls_by_id_or_else_by_name() {
        let mut transcript = Transcript::default();
        transcript.called(vec![past("1", "f"), past("2", "f"), past("", "g")]);
        transcript.returned(Some("2"), "", "two");
        transcript.returned(None, "g", "three");
        transcript.returned(Some("9"), "", "nobody's");
        let results: Vec<_> = transcript.rounds()[0].iter().map(|call| call.result.as_deref()).collect();
        assert_eq!(results, [None, Some("two"), Some("three")]);
        assert_eq!(transcript.texts(), ["two", "three", "nobody's"]);
    }

    #[test]
    fn a_users_message_begins_anew() {
        let mut transcript = Transcript::default();
        transcript.called(vec![past("1", "f")]);
        transcript.asked("And now?");
        assert!(transcript.rounds().is_empty());
        assert_eq!(transcript.texts(), ["And now?"]);
    }

    #[test]
    fn a_conversation_is_read_only_when_it_is_asked_for() {
        let read = std::cell::Cell::new(false);
        let lazy = LazyCell::new(|| {
            read.set(true);
            Transcript::default()
        });
        let conversation: &dyn Conversation = &lazy;
        assert!(!read.get());
        assert!(conversation.transcript().rounds().is_empty() && read.get());
    }
}
