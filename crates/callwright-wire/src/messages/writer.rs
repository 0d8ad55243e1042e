//! Events that the client has, and the writer of the others.

use std::borrow::Cow;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;

use super::answer::{MessagesAnswer, STOP_REASON, STOP_SEQUENCE, USAGE, error_type};
use super::blocks::{CONTENT, SIGNATURE, TEXT, THINKING, arguments, reasoning_part};
use super::events::{
    BLOCK_DELTA, BLOCK_START, BLOCK_STOP, ERROR, MESSAGE_DELTA, MESSAGE_START, MESSAGE_STOP, StreamEvent, write_event,
};
use super::streamed_block::{BlockDelta, ContentKind, StreamedBlock};
use crate::emit::retry_after;
use crate::fields::{ObjectFields, object, present, string};
use crate::parts::{AnswerForm, EventWriter, PartKind, PartsForm};
use crate::{Completion, ReasoningPart, SseEvent};
use callwright_common::json::{RawObject, raw};

/// Member of the last event with the description of the proxy's work.
const DEBUG: &str = "callwright";

/// Members of an answer that a stream sends in `message_delta.delta` and clients reset if they are missing.
const OPTIONAL_ENDING: [&str; 2] = ["stop_details", "container"];

/// Members of an answer that a stream sends in `message_delta` itself.
const ENDING: [&str; 2] = ["context_management", DEBUG];

/// The events of a stream that the client has.
#[derive(Debug, Default)]
pub(crate) struct MessagesWriter {
    has_head: bool,
    /// Number of blocks that were begun.
    blocks: usize,
    /// Index of the next block.
    next_index: u64,
    open: Option<SentBlock>,
    /// Text of the blocks that were ended.
    text: String,
    /// Reasoning at the end of the ended blocks of the last attempt.
    trailing_reasoning: Vec<ReasoningPart>,
    /// Number of blocks at the beginning of each further attempt.
    further: Vec<usize>,
    /// Index of the open block in its own attempt, if that is a further one.
    own_index: Option<u64>,
    /// Reason of the end that the client has.
    stop_reason: Option<String>,
    is_stopped: bool,
}

impl MessagesWriter {
    fn record(&mut self, event: &StreamEvent<'_>) {
        match event.kind.as_ref() {
            MESSAGE_START => self.has_head = true,
            BLOCK_START => {
                self.end_block();
                let index = event.index().unwrap_or(self.next_index);
                self.open = Some(SentBlock::begun(index, event));
                self.blocks += 1;
                self.next_index = self.next_index.max(index).saturating_add(1);
            }
            BLOCK_DELTA => {
                if let Some(open) = &mut self.open {
                    open.push(event);
                }
            }
            BLOCK_STOP => drop(self.end_block()),
            MESSAGE_DELTA => {
                let delta = event.fields.object("delta");
                let reason = delta.and_then(|delta| delta.string(STOP_REASON)).map(Cow::into_owned);
                self.stop_reason = reason.or_else(|| self.stop_reason.take());
            }
            MESSAGE_STOP | ERROR => self.is_stopped = true,
            _ => {}
        }
    }

    /// Ends the open block and keeps its text.
    fn end_block(&mut self) -> Option<SentBlock> {
        let open = self.open.take()?;
        self.text.push_str(&open.text());
        match open.is_reasoning() {
            true => self.trailing_reasoning.extend(open.reasoning()),
            false => self.trailing_reasoning.clear(),
        }
        Some(open)
    }

    /// Returns the number of blocks that the client has of an attempt.
    fn blocks_of(&self, attempt: usize) -> usize {
        let start = attempt.checked_sub(1).and_then(|at| self.further.get(at)).copied().unwrap_or_default();
        self.further.get(attempt).unwrap_or(&self.blocks).saturating_sub(start)
    }

    fn write_blocks(&mut self, parts: &[Box<RawValue>], attempt: Option<usize>, out: &mut BytesMut) {
        let sent = attempt.map_or(0, |attempt| self.blocks_of(attempt));
        if let Some(open) = self.end_block() {
            let is_of_answer = attempt == Some(self.further.len());
            if let Some(part) = sent.checked_sub(1).and_then(|last| parts.get(last)).filter(|_| is_of_answer) {
                open.write_deltas(part, out);
            }
            open.write_stop(out);
        }
        // Further attempts have no text here before their answer is written.
        let mut earlier = if attempt == Some(0) { String::new() } else { std::mem::take(&mut self.text) };
        let sent_parts = parts.get(..sent).unwrap_or_default();
        let is_ended = attempt == Some(0) && !self.further.is_empty();
        let unsent = if is_ended { unsent_text(sent_parts, &self.text) } else { None };
        for part in unsent.iter().chain(parts.iter().skip(sent)) {
            let Some(part) = without_earlier(part, &mut earlier) else { continue };
            write_block(self.next_index, &part, out);
            self.blocks += 1;
            self.next_index = self.next_index.saturating_add(1);
        }
    }
}

impl EventWriter for MessagesWriter {
    fn forwarded(&mut self, event: &SseEvent) {
        if let Ok(Some(event)) = StreamEvent::read(event) {
            self.record(&event);
        }
    }

    fn begin_attempt(&mut self, out: &mut BytesMut) {
        if let Some(open) = self.end_block() {
            open.write_stop(out);
        }
        self.trailing_reasoning.clear();
        self.further.push(self.blocks);
    }

    fn forward_further(&mut self, event: &SseEvent, out: &mut BytesMut) -> bool {
        let Ok(Some(data)) = StreamEvent::read(event) else { return false };
        let own_index = data.index();
        let (is_open, is_of_open) = (self.open.is_some(), self.open.is_some() && own_index == self.own_index);
        let index = match data.kind.as_ref() {
            BLOCK_START if !is_open => self.next_index,
            BLOCK_DELTA | BLOCK_STOP if is_of_open => self.next_index.saturating_sub(1),
            _ => return false,
        };
        let Some(mut fields) = event.data.as_deref().and_then(|data| RawObject::parse(data).ok()) else { return false };
        fields.set("index", raw(&index));
        let start = out.len();
        write_event(&data.kind, &fields, out);
        let raw = out.get(start..).map(Bytes::copy_from_slice).unwrap_or_default();
        self.forwarded(&SseEvent { raw, data: Some(fields.to_raw().get().to_owned()) });
        self.own_index = own_index;
        true
    }

    fn trailing_reasoning(&self) -> Vec<ReasoningPart> {
        match &self.open {
            Some(open) if !open.is_reasoning() => Vec::new(),
            open => {
                self.trailing_reasoning.iter().cloned().chain(open.as_ref().and_then(SentBlock::reasoning)).collect()
            }
        }
    }

    fn rest(&mut self, answer: &Completion, attempt: Option<usize>, out: &mut BytesMut) {
        if self.is_stopped {
            return;
        }
        let answer = answer.object();
        if !self.has_head {
            let event = object([("type", raw(MESSAGE_START)), ("message", head(&answer).to_raw())]);
            write_event(MESSAGE_START, &event, out);
        }
        let parts: Vec<Box<RawValue>> = answer.get_as(CONTENT).unwrap_or_default();
        self.write_blocks(&parts, attempt, out);
        let reason = MessagesAnswer.finish_reason(&answer);
        if self.stop_reason.is_none() || self.stop_reason != reason || answer.contains(DEBUG) {
            write_event(MESSAGE_DELTA, &ending(&answer), out);
        }
        write_event(MESSAGE_STOP, &object([("type", raw(MESSAGE_STOP))]), out);
        (self.has_head, self.is_stopped) = (true, true);
    }

    fn error(&mut self, body: &[u8], status: StatusCode, headers: &HeaderMap, out: &mut BytesMut) {
        write_event(ERROR, &error_event(body, status, headers), out);
        self.is_stopped = true;
    }
}

/// Returns a part without the text that the client has of an earlier attempt, if it begins with all of it; `None` if
/// nothing remains. Only the first such part is shortened.
fn without_earlier<'a>(part: &'a RawValue, earlier: &mut String) -> Option<Cow<'a, RawValue>> {
    if !earlier.is_empty()
        && let PartKind::Text(text) = MessagesAnswer.read_part(part)
        && let Some(rest) = text.strip_prefix(earlier.as_str())
    {
        earlier.clear();
        return (!rest.is_empty()).then(|| Cow::Owned(MessagesAnswer.with_text(Some(part), rest)));
    }
    Some(Cow::Borrowed(part))
}

/// Returns the text that the client lacks of the blocks of an attempt that was ended before another one began, as a block.
fn unsent_text(sent: &[Box<RawValue>], text: &str) -> Option<Box<RawValue>> {
    let texts = sent.iter().map(|part| match MessagesAnswer.read_part(part) {
        PartKind::Text(text) => text,
        _ => String::new(),
    });
    let whole: String = texts.collect();
    let unsent = whole.strip_prefix(text).filter(|unsent| !unsent.is_empty())?;
    Some(MessagesAnswer.with_text(None, unsent))
}

/// Returns the answer as a stream begins it: without blocks, ending and tokens of the answer.
fn head(answer: &RawObject) -> RawObject {
    let mut head = answer.clone();
    let none: [&RawValue; 0] = [];
    head.set(CONTENT, raw(&none));
    head.set(STOP_REASON, raw(&()));
    head.set(STOP_SEQUENCE, raw(&()));
    if head.contains("stop_details") {
        head.set("stop_details", raw(&()));
    }
    head.remove(DEBUG);
    let mut usage: RawObject = answer.get_as(USAGE).unwrap_or_default();
    if !usage.contains("input_tokens") {
        usage.set("input_tokens", raw(&0));
    }
    usage.set("output_tokens", raw(&0));
    head.set(USAGE, usage.to_raw());
    head
}

/// Returns the event with the reason of the end and the token counts. Clients require the tokens of the answer.
fn ending(answer: &RawObject) -> RawObject {
    let mut delta = object([STOP_REASON, STOP_SEQUENCE].map(|key| (key, member(answer, key))));
    for key in OPTIONAL_ENDING {
        if let Some(value) = present(answer.get(key)) {
            delta.set(key, value.to_owned());
        }
    }
    let mut usage: RawObject = answer.get_as(USAGE).unwrap_or_default();
    if !usage.contains("output_tokens") {
        usage.set("output_tokens", raw(&0));
    }
    let mut event = object([("type", raw(MESSAGE_DELTA)), ("delta", delta.to_raw()), (USAGE, usage.to_raw())]);
    for key in ENDING {
        if let Some(value) = answer.get(key) {
            event.set(key, value.to_owned());
        }
    }
    event
}

/// Returns a member, or `null`.
fn member(answer: &RawObject, key: &str) -> Box<RawValue> {
    answer.get(key).map_or_else(|| raw(&()), ToOwned::to_owned)
}

/// Returns an error event with the members of the error in `body`, the status and the delay that the upstream requests.
/// The type of an error in the form of another protocol follows from the status.
fn error_event(body: &[u8], status: StatusCode, headers: &HeaderMap) -> RawObject {
    let body = std::str::from_utf8(body).ok().and_then(|body| RawObject::parse(body).ok()).unwrap_or_default();
    let is_own_form = body.get("type").and_then(string).as_deref() == Some(ERROR);
    let given: RawObject = body.get_as(ERROR).unwrap_or_default();
    let own_kind = given.get("type").filter(|kind| is_own_form && string(kind).is_some());
    let message = given.get("message").filter(|message| string(message).is_some());
    let message = match message {
        Some(message) => message.to_owned(),
        None => raw(&format!("the upstream answered with status {status}")),
    };
    let kind = own_kind.map_or_else(|| raw(error_type(status)), ToOwned::to_owned);
    let others = given.iter().filter(|(key, value)| !is_replaced(key) && value.get() != "null");
    let others = others.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let wait = retry_after(headers).map(|wait| ("retry_after".to_owned(), raw(&wait)));
    let error: RawObject = [("type".to_owned(), kind), ("message".to_owned(), message)]
        .into_iter()
        .chain(others)
        .chain([("status".to_owned(), raw(&status.as_u16()))])
        .chain(wait)
        .collect();
    let mut event = if is_own_form { body } else { object([("type", raw(ERROR))]) };
    event.set(ERROR, error.to_raw());
    event
}

/// Whether a member of an error is stated by the proxy.
fn is_replaced(key: &str) -> bool {
    matches!(key, "type" | "message" | "status" | "retry_after")
}

/// Member of a text block with its citations.
const CITATIONS: &str = "citations";

/// Content of a block that the client has.
#[derive(Debug)]
pub(super) struct SentBlock {
    index: u64,
    block: StreamedBlock,
}

impl SentBlock {
    /// Reads the event that begins a block.
    pub(super) fn begun(index: u64, event: &StreamEvent<'_>) -> Self {
        let block = event.fields.get("content_block");
        Self { index, block: StreamedBlock::new(block.unwrap_or(&RawObject::default().to_raw())) }
    }

    /// Reads a delta of the block.
    pub(super) fn push(&mut self, event: &StreamEvent<'_>) {
        let Some(fields) = event.fields.object("delta") else { return };
        let delta = BlockDelta::of(&fields);
        if self.block.kind.takes(&delta) {
            self.block.push(delta, &fields);
        }
    }

    /// Returns the text that the client has of a text block.
    pub(super) fn text(&self) -> String {
        let block = self.block.to_raw();
        let fields = ObjectFields::parse(block.get()).filter(|_| self.block.kind == ContentKind::Text);
        fields.and_then(|fields| fields.string(TEXT).map(Cow::into_owned)).unwrap_or_default()
    }

    /// Whether the block has reasoning.
    pub(super) fn is_reasoning(&self) -> bool {
        matches!(self.block.kind, ContentKind::Thinking | ContentKind::RedactedThinking)
    }

    /// Returns the identity of a block with reasoning; `None` for one without any, and for other blocks.
    pub(super) fn reasoning(&self) -> Option<ReasoningPart> {
        reasoning_part(&ObjectFields::parse(self.block.to_raw().get())?)
    }

    /// Writes the deltas that the client lacks of `block`, the whole block.
    pub(super) fn write_deltas(&self, block: &RawValue, out: &mut BytesMut) {
        let (sent, kind) = (self.block.to_raw(), self.block.kind);
        let whole = ObjectFields::parse(block.get()).filter(|fields| ContentKind::of(fields) == kind);
        let (Some(whole), Some(sent)) = (whole, ObjectFields::parse(sent.get())) else { return };
        let text_in = |fields: &ObjectFields<'_>, key| fields.string(key).unwrap_or_default().into_owned();
        let mut write_rest = |kind: &str, key: &str, sent: &str, whole: &str| {
            // Nothing is written if the client has another beginning.
            if let Some(rest) = whole.strip_prefix(sent).filter(|rest| !rest.is_empty()) {
                self.write_delta(kind, key, raw(rest), out);
            }
        };
        match kind {
            ContentKind::Text => {
                write_rest("text_delta", TEXT, &text_in(&sent, TEXT), &text_in(&whole, TEXT));
                let count = sent.items(CITATIONS).map_or(0, |citations| citations.len());
                for citation in whole.items(CITATIONS).unwrap_or_default().into_iter().skip(count) {
                    self.write_delta("citations_delta", "citation", citation.to_owned(), out);
                }
            }
            ContentKind::Thinking => {
                write_rest("thinking_delta", THINKING, &text_in(&sent, THINKING), &text_in(&whole, THINKING));
                if text_in(&sent, SIGNATURE).is_empty() {
                    write_rest("signature_delta", SIGNATURE, "", &text_in(&whole, SIGNATURE));
                }
            }
            ContentKind::Call => {
                let input = whole.get("input").map_or(Cow::Borrowed("{}"), arguments);
                // White space before the input is not part of it.
                write_rest("input_json_delta", "partial_json", self.block.input().trim_start(), &input);
            }
            ContentKind::RedactedThinking | ContentKind::Other => {}
        }
    }

    fn write_delta(&self, kind: &str, key: &str, value: Box<RawValue>, out: &mut BytesMut) {
        let delta = object([("type", raw(kind)), (key, value)]).to_raw();
        let event = object([("type", raw(BLOCK_DELTA)), ("index", raw(&self.index)), ("delta", delta)]);
        write_event(BLOCK_DELTA, &event, out);
    }

    /// Writes the event that ends the block.
    pub(super) fn write_stop(&self, out: &mut BytesMut) {
        write_event(BLOCK_STOP, &object([("type", raw(BLOCK_STOP)), ("index", raw(&self.index))]), out);
    }
}

/// Writes all events of a block.
pub(super) fn write_block(index: u64, block: &RawValue, out: &mut BytesMut) {
    let fields = ObjectFields::parse(block.get());
    let begun = without_content(block, fields.as_ref().map_or(ContentKind::Other, ContentKind::of));
    let sent = SentBlock { index, block: StreamedBlock::new(&begun) };
    let event = object([("type", raw(BLOCK_START)), ("index", raw(&index)), ("content_block", begun)]);
    write_event(BLOCK_START, &event, out);
    sent.write_deltas(block, out);
    sent.write_stop(out);
}

/// Returns a block as it begins: without the content that deltas state.
fn without_content(block: &RawValue, kind: ContentKind) -> Box<RawValue> {
    let Ok(mut fields) = RawObject::parse(block.get()) else { return block.to_owned() };
    match kind {
        ContentKind::Text => {
            fields.set(TEXT, raw(""));
            if fields.get(CITATIONS).is_some_and(|citations| citations.get().starts_with('[')) {
                let none: [&RawValue; 0] = [];
                fields.set(CITATIONS, raw(&none));
            }
        }
        ContentKind::Thinking => {
            fields.set(THINKING, raw(""));
            fields.set(SIGNATURE, raw(""));
        }
        ContentKind::Call => fields.set("input", RawObject::default().to_raw()),
        ContentKind::RedactedThinking | ContentKind::Other => return block.to_owned(),
    }
    fields.to_raw()
}

#[cfg(test)]
mod tests;
