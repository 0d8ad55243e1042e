//! One upstream request, with its record in the trace.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use tokio::time::timeout;

use crate::pipeline::answer::{ClientGone, ResponseSender};
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{Relay, Turn, TurnConversation, UpstreamReply, milliseconds};
use callwright_common::tokens::BYTES_PER_TOKEN;
use callwright_types::rules::Mode;
use callwright_types::trace::Attempt;
use callwright_types::{Purpose, UpstreamFailure, UpstreamFailureKind, Usage};
use callwright_upstream as upstream;
use callwright_upstream::Again;
use callwright_wire::{
    AnswerError, Assembler, Completion, EventRole, ModelRequest, SseError, SseEvent, SseReader, StreamForm, StreamItem,
    stream_form,
};

use super::flow::{AttemptRequest, flow};
use super::forwarding::malformed;

/// Statuses with which servers refuse an unknown member.
const STREAM_OPTIONS_REFUSED: [StatusCode; 2] = [StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY];

/// Makes one upstream request and records it in the trace. Also returns whether the answer requests a retry.
pub(super) async fn attempt(
    pipeline: &Pipeline,
    turn: &mut Turn,
    conversation: &mut TurnConversation,
    purpose: Purpose,
) -> (UpstreamReply, Option<Again>) {
    let started = Instant::now();
    let mut notes = ExchangeNotes { sent_after: turn.record.elapsed(), ..ExchangeNotes::default() };
    let pending = turn.streamed.begin_attempt();
    if !pending.is_empty() && send_pending(turn, &mut conversation.response_sender, pending).await.is_err() {
        return (UpstreamReply::ClientGone, None);
    }
    let cancelled = turn.cancelled.clone();
    let upstream = turn.upstream.clone();
    let (left, limit) = (turn.total_time_left(), turn.policy.limits.total_seconds);
    let TurnConversation { offering, draft, response_sender, .. } = conversation;
    let chat = draft.request_to(&upstream, &turn.model);
    let request = AttemptRequest { chat: &chat, offer: &offering.offer, purpose };
    let exchange = exchange(pipeline, turn, &request, response_sender, &mut notes);
    let reply = tokio::select! {
        biased;
        () = cancelled.cancelled() => UpstreamReply::ClientGone,
        // Also without a limit: a wrapper for that case would be one more future that is copied with its contents.
        reply = timeout(left.unwrap_or(Duration::MAX), exchange) => {
            reply.unwrap_or_else(|_| UpstreamReply::Relay(Relay::Failure(over(upstream.name(), limit))))
        }
    };
    let again = notes.again;
    note(pipeline, turn, &request, &reply, notes, started.elapsed());
    (reply, again)
}

/// Sends events of the previous attempt that precede the next one.
async fn send_pending(turn: &Turn, response_sender: &mut ResponseSender, pending: Bytes) -> Result<(), ClientGone> {
    response_sender.open(turn.stream_headers())?;
    response_sender.send(pending).await
}

/// Returns the failure for a turn over its total time limit.
fn over(upstream: &str, limit: u64) -> UpstreamFailure {
    let message = format!("the answer was incomplete {limit} s after its request (limits.total_seconds)");
    UpstreamFailure::new(UpstreamFailureKind::Timeout, upstream, message)
}

/// Facts about an exchange besides its result.
#[derive(Debug, Default)]
struct ExchangeNotes {
    /// Time from the request's arrival to the sending.
    sent_after: Duration,
    status: Option<StatusCode>,
    request_id: Option<String>,
    first_chunk: Option<Duration>,
    again: Option<Again>,
}

async fn exchange(
    pipeline: &Pipeline,
    turn: &mut Turn,
    request: &AttemptRequest<'_>,
    response_sender: &mut ResponseSender,
    notes: &mut ExchangeNotes,
) -> UpstreamReply {
    let mut answer = match send(turn, request.chat).await {
        Ok(answer) => answer,
        Err(failure) => return UpstreamReply::Relay(Relay::Failure(failure)),
    };
    notes.status = Some(answer.status);
    notes.request_id = answer.request_id().map(str::to_owned);
    notes.again = turn.upstream.again(answer.status, &answer.headers);
    let is_stream = answer.is_event_stream();
    let mut headers = std::mem::take(&mut answer.headers);
    if answer.status.is_success() && turn.request.is_stream() && is_stream {
        turn.answer_headers = headers;
        // Not boxed: with a box, each open stream would take 2 kB more.
        return flow(pipeline, turn, request, &mut answer, response_sender, &mut notes.first_chunk).await;
    }
    let status = answer.status;
    let whole = whole(pipeline, turn, &mut answer, is_stream).await;
    if is_stream != turn.request.is_stream()
        && turn.policy.mode == Mode::Guard
        && matches!(whole, UpstreamReply::Completion(_))
    {
        let kind = if is_stream { "application/json" } else { "text/event-stream" };
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    // The header fields of an unused answer must not reach the client.
    if request.purpose == Purpose::First || matches!(whole, UpstreamReply::Completion(_)) {
        turn.answer_headers = headers;
        turn.answer_status = status;
    }
    whole
}

/// Sends the request. Requests usage in a stream even if the client does not, because a stream without usage would be
/// free of charge. If an upstream rejects `stream_options`, later requests omit it.
async fn send(turn: &mut Turn, request: &ModelRequest) -> Result<upstream::Answer, UpstreamFailure> {
    let requests_usage = turn.policy.mode == Mode::Guard
        && request.is_stream()
        && !request.requests_usage_chunk()
        && turn.upstream.requests_stream_usage();
    turn.streamed.requested_usage = requests_usage;
    if !requests_usage {
        return post(turn, request.to_bytes()).await;
    }
    let with_usage = request.with_usage_chunk().to_bytes();
    let answer = post(turn, with_usage).await?;
    if !STREAM_OPTIONS_REFUSED.contains(&answer.status) {
        return Ok(answer);
    }
    // A retry without the member shows whether the upstream refuses the member or the request.
    let again = post(turn, request.to_bytes()).await?;
    if again.status.is_success() {
        turn.upstream.refused_stream_usage();
    }
    turn.streamed.requested_usage = false;
    Ok(again)
}

/// Sends a body to the turn's endpoint of the current upstream.
async fn post(turn: &Turn, body: Bytes) -> Result<upstream::Answer, UpstreamFailure> {
    let headers = turn.headers_of_attempt();
    turn.upstream.answer_once(turn.request.protocol(), turn.query.as_deref(), body, &headers).await
}

async fn whole(pipeline: &Pipeline, turn: &mut Turn, answer: &mut upstream::Answer, is_stream: bool) -> UpstreamReply {
    let status = answer.status;
    let body = match answer.whole().await {
        Ok(body) => body,
        Err(failure) => return UpstreamReply::Relay(Relay::Failure(failure)),
    };
    if turn.memory.hold(body.len(), &pipeline.answer_memory).is_err() {
        return UpstreamReply::Relay(Relay::MemoryFull);
    }
    if !status.is_success() || turn.policy.mode == Mode::Off {
        return UpstreamReply::Relay(Relay::Answer { status, body });
    }
    // Some servers stream although the request does not enable a stream.
    let read = if is_stream { assemble(turn, body) } else { Completion::parse(turn.request.protocol(), body) };
    match read {
        Ok(completion) => UpstreamReply::Completion(completion),
        Err(error) => UpstreamReply::Relay(Relay::Failure(malformed(turn, error.message))),
    }
}

fn assemble(turn: &Turn, body: Bytes) -> Result<Completion, AnswerError> {
    let mut reader = SseReader::new(turn.upstream.max_event_bytes());
    let mut events = reader.push(body).map_err(unreadable)?;
    events.extend(reader.finish().map_err(unreadable)?);
    match stream_form(turn.request.protocol(), usize::MAX) {
        Some(form) => assemble_events(form, &events),
        // The whole body is in memory, so that its content needs no limit.
        None => assemble_chunks(Assembler::new(usize::MAX).with_snapshots(), &events),
    }
}

fn assemble_chunks(mut assembler: Assembler, events: &[SseEvent]) -> Result<Completion, AnswerError> {
    let mut doubtful: Vec<&SseEvent> = Vec::new();
    let mut is_done = false;
    for event in events {
        let mut item = assembler.take(event)?;
        if matches!(item, StreamItem::Settled) {
            doubtful.drain(..).try_for_each(|event| assembler.take(event).map(drop))?;
            item = assembler.take(event)?;
        }
        match item {
            StreamItem::Error => return Err(error_in_stream()),
            StreamItem::Done => {
                is_done = true;
                break;
            }
            StreamItem::Repetition => doubtful.push(event),
            StreamItem::Chunk(_) | StreamItem::Other | StreamItem::Settled => {}
        }
    }
    if assembler.settle() {
        doubtful.drain(..).try_for_each(|event| assembler.take(event).map(drop))?;
    }
    let is_unfinished = assembler.unfinished().next().is_some();
    if !(assembler.is_finished() || is_done && is_unfinished) {
        return Err(unfinished());
    }
    let mut completion = assembler.into_completion();
    if is_unfinished {
        for choice in completion.choices_mut() {
            choice.derive_finish_reason();
        }
    }
    Ok(completion)
}

fn assemble_events(mut form: Box<dyn StreamForm>, events: &[SseEvent]) -> Result<Completion, AnswerError> {
    for event in events {
        if form.take(event)? == EventRole::Error {
            return Err(error_in_stream());
        }
    }
    if form.is_finished() { Ok(form.into_completion()) } else { Err(unfinished()) }
}

fn error_in_stream() -> AnswerError {
    AnswerError { message: "the upstream sent an error inside its stream".to_owned() }
}

fn unfinished() -> AnswerError {
    AnswerError { message: "the stream ended before its answer was finished".to_owned() }
}

fn unreadable(error: SseError) -> AnswerError {
    AnswerError { message: error.to_string() }
}

fn note(
    pipeline: &Pipeline,
    turn: &mut Turn,
    request: &AttemptRequest<'_>,
    reply: &UpstreamReply,
    notes: ExchangeNotes,
    took: Duration,
) {
    let outcome = match reply {
        UpstreamReply::Completion(_) => "success",
        UpstreamReply::Relay(Relay::Answer { status, .. }) if status.is_success() => "success",
        UpstreamReply::Relay(Relay::Answer { .. } | Relay::ErrorEvent(_)) => "http_error",
        UpstreamReply::Relay(Relay::Failure(failure)) => failure.kind.label(),
        UpstreamReply::Relay(Relay::MemoryFull) | UpstreamReply::ClientGone => "cancelled",
    };
    if matches!(reply, UpstreamReply::Relay(Relay::MemoryFull)) {
        pipeline.metrics.answers_refused.inc();
    }
    let is_unfinished = |usage: &Usage| turn.request.is_background() && usage.total_tokens == 0;
    let reported = match reply {
        UpstreamReply::Completion(completion) => completion.usage(),
        // In mode `off` an answer is not validated, but its tokens count.
        UpstreamReply::Relay(Relay::Answer { status, body }) if status.is_success() => {
            Completion::parse(turn.request.protocol(), body.clone()).ok().and_then(|completion| completion.usage())
        }
        _ => None,
    };
    let reported = reported.filter(|usage| !is_unfinished(usage));
    // An answer that the client abandons is charged up to that point.
    let is_served =
        notes.status.is_some_and(|status| status.is_success()) || matches!(reply, UpstreamReply::ClientGone);
    let estimate = (turn.request_permit.is_some() && is_served && reported.is_none())
        .then(|| estimate(pipeline, turn, request.chat, reply));
    let usage = reported.unwrap_or_default();
    if let Some(first_chunk) = notes.first_chunk {
        pipeline.metrics.time_to_first_chunk.observe(first_chunk.as_secs_f64());
    }
    let attempt = Attempt {
        model: turn.model.clone(),
        estimate,
        status: notes.status.map(|status| status.as_u16()),
        request_id: notes.request_id,
        started_ms: milliseconds(notes.sent_after),
        first_chunk_ms: notes.first_chunk.map(milliseconds),
        ..Attempt::unjudged(request.purpose, turn.upstream.name(), outcome, usage, milliseconds(took))
    };
    turn.record.attempt(attempt, took);
}

/// Estimates the usage of an attempt without reported tokens: the upstream does not report them, they were not
/// requested for a stream, or the stream was aborted. Without the estimate, such requests would bypass the limits.
///
/// A response in the background goes on without the turn: it may use all that was reserved for it.
fn estimate(pipeline: &Pipeline, turn: &Turn, request: &ModelRequest, reply: &UpstreamReply) -> Usage {
    let prompt_tokens = tokens(request.to_bytes().len());
    let completion_tokens = match reply {
        _ if turn.request.is_background() => {
            request.max_answer_tokens().unwrap_or_else(|| pipeline.access.reserved_answer_tokens())
        }
        UpstreamReply::Completion(completion) if !turn.streamed.passed_on => tokens(completion.to_bytes().len()),
        UpstreamReply::Relay(Relay::Answer { body, .. }) => tokens(body.len()),
        // Models send a chunk for each token, or for a few tokens.
        _ => turn.streamed.chunks,
    };
    Usage { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens, cached_tokens: 0 }
}

fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}
