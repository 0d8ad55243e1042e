//! The items of a stream, assembled from their events.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::value::RawValue;

use super::event::{EventKind, PartList, StreamEvent, TextForm};
use super::item::ItemKind;
use super::streamed_item::{StreamedItem, StreamedPart, begins_regularly, end_item, ends_regularly, part_text};
use crate::AnswerError;
use crate::fields::{ObjectFields, string};
use crate::parts::MAX_PARTS;

/// Items in the order in which they began.
#[derive(Debug, Clone, Default)]
pub(super) struct StreamedItems {
    pub(super) items: Vec<StreamedItem>,
    /// Position of the last item with each id.
    by_id: HashMap<String, usize>,
    /// Position of the last item with each `output_index`.
    by_index: HashMap<u64, usize>,
    /// Position of the last call with each `call_id`.
    by_call: HashMap<String, usize>,
    /// `output_index` of the next item.
    pub(super) next_index: u64,
    /// Text of all messages so far.
    pub(super) text: String,
}

/// Effect of an event on the items.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effect {
    /// Kind of the item that the event belongs to, if there is one.
    pub(super) kind: Option<ItemKind>,
    /// Whether the event conforms to the API reference.
    pub(super) is_regular: bool,
}

/// An item that an event belongs to.
struct Target {
    at: usize,
    /// Whether id and index of the event are those of the item, which is not done.
    is_regular: bool,
}

impl StreamedItems {
    /// Adds an event.
    ///
    /// # Errors
    /// Fails if there are too many items.
    pub(super) fn push(&mut self, event: &StreamEvent<'_>) -> Result<Effect, AnswerError> {
        match event.kind {
            EventKind::ItemAdded => self.add(event),
            EventKind::ItemDone => self.end(event),
            EventKind::PartAdded(list) => self.with_target(event, |item, _| add_part(item, list, &event.fields)),
            EventKind::PartDone(list) => {
                self.with_target(event, |item, text| end_part(item, list, &event.fields, text))
            }
            EventKind::TextDelta(form) => {
                self.with_target(event, |item, text| push_text(item, form, &event.fields, text))
            }
            EventKind::TextDone(form) => {
                self.with_target(event, |item, text| end_text(item, form, &event.fields, text))
            }
            EventKind::AnnotationAdded => self.with_target(event, |item, _| push_annotation(item, &event.fields)),
            EventKind::ArgumentsDelta(_) => self.with_target(event, |item, _| push_arguments(item, &event.fields)),
            EventKind::ArgumentsDone(_) => self.with_target(event, |item, _| end_arguments(item, &event.fields)),
            EventKind::Other => {
                let at = self.named(event);
                let kind = at.and_then(|at| self.items.get(at)).map(|item| item.kind);
                Ok(Effect { kind, is_regular: true })
            }
            _ => Ok(Effect { kind: None, is_regular: true }),
        }
    }

    /// Ends the items that are open. `end` returns the final item.
    pub(super) fn end_open(&mut self, mut end: impl FnMut(&StreamedItem) -> Box<RawValue>) {
        for item in self.items.iter_mut().filter(|item| item.done.is_none()) {
            item.done = Some(end(item));
        }
    }

    /// Whether every item has ended.
    pub(super) fn are_done(&self) -> bool {
        self.items.iter().all(|item| item.done.is_some())
    }

    fn add(&mut self, event: &StreamEvent<'_>) -> Result<Effect, AnswerError> {
        let Some(raw_item) = event.fields.get("item").filter(|item| item.get().starts_with('{')) else {
            return Ok(Effect { kind: None, is_regular: false });
        };
        let index: Option<u64> = event.fields.get_as("output_index");
        let item = StreamedItem::new(raw_item, index.unwrap_or(self.next_index));
        let kind = item.kind;
        let known = self.by_id.get(&item.id).and_then(|at| self.items.get(*at));
        if known.is_some_and(|known| known.is_repeated_by(&item)) {
            return Ok(Effect { kind: Some(kind), is_regular: false });
        }
        let is_regular =
            !item.id.is_empty() && known.is_none() && index == Some(self.next_index) && begins_regularly(&item);
        self.begin(item)?;
        Ok(Effect { kind: Some(kind), is_regular })
    }

    fn begin(&mut self, item: StreamedItem) -> Result<usize, AnswerError> {
        let at = self.items.len();
        if at >= MAX_PARTS {
            return Err(AnswerError::new(format!("the streamed answer has more than {MAX_PARTS} parts")));
        }
        if !item.id.is_empty() {
            self.by_id.insert(item.id.clone(), at);
        }
        self.by_index.insert(item.index, at);
        self.next_index = self.next_index.max(item.index.saturating_add(1));
        let call_id = item.member("call_id");
        if item.kind.is_call() && !call_id.is_empty() {
            self.by_call.insert(call_id, at);
        }
        self.items.push(item);
        Ok(at)
    }

    /// Returns the item that an event names by id, or else by index.
    fn named(&self, event: &StreamEvent<'_>) -> Option<usize> {
        let by_id = event.fields.string("item_id").and_then(|id| self.by_id.get(id.as_ref()).copied());
        by_id.or_else(|| {
            let index: u64 = event.fields.get_as("output_index")?;
            self.by_index.get(&index).copied()
        })
    }

    /// Returns the item that an event belongs to: the named one, or else the last one, if it has the right kind. A missing
    /// item begins here.
    fn target(&mut self, event: &StreamEvent<'_>) -> Result<Option<Target>, AnswerError> {
        let kind = event.kind.item_kind();
        let is_fit = |item: &StreamedItem| match kind {
            Some(kind) => item.kind == kind,
            None => matches!(item.kind, ItemKind::Message | ItemKind::Reasoning),
        };
        let id = event.fields.string("item_id");
        let index: Option<u64> = event.fields.get_as("output_index");
        let named = self.named(event);
        if let Some(at) = named
            && let Some(item) = self.items.get(at).filter(|item| is_fit(item))
        {
            let is_regular = id.as_deref() == Some(&item.id) && index == Some(item.index) && item.done.is_none();
            return Ok(Some(Target { at, is_regular }));
        }
        if self.items.last().is_some_and(|last| is_fit(last) && last.done.is_none()) {
            return Ok(Some(Target { at: self.items.len() - 1, is_regular: false }));
        }
        if named.is_some() && kind.is_none() {
            // LiteLLM sends parts of content for calls.
            return Ok(None);
        }
        let item = StreamedItem::implied(kind.unwrap_or(ItemKind::Message), id.as_deref(), self.next_index);
        let at = self.begin(item)?;
        Ok(Some(Target { at, is_regular: false }))
    }

    /// Applies an event to its item. `apply` gets the text of all messages, and returns whether the event is regular.
    fn with_target(
        &mut self,
        event: &StreamEvent<'_>,
        apply: impl FnOnce(&mut StreamedItem, &mut String) -> bool,
    ) -> Result<Effect, AnswerError> {
        let Some(target) = self.target(event)? else { return Ok(Effect { kind: None, is_regular: false }) };
        let Some(item) = self.items.get_mut(target.at) else { return Ok(Effect { kind: None, is_regular: false }) };
        let kind = Some(item.kind);
        if item.done.is_some() {
            return Ok(Effect { kind, is_regular: false });
        }
        let is_regular = apply(item, &mut self.text) && target.is_regular;
        Ok(Effect { kind, is_regular })
    }

    fn end(&mut self, event: &StreamEvent<'_>) -> Result<Effect, AnswerError> {
        let Some(done) = event.fields.get("item").filter(|item| item.get().starts_with('{')) else {
            return Ok(Effect { kind: None, is_regular: false });
        };
        let index: Option<u64> = event.fields.get_as("output_index");
        let ended = StreamedItem::new(done, index.unwrap_or(self.next_index));
        let kind = ended.kind;
        let (at, mut is_regular) = match self.ended_by(&ended, index) {
            Some(at) => (at, true),
            None => (self.begin(StreamedItem { index: self.next_index, ..ended.clone() })?, false),
        };
        let Some(item) = self.items.get_mut(at) else { return Ok(Effect { kind: None, is_regular: false }) };
        is_regular &= item.id == ended.id && index == Some(item.index) && ends_regularly(item, &ended);
        let before = item.text().len();
        end_item(item, done, &ended);
        if let Some(further) = item.text().get(before..) {
            self.text.push_str(further);
        }
        Ok(Effect { kind: Some(kind), is_regular })
    }

    /// Returns the item that the item of a `.done` event ends: by id, call, index, or as the last one.
    fn ended_by(&self, ended: &StreamedItem, index: Option<u64>) -> Option<usize> {
        let candidates = [
            self.by_id.get(&ended.id),
            self.by_call.get(&ended.member("call_id")),
            index.and_then(|index| self.by_index.get(&index)),
        ];
        let last = self.items.len().checked_sub(1);
        candidates
            .into_iter()
            .flatten()
            .copied()
            .chain(last)
            .find(|at| self.items.get(*at).is_some_and(|item| item.kind == ended.kind && item.done.is_none()))
    }
}

/// Returns the position of the part that an event names, or else of the last one with this form.
fn part_at(item: &StreamedItem, list: PartList, form: Option<TextForm>, event: &ObjectFields<'_>) -> Option<usize> {
    let parts = item.parts(list);
    let is_fit = |at: &usize| {
        let part = parts.get(*at);
        part.is_some_and(|part| form.is_none() || part.form == form || part.text.is_empty())
    };
    let named = event.get_as::<usize>(list.index_key()).filter(is_fit);
    named.or_else(|| parts.len().checked_sub(1).filter(is_fit))
}

pub(super) fn add_part(item: &mut StreamedItem, list: PartList, event: &ObjectFields<'_>) -> bool {
    let index: Option<usize> = event.get_as(list.index_key());
    let parts = item.parts_mut(list);
    if index.is_some_and(|index| index < parts.len()) {
        return false;
    }
    let is_regular = index == Some(parts.len());
    let part = event.get("part");
    let fields = part.and_then(|part| ObjectFields::parse(part.get()));
    let form = fields.as_ref().and_then(TextForm::of_part);
    parts.push(StreamedPart::new(form, part));
    is_regular && part.is_some()
}

pub(super) fn end_part(item: &mut StreamedItem, list: PartList, event: &ObjectFields<'_>, all: &mut String) -> bool {
    let index: Option<usize> = event.get_as(list.index_key());
    let Some(at) = part_at(item, list, None, event) else { return false };
    let is_of_reasoning = item.kind == ItemKind::Reasoning;
    let Some(part) = item.parts_mut(list).get_mut(at) else { return false };
    let Some(done) = event.get("part") else { return false };
    let mut is_regular = part.done.is_none() && index == Some(at) && (part.is_text_done || part.form.is_none());
    match part_text(done) {
        Some((form, text)) if part.form == Some(form) || part.form.is_none() => {
            is_regular &= part.text == text && part.form.is_some();
            part.form = Some(form);
            if let Some(further) = part.extend_to(&text).filter(|_| form == TextForm::Output) {
                all.push_str(&further);
            }
        }
        _ => is_regular &= part.form.is_none(),
    }
    part.done = Some(done.to_owned());
    is_regular || is_of_reasoning
}

pub(super) fn push_text(item: &mut StreamedItem, form: TextForm, event: &ObjectFields<'_>, all: &mut String) -> bool {
    let is_of_reasoning = item.kind == ItemKind::Reasoning;
    let index: Option<usize> = event.get_as(form.list().index_key());
    let (at, mut is_regular) = part_or_new(item, form, event);
    let Some(part) = item.parts_mut(form.list()).get_mut(at) else { return false };
    let Some(delta) = event.string("delta") else { return false };
    is_regular &= index == Some(at) && !part.is_text_done && part.done.is_none();
    if part.done.is_some() {
        return false;
    }
    part.text.push_str(&delta);
    if form == TextForm::Output {
        all.push_str(&delta);
    }
    is_regular || is_of_reasoning
}

pub(super) fn end_text(item: &mut StreamedItem, form: TextForm, event: &ObjectFields<'_>, all: &mut String) -> bool {
    let is_of_reasoning = item.kind == ItemKind::Reasoning;
    let index: Option<usize> = event.get_as(form.list().index_key());
    let (at, mut is_regular) = part_or_new(item, form, event);
    let Some(part) = item.parts_mut(form.list()).get_mut(at) else { return false };
    let text = event.string(form.key());
    is_regular &= index == Some(at) && !part.is_text_done && text.as_deref() == Some(part.text.as_str());
    let further = text.and_then(|text| part.extend_to(&text)).filter(|_| form == TextForm::Output);
    all.push_str(&further.unwrap_or_default());
    part.is_text_done = true;
    is_regular || is_of_reasoning
}

/// Returns the position of the part that a text belongs to, and whether it was announced. A missing part begins here.
fn part_or_new(item: &mut StreamedItem, form: TextForm, event: &ObjectFields<'_>) -> (usize, bool) {
    let list = form.list();
    match part_at(item, list, Some(form), event) {
        Some(at) => {
            let Some(part) = item.parts_mut(list).get_mut(at) else { return (at, false) };
            let is_regular = part.form == Some(form);
            part.form = Some(form);
            (at, is_regular && part.added.is_some())
        }
        None => {
            let parts = item.parts_mut(list);
            parts.push(StreamedPart::new(Some(form), None));
            (parts.len() - 1, false)
        }
    }
}

pub(super) fn push_annotation(item: &mut StreamedItem, event: &ObjectFields<'_>) -> bool {
    let Some(at) = part_at(item, PartList::Content, None, event) else { return false };
    let Some(part) = item.content.get_mut(at) else { return false };
    part.annotations.extend(event.get("annotation").map(ToOwned::to_owned));
    true
}

pub(super) fn push_arguments(item: &mut StreamedItem, event: &ObjectFields<'_>) -> bool {
    let Some(delta) = event.string("delta") else { return false };
    item.arguments.push_str(&delta);
    !item.are_arguments_done
}

pub(super) fn end_arguments(item: &mut StreamedItem, event: &ObjectFields<'_>) -> bool {
    let value = item.kind.arguments_key().and_then(|key| event.get(key));
    let Some(arguments) = value.map(|value| string(value).unwrap_or(Cow::Borrowed(value.get()))) else {
        return false;
    };
    let is_regular = !item.are_arguments_done && arguments == item.arguments;
    if !arguments.is_empty() {
        item.arguments = arguments.into_owned();
    }
    item.are_arguments_done = true;
    is_regular
}
