//! Notes after texts of a conversation.
//!
//! A prompt is cached up to a breakpoint, the last block with `cache_control`. A change before it makes the provider
//! process the whole prompt again, so notes are only added after it.

use std::collections::{BTreeMap, HashMap};

use serde_json::value::RawValue;

use super::blocks::{CACHE_CONTROL, CONTENT, USER, is_block, text_block};
use super::views::{ViewOrigin, elements, located_views};
use crate::content::part_text;
use crate::fields::{ObjectFields, present};
use crate::request::spliced;
use callwright_common::json::{RawObject, raw};

/// Position of a block in a conversation: the element, and the block in its content.
type BlockPosition = (usize, usize);

/// Returns the conversation with a note after the texts of some views, by position.
pub(super) fn with_notes(fields: &RawObject, notes: &BTreeMap<usize, String>) -> Box<RawValue> {
    let elements = elements(fields);
    let breakpoint = last_breakpoint(fields, &elements);
    let last_user = elements.iter().rposition(|element| is_user(element));
    let mut edits: HashMap<usize, MessageNotes<'_>> = HashMap::new();
    for (position, located) in located_views(fields.get("system"), elements.iter().copied()).into_iter().enumerate() {
        let Some(note) = notes.get(&position).filter(|_| located.view.text.is_some()) else { continue };
        let (element, place) = match located.origin {
            ViewOrigin::System => continue,
            ViewOrigin::Element(at) => (at, NotePlace::Text),
            ViewOrigin::Result(at, block) => (at, NotePlace::Result(block)),
        };
        let is_after = elements.get(element).is_some_and(|raw| is_after(breakpoint, element, place, raw));
        if is_after {
            edits.entry(element).or_default().0.push((place, note));
        } else if let Some(last) = last_user.filter(|last| breakpoint.is_none_or(|(at, _)| at <= *last)) {
            edits.entry(last).or_default().0.push((NotePlace::End, note));
        }
    }
    let noted = elements.into_iter().enumerate().map(|(at, element)| {
        edits.get(&at).and_then(|edit| edit.applied(element)).unwrap_or_else(|| element.to_owned())
    });
    raw(&noted.collect::<Vec<_>>())
}

/// Place of a note in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotePlace {
    /// In the result that is this block of the content.
    Result(usize),
    /// After the last text.
    Text,
    /// After all blocks.
    End,
}

/// Notes of one message, in the order of their views.
#[derive(Default)]
struct MessageNotes<'a>(Vec<(NotePlace, &'a str)>);

impl<'a> MessageNotes<'a> {
    fn applied(&self, element: &RawValue) -> Option<Box<RawValue>> {
        let mut message = RawObject::parse(element.get()).ok()?;
        let content = self.with_notes(message.get(CONTENT)?)?;
        message.set(CONTENT, content);
        Some(message.to_raw())
    }

    fn with_notes(&self, content: &RawValue) -> Option<Box<RawValue>> {
        if content.get().starts_with('"') {
            let mut content = content.to_owned();
            for (_, note) in &self.0 {
                content = spliced(content.get(), note)?;
            }
            return Some(content);
        }
        let mut blocks: Vec<Box<RawValue>> = serde_json::from_str(content.get()).ok()?;
        for (place, note) in &self.0 {
            if let NotePlace::Result(at) = place
                && let Some(block) = blocks.get_mut(*at)
            {
                *block = result_with_note(block, note)?;
            }
        }
        blocks.extend(self.at(NotePlace::End).map(text_block));
        // Inserted last, because positions of later blocks change.
        let after_text = text_end(&blocks, self.at(NotePlace::End).count());
        let notes: Vec<_> = self.at(NotePlace::Text).map(text_block).collect();
        blocks.splice(after_text..after_text, notes);
        Some(raw(&blocks))
    }

    fn at(&self, place: NotePlace) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(own, _)| *own == place).map(|(_, note)| *note)
    }
}

/// Returns the position after the last text block, without `added` blocks at the end.
fn text_end(blocks: &[Box<RawValue>], added: usize) -> usize {
    let own = blocks.get(..blocks.len().saturating_sub(added)).unwrap_or_default();
    own.iter().rposition(|block| is_text(block)).map_or(own.len(), |last| last + 1)
}

/// Whether a block counts as text of its message. The text in a result belongs to the result.
fn is_text(block: &RawValue) -> bool {
    part_text(block).is_some() && !is_block(block, super::blocks::TOOL_RESULT)
}

fn result_with_note(block: &RawValue, note: &str) -> Option<Box<RawValue>> {
    let mut block = RawObject::parse(block.get()).ok()?;
    let content = block.get(CONTENT)?;
    let content = if content.get().starts_with('"') {
        spliced(content.get(), note)?
    } else {
        let mut blocks: Vec<Box<RawValue>> = serde_json::from_str(content.get()).ok()?;
        blocks.push(text_block(note));
        raw(&blocks)
    };
    block.set(CONTENT, content);
    Some(block.to_raw())
}

fn is_user(element: &RawValue) -> bool {
    ObjectFields::parse(element.get()).is_some_and(|message| message.string("role").as_deref() == Some(USER))
}

/// Whether a note at this place is after the breakpoint.
fn is_after(breakpoint: Option<BlockPosition>, element: usize, place: NotePlace, message: &RawValue) -> bool {
    let Some(breakpoint) = breakpoint else { return true };
    match place {
        NotePlace::Result(block) => breakpoint < (element, block),
        NotePlace::Text | NotePlace::End => {
            let message = ObjectFields::parse(message.get());
            let blocks: Vec<Box<RawValue>> = message.and_then(|message| message.get_as(CONTENT)).unwrap_or_default();
            breakpoint < (element, text_end(&blocks, 0))
        }
    }
}

/// Returns the position of the last block with `cache_control`, in itself or in its content. A `cache_control` of the
/// request applies to the last block.
fn last_breakpoint(fields: &RawObject, elements: &[&RawValue]) -> Option<BlockPosition> {
    let is_automatic = present(fields.get(CACHE_CONTROL)).is_some();
    for (at, element) in elements.iter().enumerate().rev() {
        let message = ObjectFields::parse(element.get());
        let blocks: Vec<&RawValue> = message.and_then(|message| message.items(CONTENT)).unwrap_or_default();
        if is_automatic {
            return Some((at, blocks.len().saturating_sub(1)));
        }
        if let Some(block) = blocks.iter().rposition(|block| has_breakpoint(block)) {
            return Some((at, block));
        }
    }
    None
}

fn has_breakpoint(block: &RawValue) -> bool {
    ObjectFields::parse(block.get()).is_some_and(|block| {
        block.get(CACHE_CONTROL).is_some()
            || block
                .items(CONTENT)
                .unwrap_or_default()
                .into_iter()
                .any(|inner| ObjectFields::parse(inner.get()).is_some_and(|inner| inner.get(CACHE_CONTROL).is_some()))
    })
}
