//! Compose: the requests that go upstream, made from the client's (pure).

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::pipeline::turn::Turn;
use callwright_openai::{AssistantMessage, ChatRequest, KeptPart, ToolChoice};
use callwright_types::Call;

use super::kept_calls::KeptCalls;
use super::offer::{Offer, Sent};

/// The upstream request of a turn as it grows.
///
/// Rounds of feedback are appended to a *pending* copy and leave no mark once they led to a right answer: what is
/// *committed* is the conversation as if the model had been right at once. That keeps later requests short.
#[derive(Debug)]
pub(crate) struct Draft {
    committed: ChatRequest,
    pending: Option<ChatRequest>,
    /// Calls of faulty answers that were right.
    pub(crate) kept: KeptCalls,
}

/// The first upstream request: the client's own but for the model's name and the catalog's tools.
pub(crate) fn first(turn: &Turn, offer: &Offer) -> Draft {
    let mut request = turn.request.clone();
    if request.model() != turn.model {
        request.set_model(&turn.model);
    }
    send(&mut request, &offer.sent);
    Draft { committed: request, pending: None, kept: KeptCalls::default() }
}

fn send(request: &mut ChatRequest, tools: &Sent) {
    match tools {
        Sent::Behind(added) => request.add_tools(added),
        Sent::Instead(tools) => request.send_tools(tools),
    }
}

impl Draft {
    /// Offers the tools of an offer that has grown.
    pub(crate) fn offer(&mut self, offer: &Offer) {
        send(&mut self.committed, &offer.sent);
        if let Some(pending) = &mut self.pending {
            send(pending, &offer.sent);
        }
    }

    /// The request to send now.
    pub(crate) fn request(&self) -> &ChatRequest {
        self.pending.as_ref().unwrap_or(&self.committed)
    }

    /// The request to send to the model of this name: another than at first where a fallback is asked.
    pub(crate) fn request_to(&self, model: &str) -> Cow<'_, ChatRequest> {
        let mut request = Cow::Borrowed(self.request());
        if request.model() != model {
            request.to_mut().set_model(model);
        }
        request
    }

    /// The conversation without the rounds of feedback that are under way.
    pub(crate) fn conversation(&self) -> &ChatRequest {
        &self.committed
    }

    /// Puts the proxy's parts of earlier answers back, by the places of these answers' messages.
    pub(crate) fn rejoin(&mut self, parts: &BTreeMap<usize, KeptPart>, lost: &str) {
        self.committed.rejoin(parts, lost);
    }

    /// Adds a note behind the text of one of the client's messages, by its place.
    pub(crate) fn add_note(&mut self, place: usize, note: String) {
        self.committed.add_note(place, note);
    }

    /// Appends a faulty answer, and what is said to each of its calls.
    pub(crate) fn append_feedback(&mut self, message: &AssistantMessage, replies: &[(Call, String)]) {
        append(self.pending(), message, replies);
    }

    /// Appends an answer that should have called and wrote text, as it came, and what is said to it. A `tool` message would answer a
    /// call that the message does not hold. An empty answer is left out: without content and calls it is no message of the API, and
    /// providers refuse it.
    pub(crate) fn append_feedback_on_text(&mut self, message: &AssistantMessage, text: &str) {
        let pending = self.pending();
        if message.text().is_some_and(|text| !text.trim().is_empty()) {
            pending.push_assistant(message);
        }
        pending.push_user(text);
    }

    /// Appends an answer whose calls were executed, and their results; forgets the feedback that led to it. From here on
    /// the model chooses freely: a required tool has been called, and the turn would otherwise never end.
    pub(crate) fn commit_results(&mut self, message: &AssistantMessage, results: &[(Call, String)]) {
        self.pending = None;
        self.kept.clear();
        append(&mut self.committed, message, results);
        self.committed.forget_storage();
        match self.committed.tool_choice() {
            ToolChoice::Required | ToolChoice::Named(_) => self.committed.set_tool_choice(ToolChoice::Auto),
            ToolChoice::Allowed { required: true, names } => {
                self.committed.set_tool_choice(ToolChoice::Allowed { required: false, names });
            }
            _ => {}
        }
    }

    /// Asks for a last word without calls.
    pub(crate) fn append_closing(&mut self, text: &str) {
        let pending = self.pending();
        pending.push_user(text);
        pending.set_tool_choice(ToolChoice::None);
    }

    /// The copy that feedback is appended to. It is a request of our own: the client's wish that its request be stored
    /// does not extend to it.
    fn pending(&mut self) -> &mut ChatRequest {
        self.pending.get_or_insert_with(|| {
            let mut copy = self.committed.clone();
            copy.forget_storage();
            copy
        })
    }
}

fn append(request: &mut ChatRequest, message: &AssistantMessage, replies: &[(Call, String)]) {
    request.push_assistant(message);
    for (call, reply) in replies {
        request.push_tool_result(call, reply);
    }
}
