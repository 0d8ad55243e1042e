//! Edits of a request. Everything that an edit does not change keeps its bytes and its position.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{ModelRequest, notes};
use crate::fields::present;
use crate::parts::RequestForm;
use crate::scanner::{Malformed, Scanned, Scanner};
use crate::{AssistantMessage, Completion, SentTool, ToolChoice, WrittenTool};
use callwright_common::json::{RawObject, raw};
use callwright_types::Call;

impl ModelRequest {
    /// Replaces `model`.
    pub fn set_model(&mut self, model: &str) {
        if self.model != model {
            model.clone_into(&mut self.model);
            self.set("model", raw(model));
        }
    }

    /// Appends tools to the client's own (`functions` in a legacy request). Replaces tools of an earlier call.
    pub fn add_tools(&mut self, tools: &[Arc<WrittenTool>]) {
        let elements = tools.iter().map(|tool| self.element_of(tool)).collect();
        self.put_tools(elements, false);
    }

    /// Returns the element of a tool in the form of the request.
    fn element_of(&self, tool: &WrittenTool) -> Arc<RawValue> {
        match self.form {
            Some(form) => tool.element_of(self.protocol, |fields| form.write_tool(fields)).clone(),
            None => tool.element(self.is_legacy()).clone(),
        }
    }

    /// Sends exactly these tools in this order. If there are none, the members that control tool choice are removed
    /// too.
    pub fn send_tools(&mut self, tools: &[SentTool]) {
        let own = self.tool_elements();
        let elements = tools.iter().filter_map(|tool| match tool {
            SentTool::Own(place) => own.get(*place).map(|element| Arc::from((*element).to_owned())),
            SentTool::Added(tool) => Some(self.element_of(tool)),
        });
        let elements: Vec<Arc<RawValue>> = elements.collect();
        if elements.is_empty() {
            for key in ["tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"] {
                self.remove(key);
            }
        }
        self.put_tools(elements, true);
    }

    fn put_tools(&mut self, tools: Vec<Arc<RawValue>>, replace: bool) {
        let legacy = self.is_legacy();
        let target = if legacy { &mut self.additions.functions } else { &mut self.additions.tools };
        self.edited |= !(target.is_empty() && tools.is_empty());
        *target = tools;
        self.additions.replace_tools = replace;
    }

    /// Replaces `tool_choice` (`function_call` in a legacy request). `Auto`, which is the default, removes the field;
    /// so does a choice that the legacy form cannot express.
    pub fn set_tool_choice(&mut self, choice: ToolChoice) {
        if self.tool_choice() == choice {
            return;
        }
        if let Some(form) = self.form {
            form.set_tool_choice(Arc::make_mut(&mut self.fields).object_mut(), &choice);
            self.edited = true;
            return;
        }
        let (key, value) = if self.is_legacy() {
            ("function_call", choice.to_legacy_value())
        } else {
            ("tool_choice", choice.to_value())
        };
        match value {
            Some(value) => self.set(key, raw(&value)),
            None => self.remove(key),
        }
    }

    /// Takes over the members of an answer that the request with its results must have: their ids, in an object of the
    /// client if it has sent one.
    pub fn carry(&mut self, answer: &Completion) {
        for key in self.form.map_or(&[][..], |form| form.carried()) {
            let Some(id) = answer.id_in(key) else { continue };
            let value = match self.fields.get_as::<RawObject>(key) {
                Some(mut settings) => {
                    settings.set("id", raw(&id));
                    settings.to_raw()
                }
                None => raw(&id),
            };
            self.set(key, value);
        }
    }

    /// Appends the model's message unchanged, including unknown fields, reasoning and signatures.
    pub fn push_assistant(&mut self, message: &AssistantMessage) {
        if let Some(form) = self.form {
            form.push_assistant(&mut self.additions.messages, message);
            self.edited = true;
            return;
        }
        if !message.calls().is_empty() {
            self.additions.legacy_calls = Some(message.is_legacy());
        }
        if let Some(element) = message.chat_element() {
            self.push(element);
        }
    }

    /// Appends the result of a call: a `tool` message, or a `function` message if the call was made in the legacy
    /// form. `is_error` marks feedback on a call that was not executed or failed, in protocols that distinguish it.
    pub fn push_tool_result(&mut self, call: &Call, content: &str, is_error: bool) {
        if let Some(form) = self.form {
            form.push_result(&mut self.additions.messages, call, content, is_error);
            self.edited = true;
            return;
        }
        let legacy = self.additions.legacy_calls.unwrap_or_else(|| self.is_legacy());
        let message = if legacy {
            raw(&AddedMessage::Function { name: &call.name, content })
        } else {
            raw(&AddedMessage::Tool { tool_call_id: &call.id, content })
        };
        self.push(message);
    }

    /// Appends a user message.
    pub fn push_user(&mut self, text: &str) {
        if let Some(form) = self.form {
            form.push_user(&mut self.additions.messages, text);
            self.edited = true;
            return;
        }
        self.push(raw(&AddedMessage::User { content: text }));
    }

    /// Replaces `stream`. If it is false, `stream_options` is removed too, because upstreams reject it without
    /// streaming.
    pub fn set_stream(&mut self, stream: bool) {
        if self.stream != stream {
            self.stream = stream;
            self.set("stream", raw(&stream));
        }
        if !stream {
            self.remove("stream_options");
        }
    }

    /// Returns the request with `stream_options.include_usage`, for a usage chunk at the end of the stream.
    #[must_use]
    pub fn with_usage_chunk(&self) -> Self {
        let mut request = self.clone();
        let mut options: RawObject = self.fields.get_as("stream_options").unwrap_or_default();
        options.set("include_usage", raw(&true));
        request.set("stream_options", options.to_raw());
        request
    }

    /// Removes `store` of a chat completion, for the proxy's own requests. The answer to such a request in another
    /// protocol may become the client's answer, which it continues by its id.
    pub fn forget_storage(&mut self) {
        if self.form.is_none() {
            self.remove("store");
        }
    }

    /// Whether the request is a chat completion with `metadata`.
    pub fn has_chat_metadata(&self) -> bool {
        self.form.is_none() && self.fields.contains("metadata")
    }

    /// Removes `metadata` of a chat completion, which providers accept only with `store`.
    pub fn forget_metadata(&mut self) {
        if self.form.is_none() {
            self.remove("metadata");
        }
    }

    /// Whether the request was edited.
    pub fn is_edited(&self) -> bool {
        self.edited
    }

    /// Returns the body to send: the received bytes if nothing was edited.
    pub fn to_bytes(&self) -> Bytes {
        if !self.edited {
            return self.original.clone();
        }
        let mut body = Vec::with_capacity(self.original.len() + 256);
        let written = match self.form {
            Some(form) => serde_json::to_writer(&mut body, &EditedRequest { request: self, form }).is_ok(),
            None => self.write_chat(&mut body).is_ok(),
        };
        // Writing parsed JSON cannot fail. The received bytes are the fallback.
        if written { body.into() } else { self.original.clone() }
    }

    /// Returns the request as a JSON value, for traces. JSON nested deeper than 128 levels becomes a string.
    pub fn to_value(&self) -> Value {
        crate::to_value(&self.to_bytes())
    }

    pub(super) fn set(&mut self, key: &str, value: Box<RawValue>) {
        Arc::make_mut(&mut self.fields).set(key, value);
        self.edited = true;
        if matches!(key, "messages" | "input") {
            self.viewed = OnceLock::new();
            self.tool_words = Arc::default();
        }
    }

    fn remove(&mut self, key: &str) {
        if self.fields.contains(key) {
            Arc::make_mut(&mut self.fields).remove(key);
            self.edited = true;
        }
    }

    fn push(&mut self, message: Box<RawValue>) {
        self.additions.messages.push(message.into());
        self.edited = true;
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum AddedMessage<'a> {
    User { content: &'a str },
    Tool { tool_call_id: &'a str, content: &'a str },
    Function { name: &'a str, content: &'a str },
}

impl ModelRequest {
    /// Writes the current state of a chat completion: the client's fields in their order, and arrays with the appended
    /// items.
    fn write_chat(&self, out: &mut Vec<u8>) -> Scanned<()> {
        let ModelRequest { fields, additions, .. } = self;
        let messages = fields.get("messages").filter(|_| !additions.notes.is_empty());
        let noted = messages.and_then(|messages| notes::noted(messages, &additions.notes));
        let mut separator = b'{';
        for (key, value) in fields.iter() {
            let value = noted.as_deref().filter(|_| key == "messages").map_or(value, RawValue::get);
            write_key(out, &mut separator, key)?;
            match additions.of(key) {
                [] => out.extend_from_slice(value.as_bytes()),
                added => {
                    let before = Some(value).filter(|value| *value != "null" && !additions.replace(key));
                    write_array(out, before, added)?;
                }
            }
        }
        for (key, added) in additions.arrays() {
            if !added.is_empty() && !fields.contains(key) {
                write_key(out, &mut separator, key)?;
                write_array(out, None, added)?;
            }
        }
        if separator == b'{' {
            out.push(separator);
        }
        out.push(b'}');
        Ok(())
    }
}

fn write_key(out: &mut Vec<u8>, separator: &mut u8, key: &str) -> Scanned<()> {
    out.push(std::mem::replace(separator, b','));
    serde_json::to_writer(&mut *out, key).map_err(|_| Malformed)?;
    out.push(b':');
    Ok(())
}

/// Writes the items of an array and the added ones, without white space between them.
fn write_array(out: &mut Vec<u8>, before: Option<&str>, added: &[Arc<RawValue>]) -> Scanned<()> {
    let start = out.len();
    if let Some(before) = before {
        let is_array = Scanner::new(before).array(|scanner| {
            write_item(out, start, scanner.value()?);
            Ok(())
        })?;
        if !is_array {
            return Err(Malformed);
        }
    }
    added.iter().for_each(|item| write_item(out, start, item.get()));
    if out.len() == start {
        out.push(b'[');
    }
    out.push(b']');
    Ok(())
}

/// Writes an item of an array that begins at `start`.
fn write_item(out: &mut Vec<u8>, start: usize, item: &str) {
    out.push(if out.len() == start { b'[' } else { b',' });
    out.extend_from_slice(item.as_bytes());
}

/// Serialises the current state of a request in a protocol with this form.
struct EditedRequest<'a> {
    request: &'a ModelRequest,
    form: &'a dyn RequestForm,
}

impl Serialize for EditedRequest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ModelRequest { fields, additions, .. } = self.request;
        let fields = fields.object();
        let mut map = serializer.serialize_map(None)?;
        let key = self.form.conversation_key();
        let conversation = conversation(self.request, self.form);
        for (name, value) in fields.iter() {
            match conversation.as_deref().filter(|_| name == key) {
                Some(conversation) => map.serialize_entry(name, conversation)?,
                None if name == "tools" && !additions.tools.is_empty() => {
                    let before = Some(value).filter(|_| !additions.replace_tools);
                    map.serialize_entry(name, &joined::<S::Error>(before, &additions.tools)?)?;
                }
                None => map.serialize_entry(name, value)?,
            }
        }
        if let Some(conversation) = conversation.filter(|_| !fields.contains(key)) {
            map.serialize_entry(key, &conversation)?;
        }
        if !additions.tools.is_empty() && !fields.contains("tools") {
            map.serialize_entry("tools", &additions.tools.iter().map(|tool| &**tool).collect::<Vec<_>>())?;
        }
        map.end()
    }
}

/// Returns the conversation with notes and appended elements; `None` if it is unchanged.
fn conversation(request: &ModelRequest, form: &dyn RequestForm) -> Option<Box<RawValue>> {
    let ModelRequest { fields, additions, .. } = request;
    let fields = fields.object();
    let noted = (!additions.notes.is_empty()).then(|| form.with_notes(fields, &additions.notes));
    if additions.messages.is_empty() {
        return noted;
    }
    let mut elements = match &noted {
        Some(noted) => serde_json::from_str(noted.get()).unwrap_or_default(),
        None => form.elements(fields),
    };
    elements.extend(additions.messages.iter().map(|element| (**element).to_owned()));
    Some(raw(&elements))
}

fn joined<'a, E: Error>(array: Option<&'a RawValue>, added: &'a [Arc<RawValue>]) -> Result<Vec<&'a RawValue>, E> {
    let mut items: Vec<&RawValue> = match present(array) {
        Some(array) => serde_json::from_str(array.get()).map_err(E::custom)?,
        None => Vec::new(),
    };
    items.extend(added.iter().map(|item| &**item));
    Ok(items)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::Completion;
    use callwright_common::json::RawObject;
    use callwright_types::tool::Owner;
    use callwright_types::{Protocol, Tool, ToolKind};

    fn request(text: &str) -> ModelRequest {
        ModelRequest::parse(Protocol::Chat, Bytes::copy_from_slice(text.as_bytes())).unwrap()
    }

    fn tool(name: &str) -> Arc<WrittenTool> {
        let parameters = Arc::new(json!({"type": "object"}));
        let tool = Tool {
            name: name.into(),
            description: String::new(),
            parameters: parameters.clone(),
            kind: ToolKind::Function,
            reads: None,
            owner: Owner::Client,
            namespace: None,
        };
        Arc::new(WrittenTool::new(Arc::new(tool), parameters, false))
    }

    fn call(id: &str) -> Call {
        Call { id: id.into(), name: "f".into(), arguments: "{}".into() }
    }

    fn message(text: &str) -> AssistantMessage {
        let body = format!(r#"{{"choices":[{{"message":{text}}}]}}"#);
        Completion::parse(Protocol::Chat, body.into()).unwrap().choices()[0].message.clone()
    }

    #[test]
    fn an_edit_leaves_every_other_field_its_text_and_place() {
        let mut request =
            request(r#"{"temperature": 1.50, "model":"alias","messages":[ {"role" : "user"} ],"x":1E2,"y":null}"#);
        request.set_model("real");
        assert_eq!(
            request.to_bytes(),
            r#"{"temperature":1.50,"model":"real","messages":[ {"role" : "user"} ],"x":1E2,"y":null}"#
        );
    }

    #[test]
    fn edits_that_change_nothing_are_no_edits() {
        let text = r#"{"model":"m", "stream":false,"tool_choice":"auto"}"#;
        let mut request = request(text);
        request.set_model("m");
        request.set_stream(false);
        request.set_tool_choice(ToolChoice::Auto);
        request.add_tools(&[]);
        request.forget_storage();
        assert!(!request.is_edited());
        assert_eq!(request.to_bytes(), text);
    }

    #[test]
    fn messages_are_appended_behind_the_untouched_ones() {
        let mut request = request(r#"{"messages":[{"role":"user","content":null, "n":1.0}, {"role":"x"}],"k":1}"#);
        request.push_assistant(&message(r#"{"role":"assistant","content":null,"reasoning":"r","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"signature":"s"}}]}"#));
        request.push_tool_result(&call("a"), "no \"such\" tool", true);
        request.push_user("again");
        assert_eq!(
            request.to_bytes(),
            concat!(
                r#"{"messages":[{"role":"user","content":null, "n":1.0},{"role":"x"},"#,
                r#"{"role":"assistant","content":null,"reasoning":"r","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"signature":"s"}}]},"#,
                r#"{"role":"tool","tool_call_id":"a","content":"no \"such\" tool"},{"role":"user","content":"again"}],"k":1}"#
            )
        );
        assert_eq!(request.messages().len(), 5);
    }

    #[test]
    fn minted_ids_go_back_with_the_message_so_that_results_can_name_them() {
        let mut request = request(r#"{"messages":[]}"#);
        let message = message(r#"{"tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]}"#);
        request.push_assistant(&message);
        request.push_tool_result(&message.calls()[0], "done", false);
        let value = request.to_value();
        assert_eq!(value["messages"][0]["role"], "assistant");
        assert_eq!(value["messages"][0]["tool_calls"][0]["id"], value["messages"][1]["tool_call_id"]);
        assert_eq!(value["messages"][1]["tool_call_id"], message.calls()[0].id);
    }

    #[test]
    fn results_of_legacy_calls_are_function_messages() {
        let mut request = request(r#"{"functions":[{"name":"f"}],"messages":[]}"#);
        request.push_assistant(&message(
            r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}"#,
        ));
        request.push_tool_result(&call("ignored"), "done", false);
        request.add_tools(&[tool("g")]);
        request.set_tool_choice(ToolChoice::Named("g".into()));
        let value = request.to_value();
        assert_eq!(value["messages"][1], json!({"role": "function", "name": "f", "content": "done"}));
        assert_eq!(value["functions"][1], json!({"name": "g", "parameters": {"type": "object"}}));
        assert_eq!(value["function_call"], json!({"name": "g"}));
        assert_eq!(value.get("tools"), None);
    }

    #[test]
    fn tools_are_added_behind_the_clients_or_as_a_new_field() {
        let mut with = request(r#"{"tools":[{"type":"function", "function":{"name":"f"}}]}"#);
        with.add_tools(&[tool("g")]);
        assert_eq!(with.to_value()["tools"][1]["function"]["name"], "g");
        assert_eq!(with.client_tools().len(), 1, "the client's own tools stay what they were");
        for text in ["{}", r#"{"tools":null}"#, r#"{"tools":[]}"#] {
            let mut without = request(text);
            without.add_tools(&[tool("g"), tool("h")]);
            let names = without.to_value()["tools"].as_array().map(Vec::len);
            assert_eq!(names, Some(2), "{text}");
        }
    }

    #[test]
    fn tools_that_are_added_again_take_the_place_of_those_before() {
        let mut request = request(r#"{"tools":[{"type":"function", "function":{"name":"f"}}]}"#);
        request.add_tools(&[tool("g")]);
        request.add_tools(&[tool("g"), tool("h")]);
        let text = String::from_utf8(request.to_bytes().to_vec()).unwrap();
        assert!(text.starts_with(r#"{"tools":[{"type":"function", "function":{"name":"f"}},"#), "{text}");
        let names: Vec<_> = request.to_value()["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["function"]["name"].clone())
            .collect();
        assert_eq!(names, ["f", "g", "h"]);
    }

    #[test]
    fn tools_are_sent_in_the_order_given_the_clients_own_to_the_byte() {
        let mut request = request(r#"{"tools":[{"a": 1.0},{"b":2},{"c" :3}],"tool_choice":"auto","x":1}"#);
        request.send_tools(&[SentTool::Own(2), SentTool::Added(tool("g")), SentTool::Own(0), SentTool::Own(9)]);
        let text = String::from_utf8(request.to_bytes().to_vec()).unwrap();
        let added = tool("g").text().to_owned();
        assert_eq!(text, format!(r#"{{"tools":[{{"c" :3}},{added},{{"a": 1.0}}],"tool_choice":"auto","x":1}}"#));
        request.send_tools(&[]);
        assert_eq!(request.to_bytes(), r#"{"x":1}"#);
    }

    #[test]
    fn auto_removes_the_choice_and_others_replace_it() {
        let mut request = request(r#"{"tool_choice":"required","tools":[]}"#);
        request.set_tool_choice(ToolChoice::Auto);
        assert_eq!(request.to_bytes(), r#"{"tools":[]}"#);
        request.set_tool_choice(ToolChoice::None);
        assert_eq!(request.to_bytes(), r#"{"tools":[],"tool_choice":"none"}"#);
    }

    #[test]
    fn a_request_that_no_longer_streams_has_no_stream_options() {
        let mut request =
            request(r#"{"stream":true,"stream_options":{"include_usage":true},"store":true,"metadata":{}}"#);
        request.set_stream(false);
        request.forget_storage();
        assert_eq!(request.to_bytes(), r#"{"stream":false,"metadata":{}}"#);
        assert!(request.has_chat_metadata());
        request.forget_metadata();
        assert_eq!(request.to_bytes(), r#"{"stream":false}"#);
        assert!(!request.is_stream());
    }

    fn field() -> impl Strategy<Value = (String, String)> {
        let key = prop_oneof![
            "x[a-z_é]{1,5}",
            Just("model".to_owned()),
            Just("temperature".to_owned()),
            Just("store".to_owned())
        ];
        let value = prop_oneof![
            Just("null".to_owned()),
            Just("\"\"".to_owned()),
            Just("-0.0".to_owned()),
            Just("1.50E+2".to_owned()),
            Just("123456789012345678901234567890".to_owned()),
            Just("[ 1 , {\"a\" : null,\"a\":2} ]".to_owned()),
            Just("\"\\u0041\\/\"".to_owned()),
        ];
        (key, value)
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: prop::test_runner::RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn edits_keep_every_other_field_in_order_and_to_the_byte(fields in prop::collection::vec(field(), 0..8)) {
            let fields: Vec<_> = fields.into_iter().filter(|(key, value)| key != "model" || value.starts_with('"')).collect();
            let members: Vec<String> = fields.iter().map(|(key, value)| format!("\"{key}\" : {value}")).collect();
            let mut edited = request(&format!("{{ {} }}", members.join(" ,\n")));
            prop_assert_eq!(edited.to_bytes(), edited.original.clone());
            edited.set_model("chosen");
            edited.push_user("hello");
            edited.forget_storage();
            let written = RawObject::parse_bytes(&edited.to_bytes()).unwrap();
            let others = |key: &str| !matches!(key, "model" | "messages" | "store");
            let expected: Vec<_> = fields.iter().map(|(key, value)| (key.as_str(), value.as_str())).filter(|(key, _)| others(key)).collect();
            let kept: Vec<_> = written.iter().map(|(key, value)| (key, value.get())).filter(|(key, _)| others(key)).collect();
            prop_assert_eq!(kept, expected);
            let read_back = ModelRequest::parse(Protocol::Chat, edited.to_bytes()).unwrap();
            prop_assert_eq!(read_back.model(), "chosen");
        }
    }
}
