//! Assignment of streamed tool call pieces to calls, for servers with and without clear indexes and ids.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;

use super::extent::Extent;
use super::members::Members;
use crate::AnswerError;
use crate::chat_message::MAX_CALLS;
use crate::fields::{ObjectFields, string};
use callwright_common::json::{RawObject, raw};

/// Calls of one choice.
///
/// A piece belongs to the call with its index; without an index, to the call with its id; without both, to the last
/// call. It begins another call if it cannot belong to that one: a new id with a name, or a name after complete
/// arguments.
#[derive(Debug, Default)]
pub(super) struct CallAssembler {
    parts: Vec<CallParts>,
    /// Position of the last call for each index.
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
    irregular: bool,
}

/// Received parts of one call.
#[derive(Debug, Default)]
pub(super) struct CallParts {
    /// Index of its first piece.
    index: Option<u64>,
    id: Option<String>,
    kind: Option<String>,
    name: String,
    arguments: String,
    extent: Extent,
    /// Other members of the element.
    fields: Members,
    /// Other members of its `function` or `custom`.
    body: Members,
    custom: bool,
}

/// One element of a delta's `tool_calls`.
#[derive(Default)]
pub(super) struct CallPiece<'a> {
    index: Option<u64>,
    id: Option<Cow<'a, str>>,
    kind: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    arguments: Option<PieceArguments<'a>>,
    element: Option<ObjectFields<'a>>,
    body: Option<ObjectFields<'a>>,
    custom: bool,
}

enum PieceArguments<'a> {
    /// A piece of the arguments' text.
    Text(Cow<'a, str>),
    /// The complete arguments, as an object instead of a string.
    Whole(&'a str),
}

impl CallAssembler {
    /// Adds the `tool_calls` of a delta.
    pub(super) fn push_list(&mut self, list: &[&RawValue]) -> Result<(), AnswerError> {
        let mut touched = HashSet::new();
        for element in list {
            let Some(piece) = ObjectFields::parse(element.get()).map(CallPiece::read) else {
                self.irregular = true;
                continue;
            };
            let at = match self.target(&piece).filter(|at| !self.begins_another(*at, &piece, &touched)) {
                Some(at) => at,
                None => self.begin(&piece)?,
            };
            touched.insert(at);
            self.push_piece(at, &piece);
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn is_conformant(&self) -> bool {
        !self.irregular
    }

    /// Returns the elements of the message's `tool_calls`.
    pub(super) fn into_elements(mut self) -> Vec<RawObject> {
        let only_one = self.parts.len() == 1;
        // Duplicate or missing indexes do not determine the order.
        let distinct: HashSet<u64> = self.parts.iter().filter_map(|call| call.index).collect();
        if distinct.len() == self.parts.len() {
            self.parts.sort_by_key(|call| call.index);
        }
        // Some servers end a call with an empty piece under a new id.
        let calls = self.parts.into_iter().filter(|call| only_one || !call.is_blank());
        calls.map(CallParts::into_element).collect()
    }

    /// Returns the position of the call that the piece belongs to, by index, by id, or as the last call.
    fn target(&self, piece: &CallPiece<'_>) -> Option<usize> {
        if let Some(index) = piece.index {
            return self.by_index.get(&index).copied();
        }
        let last = self.parts.len().checked_sub(1);
        let Some(id) = &piece.id else { return last };
        self.by_id.get(id.as_ref()).copied().or_else(|| {
            let is_open = self.parts.last()?.extent != Extent::Complete;
            last.filter(|_| is_open && piece.name.is_none())
        })
    }

    fn begins_another(&self, at: usize, piece: &CallPiece<'_>, touched: &HashSet<usize>) -> bool {
        let Some(call) = self.parts.get(at) else { return true };
        match (&piece.id, &call.id) {
            (Some(id), Some(own)) if id == own => return false,
            (Some(_), Some(_)) => return call.is_followed_by_other_id(piece),
            _ => {}
        }
        let Some(name) = piece.name.as_deref() else { return false };
        if touched.contains(&at) {
            // Two elements with names in one list are two calls.
            return true;
        }
        match call.extent {
            Extent::Complete => name != call.name || piece.has_arguments(),
            Extent::Open { .. } | Extent::Scalar => name != call.name && !call.name.is_empty(),
            Extent::Empty => false,
        }
    }

    fn begin(&mut self, piece: &CallPiece<'_>) -> Result<usize, AnswerError> {
        let at = self.parts.len();
        if at >= MAX_CALLS {
            return Err(AnswerError::new(format!("the streamed answer has more than {MAX_CALLS} calls")));
        }
        let in_order = piece.index.is_some_and(|index| usize::try_from(index) == Ok(at));
        self.irregular |= !in_order || piece.id.is_none() || piece.kind.is_none() || piece.name.is_none();
        if let Some(index) = piece.index {
            self.by_index.insert(index, at);
        }
        self.parts.push(CallParts { index: piece.index, ..CallParts::default() });
        Ok(at)
    }

    fn push_piece(&mut self, at: usize, piece: &CallPiece<'_>) {
        let Some(call) = self.parts.get_mut(at) else { return };
        let is_first = call.id.is_none() && call.name.is_empty() && call.extent == Extent::Empty;
        self.irregular |= piece.index.is_none() || (!is_first && piece.id.is_some());
        if let (None, Some(id)) = (&call.id, &piece.id) {
            call.id = Some(id.to_string());
            self.irregular |= self.by_id.insert(id.to_string(), at).is_some();
        }
        self.irregular |= !call.push(piece);
    }
}

impl CallParts {
    /// Adds a piece to the call. Returns false if the piece does not conform to the API reference.
    pub(super) fn push(&mut self, piece: &CallPiece<'_>) -> bool {
        self.custom |= piece.custom;
        if let (None, Some(kind)) = (&self.kind, &piece.kind) {
            self.kind = Some(kind.to_string());
        }
        for (key, value) in piece.element.iter().flat_map(ObjectFields::iter) {
            if !matches!(key, "index" | "id" | "type" | "function" | "custom") {
                self.fields.push(key, value);
            }
        }
        for (key, value) in piece.body.iter().flat_map(ObjectFields::iter) {
            if !matches!(key, "name" | "arguments" | "input") {
                self.body.push(key, value);
            }
        }
        let name_is_regular = self.push_name(piece);
        self.push_arguments(piece) && name_is_regular
    }

    /// Adds the name. A repeated name is either its next piece or, with an id or after arguments, a repetition.
    fn push_name(&mut self, piece: &CallPiece<'_>) -> bool {
        let Some(name) = piece.name.as_deref() else { return true };
        if self.name.is_empty() {
            self.name.push_str(name);
            return true;
        }
        let is_repetition = name == self.name && (piece.id.is_some() || piece.has_arguments());
        if self.extent == Extent::Empty && !is_repetition {
            self.name.push_str(name);
        }
        false
    }

    fn push_arguments(&mut self, piece: &CallPiece<'_>) -> bool {
        match &piece.arguments {
            None => true,
            Some(PieceArguments::Text(text)) => {
                self.arguments.push_str(text);
                self.extent.push(text);
                true
            }
            Some(PieceArguments::Whole(text)) => {
                (*text).clone_into(&mut self.arguments);
                self.extent = Extent::Complete;
                false
            }
        }
    }

    /// Whether a piece with this call's index but another id begins another call. Some servers generate an id for
    /// every piece; such pieces continue the arguments and at most repeat the name.
    fn is_followed_by_other_id(&self, piece: &CallPiece<'_>) -> bool {
        let is_open = matches!(self.extent, Extent::Open { .. } | Extent::Scalar);
        match piece.name.as_deref() {
            Some(name) => !(is_open && name == self.name),
            None => self.extent == Extent::Complete && piece.has_arguments(),
        }
    }

    fn is_blank(&self) -> bool {
        self.name.is_empty() && self.extent == Extent::Empty
    }

    /// Returns the `function` (or `custom`) object.
    pub(super) fn into_body(self) -> RawObject {
        let arguments = if self.custom { "input" } else { "arguments" };
        let own = [("name".to_owned(), raw(&self.name)), (arguments.to_owned(), raw(&self.arguments))];
        own.into_iter().chain(self.body.into_fields()).collect()
    }

    fn into_element(mut self) -> RawObject {
        let id = self.id.take().map(|id| ("id".to_owned(), raw(&id)));
        let kind = self.kind.take().map(|kind| ("type".to_owned(), raw(&kind)));
        let fields = std::mem::take(&mut self.fields);
        let key = if self.custom { "custom" } else { "function" };
        let body = (key.to_owned(), self.into_body().to_raw());
        id.into_iter().chain(kind).chain([body]).chain(fields.into_fields()).collect()
    }
}

impl<'a> CallPiece<'a> {
    fn read(element: ObjectFields<'a>) -> Self {
        let custom = element.object("custom");
        let is_custom = custom.is_some();
        let body = custom.or_else(|| element.object("function"));
        let index = element.get_as("index");
        let [id, kind] = ["id", "type"].map(|key| element.string(key).filter(|text| !text.is_empty()));
        let body = body.map(Self::read_body).unwrap_or_default();
        Self { index, id, kind, element: Some(element), custom: is_custom, ..body }
    }

    /// Parses a piece of the legacy `function_call`, or the inner object of a `tool_calls` element.
    pub(super) fn read_body(body: ObjectFields<'a>) -> Self {
        let arguments = body.get("arguments").or_else(|| body.get("input"));
        let arguments = arguments.map(|value| match string(value) {
            Some(text) => PieceArguments::Text(text),
            None => PieceArguments::Whole(value.get()),
        });
        let name = body.string("name").filter(|name| !name.is_empty());
        Self { name, arguments, body: Some(body), ..Self::default() }
    }

    pub(super) fn has_name(&self) -> bool {
        self.name.is_some()
    }

    fn has_arguments(&self) -> bool {
        match &self.arguments {
            None => false,
            Some(PieceArguments::Text(text)) => !text.trim().is_empty(),
            Some(PieceArguments::Whole(_)) => true,
        }
    }
}
