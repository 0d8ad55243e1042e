//! Serialisation of an answer: as one body, or as well-formed events.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::BytesMut;
use http::StatusCode;
use serde_json::{Value, json};

use crate::pipeline::answer::{AnswerBody, ClientGone, ResponseSender, TurnAnswer};
use crate::pipeline::state::{SettledAnswer, Turn};
use callwright_common::json::RawObject;
use callwright_types::rules::{Mode, UsageReport};
use callwright_types::trace::Attempt;
use callwright_types::{Trace, ids};
use callwright_wire::{Choice, Chunk, Completion, StreamHead, emit};

/// Writes the settled answer: as one body, or as the remaining events of a stream.
pub(crate) async fn write(
    turn: &mut Turn,
    response_sender: &mut ResponseSender,
    settled: SettledAnswer,
) -> Result<(), ClientGone> {
    let SettledAnswer { mut completion, changed, unsent, .. } = settled;
    turn.record.trace.status = StatusCode::OK.as_u16();
    // Of an answer that was passed on, only a part is known.
    if turn.record.keep_bodies && !turn.streamed.passed_on {
        turn.record.trace.answer = Some(completion.to_value());
    }
    let sum = turn.policy.usage == UsageReport::Sum && turn.record.trace.attempts.len() > 1;
    if sum {
        completion.set_usage(turn.record.trace.usage);
    }
    // Outside of `guard`, a non-streamed upstream answer is forwarded unchanged.
    let is_changed = turn.policy.mode == Mode::Guard || turn.streamed.is_begun();
    if turn.request.is_stream() && is_changed && turn.streamed.events.is_some() {
        return ordered_events(turn, response_sender, completion, changed || sum).await;
    }
    if turn.request.is_stream() && is_changed {
        return stream(turn, response_sender, &completion, changed || sum, &unsent).await;
    }
    if turn.debug {
        completion.set_debug(&debug(turn));
    }
    let headers = turn.answer_headers();
    let body = AnswerBody::Whole(turn.memory.keep(completion.to_bytes()));
    response_sender.whole(TurnAnswer { status: turn.answer_status, headers, body });
    Ok(())
}

/// Writes the remaining events of a protocol with ordered events.
async fn ordered_events(
    turn: &mut Turn,
    response_sender: &mut ResponseSender,
    mut completion: Completion,
    changed: bool,
) -> Result<(), ClientGone> {
    if turn.streamed.delivered {
        return Ok(());
    }
    if turn.debug {
        completion.set_debug(&debug(turn));
    }
    response_sender.open(turn.stream_headers())?;
    let mut out = BytesMut::new();
    if let Some(progress) = &mut turn.streamed.events {
        progress.finish(&completion, changed || turn.debug, &mut out);
    }
    response_sender.send(out.freeze()).await
}

async fn stream(
    turn: &mut Turn,
    response_sender: &mut ResponseSender,
    completion: &Completion,
    changed: bool,
    unsent: &BTreeMap<u32, String>,
) -> Result<(), ClientGone> {
    if turn.streamed.delivered {
        return Ok(());
    }
    let mut out = std::mem::take(&mut turn.streamed.pending);
    let opened = response_sender.is_open() || !out.is_empty();
    response_sender.open(turn.stream_headers())?;
    let only_held = turn.streamed.verbatim && turn.streamed.unsent.is_empty() && turn.streamed.head.is_some();
    if only_held && !changed {
        let texts = completion.choices().iter().filter_map(|choice| turn.streamed.texts.get(&choice.index));
        texts.flat_map(|text| &text.held).for_each(|held| held.write_original(&mut out));
        turn.streamed.held.iter().for_each(|event| out.extend_from_slice(event));
    } else {
        compose(turn, completion, unsent, opened, &mut out);
    }
    if turn.debug {
        let head = head(turn, completion);
        out.extend_from_slice(&emit::debug(&head, &debug(turn)));
    }
    out.extend_from_slice(emit::DONE);
    response_sender.send(out.freeze()).await
}

/// Writes the part that the client does not have yet as well-formed events.
fn compose(turn: &Turn, completion: &Completion, unsent: &BTreeMap<u32, String>, opened: bool, out: &mut BytesMut) {
    let head = head(turn, completion);
    for choice in completion.choices() {
        compose_choice(turn, choice, unsent.get(&choice.index), &head, opened, out);
        out.extend_from_slice(&emit::finish(&head, choice.index, choice.derived_finish_reason()));
    }
    if (turn.request.requests_usage_chunk() || turn.streamed.has_usage_chunk)
        && let Some(usage) = completion.usage()
    {
        out.extend_from_slice(&emit::usage(&head, usage));
    }
}

/// Writes the part of an answer in progress that the client does not have yet. `opened` is whether the client has a role.
pub(crate) fn compose_begun(turn: &Turn, completion: &Completion, opened: bool, out: &mut BytesMut) {
    let head = head(turn, completion);
    for choice in completion.choices() {
        compose_choice(turn, choice, None, &head, opened, out);
    }
}

/// Writes the part of a choice that the client does not have yet, without the finish reason. `left` is the remaining text
/// of a choice of whose text a part was removed.
fn compose_choice(
    turn: &Turn,
    choice: &Choice,
    left: Option<&String>,
    head: &StreamHead,
    opened: bool,
    out: &mut BytesMut,
) {
    if !opened {
        out.extend_from_slice(&emit::role(head, choice.index));
    }
    // A non-streamed upstream answer needs all members of the message, and so does a stream of which no chunk is kept;
    // otherwise only those held until the attempt was accepted.
    let has_no_chunks = turn.streamed.head.is_none() || turn.streamed.is_composed;
    let members = if has_no_chunks {
        choice.message.other_members()
    } else if is_complete(turn, choice.index) {
        RawObject::default()
    } else {
        choice.message.opaque_members()
    };
    let members = emit::members(head, choice.index, &members);
    members.into_iter().for_each(|event| out.extend_from_slice(&event));
    compose_text(turn, choice, left, head, out);
    for event in emit::message_calls(head, choice.index, &choice.message) {
        out.extend_from_slice(&event);
    }
}

/// Whether the chunks of a later attempt are written unchanged.
fn is_complete(turn: &Turn, index: u32) -> bool {
    turn.streamed.sent(index).is_empty() && !turn.streamed.unsent.is_empty()
}

/// Writes the unsent text: the held text, or the whole text of a later attempt without a prefix that the client has.
/// `left` is the remaining unsent text of a choice of whose text a part was removed.
fn compose_text(turn: &Turn, choice: &Choice, left: Option<&String>, head: &StreamHead, out: &mut BytesMut) {
    let text = choice.message.text().unwrap_or_default();
    let sent = turn.streamed.sent(choice.index);
    if is_complete(turn, choice.index) {
        // Nothing is sent yet: write the original chunks, including unknown fields (reasoning).
        let texts = turn.streamed.unsent.iter().filter_map(Chunk::without_calls_and_finish);
        let texts = texts.filter_map(|chunk| if left.is_some() { chunk.without_text() } else { Some(chunk) });
        for mut chunk in texts.filter_map(|chunk| chunk.without_role()) {
            chunk.set_head(head);
            out.extend_from_slice(&chunk.to_event());
        }
    } else if left.is_none() && turn.streamed.holds(choice.index) {
        return write_held_text(turn, choice, out);
    } else if left.is_none() {
        match text.strip_prefix(sent) {
            Some("") => {}
            Some(rest) => out.extend_from_slice(&emit::text(head, choice.index, rest)),
            None => out.extend_from_slice(&emit::text(head, choice.index, &apart(sent, &text))),
        }
    }
    if let Some(left) = left.filter(|left| !left.is_empty()) {
        let goes_on = text.starts_with(sent);
        let left = if goes_on { Cow::Borrowed(left.as_str()) } else { apart(sent, left) };
        out.extend_from_slice(&emit::text(head, choice.index, &left));
    }
}

/// Separates a text from the text of an earlier attempt with an empty line.
fn apart<'a>(sent: &str, text: &'a str) -> Cow<'a, str> {
    let is_apart = sent.trim().is_empty() || text.trim().is_empty() || sent.ends_with("\n\n");
    if is_apart { Cow::Borrowed(text) } else { Cow::Owned(format!("\n\n{text}")) }
}

fn write_held_text(turn: &Turn, choice: &Choice, out: &mut BytesMut) {
    let held = turn.streamed.texts.get(&choice.index).map(|text| &text.held);
    held.into_iter().flatten().for_each(|held| held.write(out));
}

fn head(turn: &Turn, completion: &Completion) -> StreamHead {
    turn.streamed.head.clone().unwrap_or_else(|| StreamHead {
        id: completion.id().map_or_else(ids::completion_id, str::to_owned),
        model: completion.model().unwrap_or(&turn.record.trace.model).to_owned(),
        created: turn.record.trace.started_at.as_second(),
        extra: RawObject::default(),
    })
}

/// Returns the debug object for `x-callwright-debug`.
fn debug(turn: &Turn) -> Value {
    let trace = &turn.record.trace;
    json!({
        "trace": trace.id,
        "policy": trace.policy,
        "mode": trace.mode,
        "verdict": trace.verdict,
        "outcome": trace.outcome,
        "actions": trace.actions,
        "unjudged": trace.unjudged,
        "shadow_verdict": trace.shadow_verdict,
        "tools_offered": trace.tools_offered,
        "offer": trace.offer,
        "attempts": trace.attempts.len(),
        "diagnoses": of_attempts(trace, |attempt| json!(attempt.diagnoses)),
        "advice": of_attempts(trace, |attempt| json!(attempt.advice)),
        "repairs": of_attempts(trace, |attempt| json!(attempt.repairs)),
        "executions": trace.executions.iter().map(|execution| json!({
            "call": execution.call,
            "operation": execution.operation,
            "outcome": execution.outcome,
            "reason": execution.reason,
            "remedy": execution.remedy,
            "status": execution.status,
            "explanation": execution.explanation,
        })).collect::<Vec<_>>(),
        "observed": trace.observed,
        "plan": trace.plan,
        "record": trace.record,
        "exhausted": trace.exhausted,
        "usage": trace.usage,
    })
}

/// Collects items of all attempts, each with the attempt's number (from 1).
fn of_attempts(trace: &Trace, what: impl Fn(&Attempt) -> Value) -> Vec<Value> {
    let numbered = trace.attempts.iter().enumerate().flat_map(|(number, attempt)| {
        let Value::Array(items) = what(attempt) else { return Vec::new() };
        items
            .into_iter()
            .map(|mut item| {
                item["attempt"] = json!(number + 1);
                item
            })
            .collect()
    });
    numbered.collect()
}
