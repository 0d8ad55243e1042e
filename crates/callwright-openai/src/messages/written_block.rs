//! Events of one block of an answer.

use std::borrow::Cow;

use bytes::BytesMut;
use serde_json::value::RawValue;

use super::blocks::{SIGNATURE, TEXT, THINKING, arguments, reasoning_part};
use super::events::{BLOCK_DELTA, BLOCK_START, BLOCK_STOP, StreamEvent, write_event};
use super::streamed_block::{BlockDelta, ContentKind};
use crate::ReasoningPart;
use crate::fields::{ObjectFields, object, string};
use callwright_common::json::{RawObject, raw};

/// Member of a text block with its citations.
const CITATIONS: &str = "citations";

/// Content of a block that the client has.
#[derive(Debug, Clone)]
pub(super) struct SentBlock {
    index: u64,
    kind: ContentKind,
    /// Text, thinking or JSON text of the input.
    content: String,
    citations: usize,
    /// `signature` of thinking; empty if the client has none.
    signature: String,
    /// Identity of a block whose content does not come in deltas.
    whole: Option<ReasoningPart>,
}

impl SentBlock {
    /// Creates a block without content.
    fn new(index: u64, kind: ContentKind) -> Self {
        Self { index, kind, content: String::new(), citations: 0, signature: String::new(), whole: None }
    }

    /// Reads the event that begins a block.
    pub(super) fn begun(index: u64, event: &StreamEvent<'_>) -> Self {
        let Some(block) = event.fields.object("content_block") else { return Self::new(index, ContentKind::Other) };
        let content = match ContentKind::of(&block) {
            ContentKind::Text => block.string(TEXT),
            ContentKind::Thinking => block.string(THINKING),
            ContentKind::Call | ContentKind::RedactedThinking | ContentKind::Other => None,
        };
        Self {
            index,
            kind: ContentKind::of(&block),
            content: content.unwrap_or_default().into_owned(),
            citations: block.items(CITATIONS).map_or(0, |citations| citations.len()),
            signature: block.string(SIGNATURE).unwrap_or_default().into_owned(),
            whole: reasoning_part(&block),
        }
    }

    /// Reads a delta of the block.
    pub(super) fn push(&mut self, event: &StreamEvent<'_>) {
        let Some(fields) = event.fields.object("delta") else { return };
        let delta = BlockDelta::of(&fields);
        if !self.kind.takes(&delta) {
            return;
        }
        match delta {
            BlockDelta::Text(piece) | BlockDelta::Thinking(piece) | BlockDelta::Input(piece) => {
                self.content.push_str(&piece.and_then(string).unwrap_or_default());
            }
            BlockDelta::Citation(_) => self.citations += 1,
            BlockDelta::Signature(signature) => {
                self.signature = signature.and_then(string).unwrap_or_default().into_owned();
            }
            BlockDelta::Unknown => {}
        }
    }

    /// Returns the text that the client has of a text block.
    pub(super) fn text(&self) -> &str {
        if self.kind == ContentKind::Text { &self.content } else { "" }
    }

    /// Whether the block has reasoning.
    pub(super) fn is_reasoning(&self) -> bool {
        matches!(self.kind, ContentKind::Thinking | ContentKind::RedactedThinking)
    }

    /// Returns the identity of a block with reasoning; `None` for one without any, and for other blocks.
    pub(super) fn reasoning(&self) -> Option<ReasoningPart> {
        match self.kind {
            ContentKind::Thinking => ReasoningPart::new(None, Some(self.signature.as_str().into()), &self.content),
            _ => self.whole.clone(),
        }
    }

    /// Writes the deltas that the client lacks of `block`, the whole block.
    pub(super) fn write_deltas(&self, block: &RawValue, out: &mut BytesMut) {
        let Some(fields) = ObjectFields::parse(block.get()).filter(|fields| ContentKind::of(fields) == self.kind)
        else {
            return;
        };
        match self.kind {
            ContentKind::Text => {
                self.write_rest("text_delta", TEXT, &fields.string(TEXT).unwrap_or_default(), out);
                for citation in fields.items(CITATIONS).unwrap_or_default().into_iter().skip(self.citations) {
                    self.write_delta("citations_delta", "citation", citation.to_owned(), out);
                }
            }
            ContentKind::Thinking => {
                self.write_rest("thinking_delta", THINKING, &fields.string(THINKING).unwrap_or_default(), out);
                let signature = fields.string(SIGNATURE).filter(|signature| !signature.is_empty());
                if let Some(signature) = signature.filter(|_| self.signature.is_empty()) {
                    self.write_delta("signature_delta", SIGNATURE, raw(&signature), out);
                }
            }
            ContentKind::Call => {
                let input = fields.get("input").map_or(Cow::Borrowed("{}"), arguments);
                self.write_rest("input_json_delta", "partial_json", &input, out);
            }
            ContentKind::RedactedThinking | ContentKind::Other => {}
        }
    }

    /// Writes the rest of a content. Nothing is written if the client has another beginning.
    fn write_rest(&self, kind: &str, key: &str, whole: &str, out: &mut BytesMut) {
        // White space before the input is not part of it.
        let sent = if self.kind == ContentKind::Call { self.content.trim_start() } else { &self.content };
        if let Some(rest) = whole.strip_prefix(sent).filter(|rest| !rest.is_empty()) {
            self.write_delta(kind, key, raw(rest), out);
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
    let sent = SentBlock::new(index, fields.as_ref().map_or(ContentKind::Other, ContentKind::of));
    let event = object([
        ("type", raw(BLOCK_START)),
        ("index", raw(&index)),
        ("content_block", without_content(block, sent.kind)),
    ]);
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
