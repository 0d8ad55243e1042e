//! Continuation: keeps the client's view of a conversation and the provider's state in step (Responses with
//! `previous_response_id` or `conversation`).
//!
//! The provider's state has the model's own words. A call that the proxy read from text is not a call there, and a stream
//! that began with one attempt may have ended with the answer of another. [`remember`] stores the difference before the
//! client has the answer, and [`resume`] applies it when the client continues.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::pipeline::kept_key;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{SettledAnswer, Turn, TurnConversation};
use callwright_telemetry::labels::Stage;
use callwright_types::ToolKind;
use callwright_types::rules::Mode;

/// Difference between the client's view and the provider's state.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StateDifference {
    /// The response that the provider knows as the answer.
    ContinueFrom(String),
    /// A call that is text in the provider's state.
    Call(Box<RawValue>),
    /// Whether a call whose form was changed is one of a custom tool in the provider's state.
    IsCustom(bool),
}

/// Kinds of keys under which differences are stored.
const BY_RESPONSE: &str = "response";
const BY_CALL: &str = "call";

/// Applies stored differences to a request that continues a response.
pub(crate) async fn resume(pipeline: &Pipeline, turn: &mut Turn, conversation: &mut TurnConversation) {
    let previous = turn.request.previous_response();
    let results = turn.request.results_without_calls();
    if turn.policy.mode != Mode::Guard || (previous.is_none() && results.is_empty()) {
        return;
    }
    let started = Instant::now();
    let mut keys: BTreeMap<String, (&str, &str)> = BTreeMap::new();
    for (kind, id) in previous.iter().map(|id| (BY_RESPONSE, id)).chain(results.iter().map(|id| (BY_CALL, id))) {
        keys.insert(key(kind, id), (kind, id));
    }
    let wanted: Vec<String> = keys.keys().cloned().collect();
    let rows = pipeline.store.kept_parts(turn.tenant(), &wanted).await;
    let consequence = "cannot read the state of a response: the turn continues without it";
    let Some(rows) = pipeline.stored(rows, Stage::Rejoin, consequence) else { return };
    let (mut calls, mut custom) = (BTreeMap::new(), BTreeMap::new());
    for row in &rows {
        let Some((_, id)) = keys.remove(&row.calls) else { continue };
        match serde_json::from_str(&row.document) {
            Ok(StateDifference::ContinueFrom(response)) => conversation.draft.committed.continue_from(&response),
            Ok(StateDifference::Call(call)) => drop(calls.insert(id.to_owned(), call)),
            Ok(StateDifference::IsCustom(is_custom)) => drop(custom.insert(id.to_owned(), is_custom)),
            Err(_) => {}
        }
    }
    if !calls.is_empty() {
        conversation.draft.committed.put_back_calls(&calls);
    }
    if !custom.is_empty() {
        conversation.draft.committed.set_result_forms(&custom);
    }
    turn.record.trace.rejoined += u32::from(!rows.is_empty());
    pipeline.metrics.overhead.observe(Stage::Rejoin, started.elapsed());
}

/// Stores the difference between the settled answer and the provider's state.
pub(crate) async fn remember(pipeline: &Pipeline, turn: &Turn, settled: &SettledAnswer) {
    if turn.policy.mode != Mode::Guard || !turn.request.is_stored() {
        return;
    }
    let mut differences = Vec::new();
    if let (Some(begun), Some(answered)) = (turn.streamed.stream_id(), settled.completion.id())
        && begun != answered
    {
        differences.push((key(BY_RESPONSE, begun), StateDifference::ContinueFrom(answered.to_owned())));
    }
    if settled.is_rescued
        && let Some(message) = settled.message()
    {
        let calls = message.call_elements().into_iter();
        differences.extend(calls.map(|(id, call)| (key(BY_CALL, &id), StateDifference::Call(call))));
    }
    let is_custom = |kind: ToolKind| StateDifference::IsCustom(kind == ToolKind::Custom);
    differences.extend(settled.reformed.iter().map(|(id, kind)| (key(BY_CALL, id), is_custom(*kind))));
    for (number, (key, difference)) in differences.into_iter().enumerate() {
        // A turn has one row for its kept part; these are in addition to it.
        let id = format!("{}/{number}", turn.record.trace.id);
        let stored = kept_key::keep(pipeline, turn.tenant(), id, key, &difference).await;
        pipeline.stored(
            stored,
            Stage::Keep,
            "cannot store the state of a response: the client may be unable to continue it",
        );
    }
}

fn key(kind: &str, id: &str) -> String {
    kept_key::calls([kind, id])
}
