//! The conversation of a request: its views, notes on them, and parts that are put back.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem::Finder;
use serde_json::json;
use serde_json::value::RawValue;

use super::item::{ItemKind, call_id, call_of, is_of_model, is_of_program, item_id, reasoning_part};
use super::request::{INPUT, OUTPUT, ResponsesRequest, call_output};
use crate::content::{noted_content, text_block, text_of};
use crate::fields::{ObjectFields, string, string_in};
use crate::kept::KeptCall;
use crate::parts::{ConversationForm, Rejoined};
use crate::request::RequestFields;
use crate::words::{CallWords, Word};
use crate::{KeptPart, MessageView, ReasoningPart};
use callwright_common::json::{RawObject, raw};
use callwright_types::tool_names::is_same_call_id;

/// The members of a request that hold its conversation.
pub(super) struct Conversation<'a> {
    /// `instructions`, the first view.
    instructions: Option<Cow<'a, str>>,
    /// `input` as one string.
    text: Option<&'a RawValue>,
    /// `input` as items.
    items: Vec<&'a RawValue>,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(fields: &'a RequestFields) -> Self {
        let is_text = fields.get(INPUT).is_some_and(|input| input.starts_with('"'));
        Self {
            instructions: fields.get("instructions").and_then(string_in),
            text: if is_text { fields.get_as(INPUT) } else { None },
            items: fields.get_as(INPUT).unwrap_or_default(),
        }
    }

    /// Position of the view of the first item.
    fn first_view(&self) -> usize {
        usize::from(self.instructions.is_some())
    }
}

impl ConversationForm for ResponsesRequest {
    fn conversation_key(&self) -> &'static str {
        INPUT
    }

    fn as_list<'a>(&self, conversation: &'a str) -> Cow<'a, str> {
        match conversation.starts_with('"') {
            true => Cow::Owned(format!(r#"[{{"role":"user","content":{conversation}}}]"#)),
            false => Cow::Borrowed(conversation),
        }
    }

    fn views<'a>(&self, fields: &'a RequestFields, added: &'a [Arc<RawValue>]) -> Vec<MessageView<'a>> {
        let mut conversation = Conversation::new(fields);
        let mut views = Vec::with_capacity(conversation.items.len() + added.len() + 1);
        views.extend(conversation.instructions.take().map(|text| text_view("system", text)));
        views.extend(conversation.text.and_then(string).map(|text| text_view("user", text)));
        conversation.items.extend(added.iter().map(|item| &**item));
        for range in runs(&conversation.items) {
            views.push(view(conversation.items.get(range).unwrap_or_default()));
        }
        views
    }

    fn with_notes(&self, fields: &RequestFields, notes: &BTreeMap<usize, String>) -> Box<RawValue> {
        let conversation = Conversation::new(fields);
        let first = conversation.first_view();
        if let Some(text) = conversation.text {
            let noted = notes.get(&first).and_then(|note| noted_content(text, note, text_block(note)));
            return noted.unwrap_or_else(|| text.to_owned());
        }
        let mut items: Vec<Box<RawValue>> = conversation.items.iter().map(|item| (*item).to_owned()).collect();
        for (offset, range) in runs(&conversation.items).into_iter().enumerate() {
            let Some(note) = notes.get(&(first + offset)) else { continue };
            for item in items.get_mut(range).unwrap_or_default().iter_mut().rev() {
                if let Some(noted) = noted_item(item, note) {
                    *item = noted;
                    break;
                }
            }
        }
        raw(&items)
    }

    fn rejoined(&self, fields: &RequestFields, parts: &BTreeMap<usize, KeptPart>, lost: &str) -> Rejoined {
        let conversation = Conversation::new(fields);
        let first = conversation.first_view();
        let old_runs = runs(&conversation.items);
        let mut positions: Vec<Option<usize>> = (0..first).map(Some).collect();
        if let Some(text) = conversation.text {
            positions.push(Some(first));
            return Rejoined { conversation: text.to_owned(), positions };
        }
        positions.resize(first + old_runs.len(), None);
        let mut items: Vec<Cow<'_, RawValue>> = Vec::with_capacity(conversation.items.len());
        // Position of the old view of each item; `None` for items of rewritten views.
        let mut sources: Vec<Option<usize>> = Vec::with_capacity(conversation.items.len());
        for (offset, range) in old_runs.into_iter().enumerate() {
            let run = conversation.items.get(range).unwrap_or_default();
            let part = parts.get(&(first + offset));
            match part {
                Some(part) => put_back(part, run, lost, &mut items),
                None => items.extend(run.iter().map(|item| Cow::Borrowed(*item))),
            }
            sources.resize(items.len(), part.is_none().then_some(first + offset));
        }
        let borrowed: Vec<&RawValue> = items.iter().map(|item| &**item).collect();
        for (offset, range) in runs(&borrowed).into_iter().enumerate() {
            let mut of_run = sources.get(range).unwrap_or_default().iter();
            let source = of_run.next().copied().flatten().filter(|source| of_run.all(|other| *other == Some(*source)));
            if let Some(position) = source.and_then(|source| positions.get_mut(source)) {
                *position = Some(first + offset);
            }
        }
        Rejoined { conversation: raw(&borrowed), positions }
    }

    fn reasoning(&self, fields: &RequestFields) -> Vec<ReasoningPart> {
        let conversation = Conversation::new(fields);
        conversation.items.iter().filter_map(|item| reasoning_part(item)).collect()
    }

    fn without_reasoning(&self, fields: &RequestFields, positions: &BTreeSet<usize>) -> Box<RawValue> {
        let conversation = Conversation::new(fields);
        if let Some(text) = conversation.text {
            return text.to_owned();
        }
        let mut next = 0;
        let mut items = conversation.items.clone();
        items.retain(|item| {
            let is_reasoning = reasoning_part(item).is_some();
            let is_removed = is_reasoning && positions.contains(&next);
            next += usize::from(is_reasoning);
            !is_removed
        });
        raw(&items)
    }

    /// Results have it as well: with `previous_response_id`, a request has results without their calls.
    fn call_words(&self) -> CallWords {
        static CALL: Word = Word::new(|| Finder::new("_call"));
        CallWords { of_tools: None, other: Some(&CALL) }
    }
}

/// Returns the ranges of the items that are one view: a run of items that the model wrote, or one other item.
fn runs(items: &[&RawValue]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::with_capacity(items.len());
    let mut was_of_model = false;
    for (at, item) in items.iter().enumerate() {
        let of_model =
            ObjectFields::parse(item.get()).is_some_and(|fields| is_of_model(&fields, ItemKind::new(&fields)));
        match runs.last_mut() {
            Some(last) if of_model && was_of_model => last.end = at + 1,
            _ => runs.push(at..at + 1),
        }
        was_of_model = of_model;
    }
    runs
}

fn text_view<'a>(role: &'static str, text: Cow<'a, str>) -> MessageView<'a> {
    MessageView { role: Cow::Borrowed(role), text: Some(text), ..MessageView::default() }
}

/// Returns the view of a run.
fn view<'a>(run: &[&'a RawValue]) -> MessageView<'a> {
    let items = run.iter().filter_map(|item| ObjectFields::parse(item.get()));
    let items: Vec<(ItemKind, ObjectFields<'a>)> = items.map(|item| (ItemKind::new(&item), item)).collect();
    match items.as_slice() {
        [(kind, item)] if !is_of_model(item, *kind) => view_of_one(*kind, item),
        [] => MessageView::default(),
        items => view_of_model(items),
    }
}

fn view_of_one<'a>(kind: ItemKind, item: &ObjectFields<'a>) -> MessageView<'a> {
    match kind {
        ItemKind::Message => MessageView {
            role: item.string("role").unwrap_or_default(),
            text: item.get("content").and_then(|content| text_of(content, "\n")),
            ..MessageView::default()
        },
        ItemKind::CallOutput => MessageView {
            role: Cow::Borrowed("tool"),
            text: item.get(OUTPUT).and_then(|output| text_of(output, "\n")),
            tool_call_id: item.string("call_id").or_else(|| item.string("id")),
            ..MessageView::default()
        },
        _ => MessageView::default(),
    }
}

fn view_of_model<'a>(items: &[(ItemKind, ObjectFields<'a>)]) -> MessageView<'a> {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for (kind, item) in items {
        if kind.is_call() {
            calls.push(call_of(item, *kind));
        } else if *kind == ItemKind::Message {
            texts.extend(item.get("content").and_then(|content| text_of(content, "\n")));
        }
    }
    let text = if texts.len() > 1 { Some(Cow::Owned(texts.join("\n"))) } else { texts.pop() };
    MessageView { role: Cow::Borrowed("assistant"), text, calls: Cow::Owned(calls), ..MessageView::default() }
}

/// Returns a message or result with a note after its text; `None` if it has no text.
fn noted_item(item: &RawValue, note: &str) -> Option<Box<RawValue>> {
    let fields = ObjectFields::parse(item.get())?;
    let key = match ItemKind::new(&fields) {
        ItemKind::Message => "content",
        ItemKind::CallOutput => OUTPUT,
        _ => return None,
    };
    // A program reads the result of its call as data.
    if is_of_program(&fields) {
        return None;
    }
    with_text_note(item, key, note)
}

/// Returns an item with a note after the text of a member; `None` if that has no text.
pub(super) fn with_text_note(item: &RawValue, key: &str, note: &str) -> Option<Box<RawValue>> {
    let fields = ObjectFields::parse(item.get())?;
    let value = fields.get(key)?;
    text_of(value, "")?;
    let part = note_part(note, fields.string("role").as_deref() == Some("assistant"));
    let noted = noted_content(value, note, part)?;
    let mut object = RawObject::parse(item.get()).ok()?;
    object.set(key, noted);
    Some(object.to_raw())
}

/// Returns a note as a part. Messages of the model have parts of another type than those of the user.
fn note_part(note: &str, is_of_model: bool) -> Box<RawValue> {
    if !is_of_model {
        return raw(&json!({"type": "input_text", "text": note}));
    }
    raw(&json!({"type": "output_text", "text": note, "annotations": []}))
}

/// Writes a run with the proxy's part: the earlier items, the proxy's calls among those of the client in the model's
/// order, and the results of the proxy's calls. Items of the run that the earlier items repeat are left out, because an
/// id must be unique.
fn put_back<'a>(part: &'a KeptPart, run: &[&'a RawValue], lost: &str, out: &mut Vec<Cow<'a, RawValue>>) {
    out.extend(part.before.iter().map(|item| Cow::Borrowed(&**item)));
    let repeated: HashSet<String> = part.before.iter().filter_map(|item| item_id(item)).collect();
    let mut pending = part.calls.iter();
    let mut after_calls = None;
    for item in run {
        if item_id(item).is_some_and(|id| repeated.contains(&id)) {
            continue;
        }
        let id = call_id(item).filter(|id| part.calls.iter().any(|call| is_call_of_client(call, id)));
        if let Some(id) = &id {
            for call in pending.by_ref() {
                match call {
                    KeptCall::Proxy(element) => out.push(Cow::Borrowed(element)),
                    KeptCall::Client(_) if is_call_of_client(call, id) => break,
                    KeptCall::Client(_) => {}
                }
            }
        }
        out.push(Cow::Borrowed(item));
        if id.is_some() {
            after_calls = Some(out.len());
        }
    }
    let rest = pending.filter_map(KeptCall::element).map(Cow::Borrowed);
    let at = after_calls.unwrap_or(out.len());
    out.splice(at..at, rest.collect::<Vec<_>>());
    for call in &part.calls {
        let Some(element) = call.element() else { continue };
        let Some(id) = call_id(element) else { continue };
        out.push(Cow::Owned(call_output(element, &id, part.result(&id, lost))));
    }
}

fn is_call_of_client(call: &KeptCall, id: &str) -> bool {
    call.client_id().is_some_and(|own| is_same_call_id(own, id))
}
