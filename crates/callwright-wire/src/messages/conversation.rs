//! The conversation of a request: its views, each with its place in it, notes after its texts, and reinsertion of the parts
//! that the client did not receive.
//!
//! A prompt is cached up to a breakpoint, the last block with `cache_control`. A change before it makes the provider
//! process the whole prompt again, so notes are only added after it.
//!
//! A message with results for a program of the model gets no note: the program reads the results as data, and the API
//! refuses text beside them.

use std::borrow::{Borrow, Cow};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde_json::value::RawValue;

use super::blocks::{
    ASSISTANT, CACHE_CONTROL, CONTENT, TOOL_RESULT, TOOL_USE, USER, blocks_in, blocks_of, has_role, is_block,
    is_call_of_program, message, read_call, reasoning_part, result_block, user_blocks,
};
use super::request::{MessagesRequest, is_thinking};
use crate::content::{noted_content, part_text, text_block, text_of};
use crate::fields::{ObjectFields, present};
use crate::kept::KeptCall;
use crate::parts::{ConversationForm, Rejoined};
use crate::request::RequestFields;
use crate::words::CallWords;
use crate::{KeptPart, MessageView, ReasoningPart};
use callwright_common::json::{RawObject, raw};
use callwright_types::tool_names::call_id;

/// Separator between the texts of blocks.
const SEPARATOR: &str = "\n";

/// Role of instructions, and the member of a request with them.
const SYSTEM: &str = "system";

/// Part of a request that one view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ViewOrigin {
    /// The member `system`.
    System,
    /// An element of the conversation, without its results.
    Element(usize),
    /// A result in a user message: the element, and the block in its content.
    Result(usize, usize),
}

/// A view with its origin.
#[derive(Debug)]
pub(super) struct LocatedView<'a> {
    pub(super) origin: ViewOrigin,
    pub(super) view: MessageView<'a>,
}

impl ConversationForm for MessagesRequest {
    fn conversation_key(&self) -> &'static str {
        "messages"
    }

    fn views<'a>(&self, fields: &'a RequestFields, added: &'a [Arc<RawValue>]) -> Vec<MessageView<'a>> {
        let elements = elements(fields).into_iter().chain(added.iter().map(|element| &**element));
        located_views(fields, elements).into_iter().map(|located| located.view).collect()
    }

    fn with_notes(&self, fields: &RequestFields, notes: &BTreeMap<usize, String>) -> Box<RawValue> {
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

    fn rejoined(&self, fields: &RequestFields, parts: &BTreeMap<usize, KeptPart>, lost: &str) -> Rejoined {
        let elements = elements(fields);
        let views = located_views(fields, elements.iter().copied());
        let parts: HashMap<ViewOrigin, &KeptPart> = views
            .iter()
            .zip(0..)
            .filter_map(|(located, position)| Some((located.origin, parts.get(&position)?)))
            .collect();
        let mut conversation = RejoinedConversation::default();
        for (at, element) in elements.into_iter().enumerate() {
            match parts.get(&ViewOrigin::Element(at)) {
                Some(part) => conversation.push_answer(element, part, lost),
                None => conversation.push_element(at, element),
            }
        }
        conversation.push_results();
        let new = located_views(fields, conversation.elements.iter().map(|element| &**element));
        let positions = conversation.positions(&views, &new);
        Rejoined { conversation: raw(&conversation.elements), positions }
    }

    fn reasoning(&self, fields: &RequestFields) -> Vec<ReasoningPart> {
        let blocks = elements(fields).into_iter().flat_map(answer_blocks);
        blocks.filter_map(block_reasoning).collect()
    }

    /// An answer of which no block remains is left out, because the API rejects empty messages.
    fn without_reasoning(&self, fields: &RequestFields, positions: &BTreeSet<usize>) -> Box<RawValue> {
        let mut next = 0;
        let mut conversation: Vec<Box<RawValue>> = Vec::new();
        for element in elements(fields) {
            let blocks = answer_blocks(element);
            let mut remaining: Vec<&RawValue> = Vec::with_capacity(blocks.len());
            // The last removed block of those at the beginning.
            let mut first = None;
            for block in &blocks {
                let is_reasoning = block_reasoning(block).is_some();
                if !(is_reasoning && positions.contains(&next)) {
                    remaining.push(block);
                } else if remaining.is_empty() {
                    first = Some(*block);
                }
                next += usize::from(is_reasoning);
            }
            // A model need not think again after feedback. The API then requires the earlier block: with thinking, the answer
            // before results begins with one.
            let begins_without = remaining.first().is_some_and(|block| block_reasoning(block).is_none());
            if let Some(first) = first.filter(|_| begins_without && is_thinking(fields)) {
                remaining.insert(0, first);
            }
            if remaining.len() == blocks.len() {
                conversation.push(element.to_owned());
            } else if !remaining.is_empty() {
                let Ok(mut message) = RawObject::parse(element.get()) else { continue };
                message.set(CONTENT, raw(&remaining));
                conversation.push(message.to_raw());
            }
        }
        raw(&conversation)
    }

    fn call_words(&self) -> CallWords {
        CallWords { of_tools: Some("\"tool_use\""), other: None }
    }
}

/// Returns the elements of the client's conversation.
pub(super) fn elements(fields: &RequestFields) -> Vec<&RawValue> {
    fields.get_as("messages").unwrap_or_default()
}

/// Returns the views of a conversation, in order. The position of a view is its index in this list.
pub(super) fn located_views<'a>(
    fields: &'a RequestFields,
    elements: impl IntoIterator<Item = &'a RawValue>,
) -> Vec<LocatedView<'a>> {
    let mut views = Vec::new();
    if let Some(system) = fields.get_as::<&RawValue>(SYSTEM) {
        let view = view(SYSTEM.into(), text_of(system, SEPARATOR));
        views.push(LocatedView { origin: ViewOrigin::System, view });
    }
    for (at, element) in elements.into_iter().enumerate() {
        let Some(message) = ObjectFields::parse(element.get()) else {
            views.push(LocatedView { origin: ViewOrigin::Element(at), view: view(Cow::Borrowed(""), None) });
            continue;
        };
        let role = message.string("role").unwrap_or_default();
        match role.as_ref() {
            USER => add_user_views(at, &message, &mut views),
            _ => {
                let content = message.get(CONTENT);
                let mut view = view(role, content.and_then(|content| text_of(content, SEPARATOR)));
                if view.role == ASSISTANT {
                    let blocks = message.items(CONTENT).unwrap_or_default();
                    view.calls = blocks.into_iter().filter_map(block_of_call).map(|call| read_call(&call)).collect();
                }
                views.push(LocatedView { origin: ViewOrigin::Element(at), view });
            }
        }
    }
    views
}

/// Adds a view for each result of a user message, then one for its other blocks.
fn add_user_views<'a>(at: usize, message: &ObjectFields<'a>, views: &mut Vec<LocatedView<'a>>) {
    let Some(blocks) = message.items(CONTENT) else {
        let text = message.get(CONTENT).and_then(|content| text_of(content, SEPARATOR));
        views.push(LocatedView { origin: ViewOrigin::Element(at), view: view(USER.into(), text) });
        return;
    };
    let mut texts = Vec::new();
    let mut has_other_blocks = blocks.is_empty();
    for (block_at, raw_block) in blocks.into_iter().enumerate() {
        let result =
            ObjectFields::parse(raw_block.get()).filter(|block| block.string("type").as_deref() == Some(TOOL_RESULT));
        let Some(block) = result else {
            has_other_blocks = true;
            texts.extend(part_text(raw_block));
            continue;
        };
        let text = block.get(CONTENT).and_then(|content| text_of(content, SEPARATOR));
        let view = MessageView { tool_call_id: block.string("tool_use_id"), ..view("tool".into(), text) };
        views.push(LocatedView { origin: ViewOrigin::Result(at, block_at), view });
    }
    if has_other_blocks {
        let text = if texts.len() > 1 { Some(texts.join(SEPARATOR).into()) } else { texts.pop() };
        views.push(LocatedView { origin: ViewOrigin::Element(at), view: view(USER.into(), text) });
    }
}

fn block_of_call(block: &RawValue) -> Option<ObjectFields<'_>> {
    ObjectFields::parse(block.get()).filter(|block| block.string("type").as_deref() == Some(TOOL_USE))
}

fn view<'a>(role: Cow<'a, str>, text: Option<Cow<'a, str>>) -> MessageView<'a> {
    MessageView { role, text, ..MessageView::default() }
}

/// Position of a block in a conversation: the element, and the block in its content.
type BlockPosition = (usize, usize);

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

#[derive(Default)]
struct RejoinedConversation {
    elements: Vec<Box<RawValue>>,
    /// Results of the proxy's calls in the last answer, for the user message after it.
    results: Vec<Box<RawValue>>,
    /// New position of each old element that was not rewritten, and the number of blocks added before its own.
    moved: HashMap<usize, (usize, usize)>,
}

impl RejoinedConversation {
    /// Adds an answer of the model with its kept part.
    fn push_answer(&mut self, answer: &RawValue, part: &KeptPart, lost: &str) {
        self.push_results();
        self.elements.extend(part.before.iter().cloned());
        self.elements.push(with_calls(answer, &part.calls).unwrap_or_else(|| answer.to_owned()));
        for call in &part.calls {
            let Some(block) = call.element() else { continue };
            let Some(id) = id_of(block) else { continue };
            self.results.push(result_block(&id, part.result(&id, lost), false));
        }
    }

    /// Adds an element of the client, with the waiting results if it is a user message.
    fn push_element(&mut self, at: usize, element: &RawValue) {
        let added = self.results.len();
        if added > 0
            && let Some(joined) = self.with_results(element)
        {
            self.results.clear();
            self.moved.insert(at, (self.elements.len(), added));
            self.elements.push(joined);
            return;
        }
        self.push_results();
        self.moved.insert(at, (self.elements.len(), 0));
        self.elements.push(element.to_owned());
    }

    /// Returns a user message that begins with the waiting results; `None` for other elements.
    fn with_results(&self, element: &RawValue) -> Option<Box<RawValue>> {
        let (mut message, own) = user_blocks(element)?;
        let blocks: Vec<&RawValue> = self.results.iter().chain(&own).map(|block| &**block).collect();
        message.set(CONTENT, raw(&blocks));
        Some(message.to_raw())
    }

    /// Adds a user message with the waiting results.
    fn push_results(&mut self) {
        if !self.results.is_empty() {
            self.elements.push(message(USER, &self.results));
            self.results.clear();
        }
    }

    /// Returns the new position of each old view.
    fn positions(&self, old: &[LocatedView<'_>], new: &[LocatedView<'_>]) -> Vec<Option<usize>> {
        let positions: HashMap<ViewOrigin, usize> = new.iter().zip(0..).map(|(view, at)| (view.origin, at)).collect();
        old.iter().map(|view| positions.get(&self.moved_origin(view.origin)?).copied()).collect()
    }

    fn moved_origin(&self, origin: ViewOrigin) -> Option<ViewOrigin> {
        match origin {
            ViewOrigin::System => Some(ViewOrigin::System),
            ViewOrigin::Element(at) => self.moved.get(&at).map(|(at, _)| ViewOrigin::Element(*at)),
            ViewOrigin::Result(at, block) => {
                self.moved.get(&at).map(|(at, added)| ViewOrigin::Result(*at, block + added))
            }
        }
    }
}

/// Returns the client's message with the proxy's calls among the client's in the model's order. Blocks of the client
/// keep their bytes and their order. `None` if the message has no blocks.
fn with_calls(answer: &RawValue, calls: &[KeptCall]) -> Option<Box<RawValue>> {
    let mut message = RawObject::parse(answer.get()).ok()?;
    let own = blocks_of(present(message.get(CONTENT)))?;
    let places: HashMap<Cow<'_, str>, usize> =
        calls.iter().enumerate().filter_map(|(at, call)| Some((call_id(call.client_id()?), at))).collect();
    let mut blocks: Vec<&RawValue> = Vec::with_capacity(own.len() + calls.len());
    let mut next = 0;
    for block in &own {
        let id = Some(block).filter(|block| is_block(block, TOOL_USE)).and_then(|block| id_of(block));
        let place = id.and_then(|id| places.get(call_id(&id).as_ref()).copied()).filter(|place| *place >= next);
        if let Some(place) = place {
            blocks.extend(calls.get(next..place).unwrap_or_default().iter().filter_map(KeptCall::element));
            next = place + 1;
        }
        blocks.push(block);
    }
    blocks.extend(calls.get(next..).unwrap_or_default().iter().filter_map(KeptCall::element));
    message.set(CONTENT, raw(&blocks));
    Some(message.to_raw())
}

fn id_of(block: &RawValue) -> Option<Cow<'_, str>> {
    ObjectFields::parse(block.get())?.string("id")
}

/// Returns the blocks of an answer of the model; none for other elements.
fn answer_blocks(element: &RawValue) -> Vec<&RawValue> {
    if has_role(element, ASSISTANT) { blocks_in(element) } else { Vec::new() }
}

fn block_reasoning(block: &RawValue) -> Option<ReasoningPart> {
    reasoning_part(&ObjectFields::parse(block.get())?)
}

#[cfg(test)]
mod tests {
    use super::super::testing::request;

    const TEXT: &str = r#"{"system":[{"type":"text","text":"Be"},{"type":"text","text":"brief."}],"messages":[
        {"role":"user","content":"Hi"},
        {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a"},
            {"type":"tool_use","id":"1","name":"f","input":{ "x":1 }},{"type":"server_tool_use","id":"2","name":"g","input":{}},
            {"type":"text","text":"b"}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"c"},{"type":"image"},{"type":"text","text":"d"}]},
            {"type":"tool_result","tool_use_id":"3"},{"type":"text","text":"And?"},{"type":"image"}]},
        {"role":"user","content":[{"type":"image"}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"4","content":"e"}]},
        7,
        {"role":"system","content":"Now."},
        {"role":"user"},
        {"role":"user","content":[]}]}"#;

    #[test]
    fn results_and_other_blocks_of_a_message_are_separate_views() {
        let request = request(TEXT);
        let views = request.messages();
        let seen: Vec<(&str, Option<&str>, Option<&str>)> =
            views.iter().map(|view| (view.role.as_ref(), view.text.as_deref(), view.tool_call_id.as_deref())).collect();
        assert_eq!(
            seen,
            [
                ("system", Some("Be\nbrief."), None),
                ("user", Some("Hi"), None),
                ("assistant", Some("a\nb"), None),
                ("tool", Some("c\nd"), Some("1")),
                ("tool", None, Some("3")),
                ("user", Some("And?"), None),
                ("user", None, None),
                ("tool", Some("e"), Some("4")),
                ("", None, None),
                ("system", Some("Now."), None),
                ("user", None, None),
                ("user", None, None),
            ]
        );
        assert_eq!(views[2].calls.len(), 1);
        assert_eq!((views[2].calls[0].name.as_str(), views[2].calls[0].arguments.as_str()), ("f", r#"{ "x":1 }"#));
    }

    #[test]
    fn appended_elements_are_viewed_after_the_clients() {
        let mut request = request(r#"{"system":"S","messages":[{"role":"user","content":"Hi"}]}"#);
        request.push_user("more");
        let texts: Vec<_> = request.messages().iter().map(|view| view.text.as_deref().map(str::to_owned)).collect();
        assert_eq!(texts, [Some("S".to_owned()), Some("Hi".to_owned()), Some("more".to_owned())]);
        assert_eq!(request.first_messages_text(), "system: S\nuser: Hi\n");
    }
}

#[cfg(test)]
mod reasoning_tests {
    use std::collections::BTreeSet;

    use super::super::testing::request;

    #[test]
    fn blocks_are_removed_and_the_rest_keeps_its_bytes() {
        let first = r#"{"type":"thinking","thinking":"a","signature":"s1"}"#;
        let second = r#"{"type":"thinking", "thinking":"\u0062","signature":"s2"}"#;
        let redacted = r#"{"type":"redacted_thinking","data":"x"}"#;
        let text = r#"{"type":"text", "text":"t"}"#;
        let user = r#"{"role":"user", "content":"u"}"#;
        let answer = |blocks: &str| format!(r#"{{"role":"assistant","content":[{blocks}]}}"#);
        let body = |messages: &[&str]| format!(r#"{{"messages":[{}]}}"#, messages.join(","));
        let before = body(&[
            user,
            &answer(&format!("{first},{second},{text}")),
            user,
            &answer(redacted),
            r#"{"role":"assistant","content":"x"}"#,
        ]);
        let mut request = request(&before);
        assert_eq!(request.reasoning().len(), 3);
        request.remove_reasoning(&BTreeSet::new());
        assert_eq!(request.to_bytes(), before);
        request.remove_reasoning(&BTreeSet::from([0, 2]));
        let after = body(&[user, &answer(&format!("{second},{text}")), user, r#"{"role":"assistant","content":"x"}"#]);
        assert_eq!(request.to_bytes(), after);
        assert_eq!(request.messages().len(), 4);
    }

    #[test]
    fn with_thinking_an_answer_keeps_the_block_that_it_begins_with() {
        let blocks = ["a", "b"].map(|text| format!(r#"{{"type":"thinking","thinking":"{text}","signature":"s"}}"#));
        let call = r#"{"type":"tool_use","id":"c","name":"f","input":{}}"#;
        let body = |thinking: &str, blocks: &str| {
            format!(
                r#"{{"thinking":{{"type":"{thinking}"}},"messages":[{{"role":"assistant","content":[{blocks}]}}]}}"#
            )
        };
        for (thinking, after) in [("enabled", format!("{},{call}", blocks[1])), ("disabled", call.to_owned())] {
            let mut request = request(&body(thinking, &format!("{},{call}", blocks.join(","))));
            request.remove_reasoning(&BTreeSet::from([0, 1]));
            assert_eq!(request.to_bytes(), body(thinking, &after));
        }
    }
}

#[cfg(test)]
mod notes_tests {
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

#[cfg(test)]
mod rejoin_tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::super::testing::{answer_of, call, request};
    use super::*;
    use callwright_types::Call;

    fn part(before: &[Value], whole: &Value, sent: &Value) -> KeptPart {
        let before: Vec<Arc<RawValue>> = before.iter().map(|element| Arc::from(raw(element))).collect();
        let (whole, sent) = (answer_of(whole), answer_of(sent));
        KeptPart::new(&before, &whole.choices()[0].message, &sent.choices()[0].message).unwrap()
    }

    fn result(id: &str, text: &str) -> Value {
        json!({"type": "tool_result", "tool_use_id": id, "content": text})
    }

    fn message(role: &str, content: Value) -> Value {
        json!({"role": role, "content": content})
    }

    fn put_back(messages: &[Value], place: usize, part: &KeptPart) -> Value {
        let stored: KeptPart = serde_json::from_str(&serde_json::to_string(part).unwrap()).unwrap();
        let mut request = request(&json!({"system": "S", "messages": messages}).to_string());
        request.rejoin(&BTreeMap::from([(place, stored)]), "lost");
        request.to_value()["messages"].clone()
    }

    #[test]
    fn calls_return_to_their_places_and_results_precede_the_clients() {
        let mut own = call("p", "g");
        own["caller"] = json!({"type": "direct"});
        let mut kept = part(&[], &json!([own, call("c", "f"), call("q", "h")]), &json!([call("c", "f")]));
        kept.add_result(&Call { id: "p".into(), name: "g".into(), arguments: "{}".into() }, "done".into());
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
        let text = json!({"type": "text", "text": "I look."});
        let user = message("user", json!("u"));
        let history = [
            user.clone(),
            message("assistant", json!([thinking, text, call("c", "f")])),
            message("user", json!([result("c", "ok"), {"type": "text", "text": "And?"}])),
        ];
        assert_eq!(
            put_back(&history, 2, &kept),
            json!([
                user,
                message("assistant", json!([thinking, text, own, call("c", "f"), call("q", "h")])),
                message(
                    "user",
                    json!([result("p", "done"), result("q", "lost"), result("c", "ok"), {"type": "text", "text": "And?"}])
                ),
            ])
        );
    }

    #[test]
    fn results_get_a_user_message_and_strings_become_blocks() {
        let kept = part(&[], &json!([call("p", "g"), call("c", "f")]), &json!([call("c", "f")]));
        let answer = message("assistant", json!([call("c", "f")]));
        let whole = message("assistant", json!([call("p", "g"), call("c", "f")]));
        let lost = result("p", "lost");
        assert_eq!(put_back(std::slice::from_ref(&answer), 1, &kept), json!([whole, message("user", json!([lost]))]));
        assert_eq!(
            put_back(&[answer.clone(), message("assistant", json!("x")), message("user", json!("y"))], 1, &kept),
            json!([
                whole,
                message("user", json!([lost])),
                message("assistant", json!("x")),
                message("user", json!("y"))
            ])
        );
        assert_eq!(
            put_back(&[answer, message("user", json!("y"))], 1, &kept),
            json!([whole, message("user", json!([lost, {"type": "text", "text": "y"}]))])
        );
    }

    #[test]
    fn elements_that_the_client_never_received_precede_the_answer() {
        let before = [message("assistant", json!([call("x", "g")])), message("user", json!([result("x", "1")]))];
        let kept = part(&before, &json!([call("c", "f")]), &json!([call("c", "f")]));
        let answer = message("assistant", json!([call("c", "f")]));
        let user = message("user", json!([result("c", "2")]));
        assert_eq!(put_back(&[answer.clone(), user.clone()], 1, &kept), json!([before[0], before[1], answer, user]));
    }

    #[test]
    fn notes_move_with_their_views() {
        let kept = part(
            &[message("user", json!("hidden"))],
            &json!([call("p", "g"), call("c", "f")]),
            &json!([call("c", "f")]),
        );
        let history = json!([
            message("user", json!("u")),
            message("assistant", json!([call("c", "f")])),
            message("user", json!([result("c", "ok"), {"type": "text", "text": "And?"}])),
            message("user", json!("last")),
        ]);
        let mut request = request(&json!({ "messages": history }).to_string());
        for place in 0..5 {
            request.add_note(place, format!("n{place}"));
        }
        request.rejoin(&BTreeMap::from([(1, kept)]), "lost");
        let messages = request.to_value()["messages"].clone();
        assert_eq!(
            messages,
            json!([
                message("user", json!("u\n\nn0")),
                message("user", json!("hidden")),
                message("assistant", json!([call("p", "g"), call("c", "f")])),
                message(
                    "user",
                    json!([result("p", "lost"), result("c", "ok\n\nn2"), {"type": "text", "text": "And?"}, {"type": "text", "text": "n3"}])
                ),
                message("user", json!("last\n\nn4")),
            ])
        );
    }

    #[test]
    fn elements_without_parts_keep_their_bytes() {
        let messages = r#"[{"role":"user" , "content":"\u0041"},7,{"role":"assistant","content":[]}]"#;
        let mut request = request(&format!(r#"{{"messages":{messages}}}"#));
        request.rejoin(&BTreeMap::new(), "lost");
        assert_eq!(request.to_bytes(), format!(r#"{{"messages":{messages}}}"#));
    }
}
