//! Forwarding of unchanged answers, and error answers.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::outcome::conclude_relayed;
use crate::pipeline::answer::{AnswerBody, ClientGone, ResponseSender, TurnAnswer};
use crate::pipeline::stages::open::OVERLOAD_RETRY_SECONDS;
use crate::pipeline::state::{Relay, Turn};
use callwright_types::Protocol;
use callwright_upstream::{forbid_retry, is_retry_forbidden};
use callwright_wire::{ErrorBody, emit, event};

/// Forwards an answer that the proxy does not validate, or reports an upstream failure.
pub(crate) async fn relay(
    turn: &mut Turn,
    response_sender: &mut ResponseSender,
    relay: Relay,
) -> Result<(), ClientGone> {
    match relay {
        Relay::Answer { status, body } => {
            turn.record.trace.status = status.as_u16();
            conclude_relayed(turn, !status.is_success());
            if response_sender.is_open() {
                let events = late_answer(turn, status, &body);
                return response_sender.send(events).await;
            }
            let headers = turn.answer_headers();
            let body = AnswerBody::Whole(turn.memory.keep(body));
            response_sender.whole(TurnAnswer { status, headers, body });
            Ok(())
        }
        Relay::ErrorEvent(event) => {
            turn.record.trace.status = StatusCode::OK.as_u16();
            conclude_relayed(turn, true);
            turn.record.trace.error = Some("the upstream sent an error inside its stream".to_owned());
            response_sender.open(turn.stream_headers())?;
            response_sender.send(event).await
        }
        Relay::Failure(failure) => {
            conclude_relayed(turn, true);
            let status = StatusCode::from_u16(failure.kind.status()).unwrap_or(StatusCode::BAD_GATEWAY);
            let error = ErrorBody::new("upstream_error", failure.kind.label(), failure.to_string());
            refuse_until(turn, response_sender, status, &error, failure.retry_after_seconds()).await
        }
        Relay::MemoryFull => {
            conclude_relayed(turn, true);
            let message = "answers use all of the memory allowed by server.answer_memory_bytes; try again later";
            let error = ErrorBody::new("server_error", "answer_memory_full", message);
            let status = StatusCode::SERVICE_UNAVAILABLE;
            refuse_until(turn, response_sender, status, &error, Some(OVERLOAD_RETRY_SECONDS)).await
        }
    }
}

/// Returns the events of an answer that arrives after the head of the stream was sent.
fn late_answer(turn: &mut Turn, status: StatusCode, body: &[u8]) -> Bytes {
    let headers = turn.answer_headers.clone();
    let event = if status.is_success() { event(body) } else { late_error(turn, body, status, &headers) };
    match turn.request.protocol() {
        Protocol::Chat => [event, Bytes::from_static(emit::DONE)].concat().into(),
        Protocol::Responses | Protocol::Messages => event,
    }
}

/// Returns an error response as an event, for a stream whose status is already sent.
fn late_error(turn: &mut Turn, body: &[u8], status: StatusCode, headers: &HeaderMap) -> Bytes {
    match &mut turn.streamed.events {
        Some(progress) => progress.error(body, status, headers),
        None => emit::late_error(body, status, headers),
    }
}

/// Sends an error to the client: as status and body, or as an event if the status is already sent.
pub(crate) async fn refuse(
    turn: &mut Turn,
    response_sender: &mut ResponseSender,
    status: StatusCode,
    error: &ErrorBody,
) -> Result<(), ClientGone> {
    refuse_until(turn, response_sender, status, error, None).await
}

/// Sends an error with `Retry-After` in seconds.
async fn refuse_until(
    turn: &mut Turn,
    response_sender: &mut ResponseSender,
    status: StatusCode,
    error: &ErrorBody,
    seconds: Option<u64>,
) -> Result<(), ClientGone> {
    turn.record.trace.error = Some(error.message.clone());
    turn.record.trace.status = if response_sender.is_open() { StatusCode::OK.as_u16() } else { status.as_u16() };
    if response_sender.is_open() {
        let body = error.to_bytes_in(turn.request.protocol(), status);
        let event = late_error(turn, &body, status, &retry_after(seconds));
        return response_sender.send(event).await;
    }
    // The body is the proxy's own, so none of the upstream's header fields applies.
    let was_retried = is_retry_forbidden(&turn.answer_headers);
    turn.answer_headers = HeaderMap::new();
    if was_retried {
        forbid_retry(&mut turn.answer_headers);
    }
    turn.answer_headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    turn.answer_headers.extend(retry_after(seconds));
    let headers = turn.answer_headers();
    let body = error.to_bytes_in(turn.request.protocol(), status);
    response_sender.whole(TurnAnswer { status, headers, body: AnswerBody::Whole(body) });
    Ok(())
}

fn retry_after(seconds: Option<u64>) -> HeaderMap {
    seconds.map(|seconds| (header::RETRY_AFTER, HeaderValue::from(seconds))).into_iter().collect()
}
