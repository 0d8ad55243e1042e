//! Reasoning in the conversation of a request.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use super::blocks::{ASSISTANT, CONTENT, reasoning_part};
use super::views::elements;
use crate::ReasoningPart;
use crate::fields::ObjectFields;
use crate::request::RequestFields;
use callwright_common::json::{RawObject, raw};

/// Returns the reasoning in the answers of the model, in order.
pub(super) fn reasoning(fields: &RequestFields) -> Vec<ReasoningPart> {
    let blocks = elements(fields).into_iter().flat_map(answer_blocks);
    blocks.filter_map(block_reasoning).collect()
}

/// Returns the conversation without some of its reasoning, by position in [`reasoning`]. An answer of which no block
/// remains is left out, because the API rejects empty messages.
pub(super) fn without_reasoning(fields: &RequestFields, positions: &BTreeSet<usize>) -> Box<RawValue> {
    let mut next = 0;
    let mut conversation: Vec<Box<RawValue>> = Vec::new();
    for element in elements(fields) {
        let blocks = answer_blocks(element);
        let mut remaining: Vec<&RawValue> = Vec::with_capacity(blocks.len());
        // The last removed block of those at the beginning.
        let mut first = None;
        for block in &blocks {
            let is_reasoning = block_reasoning(block).is_some();
            if !(is_reasoning && positions.contains(&next)) {
                remaining.push(block);
            } else if remaining.is_empty() {
                first = Some(*block);
            }
            next += usize::from(is_reasoning);
        }
        // A model need not think again after feedback. The API then requires the earlier block: with thinking, the answer
        // before results begins with one.
        let begins_without = remaining.first().is_some_and(|block| block_reasoning(block).is_none());
        if let Some(first) = first.filter(|_| begins_without && is_thinking(fields)) {
            remaining.insert(0, first);
        }
        if remaining.len() == blocks.len() {
            conversation.push(element.to_owned());
        } else if !remaining.is_empty() {
            let Ok(mut message) = RawObject::parse(element.get()) else { continue };
            message.set(CONTENT, raw(&remaining));
            conversation.push(message.to_raw());
        }
    }
    raw(&conversation)
}

/// Whether the model thinks before its answer: `thinking` of any type but `disabled`.
pub(super) fn is_thinking(fields: &RequestFields) -> bool {
    let thinking = fields.get("thinking").and_then(ObjectFields::parse);
    thinking.is_some_and(|thinking| thinking.string("type").is_some_and(|kind| kind != "disabled"))
}

/// Returns the blocks of an answer of the model; none for other elements.
fn answer_blocks(element: &RawValue) -> Vec<&RawValue> {
    let message = ObjectFields::parse(element.get());
    let answer = message.filter(|message| message.string("role").as_deref() == Some(ASSISTANT));
    answer.and_then(|answer| answer.items(CONTENT)).unwrap_or_default()
}

fn block_reasoning(block: &RawValue) -> Option<ReasoningPart> {
    reasoning_part(&ObjectFields::parse(block.get())?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::testing::request;

    #[test]
    fn blocks_are_removed_and_the_rest_keeps_its_bytes() {
        let first = r#"{"type":"thinking","thinking":"a","signature":"s1"}"#;
        let second = r#"{"type":"thinking", "thinking":"\u0062","signature":"s2"}"#;
        let redacted = r#"{"type":"redacted_thinking","data":"x"}"#;
        let text = r#"{"type":"text", "text":"t"}"#;
        let user = r#"{"role":"user", "content":"u"}"#;
        let answer = |blocks: &str| format!(r#"{{"role":"assistant","content":[{blocks}]}}"#);
        let body = |messages: &[&str]| format!(r#"{{"messages":[{}]}}"#, messages.join(","));
        let before = body(&[
            user,
            &answer(&format!("{first},{second},{text}")),
            user,
            &answer(redacted),
            r#"{"role":"assistant","content":"x"}"#,
        ]);
        let mut request = request(&before);
        assert_eq!(request.reasoning().len(), 3);
        request.remove_reasoning(&BTreeSet::new());
        assert_eq!(request.to_bytes(), before);
        request.remove_reasoning(&BTreeSet::from([0, 2]));
        let after = body(&[user, &answer(&format!("{second},{text}")), user, r#"{"role":"assistant","content":"x"}"#]);
        assert_eq!(request.to_bytes(), after);
        assert_eq!(request.messages().len(), 4);
    }

    #[test]
    fn with_thinking_an_answer_keeps_the_block_that_it_begins_with() {
        let blocks = ["a", "b"].map(|text| format!(r#"{{"type":"thinking","thinking":"{text}","signature":"s"}}"#));
        let call = r#"{"type":"tool_use","id":"c","name":"f","input":{}}"#;
        let body = |thinking: &str, blocks: &str| {
            format!(
                r#"{{"thinking":{{"type":"{thinking}"}},"messages":[{{"role":"assistant","content":[{blocks}]}}]}}"#
            )
        };
        for (thinking, after) in [("enabled", format!("{},{call}", blocks[1])), ("disabled", call.to_owned())] {
            let mut request = request(&body(thinking, &format!("{},{call}", blocks.join(","))));
            request.remove_reasoning(&BTreeSet::from([0, 1]));
            assert_eq!(request.to_bytes(), body(thinking, &after));
        }
    }
}
