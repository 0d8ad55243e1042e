//! Assembly of the chunks of a streamed completion, tolerant of upstream deviations.

mod arguments;
mod calls;
mod choice;
mod members;
mod snapshots;

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::chat_answer::now;
use super::choice::MAX_CHOICES;
use super::chunk::{ChoiceFields, ChunkFields, EventFields, read_event};
use super::fields::{TextFields, raw_value};
use super::{AnswerError, Completion, SseEvent, StreamHead, StreamItem};
pub(crate) use arguments::StreamedArguments;
pub(crate) use calls::CallPiece;
use callwright_common::json::{RawObject, raw};
use callwright_types::ids;
use choice::ChoiceParts;
pub(crate) use members::{Members, keep_last};
use snapshots::Snapshots;

/// Assembles chunks into the completion that a non-streamed request would have returned.
#[derive(Debug)]
pub struct Assembler {
    max_bytes: usize,
    /// Number of bytes kept.
    bytes: usize,
    head: Option<StreamHead>,
    /// Last values of the top-level members that belong neither to the head nor to the choices.
    fields: IndexMap<String, Box<RawValue>>,
    /// Boxed, because a node of the map has room for eleven values.
    choices: BTreeMap<u32, Box<ChoiceParts>>,
    snapshots: Snapshots,
    /// Whether further content is not kept.
    passes: bool,
    /// Calls of the last chunk by choice, if it is not kept.
    passed: Vec<(u32, Vec<RawObject>)>,
}

impl Assembler {
    /// Creates an assembler that is full with `max_bytes` bytes of content.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            bytes: 0,
            head: None,
            fields: IndexMap::new(),
            choices: BTreeMap::new(),
            snapshots: Snapshots::default(),
            passes: false,
            passed: Vec::new(),
        }
    }

    /// Lets the assembler accept content that arrives as the text so far instead of its next piece. Chunks of such a
    /// stream are reduced to the next piece; see [`StreamItem::Repetition`].
    #[must_use]
    pub fn with_snapshots(self) -> Self {
        Self { snapshots: Snapshots::expected(), ..self }
    }

    /// Parses the next event as [`read_item`](super::read_item) does, and adds it if it is a chunk.
    ///
    /// # Errors
    /// Fails if the event cannot be parsed, or the completion has too many choices, or a choice too many calls.
    pub fn take(&mut self, event: &SseEvent) -> Result<StreamItem, AnswerError> {
        let fields = read_event(event)?;
        if self.snapshots.are_possible()
            && let Some(item) = self.take_snapshot(&fields)?
        {
            return Ok(item);
        }
        if let EventFields::Chunk(_, fields) = &fields {
            self.add(fields)?;
        }
        Ok(fields.into_item())
    }

    /// Number of bytes kept.
    pub fn kept_bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the content kept exceeds the limit.
    pub fn is_full(&self) -> bool {
        self.bytes > self.max_bytes && !self.passes
    }

    /// Returns the completion so far. Further content is not kept; [`Assembler::take_passed`] returns further calls.
    pub fn pass(&mut self) -> Completion {
        self.passes = true;
        self.bytes = 0;
        let choices = self.choices.iter_mut().map(|(index, choice)| choice.take_object(*index)).collect();
        let head = self.head.clone().unwrap_or_else(minted_head);
        completion(&head, choices, IndexMap::new())
    }

    /// Returns the elements of `tool_calls` of the last chunk by choice, with indexes that continue those of
    /// [`Assembler::pass`].
    pub fn take_passed(&mut self) -> Vec<(u32, Vec<RawObject>)> {
        std::mem::take(&mut self.passed)
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

    /// Whether a delta or another finish reason followed the finish reason of a choice.
    pub fn continues_after_end(&self) -> bool {
        self.choices.values().any(|choice| choice.continues_after_end)
    }

    /// Returns the choices without a finish reason, with the one that follows from their content.
    pub fn unfinished(&self) -> impl Iterator<Item = (u32, &'static str)> {
        let unfinished = self.choices.iter().filter(|(_, choice)| !choice.is_finished());
        unfinished.map(|(index, choice)| (*index, choice.reason_of_content()))
    }

    /// Returns the completion. Calls without an id get one; unfinished choices have the finish reason `null`.
    pub fn into_completion(self) -> Completion {
        let head = self.head.unwrap_or_else(minted_head);
        let choices = self.choices.into_iter().map(|(index, choice)| choice.into_object(index)).collect();
        completion(&head, choices, self.fields)
    }

    fn add(&mut self, fields: &ChunkFields<'_>) -> Result<(), AnswerError> {
        self.keep_members(&fields.members);
        if self.head.is_none() {
            self.head = head(&fields.members, !fields.choices().is_empty());
        }
        fields.choices().iter().try_for_each(|choice| self.push_choice(choice))?;
        if self.is_full() {
            self.choices.values_mut().for_each(|choice| choice.drop_logprobs());
            self.bytes = self.choices.values().map(|choice| choice.size()).sum();
        }
        Ok(())
    }

    fn push_choice(&mut self, choice: &ChoiceFields<'_>) -> Result<(), AnswerError> {
        let index = choice.members.get("index").and_then(|index| index.parse().ok()).unwrap_or(0);
        if self.choices.len() >= MAX_CHOICES && !self.choices.contains_key(&index) {
            return Err(AnswerError::new(format!("the streamed answer has more than {MAX_CHOICES} choices")));
        }
        let parts = self.choices.entry(index).or_default();
        if self.passes {
            let elements = parts.pass(choice)?;
            if !elements.is_empty() {
                self.passed.push((index, elements));
            }
            return Ok(());
        }
        let before = parts.size();
        parts.push(choice)?;
        self.bytes += parts.size().saturating_sub(before);
        Ok(())
    }

    fn keep_members(&mut self, fields: &TextFields<'_>) {
        for (key, value) in fields.iter().filter(|(key, value)| is_member(key) && *value != "null") {
            if !self.passes || key == USAGE {
                self.bytes += keep_last(&mut self.fields, key, value);
            }
        }
    }
}

/// Member with the token counts.
const USAGE: &str = "usage";

/// Builds a completion from its head, choices and other members. The limits that the reader of a completion checks were
/// enforced while the chunks arrived.
fn completion(head: &StreamHead, choices: Vec<RawObject>, mut fields: IndexMap<String, Box<RawValue>>) -> Completion {
    let usage = fields.shift_remove(USAGE);
    let members = [
        ("id", raw(&head.id)),
        ("object", raw("chat.completion")),
        ("created", raw(&head.created)),
        ("model", raw(&head.model)),
        ("choices", raw(&choices)),
    ];
    let members = members.into_iter().map(|(key, value)| (key.to_owned(), value)).chain(fields);
    Completion::of_chat(members.chain(usage.map(|usage| (USAGE.to_owned(), usage))).collect())
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
    let extra = fields.iter().filter(|(key, _)| is_member(key) && !matches!(*key, USAGE | "error"));
    Some(StreamHead {
        id: id.map_or_else(ids::completion_id, Into::into),
        model: fields.string("model").unwrap_or_default().into_owned(),
        created: fields
            .get("created")
            .and_then(|created| created.parse().ok())
            .filter(|created| *created != 0)
            .unwrap_or_else(now),
        extra: extra.map(|(key, value)| (key.to_owned(), raw_value(value))).collect(),
    })
}

fn minted_head() -> StreamHead {
    StreamHead { id: ids::completion_id(), model: String::new(), created: now(), extra: RawObject::default() }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
