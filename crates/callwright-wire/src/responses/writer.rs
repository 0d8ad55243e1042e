//! Events that the client has, and the writer of the others.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use bytes::BytesMut;
use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;

use super::answer::{INCOMPLETE, ResponsesAnswer, output_text};
use super::encoder::{EventEncoder, ItemPosition};
use super::event::{EventKind, PartList, StreamEvent};
use super::item::{ItemKind, item_id, new_id, reasoning_part, with_status};
use super::stream::{COMPLETED, identified, response_of};
use super::streamed_item::{IN_PROGRESS, StreamedItem};
use super::streamed_items::StreamedItems;
use crate::chat_message::{object_at, set_string};
use crate::emit::{code_of, late_error_members};
use crate::fields::{ObjectFields, object, present, string};
use crate::parts::{AnswerForm, EventWriter, PartKind, PartsForm};
use crate::sse::EventData;
use crate::{Completion, ReasoningPart, SseEvent};
use callwright_common::json::{RawObject, raw};

/// Members of the response that stay those of the first event.
const HEAD_MEMBERS: [&str; 3] = ["id", "created_at", "model"];

/// The events of a stream that the client has.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResponsesWriter {
    is_begun: bool,
    is_ended: bool,
    next_sequence_number: u64,
    /// Response of the first event with one.
    head: Option<RawObject>,
    /// Id of that response.
    head_id: Option<String>,
    /// Whether the client has an event that the response is in progress.
    is_in_progress: bool,
    items: StreamedItems,
    /// Number of items at the beginning of each further attempt.
    further: Vec<usize>,
}

impl EventWriter for ResponsesWriter {
    fn forwarded(&mut self, event: &SseEvent) {
        let data = match event.data() {
            EventData::Empty => return,
            EventData::Done => {
                (self.is_begun, self.is_ended) = (true, true);
                return;
            }
            EventData::Json(data) => data,
        };
        self.is_begun = true;
        let Ok(event) = StreamEvent::parse(data) else { return };
        let number = event.fields.get_as("sequence_number").unwrap_or(self.next_sequence_number);
        self.next_sequence_number = number.saturating_add(1);
        match event.kind {
            EventKind::Created | EventKind::Progress => {
                self.is_in_progress |= event.kind == EventKind::Progress;
                self.head = self.head.take().or_else(|| response_of(&event));
                self.head_id = self.head.as_ref().and_then(|head| head.get("id")).and_then(string).map(Into::into);
            }
            EventKind::End | EventKind::Error => self.is_ended = true,
            // The assembly of the same events reports too many items.
            _ => drop(self.items.push(&event)),
        }
    }

    fn stream_id(&self) -> Option<&str> {
        self.head_id.as_deref()
    }

    fn begin_attempt(&mut self, out: &mut BytesMut) {
        let mut events = EventEncoder { out, next_sequence_number: &mut self.next_sequence_number };
        self.items.end_open(|item| completed(item, None, &mut events));
        self.further.push(self.items.items.len());
    }

    fn forward_further(&mut self, event: &SseEvent, out: &mut BytesMut) -> bool {
        let Some(parsed) = event.data.as_deref().and_then(|data| StreamEvent::parse(data.trim()).ok()) else {
            return false;
        };
        let Some(index) = self.further_index(&parsed) else { return false };
        let Some(mut fields) = event.data.as_deref().and_then(|data| RawObject::parse(data).ok()) else { return false };
        fields.set("output_index", raw(&index));
        fields.set("sequence_number", raw(&self.next_sequence_number));
        EventEncoder { out, next_sequence_number: &mut self.next_sequence_number }.write(&parsed.name, &fields);
        if let Ok(event) = StreamEvent::parse(fields.to_raw().get()) {
            // The assembly of the same events reports too many items.
            drop(self.items.push(&event));
        }
        true
    }

    fn trailing_reasoning(&self) -> Vec<ReasoningPart> {
        let items = &self.items.items;
        let items = items.get(self.further.last().copied().unwrap_or_default()..).unwrap_or_default();
        let trailing = items.iter().rposition(|item| item.kind != ItemKind::Reasoning).map_or(0, |last| last + 1);
        let trailing = items.get(trailing..).unwrap_or_default();
        trailing.iter().filter_map(|item| reasoning_part(&item.to_raw(INCOMPLETE))).collect()
    }

    fn rest(&mut self, answer: &Completion, attempt: Option<usize>, out: &mut BytesMut) {
        if self.is_ended {
            return;
        }
        let response = answer.object();
        let choice = answer.choices().first();
        let parts = choice.map(|choice| choice.message.parts()).unwrap_or_default();
        let parts: Vec<Box<RawValue>> = parts.into_iter().map(Cow::into_owned).collect();
        let reason = ResponsesAnswer.finish_reason(&response);
        let is_incomplete = reason.is_some_and(|reason| ResponsesAnswer.is_cut_off(&reason));
        let status = if is_incomplete { INCOMPLETE } else { COMPLETED };
        let mut next_sequence_number = self.next_sequence_number;
        let mut events = EventEncoder { out, next_sequence_number: &mut next_sequence_number };
        self.begin(&response, &mut events);
        let items = std::mem::take(&mut self.items);
        let mut ids: HashSet<String> = items.items.iter().map(|item| item.id.clone()).collect();
        let mut output = Vec::with_capacity(items.items.len() + parts.len());
        let own = attempt.map_or(0..0, |attempt| self.items_of(attempt, items.items.len()));
        let places = matching_parts(items.items.get(own.clone()).unwrap_or_default(), &parts);
        let mut parts: Vec<Option<Box<RawValue>>> = parts.into_iter().map(Some).collect();
        // The items of an earlier attempt were ended as they were.
        let is_ended = attempt.is_some_and(|attempt| attempt < self.further.len());
        let mut unsent = Vec::new();
        for (at, item) in items.items.iter().enumerate() {
            let place = at.checked_sub(own.start).and_then(|at| places.get(at)).copied().flatten();
            let part = place.and_then(|place| parts.get_mut(place)?.take());
            unsent.extend(part.as_deref().filter(|_| is_ended).and_then(|part| unsent_text(item, part)));
            output.push(completed(item, part, &mut events));
        }
        // Further attempts have no text here before their answer is written.
        let mut known_text = if attempt == Some(0) { "" } else { items.text.as_str() };
        let mut index = items.next_index;
        for part in unsent.into_iter().chain(parts.into_iter().flatten()) {
            let Some(part) = without_known(part, &mut known_text) else { continue };
            let item = normalised(part, status, &mut ids);
            let id = item_id(&item).unwrap_or_default();
            events.write_item(&item, ItemPosition { id: &id, index });
            output.push(item);
            index = index.saturating_add(1);
        }
        self.end(response, &output, status, &mut events);
        self.next_sequence_number = next_sequence_number;
        (self.is_begun, self.is_ended) = (true, true);
    }

    fn error(&mut self, body: &[u8], status: StatusCode, headers: &HeaderMap, out: &mut BytesMut) {
        let error = late_error_members(body, status, headers);
        let member = |key: &str| error.get(key).filter(|value| value.get().starts_with('"')).map(ToOwned::to_owned);
        let code = member("code").unwrap_or_else(|| raw(code_of(status)));
        let message = member("message").unwrap_or_else(|| raw(&format!("the upstream answered with status {status}")));
        let param = member("param").unwrap_or_else(|| raw(&()));
        let mut event = object([("code", code), ("message", message), ("param", param)]);
        for (key, value) in error.iter().filter(|(key, _)| !matches!(*key, "type" | "code" | "message" | "param")) {
            event.set(key, value.to_owned());
        }
        let mut events = EventEncoder { out, next_sequence_number: &mut self.next_sequence_number };
        events.write("error", &event);
        (self.is_begun, self.is_ended) = (true, true);
    }
}

impl ResponsesWriter {
    /// Returns the positions of the items of an attempt, of `count` items.
    fn items_of(&self, attempt: usize, count: usize) -> Range<usize> {
        let start = attempt.checked_sub(1).and_then(|at| self.further.get(at)).copied().unwrap_or_default();
        start..self.further.get(attempt).copied().unwrap_or(count).max(start)
    }

    /// Returns the index of the item to which an event of a further attempt belongs: a new one, or the last one if it is
    /// open.
    fn further_index(&self, event: &StreamEvent<'_>) -> Option<u64> {
        let last = self.items.items.last().filter(|last| last.done.is_none());
        let id_in = |item: &ObjectFields<'_>| item.string("id").map(Cow::into_owned);
        match event.kind {
            EventKind::ItemAdded => {
                let id = event.fields.object("item").as_ref().and_then(id_in).filter(|id| !id.is_empty())?;
                let is_known = self.items.items.iter().any(|item| item.id == id);
                (last.is_none() && !is_known).then_some(self.items.next_index)
            }
            EventKind::ItemDone => {
                let id = event.fields.object("item").as_ref().and_then(id_in);
                last.filter(|last| id.as_deref() == Some(last.id.as_str())).map(|last| last.index)
            }
            EventKind::Created | EventKind::Progress | EventKind::End | EventKind::Error => None,
            _ => {
                let id = event.fields.string("item_id");
                last.filter(|last| id.as_deref() == Some(last.id.as_str())).map(|last| last.index)
            }
        }
    }

    /// Writes the events before the first item that the client lacks.
    fn begin(&mut self, response: &RawObject, events: &mut EventEncoder<'_>) {
        if !self.is_begun {
            let mut head = response.clone();
            head.set("status", raw(IN_PROGRESS));
            head.set("output", raw::<[(); 0]>(&[]));
            head.set("usage", raw(&()));
            for key in ["incomplete_details", "completed_at"].into_iter().filter(|key| response.contains(key)) {
                head.set(key, raw(&()));
            }
            head.remove("callwright");
            if present(head.get("id")).is_none() {
                head.set("id", raw(&new_id("resp")));
            }
            events.write("response.created", &object([("response", head.to_raw())]));
            self.head = Some(head);
        }
        if let Some(head) = self.head.as_ref().filter(|_| !self.is_in_progress && self.items.items.is_empty()) {
            events.write("response.in_progress", &object([("response", head.to_raw())]));
        }
    }

    /// Writes the event that ends the answer.
    fn end(&self, mut response: RawObject, output: &[Box<RawValue>], status: &str, events: &mut EventEncoder<'_>) {
        for key in HEAD_MEMBERS {
            if let Some(value) = self.head.as_ref().and_then(|head| present(head.get(key))) {
                response.set(key, value.to_owned());
            }
        }
        response.set("output", raw(output));
        if status == COMPLETED {
            set_string(&mut response, "status", status);
        }
        events.write(&format!("response.{status}"), &object([("response", response.to_raw())]));
    }
}

/// Returns the position of the part of each item that the client has: by id or call, or else the next one of its kind.
fn matching_parts(items: &[StreamedItem], parts: &[Box<RawValue>]) -> Vec<Option<usize>> {
    let (mut places, is_free) = identified(items, parts, |_, _| true);
    let mut next = 0;
    for (item, place) in items.iter().zip(&mut places).filter(|(_, place)| place.is_none()) {
        while is_free.get(next) == Some(&false) {
            next += 1;
        }
        if parts.get(next).is_some_and(|part| may_continue(item, part)) {
            *place = Some(next);
            next += 1;
        }
    }
    places
}

/// Whether a part has the type of an item and begins with its text.
fn may_continue(item: &StreamedItem, part: &RawValue) -> bool {
    let kind = ObjectFields::parse(part.get()).and_then(|part| part.string("type").map(|kind| kind.into_owned()));
    if kind.unwrap_or_default() != item.member("type") {
        return false;
    }
    match ResponsesAnswer.read_part(part) {
        PartKind::Text(text) => text.starts_with(&item.text()),
        _ => true,
    }
}

/// Completes an item that the client has with its part of the answer, or ends it as it is. Returns the final item.
fn completed(item: &StreamedItem, part: Option<Box<RawValue>>, events: &mut EventEncoder<'_>) -> Box<RawValue> {
    if let Some(done) = &item.done {
        return done.clone();
    }
    let position = ItemPosition { id: &item.id, index: item.index };
    let mut fields = match part {
        Some(part) => object_at(Some(&part)),
        None => with_status(item.assembled(), INCOMPLETE),
    };
    if !item.id.is_empty() {
        set_string(&mut fields, "id", &item.id);
    }
    if fields.get("status").is_some_and(|status| status.get() == raw(IN_PROGRESS).get()) {
        fields.set("status", raw(COMPLETED));
    }
    for list in [PartList::Summary, PartList::Content] {
        let known = item.parts(list);
        let parts: Vec<Box<RawValue>> = fields.get_as(list.key()).unwrap_or_default();
        let has_parts = matches!(item.kind, ItemKind::Message | ItemKind::Reasoning) && !parts.is_empty();
        if has_parts || !known.is_empty() {
            let parts = events.complete_parts(position, list, known, parts);
            fields.set(list.key(), raw(&parts));
        }
    }
    if let Some(key) = item.kind.arguments_key() {
        let given = fields.get(key).and_then(string).unwrap_or_default().into_owned();
        let further = given.strip_prefix(item.arguments.as_str());
        let further = further.filter(|further| further.is_empty() || !item.are_arguments_done);
        if !item.are_arguments_done {
            let further = further.unwrap_or_default();
            let all = format!("{}{further}", item.arguments);
            events.write_arguments(item.kind, &fields, [further, &all], position);
        }
        if further.is_none() {
            fields.set(key, raw(&item.arguments));
        }
    }
    let done = fields.to_raw();
    events.end_item(&done, position);
    done
}

/// Returns the text of a part that the client lacks, as a message.
fn unsent_text(item: &StreamedItem, part: &RawValue) -> Option<Box<RawValue>> {
    let PartKind::Text(text) = ResponsesAnswer.read_part(part) else { return None };
    let unsent = text.strip_prefix(&item.text()).filter(|unsent| !unsent.is_empty())?;
    Some(ResponsesAnswer.with_text(None, unsent))
}

/// Returns a part without the text that the client already has, once; `None` if nothing remains.
fn without_known(part: Box<RawValue>, known: &mut &str) -> Option<Box<RawValue>> {
    let PartKind::Text(text) = ResponsesAnswer.read_part(&part) else { return Some(part) };
    let Some(rest) = text.strip_prefix(*known).filter(|_| !known.is_empty()) else { return Some(part) };
    *known = "";
    if !rest.is_empty() {
        return Some(ResponsesAnswer.with_text(Some(&part), rest));
    }
    let mut fields = object_at(Some(&part));
    let mut others: Vec<Box<RawValue>> = fields.get_as("content").unwrap_or_default();
    others.retain(|part| output_text(part).is_none());
    fields.set("content", raw(&others));
    (!others.is_empty()).then(|| fields.to_raw())
}

/// Returns an item with the members that a stream requires: an id that no other item has, and the content, role and
/// status of a message.
fn normalised(part: Box<RawValue>, status: &str, ids: &mut HashSet<String>) -> Box<RawValue> {
    let Ok(fields) = RawObject::parse(part.get()) else { return part };
    let kind = ObjectFields::parse(part.get()).map_or(ItemKind::Other, |fields| ItemKind::new(&fields));
    let mut changes: Vec<(&str, Box<RawValue>)> = Vec::new();
    if item_id(&part).is_none_or(|id| ids.contains(&id)) {
        changes.push(("id", raw(&new_id(id_prefix(kind)))));
    }
    let own_status = present(fields.get("status")).and_then(string);
    if own_status.as_deref() == Some(IN_PROGRESS) && kind != ItemKind::Other
        || own_status.is_none() && kind == ItemKind::Message
    {
        changes.push(("status", raw(status)));
    }
    if kind == ItemKind::Message {
        for (key, value) in [("type", "message"), ("role", "assistant")] {
            if present(fields.get(key)).is_none() {
                changes.push((key, raw(value)));
            }
        }
        changes.extend(content_list(&part, &fields).map(|content| ("content", content)));
    }
    if changes.is_empty() {
        ids.extend(item_id(&part));
        return part;
    }
    let mut item = fields;
    for (key, value) in changes {
        item.set(key, value);
    }
    let item = item.to_raw();
    ids.extend(item_id(&item));
    item
}

/// Returns the content of a message as a list; `None` if it is one.
fn content_list(message: &RawValue, fields: &RawObject) -> Option<Box<RawValue>> {
    let Some(content) = present(fields.get("content")) else { return Some(raw::<[(); 0]>(&[])) };
    let text = string(content)?;
    object_at(Some(&ResponsesAnswer.with_text(Some(message), &text))).get("content").map(ToOwned::to_owned)
}

/// Prefix of the ids of items of a kind.
fn id_prefix(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Message => "msg",
        ItemKind::Reasoning => "rs",
        ItemKind::FunctionCall => "fc",
        ItemKind::CustomToolCall => "ctc",
        ItemKind::ClientCall | ItemKind::CallOutput | ItemKind::Other => "item",
    }
}
