//! Assembly of a streamed answer.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::answer::{MessagesAnswer, STOP_REASON, USAGE};
use super::blocks::{CONTENT, TEXT};
use super::events::{
    BLOCK_DELTA, BLOCK_START, BLOCK_STOP, ERROR, EventData, MESSAGE_DELTA, MESSAGE_START, MESSAGE_STOP, PING,
    StreamEvent,
};
use super::streamed_block::{BlockDelta, ContentKind, StreamedBlock, is_regular_start};
use crate::assembler::keep_last;
use crate::fields::{ObjectFields, string};
use crate::parts::{AnswerForm, EventRole, MAX_PARTS, StreamForm};
use crate::{AnswerError, Completion, SseEvent};
use callwright_common::json::{RawObject, raw};
use callwright_types::Protocol;

/// A streamed answer that is being assembled.
#[derive(Debug)]
pub(crate) struct MessagesAssembly {
    max_bytes: usize,
    bytes: usize,
    /// Members of `message_start.message`, and those that later events state for the answer.
    message: IndexMap<String, Box<RawValue>>,
    usage: IndexMap<String, Box<RawValue>>,
    blocks: Vec<StreamedBlock>,
    /// Position of the last block for each index.
    by_index: HashMap<u64, usize>,
    /// Position of the block that was begun and not ended.
    open: Option<usize>,
    call_ids: HashSet<String>,
    text: String,
    phase: StreamPhase,
    irregular: bool,
}

/// Progress of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StreamPhase {
    /// Before `message_start`.
    New,
    /// Between `message_start` and the stop reason.
    Begun,
    /// The stop reason is known.
    Finished,
    /// After `message_stop`.
    Stopped,
}

impl MessagesAssembly {
    /// Creates an assembly that rejects answers whose events exceed `max_bytes` bytes in total.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            bytes: 0,
            message: IndexMap::new(),
            usage: IndexMap::new(),
            blocks: Vec::new(),
            by_index: HashMap::new(),
            open: None,
            call_ids: HashSet::new(),
            text: String::new(),
            phase: StreamPhase::New,
            irregular: false,
        }
    }

    fn add(&mut self, event: &StreamEvent<'_>) -> Result<EventRole, AnswerError> {
        self.irregular |= self.phase == StreamPhase::Stopped;
        Ok(match event.kind.as_ref() {
            MESSAGE_START => {
                self.start(event);
                EventRole::Head
            }
            BLOCK_START => self.start_block(event)?.role(),
            BLOCK_DELTA => self.add_delta(event)?.map_or(EventRole::Other, ContentKind::role),
            BLOCK_STOP => self.stop_block(event).map_or(EventRole::Other, ContentKind::role),
            MESSAGE_DELTA => {
                self.finish(event);
                EventRole::End
            }
            MESSAGE_STOP => {
                self.irregular |= self.phase != StreamPhase::Finished;
                self.phase = self.phase.max(if self.is_finished() { StreamPhase::Stopped } else { self.phase });
                EventRole::End
            }
            _ => EventRole::Other,
        })
    }

    /// Adds the head. A repeated head is ignored.
    fn start(&mut self, event: &StreamEvent<'_>) {
        let message = event.fields.object("message");
        self.irregular |= self.phase != StreamPhase::New || !message.as_ref().is_some_and(is_regular_head);
        if self.phase != StreamPhase::New {
            return;
        }
        self.phase = StreamPhase::Begun;
        for (key, value) in message.iter().flat_map(ObjectFields::iter) {
            keep_last(&mut self.message, key, value);
        }
        for (key, value) in message.and_then(|message| message.object(USAGE)).iter().flat_map(ObjectFields::iter) {
            keep_last(&mut self.usage, key, value);
        }
    }

    fn start_block(&mut self, event: &StreamEvent<'_>) -> Result<ContentKind, AnswerError> {
        let Some((start, block)) = event.fields.get("content_block").and_then(|start| {
            let block = ObjectFields::parse(start.get())?;
            Some((start, block))
        }) else {
            self.irregular = true;
            return self.begin(event.index(), &RawObject::default().to_raw());
        };
        self.irregular |= !is_regular_start(&block);
        let kind = self.begin(event.index(), start)?;
        match kind {
            ContentKind::Text => self.text.push_str(&block.string(TEXT).unwrap_or_default()),
            ContentKind::Call => {
                let id = block.string("id").map(Cow::into_owned).unwrap_or_default();
                self.irregular |= !self.call_ids.insert(id);
            }
            ContentKind::Thinking | ContentKind::RedactedThinking | ContentKind::Other => {}
        }
        Ok(kind)
    }

    fn begin(&mut self, index: Option<u64>, start: &RawValue) -> Result<ContentKind, AnswerError> {
        let at = self.blocks.len();
        if at >= MAX_PARTS {
            return Err(AnswerError::new(format!("the streamed answer has more than {MAX_PARTS} parts")));
        }
        let is_in_order = index.is_some_and(|index| usize::try_from(index) == Ok(at));
        self.irregular |= !is_in_order || self.open.is_some() || self.phase != StreamPhase::Begun;
        if let Some(index) = index {
            self.by_index.insert(index, at);
        }
        self.open = Some(at);
        let block = StreamedBlock::new(start);
        let kind = block.kind;
        self.blocks.push(block);
        Ok(kind)
    }

    fn add_delta(&mut self, event: &StreamEvent<'_>) -> Result<Option<ContentKind>, AnswerError> {
        let Some(fields) = event.fields.object("delta") else {
            self.irregular = true;
            return Ok(None);
        };
        let delta = BlockDelta::of(&fields);
        let index = event.index();
        let at = match self.target(index, delta) {
            Some(at) => at,
            None => {
                self.irregular = true;
                let Some(block) = delta.new_block() else { return Ok(None) };
                self.begin(index, &block.to_raw())?;
                self.blocks.len() - 1
            }
        };
        let is_expected = index.is_some() && self.open == Some(at) && self.phase == StreamPhase::Begun;
        self.irregular |= !is_expected || index.and_then(|index| self.by_index.get(&index)) != Some(&at);
        if let BlockDelta::Text(Some(piece)) = delta {
            self.text.push_str(&string(piece).unwrap_or_default());
        }
        let Some(block) = self.blocks.get_mut(at) else { return Ok(None) };
        self.irregular |= !block.push(delta, &fields);
        Ok(Some(block.kind))
    }

    /// Returns the position of the block that takes a delta: the one with its index, the last one, or for a signature the
    /// last one with thinking.
    fn target(&self, index: Option<u64>, delta: BlockDelta<'_>) -> Option<usize> {
        let indexed = index.and_then(|index| self.by_index.get(&index).copied());
        let last = self.blocks.len().checked_sub(1);
        let mut candidates = indexed.into_iter().chain(last);
        let target = candidates.find(|at| self.blocks.get(*at).is_some_and(|block| block.kind.takes(&delta)));
        match delta {
            BlockDelta::Signature(_) => {
                target.or_else(|| self.blocks.iter().rposition(|block| block.kind == ContentKind::Thinking))
            }
            _ => target,
        }
    }

    fn stop_block(&mut self, event: &StreamEvent<'_>) -> Option<ContentKind> {
        let index = event.index();
        let indexed = index.and_then(|index| self.by_index.get(&index).copied());
        self.irregular |= indexed.is_none() || indexed != self.open || self.phase != StreamPhase::Begun;
        let at = indexed.or(self.open)?;
        if self.open == Some(at) {
            self.open = None;
        }
        self.blocks.get(at).map(|block| block.kind)
    }

    /// Adds a `message_delta`. There may be several of them.
    fn finish(&mut self, event: &StreamEvent<'_>) {
        let delta = event.fields.object("delta");
        let usage = event.fields.object(USAGE);
        self.irregular |= self.phase == StreamPhase::New || self.open.is_some() || delta.is_none() || usage.is_none();
        if let Some(delta) = delta {
            if delta.string(STOP_REASON).is_some() {
                self.phase = self.phase.max(StreamPhase::Finished);
            }
            keep_known(&mut self.message, &delta, &[]);
        }
        if let Some(usage) = usage {
            keep_known(&mut self.usage, &usage, &[]);
        }
        keep_known(&mut self.message, &event.fields, &["type", "delta", USAGE, CONTENT]);
    }
}

impl StreamForm for MessagesAssembly {
    fn take(&mut self, event: &SseEvent) -> Result<EventRole, AnswerError> {
        let data = match EventData::read(event)? {
            EventData::Empty => return Ok(EventRole::Ping),
            EventData::Done => {
                self.irregular = true;
                return Ok(EventRole::End);
            }
            EventData::Object(data) => data,
        };
        match data.kind.as_ref() {
            PING => return Ok(EventRole::Ping),
            ERROR => return Ok(EventRole::Error),
            _ => {}
        }
        self.irregular |= !data.is_named;
        self.bytes = self.bytes.saturating_add(event.data.as_ref().map_or(0, String::len));
        if self.bytes > self.max_bytes {
            return Err(AnswerError::new("the streamed answer is longer than the configured limit"));
        }
        self.add(&data)
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn has_calls(&self) -> bool {
        self.blocks.iter().any(|block| block.kind == ContentKind::Call)
    }

    fn is_finished(&self) -> bool {
        self.phase >= StreamPhase::Finished
    }

    /// The last event may be missing: a stream that ends after its stop reason conforms so far.
    fn is_conformant(&self) -> bool {
        !self.irregular
    }

    fn into_completion(self: Box<Self>) -> Completion {
        let blocks: Vec<Box<RawValue>> = self.blocks.into_iter().map(StreamedBlock::into_raw).collect();
        let mut message = self.message;
        let minted = MessagesAnswer.minted("");
        for (key, value) in minted.iter() {
            if !message.contains_key(key) {
                let value = if key == STOP_REASON { raw(&()) } else { value.to_owned() };
                message.insert(key.to_owned(), value);
            }
        }
        message.insert("type".to_owned(), raw("message"));
        message.insert(CONTENT.to_owned(), raw(&blocks));
        if !self.usage.is_empty() {
            message.insert(USAGE.to_owned(), self.usage.into_iter().collect::<RawObject>().to_raw());
        }
        // A message with a list of blocks, whose number was limited above, is a complete answer.
        Completion::read(Protocol::Messages, message.into_iter().collect())
            .unwrap_or_else(|_| Completion::of_text(Protocol::Messages, "", ""))
    }
}

/// Whether the message of a head conforms to the API reference: an id, token counts, and no blocks yet.
fn is_regular_head(message: &ObjectFields<'_>) -> bool {
    message.string("id").is_some_and(|id| !id.is_empty())
        && message.object(USAGE).is_some()
        && message.items(CONTENT).is_some_and(|blocks| blocks.is_empty())
}

/// Keeps the members that are not `null`, except for some.
fn keep_known(fields: &mut IndexMap<String, Box<RawValue>>, members: &ObjectFields<'_>, except: &[&str]) {
    for (key, value) in members.iter() {
        if value.get() != "null" && !except.contains(&key) {
            keep_last(fields, key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{
        assembled, call, completion_of, delta, ending, event, head, input_delta, start, stop, text_delta,
    };
    use super::*;

    fn text_block() -> Value {
        json!({"type": "text", "text": ""})
    }

    fn thinking_block() -> Value {
        json!({"type": "thinking", "thinking": "", "signature": ""})
    }

    /// Returns the blocks of a stream between head and end, and whether it conforms.
    fn blocks_of(events: &[Value]) -> (Value, bool) {
        let mut all = vec![head()];
        all.extend_from_slice(events);
        all.extend(ending("end_turn"));
        let assembly = assembled(&all);
        assert!(assembly.is_finished());
        let is_conformant = assembly.is_conformant();
        (completion_of(assembly)["content"].clone(), is_conformant)
    }

    fn tolerated(events: &[Value], expected: &Value) {
        assert_eq!(blocks_of(events), (expected.clone(), false));
    }

    #[test]
    fn a_regular_stream_becomes_the_answer_of_an_unstreamed_request() {
        let citation = json!({"type": "char_location", "cited_text": "x"});
        let search = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
        let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "u"}]});
        let mut events = vec![
            head(),
            start(0, thinking_block()),
            json!({"type": "ping"}),
            delta(0, json!({"type": "thinking_delta", "thinking": "h", "estimated_tokens": 5})),
            delta(0, json!({"type": "thinking_delta", "thinking": "m"})),
            delta(0, json!({"type": "signature_delta", "signature": "s=="})),
            stop(0),
            start(1, json!({"type": "redacted_thinking", "data": "x"})),
            stop(1),
            start(2, search),
            input_delta(2, "{\"query\""),
            input_delta(2, ":\"q\"}"),
            stop(2),
            start(3, found.clone()),
            stop(3),
            start(4, json!({"type": "text", "text": "", "citations": []})),
            text_delta(4, "Hel"),
            text_delta(4, "lo"),
            delta(4, json!({"type": "citations_delta", "citation": citation})),
            stop(4),
            start(5, call("toolu_1", "f")),
            input_delta(5, ""),
            input_delta(5, "{\"n\":1.0"),
            input_delta(5, "0}"),
            stop(5),
        ];
        events.extend(ending("tool_use"));
        let assembly = assembled(&events);
        assert!(assembly.is_conformant() && assembly.is_finished() && assembly.has_calls());
        assert_eq!(assembly.text(), "Hello");
        let completion = Box::new(assembly).into_completion();
        assert_eq!(completion.choices()[0].message.calls()[0].arguments, "{\"n\":1.00}");
        assert_eq!(completion.usage().unwrap().total_tokens, 14);
        assert_eq!(
            completion.to_value(),
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s=="},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
                found,
                {"type": "text", "text": "Hello", "citations": [citation]},
                {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"n": 1.00}},
            ], "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 9}})
        );
    }

    #[test]
    fn events_have_the_role_of_their_block() {
        let mut assembly = MessagesAssembly::new(10_000);
        let mut role = |data: &Value| assembly.take(&event(data)).unwrap();
        assert_eq!(role(&head()), EventRole::Head);
        for (index, (block, expected)) in [
            (text_block(), EventRole::Text),
            (thinking_block(), EventRole::Reasoning),
            (json!({"type": "redacted_thinking"}), EventRole::Reasoning),
            (call("a", "f"), EventRole::Call),
            (json!({"type": "server_tool_use"}), EventRole::Other),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(role(&start(index, block)), expected);
            assert_eq!(role(&delta(index, json!({"type": "future_delta"}))), expected);
            assert_eq!(role(&stop(index)), expected);
        }
        assert_eq!(role(&json!({"type": "future"})), EventRole::Other);
        assert_eq!(ending("end_turn").map(|data| role(&data)), [EventRole::End; 2]);
        assert_eq!(role(&json!({"type": "error", "error": {"type": "overloaded_error"}})), EventRole::Error);
        assert_eq!(role(&json!({"error": {"message": "m"}})), EventRole::Error);
        assert_eq!(role(&json!({"type": "ping"})), EventRole::Ping);
        let comment = SseEvent { raw: ": ping\n\n".into(), data: None };
        assert_eq!(assembly.take(&comment).unwrap(), EventRole::Ping);
        assert!(assembly.is_conformant());
    }

    #[test]
    fn usage_is_cumulative_and_other_members_of_the_end_are_kept() {
        let mut events = vec![head()];
        events.push(
            json!({"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": {"type": "refusal"}},
            "usage": {"input_tokens": null, "output_tokens": 4}, "context_management": {"applied_edits": []}}),
        );
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": null}, "usage": {"output_tokens": 5}}));
        events.push(json!({"type": "message_stop"}));
        let assembly = assembled(&events);
        assert!(assembly.is_conformant());
        let value = completion_of(assembly);
        assert_eq!(value["usage"], json!({"input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 5}));
        assert_eq!((&value["stop_reason"], &value["stop_details"]), (&json!("refusal"), &json!({"type": "refusal"})));
        assert_eq!(value["context_management"], json!({"applied_edits": []}));
    }

    #[test]
    fn members_of_unknown_deltas_continue_those_of_the_block() {
        let block = json!({"type": "compaction", "content": null, "list": [1], "n": 1});
        let pieces = [json!({"content": "a", "list": [2]}), json!({"content": "b", "n": 2, "new": null})];
        let [first, second] = pieces.map(|mut piece| {
            piece["type"] = json!("compaction_delta");
            delta(0, piece)
        });
        assert_eq!(
            blocks_of(&[start(0, block), first, second, stop(0)]),
            (json!([{"type": "compaction", "content": "ab", "list": [1, 2], "n": 2, "new": null}]), true)
        );
    }

    #[test]
    fn a_block_without_deltas_keeps_its_bytes() {
        let block = r#"{"type":"future", "x":1.00,"y":"\u0041"}"#;
        let data = format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
        let mut assembly = assembled(&[head()]);
        assembly.take(&SseEvent { raw: "".into(), data: Some(data) }).unwrap();
        let body = Box::new(assembly).into_completion().to_bytes();
        assert!(std::str::from_utf8(&body).unwrap().contains(block));
    }

    // maximhq/bifrost 5638: the signature came in a delta of thinking, where clients do not look for it.
    #[test]
    fn a_signature_is_found_in_other_deltas_and_in_the_start() {
        let thinking = |signature: &str| json!([{"type": "thinking", "thinking": "hm", "signature": signature}]);
        let piece = delta(0, json!({"type": "thinking_delta", "thinking": "hm"}));
        let misplaced = delta(0, json!({"type": "thinking_delta", "thinking": "", "signature": "s"}));
        tolerated(&[start(0, thinking_block()), piece.clone(), misplaced, stop(0)], &thinking("s"));
        let signed = json!({"type": "thinking", "thinking": "", "signature": "s"});
        tolerated(&[start(0, signed), piece.clone(), stop(0)], &thinking("s"));
        let late = [
            start(0, thinking_block()),
            piece,
            stop(0),
            start(1, text_block()),
            delta(1, json!({"type": "signature_delta", "signature": "s"})),
            stop(1),
        ];
        let (blocks, is_conformant) = blocks_of(&late);
        assert_eq!((&blocks[0], &blocks[1], is_conformant), (&thinking("s")[0], &text_block(), false));
    }

    #[test]
    fn input_that_is_not_an_object_stays_the_text_of_the_model() {
        for (text, input) in [
            ("", json!({})),
            (" ", json!({})),
            ("{\"a\":[1,", json!("{\"a\":[1,")),
            ("nonsense", json!("nonsense")),
            ("[1]", json!("[1]")),
            ("\"a\"", json!("\"a\"")),
        ] {
            let events = [start(0, call("a", "f")), input_delta(0, text), stop(0)];
            let mut expected = call("a", "f");
            expected["input"] = input;
            assert_eq!(blocks_of(&events), (json!([expected]), true), "{text}");
        }
        let mut events = vec![head(), start(0, call("a", "f")), input_delta(0, "{\"a\":"), stop(0)];
        events.extend(ending("max_tokens"));
        let completion = Box::new(assembled(&events)).into_completion();
        let message = &completion.choices()[0].message;
        assert_eq!(message.calls()[0].arguments, "{\"a\":");
        assert!(!message.is_well_formed());
    }

    #[test]
    fn whole_inputs_are_tolerated() {
        let mut whole = call("a", "f");
        whole["input"] = json!({"x": 1});
        tolerated(&[start(0, whole.clone()), stop(0)], &json!([whole]));
        tolerated(&[start(0, whole.clone()), input_delta(0, ""), stop(0)], &json!([whole]));
        tolerated(&[start(0, whole.clone()), input_delta(0, "{\"x\":1}"), stop(0)], &json!([whole]));
        let object = delta(0, json!({"type": "input_json_delta", "partial_json": {"x": 1}}));
        tolerated(&[start(0, call("a", "f")), object, stop(0)], &json!([whole]));
        let bare = json!({"type": "tool_use", "id": "a", "name": "f"});
        tolerated(&[start(0, bare), stop(0)], &json!([call("a", "f")]));
    }

    #[test]
    fn missing_and_repeated_indexes_are_tolerated() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let without_index = |mut data: Value| {
            data.as_object_mut().unwrap().remove("index");
            data
        };
        let events = [
            start(0, text_block()),
            text_delta(0, "a"),
            stop(0),
            start(1, call("c", "f")),
            input_delta(1, "{}"),
            stop(1),
        ];
        let expected = json!([text("a"), call("c", "f")]);
        assert_eq!(blocks_of(&events), (expected.clone(), true));
        tolerated(&events.clone().map(without_index), &expected);
        tolerated(
            &events.map(|mut data| {
                data["index"] = json!(0);
                data
            }),
            &expected,
        );
        tolerated(
            &[start(0, text_block()), text_delta(0, "a"), start(1, text_block()), text_delta(1, "b")],
            &json!([text("a"), text("b")]),
        );
        tolerated(&[start(3, text_block()), text_delta(3, "a"), stop(3)], &json!([text("a")]));
        tolerated(&[start(0, text_block()), stop(0), stop(0)], &json!([text("")]));
    }

    #[test]
    fn deltas_without_a_block_of_their_kind_begin_one() {
        let events = [
            start(0, thinking_block()),
            text_delta(0, "a"),
            text_delta(0, "b"),
            delta(0, json!({"type": "thinking_delta", "thinking": "c"})),
        ];
        tolerated(
            &events,
            &json!([thinking_block(), {"type": "text", "text": "ab"}, {"type": "thinking", "thinking": "c"}]),
        );
        tolerated(&[delta(0, json!({"type": "future_delta"})), delta(0, json!({"type": "future_delta"}))], &json!([]));
        tolerated(&[text_delta(0, "a")], &json!([{"type": "text", "text": "a"}]));
    }

    #[test]
    fn deviations_of_single_events_do_not_conform() {
        let end = ending("end_turn");
        let [finish, last] = &end;
        let without = |mut data: Value, key: &str| {
            data.as_object_mut().unwrap().remove(key);
            data
        };
        for events in [
            vec![start(0, text_block())],
            vec![head(), head()],
            vec![json!({"type": "message_start"})],
            vec![head(), start(0, text_block()), finish.clone()],
            vec![head(), without(finish.clone(), "usage")],
            vec![head(), last.clone()],
            vec![head(), finish.clone(), start(0, text_block())],
            vec![head(), finish.clone(), last.clone(), last.clone()],
            vec![head(), start(0, call("", "f"))],
            vec![head(), start(0, call("functions.f:0", "f"))],
            vec![head(), start(0, call("a", ""))],
            vec![head(), start(0, call("a", "f")), stop(0), start(1, call("a", "f"))],
            vec![head(), json!({"type": "content_block_start", "index": 0})],
            vec![head(), start(0, text_block()), json!({"type": "content_block_delta", "index": 0})],
            vec![head(), start(0, text_block()), delta(0, json!({"type": "text_delta"}))],
        ] {
            assert!(!assembled(&events).is_conformant(), "{events:?}");
        }
        let mut unnamed = event(&head());
        unnamed.raw = format!("data: {}\n\n", head()).into();
        let mut assembly = MessagesAssembly::new(1000);
        assert_eq!(assembly.take(&unnamed).unwrap(), EventRole::Head);
        assert!(!assembly.is_conformant());
        let untyped = SseEvent { raw: "event: message_stop\ndata: {}\n\n".into(), data: Some("{}".into()) };
        assert_eq!(assembly.take(&untyped).unwrap(), EventRole::End);
        let done = SseEvent { raw: "data: [DONE]\n\n".into(), data: Some("[DONE]".into()) };
        assert_eq!(assembly.take(&done).unwrap(), EventRole::End);
    }

    #[test]
    fn an_unfinished_stream_has_no_stop_reason() {
        let assembly = assembled(&[]);
        assert!(!assembly.is_finished() && assembly.is_conformant());
        let value = completion_of(assembly);
        assert_eq!((&value["stop_reason"], &value["content"]), (&Value::Null, &json!([])));
        let assembly = assembled(&[head(), ending("end_turn")[0].clone()]);
        assert!(assembly.is_finished(), "the last event may be missing");
    }

    #[test]
    fn limits_are_enforced() {
        let mut assembly = MessagesAssembly::new(1000);
        assembly.take(&event(&head())).unwrap();
        assembly.take(&event(&start(0, text_block()))).unwrap();
        let error = (0..100).find_map(|_| assembly.take(&event(&text_delta(0, "canary"))).err()).unwrap();
        assert!(error.message.contains("limit") && !error.message.contains("canary"));
        let mut assembly = MessagesAssembly::new(usize::MAX);
        let error = (0..=MAX_PARTS).find_map(|at| assembly.take(&event(&start(at, text_block()))).err()).unwrap();
        assert!(error.message.contains("parts"));
        let text = SseEvent { raw: "".into(), data: Some("canary".into()) };
        assert!(!MessagesAssembly::new(1000).take(&text).unwrap_err().message.contains("canary"));
    }
}
