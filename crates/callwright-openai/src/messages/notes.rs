//! Notes after texts of a conversation.
//!
//! A prompt is cached up to a breakpoint, the last block with `cache_control`. A change before it makes the provider
//! process the whole prompt again, so notes are only added after it.
//!
//! A message with results for a program of the model gets no note: the program reads the results as data, and the API
//! refuses text beside them.

use std::borrow::{Borrow, Cow};
use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::value::RawValue;

use super::blocks::{CACHE_CONTROL, CONTENT, TOOL_RESULT, USER, blocks_in, has_role, is_block, is_call_of_program};
use super::views::{ViewOrigin, elements, located_views};
use crate::content::{noted_content, part_text, text_block};
use crate::fields::ObjectFields;
use crate::request::RequestFields;
use callwright_common::json::{RawObject, raw};

/// Position of a block in a conversation: the element, and the block in its content.
type BlockPosition = (usize, usize);

/// Returns the conversation with a note after the texts of some views, by position.
pub(super) fn with_notes(fields: &RequestFields, notes: &BTreeMap<usize, String>) -> Box<RawValue> {
    let elements = elements(fields);
    let breakpoint = last_breakpoint(fields, &elements);
    let of_programs = answers_to_programs(&elements);
    let last_user =
        elements.iter().rposition(|element| has_role(element, USER)).filter(|last| !of_programs.contains(last));
    let mut edits: HashMap<usize, MessageNotes<'_>> = HashMap::new();
    for (position, located) in located_views(fields, elements.iter().copied()).into_iter().enumerate() {
        let Some(note) = notes.get(&position).filter(|_| located.view.text.is_some()) else { continue };
        let (element, place) = match located.origin {
            ViewOrigin::System => continue,
            ViewOrigin::Element(at) => (at, NotePlace::Text),
            ViewOrigin::Result(at, block) => (at, NotePlace::Result(block)),
        };
        if of_programs.contains(&element) {
            continue;
        }
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

/// Returns the positions of the messages with results for calls of programs.
fn answers_to_programs(elements: &[&RawValue]) -> HashSet<usize> {
    let mut calls: HashSet<Cow<'_, str>> = HashSet::new();
    let mut answers = HashSet::new();
    for (at, element) in elements.iter().enumerate() {
        for block in blocks_in(element) {
            let Some(fields) = ObjectFields::parse(block.get()) else { continue };
            if is_call_of_program(block) {
                calls.extend(fields.string("id"));
            } else if is_block(block, TOOL_RESULT) && fields.string("tool_use_id").is_some_and(|id| calls.contains(&id))
            {
                answers.insert(at);
            }
        }
    }
    answers
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
                content = noted_content(&content, note, text_block(note))?;
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
fn text_end(blocks: &[impl Borrow<RawValue>], added: usize) -> usize {
    let own = blocks.get(..blocks.len().saturating_sub(added)).unwrap_or_default();
    own.iter().rposition(|block| is_text(block.borrow())).map_or(own.len(), |last| last + 1)
}

/// Whether a block counts as text of its message. The text in a result belongs to the result.
fn is_text(block: &RawValue) -> bool {
    part_text(block).is_some() && !is_block(block, TOOL_RESULT)
}

/// Returns a result with a note after its text.
pub(super) fn result_with_note(block: &RawValue, note: &str) -> Option<Box<RawValue>> {
    let mut block = RawObject::parse(block.get()).ok()?;
    let content = noted_content(block.get(CONTENT)?, note, text_block(note))?;
    block.set(CONTENT, content);
    Some(block.to_raw())
}

/// Whether a note at this place is after the breakpoint.
fn is_after(breakpoint: Option<BlockPosition>, element: usize, place: NotePlace, message: &RawValue) -> bool {
    let Some(breakpoint) = breakpoint else { return true };
    match place {
        NotePlace::Result(block) => breakpoint < (element, block),
        NotePlace::Text | NotePlace::End => breakpoint < (element, text_end(&blocks_in(message), 0)),
    }
}

/// Returns the position of the last block with `cache_control`, in itself or in its content. A `cache_control` of the
/// request applies to the last block.
fn last_breakpoint(fields: &RequestFields, elements: &[&RawValue]) -> Option<BlockPosition> {
    let is_automatic = fields.get(CACHE_CONTROL).is_some();
    for (at, element) in elements.iter().enumerate().rev() {
        let blocks = blocks_in(element);
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
    let has_own =
        |block: &RawValue| ObjectFields::parse(block.get()).is_some_and(|block| block.get(CACHE_CONTROL).is_some());
    has_own(block) || blocks_in(block).into_iter().any(has_own)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{request, sent};

    const NOTE: &str = r#"{"type":"text","text":"see \"this\""}"#;

    fn noted(messages: &str, places: &[usize]) -> String {
        let mut request = request(&format!(r#"{{"messages":{messages}}}"#));
        places.iter().for_each(|place| request.add_note(*place, "see \"this\"".to_owned()));
        let sent = sent(&request);
        sent.strip_prefix(r#"{"messages":"#).unwrap().strip_suffix('}').unwrap().to_owned()
    }

    #[test]
    fn a_string_is_continued_and_keeps_its_bytes() {
        assert_eq!(
            noted(r#"[{"role":"user","content":"\u0041\/\ud800"},{"role":"user","content":"b"}]"#, &[0]),
            r#"[{"role":"user","content":"\u0041\/\ud800\n\nsee \"this\""},{"role":"user","content":"b"}]"#
        );
    }

    #[test]
    fn results_for_a_program_get_none() {
        let call = |kind: &str| {
            format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"1","name":"f","input":{{}},"caller":{{"type":"{kind}"}}}}]}}"#
            )
        };
        let result = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"}]}"#;
        let user = r#"{"role":"user","content":"a"}"#;
        let messages = format!("[{user},{},{result}]", call("code_execution_20250825"));
        assert_eq!(noted(&messages, &[2]), messages);
        let cached = messages.replacen(r#""input":{}"#, r#""input":{},"cache_control":{"type":"ephemeral"}"#, 1);
        assert_eq!(noted(&cached, &[0]), cached, "the note would follow the results");
        assert!(noted(&format!("[{user},{},{result}]", call("direct")), &[2]).contains("this"));
    }

    #[test]
    fn a_list_of_blocks_gets_one_after_its_texts() {
        let result = r#"{"type":"tool_result","tool_use_id":"1","content":"r"}"#;
        let text = r#"{"type":"text", "text":"a"}"#;
        assert_eq!(
            noted(&format!(r#"[{{"role":"user","content":[{result},{text},{{"type":"image"}}]}}]"#), &[1]),
            format!(r#"[{{"role":"user","content":[{result},{text},{NOTE},{{"type":"image"}}]}}]"#)
        );
    }

    #[test]
    fn a_note_on_a_result_goes_into_the_result() {
        assert_eq!(
            noted(
                r#"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"},{"type":"tool_result","tool_use_id":"2","content":[{"type":"text", "text":"s"}]}]}]"#,
                &[0, 1]
            ),
            format!(
                r#"[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"1","content":"r\n\nsee \"this\""}},{{"type":"tool_result","tool_use_id":"2","content":[{{"type":"text", "text":"s"}},{NOTE}]}}]}}]"#
            )
        );
    }

    #[test]
    fn views_without_text_get_no_note() {
        for messages in [
            r#"[{"role":"user","content":[{"type":"image"}]}]"#,
            r#"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}]"#,
            r#"[{"role":"user"}]"#,
            "[7]",
        ] {
            assert_eq!(noted(messages, &[0, 9]), messages);
        }
    }

    #[test]
    fn an_instruction_gets_no_note() {
        let text = r#"{"system":"S","messages":[{"role":"user","content":"a"}]}"#;
        let mut request = request(text);
        request.add_note(0, "n".to_owned());
        assert_eq!(sent(&request), text);
    }

    // lidge-jun/opencodex 2939: blocks of a replayed prefix moved, so that each request missed the prompt cache.
    #[test]
    fn nothing_up_to_the_last_breakpoint_changes() {
        let cached = r#"{"type":"text", "text":"a", "cache_control":{"type":"ephemeral"}}"#;
        let result = r#"{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"r", "cache_control":{"type":"ephemeral"}}]}"#;
        let prefix = format!(
            r#"{{"role":"user","content":[{cached}]}},{{"role":"assistant","content":"b"}},{{"role":"user","content":[{result}"#
        );
        let messages = format!(r#"[{prefix},{{"type":"text","text":"c"}}]}},{{"role":"user","content":"d"}}]"#);
        let system = r#"[{"type":"text", "text":"S\u0041", "cache_control":{"type":"ephemeral"}}]"#;
        let mut request = request(&format!(r#"{{"system":{system},"messages":{messages}}}"#));
        for place in [1, 2, 3] {
            request.add_note(place, format!("n{place}"));
        }
        request.push_user("more");
        assert_eq!(
            sent(&request),
            format!(
                r#"{{"system":{system},"messages":[{prefix},{{"type":"text","text":"c"}}]}},{{"role":"user","content":"d\n\nn1\n\nn2\n\nn3"}},{{"role":"user","content":[{{"type":"text","text":"more"}}]}}]}}"#
            )
        );
    }

    #[test]
    fn a_note_directly_after_the_breakpoint_is_a_block_of_its_own() {
        let cached = r#"{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}"#;
        assert_eq!(
            noted(&format!(r#"[{{"role":"user","content":[{cached}]}}]"#), &[0]),
            format!(r#"[{{"role":"user","content":[{cached},{NOTE}]}}]"#)
        );
        let result = r#"{"type":"tool_result","tool_use_id":"1","content":"r","cache_control":{"type":"ephemeral"}}"#;
        assert_eq!(
            noted(&format!(r#"[{{"role":"user","content":[{result}]}}]"#), &[0]),
            format!(r#"[{{"role":"user","content":[{result},{NOTE}]}}]"#)
        );
        let image = r#"{"type":"image","cache_control":{"type":"ephemeral"}}"#;
        assert_eq!(
            noted(&format!(r#"[{{"role":"user","content":[{{"type":"text","text":"a"}},{image}]}}]"#), &[0]),
            format!(r#"[{{"role":"user","content":[{{"type":"text","text":"a"}},{image},{NOTE}]}}]"#)
        );
    }

    #[test]
    fn a_breakpoint_after_the_last_user_message_leaves_no_place() {
        let messages = r#"[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}]"#;
        assert_eq!(noted(messages, &[0]), messages);
    }

    #[test]
    fn an_automatic_breakpoint_is_at_the_last_block() {
        let first = r#"{"role":"user","content":"a"}"#;
        let text = r#"{"type":"text","text":"b"}"#;
        let mut request = request(&format!(
            r#"{{"cache_control":{{"type":"ephemeral"}},"messages":[{first},{{"role":"user","content":[{text}]}}]}}"#
        ));
        request.add_note(0, "see \"this\"".to_owned());
        assert!(sent(&request).ends_with(&format!(r#"[{first},{{"role":"user","content":[{text},{NOTE}]}}]}}"#)));
    }
}
