//! Encoding of events, and the events of whole items.

use bytes::BytesMut;
use serde_json::value::RawValue;

use super::event::{PartList, TextForm};
use super::item::ItemKind;
use super::streamed_item::{IN_PROGRESS, StreamedPart, part_text};
use crate::chat_message::object_at;
use crate::emit;
use crate::fields::{ObjectFields, object, present, string};
use callwright_common::json::{RawObject, raw};

/// Writes numbered events.
pub(super) struct EventEncoder<'a> {
    pub(super) out: &'a mut BytesMut,
    pub(super) next_sequence_number: &'a mut u64,
}

/// Position of an item in its stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemPosition<'a> {
    pub(super) id: &'a str,
    pub(super) index: u64,
}

/// Position of a part in its item.
#[derive(Debug, Clone, Copy)]
struct PartPosition<'a> {
    item: ItemPosition<'a>,
    list: PartList,
    index: usize,
}

impl EventEncoder<'_> {
    /// Writes one event with these members after its type and sequence number.
    pub(super) fn write(&mut self, name: &str, members: &RawObject) {
        let mut event = object([("type", raw(name)), ("sequence_number", raw(self.next_sequence_number))]);
        for (key, value) in members.iter() {
            event.set(key, value.to_owned());
        }
        *self.next_sequence_number = self.next_sequence_number.saturating_add(1);
        self.out.extend_from_slice(format!("event: {name}\n").as_bytes());
        self.out.extend_from_slice(&emit::event(event.to_raw().get().as_bytes()));
    }

    /// Writes all events of an item.
    pub(super) fn write_item(&mut self, item: &RawValue, position: ItemPosition<'_>) {
        let fields = object_at(Some(item));
        let kind = ObjectFields::parse(item.get()).map_or(ItemKind::Other, |fields| ItemKind::new(&fields));
        let begun = if fields.iter().next().is_some() { begun(fields.clone(), kind).to_raw() } else { item.to_owned() };
        let index = raw(&position.index);
        self.write("response.output_item.added", &object([("output_index", index), ("item", begun)]));
        if matches!(kind, ItemKind::Message | ItemKind::Reasoning) {
            for list in [PartList::Summary, PartList::Content] {
                let parts: Vec<&RawValue> = fields.get_as(list.key()).unwrap_or_default();
                for (index, part) in parts.into_iter().enumerate() {
                    self.write_part(part, PartPosition { item: position, list, index });
                }
            }
        }
        if let Some(key) = kind.arguments_key() {
            let arguments = fields.get(key).and_then(string).unwrap_or_default();
            self.write_arguments(kind, &fields, [&arguments, &arguments], position);
        }
        self.end_item(item, position);
    }

    /// Writes the end of an item.
    pub(super) fn end_item(&mut self, item: &RawValue, position: ItemPosition<'_>) {
        let members = object([("output_index", raw(&position.index)), ("item", item.to_owned())]);
        self.write("response.output_item.done", &members);
    }

    /// Writes further arguments of a call, and their end with all arguments.
    pub(super) fn write_arguments(
        &mut self,
        kind: ItemKind,
        call: &RawObject,
        [further, all]: [&str; 2],
        position: ItemPosition<'_>,
    ) {
        let (delta, done, key) = match kind {
            ItemKind::CustomToolCall => {
                ("response.custom_tool_call_input.delta", "response.custom_tool_call_input.done", "input")
            }
            _ => ("response.function_call_arguments.delta", "response.function_call_arguments.done", "arguments"),
        };
        let event = |key: &str, text: &str| {
            object([("item_id", raw(position.id)), ("output_index", raw(&position.index)), (key, raw(text))])
        };
        if !further.is_empty() {
            self.write(delta, &event("delta", further));
        }
        let mut end = event(key, all);
        if let Some(name) = call.get("name").and_then(string).filter(|_| kind == ItemKind::FunctionCall) {
            end.set("name", raw(&name));
        }
        self.write(done, &end);
    }

    /// Writes the missing events of a list of parts of which the client has `streamed`. Returns the parts that the client
    /// has then: a text that the client has otherwise is ended as it is.
    pub(super) fn complete_parts(
        &mut self,
        item: ItemPosition<'_>,
        list: PartList,
        streamed: &[StreamedPart],
        mut parts: Vec<Box<RawValue>>,
    ) -> Vec<Box<RawValue>> {
        parts.extend(streamed.iter().skip(parts.len()).map(StreamedPart::to_raw));
        for (index, (known, part)) in streamed.iter().zip(&mut parts).enumerate() {
            self.complete_part(known, part, PartPosition { item, list, index });
        }
        for (index, part) in parts.iter().enumerate().skip(streamed.len()) {
            self.write_part(part, PartPosition { item, list, index });
        }
        parts
    }

    /// Writes the missing events of a part, and sets it to the part that the client has then.
    fn complete_part(&mut self, known: &StreamedPart, part: &mut Box<RawValue>, at: PartPosition<'_>) {
        if let Some(done) = &known.done {
            part.clone_from(done);
            return;
        }
        let Some(form) = known.form else { return self.end_part(part, at) };
        let text = part_text(part).filter(|(other, _)| *other == form).map(|(_, text)| text);
        let further = text.and_then(|text| text.strip_prefix(known.text.as_str()).map(ToOwned::to_owned));
        let further = further.filter(|further| further.is_empty() || !known.is_text_done).unwrap_or_else(|| {
            *part = known.to_raw();
            String::new()
        });
        if !known.is_text_done {
            self.write_text(form, &further, &format!("{}{further}", known.text), at);
        }
        // A part that was not announced has no end.
        if known.added.is_some() {
            self.end_part(part, at);
        }
    }

    fn write_part(&mut self, part: &RawValue, at: PartPosition<'_>) {
        let text = part_text(part);
        let mut added = part.to_owned();
        if let Some((form, _)) = &text {
            let mut fields = object_at(Some(part));
            fields.set(form.key(), raw(""));
            for key in ["annotations", "logprobs"].into_iter().filter(|key| present(part_member(part, key)).is_some()) {
                fields.set(key, raw::<[(); 0]>(&[]));
            }
            added = fields.to_raw();
        }
        self.write(&format!("{}.added", at.list.events()), &at.event("part", added));
        if let Some((form, text)) = text {
            self.write_text(form, &text, &text, at);
        }
        self.end_part(part, at);
    }

    fn end_part(&mut self, part: &RawValue, at: PartPosition<'_>) {
        self.write(&format!("{}.done", at.list.events()), &at.event("part", part.to_owned()));
    }

    /// Writes further text of a part, and the end of the text.
    fn write_text(&mut self, form: TextForm, further: &str, all: &str, at: PartPosition<'_>) {
        let mut delta = at.event("delta", raw(further));
        let mut done = at.event(form.key(), raw(all));
        if form == TextForm::Output {
            for event in [&mut delta, &mut done] {
                event.set("logprobs", raw::<[(); 0]>(&[]));
            }
        }
        if !further.is_empty() {
            self.write(&format!("{}.delta", form.events()), &delta);
        }
        self.write(&format!("{}.done", form.events()), &done);
    }
}

impl PartPosition<'_> {
    /// Returns the members of an event of the part.
    fn event(&self, key: &str, value: Box<RawValue>) -> RawObject {
        object([
            ("item_id", raw(self.item.id)),
            ("output_index", raw(&self.item.index)),
            (self.list.index_key(), raw(&self.index)),
            (key, value),
        ])
    }
}

/// Returns an item as it begins: without content, and in progress.
fn begun(mut item: RawObject, kind: ItemKind) -> RawObject {
    for list in [PartList::Summary, PartList::Content] {
        let is_list = present(item.get(list.key())).is_some_and(|value| value.get().starts_with('['));
        if is_list && matches!(kind, ItemKind::Message | ItemKind::Reasoning) {
            item.set(list.key(), raw::<[(); 0]>(&[]));
        }
    }
    if kind == ItemKind::Reasoning {
        item.remove("encrypted_content");
    }
    if let Some(key) = kind.arguments_key() {
        item.set(key, raw(""));
    }
    if kind != ItemKind::Other && present(item.get("status")).is_some() {
        item.set("status", raw(IN_PROGRESS));
    }
    item
}

fn part_member<'a>(part: &'a RawValue, key: &str) -> Option<&'a RawValue> {
    ObjectFields::parse(part.get())?.get(key)
}
