//! Ask: sends an upstream request and returns the answer, assembled from the stream if it is one.

mod flow;
mod texts;
mod tries;

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use tokio::time::timeout;

use crate::pipeline::Pipeline;
use crate::pipeline::answer::ResponseSender;
use crate::pipeline::dialogue::RequestPurpose;
use crate::pipeline::record::milliseconds;
use crate::pipeline::turn::Turn;
use callwright_common::tokens::BYTES_PER_TOKEN;
use callwright_openai::{AnswerError, Assembler, ChatRequest, Completion, SseError, SseReader, StreamItem};
use callwright_types::rules::Mode;
use callwright_types::trace::Attempt;
use callwright_types::{UpstreamFailure, UpstreamFailureKind, Usage};
use callwright_upstream as upstream;
use callwright_upstream::Again;

use super::compose::ChatDraft;
use super::offer::Offer;

pub(crate) use flow::StreamProgress;
pub(crate) use tries::ask;

/// Statuses with which servers refuse an unknown member.
const STREAM_OPTIONS_REFUSED: [StatusCode; 2] = [StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY];

/// Result of an upstream request.
#[derive(Debug)]
pub(crate) enum UpstreamReply {
    /// An answer to validate.
    Completion(Completion),
    /// An answer or error to forward unchanged.
    Relay(Relay),
    /// The client disconnected; the upstream request was cancelled.
    ClientGone,
}

/// Data to forward to the client unchanged if no earlier answer is useful.
#[derive(Debug)]
pub(crate) enum Relay {
    /// An answer that the proxy does not validate: an HTTP error, or any answer in mode `off`.
    Answer {
        /// Status of the upstream.
        status: StatusCode,
        /// Body of the upstream.
        body: Bytes,
    },
    /// An error event inside the upstream's stream, unchanged.
    ErrorEvent(Bytes),
    /// The upstream gave no usable answer.
    Failure(UpstreamFailure),
}

/// Makes one upstream request and records it in the trace. Also returns whether the answer requests a retry.
async fn attempt(
    pipeline: &Pipeline,
    turn: &mut Turn,
    (offer, draft): (&Offer, &ChatDraft),
    response_sender: &mut ResponseSender,
    purpose: RequestPurpose,
) -> (UpstreamReply, Option<Again>) {
    let started = Instant::now();
    let mut notes = ExchangeNotes { sent_after: turn.record.elapsed(), ..ExchangeNotes::default() };
    turn.streamed.begin_attempt();
    let cancelled = turn.cancelled.clone();
    let upstream = turn.upstream.clone();
    let (left, limit) = (turn.total_time_left(), turn.policy.limits.total_seconds);
    let request = draft.request_to(&turn.model);
    let exchange = exchange(pipeline, turn, (offer, &request), response_sender, &mut notes, purpose);
    let asked = tokio::select! {
        biased;
        () = cancelled.cancelled() => UpstreamReply::ClientGone,
        asked = timeout(left, exchange) => {
            asked.unwrap_or_else(|_| UpstreamReply::Relay(Relay::Failure(over(upstream.name(), limit))))
        }
    };
    let again = notes.again;
    note(pipeline, turn, purpose, (&request, &asked), notes, started.elapsed());
    (asked, again)
}

/// Returns the failure for a turn over its total time limit.
fn over(upstream: &str, limit: u64) -> UpstreamFailure {
    UpstreamFailure {
        kind: UpstreamFailureKind::Timeout,
        upstream: upstream.to_owned(),
        message: format!("the answer was incomplete {limit} s after its request (limits.total_seconds)"),
        retry_after: None,
    }
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
    (offer, request): (&Offer, &ChatRequest),
    response_sender: &mut ResponseSender,
    notes: &mut ExchangeNotes,
    purpose: RequestPurpose,
) -> UpstreamReply {
    let mut answer = match send(turn, request).await {
        Ok(answer) => answer,
        Err(asked) => return asked,
    };
    notes.status = Some(answer.status);
    notes.request_id = answer.request_id().map(str::to_owned);
    notes.again = turn.upstream.again(answer.status, &answer.headers);
    let is_stream = answer.is_event_stream();
    let mut headers = std::mem::take(&mut answer.headers);
    if answer.status.is_success() && turn.request.is_stream() && is_stream {
        turn.answer_headers = headers;
        return flow::flow(pipeline, turn, (offer, request), answer, response_sender, notes, purpose).await;
    }
    let status = answer.status;
    let whole = whole(turn, answer, is_stream).await;
    if is_stream != turn.request.is_stream()
        && turn.policy.mode == Mode::Guard
        && matches!(whole, UpstreamReply::Completion(_))
    {
        let kind = if is_stream { "application/json" } else { "text/event-stream" };
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    // The header fields of an unused answer must not reach the client.
    if purpose == RequestPurpose::First || matches!(whole, UpstreamReply::Completion(_)) {
        turn.answer_headers = headers;
        turn.answer_status = status;
    }
    whole
}

/// Sends the request. Requests usage in a stream even if the client does not, because a stream without usage would be
/// free of charge. If an upstream rejects `stream_options`, later requests omit it.
async fn send(turn: &mut Turn, request: &ChatRequest) -> Result<upstream::Answer, UpstreamReply> {
    let asks = turn.policy.mode == Mode::Guard
        && request.is_stream()
        && !request.wants_usage_chunk()
        && turn.upstream.asks_stream_usage();
    turn.streamed.asked_usage = asks;
    let chat = async |body| {
        let answered = turn.upstream.chat_once(body, &turn.headers_of_attempt()).await;
        answered.map_err(|failure| UpstreamReply::Relay(Relay::Failure(failure)))
    };
    if !asks {
        return chat(request.to_bytes()).await;
    }
    let answer = chat(request.with_usage_chunk().to_bytes()).await?;
    if !STREAM_OPTIONS_REFUSED.contains(&answer.status) {
        return Ok(answer);
    }
    // A retry without the member shows whether the upstream refuses the member or the request.
    let again = chat(request.to_bytes()).await?;
    if again.status.is_success() {
        turn.upstream.refused_stream_usage();
    }
    turn.streamed.asked_usage = false;
    Ok(again)
}

async fn whole(turn: &Turn, answer: upstream::Answer, is_stream: bool) -> UpstreamReply {
    let status = answer.status;
    let body = match answer.whole().await {
        Ok(body) => body,
        Err(failure) => return UpstreamReply::Relay(Relay::Failure(failure)),
    };
    if !status.is_success() || turn.policy.mode == Mode::Off {
        return UpstreamReply::Relay(Relay::Answer { status, body });
    }
    // Some servers stream although the request does not enable a stream.
    let read = if is_stream { assemble(turn, body) } else { Completion::parse(body) };
    match read {
        Ok(completion) => UpstreamReply::Completion(completion),
        Err(error) => UpstreamReply::Relay(Relay::Failure(malformed(turn, error.message))),
    }
}

fn assemble(turn: &Turn, body: Bytes) -> Result<Completion, AnswerError> {
    let unreadable = |error: SseError| AnswerError { message: error.to_string() };
    let mut reader = SseReader::new(turn.upstream.max_event_bytes());
    let mut assembler = Assembler::new(turn.max_stream_bytes);
    let events = reader.push(body).map_err(unreadable)?;
    for event in events.into_iter().chain(reader.finish().map_err(unreadable)?) {
        match assembler.take(&event)? {
            StreamItem::Error(_) => {
                return Err(AnswerError { message: "the upstream sent an error inside its stream".to_owned() });
            }
            StreamItem::Done => break,
            StreamItem::Chunk(_) | StreamItem::Other => {}
        }
    }
    if !assembler.is_finished() {
        return Err(AnswerError { message: "the stream ended before its choices were finished".to_owned() });
    }
    Ok(assembler.into_completion())
}

fn malformed(turn: &Turn, message: String) -> UpstreamFailure {
    UpstreamFailure {
        kind: UpstreamFailureKind::Malformed,
        upstream: turn.upstream.name().to_owned(),
        message,
        retry_after: None,
    }
}

fn note(
    pipeline: &Pipeline,
    turn: &mut Turn,
    purpose: RequestPurpose,
    (request, asked): (&ChatRequest, &UpstreamReply),
    notes: ExchangeNotes,
    took: Duration,
) {
    let outcome = match asked {
        UpstreamReply::Completion(_) => "success",
        UpstreamReply::Relay(Relay::Answer { status, .. }) if status.is_success() => "success",
        UpstreamReply::Relay(Relay::Answer { .. } | Relay::ErrorEvent(_)) => "http_error",
        UpstreamReply::Relay(Relay::Failure(failure)) => failure.kind.label(),
        UpstreamReply::ClientGone => "cancelled",
    };
    let told = match asked {
        UpstreamReply::Completion(completion) => completion.usage(),
        // In mode `off` an answer is not validated, but its tokens count.
        UpstreamReply::Relay(Relay::Answer { status, body }) if status.is_success() => {
            Completion::parse(body.clone()).ok().and_then(|completion| completion.usage())
        }
        _ => None,
    };
    // An answer that the client abandons is charged up to that point.
    let is_served =
        notes.status.is_some_and(|status| status.is_success()) || matches!(asked, UpstreamReply::ClientGone);
    let estimate =
        (turn.request_permit.is_some() && is_served && told.is_none()).then(|| estimate(turn, request, asked));
    let usage = told.unwrap_or_default();
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
        ..Attempt::unjudged(purpose.label(), turn.upstream.name(), outcome, usage, milliseconds(took))
    };
    turn.record.attempt(attempt, took);
}

/// Estimates the usage of an attempt without reported tokens: the upstream does not report them, they were not
/// requested for a stream, or the stream was aborted. Without the estimate, such requests would bypass the limits.
fn estimate(turn: &Turn, request: &ChatRequest, asked: &UpstreamReply) -> Usage {
    let tokens = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN) as u64;
    let prompt_tokens = tokens(request.to_bytes().len());
    let completion_tokens = match asked {
        UpstreamReply::Completion(completion) => tokens(completion.to_bytes().len()),
        UpstreamReply::Relay(Relay::Answer { body, .. }) => tokens(body.len()),
        // Models send a chunk for each token, or for a few tokens.
        _ => turn.streamed.chunks,
    };
    Usage { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens, cached_tokens: 0 }
}
