//! Assembly of a streamed answer, tolerant of deviations of servers.

use serde_json::value::RawValue;

use super::answer::ResponsesAnswer;
use super::event::{EventKind, StreamEvent};
use super::final_output::{end_items, joined};
use super::item::ItemKind;
use super::streamed_item::IN_PROGRESS;
use super::streamed_items::StreamedItems;
use crate::fields::{ObjectFields, string};
use crate::parts::{EventRole, MAX_PARTS, PartsForm, StreamForm};
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
        self.is_regular &= self.items.items().is_empty() && self.end.is_none();
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
        let joined = joined(self.items.items(), finals);
        if joined.items.len() > MAX_PARTS {
            return Err(AnswerError::new(format!("the streamed answer has more than {MAX_PARTS} parts")));
        }
        self.is_regular &= has_status && has_id && self.items.are_done() && joined.is_regular;
        self.items.push_final_text(&joined.further_text);
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
        self.items.text()
    }

    fn has_calls(&self) -> bool {
        let is_streamed = self.items.items().iter().any(|item| item.kind.is_call());
        is_streamed || self.output.iter().any(|item| kind_of(item).is_call())
    }

    fn is_finished(&self) -> bool {
        self.end.is_some() || self.is_done && !self.items.items().is_empty() && self.items.are_done()
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
                output.extend(self.items.items().iter().map(|item| item.to_raw(IN_PROGRESS)));
                let mut head = self.head.unwrap_or_else(|| ResponsesAnswer.minted_members(""));
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
