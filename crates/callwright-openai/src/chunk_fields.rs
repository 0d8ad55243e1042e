//! Fields of a chunk of a streamed completion, read in one pass without copies.

use super::assembler::CallPiece;
use super::fields::TextFields;
use super::scanner::{Scanned, Scanner};
use super::sse::EventData;
use super::usage::{CHAT_COUNTS, scan_usage};
use super::{AnswerError, SseEvent};
use callwright_types::Usage;

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

/// Parses an event as [`read_item`](super::read_item) does, without copies.
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
    let is_bare = || fields.get("choices").is_none() && fields.string("object").as_deref() == Some("error");
    fields.get("error").is_some() || is_bare() && fields.get("message").is_some()
}
