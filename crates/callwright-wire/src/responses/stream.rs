//! Assembly of a streamed answer, tolerant of deviations of servers.

use std::collections::{HashMap, VecDeque};

use serde_json::value::RawValue;

use super::answer::ResponsesAnswer;
use super::event::{EventKind, StreamEvent};
use super::item::{ItemKind, call_id, item_id};
use super::streamed_item::{IN_PROGRESS, StreamedItem};
use super::streamed_items::StreamedItems;
use crate::chat_message::{object_at, set_string};
use crate::fields::{ObjectFields, string};
use crate::parts::{AnswerForm, EventRole, MAX_PARTS, PartKind, PartsForm, StreamForm};
use crate::sse::EventData;
use crate::{AnswerError, Completion, SseEvent};
use callwright_common::json::{RawObject, raw};
use callwright_types::Protocol;

/// `status` of an answer that is complete.
pub(super) const COMPLETED: &str = "completed";

/// A streamed answer that is being assembled.
#[derive(Debug)]
pub(crate) struct ResponsesAssembly {
    max_bytes: usize,
    /// Number of bytes kept.
    bytes: usize,
    /// Whether further content is not kept.
    passes: bool,
    /// The response of the last event before the first item.
    head: Option<RawObject>,
    items: StreamedItems,
    /// The response of the event that ended the answer, without its output.
    end: Option<RawObject>,
    /// Output of an answer that has ended.
    output: Vec<Box<RawValue>>,
    /// Whether `[DONE]` was received.
    is_done: bool,
    last_sequence_number: Option<u64>,
    is_regular: bool,
}

impl ResponsesAssembly {
    /// Creates an assembly that is full with `max_bytes` bytes of content.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            bytes: 0,
            passes: false,
            head: None,
            items: StreamedItems::default(),
            end: None,
            output: Vec::new(),
            is_done: false,
            last_sequence_number: None,
            is_regular: true,
        }
    }

    fn push(&mut self, event: &StreamEvent<'_>) -> Result<EventRole, AnswerError> {
        match event.kind {
            EventKind::Created | EventKind::Progress => {
                self.begin(event);
                Ok(EventRole::Head)
            }
            EventKind::End => {
                self.finish(event)?;
                Ok(EventRole::End)
            }
            EventKind::Error => Ok(EventRole::Error),
            _ if self.passes => Ok(role(event.kind.item_kind())),
            _ => {
                self.is_regular &= self.head.is_some() && self.end.is_none();
                let effect = self.items.push(event)?;
                self.is_regular &= effect.is_regular;
                Ok(role(effect.kind.or(event.kind.item_kind())))
            }
        }
    }

    fn begin(&mut self, event: &StreamEvent<'_>) {
        let Some(response) = response_of(event) else {
            self.is_regular = false;
            return;
        };
        self.is_regular &= self.items.items.is_empty() && self.end.is_none();
        self.is_regular &= match &self.head {
            None => event.kind == EventKind::Created,
            Some(head) => event.kind == EventKind::Progress && id_of(head) == id_of(&response),
        };
        self.is_regular &= !id_of(&response).is_empty();
        self.head = Some(response);
    }

    fn finish(&mut self, event: &StreamEvent<'_>) -> Result<(), AnswerError> {
        if self.end.is_some() {
            self.is_regular = false;
            return Ok(());
        }
        let Some(mut response) = response_of(event) else {
            return Err(AnswerError::new("the event that ends the stream has no response"));
        };
        let finals: Vec<Box<RawValue>> = response.get_as("output").unwrap_or_default();
        let status = event.name.strip_prefix("response.").unwrap_or_default().to_owned();
        let has_status = response.get("status").and_then(string).as_deref() == Some(status.as_str());
        let has_id = self.head.as_ref().is_some_and(|head| id_of(head) == id_of(&response));
        // The client has the items of an answer that is not kept.
        let finals = if self.passes { Vec::new() } else { finals };
        let joined = joined(&self.items.items, finals);
        if joined.items.len() > MAX_PARTS {
            return Err(AnswerError::new(format!("the streamed answer has more than {MAX_PARTS} parts")));
        }
        self.is_regular &= has_status && has_id && self.items.are_done() && joined.is_regular;
        self.items.text.push_str(&joined.further_text);
        self.output = joined.items;
        end_items(&mut self.output, &status);
        response.set("output", raw::<[(); 0]>(&[]));
        if !has_status && response.get("status").is_none_or(|value| value.get() == raw(IN_PROGRESS).get()) {
            response.set("status", raw(&status));
        }
        self.end = Some(response);
        Ok(())
    }

    /// Checks that the event continues the sequence, and has an `event` line of its type.
    fn check_order(&mut self, name: Option<&str>, event: &StreamEvent<'_>) {
        let number: Option<u64> = event.fields.get_as("sequence_number");
        self.is_regular &= match (self.last_sequence_number, number) {
            (Some(last), Some(number)) => last.checked_add(1) == Some(number),
            (None, Some(_)) => true,
            (_, None) => false,
        };
        self.last_sequence_number = number;
        self.is_regular &= name == Some(event.name.as_str());
    }
}

impl StreamForm for ResponsesAssembly {
    fn take(&mut self, event: &SseEvent) -> Result<EventRole, AnswerError> {
        let data = match event.data() {
            EventData::Empty => return Ok(EventRole::Ping),
            EventData::Done => {
                self.is_done = true;
                self.is_regular &= self.end.is_some();
                return Ok(EventRole::End);
            }
            EventData::Json(data) => data,
        };
        let parsed = StreamEvent::parse(data)?;
        self.check_order(event.name(), &parsed);
        self.bytes += kept_bytes(&parsed, data);
        self.push(&parsed)
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
        &self.items.text
    }

    fn has_calls(&self) -> bool {
        let is_streamed = self.items.items.iter().any(|item| item.kind.is_call());
        is_streamed || self.output.iter().any(|item| kind_of(item).is_call())
    }

    fn is_finished(&self) -> bool {
        self.end.is_some() || self.is_done && !self.items.items.is_empty() && self.items.are_done()
    }

    fn is_conformant(&self) -> bool {
        self.is_regular
    }

    fn into_completion(self: Box<Self>) -> Completion {
        let is_finished = self.is_finished();
        let mut output = self.output;
        let mut fields = match self.end {
            Some(end) => end,
            None => {
                output.extend(self.items.items.iter().map(|item| item.to_raw(IN_PROGRESS)));
                let mut head = self.head.unwrap_or_else(|| ResponsesAnswer.minted(""));
                if is_finished {
                    head.set("status", raw(COMPLETED));
                    end_items(&mut output, COMPLETED);
                }
                head
            }
        };
        fields.set("output", raw(&output));
        let model = fields.get("model").and_then(string).unwrap_or_default().into_owned();
        // Only a failed response is rejected, and its events are errors.
        Completion::read(&ResponsesAnswer, fields)
            .unwrap_or_else(|_| Completion::of_calls(Protocol::Responses, &model, &[]))
    }
}

/// Returns the number of bytes of an event that are kept. The events that end a part repeat its content, which replaces
/// the earlier one.
fn kept_bytes(event: &StreamEvent<'_>, data: &str) -> usize {
    match event.kind {
        EventKind::TextDelta(_) | EventKind::ArgumentsDelta(_) => {
            event.fields.get("delta").map_or(0, |delta| delta.get().len())
        }
        EventKind::ItemAdded | EventKind::ItemDone | EventKind::PartAdded(_) | EventKind::AnnotationAdded => data.len(),
        _ => 0,
    }
}

/// Returns the response of an event.
pub(super) fn response_of(event: &StreamEvent<'_>) -> Option<RawObject> {
    RawObject::parse(event.fields.get("response")?.get()).ok()
}

fn id_of(response: &RawObject) -> String {
    response.get("id").and_then(string).unwrap_or_default().into_owned()
}

fn kind_of(item: &RawValue) -> ItemKind {
    ObjectFields::parse(item.get()).map_or(ItemKind::Other, |fields| ItemKind::new(&fields))
}

fn role(kind: Option<ItemKind>) -> EventRole {
    match kind {
        Some(ItemKind::Message) => EventRole::Text,
        Some(ItemKind::Reasoning) => EventRole::Reasoning,
        Some(kind) if kind.is_call() => EventRole::Call,
        _ => EventRole::Other,
    }
}

/// Items of an answer, and whether the final object has exactly the streamed items.
pub(super) struct FinalOutput {
    pub(super) items: Vec<Box<RawValue>>,
    pub(super) is_regular: bool,
    /// Text of messages that only the final object has.
    pub(super) further_text: String,
}

/// Joins the streamed items and the items of the final object. The streamed order and ids win, because the client may
/// have them; items that only the final object has follow.
pub(super) fn joined(streamed: &[StreamedItem], finals: Vec<Box<RawValue>>) -> FinalOutput {
    let mut is_regular = streamed.len() == finals.len();
    let matches = matches(streamed, &finals);
    let mut finals: Vec<Option<Box<RawValue>>> = finals.into_iter().map(Some).collect();
    let mut items = Vec::with_capacity(finals.len());
    let mut further_text = String::new();
    for (at, (item, place)) in streamed.iter().zip(matches).enumerate() {
        let own = item.to_raw(IN_PROGRESS);
        let Some(last) = place.and_then(|place| finals.get_mut(place)?.take()) else {
            is_regular = false;
            items.push(own);
            continue;
        };
        is_regular &= place == Some(at) && item_id(&last).as_deref() == Some(item.id.as_str());
        is_regular &= item.done.is_some() && !is_in_progress(&last);
        match further_content(&own, &last) {
            Some(further) => {
                is_regular &= further.is_empty();
                if item.kind == ItemKind::Message {
                    further_text.push_str(&further);
                }
                items.push(with_ids(last, item));
            }
            None => {
                is_regular = false;
                items.push(own);
            }
        }
    }
    for last in finals.into_iter().flatten() {
        if let PartKind::Text(text) = ResponsesAnswer.read_part(&last) {
            further_text.push_str(&text);
        }
        items.push(last);
    }
    FinalOutput { items, is_regular, further_text }
}

/// Returns the position of the final item of each streamed item: that with its id or call, or else the first remaining
/// one of its kind. Servers generate the ids of final items again.
fn matches(streamed: &[StreamedItem], finals: &[Box<RawValue>]) -> Vec<Option<usize>> {
    let kinds: Vec<Option<String>> = finals.iter().map(|item| type_of(item)).collect();
    let (mut places, is_free) =
        identified(streamed, finals, |item, place| kinds.get(place) == Some(&Some(item.member("type"))));
    let mut remaining: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (at, kind) in kinds.iter().enumerate().filter(|(at, _)| is_free.get(*at) == Some(&true)) {
        remaining.entry(kind.as_deref().unwrap_or_default()).or_default().push_back(at);
    }
    for (item, place) in streamed.iter().zip(&mut places).filter(|(_, place)| place.is_none()) {
        *place = remaining.get_mut(item.member("type").as_str()).and_then(VecDeque::pop_front);
    }
    places
}

/// Returns the position of the part with the id or call of each item, and whether each part is that of no item.
pub(super) fn identified(
    items: &[StreamedItem],
    parts: &[Box<RawValue>],
    is_fit: impl Fn(&StreamedItem, usize) -> bool,
) -> (Vec<Option<usize>>, Vec<bool>) {
    let mut by_id: HashMap<String, usize> = HashMap::new();
    for (at, part) in parts.iter().enumerate() {
        by_id.extend([item_id(part), call_id(part)].into_iter().flatten().map(|id| (id, at)));
    }
    let mut is_free = vec![true; parts.len()];
    let places = items.iter().map(|item| {
        let place = by_id.get(&item.id).or_else(|| by_id.get(&item.member("call_id"))).copied();
        let free = is_free.get_mut(place?).filter(|free| **free && is_fit(item, place.unwrap_or_default()))?;
        *free = false;
        place
    });
    (places.collect(), is_free)
}

/// Returns a final item with the ids of the streamed one.
fn with_ids(last: Box<RawValue>, item: &StreamedItem) -> Box<RawValue> {
    let mut fields = object_at(Some(&last));
    let is_same_id = item.id.is_empty() || fields.get("id").and_then(string).as_deref() == Some(item.id.as_str());
    let call = item.member("call_id");
    let is_same_call = call.is_empty() || fields.get("call_id").and_then(string).as_deref() == Some(call.as_str());
    if is_same_id && is_same_call {
        return last;
    }
    if !item.id.is_empty() {
        set_string(&mut fields, "id", &item.id);
    }
    if !call.is_empty() {
        set_string(&mut fields, "call_id", &call);
    }
    fields.to_raw()
}

/// Returns the text or arguments that the final item has after those of the streamed one; `None` if it has others.
fn further_content(own: &RawValue, last: &RawValue) -> Option<String> {
    match (ResponsesAnswer.read_part(own), ResponsesAnswer.read_part(last)) {
        (PartKind::Call { call: own, .. }, PartKind::Call { call: last, .. })
        | (PartKind::Unjudged(own), PartKind::Unjudged(last)) => {
            let is_same_tool = own.name.is_empty() || own.name == last.name;
            last.arguments.strip_prefix(own.arguments.as_str()).filter(|_| is_same_tool).map(ToOwned::to_owned)
        }
        (PartKind::Text(own), PartKind::Text(last)) | (PartKind::Refusal(own), PartKind::Refusal(last)) => {
            last.strip_prefix(own.as_str()).map(ToOwned::to_owned)
        }
        (PartKind::Text(own), PartKind::Refusal(_)) => own.is_empty().then(String::new),
        // The client does not need the texts of reasoning in the final object.
        (PartKind::Reasoning(own), PartKind::Reasoning(last)) => {
            (own.is_empty() || last.starts_with(&own)).then(String::new)
        }
        (PartKind::Other, PartKind::Other) => Some(String::new()),
        _ => None,
    }
}

/// Replaces the status of items that are in progress although the answer has ended.
pub(super) fn end_items(items: &mut [Box<RawValue>], status: &str) {
    for item in items.iter_mut().filter(|item| is_in_progress(item)) {
        let mut fields = object_at(Some(item));
        fields.set("status", raw(status));
        *item = fields.to_raw();
    }
}

fn is_in_progress(item: &RawValue) -> bool {
    let Some(fields) = ObjectFields::parse(item.get()) else { return false };
    // The status of other items is that of the tool.
    ItemKind::new(&fields) != ItemKind::Other && fields.string("status").as_deref() == Some(IN_PROGRESS)
}

fn type_of(item: &RawValue) -> Option<String> {
    ObjectFields::parse(item.get())?.string("type").map(Into::into)
}
