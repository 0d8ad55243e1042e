//! Forwarding of unchanged answers, and error answers.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::pipeline::answer::{AnswerBody, ClientGone, ResponseSender, TurnAnswer};
use crate::pipeline::state::{Relay, Turn};
use callwright_openai::{ErrorBody, emit, event};
use callwright_types::UpstreamFailure;
use callwright_upstream::{forbid_retry, is_retry_forbidden};

/// Forwards an answer that the proxy does not validate, or reports an upstream failure.
pub(crate) async fn relay(
    turn: &mut Turn,
    response_sender: &mut ResponseSender,
    relay: Relay,
) -> Result<(), ClientGone> {
    match relay {
        Relay::Answer { status, body } => {
            turn.record.trace_mut().status = status.as_u16();
            if response_sender.is_open() {
                let events = late_answer(turn, status, &body);
                return response_sender.send(events).await;
            }
            let headers = turn.answer_headers();
            response_sender.whole(TurnAnswer { status, headers, body: AnswerBody::Whole(body) });
            Ok(())
        }
        Relay::ErrorEvent(event) => {
            turn.record.trace_mut().status = StatusCode::OK.as_u16();
            turn.record.trace_mut().error = Some("the upstream sent an error inside its stream".to_owned());
            response_sender.open(turn.stream_headers())?;
            response_sender.send(event).await
        }
        Relay::Failure(failure) => {
            let status = StatusCode::from_u16(failure.kind.status()).unwrap_or(StatusCode::BAD_GATEWAY);
            refuse_until(turn, response_sender, status, &error_of(&failure), failure.retry_after_seconds()).await
        }
    }
}

/// Returns the events of an answer that arrives after the head of the stream was sent.
fn late_answer(turn: &mut Turn, status: StatusCode, body: &[u8]) -> Bytes {
    let mut out = BytesMut::new();
    match &mut turn.streamed.events {
        Some(_) if status.is_success() => out.extend_from_slice(&event(body)),
        Some(progress) => progress.writer().error(body, status, &turn.answer_headers, &mut out),
        None => {
            let event =
                if status.is_success() { event(body) } else { emit::late_error(body, status, &turn.answer_headers) };
            out.extend_from_slice(&event);
            out.extend_from_slice(emit::DONE);
        }
    }
    out.freeze()
}

/// Returns an error of the proxy as an event.
fn late_refusal(turn: &mut Turn, status: StatusCode, error: &ErrorBody, headers: &HeaderMap) -> Bytes {
    let body = error.to_bytes_in(turn.request.protocol(), status);
    match &mut turn.streamed.events {
        Some(progress) => {
            let mut out = BytesMut::new();
            progress.writer().error(&body, status, headers, &mut out);
            out.freeze()
        }
        None => emit::late_error(&body, status, headers),
    }
}

fn error_of(failure: &UpstreamFailure) -> ErrorBody {
    ErrorBody {
        message: failure.to_string(),
        kind: "upstream_error".to_owned(),
        param: None,
        code: Some(failure.kind.label().to_owned()),
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
    turn.record.trace_mut().error = Some(error.message.clone());
    turn.record.trace_mut().status = if response_sender.is_open() { StatusCode::OK.as_u16() } else { status.as_u16() };
    if response_sender.is_open() {
        let event = late_refusal(turn, status, error, &retry_after(seconds));
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
