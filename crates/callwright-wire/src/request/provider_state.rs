//! State of a conversation that the provider keeps, in the Responses protocol.

use std::collections::{BTreeMap, HashSet};

use serde_json::value::RawValue;

use super::ModelRequest;
use crate::chat_message::{object_at, set_string};
use crate::fields::{ObjectFields, string_in};
use callwright_common::json::raw;
use callwright_types::Protocol;

/// Member of a request whose conversation the provider keeps, in Messages.
const THREAD: &str = "thread";

/// Types of the results of calls.
const FUNCTION_OUTPUT: &str = "function_call_output";
const CUSTOM_OUTPUT: &str = "custom_tool_call_output";

/// Member with the id of the response that the request continues.
const PREVIOUS: &str = "previous_response_id";

impl ModelRequest {
    /// Whether the provider keeps the response, so that a later request can continue it. This is the default.
    pub fn is_stored(&self) -> bool {
        self.is_responses() && self.fields.get_as("store").unwrap_or(true)
    }

    /// Whether the provider works in the background: its answer is only the id of a response without output.
    pub fn is_background(&self) -> bool {
        self.is_responses() && self.fields.get_as("background").unwrap_or(false)
    }

    /// Whether the provider appends each request and its answer to a conversation of its own: `conversation` of Responses,
    /// `thread` of Messages.
    pub fn has_provider_conversation(&self) -> bool {
        let member = match self.protocol {
            Protocol::Chat => return false,
            Protocol::Responses => "conversation",
            Protocol::Messages => THREAD,
        };
        self.fields.get(member).is_some()
    }

    /// Whether the provider keeps the calls of the answer under their ids, so that no call can be added to it: a `thread`
    /// of Messages.
    pub fn is_threaded(&self) -> bool {
        self.protocol == Protocol::Messages && self.fields.get(THREAD).is_some()
    }

    /// Returns the id of the response that the request continues.
    pub fn previous_response(&self) -> Option<String> {
        let id = self.fields.get(PREVIOUS).filter(|_| self.is_responses())?;
        string_in(id).map(Into::into)
    }

    /// Returns the call ids of results whose calls are not in the request, because the provider keeps them.
    pub fn results_without_calls(&self) -> Vec<String> {
        let continues = self.previous_response().is_some() || self.has_provider_conversation();
        if !self.is_responses() || !continues {
            return Vec::new();
        }
        let mut made = HashSet::new();
        let mut results = Vec::new();
        for item in self.fields.get_as::<Vec<&RawValue>>("input").unwrap_or_default() {
            match result_or_call(item) {
                Some(ResultOrCall::Call(id)) => drop(made.insert(id)),
                Some(ResultOrCall::Result(id)) => results.push(id),
                None => {}
            }
        }
        results.retain(|id| !made.contains(id));
        results
    }

    /// Continues another response.
    pub fn continue_from(&mut self, response: &str) {
        self.set(PREVIOUS, raw(response));
    }

    /// Inserts calls before their results, by call id.
    pub fn put_back_calls(&mut self, calls: &BTreeMap<String, Box<RawValue>>) {
        let items: Vec<&RawValue> = self.fields.get_as("input").unwrap_or_default();
        let mut whole: Vec<&RawValue> = Vec::with_capacity(items.len() + calls.len());
        for item in items {
            if let Some(ResultOrCall::Result(id)) = result_or_call(item) {
                whole.extend(calls.get(&id).map(|call| &**call));
            }
            whole.push(item);
        }
        let whole = raw(&whole);
        self.set("input", whole);
    }

    /// Sets the forms of results, by call id: whether the call that the provider keeps is one of a custom tool.
    pub fn set_result_forms(&mut self, custom: &BTreeMap<String, bool>) {
        let items: Vec<&RawValue> = self.fields.get_as("input").unwrap_or_default();
        let items = items.into_iter().map(|item| {
            let is_custom = match result_or_call(item) {
                Some(ResultOrCall::Result(id)) => custom.get(&id),
                _ => None,
            };
            let Some(is_custom) = is_custom else { return item.to_owned() };
            let mut result = object_at(Some(item));
            set_string(&mut result, "type", if *is_custom { CUSTOM_OUTPUT } else { FUNCTION_OUTPUT });
            result.to_raw()
        });
        let items: Vec<Box<RawValue>> = items.collect();
        self.set("input", raw(&items));
    }

    fn is_responses(&self) -> bool {
        self.protocol == Protocol::Responses
    }
}

enum ResultOrCall {
    Result(String),
    Call(String),
}

fn result_or_call(item: &RawValue) -> Option<ResultOrCall> {
    let fields = ObjectFields::parse(item.get())?;
    let kind = fields.string("type")?;
    let id = fields.string("call_id")?.into_owned();
    if kind.ends_with("_call_output") {
        Some(ResultOrCall::Result(id))
    } else if kind.ends_with("_call") {
        Some(ResultOrCall::Call(id))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(body: &serde_json::Value) -> ModelRequest {
        ModelRequest::parse(Protocol::Responses, body.to_string().into()).unwrap()
    }

    #[test]
    fn responses_are_stored_unless_the_client_declines() {
        assert!(request(&json!({})).is_stored() && !request(&json!({"store": false})).is_stored());
        assert!(request(&json!({"background": true})).is_background());
        assert!(request(&json!({"conversation": {"id": "conv_1"}})).has_provider_conversation());
        let thread = ModelRequest::parse(Protocol::Messages, "{\"thread\":{\"type\":\"create\"}}".into()).unwrap();
        assert!(thread.is_threaded() && thread.has_provider_conversation());
        let chat = ModelRequest::parse(Protocol::Chat, "{\"store\":true,\"background\":true}".into()).unwrap();
        assert!(!chat.is_stored() && !chat.is_background() && chat.previous_response().is_none());
    }

    #[test]
    fn a_call_is_put_back_before_its_result() {
        let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "x"});
        let own = json!({"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"});
        let body = json!({"previous_response_id": "resp_1", "input": [output("a"), own, output("b")]});
        let mut request = request(&body);
        assert_eq!(request.results_without_calls(), ["a"]);
        let call = json!({"type": "function_call", "call_id": "a", "name": "g", "arguments": "{}"});
        request.put_back_calls(&BTreeMap::from([("a".to_owned(), raw(&call))]));
        request.continue_from("resp_2");
        let sent = request.to_value();
        assert_eq!(sent["input"], json!([call, output("a"), own, output("b")]));
        assert_eq!(sent["previous_response_id"], "resp_2");
    }

    #[test]
    fn a_result_gets_the_type_of_the_provider_s_call() {
        let output = |kind: &str, id: &str| json!({"type": kind, "call_id": id, "output": "x"});
        let input = [output("custom_tool_call_output", "a"), output("custom_tool_call_output", "b")];
        let mut request = request(&json!({"previous_response_id": "resp_1", "input": input}));
        request.set_result_forms(&BTreeMap::from([("a".to_owned(), false)]));
        let expected = [output("function_call_output", "a"), output("custom_tool_call_output", "b")];
        assert_eq!(request.to_value()["input"], json!(expected));
    }

    #[test]
    fn a_request_with_its_whole_conversation_continues_nothing() {
        let output = json!({"type": "function_call_output", "call_id": "a", "output": "x"});
        assert!(request(&json!({"input": [output]})).results_without_calls().is_empty());
    }
}
