//! Assembly of a streamed answer.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::answer::{END_TURN, MessagesAnswer, STOP_REASON, USAGE};
use super::blocks::{CONTENT, TEXT, TOOL_USE};
use super::events::{
    BLOCK_DELTA, BLOCK_START, BLOCK_STOP, ERROR, MESSAGE_DELTA, MESSAGE_START, MESSAGE_STOP, PING, StreamEvent,
};
use super::streamed_block::{BlockDelta, ContentKind, StreamedBlock, is_regular_start};
use crate::assembler::keep_last;
use crate::fields::{ObjectFields, string};
use crate::parts::{AnswerForm, EventRole, MAX_PARTS, StreamForm};
use crate::sse::EventData;
use crate::{AnswerError, Completion, SseEvent};
use callwright_common::json::{RawObject, raw};
use callwright_types::Protocol;

/// A streamed answer that is being assembled.
#[derive(Debug)]
pub(crate) struct MessagesAssembly {
    max_bytes: usize,
    /// Number of bytes kept.
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
    /// Whether further content is not kept.
    passes: bool,
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
    /// Creates an assembly that is full with `max_bytes` bytes of content.
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
            passes: false,
        }
    }

    fn add(&mut self, event: &StreamEvent<'_>) -> Result<EventRole, AnswerError> {
        self.irregular |= self.phase == StreamPhase::Stopped;
        Ok(match event.kind.as_ref() {
            MESSAGE_START => {
                self.start(event);
                EventRole::Head
            }
            BLOCK_START | BLOCK_DELTA | BLOCK_STOP if self.passes => EventRole::Other,
            BLOCK_START => self.start_block(event)?.role(),
            BLOCK_DELTA => self.add_delta(event)?.map_or(EventRole::Other, ContentKind::role),
            BLOCK_STOP => self.stop_block(event).map_or(EventRole::Other, ContentKind::role),
            MESSAGE_DELTA => {
                self.finish(event);
                EventRole::End
            }
            MESSAGE_STOP => {
                self.irregular |= self.phase != StreamPhase::Finished;
                // It ends an answer without a stop reason, too.
                if self.phase >= StreamPhase::Begun {
                    self.phase = StreamPhase::Stopped;
                }
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
            self.bytes += keep_last(&mut self.message, key, value.get());
        }
        for (key, value) in message.and_then(|message| message.object(USAGE)).iter().flat_map(ObjectFields::iter) {
            self.bytes += keep_last(&mut self.usage, key, value.get());
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
        self.bytes += block.size();
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
                let open_call = self.open_call(index);
                self.begin(index, &block.to_raw())?;
                if let (Some(index), Some(call)) = (index, open_call) {
                    // The index is that of a call, which goes on.
                    self.by_index.insert(index, call);
                    self.open = Some(call);
                }
                self.blocks.len() - 1
            }
        };
        let is_expected = index.is_some() && self.open == Some(at) && self.phase == StreamPhase::Begun;
        self.irregular |= !is_expected || index.and_then(|index| self.by_index.get(&index)) != Some(&at);
        if let BlockDelta::Text(Some(piece)) = delta {
            self.text.push_str(&string(piece).unwrap_or_default());
        }
        let Some(block) = self.blocks.get_mut(at) else { return Ok(None) };
        let before = block.size();
        self.irregular |= !block.push(delta, &fields);
        self.bytes += block.size().saturating_sub(before);
        Ok(Some(block.kind))
    }

    /// Returns the position of the call with this index, if it is open.
    fn open_call(&self, index: Option<u64>) -> Option<usize> {
        let at = *self.by_index.get(&index?)?;
        let is_call = self.blocks.get(at).is_some_and(|block| block.kind == ContentKind::Call);
        (is_call && self.open == Some(at)).then_some(at)
    }

    /// Returns the position of the block that takes a delta: the one with its index, the last one, or for a signature
    /// the last one with thinking.
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
            self.bytes += keep_known(&mut self.message, &delta, &[]);
        }
        if let Some(usage) = usage {
            self.bytes += keep_known(&mut self.usage, &usage, &[]);
        }
        self.bytes += keep_known(&mut self.message, &event.fields, &["type", "delta", USAGE, CONTENT]);
    }
}

impl StreamForm for MessagesAssembly {
    fn take(&mut self, event: &SseEvent) -> Result<EventRole, AnswerError> {
        let Some(data) = StreamEvent::read(event)? else {
            let is_done = matches!(event.data(), EventData::Done);
            self.irregular |= is_done;
            return Ok(if is_done { EventRole::End } else { EventRole::Ping });
        };
        match data.kind.as_ref() {
            PING => return Ok(EventRole::Ping),
            ERROR => return Ok(EventRole::Error),
            _ => {}
        }
        self.irregular |= !data.is_named;
        self.add(&data)
    }

    fn kept_bytes(&self) -> usize {
        self.bytes
    }

    fn is_full(&self) -> bool {
        self.bytes > self.max_bytes && !self.passes
    }

    fn pass(&mut self) {
        self.passes = true;
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
        !self.irregular && !self.blocks.iter().any(StreamedBlock::is_cumulative)
    }

    fn into_completion(self: Box<Self>) -> Completion {
        let has_calls = self.has_calls();
        let blocks: Vec<Box<RawValue>> = self.blocks.into_iter().map(StreamedBlock::into_raw).collect();
        let mut message = self.message;
        if self.phase == StreamPhase::Stopped && message.get(STOP_REASON).is_none_or(|reason| reason.get() == "null") {
            message.insert(STOP_REASON.to_owned(), raw(if has_calls { TOOL_USE } else { END_TURN }));
        }
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
        Completion::read(&MessagesAnswer, message.into_iter().collect())
            .unwrap_or_else(|_| Completion::of_text(Protocol::Messages, "", ""))
    }
}

/// Whether the message of a head conforms to the API reference: an id, token counts, and no blocks yet.
fn is_regular_head(message: &ObjectFields<'_>) -> bool {
    message.string("id").is_some_and(|id| !id.is_empty())
        && message.object(USAGE).is_some()
        && message.items(CONTENT).is_some_and(|blocks| blocks.is_empty())
}

/// Keeps the members that are not `null`, except for some. Returns the number of bytes that are kept in addition.
fn keep_known(fields: &mut IndexMap<String, Box<RawValue>>, members: &ObjectFields<'_>, except: &[&str]) -> usize {
    let known = members.iter().filter(|(key, value)| value.get() != "null" && !except.contains(key));
    known.map(|(key, value)| keep_last(fields, key, value.get())).sum()
}

#[cfg(test)]
mod tests;
