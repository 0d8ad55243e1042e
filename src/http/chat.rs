//! `POST /v1/chat/completions`, and the same at Azure-style paths.

use std::time::Instant;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;

use crate::pipeline::{AnswerBody, PendingAnswer, TurnAnswer, TurnRequest};

use super::caller::Caller;
use super::received_body::receive;
use super::router::ClientSide;
use super::{error, json, rate_limit, receipted, stream_body};

/// Handles `POST /v1/chat/completions`.
pub(super) async fn completions(
    State(side): State<ClientSide>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Response {
    turn(&side, "/v1/chat/completions", None, caller, headers, body).await
}

/// Handles `POST /openai/deployments/{model}/chat/completions`.
pub(super) async fn deployment(
    State(side): State<ClientSide>,
    caller: Caller,
    Path(model): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    turn(&side, "/openai/deployments/{model}/chat/completions", Some(model), caller, headers, body).await
}

async fn turn(
    side: &ClientSide,
    endpoint: &'static str,
    deployment: Option<String>,
    Caller(caller): Caller,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let arrived = Instant::now();
    // A page of another site can send other content types without a CORS preflight.
    if !json::is_json(&headers) {
        return json::not_json("a chat completion request must be JSON");
    }
    let body = match receive(side, &headers, body, side.body_limit_bytes).await {
        Ok(body) => body,
        Err(refusal) => return *refusal,
    };
    let request = TurnRequest { endpoint, deployment, caller: caller.clone(), headers, body, arrived };
    let mut pending = side.pipeline.take(request).await;
    let delivery_ack = pending.take_receipt();
    let mut response = respond(side, pending).await;
    rate_limit::mark(response.headers_mut(), &side.access.standing(&caller));
    match delivery_ack {
        Some(delivery_ack) => response.map(|body| receipted::body(body, delivery_ack)),
        None => response,
    }
}

async fn respond(side: &ClientSide, mut pending: PendingAnswer) -> Response {
    let keep_alive = side.pipeline.keep_alive();
    let answered = if pending.is_stream() {
        match tokio::time::timeout(side.pipeline.hold_head(), pending.answer()).await {
            Ok(answered) => answered,
            Err(_) => {
                // The status line cannot wait longer: intermediaries cut idle connections.
                let mut response = Response::new(stream_body::of_late_answer(pending, keep_alive));
                response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
                return response;
            }
        }
    } else {
        pending.answer().await
    };
    let Ok(TurnAnswer { status, headers, body }) = answered else {
        return error::internal("the turn ended without an answer; see the proxy's log");
    };
    let body = match body {
        AnswerBody::Whole(bytes) => Body::from(bytes),
        AnswerBody::Events(events) => stream_body::of_events(events, pending.into_running(), keep_alive),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
