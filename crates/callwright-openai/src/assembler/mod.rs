//! Assembly of the chunks of a streamed completion, tolerant of upstream deviations.

mod calls;
mod choice;
mod extent;
mod members;

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::choice::MAX_CHOICES;
use super::chunk_fields::{ChoiceFields, ChunkFields, EventFields, read_event};
use super::completion::now;
use super::fields::{TextFields, raw_value};
use super::{AnswerError, Completion, SseEvent, StreamHead, StreamItem};
pub(crate) use calls::CallPiece;
use callwright_common::json::{RawObject, raw};
use callwright_types::ids;
use choice::ChoiceParts;
pub(crate) use members::{Members, keep_last};

/// Maximum number of members that a stream's head takes from its first chunk; servers send a few.
const MAX_HEAD_MEMBERS: usize = 32;

/// Assembles chunks into the completion that a non-streamed request would have returned.
#[derive(Debug)]
pub struct Assembler {
    max_bytes: usize,
    bytes: usize,
    head: Option<StreamHead>,
    /// Last values of the top-level members that belong neither to the head nor to the choices.
    fields: IndexMap<String, Box<RawValue>>,
    /// Boxed, because a node of the map has room for eleven values.
    choices: BTreeMap<u32, Box<ChoiceParts>>,
}

impl Assembler {
    /// Creates an assembler that rejects completions whose chunks exceed `max_bytes` bytes in total.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, bytes: 0, head: None, fields: IndexMap::new(), choices: BTreeMap::new() }
    }

    /// Parses the next event as [`read_item`](super::read_item) does, and adds it if it is a chunk.
    ///
    /// # Errors
    /// Fails if the event cannot be parsed, or the completion exceeds a limit: its bytes, its choices, or the calls
    /// of a choice.
    pub fn take(&mut self, event: &SseEvent) -> Result<StreamItem, AnswerError> {
        let fields = read_event(event)?;
        if let EventFields::Chunk(text, fields) = &fields {
            self.add(text, fields)?;
        }
        Ok(fields.into_item())
    }

    /// Returns id, model and creation time, once a chunk has sent them.
    pub fn head(&self) -> Option<&StreamHead> {
        self.head.as_ref()
    }

    /// Returns each choice so far: its index, its text, and whether it has calls.
    pub fn texts(&self) -> impl Iterator<Item = (u32, &str, bool)> {
        self.choices.iter().map(|(index, choice)| (*index, choice.text(), choice.has_calls()))
    }

    /// Whether all pieces of calls conform to the API reference, so that the events may be replayed verbatim. Each
    /// piece has an index; the first piece of a call has id, type and name, which are not repeated; arguments are
    /// strings.
    pub fn is_conformant(&self) -> bool {
        self.choices.values().all(|choice| choice.is_conformant())
    }

    /// Whether there is at least one choice, and every choice has a finish reason.
    pub fn is_finished(&self) -> bool {
        !self.choices.is_empty() && self.choices.values().all(|choice| choice.is_finished())
    }

    /// Returns the completion. Calls without an id get one; unfinished choices have the finish reason `null`.
    pub fn into_completion(mut self) -> Completion {
        let head = self.head.unwrap_or_else(minted_head);
        let usage = self.fields.shift_remove("usage");
        let objects: Vec<RawObject> =
            self.choices.into_iter().map(|(index, choice)| choice.into_object(index)).collect();
        let members = [
            ("id", raw(&head.id)),
            ("object", raw("chat.completion")),
            ("created", raw(&head.created)),
            ("model", raw(&head.model)),
            ("choices", raw(&objects)),
        ];
        let fields = members.into_iter().map(|(key, value)| (key.to_owned(), value)).chain(self.fields);
        // The limits that the reader of a completion checks were enforced while the chunks arrived.
        Completion::of_chat(fields.chain(usage.map(|usage| ("usage".to_owned(), usage))).collect())
    }

    fn add(&mut self, text: &str, fields: &ChunkFields<'_>) -> Result<(), AnswerError> {
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > self.max_bytes {
            return Err(AnswerError::new("the streamed answer is longer than the configured limit"));
        }
        self.keep_members(&fields.members);
        if self.head.is_none() {
            self.head = head(&fields.members, !fields.choices().is_empty());
        }
        fields.choices().iter().try_for_each(|choice| self.push_choice(choice))
    }

    fn push_choice(&mut self, choice: &ChoiceFields<'_>) -> Result<(), AnswerError> {
        let index = choice.members.get("index").and_then(|index| index.parse().ok()).unwrap_or(0);
        if self.choices.len() >= MAX_CHOICES && !self.choices.contains_key(&index) {
            return Err(AnswerError::new(format!("the streamed answer has more than {MAX_CHOICES} choices")));
        }
        self.choices.entry(index).or_default().push(choice)
    }

    fn keep_members(&mut self, fields: &TextFields<'_>) {
        for (key, value) in fields.iter().filter(|(key, value)| is_member(key) && *value != "null") {
            keep_last(&mut self.fields, key, value);
        }
    }
}

/// Whether a top-level member is kept. `obfuscation` pads single chunks; the others are stored separately.
fn is_member(key: &str) -> bool {
    !matches!(key, "id" | "object" | "created" | "model" | "choices" | "obfuscation")
}

/// Returns the head from a chunk. Some servers begin with a chunk without id and choices (Azure's prompt filter
/// results).
fn head(fields: &TextFields<'_>, has_choices: bool) -> Option<StreamHead> {
    let id = fields.string("id").filter(|id| !id.is_empty());
    if id.is_none() && !has_choices {
        return None;
    }
    let extra = fields.iter().filter(|(key, _)| is_member(key) && !matches!(*key, "usage" | "error"));
    Some(StreamHead {
        id: id.map_or_else(ids::completion_id, Into::into),
        model: fields.string("model").unwrap_or_default().into_owned(),
        created: fields
            .get("created")
            .and_then(|created| created.parse().ok())
            .filter(|created| *created != 0)
            .unwrap_or_else(now),
        extra: extra.take(MAX_HEAD_MEMBERS).map(|(key, value)| (key.to_owned(), raw_value(value))).collect(),
    })
}

fn minted_head() -> StreamHead {
    StreamHead { id: ids::completion_id(), model: String::new(), created: now(), extra: RawObject::default() }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
