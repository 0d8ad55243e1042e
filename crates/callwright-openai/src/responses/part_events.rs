//! Effects of the events of an item's parts and arguments. Each function returns whether the event conforms to the API
//! reference.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::event::{PartList, TextForm};
use super::item::ItemKind;
use super::streamed_item::{StreamedItem, StreamedPart};
use crate::fields::{ObjectFields, string};

/// Returns the text of a part and its form.
pub(super) fn part_text(part: &RawValue) -> Option<(TextForm, String)> {
    let part = ObjectFields::parse(part.get())?;
    let form = TextForm::of_part(&part)?;
    Some((form, part.string(form.key()).unwrap_or_default().into_owned()))
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
    fn extend_to(&mut self, text: &str) -> Option<String> {
        let further = text.strip_prefix(self.text.as_str())?.to_owned();
        self.text.push_str(&further);
        Some(further)
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
