//! Pass-through of every other path below `/v1/`: forwarded unchanged in both directions, and marked `unguarded`.

use std::io;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use axum::response::Response;
use futures_util::stream;

use crate::keys::{self, RequestPermit, RequestedAccess};
use crate::pipeline::{PassThrough, Target};
use callwright_openai::{named_model, with_model};
use callwright_telemetry::labels::KeyResult;
use callwright_types::Protocol;
use callwright_upstream as upstream;

use super::api_operation::{ApiParts, for_clients};
use super::api_schema::{object, one_of, required, text};
use super::caller::Caller;
use super::received_body::receive;
use super::state::ClientSide;
use super::{error, fallback, rate_limit};

const VERDICT: HeaderName = HeaderName::from_static("x-callwright-verdict");

/// Handles any method on `/v1/...`.
pub(super) async fn pass(State(side): State<ClientSide>, Caller(caller): Caller, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    // The echo of TRACE would show a page's script the key that it cannot read (RFC 9110, section 9.3.8). Tunnels are
    // not supported.
    if matches!(parts.method, Method::TRACE | Method::CONNECT) {
        return fallback::no_such_method(parts.method, parts.uri).await;
    }
    let path = parts.uri.path().strip_prefix("/v1").unwrap_or_default();
    let requested = RequestedAccess::PassedThrough { path, may_use_model: !USES_NO_MODEL.contains(&parts.method) };
    let request_permit = match admit(&side, &caller, requested) {
        Ok(request_permit) => request_permit,
        Err(refusal) => return *refusal,
    };
    let of_conversation = CONVERSATION_PATHS.iter().find(|(known, _)| *known == path);
    let (body, upstream) = match of_conversation.filter(|_| parts.method == Method::POST) {
        None => (forwarded(body), None),
        Some((_, protocol)) => match prepared(&side, &caller, &mut parts.headers, body, *protocol).await {
            Ok(prepared) => prepared,
            Err(refusal) => return *refusal,
        },
    };
    let request = PassThrough {
        method: parts.method,
        path_and_query: below_v1(&parts.uri).to_owned(),
        headers: parts.headers,
        body,
        upstream,
    };
    let mut response = match side.pipeline.pass_through(request).await {
        Ok(answer) => respond(answer, request_permit),
        Err(failure) => error::upstream_failure(&failure),
    };
    response.headers_mut().insert(VERDICT, HeaderValue::from_static("unguarded"));
    rate_limit::mark(response.headers_mut(), &side.access.standing(&caller));
    response
}

/// Paths whose bodies are conversations, and name a model, which may be an alias: counting of tokens, and compaction.
const CONVERSATION_PATHS: [(&str, Protocol); 3] = [
    ("/messages/count_tokens", Protocol::Messages),
    ("/responses/input_tokens", Protocol::Responses),
    ("/responses/compact", Protocol::Responses),
];

/// Returns the body as a turn sends it: without reasoning of answers that were not accepted, and with the model of the alias
/// that it names. Also returns the alias's upstream.
///
/// # Errors
/// The response to a request whose body cannot be read.
async fn prepared(
    side: &ClientSide,
    caller: &keys::Caller,
    headers: &mut HeaderMap,
    body: Body,
    protocol: Protocol,
) -> Result<(upstream::RequestBody, Option<String>), Box<Response>> {
    let mut body = receive(side, headers, body, side.body_limit_bytes).await?;
    if let Some(changed) = side.pipeline.without_retracted(caller, headers, protocol, &body).await {
        headers.remove(CONTENT_LENGTH);
        body = changed;
    }
    let target = named_model(&body).and_then(|model| side.pipeline.alias_target(&model));
    let Some(Target { upstream, model }) = target else { return Ok((body.into(), None)) };
    headers.remove(CONTENT_LENGTH);
    let body = with_model(&body, &model).unwrap_or(body);
    Ok((body.into(), Some(upstream)))
}

/// Methods that only read or delete.
const USES_NO_MODEL: [Method; 4] = [Method::GET, Method::HEAD, Method::OPTIONS, Method::DELETE];

/// Admits a request that is not a turn, if its key allows it.
///
/// # Errors
/// The response to a request that is not admitted.
pub(super) fn admit(
    side: &ClientSide,
    caller: &keys::Caller,
    requested: RequestedAccess<'_>,
) -> Result<Option<RequestPermit>, Box<Response>> {
    let Some(known) = caller else { return Ok(None) };
    let admitted = side.access.admit(caller, requested);
    let result =
        admitted.as_ref().map_or_else(|refused| KeyResult::of_limit(refused.limit.label()), |_| KeyResult::Admitted);
    side.metrics.key_requests.inc(&known.key().group, result);
    admitted.map_err(|refused| {
        let mut response = error::refused(&refused);
        rate_limit::mark(response.headers_mut(), &side.access.standing(caller));
        Box::new(response)
    })
}

/// Returns the body to forward. A request without a body must not get one: some servers refuse an empty chunked body on
/// `DELETE`.
fn forwarded(body: Body) -> upstream::RequestBody {
    if HttpBody::is_end_stream(&body) {
        return upstream::RequestBody::default();
    }
    upstream::RequestBody::wrap_stream(body.into_data_stream())
}

/// Returns path and query as the client sent them, without `/v1`.
fn below_v1(uri: &Uri) -> &str {
    let whole = uri.path_and_query().map_or("/", |path| path.as_str());
    whole.strip_prefix("/v1").unwrap_or(whole)
}

/// Streams the answer; the request is in progress until its last byte.
fn respond(answer: upstream::Answer, request_permit: Option<RequestPermit>) -> Response {
    let (status, headers) = (answer.status, answer.headers.clone());
    let chunks = stream::unfold((answer, request_permit), |(mut answer, request_permit)| async move {
        let chunk = answer.next().await?;
        // An error closes the connection, as the upstream did: the client must not take a partial answer for a complete
        // one.
        Some((chunk.map_err(io::Error::other), (answer, request_permit)))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Describes one of the requests that are passed through, because OpenAPI has no parameter for several segments of a
/// path.
pub(super) fn describe(api: &mut ApiParts) {
    let operation = for_clients("passThrough", "Forwards any other request to the provider unchanged and unguarded.")
        .path_of("path", one_of(["embeddings"]), "Any path below `/v1` without a route of its own.")
        .body(object([required("model", text()), required("input", text())]))
        .responds_anything("The provider's answer, or an error in the form of the OpenAI API.");
    api.operation(Method::POST, "/v1/{path}", operation);
}
