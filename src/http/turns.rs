//! The endpoints of turns: `POST /v1/chat/completions`, also at Azure-style paths, `/v1/responses` and `/v1/messages`.

use std::time::Instant;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;

use crate::pipeline::{AnswerBody, PendingAnswer, TurnAnswer, TurnRequest};
use callwright_openai::CHOICES;
use callwright_types::Protocol;

use super::api_operation::{ApiOperation, ApiParts, JSON, for_clients};
use super::api_schema::{any, array, boolean, named, object, optional, required, text};
use super::caller::Caller;
use super::objects::ObjectRecorder;
use super::path::{CHAT, MESSAGES, RESPONSES};
use super::received_body::{BodySender, receive};
use super::state::ClientSide;
use super::{error, json, objects, pass_through, rate_limit, receipted, stream_body};

/// Handles `POST /v1/chat/completions`.
pub(super) async fn completions(side: State<ClientSide>, caller: Caller, request: Request) -> Response {
    turn_or_pass(
        side,
        caller,
        request,
        TurnEndpoint { protocol: Protocol::Chat, template: CHAT, model: None, query: None },
    )
    .await
}

/// Handles `POST /v1/responses`.
pub(super) async fn responses(side: State<ClientSide>, caller: Caller, request: Request) -> Response {
    let endpoint = TurnEndpoint { protocol: Protocol::Responses, template: RESPONSES, model: None, query: None };
    turn_or_pass(side, caller, request, endpoint).await
}

/// Handles `POST /v1/messages`.
pub(super) async fn messages(side: State<ClientSide>, caller: Caller, request: Request) -> Response {
    let endpoint = TurnEndpoint { protocol: Protocol::Messages, template: MESSAGES, model: None, query: None };
    turn_or_pass(side, caller, request, endpoint).await
}

/// Handles `POST /openai/deployments/{model}/chat/completions`.
pub(super) async fn deployment(
    State(side): State<ClientSide>,
    caller: Caller,
    Path(model): Path<String>,
    request: Request,
) -> Response {
    let template = "/openai/deployments/{model}/chat/completions";
    let endpoint = TurnEndpoint { protocol: Protocol::Chat, template, model: Some(model), query: None };
    turn(&side, endpoint, caller, request).await
}

/// An endpoint of turns.
struct TurnEndpoint {
    protocol: Protocol,
    /// Route template.
    template: &'static str,
    /// Model name in the path.
    model: Option<String>,
    /// Query for the upstream. That of Azure's paths has only the version of the API.
    query: Option<String>,
}

/// Processes a turn; passes the request through if no upstream serves its protocol by configuration.
async fn turn_or_pass(
    State(side): State<ClientSide>,
    caller: Caller,
    request: Request,
    endpoint: TurnEndpoint,
) -> Response {
    if !side.pipeline.serves(endpoint.protocol) {
        side.pipeline.unguarded(endpoint.protocol);
        return pass_through::pass(State(side), caller, request).await;
    }
    let endpoint = TurnEndpoint { query: request.uri().query().map(str::to_owned), ..endpoint };
    turn(&side, endpoint, caller, request).await
}

async fn turn(
    side: &ClientSide,
    TurnEndpoint { protocol, template: endpoint, model: deployment, query }: TurnEndpoint,
    Caller(caller): Caller,
    request: Request,
) -> Response {
    let arrived = Instant::now();
    let (Parts { headers, extensions, .. }, body) = request.into_parts();
    // A page of another site can send other content types without a CORS preflight.
    if !json::is_json(&headers) {
        return json::not_json("a request for an answer must be JSON");
    }
    let record_bodies = match requests_recording(side, &headers) {
        Ok(record_bodies) => record_bodies,
        Err(refusal) => return *refusal,
    };
    let sender = BodySender { caller: &caller, extensions: &extensions };
    let body = match receive(side, sender, &headers, body, side.body_limit_bytes).await {
        Ok(body) => body,
        Err(refusal) => return *refusal,
    };
    let recorder = match objects::of_turn(side, &caller, protocol, &body).await {
        Ok(recorder) => recorder,
        Err(refusal) => return *refusal,
    };
    let caller_of_turn = caller.clone();
    let request = TurnRequest {
        protocol,
        endpoint,
        deployment,
        query,
        caller: caller_of_turn,
        headers,
        body,
        arrived,
        record_bodies,
    };
    let mut pending = side.pipeline.take(Box::new(request)).await;
    let delivery_ack = pending.delivery_ack.take();
    let mut response = respond(side, pending, recorder).await;
    rate_limit::mark(response.headers_mut(), &side.access.standing(&caller));
    match delivery_ack {
        Some(delivery_ack) => response.map(|body| receipted::body(body, delivery_ack)),
        None => response,
    }
}

/// Header with which an operator has the bodies of one request recorded; its value is `full`.
const RECORD: HeaderName = HeaderName::from_static("x-callwright-record");
/// Header with the operator's token (`server.operator_token`) for [`RECORD`].
const OPERATOR_KEY: HeaderName = HeaderName::from_static("x-callwright-operator-key");

/// Whether an operator requests that the bodies of this request are recorded.
///
/// # Errors
/// The response to a request that may not be recorded.
fn requests_recording(side: &ClientSide, headers: &HeaderMap) -> Result<bool, Box<Response>> {
    let Some(wanted) = headers.get(RECORD) else { return Ok(false) };
    let refused = |status, message: &str, code| Err(Box::new(error::invalid_request(status, message.to_owned(), code)));
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

/// Describes the operations.
pub(super) fn describe(api: &mut ApiParts) {
    let completions = for_clients(
        "createChatCompletion",
        "Requests a chat completion. Its tool calls are validated, repaired and executed as the policy defines.",
    );
    api.operation(Method::POST, "/v1/chat/completions", completion(completions));
    let deployment = for_clients("createDeploymentChatCompletion", "Requests a chat completion in the form of Azure.")
        .path("model", "Model name; takes precedence over that of the body.")
        .query("api-version", text(), "Ignored.");
    api.operation(Method::POST, "/openai/deployments/{model}/chat/completions", completion(deployment));
    let response = for_clients(
        "createResponse",
        "Requests a response in OpenAI's Responses protocol. Its function calls are validated, repaired and executed as the \
         policy defines.",
    );
    api.operation(Method::POST, RESPONSES, answered(response, "ResponseRequest", "ResponseObject"));
    let message = for_clients(
        "createMessage",
        "Requests a message in Anthropic's Messages protocol. Its tool uses are validated, repaired and executed as the \
         policy defines. Errors have Anthropic's form.",
    );
    api.operation(Method::POST, MESSAGES, answered(message, "MessageRequest", "MessageObject"));
    describe_others(api);
    let message = object([required("role", text())]);
    let request = object([
        required("model", text().about("Model name of the provider, or an alias.")),
        required("messages", array(message)),
        optional("tools", array(object([]))),
        optional("stream", boolean()),
    ]);
    api.schema(
        "ChatRequest",
        request.about("Request of the OpenAI API. Members that are not listed here are forwarded unchanged."),
    );
    let answer = object([
        optional("id", text()),
        optional("object", text()),
        optional("model", text()),
        required(CHOICES, array(object([]))),
        optional("callwright", object([]).about("Report of the turn, if `x-callwright-debug` is `true`.")),
    ]);
    api.schema("ChatCompletion", answer.about("The provider's answer with validated calls."));
}

/// Describes requests and answers of the other protocols.
fn describe_others(api: &mut ApiParts) {
    let request = object([
        required("model", text().about("Model name of the provider, or an alias.")),
        optional("input", any()),
        optional("tools", array(object([]))),
        optional("stream", boolean()),
    ]);
    api.schema(
        "ResponseRequest",
        request.about("Request of the Responses API. Other members are forwarded unchanged."),
    );
    let answer = object([optional("id", text()), optional("status", text()), optional("output", array(object([])))]);
    api.schema("ResponseObject", answer.about("The provider's response with validated calls."));
    let request = object([
        required("model", text().about("Model name of the provider, or an alias.")),
        required("messages", array(object([required("role", text())]))),
        optional("tools", array(object([]))),
        optional("stream", boolean()),
    ]);
    api.schema("MessageRequest", request.about("Request of the Messages API. Other members are forwarded unchanged."));
    let answer =
        object([optional("id", text()), optional("stop_reason", text()), optional("content", array(object([])))]);
    api.schema("MessageObject", answer.about("The provider's message with validated calls."));
}

fn completion(operation: ApiOperation) -> ApiOperation {
    answered(operation, "ChatRequest", "ChatCompletion")
}

fn answered(operation: ApiOperation, request: &'static str, answer: &'static str) -> ApiOperation {
    operation
        .header("x-callwright-session", "Session id, which groups the turns of a conversation.")
        .header(
            "x-callwright-policy",
            "Name of a policy to apply, one of those that the virtual key lists (`selectable_policies`).",
        )
        .header("x-callwright-debug", "`true` adds the report of the turn to the body.")
        .header("x-callwright-record", "`full` records the bodies of this turn; requires `x-callwright-operator-key`.")
        .header("x-callwright-operator-key", "Token of `server.operator_token`, for `x-callwright-record`.")
        .body(named(request))
        .responds_as(
            200,
            "The answer, or a stream of its events.",
            [(JSON, named(answer)), ("text/event-stream", any().into())],
        )
        .response_headers(
            200,
            &[
                ("x-callwright-trace", "Id of the turn's trace."),
                ("x-callwright-verdict", "Verdict on the turn's calls; not on streams."),
                ("x-callwright-outcome", "What the client got; not on streams."),
                ("x-callwright-actions", "What the proxy did to the model's answer; not on streams."),
                ("x-callwright-attempts", "Number of requests to the provider; not on streams."),
                ("x-callwright-overhead-ms", "Milliseconds spent by the proxy itself; not on streams."),
            ],
        )
        .fails([400, 401, 403, 413, 415, 429, 502, 503, 504])
}
