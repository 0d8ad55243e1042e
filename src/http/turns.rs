//! The endpoints of turns: `POST /v1/chat/completions`, also at Azure-style paths, `/v1/responses` and `/v1/messages`.

use std::time::Instant;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::pipeline::{AnswerBody, PendingAnswer, TurnAnswer, TurnRequest};
use callwright_types::Protocol;

use super::caller::Caller;
use super::error::{self, Refusal};
use super::objects::ObjectRecorder;
use super::path::{CHAT, MESSAGES, RESPONSES};
use super::received_body::{BodySender, receive};
use super::state::ClientSide;
use super::{json, objects, pass_through, rate_limit, receipted, stream_body};

type TurnResult = Result<Response, Refusal>;

/// Handles `POST /v1/chat/completions`.
pub(super) async fn completions(side: State<ClientSide>, caller: Caller, request: Request) -> TurnResult {
    turn_or_pass(side, caller, request, Protocol::Chat, CHAT).await
}

/// Handles `POST /v1/responses`.
pub(super) async fn responses(side: State<ClientSide>, caller: Caller, request: Request) -> TurnResult {
    turn_or_pass(side, caller, request, Protocol::Responses, RESPONSES).await
}

/// Handles `POST /v1/messages`.
pub(super) async fn messages(side: State<ClientSide>, caller: Caller, request: Request) -> TurnResult {
    turn_or_pass(side, caller, request, Protocol::Messages, MESSAGES).await
}

/// Handles `POST /openai/deployments/{model}/chat/completions`.
pub(super) async fn deployment(
    State(side): State<ClientSide>,
    caller: Caller,
    Path(model): Path<String>,
    request: Request,
) -> TurnResult {
    let endpoint = "/openai/deployments/{model}/chat/completions";
    let endpoint = TurnEndpoint { protocol: Protocol::Chat, endpoint, deployment: Some(model), query: None };
    turn(&side, endpoint, caller, request).await
}

struct TurnEndpoint {
    protocol: Protocol,
    /// Route template.
    endpoint: &'static str,
    /// Model name in the path.
    deployment: Option<String>,
    /// Query for the upstream. That of Azure's paths has only the version of the API.
    query: Option<String>,
}

/// Processes a turn; passes the request through if no upstream serves its protocol by configuration.
async fn turn_or_pass(
    State(side): State<ClientSide>,
    caller: Caller,
    request: Request,
    protocol: Protocol,
    endpoint: &'static str,
) -> TurnResult {
    if !side.pipeline.serves(protocol) {
        side.pipeline.unguarded(protocol);
        return pass_through::pass(State(side), caller, request).await;
    }
    let query = request.uri().query().map(str::to_owned);
    let endpoint = TurnEndpoint { protocol, endpoint, deployment: None, query };
    turn(&side, endpoint, caller, request).await
}

async fn turn(
    side: &ClientSide,
    TurnEndpoint { protocol, endpoint, deployment, query }: TurnEndpoint,
    Caller(caller): Caller,
    request: Request,
) -> TurnResult {
    let arrived = Instant::now();
    let (Parts { headers, extensions, .. }, body) = request.into_parts();
    // A page of another site can send other content types without a CORS preflight.
    if !json::is_json(&headers) {
        return Err(json::not_json("a request for an answer").into());
    }
    let record_bodies = requests_recording(side, &headers)?;
    let sender = BodySender { caller: &caller, extensions: &extensions };
    let body = receive(side, sender, &headers, body, side.body_limit_bytes).await?;
    let recorder = objects::of_turn(side, &caller, protocol, &body).await?;
    let request = TurnRequest {
        protocol,
        endpoint,
        deployment,
        query,
        caller: caller.clone(),
        headers,
        body,
        arrived,
        record_bodies,
    };
    let mut pending = side.pipeline.take(Box::new(request)).await;
    let delivery_ack = pending.delivery_ack.take();
    let mut response = respond(side, pending, recorder).await;
    rate_limit::mark(response.headers_mut(), &side.access.standing(&caller));
    Ok(match delivery_ack {
        Some(delivery_ack) => response.map(|body| receipted::body(body, delivery_ack)),
        None => response,
    })
}

/// Header with which an operator has the bodies of one request recorded; its value is `full`.
const RECORD: HeaderName = HeaderName::from_static("x-callwright-record");
/// Header with the operator's token (`server.operator_token`) for [`RECORD`].
const OPERATOR_KEY: HeaderName = HeaderName::from_static("x-callwright-operator-key");

/// Whether an operator requests that the bodies of this request are recorded.
///
/// # Errors
/// The response to a request that may not be recorded.
fn requests_recording(side: &ClientSide, headers: &HeaderMap) -> Result<bool, Refusal> {
    let Some(wanted) = headers.get(RECORD) else { return Ok(false) };
    let refused = |status, message: &str, code| Err(error::invalid_request(status, message, code).into());
    if !wanted.as_bytes().eq_ignore_ascii_case(b"full") {
        return refused(StatusCode::BAD_REQUEST, "`x-callwright-record` has the value `full`", "invalid_record_header");
    }
    let sent = headers.get(OPERATOR_KEY).and_then(|key| key.to_str().ok());
    if side.operator_token.is_operator(sent) {
        return Ok(true);
    }
    let message = "`x-callwright-record` requires `x-callwright-operator-key` with the token of `server.operator_token`; \
                   `callwright serve --record` records all requests";
    refused(StatusCode::FORBIDDEN, message, "record_not_allowed")
}

async fn respond(side: &ClientSide, mut pending: PendingAnswer, recorder: Option<ObjectRecorder>) -> Response {
    let keep_alive = side.pipeline.keep_alive();
    let answered = if pending.is_stream {
        match tokio::time::timeout(side.pipeline.hold_head(), pending.answer()).await {
            Ok(answered) => answered,
            Err(_) => {
                // The status line cannot wait longer: intermediaries cut idle connections.
                let body = stream_body::of_late_answer(pending, keep_alive);
                let mut response = Response::new(recorded(body, recorder));
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
        AnswerBody::Whole(bytes) => {
            if let Some(recorder) = recorder {
                recorder.record(status, &bytes).await;
            }
            Body::from(bytes)
        }
        AnswerBody::Events(events) => recorded(stream_body::of_events(events, pending, keep_alive), recorder),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn recorded(body: Body, recorder: Option<ObjectRecorder>) -> Body {
    match recorder {
        Some(recorder) => recorder.recorded(body),
        None => body,
    }
}
