//! Reinsertion of the parts of a conversation that the client did not receive.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde_json::value::RawValue;

use super::blocks::{CONTENT, TOOL_USE, USER, blocks_of, is_block, message, result_block, user_blocks};
use super::views::{LocatedView, ViewOrigin, elements, located_views};
use crate::KeptPart;
use crate::fields::{ObjectFields, present};
use crate::kept::KeptCall;
use crate::parts::Rejoined;
use crate::request::RequestFields;
use callwright_common::json::{RawObject, raw};
use callwright_types::tool_names::call_id;

/// Returns the conversation with kept parts put back, by position of the assistant's view.
pub(super) fn rejoined(fields: &RequestFields, parts: &BTreeMap<usize, KeptPart>, lost: &str) -> Rejoined {
    let elements = elements(fields);
    let views = located_views(fields, elements.iter().copied());
    let parts: HashMap<ViewOrigin, &KeptPart> =
        views.iter().zip(0..).filter_map(|(located, position)| Some((located.origin, parts.get(&position)?))).collect();
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

/// The new conversation.
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

#[cfg(test)]
mod tests {
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
    fn results_without_a_user_message_get_one_and_a_string_becomes_a_block() {
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
