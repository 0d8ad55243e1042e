//! The message of an answer that is a list of parts.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;

use super::{MessageContent, PartKind, PartsForm};
use crate::error::AnswerError;
use crate::fields::{ObjectFields, present};
use crate::reasoning_part::ReasoningPart;
use callwright_common::json::RawObject;
use callwright_types::{Call, ids};

/// Maximum number of parts of one answer.
pub(crate) const MAX_PARTS: usize = 8192;

/// The parts of an answer, in order.
#[derive(Debug, Clone)]
pub(crate) struct PartsMessage {
    form: &'static dyn PartsForm,
    parts: Vec<Part>,
    /// Calls of functions, in order.
    calls: Vec<Call>,
    well_formed: bool,
}

/// One part with its kind. The call of a part of kind [`PartKind::Call`] has the generated id if the part has none.
#[derive(Debug, Clone)]
struct Part {
    raw: Box<RawValue>,
    kind: PartKind,
}

impl PartsMessage {
    /// Reads the parts of an answer.
    pub(crate) fn read(form: &'static dyn PartsForm, parts: Vec<Box<RawValue>>) -> Result<Self, AnswerError> {
        if parts.len() > MAX_PARTS {
            return Err(AnswerError::new(format!("the answer has more than {MAX_PARTS} parts")));
        }
        let mut message = Self { form, parts: Vec::with_capacity(parts.len()), calls: Vec::new(), well_formed: true };
        let mut seen = HashSet::new();
        for raw in parts {
            let mut kind = form.read_part(&raw);
            if let PartKind::Call { call, is_well_formed } = &mut kind {
                if call.id.is_empty() || !seen.insert(call.id.clone()) {
                    call.id = ids::call_id();
                    *is_well_formed = false;
                }
                message.well_formed &= *is_well_formed;
                message.calls.push(call.clone());
            }
            message.parts.push(Part { raw, kind });
        }
        Ok(message)
    }

    /// Reads the parts in the members of an answer.
    pub(crate) fn read_in(form: &'static dyn PartsForm, fields: &RawObject) -> Result<Self, AnswerError> {
        let list = present(fields.get(form.parts_key())).map_or("[]", RawValue::get);
        let parts = serde_json::from_str(list)
            .map_err(|_| AnswerError::new(format!("`{}` of the answer is not a list", form.parts_key())))?;
        Self::read(form, parts)
    }

    /// Reads the parts of a message, which must have a list of them.
    pub(crate) fn read_message(form: &'static dyn PartsForm, fields: &RawObject) -> Result<Self, AnswerError> {
        match fields.get(form.parts_key()) {
            Some(_) => Self::read_in(form, fields),
            None => Err(AnswerError::new(format!("`message` has no list `{}`", form.parts_key()))),
        }
    }

    fn written_part<'a>(&'a self, part: &'a Part) -> Cow<'a, RawValue> {
        match &part.kind {
            PartKind::Call { call, is_well_formed: false } => Cow::Owned(self.form.with_call(Some(&part.raw), call)),
            _ => Cow::Borrowed(&part.raw),
        }
    }

    /// Returns the texts that `text` selects.
    fn texts<'a>(&'a self, text: impl Fn(&'a PartKind) -> Option<&'a str>) -> impl Iterator<Item = &'a str> {
        self.parts.iter().filter_map(move |part| text(&part.kind))
    }

    /// Returns the part of a new call with the members of the call before it, if that is of the same tool: it was divided
    /// from that one.
    fn divided(&self, raw: Box<RawValue>, call: &Call, before: &[Part]) -> Box<RawValue> {
        let of_call = before.iter().rev().find_map(|part| match &part.kind {
            PartKind::Call { call, .. } => Some((call, &part.raw)),
            _ => None,
        });
        let Some((_, source)) = of_call.filter(|(other, _)| other.name == call.name) else { return raw };
        let (Some(source), Ok(mut part)) = (ObjectFields::parse(source.get()), RawObject::parse(raw.get())) else {
            return raw;
        };
        for key in self.form.members_of_divided() {
            if let Some(value) = source.get(key) {
                part.set(key, value.to_owned());
            }
        }
        part.to_raw()
    }
}

impl MessageContent for PartsMessage {
    fn text(&self) -> Option<String> {
        let mut texts = self.parts.iter().filter_map(Part::text).peekable();
        texts.peek()?;
        Some(texts.collect())
    }

    fn size(&self) -> usize {
        self.parts.iter().map(|part| part.raw.get().len()).sum()
    }

    fn refusal(&self) -> Option<String> {
        let refusals = self.texts(|kind| if let PartKind::Refusal(text) = kind { Some(text.as_str()) } else { None });
        Some(refusals.collect::<String>()).filter(|text| !text.trim().is_empty())
    }

    fn reasoning(&self) -> Option<String> {
        let texts = self.texts(|kind| if let PartKind::Reasoning(text) = kind { Some(text.as_str()) } else { None });
        Some(texts.collect::<Vec<_>>().join("\n")).filter(|text| !text.trim().is_empty())
    }

    fn is_only_text(&self) -> bool {
        self.parts.iter().all(|part| matches!(part.kind, PartKind::Text(_) | PartKind::Reasoning(_)))
    }

    fn calls(&self) -> &[Call] {
        &self.calls
    }

    fn namespaces(&self) -> HashMap<String, String> {
        let parts = self.parts.iter();
        parts.filter_map(|part| Some((part.call_id()?.to_owned(), self.form.namespace(&part.raw)?))).collect()
    }

    fn has_unjudged_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.kind, PartKind::Unjudged(_)))
    }

    fn unjudged_calls(&self) -> Vec<Call> {
        let calls = self.parts.iter().filter_map(|part| match &part.kind {
            PartKind::Unjudged(call) if !call.id.is_empty() => Some(call.clone()),
            _ => None,
        });
        calls.collect()
    }

    fn is_well_formed(&self) -> bool {
        self.well_formed
    }

    fn trailing_reasoning(&self) -> Vec<ReasoningPart> {
        let trailing = self.parts.iter().rposition(|part| !matches!(part.kind, PartKind::Reasoning(_)));
        let trailing = self.parts.get(trailing.map_or(0, |last| last + 1)..).unwrap_or_default();
        trailing.iter().filter_map(|part| self.form.reasoning_part(&part.raw)).collect()
    }

    fn parts(&self) -> Vec<Cow<'_, RawValue>> {
        self.parts.iter().map(|part| self.written_part(part)).collect()
    }

    fn call_elements(&self) -> Vec<(String, Box<RawValue>)> {
        let calls = self.parts.iter().filter_map(|part| match &part.kind {
            PartKind::Call { call, .. } | PartKind::Unjudged(call) => {
                Some((call.id.clone(), self.written_part(part).into_owned()))
            }
            _ => None,
        });
        calls.collect()
    }

    /// Replaces the calls. A part whose id is kept keeps its place before the parts that it preceded; new calls follow the
    /// last part.
    fn set_calls(&mut self, calls: &[Call]) -> bool {
        if self.well_formed && calls == self.calls {
            return false;
        }
        let old = std::mem::take(&mut self.parts);
        let places: HashMap<String, usize> =
            old.iter().enumerate().filter_map(|(at, part)| Some((part.call_id()?.to_owned(), at))).collect();
        let mut old: Vec<Option<Part>> = old.into_iter().map(Some).collect();
        let mut parts = Vec::with_capacity(old.len());
        let mut at = 0;
        for call in calls {
            let place = places.get(call.id.as_str()).copied();
            if let Some(place) = place.filter(|place| *place >= at) {
                take_others(&mut old, at..place, &mut parts);
                at = place + 1;
            } else if place.is_none() {
                // A new call belongs to the calls before it, or follows the whole answer.
                let end = if parts.iter().any(|part: &Part| part.call_id().is_some()) { at } else { old.len() };
                take_others(&mut old, at..end, &mut parts);
                at = end;
            }
            let known = place.and_then(|place| old.get_mut(place)?.take()).map(|part| part.raw);
            let mut raw = self.form.with_call(known.as_deref(), call);
            if known.is_none() {
                raw = self.divided(raw, call, &parts);
            }
            parts.push(Part { raw, kind: PartKind::Call { call: call.clone(), is_well_formed: true } });
        }
        let end = old.len();
        take_others(&mut old, at..end, &mut parts);
        (self.parts, self.well_formed) = (parts, true);
        self.calls = calls.to_vec();
        true
    }

    /// Reads the calls of custom tools that `is_function` accepts as calls of functions, with their input as arguments.
    /// They are not well-formed, so that they are written in that form. Returns their ids.
    fn adopt_custom_calls(&mut self, is_function: &dyn Fn(&Call) -> bool) -> Vec<String> {
        let mut adopted = Vec::new();
        for part in &mut self.parts {
            if !matches!(part.kind, PartKind::Unjudged(_)) {
                continue;
            }
            let Some(mut call) = self.form.custom_call(&part.raw).filter(|call| is_function(call)) else { continue };
            if call.id.is_empty() || self.calls.iter().any(|other| other.id == call.id) {
                call.id = ids::call_id();
            }
            adopted.push(call.id.clone());
            part.kind = PartKind::Call { call, is_well_formed: false };
        }
        if !adopted.is_empty() {
            let calls = self.parts.iter().filter_map(|part| match &part.kind {
                PartKind::Call { call, .. } => Some(call.clone()),
                _ => None,
            });
            (self.calls, self.well_formed) = (calls.collect(), false);
        }
        adopted
    }

    /// Writes the call with this id as a call of a custom tool. Returns whether there is one.
    fn make_custom(&mut self, id: &str, input: &str) -> bool {
        let Some(part) = self.parts.iter_mut().find(|part| part.call_id() == Some(id)) else { return false };
        let Some(raw) = self.form.with_custom_call(&part.raw, input) else { return false };
        let mut call = Call { id: id.to_owned(), name: String::new(), arguments: input.to_owned() };
        if let PartKind::Call { call: own, .. } = &part.kind {
            call.name.clone_from(&own.name);
        }
        (part.raw, part.kind) = (raw, PartKind::Unjudged(call));
        self.calls.retain(|call| call.id != id);
        true
    }

    /// Replaces the text. Text parts whose text is the beginning of `text` stay as they are; the first other one gets the
    /// rest, and later ones are removed.
    fn set_text(&mut self, text: &str) {
        let mut rest = text;
        let mut is_changed = false;
        let parts = std::mem::take(&mut self.parts);
        for part in parts {
            let Some(own) = part.text() else {
                self.parts.push(part);
                continue;
            };
            if let Some(left) = rest.strip_prefix(own).filter(|_| !is_changed) {
                rest = left;
                self.parts.push(part);
            } else if !is_changed {
                is_changed = true;
                if !rest.is_empty() {
                    let raw = self.form.with_text(Some(&part.raw), rest);
                    self.parts.push(Part { raw, kind: PartKind::Text(std::mem::take(&mut rest).to_owned()) });
                }
            }
        }
        if !rest.is_empty() && !is_changed {
            let raw = self.form.with_text(None, rest);
            self.parts.push(Part { raw, kind: PartKind::Text(rest.to_owned()) });
        }
    }
}

impl Part {
    fn text(&self) -> Option<&str> {
        match &self.kind {
            PartKind::Text(text) => Some(text),
            _ => None,
        }
    }

    fn call_id(&self) -> Option<&str> {
        match &self.kind {
            PartKind::Call { call, .. } => Some(&call.id),
            _ => None,
        }
    }
}

/// Moves the parts in `range` that are not judged calls.
fn take_others(old: &mut [Option<Part>], range: std::ops::Range<usize>, parts: &mut Vec<Part>) {
    for slot in old.get_mut(range).unwrap_or_default() {
        if slot.as_ref().is_some_and(|part| part.call_id().is_none()) {
            parts.extend(slot.take());
        }
    }
}
