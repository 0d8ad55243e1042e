//! Retract: reasoning that the client has of an answer that was not accepted.
//!
//! Reasoning flows to the client while it arrives, before it is known whether the call behind it is accepted. Providers
//! refuse a conversation with reasoning that is changed or lacks the part that it led to. [`retract`] therefore stores the
//! identity of such reasoning before the model is queried again, and [`remove`] takes it out when the client returns with
//! it. The identity is turn state, so that every replica recognises it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::pipeline::cpu::CpuWork;
use crate::pipeline::kept_key;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{EventProgress, SettledAnswer, Turn};
use callwright_store::KeptRow;
use callwright_telemetry::labels::Stage;
use callwright_types::Protocol;
use callwright_wire::{ModelRequest, ReasoningPart};

/// Kind of the keys under which reasoning is stored.
const KEY: &str = "reasoning";

/// Maximum number of parts of one turn that are stored. Models write one to three before a call.
const MAX_PARTS: usize = 64;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredReasoning {
    /// The part is to be removed from conversations.
    Retracted {
        /// Name of the part, which all its rows share.
        name: String,
        part: ReasoningPart,
    },
    /// The answer with the part was accepted after all.
    Accepted,
}

/// Removes the reasoning of answers that were not accepted from the client's request.
pub(crate) async fn remove(pipeline: &Pipeline, turn: &mut Turn) {
    // Chat completions have no reasoning that a provider verifies.
    if turn.request.protocol() == Protocol::Chat {
        return;
    }
    let tenant = turn.tenant().to_owned();
    remove_from(pipeline, &tenant, &mut turn.request).await;
}

/// Removes the reasoning of answers that were not accepted from a request of this tenant.
pub(crate) async fn remove_from(pipeline: &Pipeline, tenant: &str, request: &mut ModelRequest) {
    let started = Instant::now();
    let bytes = request.size();
    let parts = pipeline.cpu.run(tenant, CpuWork::Body, bytes, || request.reasoning()).await;
    let keys: BTreeSet<String> = parts.iter().flat_map(ReasoningPart::keys).map(key).collect();
    if keys.is_empty() {
        return;
    }
    let keys: Vec<String> = keys.into_iter().collect();
    let rows = pipeline.store.kept_parts(tenant, &keys).await;
    let consequence = "cannot read which reasoning was not accepted: the turn continues with all of it";
    let Some(rows) = pipeline.stored(rows, Stage::Rejoin, consequence) else { return };
    let positions = retracted_positions(&parts, &rows);
    if !positions.is_empty() {
        let edit = || request.remove_reasoning(&positions);
        pipeline.cpu.run(tenant, CpuWork::Body, bytes, edit).await;
    }
    pipeline.metrics.overhead.observe(Stage::Rejoin, started.elapsed());
}

/// Returns the positions of the parts that are to be removed. Each stored part removes one part of the conversation, the
/// first one that is the same: without signatures, a later accepted answer may have the same text.
fn retracted_positions(parts: &[ReasoningPart], rows: &[KeptRow]) -> BTreeSet<usize> {
    let mut stored: BTreeMap<String, ReasoningPart> = BTreeMap::new();
    for row in rows {
        if let Ok(StoredReasoning::Retracted { name, part }) = serde_json::from_str(&row.document) {
            stored.insert(name, part);
        }
    }
    let mut positions = BTreeSet::new();
    for (position, part) in parts.iter().enumerate() {
        let name = stored.iter().find(|(_, stored)| stored.is_same(part)).map(|(name, _)| name.clone());
        if name.is_some_and(|name| stored.remove(&name).is_some()) {
            positions.insert(position);
        }
    }
    positions
}

/// Stores the reasoning that the client has of the last answer, because the model is queried again.
pub(crate) async fn retract(pipeline: &Pipeline, turn: &mut Turn) {
    let trailing = turn.streamed.events.as_ref().and_then(EventProgress::trailing_reasoning);
    let Some((attempt, parts)) = trailing else { return };
    let retracted = &turn.streamed.retracted;
    if retracted.iter().any(|(known, _)| *known == attempt) {
        return;
    }
    let number = retracted.len();
    let parts = parts.into_iter().take(MAX_PARTS.saturating_sub(number)).map(|part| (attempt, part));
    turn.streamed.retracted.extend(parts);
    for (number, (_, part)) in turn.streamed.retracted.iter().enumerate().skip(number) {
        commit(pipeline, turn, number, part, true).await;
    }
}

/// Stores the reasoning of which the client gets no call: of an answer after the settled one, and of calls that policy
/// withholds. Accepts that of the settled one, which was stored if a later request failed.
pub(crate) async fn settle(pipeline: &Pipeline, turn: &mut Turn, settled: &SettledAnswer) {
    let Some(progress) = &turn.streamed.events else { return };
    let attempt = progress.attempt();
    if progress.trailing_reasoning().is_some_and(|(last, _)| last != attempt) {
        retract(pipeline, turn).await;
    }
    let retracted = &turn.streamed.retracted;
    for (number, (of, part)) in retracted.iter().enumerate() {
        if *of == attempt {
            commit(pipeline, turn, number, part, false).await;
        }
    }
    if turn.record.trace.actions.withheld
        && let Some(message) = settled.message()
    {
        let further = MAX_PARTS.saturating_sub(retracted.len());
        for (number, part) in (retracted.len()..).zip(message.trailing_reasoning().iter().take(further)) {
            commit(pipeline, turn, number, part, true).await;
        }
    }
}

/// Commits whether a part of the turn is retracted or accepted.
async fn commit(pipeline: &Pipeline, turn: &Turn, number: usize, part: &ReasoningPart, is_retracted: bool) {
    let started = Instant::now();
    let name = format!("{}/{KEY}/{number}", turn.record.trace.id);
    for [kind, value] in part.keys() {
        let stored = match is_retracted {
            true => StoredReasoning::Retracted { name: name.clone(), part: part.clone() },
            false => StoredReasoning::Accepted,
        };
        let id = format!("{name}/{kind}");
        let committed = kept_key::keep(pipeline, turn.tenant(), id, key([kind, value]), &stored).await;
        let consequence = "cannot store which reasoning was not accepted: the provider may refuse it later";
        pipeline.stored(committed, Stage::Keep, consequence);
    }
    pipeline.metrics.overhead.observe(Stage::Keep, started.elapsed());
}

fn key([kind, value]: [&str; 2]) -> String {
    kept_key::calls([KEY, kind, value])
}
