//! Complete answers.

use std::borrow::Cow;

use bytes::Bytes;
use http::StatusCode;
use serde_json::json;
use serde_json::value::RawValue;

use super::blocks::{
    ASSISTANT, CALLER, CONTENT, REDACTED_THINKING, TEXT, THINKING, TOOL_USE, input, is_call_id, read_call,
    reasoning_part,
};
use crate::chat_answer;
use crate::chat_message::{object_at, set_string};
use crate::content::text_block;
use crate::error::THREAD_UNSUPPORTED;
use crate::fields::{ObjectFields, object, present, string};
use crate::parts::{AnswerForm, Finish, MessageContent, PartKind, PartsForm};
use crate::usage::count;
use crate::{AnswerError, ErrorBody, ReasoningPart};
use callwright_common::json::{RawObject, raw};
use callwright_types::{Call, Protocol, Usage, ids};

/// Member with the reason why the answer ended.
pub(super) const STOP_REASON: &str = "stop_reason";

/// Member with the custom stop sequence that ended the answer.
pub(super) const STOP_SEQUENCE: &str = "stop_sequence";

/// Member with the token counts.
pub(super) const USAGE: &str = "usage";

/// Values of `stop_reason` for an incomplete answer.
const CUT_OFF: [&str; 3] = ["max_tokens", "model_context_window_exceeded", "refusal"];

/// Value of `stop_reason` for an answer that ends with text.
pub(super) const END_TURN: &str = "end_turn";

/// Value of `stop_reason` for an answer that the client lets the model continue: a server tool still runs.
const PAUSE_TURN: &str = "pause_turn";

/// Status of an overloaded server, which HTTP does not define.
const OVERLOADED: u16 = 529;

/// Answers of this protocol.
#[derive(Debug)]
pub(crate) struct MessagesAnswer;

impl AnswerForm for MessagesAnswer {
    fn protocol(&self) -> Protocol {
        Protocol::Messages
    }

    fn as_parts(&'static self) -> Option<&'static dyn PartsForm> {
        Some(self)
    }

    fn minted(&self, model: &str) -> RawObject {
        let id = format!("msg_{}{}", ids::call_id(), ids::call_id());
        object_at(Some(&raw(&json!({
            "id": id, "type": "message", "role": ASSISTANT, "model": model, (CONTENT): [], (STOP_REASON): END_TURN,
            (STOP_SEQUENCE): null,
        }))))
    }

    fn finish_reason(&self, fields: &RawObject) -> Option<String> {
        fields.get(STOP_REASON).and_then(string).map(Cow::into_owned)
    }

    fn is_cut_off(&self, reason: &str) -> bool {
        CUT_OFF.contains(&reason)
    }

    fn contradicts_calls(&self, message: &dyn MessageContent, reason: Option<&str>) -> bool {
        !message.calls().is_empty()
            && reason.is_none_or(|reason| {
                !matches!(reason, TOOL_USE | PAUSE_TURN) && !self.is_cut_off(reason) && !chat_answer::is_cut_off(reason)
            })
    }

    fn usage(&self, fields: &RawObject) -> Option<Usage> {
        let usage = ObjectFields::parse(present(fields.get(USAGE))?.get())?;
        let cached_tokens = count(&usage, "cache_read_input_tokens").unwrap_or(0);
        let prompt_tokens = count(&usage, "input_tokens")
            .unwrap_or(0)
            .saturating_add(created_tokens(&usage))
            .saturating_add(cached_tokens);
        let completion_tokens = count(&usage, "output_tokens").unwrap_or(0);
        let total_tokens = prompt_tokens.saturating_add(completion_tokens);
        Some(Usage { prompt_tokens, completion_tokens, total_tokens, cached_tokens })
    }

    fn set_usage(&self, fields: &mut RawObject, usage: Usage) {
        // An answer of the proxy states all counts: those of a stream's first event would stay in force otherwise.
        let mut object: RawObject = fields.get_as(USAGE).unwrap_or_else(|| {
            object([("cache_creation_input_tokens", raw(&0)), ("cache_read_input_tokens", raw(&usage.cached_tokens))])
        });
        let known = object.to_raw();
        let in_cache = ObjectFields::parse(known.get()).map_or(0, |known| {
            created_tokens(&known).saturating_add(count(&known, "cache_read_input_tokens").unwrap_or(0))
        });
        object.set("input_tokens", raw(&usage.prompt_tokens.saturating_sub(in_cache)));
        object.set("output_tokens", raw(&usage.completion_tokens));
        fields.set(USAGE, object.to_raw());
    }

    fn error_body(&self, error: &ErrorBody, status: StatusCode) -> Bytes {
        let mut members = object([("type", raw(error_type(status))), ("message", raw(&error.message))]);
        if let Some(code) = &error.code {
            members.set("code", raw(code));
        }
        if error.code.as_deref() == Some(THREAD_UNSUPPORTED) {
            // Clients with threads look for the reason here.
            let details = object([("error_code", raw(THREAD_UNSUPPORTED)), ("unsupported", raw(&["thread"]))]);
            members.set("details", details.to_raw());
        }
        let body = object([("type", raw("error")), ("error", members.to_raw())]);
        body.to_raw().get().as_bytes().to_vec().into()
    }
}

impl PartsForm for MessagesAnswer {
    fn parts_key(&self) -> &'static str {
        CONTENT
    }

    fn read_part(&self, part: &RawValue) -> PartKind {
        let Some(block) = ObjectFields::parse(part.get()) else { return PartKind::Other };
        match block.string("type").as_deref() {
            Some(TEXT) => PartKind::Text(block.string("text").unwrap_or_default().into_owned()),
            Some(THINKING) => PartKind::Reasoning(block.string(THINKING).unwrap_or_default().into_owned()),
            Some(REDACTED_THINKING) => PartKind::Reasoning(String::new()),
            // The tools of a toolset have neither an element in the request nor a schema.
            Some(TOOL_USE) if block.get("toolset_name").is_some() => PartKind::Unjudged(read_call(&block)),
            Some(TOOL_USE) => judged_call(&block),
            _ => PartKind::Other,
        }
    }

    fn reasoning_part(&self, part: &RawValue) -> Option<ReasoningPart> {
        reasoning_part(&ObjectFields::parse(part.get())?)
    }

    fn members_of_divided(&self) -> &'static [&'static str] {
        &[CALLER]
    }

    fn with_call(&self, part: Option<&RawValue>, call: &Call) -> Box<RawValue> {
        let mut block = part.and_then(|part| RawObject::parse(part.get()).ok()).unwrap_or_default();
        set_string(&mut block, "type", TOOL_USE);
        set_string(&mut block, "id", &call.id);
        set_string(&mut block, "name", &call.name);
        let kept = present(block.get("input")).filter(|kept| kept.get().starts_with('{'));
        if kept.is_none_or(|kept| kept.get() != call.arguments) {
            block.set("input", input(&call.arguments));
        }
        block.to_raw()
    }

    fn with_text(&self, part: Option<&RawValue>, text: &str) -> Box<RawValue> {
        let Some(mut block) = part.and_then(|part| RawObject::parse(part.get()).ok()) else { return text_block(text) };
        set_string(&mut block, "text", text);
        block.to_raw()
    }

    fn set_finish(&self, fields: &mut RawObject, finish: Finish) {
        let reason = self.finish_reason(fields);
        let new = match (finish, reason.as_deref()) {
            (Finish::Calls, Some(TOOL_USE)) => return,
            (Finish::Calls, Some(reason)) if self.is_cut_off(reason) => return,
            (Finish::Calls, _) => TOOL_USE,
            (Finish::Text, Some(TOOL_USE)) => END_TURN,
            (Finish::Text, _) => return,
        };
        fields.set(STOP_REASON, raw(new));
        if present(fields.get(STOP_SEQUENCE)).is_some() {
            fields.set(STOP_SEQUENCE, raw(&()));
        }
    }

    fn failure(&self, fields: &RawObject) -> Option<AnswerError> {
        let kind = fields.get("type").and_then(string);
        let has_content = present(fields.get(CONTENT)).is_some();
        if kind.as_deref() == Some("error") || !has_content && present(fields.get("error")).is_some() {
            return Some(AnswerError::new("the answer is an error object with a success status"));
        }
        let is_message = has_content || kind.as_deref() == Some("message") || fields.contains(STOP_REASON);
        (!is_message).then(|| AnswerError::new("the answer has no `content`"))
    }
}

/// Returns the type of an error with this status (API reference, "Errors").
pub(super) fn error_type(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::PAYMENT_REQUIRED => "billing_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::NOT_FOUND => "not_found_error",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        StatusCode::SERVICE_UNAVAILABLE => "overloaded_error",
        StatusCode::GATEWAY_TIMEOUT => "timeout_error",
        status if status.as_u16() == OVERLOADED => "overloaded_error",
        status if status.is_client_error() => "invalid_request_error",
        _ => "api_error",
    }
}

/// Reads a call of a function. An id that the API would reject counts as missing, so that it is generated.
fn judged_call(block: &ObjectFields<'_>) -> PartKind {
    let mut call = read_call(block);
    if !is_call_id(&call.id) {
        call.id.clear();
    }
    let is_object = block.get("input").is_some_and(|input| input.get().starts_with('{'));
    let is_well_formed = is_object && !call.id.is_empty() && block.string("name").is_some();
    PartKind::Call { call, is_well_formed }
}

/// Returns the tokens that the provider wrote to its cache.
fn created_tokens(usage: &ObjectFields<'_>) -> u64 {
    count(usage, "cache_creation_input_tokens").unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{answer, answer_of, call};
    use super::*;
    use crate::Completion;
    use callwright_types::Protocol;

    fn raw_text(text: &str) -> Box<RawValue> {
        serde_json::from_str(text).unwrap()
    }

    fn read(text: &str) -> PartKind {
        MessagesAnswer.read_part(&raw_text(text))
    }

    fn well_formed(text: &str) -> (Call, bool) {
        match read(text) {
            PartKind::Call { call, is_well_formed } => (call, is_well_formed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn blocks_are_read_by_their_type() {
        assert_eq!(read(r#"{"type":"text","text":"a","citations":null}"#), PartKind::Text("a".into()));
        assert_eq!(read(r#"{"type":"thinking","thinking":"hm","signature":"s"}"#), PartKind::Reasoning("hm".into()));
        assert_eq!(read(r#"{"type":"redacted_thinking","data":"x"}"#), PartKind::Reasoning(String::new()));
        for text in [
            r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}"#,
            r#"{"type":"mcp_tool_use","id":"mcptoolu_1","name":"f","input":{}}"#,
            r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}"#,
            r#"{"type":"future"}"#,
            "5",
            "null",
        ] {
            assert_eq!(read(text), PartKind::Other, "{text}");
        }
        let member = r#"{"type":"tool_use","id":"a","name":"click","toolset_name":"browser","input":{"x":1}}"#;
        assert!(
            matches!(read(member), PartKind::Unjudged(call) if call.name == "click" && call.arguments == r#"{"x":1}"#)
        );
    }

    #[test]
    fn the_arguments_are_the_text_of_the_input() {
        let (call, is_well_formed) =
            well_formed(r#"{"type":"tool_use","id":"toolu_1","name":"f","input":{ "a": 1.0 }}"#);
        assert_eq!((call.id.as_str(), call.arguments.as_str(), is_well_formed), ("toolu_1", r#"{ "a": 1.0 }"#, true));
        for (input, arguments) in [
            (r#""{\"a\":1}""#, r#"{"a":1}"#),
            (r#""""#, "{}"),
            (r#""{\"a\":""#, r#"{"a":"#),
            ("[1]", "[1]"),
            ("null", ""),
        ] {
            let text = format!(r#"{{"type":"tool_use","id":"toolu_1","name":"f","input":{input}}}"#);
            let (call, is_well_formed) = well_formed(&text);
            assert_eq!((call.arguments.as_str(), is_well_formed), (arguments, false), "{input}");
        }
    }

    #[test]
    fn ids_that_the_api_rejects_are_generated() {
        let completion = answer_of(&json!([call("functions.f:0", "f"), call("", "f"), call("a", "f"), call("a", "f")]));
        let message = &completion.choices()[0].message;
        assert!(!message.is_well_formed());
        let ids: Vec<&str> = message.calls().iter().map(|call| call.id.as_str()).collect();
        assert!(ids.iter().all(|id| is_call_id(id)), "{ids:?}");
        assert_eq!(ids[2], "a");
        assert_ne!(ids[3], "a");
        assert!(!well_formed(r#"{"type":"tool_use","id":"a","input":{}}"#).1, "a call without a name");
    }

    #[test]
    fn an_answer_keeps_its_bytes_until_it_is_edited() {
        let text = r#"{ "id":"msg_1", "type":"message", "role":"assistant", "model":"m", "x":1.0,
            "content":[ {"type":"thinking","thinking":"h\u006d","signature":"s=="}, {"type":"tool_use","id":"a","name":"f","input":{ "n":1E2 },"caller":{"type":"direct"}} ],
            "stop_reason":"end_turn", "stop_sequence":null, "usage":{"input_tokens":1,"output_tokens":2} }"#;
        let mut completion = Completion::parse(Protocol::Messages, Bytes::from_static(text.as_bytes())).unwrap();
        assert_eq!(completion.to_bytes(), text);
        let choice = &mut completion.choices_mut()[0];
        assert!(choice.contradicts_calls());
        let mut calls = choice.message.calls().to_vec();
        calls[0].name = "g".into();
        choice.set_calls(&calls);
        assert_eq!(
            completion.to_bytes(),
            concat!(
                r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","x":1.0,"#,
                r#""content":[{"type":"thinking","thinking":"h\u006d","signature":"s=="},{"type":"tool_use","id":"a","name":"g","input":{ "n":1E2 },"caller":{"type":"direct"}}],"#,
                r#""stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2}}"#
            )
        );
    }

    #[test]
    fn the_input_of_a_call_is_an_object_if_the_arguments_are_one() {
        for (arguments, input) in [
            ("{\"a\": 1}", json!({"a": 1})),
            (" ", json!({})),
            ("[1]", json!([1])),
            ("{\"a\":", json!("{\"a\":")),
            ("5", json!(5)),
        ] {
            let call = Call { id: "a".into(), name: "f".into(), arguments: arguments.into() };
            let block: Value = serde_json::from_str(MessagesAnswer.with_call(None, &call).get()).unwrap();
            assert_eq!(block, json!({"type": "tool_use", "id": "a", "name": "f", "input": input}));
        }
        let block = raw_text(r#"{"type":"tool_use","id":"a","name":"f","input":"{\"x\":1}","k":1}"#);
        let call = Call { id: "a".into(), name: "f".into(), arguments: r#"{"x":1}"#.into() };
        let repaired = MessagesAnswer.with_call(Some(&block), &call);
        assert_eq!(repaired.get(), r#"{"type":"tool_use","id":"a","name":"f","input":{"x":1},"k":1}"#);
    }

    #[test]
    fn the_stop_reason_follows_the_calls_of_a_complete_answer() {
        let set = |reason: Value, finish| {
            let mut fields =
                RawObject::parse(&json!({"stop_reason": reason, "stop_sequence": "x"}).to_string()).unwrap();
            MessagesAnswer.set_finish(&mut fields, finish);
            MessagesAnswer.finish_reason(&fields)
        };
        for reason in ["end_turn", "stop_sequence", "pause_turn", "tool_use"] {
            assert_eq!(set(json!(reason), Finish::Calls).as_deref(), Some("tool_use"), "{reason}");
        }
        for reason in CUT_OFF {
            assert!(MessagesAnswer.is_cut_off(reason));
            assert_eq!(set(json!(reason), Finish::Calls).as_deref(), Some(reason));
            assert_eq!(set(json!(reason), Finish::Text).as_deref(), Some(reason));
        }
        assert_eq!(set(json!("tool_use"), Finish::Text).as_deref(), Some("end_turn"));
        assert_eq!(set(json!("stop_sequence"), Finish::Text).as_deref(), Some("stop_sequence"));
        assert_eq!(set(Value::Null, Finish::Text), None);
        let mut fields = RawObject::parse(r#"{"stop_reason":"stop_sequence","stop_sequence":"x"}"#).unwrap();
        MessagesAnswer.set_finish(&mut fields, Finish::Calls);
        assert_eq!(fields.to_raw().get(), r#"{"stop_reason":"tool_use","stop_sequence":null}"#);
    }

    #[test]
    fn an_answer_without_calls_does_not_end_with_calls() {
        let mut completion = answer(&json!({"content": [call("a", "f")], "stop_reason": "tool_use"}));
        completion.choices_mut()[0].set_calls(&[]);
        assert_eq!(completion.to_value(), json!({"content": [], "stop_reason": "end_turn"}));
    }

    #[test]
    fn tokens_in_the_cache_are_tokens_of_the_prompt() {
        let usage = json!({"input_tokens": 1, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100,
            "output_tokens": 5, "service_tier": "standard"});
        let mut completion = answer(&json!({"content": [], "usage": usage}));
        let read = Usage { prompt_tokens: 111, completion_tokens: 5, total_tokens: 116, cached_tokens: 100 };
        assert_eq!(completion.usage(), Some(read));
        let sum = Usage { prompt_tokens: 300, completion_tokens: 7, total_tokens: 307, cached_tokens: 100 };
        completion.set_usage(sum);
        assert_eq!(completion.usage(), Some(sum));
        let written = completion.to_value()["usage"].clone();
        assert_eq!((&written["input_tokens"], &written["service_tier"]), (&json!(190), &json!("standard")));
        completion.set_usage(Usage { prompt_tokens: 3, ..sum });
        assert_eq!(completion.to_value()["usage"]["input_tokens"], 0);
        assert_eq!(answer(&json!({"content": []})).usage(), None);
        let broken = json!({"content": [], "usage": {"input_tokens": "many", "cache_read_input_tokens": u64::MAX, "output_tokens": u64::MAX}});
        assert_eq!(answer(&broken).usage().unwrap().total_tokens, u64::MAX);
    }

    #[test]
    fn errors_with_a_success_status_are_not_quoted() {
        for (text, word) in [
            (r#"{"type":"error","error":{"type":"overloaded_error","message":"canary"}}"#, "error object"),
            (r#"{"error":{"message":"canary"}}"#, "error object"),
            (r#"{"choices":["canary"]}"#, "`content`"),
            (r#"{"content":"canary"}"#, "not a list"),
        ] {
            let error = Completion::parse(Protocol::Messages, text.into()).unwrap_err();
            assert!(error.message.contains(word) && !error.message.contains("canary"), "{error}");
        }
        assert!(Completion::parse(Protocol::Messages, r#"{"type":"message","content":null}"#.into()).is_ok());
    }

    #[test]
    fn error_bodies_have_the_type_of_their_status() {
        let error = ErrorBody { message: "m".into(), kind: "k".into(), param: None, code: Some("c".into()) };
        for (status, kind) in [
            (400, "invalid_request_error"),
            (401, "authentication_error"),
            (402, "billing_error"),
            (403, "permission_error"),
            (404, "not_found_error"),
            (413, "request_too_large"),
            (422, "invalid_request_error"),
            (429, "rate_limit_error"),
            (500, "api_error"),
            (502, "api_error"),
            (503, "overloaded_error"),
            (504, "timeout_error"),
            (529, "overloaded_error"),
        ] {
            let body = MessagesAnswer.error_body(&error, StatusCode::from_u16(status).unwrap());
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body, json!({"type": "error", "error": {"type": kind, "message": "m", "code": "c"}}));
        }
    }

    #[test]
    fn generated_answers_have_the_form_clients_expect() {
        let text = Completion::of_text(Protocol::Messages, "m", "Hi").to_value();
        assert_eq!(text["content"], json!([{"type": "text", "text": "Hi"}]));
        assert_eq!((&text["stop_reason"], &text["role"]), (&json!("end_turn"), &json!("assistant")));
        assert!(text["id"].as_str().unwrap().starts_with("msg_"));
        let made = Call { id: "abcDEF123".into(), name: "f".into(), arguments: "{}".into() };
        let calls = Completion::of_calls(Protocol::Messages, "m", &[made]).to_value();
        assert_eq!((&calls["content"], &calls["stop_reason"]), (&json!([call("abcDEF123", "f")]), &json!("tool_use")));
    }
}
