//! Conversation before a call, reduced to the parts that validation needs.

use std::collections::HashSet;
use std::fmt;

use super::mention;
use callwright_types::tool_names::is_same_call_id;
use callwright_types::{Call, Message, RequestPart, Speaker, TextAuthor};

/// Source of the conversation before a call. Parsing the conversation takes time and most calls do not need it, so
/// sources parse it on first use.
pub trait Conversation: fmt::Debug {
    fn transcript(&self) -> &Transcript;

    /// Whether the model made calls since the last user message. Returns `true` if the exact answer would require
    /// parsing the conversation.
    fn may_have_calls(&self) -> bool {
        !self.transcript().rounds().is_empty()
    }

    /// Passes all parts of the request, in order, to `visit`.
    fn visit_request(&self, visit: &mut dyn FnMut(RequestPart<'_>)) {
        self.transcript().visit(visit);
    }
}

impl Conversation for Transcript {
    fn transcript(&self) -> &Transcript {
        self
    }
}

/// Earlier texts and calls of the conversation, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    /// Texts that the model did not write: of users, the system and tools.
    texts: Vec<String>,
    authors: Vec<TextAuthor>,
    /// Names of all calls, those before the last user message too.
    called_names: HashSet<String>,
    /// Rounds of calls since the last user message, in order.
    rounds: Vec<Round>,
}

/// Calls of one answer with their results.
pub type Round = Vec<PastCall>;

/// An earlier call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCall {
    /// Call id from the upstream; empty if it has none.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Text of the arguments.
    pub arguments: String,
    /// Result; `None` if the client returned none.
    pub result: Option<String>,
}

impl From<Call> for PastCall {
    fn from(Call { id, name, arguments }: Call) -> Self {
        Self { id, name, arguments, result: None }
    }
}

impl Transcript {
    /// Creates a transcript from messages.
    pub fn read(messages: impl IntoIterator<Item = Message>) -> Self {
        let mut transcript = Self::default();
        for Message { speaker, text, calls, answers, name } in messages {
            match speaker {
                Speaker::User => transcript.add_user_message(text),
                Speaker::Model => transcript.called(calls.into_iter().map(PastCall::from).collect()),
                Speaker::Tool => transcript.returned(answers.as_deref(), name.as_deref().unwrap_or_default(), text),
                Speaker::Other => transcript.given(text),
            }
        }
        transcript
    }

    /// Adds a text that is neither a user message nor a tool result.
    pub fn given(&mut self, text: impl Into<String>) {
        self.add(TextAuthor::Client, text.into());
    }

    /// Adds a user message. Discards earlier rounds, because the user may request anything again.
    pub fn add_user_message(&mut self, text: impl Into<String>) {
        self.add(TextAuthor::User, text.into());
        self.rounds.clear();
    }

    /// Adds the calls of one answer; their results follow.
    pub fn called(&mut self, calls: Round) {
        self.called_names.extend(calls.iter().map(|call| call.name.clone()));
        if !calls.is_empty() {
            self.rounds.push(calls);
        }
    }

    /// Adds the result of a call in the last round: the first call without a result that has this id or, if the id is
    /// `None`, this name.
    pub fn returned(&mut self, id: Option<&str>, name: &str, result: impl Into<String>) {
        let result = result.into();
        let mut open = self.rounds.last_mut().into_iter().flatten().filter(|call| call.result.is_none());
        let call = match id {
            Some(id) => open.find(|call| is_same_call_id(&call.id, id)),
            None => open.find(|call| call.name == name),
        };
        if let Some(call) = call {
            call.result = Some(result.clone());
        }
        self.add(TextAuthor::Foreign, result);
    }

    fn add(&mut self, author: TextAuthor, text: String) {
        self.authors.push(author);
        self.texts.push(text);
    }

    /// Returns the texts with their authors.
    fn written(&self) -> impl DoubleEndedIterator<Item = (TextAuthor, &str)> {
        self.authors.iter().copied().zip(self.texts.iter().map(String::as_str))
    }

    /// Whether the client names a tool to the model: in a system or developer message, or in an element that it inserted
    /// in a message of the user.
    pub fn announces(&self, name: &str) -> bool {
        self.written().any(|(author, text)| match author {
            TextAuthor::Client => mention::names(text, name),
            TextAuthor::User => mention::names_in_element(text, name),
            TextAuthor::Model | TextAuthor::Foreign => false,
        })
    }

    /// Whether a text or an earlier call has this name.
    pub fn mentions(&self, name: &str) -> bool {
        self.called_names.contains(name) || self.texts.iter().any(|text| mention::occurs(text, name))
    }

    /// Returns the texts that the model was given.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Passes the texts to `visit`.
    fn visit(&self, visit: &mut dyn FnMut(RequestPart<'_>)) {
        for (author, text) in self.written() {
            if author == TextAuthor::User {
                visit(RequestPart::UserMessage);
            }
            visit(RequestPart::Text(author, text));
        }
    }

    /// Returns the text of the last user message.
    pub fn last_user_text(&self) -> Option<&str> {
        self.written().rfind(|(author, _)| *author == TextAuthor::User).map(|(_, text)| text)
    }

    /// Returns the rounds of calls since the last user message, in order.
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
        transcript.add_user_message("And now?");
        assert!(transcript.rounds().is_empty());
        assert_eq!(transcript.texts(), ["And now?"]);
    }
}
