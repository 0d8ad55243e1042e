//! Begin and end of a streamed item: checks against the API reference, and the final item.

use serde_json::value::RawValue;

use super::event::PartList;
use super::item::ItemKind;
use super::part_events::part_text;
use super::streamed_item::{IN_PROGRESS, StreamedItem, StreamedPart};
use crate::chat_message::object_at;
use callwright_common::json::{RawObject, raw};

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
