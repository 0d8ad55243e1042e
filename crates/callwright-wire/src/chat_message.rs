//! Assistant message of a chat completion.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::AnswerError;
use super::content::{part_text, text_of, with_text};
use super::fields::{LazyObject, ObjectFields, object, present, string};
use super::message_calls::{CallElement, CallList, FunctionCall, MAX_CALLS};
use super::parts::MessageContent;
use super::scanner::{Malformed, Scanned, Scanner};
use callwright_common::json::{RawObject, raw};
use callwright_types::{Call, ids};

/// Assistant message of a chat completion. Fields that are unknown to the proxy (reasoning, signatures, citations) are
/// kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChatMessage {
    fields: LazyObject,
    size: usize,
    text: Option<String>,
    /// `refusal`, if it is not blank.
    refusal: Option<String>,
    /// Whether the message may have reasoning, audio or an image: the content is neither a string nor absent, or a member
    /// for these is present.
    has_more: bool,
    /// Elements of `tool_calls`, in order.
    elements: Vec<CallElement>,
    calls: Vec<Call>,
    legacy: bool,
    irregular: bool,
}

impl ChatMessage {
    /// Returns the non-null members whose key satisfies `is_wanted`.
    pub(super) fn members_with(&self, is_wanted: fn(&str) -> bool) -> RawObject {
        let wanted = self.fields().iter().filter(|(key, value)| is_wanted(key) && present(Some(value)).is_some());
        wanted.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    /// Parses a message object.
    pub(super) fn read(fields: RawObject) -> Result<Self, AnswerError> {
        let text = fields.to_raw();
        let body = Bytes::copy_from_slice(text.get().as_bytes());
        match Self::scan(&mut Scanner::new(text.get()), &body) {
            Ok(message) => message.map(|message| Self { fields: fields.into(), ..message }),
            Err(Malformed) => Err(AnswerError::new("the message is not a JSON object")),
        }
    }

    /// Reads a message in place; any other value is an empty message. `body` contains the scanner's text.
    pub(super) fn scan(scanner: &mut Scanner<'_>, body: &Bytes) -> Scanned<Result<Self, AnswerError>> {
        let start = scanner.start_of_value();
        let mut message = Self::default();
        let mut list = CallList::default();
        let mut legacy_call = None;
        let is_object = scanner.object(|scanner, key| {
            let start_of_member = scanner.start_of_value();
            match key.as_ref() {
                "content" => message.scan_content(scanner)?,
                "refusal" => {
                    let refusal = scanner.string()?.filter(|refusal| !refusal.trim().is_empty());
                    message.refusal = refusal.map(Cow::into_owned);
                }
                "tool_calls" => list = CallList::scan(scanner)?,
                "function_call" => legacy_call = FunctionCall::scan(scanner)?,
                other => message.has_more |= scanner.value()? != "null" && is_beside_text(other),
            }
            message.size += key.len() + scanner.position() - start_of_member;
            Ok(())
        })?;
        if !is_object {
            return Ok(Ok(Self::default()));
        }
        if list.is_too_long {
            return Ok(Err(AnswerError::new(format!("a message has more than {MAX_CALLS} calls"))));
        }
        message.fields = LazyObject::of_text(body.slice(start..scanner.position()));
        (message.elements, message.calls, message.irregular) = (list.elements, list.calls, list.irregular);
        if let (true, Some(call)) = (message.elements.is_empty(), legacy_call) {
            message.legacy = true;
            message.irregular |= !call.is_well_formed();
            message.calls.push(call.with_id(ids::call_id()));
        }
        Ok(Ok(message))
    }

    fn scan_content(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        if scanner.peek() == Some(b'"') {
            self.text = scanner.string()?.map(Cow::into_owned);
            return Ok(());
        }
        let content = scanner.value()?;
        self.has_more |= content != "null";
        let content: Option<&RawValue> = serde_json::from_str(content).ok();
        self.text = content.and_then(|content| text_of(content, "")).map(Cow::into_owned);
        Ok(())
    }

    /// Replaces the elements of `tool_calls`. Returns whether the message could be read again.
    fn replace_elements(&mut self, elements: &[RawObject]) -> bool {
        let mut fields = self.fields().clone();
        fields.set("tool_calls", raw(elements));
        let read = Self::read(fields).ok();
        let is_read = read.is_some();
        *self = read.unwrap_or_else(|| self.clone());
        is_read
    }

    pub(super) fn fields(&self) -> &RawObject {
        self.fields.members()
    }

    /// Returns the elements of `tool_calls`, well-formed; unjudged elements are unchanged.
    pub(super) fn call_objects(&self) -> Vec<RawObject> {
        let rewritten = self.rewritten(&self.calls);
        rewritten.as_ref().unwrap_or_else(|| self.fields()).get_as("tool_calls").unwrap_or_default()
    }

    /// Returns the object with these calls; `None` if it already has exactly these, well-formed.
    fn rewritten(&self, calls: &[Call]) -> Option<RawObject> {
        if !self.irregular && calls == self.calls {
            return None;
        }
        let mut fields = self.fields().clone();
        if self.legacy {
            match calls.first() {
                Some(call) => {
                    let function = object_at(fields.get("function_call"));
                    fields.set("function_call", with_call(function, call).to_raw());
                }
                None => {
                    fields.remove("function_call");
                }
            }
            return Some(fields);
        }
        let elements = self.rewritten_elements(calls);
        if elements.is_empty() {
            fields.remove("tool_calls");
        } else {
            fields.set("tool_calls", raw(&elements));
        }
        Some(fields)
    }

    /// Returns the elements of `tool_calls`, which may be one call in place of a list.
    fn present_elements(&self) -> Vec<Box<RawValue>> {
        let Some(calls) = self.fields().get("tool_calls") else { return Vec::new() };
        match calls.get().starts_with('{') {
            true => vec![calls.to_owned()],
            false => serde_json::from_str(calls.get()).unwrap_or_default(),
        }
    }

    /// Writes the calls in their order. Unjudged elements stay before the judged calls that they preceded.
    fn rewritten_elements(&self, calls: &[Call]) -> Vec<Box<RawValue>> {
        let present = self.present_elements();
        let mut own: HashMap<&str, usize> = HashMap::new();
        for (at, kind) in self.elements.iter().enumerate() {
            if let CallElement::Judged(index) = kind
                && let Some(call) = self.calls.get(*index)
            {
                own.insert(&call.id, at);
            }
        }
        let mut written = Vec::with_capacity(calls.len());
        let mut at = 0;
        for call in calls {
            let place = own.get(call.id.as_str()).copied();
            if let Some(place) = place.filter(|place| *place > at) {
                written.extend(self.unjudged_in(at..place, &present));
                at = place;
            }
            let element = place.and_then(|place| present.get(place)).map(|element| object_at(Some(element)));
            let mut element = element.unwrap_or_default();
            // Some servers add stream indexes to the calls of a complete response.
            if element.get_as::<usize>("index").is_some_and(|index| index != written.len()) {
                element.set("index", raw(&written.len()));
            }
            written.push(with_tool_call(element, call));
        }
        written.extend(self.unjudged_in(at..self.elements.len(), &present));
        written
    }

    /// Returns the unjudged elements in a range of `present`, the array of the elements.
    fn unjudged_in(&self, range: Range<usize>, present: &[Box<RawValue>]) -> impl Iterator<Item = Box<RawValue>> {
        let elements = self.elements.iter().zip(present).skip(range.start).take(range.len());
        elements.filter(|(kind, _)| **kind == CallElement::Unjudged).map(|(_, element)| element.clone())
    }
}

impl MessageContent for ChatMessage {
    fn text(&self) -> Option<String> {
        self.text.clone()
    }

    fn size(&self) -> usize {
        self.size
    }

    fn refusal(&self) -> Option<String> {
        self.refusal.clone()
    }

    fn reasoning(&self) -> Option<String> {
        reasoning_of(self)
    }

    fn is_only_text(&self) -> bool {
        is_only_text(self)
    }

    fn calls(&self) -> &[Call] {
        &self.calls
    }

    fn has_unjudged_calls(&self) -> bool {
        self.elements.contains(&CallElement::Unjudged)
    }

    fn unjudged_calls(&self) -> Vec<Call> {
        if !self.has_unjudged_calls() {
            return Vec::new();
        }
        let elements = self.present_elements();
        let unjudged = self.unjudged_in(0..self.elements.len(), &elements);
        unjudged.filter_map(|element| read_unjudged(&ObjectFields::parse(element.get())?)).collect()
    }

    fn is_legacy(&self) -> bool {
        self.legacy
    }

    fn is_well_formed(&self) -> bool {
        !self.irregular
    }

    fn other_members(&self) -> RawObject {
        self.members_with(|key| !matches!(key, "role" | "content" | "tool_calls" | "function_call"))
    }

    fn opaque_members(&self) -> RawObject {
        self.members_with(is_opaque)
    }

    /// Returns the message with its role, and with well-formed calls (including generated ids).
    fn chat_element(&self) -> Option<Box<RawValue>> {
        let mut fields = match self.rewritten(&self.calls) {
            Some(rewritten) => Cow::Owned(rewritten),
            None => Cow::Borrowed(self.fields()),
        };
        if present(fields.get("role")).is_none() {
            fields.to_mut().set("role", raw("assistant"));
        }
        Some(fields.to_raw())
    }

    fn call_elements(&self) -> Vec<(String, Box<RawValue>)> {
        let elements = self.call_objects().into_iter();
        elements
            .map(|element| {
                let id = element.get("id").and_then(string).map(Cow::into_owned).unwrap_or_default();
                (id, element.to_raw())
            })
            .collect()
    }

    fn set_calls(&mut self, calls: &[Call]) -> bool {
        let Some(fields) = self.rewritten(calls) else { return false };
        let Ok(mut message) = Self::read(fields) else { return false };
        if let (true, Some(own), Some(given)) = (message.legacy, message.calls.first_mut(), calls.first()) {
            // The legacy form has no id.
            own.id.clone_from(&given.id);
        }
        *self = message;
        true
    }

    fn adopt_custom_calls(&mut self, is_function: &dyn Fn(&Call) -> bool) -> Vec<String> {
        // Nearly no message has any, and the calls are read once more for them.
        if !self.has_unjudged_calls() {
            return Vec::new();
        }
        let mut adopted = Vec::new();
        let mut elements: Vec<RawObject> = self.fields().get_as("tool_calls").unwrap_or_default();
        for element in &mut elements {
            if element.get("type").and_then(string).as_deref() != Some(CUSTOM) {
                continue;
            }
            let call = ObjectFields::parse(element.to_raw().get()).and_then(|element| read_unjudged(&element));
            let Some(call) = call.filter(|call| is_function(call)) else { continue };
            element.remove(CUSTOM);
            element.remove("type");
            *element = object_at(Some(&with_tool_call(std::mem::take(element), &call)));
            adopted.push(call.id);
        }
        if !adopted.is_empty() && self.replace_elements(&elements) {
            self.irregular = true;
        }
        adopted
    }

    fn make_custom(&mut self, id: &str, input: &str) -> bool {
        let Some(call) = self.calls.iter().find(|call| call.id == id).filter(|_| !self.legacy).cloned() else {
            return false;
        };
        let mut elements = self.call_objects();
        let own = elements.iter_mut().find(|element| element.get("id").and_then(string).as_deref() == Some(id));
        let Some(element) = own else { return false };
        element.remove("function");
        element.set("type", raw(CUSTOM));
        element.set(CUSTOM, object([("name", raw(&call.name)), ("input", raw(input))]).to_raw());
        self.replace_elements(&elements)
    }

    fn set_text(&mut self, text: &str) {
        let content = with_text(self.fields().get("content"), text);
        self.text = text_of(&content, "").map(Cow::into_owned);
        self.fields.edit(|fields| fields.set("content", content));
        self.size = self.fields().iter().map(|(key, value)| key.len() + value.get().len()).sum();
    }

    fn call_in_form(&mut self, legacy: bool) {
        if self.calls.is_empty() && self.elements.is_empty() {
            self.legacy = legacy;
        }
    }
}

/// Type of the call of a custom tool, and its member with name and input.
const CUSTOM: &str = "custom";

fn read_unjudged(element: &ObjectFields<'_>) -> Option<Call> {
    let id = element.string("id").filter(|id| !id.is_empty())?.into_owned();
    let body = element.object(CUSTOM);
    let [name, arguments] = ["name", "input"]
        .map(|key| body.as_ref().and_then(|body| body.string(key)).map(Cow::into_owned).unwrap_or_default());
    Some(Call { id, name, arguments })
}

/// Returns an element of `tool_calls` for this call; its other fields are kept.
pub(super) fn with_tool_call(mut element: RawObject, call: &Call) -> Box<RawValue> {
    set_string(&mut element, "id", &call.id);
    if present(element.get("type")).is_none_or(|kind| kind.get() == "\"\"") {
        element.set("type", raw("function"));
    }
    let function = with_call(object_at(element.get("function")), call);
    element.set("function", function.to_raw());
    element.to_raw()
}

fn with_call(mut function: RawObject, call: &Call) -> RawObject {
    set_string(&mut function, "name", &call.name);
    set_string(&mut function, "arguments", &call.arguments);
    function
}

/// Sets a string. Keeps the existing JSON text if its value is equal.
pub(super) fn set_string(object: &mut RawObject, key: &str, value: &str) {
    if object.get(key).and_then(string).as_deref() != Some(value) {
        object.set(key, raw(value));
    }
}

/// Returns the object in `value`, or an empty object.
pub(super) fn object_at(value: Option<&RawValue>) -> RawObject {
    value.and_then(|value| RawObject::parse(value.get()).ok()).unwrap_or_default()
}

/// Members with the model's reasoning, in the order of lookup. Servers use one of them: `reasoning_content`
/// (DeepSeek, SGLang, llama.cpp) or `reasoning` (vLLM, OpenRouter, Ollama).
const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];

/// Members with content that is neither text nor a call: audio and generated images.
const OTHER_CONTENT: [&str; 3] = ["audio", "images", "image"];

/// Types of content parts with reasoning.
const REASONING_PARTS: [&str; 4] = ["thinking", "redacted_thinking", "reasoning", "reasoning_text"];

/// Members that clients return unchanged with the next request, and that belong to the calls of their message:
/// reasoning in the format of OpenRouter (`reasoning_details`) and LiteLLM (`thinking_blocks`,
/// `provider_specific_fields`), with its signatures and encrypted content.
const OPAQUE: [&str; 9] = [
    "reasoning_details", "thinking_blocks", "provider_specific_fields", "extra_content", "reasoning_opaque",
    "encrypted_content", "signature", "thinking_signature", "thought_signature",
];

/// Whether a member has reasoning, or content that is neither text nor a call.
pub(super) fn is_beside_text(key: &str) -> bool {
    REASONING.contains(&key) || OTHER_CONTENT.contains(&key)
}

/// Whether only the provider can interpret a member of a message or delta.
pub(super) fn is_opaque(key: &str) -> bool {
    OPAQUE.contains(&key)
}

/// Returns the model's reasoning if it is separate from the text: in its own member, or in parts of the content.
pub(super) fn reasoning_of(message: &ChatMessage) -> Option<String> {
    if !message.has_more {
        return None;
    }
    let members = REASONING.iter().filter_map(|key| message.fields().get(key).and_then(string));
    let mut members = members.filter(|text| !text.trim().is_empty());
    members.next().map(Cow::into_owned).or_else(|| {
        let parts = content_parts(message);
        let texts: Vec<Cow<'_, str>> = parts.iter().filter_map(|part| thinking(part)).collect();
        (!texts.is_empty()).then(|| texts.concat())
    })
}

/// Whether a message contains only text and reasoning: no call, refusal, audio or image.
pub(super) fn is_only_text(message: &ChatMessage) -> bool {
    message.calls().is_empty()
        && !message.has_unjudged_calls()
        && message.refusal().is_none()
        && (!message.has_more
            || (OTHER_CONTENT.iter().all(|key| present(message.fields().get(key)).is_none_or(is_empty))
                && content_parts(message).into_iter().all(is_text_or_reasoning)))
}

/// Returns the parts of a content that is an array.
fn content_parts(message: &ChatMessage) -> Vec<&RawValue> {
    message.fields().get_as("content").unwrap_or_default()
}

fn is_text_or_reasoning(part: &RawValue) -> bool {
    part_text(part).is_some() || ObjectFields::parse(part.get()).is_some_and(|part| is_reasoning(&part))
}

fn is_reasoning(part: &ObjectFields<'_>) -> bool {
    part.string("type").is_some_and(|kind| REASONING_PARTS.contains(&kind.as_ref()))
}

/// Returns the text of a thinking part: a string, or an array of text parts.
fn thinking(part: &RawValue) -> Option<Cow<'_, str>> {
    let fields = ObjectFields::parse(part.get()).filter(is_reasoning)?;
    text_of(fields.get("thinking")?, "").map(|text| Cow::Owned(text.into_owned()))
}

fn is_empty(value: &RawValue) -> bool {
    let inner = value.get().strip_prefix(['[', '{', '"']).and_then(|rest| rest.strip_suffix([']', '}', '"']));
    inner.is_some_and(|inner| inner.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::{Value, json};

    use super::*;

    fn message(value: &Value) -> ChatMessage {
        ChatMessage::read(RawObject::parse(&value.to_string()).unwrap()).unwrap()
    }

    fn written(message: &ChatMessage) -> Value {
        serde_json::from_str(message.chat_element().unwrap().get()).unwrap()
    }

    fn element(id: &str, name: &str, arguments: &str) -> Value {
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    }

    #[test]
    fn one_call_in_place_of_the_list_is_a_list_of_it() {
        let mut call = element("a", "f", "{}");
        call["sig"] = json!("s");
        let one = message(&json!({"content": null, "tool_calls": call}));
        assert_eq!((one.calls().len(), one.calls()[0].name.as_str(), one.is_well_formed()), (1, "f", false));
        assert_eq!(written(&one)["tool_calls"], json!([call]));
        for nothing in [json!({}), json!({"calls": []})] {
            let message = message(&json!({"content": "x", "tool_calls": nothing}));
            assert!(message.calls().is_empty() && message.is_well_formed(), "{nothing}");
        }
        let custom = json!({"id": "c", "type": "custom", "custom": {"name": "x", "input": "y"}});
        let message = message(&json!({"tool_calls": custom}));
        assert!(message.has_unjudged_calls() && message.is_well_formed());
        assert_eq!(message.unjudged_calls()[0].arguments, "y");
    }

    #[test]
    fn calls_are_read_with_their_own_ids() {
        let message =
            message(&json!({"content": null, "tool_calls": [element("a", "f", "{}"), element("b", "g", "")]}));
        let ids: Vec<&str> = message.calls().iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["a", "b"]);
        assert!(message.is_well_formed() && !message.has_unjudged_calls() && message.text().is_none());
    }

    #[test]
    fn missing_and_repeated_ids_are_minted() {
        let message = message(&json!({"tool_calls": [
            {"type": "function", "function": {"name": "f", "arguments": "{}"}},
            element("a", "f", "{}"), element("a", "f", "{}"), element("", "f", "{}"), {"id": 7, "type": "function"},
        ]}));
        let ids: HashSet<&str> = message.calls().iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids.len(), 5);
        assert!(!message.is_well_formed());
        let elements = written(&message);
        for (call, element) in message.calls().iter().zip(elements["tool_calls"].as_array().unwrap()) {
            assert_eq!(element["id"], call.id.as_str());
        }
    }

    #[test]
    fn arguments_that_are_an_object_become_its_text() {
        let message = message(&json!({"tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}},
            {"id": "b", "type": "function", "function": {"name": "g", "arguments": null}},
            {"id": "c", "type": "function"},
        ]}));
        let arguments: Vec<&str> = message.calls().iter().map(|call| call.arguments.as_str()).collect();
        assert_eq!(arguments, [r#"{"x":1}"#, "", ""]);
        assert_eq!(written(&message)["tool_calls"][0]["function"]["arguments"], r#"{"x":1}"#);
        assert_eq!(written(&message)["tool_calls"][2]["function"], json!({"name": "", "arguments": ""}));
    }

    #[test]
    fn custom_calls_are_kept_beside_the_judged_ones() {
        let custom = json!({"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}});
        let mut message = message(&json!({"tool_calls": [custom, element("a", "f", "{}")]}));
        assert!(message.has_unjudged_calls());
        assert_eq!(message.calls().len(), 1);
        let unjudged = Call { id: "c".into(), name: "sql".into(), arguments: "select 1".into() };
        assert_eq!(message.unjudged_calls(), [unjudged]);
        assert!(message.set_calls(&[]));
        assert_eq!(written(&message)["tool_calls"], json!([custom]));
    }

    #[test]
    fn junk_among_the_calls_is_dropped_when_they_are_written() {
        let message = message(&json!({"role": "assistant", "tool_calls": [null, element("a", "f", "{}")]}));
        assert_eq!(written(&message)["tool_calls"], json!([element("a", "f", "{}")]));
        let odd = ChatMessage::read(RawObject::parse(r#"{"tool_calls":"none"}"#).unwrap()).unwrap();
        assert!(odd.calls().is_empty());
    }

    #[test]
    fn a_kept_call_keeps_unknown_fields_and_unchanged_text() {
        let text = r#"{"tool_calls":[{"index":0,"id":"a","type":"function","sig":"s","function":{"name":"\u0066","arguments":"{}","x":1.0}},{"id":"b"}]}"#;
        let mut message = ChatMessage::read(RawObject::parse(text).unwrap()).unwrap();
        let mut call = message.calls()[0].clone();
        call.arguments = r#"{"y":1}"#.into();
        let new = Call { id: "n".into(), name: "g".into(), arguments: "{}".into() };
        assert!(message.set_calls(&[call.clone(), new.clone()]));
        assert_eq!(
            message.fields().to_raw().get(),
            concat!(
                r#"{"tool_calls":[{"index":0,"id":"a","type":"function","sig":"s","function":{"name":"\u0066","arguments":"{\"y\":1}","x":1.0}},"#,
                r#"{"id":"n","type":"function","function":{"name":"g","arguments":"{}"}}]}"#
            )
        );
        assert_eq!(message.calls(), [call, new]);
        assert!(!message.set_calls(&message.calls.clone()));
    }

    #[test]
    fn calls_are_written_in_order_between_those_not_judged() {
        let custom = |id: &str| json!({"id": id, "type": "custom", "custom": {"name": "sql", "input": "x"}});
        let mut second = element("b", "g", "{}");
        second["index"] = json!(3);
        let mut message = message(&json!({"tool_calls": [custom("c"), element("a", "f", "{}"), custom("d"), second]}));
        let new = Call { id: "n".into(), name: "h".into(), arguments: "{}".into() };
        let [a, b] = [message.calls()[0].clone(), message.calls()[1].clone()];
        let ids = |message: &ChatMessage| -> Vec<String> {
            let elements = written(message)["tool_calls"].clone();
            elements.as_array().unwrap().iter().map(|call| call["id"].as_str().unwrap().to_owned()).collect()
        };
        assert!(message.set_calls(&[new.clone(), a.clone(), b.clone()]));
        assert_eq!(ids(&message), ["n", "c", "a", "d", "b"]);
        assert_eq!(written(&message)["tool_calls"][4]["index"], 4);
        assert_eq!(message.calls(), [new.clone(), a.clone(), b.clone()]);
        assert!(message.set_calls(&[b, new, a]));
        assert_eq!(ids(&message), ["c", "d", "b", "n", "a"]);
    }

    #[test]
    fn legacy_calls_stay_legacy() {
        let mut message = message(&json!({"content": null, "function_call": {"name": "f", "arguments": "{}", "x": 1}}));
        assert!(message.is_legacy() && message.is_well_formed());
        let mut call = message.calls()[0].clone();
        call.name = "g".into();
        assert!(message.set_calls(std::slice::from_ref(&call)));
        assert_eq!(message.calls(), [call]);
        assert_eq!(written(&message)["function_call"], json!({"name": "g", "arguments": "{}", "x": 1}));
        assert!(message.set_calls(&[]));
        assert_eq!(written(&message).get("function_call"), None);
    }

    #[test]
    fn an_answer_with_absurdly_many_calls_is_refused() {
        let text = format!("{{\"tool_calls\":[{}{{}}]}}", "{},".repeat(MAX_CALLS));
        assert!(ChatMessage::read(RawObject::parse(&text).unwrap()).is_err());
    }

    #[test]
    fn text_parts_are_the_text() {
        let parts =
            json!({"content": [{"type": "text", "text": "a"}, {"type": "thinking"}, {"type": "text", "text": "b"}]});
        assert_eq!(message(&parts).text().as_deref(), Some("ab"));
    }
}

#[cfg(test)]
mod reasoning_tests {
    use bytes::Bytes;
    use serde_json::{Value, json};

    use crate::{AssistantMessage, Completion};

    fn message(message: &Value) -> AssistantMessage {
        let body = json!({ "choices": [{ "message": message }] }).to_string();
        Completion::parse(callwright_types::Protocol::Chat, Bytes::from(body)).unwrap().choices()[0].message.clone()
    }

    #[test]
    fn reasoning_is_found_wherever_servers_put_it() {
        for (value, expected) in [
            (json!({"content": "", "reasoning_content": "hm", "reasoning": "other"}), Some("hm")),
            (json!({"content": null, "reasoning_content": " ", "reasoning": "hm"}), Some("hm")),
            (
                json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]}]}),
                Some("hm"),
            ),
            (
                json!({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Done."}]}),
                Some("hm"),
            ),
            (json!({"content": "Done.", "reasoning": {"effort": "low"}}), None),
            (json!({"content": "Done."}), None),
        ] {
            assert_eq!(message(&value).reasoning().as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn content_of_other_kinds_is_told_from_text() {
        for value in [
            json!({}),
            json!({"content": null, "refusal": null, "audio": null, "images": [], "annotations": []}),
            json!({"content": "x", "reasoning_details": [{"type": "reasoning.text"}], "tool_calls": []}),
            json!({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": ""}]}),
        ] {
            assert!(message(&value).is_only_text(), "{value}");
        }
        for value in [
            json!({"content": null, "refusal": "No."}),
            json!({"content": null, "audio": {"id": "a"}}),
            json!({"content": "", "images": [{"type": "image_url"}]}),
            json!({"content": [{"type": "image_url", "image_url": {"url": "data:"}}]}),
            json!({"tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}),
            json!({"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "f", "input": ""}}]}),
            json!({"function_call": {"name": "f", "arguments": "{}"}}),
        ] {
            assert!(!message(&value).is_only_text(), "{value}");
        }
    }
}
