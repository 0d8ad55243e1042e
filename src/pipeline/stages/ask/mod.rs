//! Ask: an upstream request → the answer, assembled from the stream where it is one.

mod flow;
mod texts;
mod tries;

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use tokio::time::timeout;

use crate::pipeline::Pipeline;
use crate::pipeline::answer::Outlet;
use crate::pipeline::dialogue::Purpose;
use crate::pipeline::record::milliseconds;
use crate::pipeline::turn::Turn;
use callwright_common::tokens::BYTES_PER_TOKEN;
use callwright_openai::{AnswerError, Assembler, ChatRequest, Completion, SseError, SseReader, StreamItem};
use callwright_types::rules::Mode;
use callwright_types::trace::Attempt;
use callwright_types::{UpstreamFailure, UpstreamFailureKind, Usage};
use callwright_upstream as upstream;
use callwright_upstream::Again;

use super::compose::Draft;
use super::offer::Offer;

pub(crate) use flow::Streamed;
pub(crate) use tries::ask;

/// Statuses with which servers refuse a member that they do not know.
const STREAM_OPTIONS_REFUSED: [StatusCode; 2] = [StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY];

/// What asking gave.
#[derive(Debug)]
pub(crate) enum Asked {
    /// An answer to judge.
    Completion(Completion),
    /// Something that is passed on as it is.
    Relay(Relay),
    /// The client went away; the upstream request was cancelled.
    ClientGone,
}

/// What is passed on to the client as it is, where no earlier answer is of use.
#[derive(Debug)]
pub(crate) enum Relay {
    /// An answer that is not ours to judge: an HTTP error, or anything in mode `off`.
    Answer {
        /// The upstream's status.
        status: StatusCode,
        /// The upstream's body.
        body: Bytes,
    },
    /// An error event that the upstream sent inside its stream, as it came.
    ErrorEvent(Bytes),
    /// The upstream gave no usable answer.
    Failure(UpstreamFailure),
}

/// One upstream request and its answer, noted in the trace; besides, whether the answer asks for the request to be made again.
async fn attempt(
    pipeline: &Pipeline,
    turn: &mut Turn,
    (offer, draft): (&Offer, &Draft),
    outlet: &mut Outlet,
    purpose: Purpose,
) -> (Asked, Option<Again>) {
    let started = Instant::now();
    let mut notes = Notes { sent_after: turn.record.elapsed(), ..Notes::default() };
    turn.streamed.begin_attempt();
    let cancelled = turn.cancelled.clone();
    let upstream = turn.upstream.clone();
    let (left, limit) = (turn.total_time_left(), turn.policy.limits.total_seconds);
    let request = draft.request_to(&turn.model);
    let exchange = exchange(pipeline, turn, (offer, &request), outlet, &mut notes, purpose);
    let asked = tokio::select! {
        biased;
        () = cancelled.cancelled() => Asked::ClientGone,
        asked = timeout(left, exchange) => {
            asked.unwrap_or_else(|_| Asked::Relay(Relay::Failure(over(upstream.name(), limit))))
        }
    };
    let again = notes.again;
    note(pipeline, turn, purpose, (&request, &asked), notes, started.elapsed());
    (asked, again)
}

/// The time of the whole turn is over.
fn over(upstream: &str, limit: u64) -> UpstreamFailure {
    UpstreamFailure {
        kind: UpstreamFailureKind::Timeout,
        upstream: upstream.to_owned(),
        message: format!("the answer was not whole {limit} s after its request (limits.total_seconds)"),
        retry_after: None,
    }
}

/// What is noted of an exchange besides its result.
#[derive(Debug, Default)]
struct Notes {
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
    outlet: &mut Outlet,
    notes: &mut Notes,
    purpose: Purpose,
) -> Asked {
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
        return flow::flow(pipeline, turn, (offer, request), answer, outlet, notes, purpose).await;
    }
    let status = answer.status;
    let whole = whole(turn, answer, is_stream).await;
    if is_stream != turn.request.is_stream() && turn.policy.mode == Mode::Guard && matches!(whole, Asked::Completion(_))
    {
        let kind = if is_stream { "application/json" } else { "text/event-stream" };
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    // The headers of an answer that is not used must not reach the client.
    if purpose == Purpose::First || matches!(whole, Asked::Completion(_)) {
        turn.answer_headers = headers;
        turn.answer_status = status;
    }
    whole
}

/// Sends the request, and asks for the tokens of a stream where its client does not: a stream that says none would cost nothing. Upstreams that do
/// not know `stream_options` are asked without from then on.
async fn send(turn: &mut Turn, request: &ChatRequest) -> Result<upstream::Answer, Asked> {
    let asks = turn.policy.mode == Mode::Guard
        && request.is_stream()
        && !request.wants_usage_chunk()
        && turn.upstream.asks_stream_usage();
    turn.streamed.asked_usage = asks;
    let chat = async |body| {
        let answered = turn.upstream.chat_once(body, &turn.headers_of_attempt()).await;
        answered.map_err(|failure| Asked::Relay(Relay::Failure(failure)))
    };
    if !asks {
        return chat(request.to_bytes()).await;
    }
    let answer = chat(request.with_usage_chunk().to_bytes()).await?;
    if !STREAM_OPTIONS_REFUSED.contains(&answer.status) {
        return Ok(answer);
    }
    // Which of the two it refuses is known once it has answered the request as it came.
    let again = chat(request.to_bytes()).await?;
    if again.status.is_success() {
        turn.upstream.refused_stream_usage();
    }
    turn.streamed.asked_usage = false;
    Ok(again)
}

async fn whole(turn: &Turn, answer: upstream::Answer, is_stream: bool) -> Asked {
    let status = answer.status;
    let body = match answer.whole().await {
        Ok(body) => body,
        Err(failure) => return Asked::Relay(Relay::Failure(failure)),
    };
    if !status.is_success() || turn.policy.mode == Mode::Off {
        return Asked::Relay(Relay::Answer { status, body });
    }
    // Some servers stream although a whole answer was asked for.
    let read = if is_stream { assemble(turn, body) } else { Completion::parse(body) };
    match read {
        Ok(completion) => Asked::Completion(completion),
        Err(error) => Asked::Relay(Relay::Failure(malformed(turn, error.message))),
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
    purpose: Purpose,
    (request, asked): (&ChatRequest, &Asked),
    notes: Notes,
    took: Duration,
) {
    let outcome = match asked {
        Asked::Completion(_) => "success",
        Asked::Relay(Relay::Answer { status, .. }) if status.is_success() => "success",
        Asked::Relay(Relay::Answer { .. } | Relay::ErrorEvent(_)) => "http_error",
        Asked::Relay(Relay::Failure(failure)) => failure.kind.label(),
        Asked::ClientGone => "cancelled",
    };
    let told = match asked {
        Asked::Completion(completion) => completion.usage(),
        // In mode `off` an answer is not judged, but its tokens count.
        Asked::Relay(Relay::Answer { status, body }) if status.is_success() => {
            Completion::parse(body.clone()).ok().and_then(|completion| completion.usage())
        }
        _ => None,
    };
    // What a client leaves is paid for, as far as it has come.
    let is_served = notes.status.is_some_and(|status| status.is_success()) || matches!(asked, Asked::ClientGone);
    let estimate = (turn.admission.is_some() && is_served && told.is_none()).then(|| estimate(turn, request, asked));
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

/// What an attempt is charged for whose upstream told no tokens: because it does not, because a stream was not asked for them, or because it
/// broke off. Who is charged nothing then would have no limit.
fn estimate(turn: &Turn, request: &ChatRequest, asked: &Asked) -> Usage {
    let tokens = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN) as u64;
    let prompt_tokens = tokens(request.to_bytes().len());
    let completion_tokens = match asked {
        Asked::Completion(completion) => tokens(completion.to_bytes().len()),
        Asked::Relay(Relay::Answer { body, .. }) => tokens(body.len()),
        // Models send a chunk for each token, or for some.
        _ => turn.streamed.chunks,
    };
    Usage { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens, cached_tokens: 0 }
}
