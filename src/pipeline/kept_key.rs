//! The lookup key of a kept part: the owner of the conversation, the ids of the client's calls, and the messages before
//! them. Ids alone are ambiguous, because some providers number calls from 0 in every conversation.

use std::borrow::Cow;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::services::Pipeline;
use crate::keys::Caller;
use callwright_common::digest::{self, add_part, hex, of_parts};
use callwright_store::{KeptRow, StoreError};
use callwright_types::tool_names;
use callwright_wire::MessageView;

/// Returns the client's key from its header field: `authorization`, `api-key` or Anthropic's `x-api-key`.
pub(crate) fn client_key(headers: &HeaderMap) -> Option<&HeaderValue> {
    headers.get(AUTHORIZATION).or_else(|| headers.get("api-key")).or_else(|| headers.get("x-api-key"))
}

/// Returns the owner of a conversation: the id of the virtual key, which survives rotation of its secret; else the hash
/// of the client's own key. All clients without a key share one owner.
pub fn tenant(caller: &Caller, headers: &HeaderMap) -> String {
    tenant_of(caller, client_key(headers))
}

/// Returns the owner from the client's own key.
pub(crate) fn tenant_of(caller: &Caller, own: Option<&HeaderValue>) -> String {
    match caller {
        Some(known) => known.key().id.clone(),
        None => digest::tenant(own.map(HeaderValue::as_bytes).unwrap_or_default()),
    }
}

/// Returns a hash of the ids of a message's calls, in order, in the form that clients keep.
pub(crate) fn calls<'a>(ids: impl IntoIterator<Item = &'a str>) -> String {
    of_parts(ids.into_iter().map(|id| tool_names::call_id(id).into_owned()))
}

/// Stores turn state under a key that is independent of the messages.
pub(crate) async fn keep(
    pipeline: &Pipeline,
    tenant: &str,
    turn: String,
    calls: String,
    state: &impl Serialize,
) -> Result<(), StoreError> {
    let document = serde_json::to_string(state).map_err(|error| StoreError::Refused(error.to_string()))?;
    let (context, history) = (String::new(), String::new());
    pipeline.store.keep_part(&KeptRow { turn, tenant: tenant.to_owned(), calls, context, history, document }).await
}

/// Hashes of the messages before a given message.
#[derive(Debug, Clone)]
pub(crate) struct MessageHashes {
    context: Sha256,
    history: Sha256,
}

impl MessageHashes {
    /// Returns the state at the beginning of a conversation.
    pub(crate) fn nothing() -> Self {
        Self { context: Sha256::new(), history: Sha256::new() }
    }

    /// Adds a message. System messages are skipped, because applications write the time into them.
    pub(crate) fn add(&mut self, message: &MessageView<'_>) {
        if matches!(message.role.as_ref(), "system" | "developer") {
            return;
        }
        let text = message.text.as_deref().unwrap_or_default();
        if message.role == "user" {
            self.context = Sha256::new();
            add_part(&mut self.context, text.as_bytes());
        }
        add_part(&mut self.history, text.as_bytes());
        let answered = tool_names::call_id(message.tool_call_id.as_deref().unwrap_or_default());
        let calls = message.calls.iter().map(|call| tool_names::call_id(&call.id));
        for part in [Cow::Borrowed(message.role.as_ref()), answered].into_iter().chain(calls) {
            // `context` omits the texts of answers and tool results, because applications shorten them.
            add_part(&mut self.context, part.as_bytes());
            add_part(&mut self.history, part.as_bytes());
        }
        for hash in [&mut self.context, &mut self.history] {
            hash.update([u8::MAX]);
        }
    }

    /// Returns the hash of the messages since the last user message.
    pub(crate) fn context(&self) -> String {
        hex(&self.context.clone().finalize())
    }

    /// Returns the hash of all messages.
    pub(crate) fn history(&self) -> String {
        hex(&self.history.clone().finalize())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use callwright_wire::ModelRequest;

    fn said(messages: &str) -> (String, String) {
        let request =
            ModelRequest::parse(callwright_types::Protocol::Chat, Bytes::from(format!("{{\"messages\":{messages}}}")))
                .unwrap();
        let mut said = MessageHashes::nothing();
        request.messages().iter().for_each(|message| said.add(message));
        (said.context(), said.history())
    }

    #[test]
    fn a_conversation_is_recognised_after_changes_of_its_messages() {
        let messages = |system: &str, result: &str| {
            format!(
                r#"[{{"role":"system","content":"{system}"}},{{"role":"user","content":"Ulm?"}},
                    {{"role":"assistant","content":null,"tool_calls":[{{"id":"a","type":"function","function":{{"name":"f"}}}}]}},
                    {{"role":"tool","tool_call_id":"a","content":"{result}"}}]"#
            )
        };
        let (context, history) = said(&messages("It is noon.", "a long result"));
        assert_eq!(said(&messages("It is one.", "a long result")), (context.clone(), history.clone()));
        let shortened = said(&messages("It is one.", "[cut]"));
        assert_eq!(shortened.0, context);
        assert_ne!(shortened.1, history);
    }

    #[test]
    fn another_request_or_another_step_is_another_context() {
        let first = said(r#"[{"role":"user","content":"Ulm?"}]"#).0;
        assert_ne!(first, said(r#"[{"role":"user","content":"Bonn?"}]"#).0);
        assert_ne!(first, said(r#"[{"role":"user","content":"Ulm?"},{"role":"assistant","content":"?"}]"#).0);
        assert_eq!(first, said(r#"[{"role":"user","content":"Hi"},{"role":"user","content":"Ulm?"}]"#).0);
    }

    #[test]
    fn ids_count_in_their_order_and_borders() {
        assert_eq!(calls(["a", "b"]), calls(["a", "b"]));
        assert_ne!(calls(["a", "b"]), calls(["b", "a"]));
        assert_ne!(calls(["a", "b"]), calls(["ab"]));
        assert_eq!(calls(["functions.f:1"]), calls(["functions_f_1"]), "a client replaces characters");
    }

    #[test]
    fn tenants_are_told_apart_by_their_keys_which_cannot_be_read() {
        let with =
            |name: &'static str, key: &str| HeaderMap::from_iter([(name.parse().unwrap(), key.parse().unwrap())]);
        let one = tenant(&None, &with("authorization", "Bearer sk-1"));
        assert_ne!(one, tenant(&None, &with("authorization", "Bearer sk-2")));
        assert_ne!(one, tenant(&None, &HeaderMap::new()));
        assert!(!one.contains("sk-1"));
        assert_ne!(tenant(&None, &with("api-key", "k")), tenant(&None, &HeaderMap::new()));
    }
}
