//! Edits of a request. Everything that an edit does not change keeps its bytes and its position.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use super::ModelRequest;
use crate::scanner::{Malformed, Scanned, Scanner};
use crate::{AssistantMessage, Completion, SentTool, ToolChoice, WrittenTool};
use callwright_common::json::{RawObject, raw};
use callwright_types::{Call, Protocol};

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
        tool.element(self.protocol, self.is_legacy(), |fields, legacy| self.form.write_tool(fields, legacy)).clone()
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
        self.edited |= !(self.additions.tools.is_empty() && tools.is_empty());
        self.additions.tools = tools;
        self.additions.replace_tools = replace;
    }

    /// Replaces the tool choice. `Auto`, which is the default, removes it.
    pub fn set_tool_choice(&mut self, choice: ToolChoice) {
        if self.tool_choice() == choice {
            return;
        }
        match self.form.new_tool_choice(&self.fields, &choice) {
            (key, Some(value)) => self.set(key, value),
            (key, None) => self.remove(key),
        }
    }

    /// Takes over the members of an answer that the request with its results must have: their ids, in an object of the
    /// client if it has sent one.
    pub fn carry(&mut self, answer: &Completion) {
        for key in self.form.carried() {
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
        self.form.push_assistant(&mut self.additions, message);
        self.edited = true;
    }

    /// Appends the result of a call: a `tool` message, or a `function` message if the call was made in the legacy
    /// form. `is_error` marks feedback on a call that was not executed or failed, in protocols that distinguish it.
    pub fn push_tool_result(&mut self, call: &Call, content: &str, is_error: bool) {
        self.form.push_result(&mut self.additions, call, content, is_error);
        self.edited = true;
    }

    /// Appends a user message.
    pub fn push_user(&mut self, text: &str) {
        self.form.push_user(&mut self.additions, text);
        self.edited = true;
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
        if self.protocol == Protocol::Chat {
            self.remove("store");
        }
    }

    /// Whether the request is a chat completion with `metadata`.
    pub fn has_chat_metadata(&self) -> bool {
        self.protocol == Protocol::Chat && self.fields.contains("metadata")
    }

    /// Removes `metadata` of a chat completion, which providers accept only with `store`.
    pub fn forget_metadata(&mut self) {
        if self.protocol == Protocol::Chat {
            self.remove("metadata");
        }
    }

    /// Whether the request was edited.
    pub fn is_edited(&self) -> bool {
        self.edited
    }

    /// Returns the body to send: the received bytes if nothing was edited.
    pub fn to_bytes(&self) -> Bytes {
        let mut body = Vec::new();
        // Writing parsed JSON cannot fail. The received bytes are the fallback.
        if self.edited && self.write(&mut body).is_ok() { body.into() } else { self.original.clone() }
    }

    /// Returns the request as a JSON value, for traces. JSON nested deeper than 128 levels becomes a string.
    pub fn to_value(&self) -> Value {
        crate::to_value(&self.to_bytes())
    }

    pub(super) fn set(&mut self, key: &str, value: Box<RawValue>) {
        Arc::make_mut(&mut self.fields).set(key, value);
        self.edited = true;
        if key == self.form.conversation_key() {
            (self.viewed, self.tool_words) = (OnceLock::new(), Arc::default());
        }
    }

    fn remove(&mut self, key: &str) {
        if self.fields.contains(key) {
            Arc::make_mut(&mut self.fields).remove(key);
            self.edited = true;
        }
    }

    /// Writes the current state: the client's fields in their order, and arrays with the appended items.
    fn write(&self, out: &mut Vec<u8>) -> Scanned<()> {
        let Self { fields, additions, .. } = self;
        let (form, conversation) = (self.form, self.form.conversation_key());
        let tools = if self.is_legacy() { "functions" } else { "tools" };
        let added: [(&str, &[Arc<RawValue>]); 2] = [(conversation, &additions.messages), (tools, &additions.tools)];
        let noted = (!additions.notes.is_empty()).then(|| form.with_notes(fields, &additions.notes));
        let mut separator = b'{';
        for (key, value) in fields.iter() {
            let value = noted.as_deref().filter(|_| key == conversation).map_or(value, RawValue::get);
            write_key(out, &mut separator, key)?;
            match added.iter().find(|(name, added)| *name == key && !added.is_empty()) {
                Some((_, added)) if key == conversation => write_array(out, &form.as_list(value), added)?,
                Some((_, added)) if additions.replace_tools => write_array(out, "null", added)?,
                Some((_, added)) => write_array(out, value, added)?,
                None => out.extend_from_slice(value.as_bytes()),
            }
        }
        for (key, added) in added.iter().filter(|(key, added)| !added.is_empty() && !fields.contains(key)) {
            write_key(out, &mut separator, key)?;
            write_array(out, "null", added)?;
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

/// Writes the items of an array, or of `null`, and the added ones, without white space between them.
fn write_array(out: &mut Vec<u8>, before: &str, added: &[Arc<RawValue>]) -> Scanned<()> {
    let start = out.len();
    let is_array = Scanner::new(before).array(|scanner| {
        write_item(out, start, scanner.value()?);
        Ok(())
    })?;
    if !is_array && before != "null" {
        return Err(Malformed);
    }
    added.iter().for_each(|item| write_item(out, start, item.get()));
    out.push(b']');
    Ok(())
}

/// Writes an item of an array that begins at `start`.
fn write_item(out: &mut Vec<u8>, start: usize, item: &str) {
    out.push(if out.len() == start { b'[' } else { b',' });
    out.extend_from_slice(item.as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::Completion;
    use callwright_common::json::RawObject;
    use callwright_types::tool::Owner;
    use callwright_types::{Tool, ToolKind};

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
    fn minted_ids_return_with_the_message_for_results_to_name() {
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
    fn tools_are_sent_in_order_and_the_clients_own_to_the_byte() {
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
    fn requests_of_the_proxy_are_not_stored() {
        let mut request = request(r#"{"stream":false,"store":true,"metadata":{}}"#);
        request.forget_storage();
        assert_eq!(request.to_bytes(), r#"{"stream":false,"metadata":{}}"#);
        assert!(request.has_chat_metadata());
        request.forget_metadata();
        assert_eq!(request.to_bytes(), r#"{"stream":false}"#);
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
