//! One chunk of a streamed completion (API reference, "The chat completion chunk object").

use std::borrow::Cow;

use bytes::Bytes;

use super::assembler::CallPiece;
use super::chat_message::is_opaque;
use super::fields::{TextFields, present, string};
use super::scanner::{Scanned, Scanner};
use super::sse::EventData;
use super::usage::{CHAT_COUNTS, scan_usage, with_usage};
use super::{AnswerError, SseEvent};
use callwright_common::json::{RawObject, raw};
use callwright_types::Usage;

/// Kind of an event of the stream.
#[derive(Debug, Clone)]
pub enum StreamItem {
    /// A `chat.completion.chunk`.
    Chunk(Chunk),
    /// `[DONE]`.
    Done,
    /// Error object of an upstream inside the stream.
    Error,
    /// Comments, pings and empty events.
    Other,
    /// A chunk whose content begins with all content so far, which was not added. It is to be kept until
    /// [`StreamItem::Settled`].
    Repetition,
    /// It is known whether such chunks repeat the content. They are to be taken again, and then this event, which was not
    /// added.
    Settled,
}

/// Members with the same value in every chunk of a stream.
#[derive(Debug, Clone)]
pub struct StreamHead {
    /// `id`.
    pub id: String,
    /// `model`.
    pub model: String,
    /// `created`, in seconds since the Unix epoch.
    pub created: i64,
    /// Other top-level members of the first chunk, such as `system_fingerprint`.
    pub extra: RawObject,
}

/// A `chat.completion.chunk`: its JSON text on one line, and a summary of its content.
#[derive(Debug, Clone)]
pub struct Chunk {
    text: String,
    seen: ChunkContents,
    /// Whether the text differs from that of the event in more than its lines.
    is_edited: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct ChunkContents {
    choices: bool,
    calls: bool,
    finish: bool,
    text: bool,
    /// A member that is not held for validation and is not a role.
    free: bool,
    /// Members that belong to the attempt, such as signatures of reasoning.
    opaque: bool,
    usage: Option<Usage>,
}

/// Parses an event.
///
/// # Errors
/// Fails if its data is neither JSON nor `[DONE]`, or its choices are not a list of objects.
pub fn read_item(event: &SseEvent) -> Result<StreamItem, AnswerError> {
    read_event(event).map(EventFields::into_item)
}

impl EventFields<'_> {
    pub(super) fn into_item(self) -> StreamItem {
        match self {
            Self::Chunk(text, fields) => StreamItem::Chunk(Chunk::of(text, &fields)),
            Self::Done => StreamItem::Done,
            Self::Error => StreamItem::Error,
            Self::Other => StreamItem::Other,
        }
    }
}

impl Chunk {
    /// Whether the chunk differs from its event: it was made well-formed.
    pub fn is_edited(&self) -> bool {
        self.is_edited
    }

    /// Marks a chunk that was made from another one.
    pub(super) fn edited(self) -> Self {
        Self { is_edited: true, ..self }
    }

    /// Whether the chunk contains a piece of a call.
    pub fn has_calls(&self) -> bool {
        self.seen.calls
    }

    /// Whether the chunk contains data that is held until the attempt is accepted: pieces of calls, finish reasons,
    /// opaque members.
    pub fn is_held(&self) -> bool {
        self.seen.calls || self.seen.finish || self.seen.opaque
    }

    /// Whether the chunk contains a finish reason.
    pub fn has_finish(&self) -> bool {
        self.seen.finish
    }

    /// Whether the chunk contains the end of a text together with its finish reason, and nothing else that is held.
    pub fn is_end_of_text(&self) -> bool {
        self.seen.finish && self.seen.text && !self.seen.calls && !self.seen.opaque
    }

    /// Whether the list of choices is empty, as in the usage chunk.
    pub fn is_usage_only(&self) -> bool {
        !self.seen.choices
    }

    /// Whether the chunk contains a non-empty piece of text or refusal.
    pub fn has_text(&self) -> bool {
        self.seen.text
    }

    /// `usage`, if present and not `null`.
    pub fn usage(&self) -> Option<Usage> {
        self.seen.usage
    }

    /// Returns the part that may be sent immediately: the chunk without pieces of calls, finish reasons, opaque
    /// members and their usage; `None` if at most a role remains. A chunk without held data is returned unchanged.
    pub fn without_held(&self) -> Option<Chunk> {
        self.without(|key| is_call(key) || is_opaque(key), self.is_held(), self.seen.free)
    }

    /// Returns the part that may be sent immediately, including the opaque members, for an accepted attempt.
    pub fn without_calls_and_finish(&self) -> Option<Chunk> {
        self.without(is_call, self.seen.calls || self.seen.finish, self.seen.free || self.seen.opaque)
    }

    /// Returns the chunk without finish reasons and without the members for which `is_removed` holds. `has_removed`
    /// is whether it contains any of these, `has_rest` whether it contains anything else than a role.
    fn without(&self, is_removed: impl Fn(&str) -> bool, has_removed: bool, has_rest: bool) -> Option<Chunk> {
        if !has_removed {
            return Some(self.clone());
        }
        if !has_rest {
            return None;
        }
        self.with_choices(false, |choice, delta| {
            retain(delta, |key| !is_removed(key));
            choice.set("finish_reason", raw(&()));
            carries_something(delta) || present(choice.get("logprobs")).is_some()
        })
    }

    /// Returns the part that is held until the calls are validated, the complement of [`Chunk::without_held`]; `None`
    /// if nothing is held.
    pub fn held(&self) -> Option<Chunk> {
        if !self.is_held() {
            return None;
        }
        if !self.seen.free {
            return Some(self.clone());
        }
        self.with_choices(true, |choice, delta| {
            retain(delta, |key| is_call(key) || is_opaque(key));
            choice.remove("logprobs");
            delta.iter().next().is_some() || present(choice.get("finish_reason")).is_some()
        })
    }

    /// Returns the chunk without roles, for a stream that already has one; `None` if nothing else remains.
    pub fn without_role(&self) -> Option<Chunk> {
        self.with_choices(true, |choice, delta| {
            delta.remove("role");
            carries_something(delta) || present(choice.get("finish_reason")).is_some()
        })
    }

    /// Returns the chunk without finish reasons.
    #[must_use]
    pub fn without_finish(&self) -> Chunk {
        let unfinished = self.with_choices(true, |choice, _| {
            choice.set("finish_reason", raw(&()));
            true
        });
        unfinished.unwrap_or_else(|| self.clone())
    }

    /// Replaces id, model, creation time, and the other members of the head that the chunk contains.
    pub fn set_head(&mut self, head: &StreamHead) {
        self.edit(|fields| {
            fields.set("id", raw(&head.id));
            fields.set("created", raw(&head.created));
            fields.set("model", raw(&head.model));
            for (key, value) in head.extra.iter() {
                if fields.contains(key) {
                    fields.set(key, value.to_owned());
                }
            }
        });
    }

    /// Replaces the token counts; the other members of `usage` are kept.
    pub fn set_usage(&mut self, usage: Usage) {
        self.seen.usage = Some(usage);
        self.edit(|fields| fields.set("usage", with_usage(fields.get("usage"), usage, CHAT_COUNTS)));
    }

    /// Returns the chunk as a server-sent event.
    pub fn to_event(&self) -> Bytes {
        format!("data: {}\n\n", self.text).into()
    }

    fn of(text: &str, fields: &ChunkFields<'_>) -> Self {
        let choices = fields.choices();
        let mut seen = ChunkContents { choices: !choices.is_empty(), usage: fields.usage, ..ChunkContents::default() };
        let mut is_well_formed = fields.members.get("choices").is_some();
        for choice in choices {
            is_well_formed &= choice.members.get("finish_reason") != Some("\"\"");
            seen.finish |= choice.members.get("finish_reason").is_some_and(is_filled);
            seen.free |= choice.members.get("logprobs").is_some();
            let Some(DeltaFields { members: delta, .. }) = &choice.delta else { continue };
            seen.calls |= delta.get("function_call").is_some() || delta.get("tool_calls").is_some_and(is_filled);
            seen.text |= ["content", "refusal"].iter().any(|key| delta.get(key).is_some_and(is_filled));
            seen.free |= delta.iter().any(|(key, value)| is_free(key) && is_filled(value));
            seen.opaque |= delta.iter().any(|(key, value)| is_opaque(key) && is_filled(value));
        }
        // The data of an event may span several lines. In JSON, line breaks occur only where other white space is
        // allowed.
        let text = if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
            text.replace(['\n', '\r'], " ")
        } else {
            text.to_owned()
        };
        let chunk = Self { text, seen, is_edited: false };
        if is_well_formed { chunk } else { chunk.well_formed() }
    }

    /// Returns a chunk that clients can read: with a list of choices, and `null` instead of an empty finish reason.
    fn well_formed(mut self) -> Self {
        self.edit(|fields| {
            let mut choices: Vec<RawObject> = fields.get_as("choices").unwrap_or_default();
            for choice in &mut choices {
                if choice.get("finish_reason").is_some_and(|reason| reason.get() == "\"\"") {
                    choice.set("finish_reason", raw(&()));
                }
            }
            fields.set("choices", raw(&choices));
        });
        self.edited()
    }

    /// Returns the chunk with edited choices; choices for which `edit` returns false are dropped.
    pub(super) fn with_choices(
        &self,
        keep_usage: bool,
        mut edit: impl FnMut(&mut RawObject, &mut RawObject) -> bool,
    ) -> Option<Chunk> {
        let mut fields = RawObject::parse(&self.text).ok()?;
        let mut choices: Vec<RawObject> = fields.get_as("choices")?;
        choices.retain_mut(|choice| {
            let mut delta: RawObject = choice.get_as("delta").unwrap_or_default();
            let kept = edit(choice, &mut delta);
            choice.set("delta", delta.to_raw());
            kept
        });
        if choices.is_empty() {
            return None;
        }
        fields.set("choices", raw(&choices));
        if !keep_usage {
            fields.remove("usage");
        }
        let text = fields.to_raw();
        let fields = ChunkFields::scan(text.get()).ok()??;
        Some(Chunk::of(text.get(), &fields))
    }

    fn edit(&mut self, edit: impl FnOnce(&mut RawObject)) {
        // The text was parsed before, so this cannot fail.
        if let Ok(mut fields) = RawObject::parse(&self.text) {
            edit(&mut fields);
            self.text = fields.to_raw().get().to_owned();
        }
    }
}

pub(super) fn carries_something(delta: &RawObject) -> bool {
    delta.iter().any(|(key, value)| key != "role" && is_filled(value.get()))
}

/// Whether a member of a delta may be sent immediately: not a role, which is insignificant alone, a piece of a call
/// or an opaque member.
fn is_free(key: &str) -> bool {
    key != "role" && !is_call(key) && !is_opaque(key)
}

/// Whether a member of a delta contains pieces of calls.
fn is_call(key: &str) -> bool {
    matches!(key, "tool_calls" | "function_call")
}

fn retain(delta: &mut RawObject, is_kept: impl Fn(&str) -> bool) {
    let kept = delta.iter().filter(|(key, _)| is_kept(key));
    *delta = kept.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
}

/// Whether the value is neither `null` nor an empty string or array.
pub(super) fn is_filled(value: &str) -> bool {
    !matches!(value, "null" | "\"\"" | "[]")
}

impl Chunk {
    /// Returns one chunk per choice, with the index of the choice.
    pub fn by_choice(&self) -> Vec<(u32, Chunk)> {
        let indices = self.choice_indices();
        if let [only] = indices.as_slice() {
            return vec![(*only, self.clone())];
        }
        let chunks = indices.into_iter().filter_map(|index| {
            let chunk = self.with_choices(true, |choice, _| index_of(choice) == index)?;
            Some((index, chunk))
        });
        chunks.collect()
    }

    /// Returns the number of distinct choices.
    pub fn choice_count(&self) -> usize {
        self.choice_indices().len()
    }

    /// Returns the text of the chunk's choices.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.with_choices(true, |_, delta| {
            text.push_str(&text_of(delta).unwrap_or_default());
            true
        });
        text
    }

    /// Returns the chunk without text but with refusals; `None` if at most a role remains.
    pub fn without_text(&self) -> Option<Chunk> {
        self.with_choices(true, |choice, delta| {
            delta.remove("content");
            choice.remove("logprobs");
            carries_something(delta)
        })
    }

    /// Splits the chunk of one choice: everything up to the byte `at` of its text, and the rest of the text with the
    /// logprobs. There is no first part if it would contain at most a role, or if the text consists of parts, which
    /// cannot be split.
    pub fn cut_text(&self, at: usize) -> (Option<Chunk>, Chunk) {
        let first = self.with_choices(false, |choice, delta| {
            let Some(text) = text_of(delta) else { return false };
            match text.get(..at).filter(|text| !text.is_empty()) {
                Some(text) => delta.set("content", raw(text)),
                None => drop(delta.remove("content")),
            }
            choice.remove("logprobs");
            carries_something(delta)
        });
        if first.is_none() {
            return (None, self.clone());
        }
        let rest = self.with_choices(true, |_, delta| {
            let text = text_of(delta).unwrap_or_default();
            *delta = [("content".to_owned(), raw(text.get(at..).unwrap_or_default()))].into_iter().collect();
            true
        });
        (first, rest.unwrap_or_else(|| self.clone()))
    }

    fn choice_indices(&self) -> Vec<u32> {
        let mut indices = Vec::new();
        self.with_choices(true, |choice, _| {
            let index = index_of(choice);
            if !indices.contains(&index) {
                indices.push(index);
            }
            true
        });
        indices
    }
}

fn text_of(delta: &RawObject) -> Option<String> {
    delta.get("content").and_then(string).map(Cow::into_owned)
}

fn index_of(choice: &RawObject) -> u32 {
    choice.get_as("index").unwrap_or(0)
}

/// Parsed event that borrows its data.
pub(super) enum EventFields<'a> {
    Chunk(&'a str, ChunkFields<'a>),
    Done,
    Error,
    Other,
}

/// Fields of a chunk, read in one pass for its summary and for the assembler.
pub(super) struct ChunkFields<'a> {
    pub(super) members: TextFields<'a>,
    /// The choices; `None` if `choices` is not a list of objects.
    choices: Option<Vec<ChoiceFields<'a>>>,
    pub(super) usage: Option<Usage>,
}

/// One element of a chunk's `choices`.
pub(super) struct ChoiceFields<'a> {
    pub(super) members: TextFields<'a>,
    pub(super) delta: Option<DeltaFields<'a>>,
}

/// The `delta` of a choice.
pub(super) struct DeltaFields<'a> {
    pub(super) members: TextFields<'a>,
    /// Elements of `tool_calls`; `None` for one that is not an object.
    pub(super) calls: Vec<Option<CallPiece<'a>>>,
    /// `function_call`.
    pub(super) legacy_call: Option<CallPiece<'a>>,
}

/// Parses an event as [`read_item`] does, without copies.
pub(super) fn read_event(event: &SseEvent) -> Result<EventFields<'_>, AnswerError> {
    let data = match event.data() {
        EventData::Empty => return Ok(EventFields::Other),
        EventData::Done => return Ok(EventFields::Done),
        EventData::Json(data) => data,
    };
    let fields = ChunkFields::scan(data)
        .ok()
        .flatten()
        .ok_or_else(|| AnswerError::new("an event of the stream is not a JSON object"))?;
    if has_error(&fields.members) {
        return Ok(EventFields::Error);
    }
    let has_choices = fields.members.get("choices").is_some();
    if !has_choices && fields.members.get("usage").is_none() {
        return Ok(EventFields::Other);
    }
    if has_choices && fields.choices.is_none() {
        return Err(AnswerError::new("the choices of a chunk are not a list of objects"));
    }
    Ok(EventFields::Chunk(data, fields))
}

impl<'a> ChunkFields<'a> {
    /// Reads a text; `None` if it is not an object.
    pub(super) fn scan(text: &'a str) -> Scanned<Option<Self>> {
        let mut scanner = Scanner::new(text);
        let (mut choices, mut usage) = (None, None);
        let members = TextFields::scan(&mut scanner, |scanner, key| match key {
            "choices" => scan_choices(scanner).map(|read| choices = read),
            "usage" => scan_usage(scanner, CHAT_COUNTS).map(|read| usage = read),
            _ => scanner.skip(),
        })?;
        scanner.end()?;
        Ok(members.map(|members| Self { members, choices, usage }))
    }

    pub(super) fn choices(&self) -> &[ChoiceFields<'a>] {
        self.choices.as_deref().unwrap_or_default()
    }
}

fn scan_choices<'a>(scanner: &mut Scanner<'a>) -> Scanned<Option<Vec<ChoiceFields<'a>>>> {
    let mut choices = Vec::new();
    let mut are_objects = true;
    let is_list = scanner.array(|scanner| {
        match ChoiceFields::scan(scanner)? {
            Some(choice) => choices.push(choice),
            None => are_objects = false,
        }
        Ok(())
    })?;
    Ok((is_list && are_objects).then_some(choices))
}

impl<'a> ChoiceFields<'a> {
    fn scan(scanner: &mut Scanner<'a>) -> Scanned<Option<Self>> {
        let mut delta = None;
        let members = TextFields::scan(scanner, |scanner, key| match key {
            "delta" => DeltaFields::scan(scanner).map(|read| delta = read),
            _ => scanner.skip(),
        })?;
        Ok(members.map(|members| Self { members, delta }))
    }
}

impl<'a> DeltaFields<'a> {
    fn scan(scanner: &mut Scanner<'a>) -> Scanned<Option<Self>> {
        let (mut calls, mut legacy_call) = (Vec::new(), None);
        let members = TextFields::scan(scanner, |scanner, key| match key {
            "tool_calls" => CallPiece::scan_list(scanner).map(|read| calls = read),
            "function_call" => CallPiece::scan_body(scanner).map(|read| legacy_call = read),
            _ => scanner.skip(),
        })?;
        Ok(members.map(|members| Self { members, calls, legacy_call }))
    }
}

/// Whether an event is an error. Most servers send `{"error": ...}`; some send the bare object, marked by `"object":
/// "error"`.
fn has_error(fields: &TextFields<'_>) -> bool {
    fields.get("error").is_some()
        || fields.get("choices").is_none()
            && fields.string("object").as_deref() == Some("error")
            && fields.get("message").is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn item(data: &str) -> StreamItem {
        read_item(&SseEvent { raw: Bytes::new(), data: Some(data.to_owned()) }).unwrap()
    }

    fn chunk(data: &str) -> Chunk {
        match item(data) {
            StreamItem::Chunk(chunk) => chunk,
            other => panic!("{other:?}"),
        }
    }

    fn value(chunk: &Chunk) -> Value {
        serde_json::from_str(&chunk.text).unwrap()
    }

    #[test]
    fn events_are_told_apart() {
        assert!(matches!(item(" [DONE] "), StreamItem::Done));
        assert!(matches!(item(""), StreamItem::Other));
        assert!(matches!(item(r#"{"object":"ping"}"#), StreamItem::Other));
        let comment = SseEvent { raw: Bytes::from_static(b": x\n\n"), data: None };
        assert!(matches!(read_item(&comment), Ok(StreamItem::Other)));
        for data in ["ping", "{\"choices\":", r#"{"choices":[1]}"#, r#"{"choices":{}}"#, "[]"] {
            assert!(read_item(&SseEvent { raw: Bytes::new(), data: Some(data.into()) }).is_err(), "{data}");
        }
    }

    #[test]
    fn errors_inside_a_stream_are_errors_even_beside_choices() {
        for data in [
            r#"{"error":{"message":"m"}}"#,
            r#"{"error":"m"}"#,
            r#"{"error":{"code":502},"choices":[{"delta":{},"finish_reason":"error"}]}"#,
            r#"{"object":"error","message":"m","code":400}"#,
        ] {
            assert!(matches!(item(data), StreamItem::Error), "{data}");
        }
        assert!(matches!(item(r#"{"error":null,"choices":[]}"#), StreamItem::Chunk(_)));
    }

    #[test]
    fn a_chunk_knows_what_it_carries() {
        let text = chunk(r#"{"choices":[{"delta":{"content":"a","tool_calls":[]},"finish_reason":null}]}"#);
        assert!(text.has_text() && !text.has_calls() && !text.has_finish() && !text.is_usage_only());
        assert!(text.without_calls_and_finish().is_some() && text.held().is_none());
        let calls = chunk(r#"{"choices":[{"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0}]}}]}"#);
        assert!(calls.has_calls() && !calls.has_text());
        let usage = chunk(r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#);
        assert!(usage.is_usage_only());
        assert_eq!(usage.usage().map(|usage| usage.total_tokens), Some(3));
        assert!(chunk(r#"{"usage":{"prompt_tokens":1}}"#).is_usage_only());
        assert!(chunk(r#"{"choices":[{"delta":{"refusal":"no"}}]}"#).has_text());
        assert!(chunk(r#"{"choices":[{"delta":{"function_call":{"name":"f"}}}]}"#).has_calls());
        assert!(chunk(r#"{"choices":[{"finish_reason":"stop"}]}"#).has_finish());
    }

    #[test]
    fn a_mixed_chunk_is_split_into_what_flows_and_what_is_held() {
        let mixed = chunk(
            r#"{"id":"c","n":1.0,"choices":[{"index":0,"delta":{"role":"assistant","content":"a","tool_calls":[{"index":0}]},"finish_reason":"tool_calls"},{"index":1,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}"#,
        );
        let flows = mixed.without_calls_and_finish().unwrap();
        assert_eq!(
            value(&flows),
            json!({"id": "c", "n": 1.0, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "a"}, "finish_reason": null}]})
        );
        assert!(flows.has_text() && !flows.has_calls() && !flows.has_finish() && flows.usage().is_none());
        let held = mixed.held().unwrap();
        assert_eq!(
            value(&held)["choices"],
            json!([
                {"index": 0, "delta": {"tool_calls": [{"index": 0}]}, "finish_reason": "tool_calls"},
                {"index": 1, "delta": {}, "finish_reason": "stop"},
            ])
        );
        assert!(held.usage().is_some());
    }

    #[test]
    fn a_chunk_of_calls_alone_is_held_whole() {
        let calls = chunk(r#"{"choices":[{"delta":{"role":"assistant","content":"","tool_calls":[{"index":0}]}}]}"#);
        assert!(calls.without_calls_and_finish().is_none());
        assert_eq!(calls.held().unwrap().text, calls.text);
        let reasoning = chunk(r#"{"choices":[{"delta":{"reasoning":"hm","tool_calls":[{"index":0}]}}]}"#);
        assert_eq!(
            value(&reasoning.without_calls_and_finish().unwrap())["choices"][0]["delta"],
            json!({"reasoning": "hm"})
        );
    }

    #[test]
    fn a_later_attempt_brings_no_second_role() {
        let both = chunk(r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"a","x":1}}]}"#);
        assert_eq!(value(&both.without_role().unwrap())["choices"][0]["delta"], json!({"content": "a", "x": 1}));
        let role = chunk(r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#);
        assert!(role.without_role().is_none());
    }

    #[test]
    fn a_later_attempt_takes_the_head_of_the_stream() {
        let extra = RawObject::parse(r#"{"system_fingerprint":"fp1","service_tier":"t"}"#).unwrap();
        let head = StreamHead { id: "first".into(), model: "m".into(), created: 5, extra };
        let mut chunk = chunk(r#"{"id":"second","system_fingerprint":"fp2","choices":[],"x":1.0}"#);
        chunk.set_head(&head);
        chunk.set_usage(Usage { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, cached_tokens: 0 });
        assert_eq!(
            chunk.to_event(),
            concat!(
                r#"data: {"id":"first","system_fingerprint":"fp1","choices":[],"x":1.0,"created":5,"model":"m","#,
                r#""usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#,
                "\n\n"
            )
        );
    }

    #[test]
    fn a_chunk_that_came_in_several_lines_goes_out_in_one() {
        let chunk = chunk("{\"choices\":\n[]}");
        assert_eq!(chunk.to_event(), "data: {\"choices\": []}\n\n");
    }
}

#[cfg(test)]
mod split_tests {
    use bytes::Bytes;
    use serde_json::{Value, json};

    use super::*;
    use crate::{SseEvent, StreamItem, read_item};

    fn chunk(value: &Value) -> Chunk {
        match read_item(&SseEvent { raw: Bytes::new(), data: Some(value.to_string()) }).unwrap() {
            StreamItem::Chunk(chunk) => chunk,
            other => panic!("{other:?}"),
        }
    }

    fn value(chunk: &Chunk) -> Value {
        let event = chunk.to_event();
        let text = std::str::from_utf8(&event).unwrap();
        serde_json::from_str(text.strip_prefix("data: ").unwrap()).unwrap()
    }

    #[test]
    fn a_chunk_of_several_choices_becomes_several() {
        let both = chunk(
            &json!({"id": "c", "choices": [{"index": 1, "delta": {"content": "b"}}, {"index": 0, "delta": {"content": "a"}}]}),
        );
        let parts = both.by_choice();
        let seen: Vec<(u32, Value)> =
            parts.iter().map(|(index, chunk)| (*index, value(chunk)["choices"].clone())).collect();
        assert_eq!(seen[0], (1, json!([{"index": 1, "delta": {"content": "b"}}])));
        assert_eq!(seen[1], (0, json!([{"index": 0, "delta": {"content": "a"}}])));
        let one = chunk(&json!({"id": "c", "x": 1, "choices": [{"delta": {"content": "b"}}]}));
        assert_eq!((one.by_choice()[0].0, value(&one.by_choice()[0].1)), (0, value(&one)));
    }

    #[test]
    fn a_text_is_cut_and_what_stands_beside_it_flows() {
        let mixed = chunk(
            &json!({"id": "c", "choices": [{"index": 0, "delta": {"content": "aü[", "reasoning": "hm"}, "logprobs": {"content": []}}]}),
        );
        let cut = |at| {
            let (first, rest) = mixed.cut_text(at);
            (first.map(|chunk| value(&chunk)["choices"][0].clone()), value(&rest)["choices"][0].clone())
        };
        let logprobs = json!({"content": []});
        assert_eq!(
            cut(3),
            (
                Some(json!({"index": 0, "delta": {"content": "aü", "reasoning": "hm"}})),
                json!({"index": 0, "delta": {"content": "["}, "logprobs": logprobs})
            )
        );
        assert_eq!(cut(0).0, Some(json!({"index": 0, "delta": {"reasoning": "hm"}})));
        assert_eq!(cut(0).1["delta"], json!({"content": "aü["}));
        let whole = |delta: Value| {
            let chunk = chunk(&json!({"id": "c", "choices": [{"index": 0, "delta": delta}]}));
            let (first, rest) = chunk.cut_text(0);
            assert_eq!((first.is_none(), value(&rest)), (true, value(&chunk)));
            assert!(chunk.without_text().is_none());
        };
        whole(json!({"role": "assistant", "content": "["}));
        whole(json!({"content": [{"type": "text", "text": "ab"}]}));
    }
}
