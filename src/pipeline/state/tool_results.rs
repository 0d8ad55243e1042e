//! The results of the client's calls in its conversation.

use std::collections::HashMap;

use callwright_types::Call;
use callwright_wire::{MessageView, ModelRequest};

/// A tool message, and the call that it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolResult {
    /// Index of the message in the conversation.
    pub(crate) place: usize,
    /// The call; for a message without a known call, the id and name in the message.
    pub(crate) call: Call,
    /// Text of the message.
    pub(crate) text: String,
    /// Number of user messages before it.
    pub(crate) request: usize,
    /// Whether the model has not answered since.
    pub(crate) is_new: bool,
}

/// Returns the non-empty tool messages of a conversation, in order.
pub(crate) fn tool_results(request: &ModelRequest) -> Vec<ToolResult> {
    let messages = request.messages();
    let last_answer = messages.iter().rposition(|message| message.role == "assistant");
    let mut calls = ResultCalls::default();
    let mut spoken = 0;
    let mut results = Vec::new();
    for (place, message) in messages.into_iter().enumerate() {
        match message.role.as_ref() {
            "user" => spoken += 1,
            "assistant" => calls.add(message),
            "tool" | "function" => {
                let call = calls.answered_by(&message);
                let is_new = last_answer.is_none_or(|last| last < place);
                let text = message.text.map(|text| text.into_owned()).filter(|text| !text.trim().is_empty());
                results.extend(text.map(|text| ToolResult { place, call, text, request: spoken, is_new }));
            }
            _ => {}
        }
    }
    results
}

/// The last call by id, or in the legacy form by tool name.
#[derive(Debug, Default)]
struct ResultCalls {
    by_id: HashMap<String, Call>,
    by_name: HashMap<String, Call>,
}

impl ResultCalls {
    fn add(&mut self, message: MessageView<'_>) {
        for call in message.calls.into_owned() {
            let (key, calls) = match call.id.is_empty() {
                false => (call.id.clone(), &mut self.by_id),
                true => (call.name.clone(), &mut self.by_name),
            };
            calls.insert(key, call);
        }
    }

    fn answered_by(&self, message: &MessageView<'_>) -> Call {
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        let name = message.name.as_deref().unwrap_or_default();
        match self.by_id.get(id).or_else(|| self.by_name.get(name)) {
            Some(known) => known.clone(),
            None => Call { id: id.to_owned(), name: name.to_owned(), arguments: String::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn results_are_read_with_their_calls_in_both_forms() {
        let text = r#"{"messages":[
            {"role":"user","content":"a"},
            {"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},
                {"id":"2","type":"function","function":{"name":"g","arguments":"{\"x\":1}"}}]},
            {"role":"tool","tool_call_id":"2","content":[{"type":"text","text":"two"}]},
            {"role":"tool","tool_call_id":"1","content":" "},
            {"role":"user","content":"b"},
            {"role":"assistant","function_call":{"name":"h","arguments":"{}"}},
            {"role":"function","name":"h","content":"three"},
            {"role":"tool","tool_call_id":"9","content":"four"}]}"#;
        let request =
            ModelRequest::parse(callwright_types::Protocol::Chat, Bytes::from_static(text.as_bytes())).unwrap();
        let found: Vec<_> = tool_results(&request)
            .into_iter()
            .map(|result| (result.place, result.call.name, result.text, result.request, result.is_new))
            .collect();
        let owned = |place, name: &str, text: &str, request, is_new| (place, name.into(), text.into(), request, is_new);
        let expected = [owned(2, "g", "two", 1, false), owned(6, "h", "three", 2, true), owned(7, "", "four", 2, true)];
        assert_eq!(found, expected);
    }
}
