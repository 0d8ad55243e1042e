//! Properties of the readers that read a text in one pass: they agree with a reading of the same text as a
//! [`serde_json::Value`], and texts that are not edited keep their bytes.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::testing::{config, json_text, list, object};
use crate::{Assembler, Completion, MessageView, ModelRequest, SseEvent, StreamItem, read_item};
use callwright_common::json::RawObject;
use callwright_types::{Call, Protocol};

fn text() -> BoxedStrategy<String> {
    prop_oneof![
        Just(r#""""#.to_owned()),
        "[ -~ü€\n]{0,12}".prop_map(|text| Value::from(text).to_string()),
        Just(r#""a\u00e9\/\n\ud83d\ude00\b""#.to_owned()),
    ]
    .boxed()
}

fn word(words: &'static [&'static str]) -> BoxedStrategy<String> {
    prop::sample::select(words).prop_map(|word| Value::from(word).to_string()).boxed()
}

fn number() -> BoxedStrategy<String> {
    prop::sample::select(&["0", "1", "7", "12.0", "1.50", "1E2", "-3", "18446744073709551616"][..])
        .prop_map(str::to_owned)
        .boxed()
}

/// A value of the member's own kind, or sometimes of any kind.
fn or_any(value: BoxedStrategy<String>) -> BoxedStrategy<String> {
    prop_oneof![6 => value, 1 => Just("null".to_owned()), 1 => json_text()].boxed()
}

fn function() -> BoxedStrategy<String> {
    object(vec![("name", or_any(text())), ("arguments", or_any(text())), ("input", or_any(text()))])
}

fn calls() -> BoxedStrategy<String> {
    let call = object(vec![
        ("index", or_any(number())),
        ("id", or_any(word(&["a", "b", ""]))),
        ("type", or_any(word(&["function", "custom", ""]))),
        ("function", or_any(function())),
        ("custom", or_any(function())),
    ]);
    list(or_any(call))
}

fn content() -> BoxedStrategy<String> {
    let part = object(vec![("type", or_any(word(&["text", "thinking"]))), ("text", or_any(text()))]);
    prop_oneof![text(), list(or_any(prop_oneof![part, text()].boxed()))].boxed()
}

fn message() -> BoxedStrategy<String> {
    object(vec![
        ("role", or_any(word(&["user", "assistant", "tool"]))),
        ("content", or_any(content())),
        ("refusal", or_any(text())),
        ("reasoning", or_any(text())),
        ("tool_calls", or_any(calls())),
        ("function_call", or_any(function())),
        ("tool_call_id", or_any(text())),
        ("name", or_any(text())),
    ])
}

fn usage() -> BoxedStrategy<String> {
    object(vec![
        ("prompt_tokens", or_any(number())),
        ("completion_tokens", or_any(number())),
        ("total_tokens", or_any(number())),
        ("prompt_tokens_details", or_any(object(vec![("cached_tokens", or_any(number()))]))),
    ])
}

/// An answer, or a chunk if `key` is `delta`.
fn answer(key: &'static str) -> BoxedStrategy<String> {
    let choice = object(vec![
        ("index", or_any(number())),
        (key, or_any(message())),
        ("logprobs", or_any(json_text())),
        ("finish_reason", or_any(word(&["stop", "tool_calls", "length"]))),
    ]);
    let choices = prop_oneof![9 => list(choice.clone()), 1 => list(or_any(choice))].boxed();
    object(vec![
        ("id", or_any(text())),
        ("model", or_any(text())),
        ("choices", or_any(choices.clone())),
        ("choices", choices),
        ("usage", or_any(usage())),
        ("error", Just("null".to_owned()).boxed()),
    ])
}

fn request() -> BoxedStrategy<String> {
    object(vec![
        ("model", text()),
        ("messages", list(or_any(message()))),
        ("tools", list(json_text())),
        ("tool_choice", or_any(word(&["auto", "none", "required"]))),
        ("max_tokens", or_any(number())),
        ("seed", number()),
    ])
}

fn owned(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Returns the text of a content, with `separator` between its parts.
fn text_in(content: &Value, separator: &str) -> Option<String> {
    let Value::Array(parts) = content else { return owned(content) };
    let texts: Vec<&str> = parts.iter().filter_map(|part| part.as_str().or_else(|| part["text"].as_str())).collect();
    (!texts.is_empty()).then(|| texts.join(separator))
}

fn objects(list: &Value) -> Option<&Vec<Value>> {
    list.as_array().filter(|items| items.iter().all(Value::is_object))
}

fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().map(|number| number as u64))
}

/// Whether `call` is that of a function's object.
fn is_call_of(call: &Call, function: &Value) -> bool {
    let arguments = &function["arguments"];
    let has_arguments = match arguments {
        Value::Null => call.arguments.is_empty(),
        Value::String(text) => *text == call.arguments,
        other => serde_json::from_str::<Value>(&call.arguments).is_ok_and(|value| value == *other),
    };
    has_arguments && call.name == function["name"].as_str().unwrap_or_default()
}

/// Whether the calls are those of an answer's message.
fn are_calls_of(calls: &[Call], message: &Value) -> bool {
    let elements = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    if elements.is_empty() {
        let legacy = &message["function_call"];
        return if legacy.is_object() { matches!(calls, [call] if is_call_of(call, legacy)) } else { calls.is_empty() };
    }
    let judged: Vec<&Value> = elements
        .iter()
        .filter(|element| element.is_object() && matches!(element["type"].as_str(), None | Some("" | "function")))
        .collect();
    let mut seen = vec![""];
    calls.len() == judged.len()
        && calls.iter().zip(judged).all(|(call, element)| {
            let id = element["id"].as_str().filter(|id| !seen.contains(id));
            seen.extend(id);
            is_call_of(call, &element["function"]) && id.map_or(call.id.len() > 1, |id| call.id == id)
        })
}

/// Whether the view of a request's message is that of its value.
fn is_view_of(view: &MessageView<'_>, message: &Value) -> bool {
    let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let legacy = Some(&message["function_call"]).filter(|legacy| legacy.is_object());
    let written = calls.iter().filter(|call| call.is_object()).map(|call| {
        let function = Some(&call["function"]).filter(|function| function.is_object());
        (call["id"].as_str(), function.unwrap_or(&call["custom"]))
    });
    let expected: Vec<Call> = written
        .chain(legacy.map(|legacy| (None, legacy)))
        .map(|(id, function)| Call {
            id: id.unwrap_or_default().to_owned(),
            name: function["name"].as_str().unwrap_or_default().to_owned(),
            arguments: function["arguments"].as_str().or(function["input"].as_str()).unwrap_or_default().to_owned(),
        })
        .collect();
    view.role == message["role"].as_str().unwrap_or_default()
        && view.text.as_deref() == text_in(&message["content"], "\n").as_deref()
        && view.calls == expected
        && view.tool_call_id.as_deref() == message["tool_call_id"].as_str()
        && view.name.as_deref() == message["name"].as_str()
}

/// Returns the members of an object with their texts, except for one.
fn members_but(text: &[u8], except: &str) -> Vec<(String, String)> {
    let object = RawObject::parse_bytes(text).unwrap();
    let members = object.iter().filter(|(key, _)| *key != except);
    members.map(|(key, value)| (key.to_owned(), value.get().to_owned())).collect()
}

fn event(text: &str) -> SseEvent {
    SseEvent { raw: Bytes::new(), data: Some(text.to_owned()) }
}

fn is_filled(value: &Value) -> bool {
    !(value.is_null() || *value == json!("") || *value == json!([]))
}

fn has_calls(choice: &Value) -> bool {
    let delta = &choice["delta"];
    delta.is_object() && (!delta["function_call"].is_null() || is_filled(&delta["tool_calls"]))
}

fn has_text(choice: &Value) -> bool {
    ["content", "refusal"].iter().any(|key| is_filled(&choice["delta"][key]))
}

/// Whether a finish reason is one: not the empty string that some servers send until the end.
fn has_ended(reason: &Value) -> bool {
    !reason.is_null() && *reason != json!("") && *reason != json!([])
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn a_completion_is_read_as_its_value(text in answer("message")) {
        let value: Value = serde_json::from_str(&text).unwrap();
        let body = Bytes::from(text);
        let parsed = Completion::parse(Protocol::Chat, body.clone());
        let Some(choices) = objects(&value["choices"]) else {
            prop_assert!(parsed.is_err());
            return Ok(());
        };
        let mut completion = parsed.unwrap();
        prop_assert_eq!((completion.id(), completion.model()), (value["id"].as_str(), value["model"].as_str()));
        let usage = &value["usage"];
        prop_assert_eq!(completion.usage().is_some(), usage.is_object());
        if let Some(read) = completion.usage() {
            let prompt = count(&usage["prompt_tokens"]).unwrap_or(0);
            let total = count(&usage["total_tokens"]).unwrap_or(prompt.saturating_add(read.completion_tokens));
            let cached = count(&usage["prompt_tokens_details"]["cached_tokens"]).unwrap_or(0).min(prompt);
            prop_assert_eq!((read.prompt_tokens, read.total_tokens, read.cached_tokens), (prompt, total, cached));
            prop_assert_eq!(read.completion_tokens, count(&usage["completion_tokens"]).unwrap_or(0));
        }
        prop_assert_eq!(completion.choices().len(), choices.len());
        for (position, (choice, value)) in completion.choices().iter().zip(choices).enumerate() {
            let index = value["index"].as_u64().and_then(|index| u32::try_from(index).ok());
            prop_assert_eq!(choice.index, index.unwrap_or(position as u32));
            prop_assert_eq!(choice.finish_reason.as_deref(), value["finish_reason"].as_str());
            let message = &value["message"];
            prop_assert_eq!(choice.message.text(), text_in(&message["content"], ""));
            let refusal = owned(&message["refusal"]).filter(|refusal| !refusal.trim().is_empty());
            prop_assert_eq!(choice.message.refusal(), refusal);
            if let Some(reasoning) = message["reasoning"].as_str().filter(|text| !text.trim().is_empty()) {
                prop_assert_eq!(choice.message.reasoning(), Some(reasoning.to_owned()));
            }
            prop_assert!(are_calls_of(choice.message.calls(), message), "{:?} {message}", choice.message.calls());
        }
        let bytes = completion.to_bytes();
        prop_assert_eq!(bytes.as_ptr(), body.as_ptr());
        completion.set_debug(&json!(1));
        let mut expected = value.clone();
        expected["callwright"] = json!(1);
        prop_assert_eq!(completion.to_value(), expected);
        let unedited = [("callwright".to_owned(), "1".to_owned())];
        let others: Vec<_> = members_but(&body, "choices").into_iter().chain(unedited).collect();
        prop_assert_eq!(members_but(&completion.to_bytes(), "choices"), others);
    }

    #[test]
    fn a_chunk_is_read_as_its_value(text in answer("delta")) {
        let value: Value = serde_json::from_str(&text).unwrap();
        let item = read_item(&event(&text));
        let choices = if value["choices"].is_null() { Some(Vec::new()) } else { objects(&value["choices"]).cloned() };
        let is_other = value["choices"].is_null() && value["usage"].is_null();
        let chunk = match item {
            Ok(StreamItem::Chunk(chunk)) => chunk,
            Ok(StreamItem::Other) => {
                prop_assert!(is_other);
                return Ok(());
            }
            other => {
                prop_assert!(other.is_err() && choices.is_none(), "{other:?}");
                return Ok(());
            }
        };
        let choices = choices.unwrap();
        prop_assert_eq!(chunk.is_usage_only(), choices.is_empty());
        prop_assert_eq!(chunk.has_calls(), choices.iter().any(has_calls));
        prop_assert_eq!(chunk.has_text(), choices.iter().any(has_text));
        prop_assert_eq!(chunk.has_finish(), choices.iter().any(|choice| has_ended(&choice["finish_reason"])));
        prop_assert_eq!(chunk.usage().is_some(), value["usage"].is_object());
        let lacks_form = value["choices"].is_null() || choices.iter().any(|choice| choice["finish_reason"] == "");
        prop_assert_eq!(chunk.is_edited(), lacks_form);
        if !lacks_form {
            prop_assert_eq!(chunk.to_event(), format!("data: {}\n\n", text.trim().replace(['\n', '\r'], " ")));
        }
        let mut assembler = Assembler::new(usize::MAX);
        let taken = assembler.take(&event(&text));
        let is_chunk = matches!(taken, Ok(StreamItem::Chunk(_)));
        prop_assert!(is_chunk);
        let texts: Vec<String> = assembler.texts().map(|(_, text, _)| text.to_owned()).collect();
        // The pieces of a repeated member are joined.
        let has_one_content = text.matches("ontent\"").count() == 1;
        if let (true, [only], [text]) = (has_one_content, choices.as_slice(), texts.as_slice()) {
            prop_assert_eq!(text, &text_in(&only["delta"]["content"], "").unwrap_or_default());
        }
        let completion = assembler.into_completion();
        if value["id"].as_str().is_some_and(|id| !id.is_empty()) {
            prop_assert_eq!(completion.id(), value["id"].as_str());
        }
        let again = Completion::parse(Protocol::Chat, completion.to_bytes()).unwrap();
        prop_assert_eq!(again.choices().len(), completion.choices().len());
    }

    #[test]
    fn a_request_is_read_as_its_value(text in request()) {
        let value: Value = serde_json::from_str(&text).unwrap();
        let body = Bytes::from(text);
        let mut request = ModelRequest::parse(Protocol::Chat, body.clone()).unwrap();
        prop_assert_eq!(request.model(), value["model"].as_str().unwrap_or_default());
        prop_assert_eq!(request.max_answer_tokens(), value["max_tokens"].as_u64());
        let messages = value["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let messages: Vec<&Value> = messages.iter().filter(|message| message.is_object()).collect();
        let views = request.messages();
        prop_assert_eq!(views.len(), messages.len());
        for (view, message) in views.iter().zip(messages) {
            prop_assert!(is_view_of(view, message), "{view:?} {message}");
        }
        let tools = request.tools_text().map(|tools| serde_json::from_str(tools).unwrap());
        prop_assert_eq!(tools.unwrap_or(Value::Null), value["tools"].clone());
        let bytes = request.to_bytes();
        prop_assert_eq!(bytes.as_ptr(), body.as_ptr());
        request.set_model("another model");
        prop_assert_eq!(members_but(&request.to_bytes(), "model"), members_but(&body, "model"));
        prop_assert_eq!(&request.to_value()["model"], "another model");
    }
}
