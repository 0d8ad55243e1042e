//! The output of a streamed answer: its streamed items and those of its final object.

use std::collections::{HashMap, VecDeque};

use serde_json::value::RawValue;

use super::answer::ResponsesAnswer;
use super::item::{ItemKind, call_id, item_id};
use super::streamed_item::{IN_PROGRESS, StreamedItem};
use crate::chat_message::{object_at, set_string};
use crate::fields::{ObjectFields, string};
use crate::parts::{PartKind, PartsForm};
use callwright_common::json::raw;

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
    let is_of_kind = |item: &StreamedItem, place: usize| kinds.get(place) == Some(&Some(item.member("type")));
    let (mut places, is_free) = identified(streamed, finals, is_of_kind);
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
