//! Pass-through of every other path below `/v1/`: forwarded unchanged in both directions, and marked `unguarded`. Only the
//! calls of a response that a client fetches are judged.

use std::sync::{Arc, OnceLock};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_LENGTH};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::TryStreamExt;
use percent_encoding::percent_decode_str;

use crate::keys::{self, RequestPermit, RequestedAccess};
use crate::pipeline::{PassThrough, Target};
use callwright_telemetry::labels::KeyResult;
use callwright_types::{Protocol, UpstreamFailure, Verdict};
use callwright_upstream as upstream;
use callwright_wire::{ObjectPath, named_model, with_model};

use super::body_fault::BodyFault;
use super::caller::Caller;
use super::error::{self, Refusal};
use super::forwarded::{WholeAnswer, is_readable, streamed};
use super::objects::{ObjectRecorder, PassedRequest};
use super::received_body::{BodySender, receive};
use super::state::ClientSide;
use super::{fallback, objects, rate_limit};

const VERDICT: HeaderName = HeaderName::from_static("x-callwright-verdict");

/// Handles any method on `/v1/...`.
pub(super) async fn pass(
    State(side): State<ClientSide>,
    Caller(caller): Caller,
    request: Request,
) -> Result<Response, Refusal> {
    let (mut parts, body) = request.into_parts();
    // The echo of TRACE would show a page's script the key that it cannot read (RFC 9110, section 9.3.8). Tunnels are
    // not supported.
    if matches!(parts.method, Method::TRACE | Method::CONNECT) {
        return Err(fallback::no_such_method(parts.method, parts.uri).await.into());
    }
    let path = parts.uri.path().strip_prefix("/v1").unwrap_or_default();
    let requested = RequestedAccess::PassedThrough { path, may_use_model: !USES_NO_MODEL.contains(&parts.method) };
    let request_permit = admit(&side, &caller, requested)?;
    let decoded = percent_decode_str(path).decode_utf8_lossy().into_owned();
    let object = ObjectPath::parse(&decoded);
    let is_fetch = parts.method == Method::GET && object.as_ref().is_some_and(ObjectPath::is_response);
    let passed = PassedRequest { method: &parts.method, path, object: object.as_ref(), headers: &parts.headers };
    let of_conversation = CONVERSATION_PATHS.iter().find(|(known, _)| *known == path);
    let of_conversation = of_conversation.filter(|_| parts.method == Method::POST).map(|(_, protocol)| *protocol);
    let is_read = of_conversation.is_some() || (caller.is_some() && passed.names_objects());
    let sender = BodySender { caller: &caller, extensions: &parts.extensions };
    let mut body = match body {
        body if HttpBody::is_end_stream(&body) => ReceivedBody::None,
        body if is_read => {
            ReceivedBody::Whole(receive(&side, sender, &parts.headers, body, side.body_limit_bytes).await?)
        }
        body => ReceivedBody::Streamed(body),
    };
    let whole = body.whole().cloned();
    let mut recorder = None;
    if let Some(known) = &caller {
        recorder = objects::of_passed(&side, known, passed, whole.as_ref()).await?;
        if parts.method == Method::GET && object.as_ref().is_some_and(|path| path.is_collection) {
            let listed = objects::list(&side, known, below_v1(&parts.uri), parts.headers).await;
            return Ok(marked(&side, &caller, listed.into_response(), Verdict::Unguarded));
        }
    }
    let mut upstream = None;
    if let (Some(protocol), Some(bytes)) = (of_conversation, whole) {
        let prepared = prepared(&side, &caller, &mut parts.headers, bytes, protocol).await;
        (body, upstream) = (ReceivedBody::Whole(prepared.0), prepared.1);
    }
    if recorder.is_some() || is_fetch {
        // An encoded answer cannot be read.
        parts.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    let is_deletion = parts.method == Method::DELETE;
    let fetched_with = is_fetch.then(|| parts.headers.clone());
    let (body, fault) = body.into_request();
    let request = PassThrough {
        method: parts.method,
        path_and_query: below_v1(&parts.uri).to_owned(),
        headers: parts.headers,
        body,
        upstream,
    };
    let answer = match side.pipeline.pass_through(request).await {
        Ok(answer) => answer,
        Err(failure) => {
            let fault = fault.as_deref().and_then(OnceLock::get);
            let response = fault.map_or_else(|| error::upstream_failure(&failure), |fault| fault.response());
            return Ok(marked(&side, &caller, response, Verdict::Unguarded));
        }
    };
    if let (Some(recorder), Some(path)) = (&recorder, object.filter(|_| is_deletion && answer.status.is_success())) {
        recorder.forget(&path).await;
    }
    let handling = AnswerHandling { recorder, fetched_with, request_permit };
    let (response, verdict) = handling
        .respond(&side, &caller, answer)
        .await
        .unwrap_or_else(|failure| (error::upstream_failure(&failure), Verdict::Unguarded));
    Ok(marked(&side, &caller, response, verdict))
}

/// Handling of the answer to a passed-through request.
struct AnswerHandling {
    recorder: Option<ObjectRecorder>,
    /// Header fields of a request that fetches a response.
    fetched_with: Option<HeaderMap>,
    /// In use until the last byte.
    request_permit: Option<RequestPermit>,
}

impl AnswerHandling {
    async fn respond(
        self,
        side: &ClientSide,
        caller: &keys::Caller,
        answer: upstream::Answer,
    ) -> Result<(Response, Verdict), UpstreamFailure> {
        let Self { recorder, fetched_with, request_permit } = self;
        if answer.is_event_stream() {
            let response = streamed(answer, request_permit);
            let response = match recorder {
                Some(recorder) => response.map(|body| recorder.recorded(body)),
                None => response,
            };
            return Ok((response, Verdict::Unguarded));
        }
        if (recorder.is_none() && fetched_with.is_none()) || !is_readable(&answer) {
            return Ok((streamed(answer, request_permit), Verdict::Unguarded));
        }
        let mut whole = WholeAnswer::of(answer).await?;
        if let Some(recorder) = recorder {
            recorder.complete(whole.status, &whole.body).await;
        }
        let Some(headers) = fetched_with else { return Ok((whole.into_response(), Verdict::Unguarded)) };
        let fetched = side.pipeline.judge_fetched(caller, &headers, whole.body).await;
        whole.body = fetched.body;
        Ok((whole.into_response(), fetched.verdict))
    }
}

fn marked(side: &ClientSide, caller: &keys::Caller, mut response: Response, verdict: Verdict) -> Response {
    response.headers_mut().insert(VERDICT, HeaderValue::from_static(verdict.label()));
    rate_limit::mark(response.headers_mut(), &side.access.standing(caller));
    response
}

/// Body of a passed-through request.
enum ReceivedBody {
    /// The request has none. It must not get an empty one: some servers refuse an empty chunked body on `DELETE`.
    None,
    /// The body was read, because the proxy reads or changes it.
    Whole(Bytes),
    /// The body is forwarded as it arrives.
    Streamed(Body),
}

impl ReceivedBody {
    fn whole(&self) -> Option<&Bytes> {
        if let Self::Whole(bytes) = self { Some(bytes) } else { None }
    }

    /// Returns the body for the upstream, and the place for the fault that ends a streamed body.
    fn into_request(self) -> (upstream::RequestBody, Option<Arc<OnceLock<BodyFault>>>) {
        let body = match self {
            Self::None => return (upstream::RequestBody::default(), None),
            Self::Whole(bytes) => return (bytes.into(), None),
            Self::Streamed(body) => body,
        };
        let fault = Arc::<OnceLock<BodyFault>>::default();
        let place = Arc::clone(&fault);
        let pieces = body.into_data_stream().inspect_err(move |error| {
            let _ = place.set(BodyFault::of_body(error));
        });
        (upstream::RequestBody::wrap_stream(pieces), Some(fault))
    }
}

/// Paths whose bodies are conversations, and name a model, which may be an alias: counting of tokens, and compaction.
const CONVERSATION_PATHS: [(&str, Protocol); 3] = [
    ("/messages/count_tokens", Protocol::Messages),
    ("/responses/input_tokens", Protocol::Responses),
    ("/responses/compact", Protocol::Responses),
];

/// Returns the body as a turn sends it: without reasoning of answers that were not accepted, and with the model of the alias
/// that it names. Also returns the alias's upstream.
async fn prepared(
    side: &ClientSide,
    caller: &keys::Caller,
    headers: &mut HeaderMap,
    mut body: Bytes,
    protocol: Protocol,
) -> (Bytes, Option<String>) {
    if let Some(changed) = side.pipeline.without_retracted(caller, headers, protocol, &body).await {
        headers.remove(CONTENT_LENGTH);
        body = changed;
    }
    let target = named_model(&body).and_then(|model| side.pipeline.alias_target(&model));
    let Some(Target { upstream, model }) = target else { return (body, None) };
    headers.remove(CONTENT_LENGTH);
    (with_model(&body, &model).unwrap_or(body), Some(upstream))
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
) -> Result<Option<RequestPermit>, Refusal> {
    let Some(known) = caller else { return Ok(None) };
    let admitted = side.access.admit(caller, requested);
    let result =
        admitted.as_ref().map_or_else(|refused| KeyResult::of_limit(refused.limit.label()), |_| KeyResult::Admitted);
    side.metrics.key_requests.inc(&known.key().group, result);
    admitted.map_err(|refused| {
        let mut response = error::refused(&refused);
        rate_limit::mark(response.headers_mut(), &side.access.standing(caller));
        response.into()
    })
}

/// Returns path and query as the client sent them, without `/v1`.
fn below_v1(uri: &Uri) -> &str {
    let whole = uri.path_and_query().map_or("/", |path| path.as_str());
    whole.strip_prefix("/v1").unwrap_or(whole)
}
