//! The upstream requests of a turn, built from the client's request.

use std::borrow::Cow;

use callwright_judge::feedback::{are_too_long, shortened_arguments};
use callwright_types::Call;
use callwright_wire::{AssistantMessage, Completion, ModelRequest, ToolChoice};

use super::kept_calls::KeptCalls;
use super::turn::Turn;
use crate::pipeline::tools::{Offer, SentToolList};
use callwright_upstream::Upstream;

/// Reply to a call of the model.
#[derive(Debug, Clone)]
pub(crate) struct ToolReply {
    pub(crate) call: Call,
    /// Text for the model.
    pub(crate) text: String,
    /// Whether the call was not executed, or failed.
    pub(crate) is_error: bool,
}

/// The upstream request of a turn, which grows with every round.
///
/// Feedback rounds are appended to a *pending* copy, and dropped once they led to a correct answer. The *committed*
/// request is the conversation as if the model had been correct at once, which keeps later requests short.
#[derive(Debug)]
pub(crate) struct ChatDraft {
    /// The conversation without the current feedback rounds.
    pub(crate) committed: ModelRequest,
    pending: Option<ModelRequest>,
    /// Whether the committed request has results that the proxy added.
    has_results: bool,
    /// Correct calls of faulty answers.
    pub(crate) kept: KeptCalls,
}

impl ChatDraft {
    /// Creates the first upstream request: the client's request with the model's name and the catalog's tools.
    pub(crate) fn first(turn: &Turn, offer: &Offer) -> Self {
        let mut request = turn.request.clone();
        if request.model() != turn.model {
            request.set_model(&turn.model);
        }
        send(&mut request, &offer.sent);
        Self { committed: request, pending: None, has_results: false, kept: KeptCalls::default() }
    }

    /// Adds the tools of an extended offer.
    pub(crate) fn offer(&mut self, offer: &Offer) {
        send(&mut self.committed, &offer.sent);
        if let Some(pending) = &mut self.pending {
            send(pending, &offer.sent);
        }
    }

    /// Returns the request to send now.
    pub(crate) fn request(&self) -> &ModelRequest {
        self.pending.as_ref().unwrap_or(&self.committed)
    }

    /// Returns the request for an upstream and its model of this name, which differ from the first ones after a failover.
    pub(crate) fn request_to(&self, upstream: &Upstream, model: &str) -> Cow<'_, ModelRequest> {
        let mut request = Cow::Borrowed(self.request());
        if request.model() != model {
            request.to_mut().set_model(model);
        }
        // Providers refuse `metadata` without `store`, which requests of the proxy do not have.
        let is_proxys = self.pending.is_some() || self.has_results;
        if is_proxys && !upstream.settings().keep_metadata && request.has_chat_metadata() {
            request.to_mut().forget_metadata();
        }
        request
    }

    /// Appends a faulty answer, with a reply to each of its calls. Long arguments are shortened.
    pub(crate) fn append_feedback(&mut self, answer: &Completion, replies: &[ToolReply]) {
        let pending = self.pending();
        pending.carry(answer);
        append(pending, message_of(answer).map(shortened).as_deref(), replies);
    }

    /// Appends a text answer that should have been a call, unchanged, and the feedback as a user message: a `tool`
    /// message needs a call in the answer. An empty answer is omitted: without content and calls it is an invalid
    /// message, and providers refuse it.
    pub(crate) fn append_feedback_on_text(&mut self, answer: &Completion, text: &str) {
        let pending = self.pending();
        pending.carry(answer);
        if let Some(message) = message_of(answer)
            && message.text().is_some_and(|text| !text.trim().is_empty())
        {
            pending.push_assistant(message);
        }
        pending.push_user(text);
    }

    /// Appends an answer whose calls were executed, and their results; drops the feedback rounds that led to it. Resets
    /// a forced tool choice to `auto` once a required tool has been called: the turn would otherwise never end.
    pub(crate) fn commit_results(&mut self, answer: &Completion, results: &[ToolReply]) {
        self.pending = None;
        self.kept.clear();
        self.committed.carry(answer);
        append(&mut self.committed, message_of(answer), results);
        self.committed.forget_storage();
        self.has_results = true;
        let choice = self.committed.tool_choice();
        let is_met =
            message_of(answer).is_some_and(|message| message.calls().iter().any(|call| choice.permits(&call.name)));
        match choice {
            _ if !is_met => {}
            ToolChoice::Required | ToolChoice::Named(_) => self.committed.set_tool_choice(ToolChoice::Auto),
            ToolChoice::Allowed { required: true, names } => {
                self.committed.set_tool_choice(ToolChoice::Allowed { required: false, names });
            }
            _ => {}
        }
    }

    /// Appends a request for a final answer without calls.
    pub(crate) fn append_closing(&mut self, text: &str) {
        let pending = self.pending();
        pending.push_user(text);
        pending.set_tool_choice(ToolChoice::None);
    }

    /// Returns the copy for feedback. It is a request of the proxy, so the client's `store` option does not apply to
    /// it.
    fn pending(&mut self) -> &mut ModelRequest {
        self.pending.get_or_insert_with(|| {
            let mut copy = self.committed.clone();
            copy.forget_storage();
            copy
        })
    }
}

fn message_of(answer: &Completion) -> Option<&AssistantMessage> {
    answer.choices().first().map(|choice| &choice.message)
}

/// Returns the message with shortened arguments where they are long.
fn shortened(message: &AssistantMessage) -> Cow<'_, AssistantMessage> {
    if !message.calls().iter().any(|call| are_too_long(&call.arguments)) {
        return Cow::Borrowed(message);
    }
    let mut calls = message.calls().to_vec();
    for call in &mut calls {
        if let Some(arguments) = shortened_arguments(&call.arguments) {
            call.arguments = arguments;
        }
    }
    Cow::Owned(message.with_calls(&calls))
}

fn append(request: &mut ModelRequest, message: Option<&AssistantMessage>, replies: &[ToolReply]) {
    message.into_iter().for_each(|message| request.push_assistant(message));
    for reply in replies {
        request.push_tool_result(&reply.call, &reply.text, reply.is_error);
    }
}

fn send(request: &mut ModelRequest, tools: &SentToolList) {
    match tools {
        SentToolList::Behind(added) => request.add_tools(added),
        SentToolList::Instead(tools) => request.send_tools(tools),
    }
}
