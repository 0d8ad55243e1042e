//! Elements that the proxy appends to a conversation.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::blocks::{
    ASSISTANT, CONTENT, TOOL_RESULT, USER, blocks_of, is_blank_text, is_block, is_call_of_program, message,
    result_block,
};
use super::notes::result_with_note;
use crate::AssistantMessage;
use crate::content::text_block;
use crate::fields::{ObjectFields, present};
use callwright_common::json::{RawObject, raw};
use callwright_types::Call;

/// Appends an answer of the model. Its blocks are unmodified and in the model's order, because the API rejects thinking
/// that was changed or moved. Nothing is appended for an answer without blocks, which the API rejects too.
pub(super) fn push_assistant(added: &mut Vec<Arc<RawValue>>, answer: &AssistantMessage) {
    let mut blocks = answer.parts();
    blocks.retain(|block| !is_blank_text(block));
    for block in &mut blocks {
        if let Some(readable) = with_object_input(block) {
            *block = Cow::Owned(readable);
        }
    }
    if !blocks.is_empty() {
        added.push(message(ASSISTANT, &blocks).into());
    }
}

/// Returns a call whose input is an empty object, if it is none: the API refuses requests with unreadable input. The result
/// of the call quotes what the model wrote.
fn with_object_input(block: &RawValue) -> Option<Box<RawValue>> {
    let mut fields = RawObject::parse(block.get()).ok().filter(|_| is_block(block, "tool_use"))?;
    if fields.get("input").is_some_and(|input| input.get().starts_with('{')) {
        return None;
    }
    fields.set("input", RawObject::default().to_raw());
    Some(fields.to_raw())
}

/// Appends the result of a call to the user message with the results of the last answer.
pub(super) fn push_result(added: &mut Vec<Arc<RawValue>>, call: &Call, text: &str, is_error: bool) {
    let result = result_block(&call.id, text, is_error);
    edit_last_user(added, |blocks| {
        let end = blocks.iter().take_while(|block| is_block(block, TOOL_RESULT)).count();
        blocks.insert(end, result);
    });
}

/// Appends text of the user to the last user message, after the results in it. The API refuses text beside the results
/// for a program, so it is appended to the last one of them.
pub(super) fn push_user(added: &mut Vec<Arc<RawValue>>, text: &str) {
    let is_for_program = answers_program(added);
    edit_last_user(added, |blocks| {
        let result = blocks.last_mut().filter(|last| is_for_program && is_block(last, TOOL_RESULT));
        match result.and_then(|result| Some((result_with_note(result, text)?, result))) {
            Some((noted, result)) => *result = noted,
            None => blocks.push(text_block(text)),
        }
    });
}

/// Whether the last message has results for calls of a program.
fn answers_program(added: &[Arc<RawValue>]) -> bool {
    let [.., answer, _] = added else { return false };
    let blocks = ObjectFields::parse(answer.get()).and_then(|answer| answer.items(CONTENT));
    blocks.into_iter().flatten().any(is_call_of_program)
}

/// Edits the blocks of the last element if it is a user message, or those of a new user message.
fn edit_last_user(added: &mut Vec<Arc<RawValue>>, edit: impl FnOnce(&mut Vec<Box<RawValue>>)) {
    if let Some(last) = added.last_mut()
        && let Some((mut fields, mut blocks)) = user_blocks(last)
    {
        edit(&mut blocks);
        fields.set(CONTENT, raw(&blocks));
        *last = fields.to_raw().into();
        return;
    }
    let mut blocks = Vec::new();
    edit(&mut blocks);
    added.push(message(USER, &blocks).into());
}

/// Returns the members and blocks of a user message.
fn user_blocks(element: &RawValue) -> Option<(RawObject, Vec<Box<RawValue>>)> {
    if ObjectFields::parse(element.get())?.string("role")? != USER {
        return None;
    }
    let fields = RawObject::parse(element.get()).ok()?;
    let blocks = blocks_of(present(fields.get(CONTENT)))?;
    Some((fields, blocks))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{answer_of, call, request, sent};
    use crate::Completion;
    use callwright_types::{Call, Protocol};

    fn made(id: &str) -> Call {
        Call { id: id.into(), name: "f".into(), arguments: "{}".into() }
    }

    /// Blocks in an order and notation that no serializer produces.
    const INTERLEAVED: &str = concat!(
        r#"{"type":"thinking", "thinking":"\u0061\/b" ,"signature":"s1=="},{"type":"text","text":"Now."},"#,
        r#"{"type":"tool_use","id":"a","name":"f","input":{ "x" : 1.50e1 }},{"signature":"s2","type":"thinking","thinking":""},"#,
        r#"{"type":"redacted_thinking","data":"x\/y"},{"type":"tool_use","id":"b","name":"f","input":{}}"#
    );

    // maximhq/bifrost 6342: replayed thinking was moved before the calls, and results without content were dropped, so
    // that every later request of the conversation failed.
    #[test]
    fn thinking_among_calls_is_replayed_to_the_byte_and_in_its_place() {
        let body = format!(r#"{{"type":"message","content":[ {INTERLEAVED} ],"stop_reason":"tool_use"}}"#);
        let completion = Completion::parse(Protocol::Messages, body.into()).unwrap();
        let client = format!(
            r#"{{"role":"assistant","content":[ {INTERLEAVED} ]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a"}},{{"type":"tool_result","tool_use_id":"b","is_error":true}}]}}"#
        );
        let mut request = request(&format!(r#"{{"messages":[{client}]}}"#));
        request.push_assistant(&completion.choices()[0].message);
        request.push_tool_result(&made("a"), "1", false);
        request.push_tool_result(&made("b"), "2", true);
        let results = concat!(
            r#"{"type":"tool_result","tool_use_id":"a","content":"1"},"#,
            r#"{"type":"tool_result","tool_use_id":"b","content":"2","is_error":true}"#
        );
        assert_eq!(
            sent(&request),
            format!(
                r#"{{"messages":[{client},{{"role":"assistant","content":[{INTERLEAVED}]}},{{"role":"user","content":[{results}]}}]}}"#
            )
        );
    }

    #[test]
    fn results_precede_the_text_of_their_message() {
        let mut request = request(r#"{"messages":[]}"#);
        request.push_assistant(&answer_of(&json!([call("a", "f"), call("b", "f")])).choices()[0].message);
        request.push_tool_result(&made("a"), "1", false);
        request.push_user("Go on.");
        request.push_tool_result(&made("b"), "2", false);
        request.push_user("Now.");
        let messages = request.to_value()["messages"].clone();
        assert_eq!(messages.as_array().map(Vec::len), Some(2));
        let kinds: Vec<Value> =
            messages[1]["content"].as_array().unwrap().iter().map(|block| block["type"].clone()).collect();
        assert_eq!(kinds, ["tool_result", "tool_result", "text", "text"]);
    }

    #[test]
    fn a_message_for_a_program_has_results_only() {
        for (kind, kinds) in [("code_execution_20250825", &["tool_result"][..]), ("direct", &["tool_result", "text"])] {
            let made = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}, "caller": {"type": kind, "tool_id": "s"}});
            let mut request = request(r#"{"messages":[]}"#);
            request.push_assistant(&answer_of(&json!([made])).choices()[0].message);
            request.push_tool_result(&self::made("a"), "wrong", true);
            request.push_user("Answer now.");
            let blocks = request.to_value()["messages"][1]["content"].clone();
            let seen: Vec<&str> =
                blocks.as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
            assert_eq!(seen, kinds, "{kind}");
            assert!(blocks.to_string().contains("Answer now."), "{kind}");
        }
    }

    #[test]
    fn blank_texts_and_empty_answers_are_left_out() {
        let mut request = request(r#"{"messages":[]}"#);
        let blank = json!([{"type": "text", "text": ""}, call("a", "f"), {"type": "text", "text": "\n\n"}]);
        request.push_assistant(&answer_of(&blank).choices()[0].message);
        request.push_user("again");
        request.push_assistant(&answer_of(&json!([{"type": "text", "text": ""}])).choices()[0].message);
        request.push_user("and again");
        assert_eq!(
            request.to_value()["messages"],
            json!([
                {"role": "assistant", "content": [call("a", "f")]},
                {"role": "user", "content": [{"type": "text", "text": "again"}, {"type": "text", "text": "and again"}]},
            ])
        );
    }

    #[test]
    fn generated_ids_are_those_of_the_results() {
        let completion = answer_of(&json!([{"type": "tool_use", "name": "f", "input": "{\"x\":1}"}]));
        let message = &completion.choices()[0].message;
        let mut request = request(r#"{"messages":[]}"#);
        request.push_assistant(message);
        request.push_tool_result(&message.calls()[0], "done", false);
        let messages = request.to_value()["messages"].clone();
        let block = &messages[0]["content"][0];
        assert_eq!((&block["id"], &block["input"]), (&messages[1]["content"][0]["tool_use_id"], &json!({"x": 1})));
    }

    #[test]
    fn unreadable_input_becomes_an_empty_object() {
        let completion = answer_of(&json!([{"type": "tool_use", "id": "a", "name": "f", "input": "{\"x\": "}]));
        let mut request = request(r#"{"messages":[]}"#);
        request.push_assistant(&completion.choices()[0].message);
        assert_eq!(request.to_value()["messages"][0]["content"], json!([call("a", "f")]));
    }
}
