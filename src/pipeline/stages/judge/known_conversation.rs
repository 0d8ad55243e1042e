//! The conversation before an answer, for its validation.

use std::cell::OnceCell;

use callwright_judge::scanner::{Conversation, Transcript};
use callwright_openai::ChatRequest;
use callwright_types::Message;

/// The conversation of a request, parsed at first use.
#[derive(Debug)]
pub(super) struct KnownConversation<'a> {
    request: &'a ChatRequest,
    transcript: OnceCell<Transcript>,
}

impl<'a> KnownConversation<'a> {
    /// Creates the conversation of `request`.
    pub(super) fn of(request: &'a ChatRequest) -> Self {
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
