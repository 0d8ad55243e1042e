//! One item of a stream, assembled from its events.

use serde_json::value::RawValue;

use super::event::{PartList, TextForm};
use super::item::{ItemKind, with_status};
use crate::chat_message::object_at;
use crate::fields::{ObjectFields, object, string};
use callwright_common::json::{RawObject, raw};

/// Status of an item that is not complete yet.
pub(super) const IN_PROGRESS: &str = "in_progress";

/// An item of which events were received.
#[derive(Debug, Clone)]
pub(super) struct StreamedItem {
    pub(super) kind: ItemKind,
    /// `output_index` of its first event.
    pub(super) index: u64,
    /// `id`; empty if the server sent none.
    pub(super) id: String,
    /// Item of `response.output_item.added`.
    pub(super) added: RawObject,
    pub(super) content: Vec<StreamedPart>,
    pub(super) summary: Vec<StreamedPart>,
    /// Arguments or input of a call, from its deltas.
    pub(super) arguments: String,
    pub(super) are_arguments_done: bool,
    /// Item of `response.output_item.done`.
    pub(super) done: Option<Box<RawValue>>,
}

/// A part of an item's content or summary.
#[derive(Debug, Clone)]
pub(super) struct StreamedPart {
    /// Form of its streamed text, if it has one.
    pub(super) form: Option<TextForm>,
    /// Part of the `.added` event; `None` if the server sent none.
    pub(super) added: Option<Box<RawValue>>,
    pub(super) text: String,
    pub(super) is_text_done: bool,
    pub(super) annotations: Vec<Box<RawValue>>,
    /// Part of the `.done` event.
    pub(super) done: Option<Box<RawValue>>,
}

impl StreamedItem {
    /// Creates an item from the item of an `.added` event.
    pub(super) fn new(item: &RawValue, index: u64) -> Self {
        let fields = ObjectFields::parse(item.get());
        let kind = fields.as_ref().map_or(ItemKind::Other, ItemKind::new);
        let id = fields.as_ref().and_then(|fields| fields.string("id")).unwrap_or_default().into_owned();
        Self {
            kind,
            index,
            id,
            added: object_at(Some(item)),
            content: Vec::new(),
            summary: Vec::new(),
            arguments: String::new(),
            are_arguments_done: false,
            done: None,
        }
    }

    /// Creates an item of a kind whose `.added` event is missing.
    pub(super) fn implied(kind: ItemKind, id: Option<&str>, index: u64) -> Self {
        let mut item = match kind {
            ItemKind::Reasoning => object([("type", raw("reasoning")), ("summary", no_parts())]),
            ItemKind::FunctionCall => object([("type", raw("function_call"))]),
            ItemKind::CustomToolCall => object([("type", raw("custom_tool_call"))]),
            _ => object([("type", raw("message")), ("role", raw("assistant")), ("content", no_parts())]),
        };
        item.set("status", raw(IN_PROGRESS));
        if let Some(id) = id {
            item.set("id", raw(id));
        }
        Self::new(&item.to_raw(), index)
    }

    pub(super) fn parts(&self, list: PartList) -> &[StreamedPart] {
        match list {
            PartList::Content => &self.content,
            PartList::Summary => &self.summary,
        }
    }

    pub(super) fn parts_mut(&mut self, list: PartList) -> &mut Vec<StreamedPart> {
        match list {
            PartList::Content => &mut self.content,
            PartList::Summary => &mut self.summary,
        }
    }

    /// Returns a member of the item as a string; empty if it is absent.
    pub(super) fn member(&self, key: &str) -> String {
        self.added.get(key).and_then(string).unwrap_or_default().into_owned()
    }

    /// Whether the item of another `.added` event is this item, which is not done.
    pub(super) fn is_repeated_by(&self, other: &Self) -> bool {
        let is_same = self.kind == other.kind && self.id == other.id;
        is_same && self.done.is_none() && self.member("call_id") == other.member("call_id")
    }

    /// Returns the text of a message.
    pub(super) fn text(&self) -> String {
        let texts = self.content.iter().filter(|part| part.form == Some(TextForm::Output));
        texts.map(|part| part.text.as_str()).collect()
    }

    /// Returns the item: that of `.done`, or else as far as it was received, with this status.
    pub(super) fn to_raw(&self, status: &str) -> Box<RawValue> {
        match &self.done {
            Some(done) => done.clone(),
            None => with_status(self.assembled(), status).to_raw(),
        }
    }

    /// Returns the item as far as it was received, from the events before `.done`.
    pub(super) fn assembled(&self) -> RawObject {
        let mut item = self.added.clone();
        for list in [PartList::Summary, PartList::Content] {
            let parts: Vec<Box<RawValue>> = self.parts(list).iter().map(StreamedPart::to_raw).collect();
            if !parts.is_empty() {
                item.set(list.key(), raw(&parts));
            }
        }
        if let Some(key) = self.kind.arguments_key()
            && (!self.arguments.is_empty() || !item.contains(key))
        {
            item.set(key, raw(&self.arguments));
        }
        item
    }
}

impl StreamedPart {
    /// Whether a part has the form and text of this one.
    pub(super) fn is_text(&self, part: &RawValue) -> bool {
        match (self.form, part_text(part)) {
            (Some(form), Some((other, text))) => form == other && text == self.text,
            (form, text) => form.is_none() && text.is_none(),
        }
    }

    /// Extends the text to a final one. Returns the added text; `None` if the final text is another.
    pub(super) fn extend_to(&mut self, text: &str) -> Option<String> {
        let further = text.strip_prefix(self.text.as_str())?.to_owned();
        self.text.push_str(&further);
        Some(further)
    }

    pub(super) fn new(form: Option<TextForm>, added: Option<&RawValue>) -> Self {
        Self {
            form,
            added: added.map(ToOwned::to_owned),
            text: String::new(),
            is_text_done: false,
            annotations: Vec::new(),
            done: None,
        }
    }

    /// Returns the part with the text so far.
    pub(super) fn to_raw(&self) -> Box<RawValue> {
        let given = self.done.as_ref().or(self.added.as_ref());
        let mut part = object_at(given.map(|part| &**part));
        let Some(form) = self.form else { return given.cloned().unwrap_or_else(|| part.to_raw()) };
        if self.done.is_some() && part.get(form.key()).and_then(string).as_deref() == Some(self.text.as_str()) {
            return given.cloned().unwrap_or_else(|| part.to_raw());
        }
        // vLLM begins parts of reasoning with another type.
        if part.get("type").and_then(string).as_deref() != Some(form.part_type()) {
            part.set("type", raw(form.part_type()));
        }
        if form == TextForm::Output && (!self.annotations.is_empty() || !part.contains("annotations")) {
            part.set("annotations", raw(&self.annotations));
        }
        part.set(form.key(), raw(&self.text));
        part.to_raw()
    }
}

fn no_parts() -> Box<RawValue> {
    let empty: [(); 0] = [];
    raw(&empty)
}

/// Whether the item of an `.added` event is empty, and a call has an id and a name.
pub(super) fn begins_regularly(item: &StreamedItem) -> bool {
    match item.kind {
        ItemKind::Message => item.added.get_as::<Vec<&RawValue>>("content").is_some_and(|parts| parts.is_empty()),
        ItemKind::FunctionCall | ItemKind::CustomToolCall => {
            let has_names = ["call_id", "name"].iter().all(|key| !item.member(key).is_empty());
            let arguments = item.kind.arguments_key().and_then(|key| item.added.get(key));
            has_names && arguments.is_some_and(|arguments| arguments.get() == "\"\"")
        }
        _ => true,
    }
}

/// Whether an item may end as `ended`: all its parts have ended, and it has the same call and text.
pub(super) fn ends_regularly(item: &StreamedItem, ended: &StreamedItem) -> bool {
    if ended.member("status") == IN_PROGRESS {
        return false;
    }
    match item.kind {
        ItemKind::Message => {
            let are_done = item.content.iter().all(|part| part.added.is_some() && part.done.is_some());
            let parts: Vec<&RawValue> = ended.added.get_as("content").unwrap_or_default();
            are_done
                && parts.len() == item.content.len()
                && item.content.iter().zip(parts).all(|(part, done)| part.is_text(done))
        }
        ItemKind::FunctionCall | ItemKind::CustomToolCall => {
            let arguments = item.kind.arguments_key().map(|key| ended.member(key));
            let has_names = ["call_id", "name"].iter().all(|key| item.member(key) == ended.member(key));
            has_names && item.are_arguments_done && arguments.as_deref() == Some(item.arguments.as_str())
        }
        _ => true,
    }
}

/// Ends an item. Streamed content that the final item lacks is kept, and so are the ids that the client may have.
pub(super) fn end_item(item: &mut StreamedItem, done: &RawValue, ended: &StreamedItem) {
    let mut fields = object_at(Some(done));
    if !item.id.is_empty() && item.id != ended.id {
        fields.set("id", raw(&item.id));
    }
    if item.kind.is_call() {
        let call_id = item.member("call_id");
        if !call_id.is_empty() && call_id != ended.member("call_id") {
            fields.set("call_id", raw(&call_id));
        }
        if let Some(key) = item.kind.arguments_key()
            && !item.arguments.is_empty()
            && fields.get(key).is_none_or(|value| matches!(value.get(), "\"\"" | "null"))
        {
            fields.set(key, raw(&item.arguments));
        }
    }
    for list in [PartList::Summary, PartList::Content] {
        if !take_final_parts(item, list, &fields) {
            let parts: Vec<Box<RawValue>> = item.parts(list).iter().map(StreamedPart::to_raw).collect();
            fields.set(list.key(), raw(&parts));
        }
    }
    item.done = Some(fields.to_raw());
}

/// Takes the texts of the final parts of an item. Returns false if they lack streamed text.
fn take_final_parts(item: &mut StreamedItem, list: PartList, fields: &RawObject) -> bool {
    let finals: Vec<&RawValue> = fields.get_as(list.key()).unwrap_or_default();
    let parts = item.parts_mut(list);
    let is_covered = parts.len() <= finals.len()
        && parts.iter().zip(&finals).all(|(part, done)| match (part.form, part_text(done)) {
            (Some(form), Some((final_form, text))) => form == final_form && text.starts_with(&part.text),
            (form, _) => form.is_none(),
        });
    if !is_covered {
        return parts.is_empty();
    }
    for (at, done) in finals.into_iter().enumerate() {
        if at >= parts.len() {
            parts.push(StreamedPart::new(None, None));
        }
        let (Some(part), Some((form, text))) = (parts.get_mut(at), part_text(done)) else { continue };
        (part.form, part.text) = (Some(form), text);
    }
    true
}

/// Returns the text of a part and its form.
pub(super) fn part_text(part: &RawValue) -> Option<(TextForm, String)> {
    let part = ObjectFields::parse(part.get())?;
    let form = TextForm::of_part(&part)?;
    Some((form, part.string(form.key()).unwrap_or_default().into_owned()))
}
