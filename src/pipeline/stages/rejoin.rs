//! Rejoin: restores the proxy's parts of earlier answers in the client's conversation.
//!
//! A client has only its own calls ([`keep`](super::keep) stores the others). An answer is recognised by the ids of its
//! calls in one message, by the owner of the conversation, and by the messages since the last user message. An answer
//! that is not recognised, because it was edited or has expired, stays unchanged.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::pipeline::kept_key::{self, MessageHashes};
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{Turn, TurnConversation};
use callwright_judge::feedback;
use callwright_store::KeptRow;
use callwright_telemetry::labels::Stage;
use callwright_types::rules::Mode;
use callwright_wire::{KeptPart, MessageView, ModelRequest};

/// Restores the proxy's parts of earlier answers in the request.
pub(crate) async fn rejoin(pipeline: &Pipeline, turn: &mut Turn, conversation: &mut TurnConversation) {
    let has_tools = turn.tooling.catalog.toolsets().next().is_some();
    if turn.policy.mode != Mode::Guard || !has_tools || !turn.request.may_have_calls() {
        return;
    }
    let answers = answers(&turn.request);
    if answers.is_empty() {
        return;
    }
    let started = Instant::now();
    let tenant = turn.tenant().to_owned();
    let calls: Vec<String> = answers.values().cloned().collect();
    let rows = pipeline.store.kept_parts(&tenant, &calls).await;
    let consequence = "cannot read the proxy's part of a conversation: the turn continues without it";
    let Some(rows) = pipeline.stored(rows, Stage::Rejoin, consequence) else { return };
    let parts = matching(&turn.request, &answers, &rows);
    if !parts.is_empty() {
        turn.record.trace.rejoined = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        conversation.draft.committed.rejoin(&parts, &feedback::lost_result());
    }
    pipeline.metrics.overhead.observe(Stage::Rejoin, started.elapsed());
}

/// Returns the messages with calls by index, with the hash of their call ids.
fn answers(request: &ModelRequest) -> BTreeMap<usize, String> {
    let messages = request.messages().into_iter().enumerate();
    let calling = messages
        .filter(|(_, message)| !message.calls.is_empty() && message.calls.iter().all(|call| !call.id.is_empty()));
    calling.map(|(place, message)| (place, ids(&message))).collect()
}

fn ids(message: &MessageView<'_>) -> String {
    kept_key::calls(message.calls.iter().map(|call| call.id.as_str()))
}

/// Returns the parts that belong to messages, by message index.
fn matching(request: &ModelRequest, answers: &BTreeMap<usize, String>, rows: &[KeptRow]) -> BTreeMap<usize, KeptPart> {
    let mut parts = BTreeMap::new();
    if rows.is_empty() {
        return parts;
    }
    let mut hashes = MessageHashes::nothing();
    for (place, message) in request.messages().iter().enumerate() {
        let found = answers.get(&place).and_then(|calls| chosen(calls, &hashes, rows));
        if let Some(part) = found.and_then(|row| serde_json::from_str(&row.document).ok()) {
            parts.insert(place, part);
        }
        hashes.add(message);
    }
    parts
}

/// Returns the part stored for the answer with these calls at this point of the conversation. If several match, the
/// whole history must match.
fn chosen<'a>(calls: &str, hashes: &MessageHashes, rows: &'a [KeptRow]) -> Option<&'a KeptRow> {
    let mut candidates = rows.iter().filter(|row| row.calls == calls).peekable();
    candidates.peek()?;
    let context = hashes.context();
    let mut alike = candidates.filter(|row| row.context == context).peekable();
    let first = alike.next()?;
    if alike.peek().is_none() {
        return Some(first);
    }
    let history = hashes.history();
    std::iter::once(first).chain(alike).find(|row| row.history == history)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::json;

    use super::*;

    fn conversation(greeting: &str, request: &str) -> ModelRequest {
        let call = json!({"id": "call_0", "type": "function", "function": {"name": "f", "arguments": "{}"}});
        let messages = json!([
            {"role": "user", "content": greeting},
            {"role": "user", "content": request},
            {"role": "assistant", "content": null, "tool_calls": [call]},
        ]);
        ModelRequest::parse(callwright_types::Protocol::Chat, Bytes::from(json!({"messages": messages}).to_string()))
            .unwrap()
    }

    /// Creates the row that was stored when the request lacked its last message.
    fn row(turn: &str, request: &ModelRequest) -> KeptRow {
        let messages = request.messages();
        let (last, before) = messages.split_last().unwrap();
        let mut hashes = MessageHashes::nothing();
        before.iter().for_each(|message| hashes.add(message));
        let document = json!({"before": [], "calls": [{"client": turn}], "results": {}}).to_string();
        let owned = String::new();
        KeptRow {
            turn: turn.to_owned(),
            tenant: owned,
            calls: ids(last),
            context: hashes.context(),
            history: hashes.history(),
            document,
        }
    }

    /// Returns the turns whose parts are restored, by message index.
    fn found(request: &ModelRequest, rows: &[KeptRow]) -> Vec<(usize, String)> {
        let parts = matching(request, &answers(request), rows);
        let turn = |part: &KeptPart| {
            let value = serde_json::to_value(part).unwrap();
            value["calls"][0]["client"].as_str().unwrap().to_owned()
        };
        parts.iter().map(|(place, part)| (*place, turn(part))).collect()
    }

    #[test]
    fn the_same_ids_after_another_request_are_another_answer() {
        let (ulm, bonn) = (conversation("Hi", "Ulm?"), conversation("Hi", "Bonn?"));
        let rows = [row("2", &bonn), row("1", &ulm)];
        assert_eq!(found(&ulm, &rows), [(2, "1".to_owned())]);
        assert_eq!(found(&bonn, &rows), [(2, "2".to_owned())]);
        assert!(found(&conversation("Hi", "Rome?"), &rows).is_empty());
    }

    #[test]
    fn an_edited_beginning_is_harmless_for_an_unambiguous_answer() {
        let row = row("1", &conversation("Hi", "Ulm?"));
        assert_eq!(found(&conversation("[summary]", "Ulm?"), std::slice::from_ref(&row)).len(), 1);
    }

    #[test]
    fn ambiguous_answers_need_the_whole_conversation_or_stay_out() {
        let rows = [row("2", &conversation("Hello", "Ulm?")), row("1", &conversation("Hi", "Ulm?"))];
        assert_eq!(found(&conversation("Hi", "Ulm?"), &rows), [(2, "1".to_owned())]);
        assert_eq!(found(&conversation("Hello", "Ulm?"), &rows), [(2, "2".to_owned())]);
        assert!(found(&conversation("[summary]", "Ulm?"), &rows).is_empty());
    }
}
