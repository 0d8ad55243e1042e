//! Context for the validation of an answer: the conversation before it, and the relevance of the tools.

use std::cell::OnceCell;

use callwright_judge::scanner::{Conversation, Relevance, Transcript};
use callwright_openai::{ChatRequest, MessageView};
use callwright_types::rules::{Action, ScanRules};
use callwright_types::{FaultCode, Message};

use super::offer::Offer;
use crate::pipeline::toolset_index::ToolsetIndex;
use crate::pipeline::turn::Turn;

/// The conversation of a request, parsed at first use.
#[derive(Debug)]
pub(crate) struct KnownConversation<'a> {
    request: &'a ChatRequest,
    transcript: OnceCell<Transcript>,
}

impl<'a> KnownConversation<'a> {
    /// Creates the conversation of `request`.
    pub(crate) fn of(request: &'a ChatRequest) -> Self {
        Self { request, transcript: OnceCell::new() }
    }
}

impl Conversation for KnownConversation<'_> {
    fn transcript(&self) -> &Transcript {
        self.transcript.get_or_init(|| Transcript::read(self.request.messages().into_iter().map(Message::from)))
    }

    fn may_have_calls(&self) -> bool {
        self.request.may_have_calls()
    }
}

/// Returns the relevance of each offered tool to the last user message; `None` if policy does not need it.
pub(crate) fn relevance(
    request: &ChatRequest,
    offer: &Offer,
    shelf: &ToolsetIndex,
    rules: &ScanRules,
) -> Option<Relevance> {
    if rules.faults.of(FaultCode::ToolNotRelevant) == Action::Off {
        return None;
    }
    Some(offer.relevance(&last_of_user(request)?, shelf))
}

/// Starts the computation of the vectors for [`relevance`] if it takes longer than validation may wait. It runs while
/// the model answers.
pub(crate) fn prepare_relevance(turn: &Turn, offer: &Offer) {
    let shelf = &turn.snapshot.shelf;
    if shelf.embedder().is_some_and(|embedder| !embedder.is_immediate()) && offer.is_judged() {
        drop(relevance(&turn.request, offer, shelf, &turn.policy.scan));
    }
}

fn last_of_user(request: &ChatRequest) -> Option<String> {
    request.messages().iter().rev().find(|message| message.role == "user").and_then(said)
}

fn said(message: &MessageView<'_>) -> Option<String> {
    message.text.as_deref().map(str::to_owned)
}

#[cfg(test)]
mod shared_data_tests;

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn request(messages: &str) -> ChatRequest {
        ChatRequest::parse(Bytes::from(format!("{{\"messages\":{messages}}}"))).unwrap()
    }

    #[test]
    fn a_conversation_holds_what_was_said_to_the_model_and_the_calls_since_the_user_spoke() {
        let request = request(
            r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Ulm?"},
                {"role":"assistant","content":"I look.","tool_calls":[
                    {"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},
                {"role":"tool","tool_call_id":"a","content":"sunny"},
                {"role":"assistant","content":null,"function_call":{"name":"g","arguments":"{}"}},
                {"role":"function","name":"g","content":"warm"}]"#,
        );
        let known = KnownConversation::of(&request);
        let transcript = known.transcript();
        assert!(known.may_have_calls());
        assert_eq!(transcript.texts(), ["Be brief.", "Ulm?", "sunny", "warm"]);
        let calls: Vec<_> = transcript.rounds().iter().flatten().collect();
        assert_eq!((calls[0].arguments.as_str(), calls[0].result.as_deref()), (r#"{"x":1}"#, Some("sunny")));
        assert_eq!((calls[1].name.as_str(), calls[1].result.as_deref()), ("g", Some("warm")));
    }
}
