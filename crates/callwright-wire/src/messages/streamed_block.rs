//! A block of a streamed answer.

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::blocks::{REDACTED_THINKING, SIGNATURE, TEXT, THINKING, TOOL_USE, is_call_id};
use crate::assembler::{Members, StreamedArguments};
use crate::fields::{ObjectFields, object, string};
use crate::parts::EventRole;
use callwright_common::json::{RawObject, raw};

/// Kind of a block, as far as it decides which deltas the block takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentKind {
    /// `text`.
    Text,
    /// `thinking`.
    Thinking,
    /// `redacted_thinking`.
    RedactedThinking,
    /// `tool_use`.
    Call,
    /// Any other type.
    Other,
}

impl ContentKind {
    /// Returns the kind of a block.
    pub(super) fn of(block: &ObjectFields<'_>) -> Self {
        match block.string("type").as_deref() {
            Some(TEXT) => Self::Text,
            Some(THINKING) => Self::Thinking,
            Some(REDACTED_THINKING) => Self::RedactedThinking,
            Some(TOOL_USE) => Self::Call,
            _ => Self::Other,
        }
    }

    /// Returns the role of the block's events.
    pub(super) fn role(self) -> EventRole {
        match self {
            Self::Text => EventRole::Text,
            Self::Thinking | Self::RedactedThinking => EventRole::Reasoning,
            Self::Call => EventRole::Call,
            Self::Other => EventRole::Other,
        }
    }

    /// Whether a block of this kind takes a delta.
    pub(super) fn takes(self, delta: &BlockDelta<'_>) -> bool {
        match delta {
            BlockDelta::Text(_) | BlockDelta::Citation(_) => self == Self::Text,
            BlockDelta::Thinking(_) | BlockDelta::Signature(_) => self == Self::Thinking,
            BlockDelta::Input(_) => matches!(self, Self::Call | Self::Other),
            BlockDelta::Unknown => true,
        }
    }
}

/// Delta of a block, with the value of its main member.
#[derive(Debug, Clone, Copy)]
pub(super) enum BlockDelta<'a> {
    /// `text_delta`.
    Text(Option<&'a RawValue>),
    /// `citations_delta`.
    Citation(Option<&'a RawValue>),
    /// `thinking_delta`.
    Thinking(Option<&'a RawValue>),
    /// `signature_delta`.
    Signature(Option<&'a RawValue>),
    /// `input_json_delta`.
    Input(Option<&'a RawValue>),
    /// Delta of another type. Its members continue those of the block.
    Unknown,
}

impl<'a> BlockDelta<'a> {
    /// Returns the delta in an object.
    pub(super) fn of(fields: &ObjectFields<'a>) -> Self {
        match fields.string("type").as_deref() {
            Some("text_delta") => Self::Text(fields.get(TEXT)),
            Some("citations_delta") => Self::Citation(fields.get("citation")),
            Some("thinking_delta") => Self::Thinking(fields.get(THINKING)),
            Some("signature_delta") => Self::Signature(fields.get(SIGNATURE)),
            Some("input_json_delta") => Self::Input(fields.get("partial_json")),
            _ => Self::Unknown,
        }
    }

    /// Returns a block without content that takes this delta; `None` if its type is unknown.
    pub(super) fn new_block(self) -> Option<RawObject> {
        Some(match self {
            Self::Text(_) | Self::Citation(_) => object([("type", raw(TEXT)), (TEXT, raw(""))]),
            Self::Thinking(_) | Self::Signature(_) => object([("type", raw(THINKING)), (THINKING, raw(""))]),
            Self::Input(_) => object([("type", raw(TOOL_USE))]),
            Self::Unknown => return None,
        })
    }
}

/// Received parts of a block.
#[derive(Debug, Clone)]
pub(super) struct StreamedBlock {
    /// `content_block` as it came.
    start: Box<RawValue>,
    pub(super) kind: ContentKind,
    /// Members of the deltas.
    pieces: Members,
    /// JSON text of the input.
    input: StreamedArguments,
    signature: Option<Box<RawValue>>,
}

impl StreamedBlock {
    /// Begins a block.
    pub(super) fn new(start: &RawValue) -> Self {
        let kind = ObjectFields::parse(start.get()).map_or(ContentKind::Other, |block| ContentKind::of(&block));
        let start = start.to_owned();
        Self { start, kind, pieces: Members::default(), input: StreamedArguments::default(), signature: None }
    }

    /// Adds a delta that the block takes. Returns false if a member is missing or has a wrong type.
    pub(super) fn push(&mut self, delta: BlockDelta<'_>, fields: &ObjectFields<'_>) -> bool {
        match delta {
            BlockDelta::Text(Some(piece)) => self.push_string(TEXT, piece),
            BlockDelta::Thinking(Some(piece)) => self.push_string(THINKING, piece) & self.push_misplaced(fields),
            BlockDelta::Citation(Some(citation)) => {
                self.pieces.push("citations", raw(&[citation]).get());
                true
            }
            BlockDelta::Signature(Some(signature)) => {
                let is_first = self.signature.is_none();
                self.signature = Some(signature.to_owned());
                is_first && string(signature).is_some()
            }
            BlockDelta::Input(Some(piece)) => match string(piece) {
                Some(text) => self.input.push(&text),
                None => {
                    self.input.set_whole(piece.get());
                    false
                }
            },
            BlockDelta::Unknown => {
                for (key, piece) in fields.iter().filter(|(key, _)| *key != "type") {
                    self.pieces.push(key, piece.get());
                }
                fields.get("type").is_some()
            }
            _ => false,
        }
    }

    fn push_string(&mut self, key: &str, piece: &RawValue) -> bool {
        self.pieces.push(key, piece.get());
        string(piece).is_some()
    }

    /// Takes a signature that a delta of thinking has. Returns false if there is one.
    fn push_misplaced(&mut self, fields: &ObjectFields<'_>) -> bool {
        let signature = fields.get(SIGNATURE).filter(|signature| signature.get() != "\"\"");
        self.signature = signature.map(ToOwned::to_owned).or_else(|| self.signature.take());
        signature.is_none()
    }

    /// Whether the pieces of the input each repeat all earlier ones.
    pub(super) fn is_cumulative(&self) -> bool {
        self.input.is_cumulative()
    }

    /// Number of bytes kept.
    pub(super) fn size(&self) -> usize {
        let signature = self.signature.as_ref().map_or(0, |signature| signature.get().len());
        self.start.get().len() + self.pieces.size() + self.input.size() + signature + size_of::<Self>()
    }

    /// Returns the JSON text of the input so far.
    pub(super) fn input(&self) -> String {
        self.input.clone().into_text()
    }

    /// Returns the block so far.
    pub(super) fn to_raw(&self) -> Box<RawValue> {
        self.clone().into_raw()
    }

    pub(super) fn into_raw(self) -> Box<RawValue> {
        let input = self.input.into_text();
        let has_input = !input.trim().is_empty();
        let lacks_input = self.kind == ContentKind::Call
            && !has_input
            && ObjectFields::parse(self.start.get()).is_none_or(|start| start.get("input").is_none());
        if self.pieces.is_empty() && self.signature.is_none() && !has_input && !lacks_input {
            return self.start;
        }
        let start = RawObject::parse(self.start.get()).unwrap_or_default();
        let mut fields: IndexMap<String, Box<RawValue>> =
            start.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        for (key, piece) in self.pieces.into_fields() {
            let mut member = Members::default();
            if let Some(start) = fields.get(&key) {
                member.push(&key, start.get());
            }
            member.push(&key, piece.get());
            fields.extend(member.into_fields());
        }
        if let Some(signature) = self.signature {
            fields.insert(SIGNATURE.to_owned(), signature);
        }
        if has_input || lacks_input {
            fields.insert("input".to_owned(), whole_input(&input));
        }
        fields.into_iter().collect::<RawObject>().to_raw()
    }
}

/// Returns the input with this JSON text. A text that is not an object, because it is invalid or was cut, becomes a
/// string.
fn whole_input(text: &str) -> Box<RawValue> {
    if text.trim().is_empty() {
        return RawObject::default().to_raw();
    }
    let object = RawValue::from_string(text.to_owned()).ok().filter(|value| value.get().starts_with('{'));
    object.unwrap_or_else(|| raw(text))
}

/// Whether the start of a block conforms to the API reference: a call has an id, a name and no input yet, and thinking
/// has no signature yet.
pub(super) fn is_regular_start(block: &ObjectFields<'_>) -> bool {
    match ContentKind::of(block) {
        ContentKind::Call => {
            block.string("id").is_some_and(|id| is_call_id(&id))
                && block.string("name").is_some_and(|name| !name.is_empty())
                && block.object("input").is_some_and(|input| input.iter().next().is_none())
        }
        ContentKind::Thinking => block.string(SIGNATURE).is_none_or(|signature| signature.is_empty()),
        ContentKind::Text => block.string(TEXT).is_some(),
        ContentKind::RedactedThinking => true,
        ContentKind::Other => block.string("type").is_some(),
    }
}
