//! Events of a stream, by their `type` (API reference, "Streaming events").

use super::item::ItemKind;
use crate::AnswerError;
use crate::fields::ObjectFields;

/// One event whose data is an object.
pub(super) struct StreamEvent<'a> {
    pub(super) kind: EventKind,
    pub(super) name: String,
    pub(super) fields: ObjectFields<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    /// `response.created`.
    Created,
    /// `response.queued` or `response.in_progress`.
    Progress,
    ItemAdded,
    ItemDone,
    PartAdded(PartList),
    PartDone(PartList),
    TextDelta(TextForm),
    TextDone(TextForm),
    AnnotationAdded,
    ArgumentsDelta(ItemKind),
    ArgumentsDone(ItemKind),
    /// `response.completed` or `response.incomplete`.
    End,
    /// `response.failed`, `error`, or an error object.
    Error,
    Other,
}

/// Member of an item with a list of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartList {
    Content,
    /// Summary of reasoning.
    Summary,
}

/// Kind of a text that is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextForm {
    Output,
    Refusal,
    Reasoning,
    Summary,
}

impl<'a> StreamEvent<'a> {
    /// Parses the data of an event.
    pub(super) fn parse(data: &'a str) -> Result<Self, AnswerError> {
        let fields =
            ObjectFields::parse(data).ok_or_else(|| AnswerError::new("an event of the stream is not a JSON object"))?;
        let name = fields.string("type").unwrap_or_default().into_owned();
        let mut kind = EventKind::new(&name);
        let is_failed = kind == EventKind::End
            && fields.object("response").is_some_and(|response| response.string("status").as_deref() == Some("failed"));
        if is_failed || name.is_empty() && fields.get("error").is_some() {
            kind = EventKind::Error;
        }
        Ok(Self { kind, name, fields })
    }
}

impl EventKind {
    fn new(name: &str) -> Self {
        match name {
            "response.created" => return Self::Created,
            "response.queued" | "response.in_progress" => return Self::Progress,
            "response.completed" | "response.incomplete" => return Self::End,
            "response.failed" | "error" => return Self::Error,
            "response.output_text.annotation.added" => return Self::AnnotationAdded,
            _ => {}
        }
        let Some((stem, step)) = name.rsplit_once('.') else { return Self::Other };
        if let Some(form) = TextForm::ALL.into_iter().find(|form| form.events() == stem) {
            return match step {
                "delta" => Self::TextDelta(form),
                "done" => Self::TextDone(form),
                _ => Self::Other,
            };
        }
        match (stem, step) {
            ("response.output_item", "added") => Self::ItemAdded,
            ("response.output_item", "done") => Self::ItemDone,
            // vLLM has separate events for parts of reasoning.
            ("response.content_part" | "response.reasoning_part", "added") => Self::PartAdded(PartList::Content),
            ("response.content_part" | "response.reasoning_part", "done") => Self::PartDone(PartList::Content),
            ("response.reasoning_summary_part", "added") => Self::PartAdded(PartList::Summary),
            ("response.reasoning_summary_part", "done") => Self::PartDone(PartList::Summary),
            ("response.function_call_arguments", "delta") => Self::ArgumentsDelta(ItemKind::FunctionCall),
            ("response.function_call_arguments", "done") => Self::ArgumentsDone(ItemKind::FunctionCall),
            ("response.custom_tool_call_input", "delta") => Self::ArgumentsDelta(ItemKind::CustomToolCall),
            ("response.custom_tool_call_input", "done") => Self::ArgumentsDone(ItemKind::CustomToolCall),
            _ => Self::Other,
        }
    }

    /// Kind of the item that an event of this kind belongs to, if that is fixed.
    pub(super) fn item_kind(self) -> Option<ItemKind> {
        match self {
            Self::TextDelta(form) | Self::TextDone(form) => Some(form.item_kind()),
            Self::AnnotationAdded => Some(ItemKind::Message),
            Self::PartAdded(PartList::Summary) | Self::PartDone(PartList::Summary) => Some(ItemKind::Reasoning),
            Self::ArgumentsDelta(kind) | Self::ArgumentsDone(kind) => Some(kind),
            _ => None,
        }
    }
}

impl PartList {
    /// Member of the item.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Summary => "summary",
        }
    }

    /// Member of an event with the position of the part.
    pub(super) fn index_key(self) -> &'static str {
        match self {
            Self::Content => "content_index",
            Self::Summary => "summary_index",
        }
    }

    /// Name of the events of a part, without `.added` or `.done`.
    pub(super) fn events(self) -> &'static str {
        match self {
            Self::Content => "response.content_part",
            Self::Summary => "response.reasoning_summary_part",
        }
    }
}

impl TextForm {
    const ALL: [Self; 4] = [Self::Output, Self::Refusal, Self::Reasoning, Self::Summary];

    /// Returns the form of the text of a part; `None` if a part of this type has no streamed text.
    pub(super) fn of_part(part: &ObjectFields<'_>) -> Option<Self> {
        let kind = part.string("type")?;
        Self::ALL.into_iter().find(|form| form.part_type() == kind)
    }

    /// List that contains the part.
    pub(super) fn list(self) -> PartList {
        if self == Self::Summary { PartList::Summary } else { PartList::Content }
    }

    /// `type` of the part.
    pub(super) fn part_type(self) -> &'static str {
        match self {
            Self::Output => "output_text",
            Self::Refusal => "refusal",
            Self::Reasoning => "reasoning_text",
            Self::Summary => "summary_text",
        }
    }

    /// Member of the part, and of the event `.done`, with the text.
    pub(super) fn key(self) -> &'static str {
        if self == Self::Refusal { "refusal" } else { "text" }
    }

    /// Name of the events of the text, without `.delta` or `.done`.
    pub(super) fn events(self) -> &'static str {
        match self {
            Self::Output => "response.output_text",
            Self::Refusal => "response.refusal",
            Self::Reasoning => "response.reasoning_text",
            Self::Summary => "response.reasoning_summary_text",
        }
    }

    /// Kind of the item that contains the part.
    pub(super) fn item_kind(self) -> ItemKind {
        match self {
            Self::Output | Self::Refusal => ItemKind::Message,
            Self::Reasoning | Self::Summary => ItemKind::Reasoning,
        }
    }
}
