//! Calls of a choice whose further pieces are forwarded and not kept.

use std::collections::HashSet;

use super::calls::{CallAssembler, CallParts, CallPiece, PieceArguments};
use crate::AnswerError;
use crate::fields::{object, raw_value};
use callwright_common::json::{RawObject, raw};
use callwright_types::ids;

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
