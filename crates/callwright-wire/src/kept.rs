//! Parts of a completion that the client does not receive, and their reinsertion into the conversation.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::AssistantMessage;
use super::fields::ObjectFields;
use callwright_common::json::{RawObject, raw};
use callwright_types::Call;
use callwright_types::tool_names::call_id;

/// The proxy's part of a completion of which the client receives only its own calls: earlier messages between the
/// model and the proxy, the proxy's calls, and their results. Has a JSON form for the store.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeptPart {
    /// Messages of this turn that the client never received, in order.
    pub(crate) before: Vec<Box<RawValue>>,
    /// Calls of the completion, in the model's order.
    pub(crate) calls: Vec<KeptCall>,
    /// Results of the proxy's calls, by call id.
    results: BTreeMap<String, String>,
    /// Ids of the calls that the client received, in the order of its message.
    #[serde(skip)]
    sent: Vec<String>,
}

/// One call of the completion.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeptCall {
    /// Call that was sent to the client with this id.
    Client(String),
    /// Call of the proxy, as an element of a message.
    Proxy(Box<RawValue>),
}

impl KeptCall {
    /// Returns the id of a call of the client.
    pub(crate) fn client_id(&self) -> Option<&str> {
        match self {
            Self::Client(id) => Some(id),
            Self::Proxy(_) => None,
        }
    }

    /// Returns the element of a call of the proxy.
    pub(crate) fn element(&self) -> Option<&RawValue> {
        match self {
            Self::Client(_) => None,
            Self::Proxy(element) => Some(element),
        }
    }
}

impl KeptPart {
    /// Creates the difference between `whole` and `sent`, the message for the client, with the messages before it.
    /// Returns `None` if a later request could not be matched: the client receives no call, or one without an id, as
    /// in the legacy form.
    pub fn new(before: &[Arc<RawValue>], whole: &AssistantMessage, sent: &AssistantMessage) -> Option<Self> {
        let sent = ids_of(sent).filter(|ids| !ids.is_empty())?;
        let elements = whole.call_elements();
        if elements.iter().any(|(id, _)| id.is_empty()) {
            return None;
        }
        let is_sent: HashSet<&str> = sent.iter().map(String::as_str).collect();
        let calls = elements.into_iter().map(|(id, element)| match is_sent.contains(id.as_str()) {
            true => KeptCall::Client(id),
            false => KeptCall::Proxy(element),
        });
        let before = before.iter().map(|message| (**message).to_owned()).collect();
        Some(Self { before, calls: calls.collect(), results: BTreeMap::new(), sent })
    }

    /// Returns the ids of the calls that the client received, in the order of its message. Empty after
    /// deserialisation.
    pub fn sent(&self) -> &[String] {
        &self.sent
    }

    /// Returns the result of one of the proxy's calls, by call id.
    pub(crate) fn result<'a>(&'a self, id: &str, lost: &'a str) -> &'a str {
        self.results.get(id).map_or(lost, String::as_str)
    }

    /// Adds the result of one of the proxy's calls.
    pub fn add_result(&mut self, call: &Call, text: String) {
        self.results.insert(call.id.clone(), text);
    }

    /// Returns the approximate size of its texts in bytes.
    pub fn len(&self) -> usize {
        let calls = self.calls.iter().map(|call| match call {
            KeptCall::Client(id) => id.len(),
            KeptCall::Proxy(element) => element.get().len(),
        });
        let before = self.before.iter().map(|message| message.get().len());
        let results = self.results.iter().map(|(id, text)| id.len() + text.len());
        before.chain(calls).chain(results).sum()
    }

    /// Whether the client received everything.
    pub fn is_empty(&self) -> bool {
        self.before.is_empty() && self.calls.iter().all(|call| matches!(call, KeptCall::Client(_)))
    }

    /// Writes the client's message with the proxy's part reinserted: the earlier messages, all calls in the model's
    /// order (the client's as sent by the client, with its additional fields), and the results of the proxy's calls.
    /// A missing result becomes `lost`.
    pub(super) fn put_back(&self, message: &RawValue, lost: &str, out: &mut Vec<Box<RawValue>>) {
        out.extend(self.before.iter().cloned());
        let Ok(mut fields) = RawObject::parse(message.get()) else { return out.push(message.to_owned()) };
        let own: Vec<Box<RawValue>> = fields.get_as("tool_calls").unwrap_or_default();
        let own = own.iter().filter_map(|call| Some((call_id(&raw_id(call)?).into_owned(), &**call)));
        let own: HashMap<String, &RawValue> = own.collect();
        let calls = self.calls.iter().filter_map(|call| match call {
            KeptCall::Client(id) => own.get(call_id(id).as_ref()).copied(),
            KeptCall::Proxy(element) => Some(&**element),
        });
        let calls = raw(&calls.collect::<Vec<&RawValue>>());
        fields.set("tool_calls", calls);
        out.push(fields.to_raw());
        for call in &self.calls {
            let Some(id) = call.element().and_then(raw_id) else { continue };
            let content = self.result(&id, lost);
            out.push(raw(&json!({"role": "tool", "tool_call_id": id, "content": content})));
        }
    }
}

/// Returns the ids of a message's calls; `None` if one has none.
fn ids_of(message: &AssistantMessage) -> Option<Vec<String>> {
    message.call_elements().into_iter().map(|(id, _)| Some(id).filter(|id| !id.is_empty())).collect()
}

fn raw_id(call: &RawValue) -> Option<String> {
    ObjectFields::parse(call.get())?.string("id").map(Into::into)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::{Value, json};

    use super::*;
    use crate::{Completion, ModelRequest};

    fn message(value: &Value) -> AssistantMessage {
        let body = json!({"choices": [{"message": value}]}).to_string();
        Completion::parse(callwright_types::Protocol::Chat, body.into()).unwrap().choices()[0].message.clone()
    }

    fn element(id: &str, name: &str) -> Value {
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}})
    }

    fn part(whole: &[Value], sent: &[Value]) -> KeptPart {
        let of = |calls: &[Value]| message(&json!({"role": "assistant", "content": "x", "tool_calls": calls}));
        KeptPart::new(&[], &of(whole), &of(sent)).unwrap()
    }

    fn put_back(part: &KeptPart, messages: &Value, place: usize) -> Value {
        let stored: KeptPart = serde_json::from_str(&serde_json::to_string(part).unwrap()).unwrap();
        let body = json!({"model": "m", "messages": messages}).to_string();
        let mut request = ModelRequest::parse(callwright_types::Protocol::Chat, Bytes::from(body)).unwrap();
        request.rejoin(&BTreeMap::from([(place, stored)]), "lost");
        request.to_value()["messages"].clone()
    }

    #[test]
    fn calls_return_to_their_positions_with_all_unknown_fields() {
        let mut ours = element("ours", "g");
        ours["signature"] = json!("s");
        let mut kept = part(&[ours.clone(), element("mine", "f"), element("late", "h")], &[element("mine", "f")]);
        assert_eq!(kept.sent(), ["mine"]);
        kept.add_result(&Call { id: "ours".into(), name: "g".into(), arguments: "{}".into() }, "done".into());
        let mut mine = element("mine", "f");
        mine["extra"] = json!([1]);
        let answered = json!({"role": "tool", "tool_call_id": "mine", "content": "ok"});
        let history = json!([
            5,
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": null, "tool_calls": [mine], "reasoning": "r"},
            answered,
        ]);
        let whole = put_back(&kept, &history, 1);
        assert_eq!(
            whole,
            json!([
                5,
                {"role": "user", "content": "u"},
                {"role": "assistant", "content": null, "tool_calls": [ours, mine, element("late", "h")], "reasoning": "r"},
                {"role": "tool", "tool_call_id": "ours", "content": "done"},
                {"role": "tool", "tool_call_id": "late", "content": "lost"},
                answered,
            ])
        );
    }

    #[test]
    fn a_call_is_recognised_by_an_id_with_replaced_characters() {
        let mut kept =
            part(&[element("functions.g:0", "g"), element("functions.f:1", "f")], &[element("functions.f:1", "f")]);
        kept.add_result(&Call { id: "functions.g:0".into(), name: "g".into(), arguments: "{}".into() }, "done".into());
        let mine = element("functions_f_1", "f");
        let history = json!([{"role": "assistant", "tool_calls": [mine]}]);
        assert_eq!(put_back(&kept, &history, 0)[0]["tool_calls"], json!([element("functions.g:0", "g"), mine]));
    }

    #[test]
    fn what_came_before_is_put_before() {
        let call = message(&json!({"role": "assistant", "tool_calls": [element("mine", "f")]}));
        let before = [Arc::from(raw(&json!({"role": "user", "content": "hidden"})))];
        let kept = KeptPart::new(&before, &call, &call).unwrap();
        assert!(!kept.is_empty());
        let history = json!([{"role": "assistant", "tool_calls": [element("mine", "f")]}]);
        assert_eq!(
            put_back(&kept, &history, 0),
            json!([{"role": "user", "content": "hidden"}, {"role": "assistant", "tool_calls": [element("mine", "f")]}])
        );
        assert!(KeptPart::new(&[], &call, &call).unwrap().is_empty());
    }

    #[test]
    fn what_could_not_be_matched_later_is_not_kept() {
        let text = message(&json!({"role": "assistant", "content": "hi"}));
        let legacy = message(&json!({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}));
        let whole = message(&json!({"tool_calls": [element("a", "f")]}));
        assert!(KeptPart::new(&[], &whole, &text).is_none());
        assert!(KeptPart::new(&[], &whole, &legacy).is_none());
    }
}
