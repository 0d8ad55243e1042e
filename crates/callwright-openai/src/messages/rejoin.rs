//! Reinsertion of the parts of a conversation that the client did not receive.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde_json::value::RawValue;

use super::blocks::{CONTENT, TOOL_USE, USER, blocks_of, is_block, message, result_block};
use super::views::{LocatedView, ViewOrigin, elements, located_views};
use crate::KeptPart;
use crate::fields::{ObjectFields, present};
use crate::kept::KeptCall;
use crate::parts::Rejoined;
use callwright_common::json::{RawObject, raw};

/// Returns the conversation with kept parts put back, by position of the assistant's view.
pub(super) fn rejoined(fields: &RawObject, parts: &BTreeMap<usize, KeptPart>, lost: &str) -> Rejoined {
    let elements = elements(fields);
    let system = fields.get("system");
    let views = located_views(system, elements.iter().copied());
    let parts: HashMap<ViewOrigin, &KeptPart> =
        views.iter().zip(0..).filter_map(|(located, position)| Some((located.origin, parts.get(&position)?))).collect();
    let mut conversation = Conversation::default();
    for (at, element) in elements.into_iter().enumerate() {
        match parts.get(&ViewOrigin::Element(at)) {
            Some(part) => conversation.push_answer(element, part, lost),
            None => conversation.push_element(at, element),
        }
    }
    conversation.push_results();
    let new = located_views(system, conversation.elements.iter().map(|element| &**element));
    let positions = conversation.positions(&views, &new);
    Rejoined { conversation: raw(&conversation.elements), positions }
}

/// The new conversation.
#[derive(Default)]
struct Conversation {
    elements: Vec<Box<RawValue>>,
    /// Results of the proxy's calls in the last answer, for the user message after it.
    results: Vec<Box<RawValue>>,
    /// New position of each old element that was not rewritten, and the number of blocks added before its own.
    moved: HashMap<usize, (usize, usize)>,
}

impl Conversation {
    /// Adds an answer of the model with its kept part.
    fn push_answer(&mut self, answer: &RawValue, part: &KeptPart, lost: &str) {
        self.push_results();
        self.elements.extend(part.before().iter().cloned());
        self.elements.push(with_calls(answer, part.calls()).unwrap_or_else(|| answer.to_owned()));
        for call in part.calls() {
            let KeptCall::Proxy(block) = call else { continue };
            let Some(id) = id_of(block) else { continue };
            self.results.push(result_block(&id, part.result(&id).unwrap_or(lost), false));
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
        let mut message = RawObject::parse(element.get()).ok()?;
        if ObjectFields::parse(element.get())?.string("role")? != USER {
            return None;
        }
        let own = blocks_of(present(message.get(CONTENT)))?;
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

/// Returns the client's message with the proxy's calls among the client's in the model's order. Blocks of the client keep
/// their bytes and their order. `None` if the message has no blocks.
fn with_calls(answer: &RawValue, calls: &[KeptCall]) -> Option<Box<RawValue>> {
    let mut message = RawObject::parse(answer.get()).ok()?;
    let own = blocks_of(present(message.get(CONTENT)))?;
    let places: HashMap<&str, usize> =
        calls.iter().enumerate().filter_map(|(at, call)| Some((client_id(call)?, at))).collect();
    let mut blocks: Vec<&RawValue> = Vec::with_capacity(own.len() + calls.len());
    let mut next = 0;
    for block in &own {
        let id = Some(block).filter(|block| is_block(block, TOOL_USE)).and_then(|block| id_of(block));
        let place = id.and_then(|id| places.get(id.as_ref()).copied()).filter(|place| *place >= next);
        if let Some(place) = place {
            blocks.extend(calls.get(next..place).unwrap_or_default().iter().filter_map(proxy_block));
            next = place + 1;
        }
        blocks.push(block);
    }
    blocks.extend(calls.get(next..).unwrap_or_default().iter().filter_map(proxy_block));
    message.set(CONTENT, raw(&blocks));
    Some(message.to_raw())
}

fn client_id(call: &KeptCall) -> Option<&str> {
    match call {
        KeptCall::Client(id) => Some(id),
        KeptCall::Proxy(_) => None,
    }
}

fn proxy_block(call: &KeptCall) -> Option<&RawValue> {
    match call {
        KeptCall::Client(_) => None,
        KeptCall::Proxy(block) => Some(block),
    }
}

fn id_of(block: &RawValue) -> Option<Cow<'_, str>> {
    ObjectFields::parse(block.get())?.string("id")
}
