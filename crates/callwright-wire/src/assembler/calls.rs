//! Assignment of streamed tool call pieces to calls, for servers with and without clear indexes and ids.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;

use super::arguments::{Extent, StreamedArguments};
use super::members::Members;
use crate::AnswerError;
use crate::fields::{TextFields, object, raw_value};
use crate::message_calls::MAX_CALLS;
use crate::scanner::{Scanned, Scanner};
use callwright_common::json::{RawObject, raw};
use callwright_types::ids;

/// Calls of one choice.
///
/// A piece belongs to the call with its index; without an index, to the call with its id; without both, to the last
/// call. It begins another call if it cannot belong to that one: a new id with a name, or a name after complete
/// arguments.
#[derive(Debug, Default)]
pub(super) struct CallAssembler {
    pub(super) parts: Vec<CallParts>,
    /// Position of the last call for each index.
    by_index: HashMap<u64, usize>,
    pub(super) by_id: HashMap<String, usize>,
    irregular: bool,
    /// Whether a delta had a call in place of a list.
    is_unlisted: bool,
    /// Number of bytes kept.
    pub(super) size: usize,
    /// Number of calls that the client has, where pieces are forwarded.
    pub(super) shown: usize,
}

/// Received parts of one call.
#[derive(Debug, Default)]
pub(super) struct CallParts {
    /// Index of its first piece.
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) name: String,
    pub(super) arguments: StreamedArguments,
    /// Other members of the element.
    pub(super) fields: Members,
    /// Other members of its `function` or `custom`.
    pub(super) body: Members,
    pub(super) custom: bool,
    /// Position that the client has, where pieces are forwarded.
    pub(super) shown: Option<usize>,
}

/// One element of a delta's `tool_calls`.
#[derive(Default)]
pub(crate) struct CallPiece<'a> {
    index: Option<u64>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) arguments: Option<PieceArguments<'a>>,
    /// Other members of the element.
    pub(super) element: TextFields<'a>,
    /// Other members of its `function` or `custom`.
    pub(super) body: TextFields<'a>,
    pub(super) custom: bool,
    /// Whether it replaces the list.
    is_unlisted: bool,
}

pub(super) enum PieceArguments<'a> {
    /// A piece of the arguments' text.
    Text(Cow<'a, str>),
    /// The complete arguments, as an object instead of a string.
    Whole(&'a str),
}

impl<'a> PieceArguments<'a> {
    fn scan(scanner: &mut Scanner<'a>) -> Scanned<Option<Self>> {
        if scanner.peek() == Some(b'"') {
            return Ok(scanner.string()?.map(Self::Text));
        }
        Ok(Some(scanner.value()?).filter(|value| *value != "null").map(Self::Whole))
    }
}

impl CallAssembler {
    /// Adds the `tool_calls` of a delta.
    pub(super) fn push_list(&mut self, list: &[Option<CallPiece<'_>>]) -> Result<(), AnswerError> {
        let mut touched = HashSet::new();
        for piece in list {
            let Some(piece) = piece else {
                self.irregular = true;
                continue;
            };
            self.is_unlisted |= piece.is_unlisted;
            let at = self.position(piece, &touched)?;
            if list.len() > 1 {
                touched.insert(at);
            }
            self.push_piece(at, piece);
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn is_conformant(&self) -> bool {
        !self.irregular && !self.is_unlisted && !self.parts.iter().any(|call| call.arguments.is_cumulative())
    }

    /// Returns the message's `tool_calls`: a list, or the only call if it came without one.
    pub(super) fn into_raw(self) -> Option<Box<RawValue>> {
        let is_unlisted = self.is_unlisted;
        match self.into_elements().as_slice() {
            [] => None,
            [call] if is_unlisted => Some(call.to_raw()),
            calls => Some(raw(calls)),
        }
    }

    fn into_elements(mut self) -> Vec<RawObject> {
        let only_one = self.parts.len() == 1;
        if self.has_distinct_indexes() {
            self.parts.sort_by_key(|call| call.index);
        }
        // Some servers end a call with an empty piece under a new id.
        let calls = self.parts.into_iter().filter(|call| only_one || !call.is_blank());
        calls.map(CallParts::into_element).collect()
    }

    /// Whether the indexes determine the order: none is missing or used twice.
    pub(super) fn has_distinct_indexes(&self) -> bool {
        let distinct: HashSet<u64> = self.parts.iter().filter_map(|call| call.index).collect();
        distinct.len() == self.parts.len()
    }

    /// Returns the position of the call that takes a piece, which may begin it. `touched` are the calls of earlier
    /// pieces in the same list.
    pub(super) fn position(&mut self, piece: &CallPiece<'_>, touched: &HashSet<usize>) -> Result<usize, AnswerError> {
        match self.target(piece).filter(|at| !self.begins_another(*at, piece, touched)) {
            Some(at) => Ok(at),
            None => self.begin(piece),
        }
    }

    /// Returns the position of the call that the piece belongs to, by index, by id, or as the last call.
    fn target(&self, piece: &CallPiece<'_>) -> Option<usize> {
        if let Some(index) = piece.index {
            return self.by_index.get(&index).copied();
        }
        let last = self.parts.len().checked_sub(1);
        let Some(id) = &piece.id else { return last };
        self.by_id.get(id.as_ref()).copied().or_else(|| {
            let is_open = self.parts.last()?.arguments.extent != Extent::Complete;
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
        match call.arguments.extent {
            // The name may follow the arguments.
            Extent::Complete if call.name.is_empty() => piece.has_arguments(),
            Extent::Complete => name != call.name || piece.has_arguments() && !call.is_repeated_by(piece),
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
        let is_first = call.id.is_none() && call.name.is_empty() && call.arguments.extent == Extent::Empty;
        self.irregular |= piece.index.is_none() || (!is_first && piece.id.is_some());
        if let (None, Some(id)) = (&call.id, &piece.id) {
            call.id = Some(id.to_string());
            self.irregular |= self.by_id.insert(id.to_string(), at).is_some();
        }
        let before = call.size();
        self.irregular |= !call.push(piece);
        self.size = (self.size + call.size()).saturating_sub(before);
    }
}

impl CallParts {
    /// Adds a piece to the call. Returns false if the piece does not conform to the API reference.
    pub(super) fn push(&mut self, piece: &CallPiece<'_>) -> bool {
        self.custom |= piece.custom;
        if let (None, Some(kind)) = (&self.kind, &piece.kind) {
            self.kind = Some(kind.to_string());
        }
        piece.element.iter().for_each(|(key, value)| self.fields.push(key, value));
        piece.body.iter().for_each(|(key, value)| self.body.push(key, value));
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
        if self.arguments.extent == Extent::Empty && !is_repetition {
            self.name.push_str(name);
        }
        false
    }

    fn push_arguments(&mut self, piece: &CallPiece<'_>) -> bool {
        match &piece.arguments {
            None => true,
            Some(PieceArguments::Text(text)) if self.custom => {
                self.arguments.push_text(text);
                true
            }
            Some(PieceArguments::Text(text)) => self.arguments.push(text),
            Some(PieceArguments::Whole(text)) => {
                self.arguments.set_whole(text);
                false
            }
        }
    }

    /// Whether a piece with this call's index but another id begins another call. Some servers generate an id for
    /// every piece; such pieces continue the arguments and at most repeat the name.
    fn is_followed_by_other_id(&self, piece: &CallPiece<'_>) -> bool {
        let is_open = matches!(self.arguments.extent, Extent::Open { .. } | Extent::Scalar);
        match piece.name.as_deref() {
            Some(name) => !(name == self.name && (is_open || self.is_repeated_by(piece))),
            None => self.arguments.extent == Extent::Complete && piece.has_arguments() && !self.is_repeated_by(piece),
        }
    }

    /// Whether a piece continues a call whose pieces each repeat all earlier arguments.
    fn is_repeated_by(&self, piece: &CallPiece<'_>) -> bool {
        matches!(&piece.arguments, Some(PieceArguments::Text(text)) if self.arguments.is_repeated_by(text))
    }

    /// Number of bytes kept.
    pub(super) fn size(&self) -> usize {
        self.name.len() + self.arguments.size() + self.fields.size() + self.body.size() + size_of::<Self>()
    }

    pub(super) fn is_blank(&self) -> bool {
        self.name.is_empty() && self.arguments.extent == Extent::Empty
    }

    /// Returns the `function` (or `custom`) object.
    pub(super) fn into_body(self) -> RawObject {
        let arguments = if self.custom { "input" } else { "arguments" };
        let own = [("name".to_owned(), raw(&self.name)), (arguments.to_owned(), self.arguments.into_raw())];
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
    /// Reads the `tool_calls` of a delta. An element that is not an object is `None`; an object in place of the list is its
    /// only element, and any other value is an empty list.
    pub(crate) fn scan_list(scanner: &mut Scanner<'a>) -> Scanned<Vec<Option<Self>>> {
        if scanner.peek() == Some(b'{') {
            let piece = Self::scan(scanner)?;
            return Ok(vec![piece.map(|piece| Self { is_unlisted: true, ..piece })]);
        }
        let mut pieces = Vec::new();
        scanner.array(|scanner| {
            pieces.push(Self::scan(scanner)?);
            Ok(())
        })?;
        Ok(pieces)
    }

    fn scan(scanner: &mut Scanner<'a>) -> Scanned<Option<Self>> {
        let mut piece = Self::default();
        let (mut function, mut custom) = (None, None);
        let is_object = scanner.object(|scanner, key| {
            match key.as_ref() {
                "index" => piece.index = scanner.value()?.parse().ok(),
                "id" => piece.id = scanner.string()?.filter(|id| !id.is_empty()),
                "type" => piece.kind = scanner.string()?.filter(|kind| !kind.is_empty()),
                "function" => function = Self::scan_body(scanner)?,
                "custom" => custom = Self::scan_body(scanner)?,
                _ => piece.element.push(key, scanner.value()?),
            }
            Ok(())
        })?;
        piece.custom = custom.is_some();
        let Self { name, arguments, body, .. } = custom.or(function).unwrap_or_default();
        Ok(is_object.then_some(Self { name, arguments, body, ..piece }))
    }

    /// Reads a piece of the legacy `function_call`, or the inner object of a `tool_calls` element; `None` if it is not an
    /// object.
    pub(crate) fn scan_body(scanner: &mut Scanner<'a>) -> Scanned<Option<Self>> {
        let mut piece = Self::default();
        let mut input = None;
        let is_object = scanner.object(|scanner, key| {
            match key.as_ref() {
                "name" => piece.name = scanner.string()?.filter(|name| !name.is_empty()),
                "arguments" => piece.arguments = PieceArguments::scan(scanner)?,
                "input" => input = PieceArguments::scan(scanner)?,
                _ => piece.body.push(key, scanner.value()?),
            }
            Ok(())
        })?;
        piece.arguments = piece.arguments.or(input);
        Ok(is_object.then_some(piece))
    }

    fn has_arguments(&self) -> bool {
        match &self.arguments {
            None => false,
            Some(PieceArguments::Text(text)) => !text.trim().is_empty(),
            Some(PieceArguments::Whole(_)) => true,
        }
    }
}

impl CallAssembler {
    /// Moves out the content of all calls. Further pieces continue them under the positions that they have there.
    pub(super) fn take(&mut self) -> Self {
        let mut order: Vec<usize> = (0..self.parts.len()).collect();
        if self.has_distinct_indexes() {
            order.sort_by_key(|at| self.parts.get(*at).and_then(|call| call.index));
        }
        let is_only = order.len() == 1;
        order.retain(|at| is_only || self.parts.get(*at).is_some_and(|call| !call.is_blank()));
        let mut taken = Self::default();
        for (shown, at) in order.into_iter().enumerate() {
            let Some(call) = self.parts.get_mut(at) else { continue };
            call.shown = Some(shown);
            taken.parts.push(call.take());
        }
        self.shown = taken.parts.len();
        self.size = 0;
        taken
    }

    /// Assigns the `tool_calls` of a delta to calls without keeping them. Returns the elements for the client.
    pub(super) fn pass_list(&mut self, list: &[Option<CallPiece<'_>>]) -> Result<Vec<RawObject>, AnswerError> {
        let mut touched = HashSet::new();
        let mut elements = Vec::with_capacity(list.len());
        for piece in list.iter().flatten() {
            let at = self.position(piece, &touched)?;
            touched.insert(at);
            if let Some(id) = &piece.id {
                self.by_id.entry(id.to_string()).or_insert(at);
            }
            let next = self.shown;
            let Some(call) = self.parts.get_mut(at) else { continue };
            if call.shown.is_none() {
                self.shown += 1;
            }
            elements.push(call.pass(piece, next));
        }
        Ok(elements)
    }
}

impl CallParts {
    /// Moves out the content. Id and name stay known.
    pub(super) fn take(&mut self) -> Self {
        Self {
            index: self.index,
            id: self.id.clone(),
            kind: self.kind.clone(),
            name: self.name.clone(),
            arguments: self.arguments.take(),
            fields: std::mem::take(&mut self.fields),
            body: std::mem::take(&mut self.body),
            custom: self.custom,
            shown: self.shown,
        }
    }

    /// Returns the element with the next piece. `next` is the position of a call that the client does not have yet.
    fn pass(&mut self, piece: &CallPiece<'_>, next: usize) -> RawObject {
        let is_new = self.shown.is_none();
        let mut element = object([("index", raw(self.shown.get_or_insert(next)))]);
        let mut body = RawObject::default();
        self.custom |= piece.custom;
        if is_new {
            let kind = if self.custom { "custom" } else { "function" };
            let id = piece.id.as_ref().map_or_else(ids::call_id, ToString::to_string);
            element.set("id", raw(&id));
            element.set("type", raw(piece.kind.as_deref().unwrap_or(kind)));
            self.id = Some(id);
        }
        if let Some(name) = piece.name.as_deref().filter(|_| self.name.is_empty()) {
            name.clone_into(&mut self.name);
            body.set("name", raw(name));
        }
        let text = match &piece.arguments {
            Some(PieceArguments::Text(text)) => text.as_ref(),
            Some(PieceArguments::Whole(text)) => text,
            None => "",
        };
        self.arguments.push_text(text);
        drop(self.arguments.take());
        body.set(if self.custom { "input" } else { "arguments" }, raw(text));
        for (key, value) in piece.body.iter() {
            body.set(key, raw_value(value));
        }
        element.set(if self.custom { "custom" } else { "function" }, body.to_raw());
        for (key, value) in piece.element.iter() {
            element.set(key, raw_value(value));
        }
        element
    }
}
