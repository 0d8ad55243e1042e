//! Open: creates a turn from a request, with trace, snapshot, policy and upstream, or refuses it with a 4xx.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::keys::{Caller, KnownKey, RequestPermit, RequestedAccess};
use crate::pipeline::answer_memory::AnswerMemory;
use crate::pipeline::charge::{refusal_body, refusal_headers};
use crate::pipeline::cpu::Overloaded;
use crate::pipeline::kept_key::{client_key, tenant};
use crate::pipeline::services::Pipeline;
use crate::pipeline::settings::AliasSettings;
use crate::pipeline::state::{CallStates, StreamProgress, Turn, TurnRecord};
use crate::pipeline::targets::targets;
use callwright_common::digest::hex;
use callwright_common::limits::LINE_CHARS;
use callwright_common::tokens::BYTES_PER_TOKEN;
use callwright_policy::{KeyFacts, Policy, TurnFacts};
use callwright_telemetry::labels::KeyResult;
use callwright_telemetry::{TRACEPARENT, TRACESTATE};
use callwright_types::rules::{BackgroundRule, Mode, ProceduresMode};
use callwright_types::{MemoryNote, Protocol, Scope, Trace, ids};
use callwright_upstream::{Upstream, detach_headers};
use callwright_wire::{ErrorBody, ModelRequest, RequestError, THREAD_UNSUPPORTED};

/// Header that groups the turns of a conversation.
const SESSION_HEADER: &str = "x-callwright-session";
/// Header with the name of an additional policy.
const POLICY_HEADER: &str = "x-callwright-policy";
/// Header that requests the debug object in the body.
const DEBUG_HEADER: &str = "x-callwright-debug";
/// `Retry-After` in seconds for requests that were refused under load, or for whose answer there was no memory.
pub(super) const OVERLOAD_RETRY_SECONDS: u64 = 2;
/// Length in bytes of the hash that names a session.
const SESSION_HASH_BYTES: usize = 16;

/// A request for a turn. Passed in a box, because it moves through several futures.
#[derive(Debug)]
pub struct TurnRequest {
    /// Wire protocol of the request and of its answer.
    pub protocol: Protocol,
    /// Route template, for metrics and traces.
    pub endpoint: &'static str,
    /// Model name in the path (Azure-style deployments); overrides the one in the body.
    pub deployment: Option<String>,
    /// Query of the request's URL, which the upstream gets too.
    pub query: Option<String>,
    /// The authenticated caller. Its key is removed from the header fields.
    pub caller: Caller,
    /// Header fields of the client.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Arrival time of the request.
    pub arrived: Instant,
    /// Whether an operator requested that the trace holds bodies, whatever the policy.
    pub record_bodies: bool,
}

#[derive(Debug)]
pub(crate) struct TurnRefusal {
    /// HTTP status of the answer.
    pub(crate) status: StatusCode,
    /// Header fields of the answer.
    pub(crate) headers: HeaderMap,
    /// Error for the client.
    pub(crate) error: ErrorBody,
}

/// Opens a turn. It is boxed, because it moves through the futures that process it.
pub(crate) fn open(
    pipeline: &Pipeline,
    request: Box<TurnRequest>,
    cancelled: CancellationToken,
) -> Result<Box<Turn>, Box<TurnRefusal>> {
    let TurnRequest { protocol, endpoint, deployment, query, caller, mut headers, body, arrived, record_bodies } =
        *request;
    let mut chat = ModelRequest::parse(protocol, body).map_err(invalid)?;
    if let Some(model) = &deployment {
        chat.set_model(model);
    }
    let name = chat.model().to_owned();
    let alias = pipeline.aliases.get(&name).cloned();
    let settings = alias.clone().unwrap_or_default();
    let facts = facts(&name, alias.as_ref(), caller.as_deref(), &headers);
    let policy = pipeline
        .policies
        .load()
        .resolve(&facts)
        .map_err(|error| invalid(RequestError::new(POLICY_HEADER, "policy_not_selectable", error.to_string())))?;
    let policy = pipeline.switch.in_force(policy);
    let is_background = chat.is_background();
    if is_background && refuses_background(&policy, caller.as_deref()) {
        return Err(invalid(background_refused(&policy)));
    }
    // A response in the background has no output yet.
    let policy = if is_background { unguarded(&policy) } else { policy };
    if policy.mode == Mode::Guard && recovers_without_thread(&chat, &headers) {
        let message = "the proxy does not support threads with tools that it judges; send the request without `thread`";
        return Err(invalid(RequestError::new("thread", THREAD_UNSUPPORTED, message)));
    }
    let tenant = tenant(&caller, &headers);
    let session = session(&caller, &headers, &chat);
    let mut fallbacks = route(pipeline, &name, &settings, session.as_deref(), &chat);
    if let Some(error) = no_upstream(&fallbacks, protocol) {
        return Err(invalid(error));
    }
    fallbacks.retain(|(upstream, _)| upstream.settings().serves(protocol));
    let (upstream, model) = fallbacks.pop_front().unwrap_or_else(|| (pipeline.upstream(""), name.clone()));
    let request_permit =
        admit(pipeline, &caller, &chat, std::iter::once(&model).chain(fallbacks.iter().map(|(_, model)| model)))?;
    let debug = text(&headers, DEBUG_HEADER).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let started_at = Timestamp::now();
    let memory = uses_memory(&policy).then(|| MemoryNote {
        reflect: policy.recall.reflect && !policy.recall.group.is_empty(),
        ..MemoryNote::of(scope(&policy, &tenant))
    });
    let keep_bodies = policy.record.bodies || record_bodies || pipeline.settings.record_bodies;
    let trace = Trace {
        id: ids::trace_id(started_at),
        started_at,
        session,
        tenant,
        key: caller.as_deref().map(KnownKey::note),
        endpoint: endpoint.to_owned(),
        model: name,
        upstream: upstream.name().to_owned(),
        policy: policy.name.clone(),
        mode: policy.mode,
        stream: chat.is_stream(),
        memory,
        request: keep_bodies.then(|| chat.to_value()),
        ..Trace::default()
    };
    let record = Box::new(TurnRecord::open(trace, keep_bodies, arrived));
    let span = pipeline.spans.begin(&headers, &record.trace.id);
    if let Some(span) = &span {
        headers.insert(TRACEPARENT, span.header());
        if !span.has_parent() {
            // The vendors' `tracestate` belongs to a trace that is not continued.
            headers.remove(TRACESTATE);
        }
    }
    if chat.is_stream() {
        // A stream may stay open for minutes.
        detach_headers(&mut headers);
    }
    let toolsets = if policy.mode == Mode::Guard { settings.toolsets } else { Vec::new() };
    Ok(Box::new(Turn {
        request: chat,
        query,
        headers,
        tooling: pipeline.tooling.load_full(),
        learned: pipeline.memory.load_full(),
        policy,
        upstream,
        model,
        fallbacks,
        toolsets,
        debug,
        max_stream_bytes: pipeline.settings.max_stream_bytes,
        call_states: CallStates::default(),
        record,
        cancelled,
        answer_status: StatusCode::OK,
        answer_headers: HeaderMap::new(),
        memory: AnswerMemory::default(),
        streamed: StreamProgress::new(protocol),
        span,
        in_flight: pipeline.metrics.turn_started(),
        request_permit,
    }))
}

/// Admits the turn if its key may use the model and is within its limits.
fn admit<'a>(
    pipeline: &Pipeline,
    caller: &Caller,
    chat: &ModelRequest,
    targets: impl Iterator<Item = &'a String>,
) -> Result<Option<RequestPermit>, Box<TurnRefusal>> {
    let Some(known) = caller else { return Ok(None) };
    let targets: Vec<&str> = targets.map(String::as_str).collect();
    let tokens = (chat.size().div_ceil(BYTES_PER_TOKEN) as u64, chat.max_answer_tokens());
    let admitted =
        pipeline.access.admit(caller, RequestedAccess::Turn { model: chat.model(), targets: &targets, tokens });
    let result =
        admitted.as_ref().map_or_else(|refused| KeyResult::of_limit(refused.limit.label()), |_| KeyResult::Admitted);
    pipeline.metrics.key_requests.inc(&known.key().group, result);
    admitted.map_err(|refused| {
        let status = StatusCode::from_u16(refused.limit.status()).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
        Box::new(TurnRefusal { status, headers: refusal_headers(&refused), error: refusal_body(&refused) })
    })
}

/// Returns the facts of a key for policy selection.
fn key_facts(known: &KnownKey) -> KeyFacts<'_> {
    let key = known.key();
    KeyFacts { name: &key.name, group: &key.group, policy: &key.policy, selectable_policies: &key.selectable_policies }
}

/// Returns the upstreams with the model's names there, in failover order. Turns without a session are routed by their
/// first messages.
fn route(
    pipeline: &Pipeline,
    name: &str,
    alias: &AliasSettings,
    session: Option<&str>,
    chat: &ModelRequest,
) -> VecDeque<(Arc<Upstream>, String)> {
    let order = match session {
        _ if alias.targets.is_empty() => targets(name, alias, ""),
        Some(session) => targets(name, alias, session),
        None => targets(name, alias, &chat.first_messages_text()),
    };
    order.into_iter().map(|target| (pipeline.upstream(&target.upstream), target.model)).collect()
}

/// Header field in which Anthropic's SDKs name the helpers that made a request, and the helper that runs tools.
const HELPERS: &str = "x-stainless-helper";
const TOOL_RUNNER: &str = "BetaToolRunner";

/// Whether the client begins a `thread` at the provider by default, and repeats a request without one if the server does
/// not support it. A provider's thread has the model's own calls, so that faults in it cannot be sent back.
fn recovers_without_thread(chat: &ModelRequest, headers: &HeaderMap) -> bool {
    let helpers = headers.get_all(HELPERS).iter().filter_map(|names| names.to_str().ok());
    chat.is_threaded()
        && chat.tools_text().is_some()
        && helpers.flat_map(|names| names.split(',')).any(|name| name.trim() == TOOL_RUNNER)
}

/// Whether a policy refuses a response in the background, which would leave its guard.
fn refuses_background(policy: &Policy, known: Option<&KnownKey>) -> bool {
    let is_bound = known.is_some_and(|known| !known.key().policy.is_empty());
    policy.mode == Mode::Guard
        && match policy.background {
            BackgroundRule::Unguarded => false,
            BackgroundRule::Auto => is_bound,
            BackgroundRule::Refuse => true,
        }
}

fn background_refused(policy: &Policy) -> RequestError {
    let message = format!(
        "the policy `{}` does not permit responses in the background, which it cannot judge: send the request without \
             `background`; the proxy's operator can also set `background: unguarded` in the policy",
        policy.name
    );
    RequestError::new("background", "background_not_allowed", message)
}

/// Returns a policy that validates nothing.
fn unguarded(policy: &Policy) -> Arc<Policy> {
    Arc::new(Policy { mode: Mode::Off, ..Policy::clone(policy) })
}

/// Returns the error for a model none of whose upstreams serves the protocol.
fn no_upstream(targets: &VecDeque<(Arc<Upstream>, String)>, protocol: Protocol) -> Option<RequestError> {
    let (first, _) = targets.front()?;
    if targets.iter().any(|(upstream, _)| upstream.settings().serves(protocol)) {
        return None;
    }
    let name = first.name();
    let message = format!(
        "the upstream `{name}` of this model does not serve {}; use another model, or add `{protocol}` to \
             `upstreams.{name}.protocols`",
        protocol.path()
    );
    Some(RequestError::new("model", "protocol_not_served", message))
}

/// Whether the turn uses lessons or procedures, or is used for learning.
fn uses_memory(policy: &Policy) -> bool {
    policy.mode == Mode::Guard
        && (policy.recall.lessons > 0 || policy.recall.learn || policy.procedures != ProceduresMode::Off)
}

/// Returns the scope of the memory that a turn uses.
fn scope(policy: &Policy, tenant: &str) -> Scope {
    match policy.recall.group.as_str() {
        "" => Scope::of_key(tenant),
        group => Scope::of_group(group),
    }
}

/// Refuses a request because too many large requests are queued.
pub(crate) fn shed(overloaded: Overloaded) -> Box<TurnRefusal> {
    let error = RequestError { message: overloaded.to_string(), param: None, code: Some("overloaded".to_owned()) };
    let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from(OVERLOAD_RETRY_SECONDS))]);
    Box::new(TurnRefusal { status: StatusCode::SERVICE_UNAVAILABLE, headers, error: error.into() })
}

fn invalid(error: RequestError) -> Box<TurnRefusal> {
    Box::new(TurnRefusal { status: StatusCode::BAD_REQUEST, headers: HeaderMap::new(), error: error.into() })
}

/// Returns the facts for policy selection: the model, which may be an alias, and the virtual key, if any.
pub(in crate::pipeline) fn facts<'a>(
    model: &'a str,
    alias: Option<&'a AliasSettings>,
    key: Option<&'a KnownKey>,
    headers: &'a HeaderMap,
) -> TurnFacts<'a> {
    TurnFacts {
        model,
        alias: alias.map(|_| model),
        alias_policy: alias.map(|alias| alias.policy.as_str()).filter(|policy| !policy.is_empty()),
        key: key.map(key_facts),
        headers,
        requested: text(headers, POLICY_HEADER),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim).filter(|value| !value.is_empty())
}

/// Returns the session: the header; else a hash of the key and the first messages; else none.
fn session(caller: &Caller, headers: &HeaderMap, chat: &ModelRequest) -> Option<String> {
    if let Some(name) = text(headers, SESSION_HEADER) {
        return Some(name.chars().filter(|character| !character.is_control()).take(LINE_CHARS).collect());
    }
    let mut hash = Sha256::new();
    match caller {
        Some(known) => hash.update(known.key().id.as_bytes()),
        None => hash.update(client_key(headers)?.as_bytes()),
    }
    hash.update([0]);
    hash.update(chat.first_messages_text());
    let digest = hash.finalize();
    Some(format!("auto-{}", hex(digest.get(..SESSION_HASH_BYTES)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(text: &str) -> ModelRequest {
        let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text}"}}]}}"#);
        ModelRequest::parse(callwright_types::Protocol::Chat, Bytes::from(body)).unwrap()
    }

    #[test]
    fn a_session_is_the_header_or_key_and_first_messages_or_none() {
        let mut headers = HeaderMap::new();
        assert_eq!(session(&None, &headers, &chat("hello")), None);
        headers.insert("authorization", "Bearer a".parse().unwrap());
        let hashed = session(&None, &headers, &chat("hello")).unwrap();
        assert_eq!(Some(&hashed), session(&None, &headers, &chat("hello")).as_ref());
        assert_ne!(Some(&hashed), session(&None, &headers, &chat("bye")).as_ref());
        assert!(!hashed.contains("Bearer"));
        headers.insert(SESSION_HEADER, "checkout 7".parse().unwrap());
        assert_eq!(session(&None, &headers, &chat("hello")).as_deref(), Some("checkout 7"));
    }
}
