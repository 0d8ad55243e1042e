//! `GET`, `POST /admin/keys`, `GET`, `PATCH /admin/keys/{id}`, `POST /admin/keys/{id}/rotate`, `.../revoke`: virtual keys.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use jiff::SignedDuration;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::http::asked::Asked;
use crate::http::router::OperatorSide;
use crate::http::{error, json};
use crate::keys::{Issued, KeyChange, KeyDraft, KeyError, KeyReport, KeyState, Registrar};

/// Bytes of what is sent, far above what the limits of its texts need.
pub(in crate::http) const MAX_BODY: usize = 128 * 1024;

/// Which keys a list has: those for which everything that is given holds.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::http) struct KeyFilter {
    group: Option<String>,
    state: Option<Wanted>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wanted {
    Active,
    Expired,
    Revoked,
}

#[derive(Debug, Serialize)]
struct KeyList {
    keys: Vec<KeyReport>,
}

/// A key with its new secret: the only answer that has it.
#[derive(Debug, Serialize)]
struct IssuedKey<'a> {
    secret: &'a str,
    key: &'a KeyReport,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Rotation {
    /// Seconds for which the secret before holds.
    grace_seconds: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    #[serde(flatten)]
    change: KeyChange,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// The keys that this process knows, in the order in which they were made, with what they used.
pub(in crate::http) async fn list(State(side): State<OperatorSide>, Asked(filter): Asked<KeyFilter>) -> Response {
    if let Some(refusal) = unread(&side).await {
        return refusal;
    }
    let mut keys: Vec<KeyReport> = side.access.keys().iter().map(|known| side.access.report(known.key())).collect();
    let state = filter.state.map(|state| match state {
        Wanted::Active => KeyState::Active,
        Wanted::Expired => KeyState::Expired,
        Wanted::Revoked => KeyState::Revoked,
    });
    keys.retain(|key| {
        filter.group.as_ref().is_none_or(|group| *group == key.group) && state.is_none_or(|state| state == key.state)
    });
    keys.sort_by(|one, other| one.id.cmp(&other.id));
    json::value(StatusCode::OK, &KeyList { keys })
}

/// One key.
pub(in crate::http) async fn show(State(side): State<OperatorSide>, Path(id): Path<String>) -> Response {
    if let Some(refusal) = unread(&side).await {
        return refusal;
    }
    match side.access.keys().get(&id) {
        Some(known) => json::value(StatusCode::OK, &side.access.report(known.key())),
        None => failed(&KeyError::NotFound(id)),
    }
}

/// Makes a key. The answer has its secret, which nothing will show again.
pub(in crate::http) async fn create(
    State(side): State<OperatorSide>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let draft: KeyDraft = match sent(&headers, body, "{\"name\": ...}") {
        Ok(draft) => draft,
        Err(refusal) => return *refusal,
    };
    if let Some(refusal) = lacks_policy(&side, &draft.change) {
        return refusal;
    }
    issued(&side, Registrar::of(&side.store).create(&draft).await, StatusCode::CREATED).await
}

/// Changes a key.
pub(in crate::http) async fn update(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let Update { change } = match sent(&headers, body, "{} with what is to be changed") {
        Ok(update) => update,
        Err(refusal) => return *refusal,
    };
    if let Some(refusal) = lacks_policy(&side, &change) {
        return refusal;
    }
    changed(&side, Registrar::of(&side.store).update(&id, &change).await).await
}

/// Gives a key a new secret.
pub(in crate::http) async fn rotate(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let Rotation { grace_seconds } = match sent(&headers, body, "{\"grace_seconds\": 3600}") {
        Ok(rotation) => rotation,
        Err(refusal) => return *refusal,
    };
    let grace = SignedDuration::from_secs(i64::from(grace_seconds));
    issued(&side, Registrar::of(&side.store).rotate(&id, grace).await, StatusCode::OK).await
}

/// Ends a key.
pub(in crate::http) async fn revoke(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    if let Err(refusal) = sent::<Nothing>(&headers, body, "{}") {
        return *refusal;
    }
    changed(&side, Registrar::of(&side.store).revoke(&id).await).await
}

async fn issued(side: &OperatorSide, result: Result<Issued, KeyError>, status: StatusCode) -> Response {
    match result {
        Ok(Issued { key, secret }) => {
            known_here(side).await;
            json::value(status, &IssuedKey { secret: secret.expose(), key: &key })
        }
        Err(error) => failed(&error),
    }
}

async fn changed(side: &OperatorSide, result: Result<KeyReport, KeyError>) -> Response {
    match result {
        Ok(key) => {
            known_here(side).await;
            json::value(StatusCode::OK, &key)
        }
        Err(error) => failed(&error),
    }
}

/// Reads what is new in the store. Where that does not work and was not done before, there is nothing to be told.
async fn unread(side: &OperatorSide) -> Option<Response> {
    let failure = side.access.refresh().await.err()?;
    (!side.access.is_loaded()).then(|| error::store(&failure))
}

/// What was answered holds in this process at once; others hear of it.
async fn known_here(side: &OperatorSide) {
    if let Err(error) = side.access.refresh().await {
        tracing::warn!(%error, "a key was changed, and cannot be read back yet");
    }
}

fn failed(failure: &KeyError) -> Response {
    let (status, code) = match failure {
        KeyError::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
        KeyError::NameTaken(_) => (StatusCode::CONFLICT, "name_taken"),
        KeyError::Revoked(_) => (StatusCode::CONFLICT, "key_revoked"),
        KeyError::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid_body"),
        KeyError::Busy(_) | KeyError::NoRandom => return error::unavailable(failure.to_string(), "store_busy"),
        KeyError::Store(failure) => return error::store(failure),
    };
    error::invalid_request(status, failure.to_string(), code)
}

/// A policy that a key is to have, and that does not exist.
fn lacks_policy(side: &OperatorSide, change: &KeyChange) -> Option<Response> {
    let policies = side.pipeline.policies();
    let selectable = change.selectable.iter().flatten().flatten();
    let named = change.policy.iter().chain(selectable).filter(|name| !name.is_empty());
    let unknown = named.into_iter().find(|name| policies.get(name).is_none())?;
    let known: Vec<&str> = policies.policies().map(|policy| policy.name.as_str()).collect();
    let message = format!("there is no policy `{unknown}`; there are {}", known.join(", "));
    Some(error::invalid_request(StatusCode::BAD_REQUEST, message, "invalid_body"))
}

fn sent<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
    form: &str,
) -> Result<T, Box<Response>> {
    let body = json::sent(headers, body, "what is said of a key is sent as JSON")?;
    let body = if body.is_empty() { &b"{}"[..] } else { &body };
    json::object(body).map_err(|error| {
        let message = format!("the body must be an object {form}: {error}");
        Box::new(error::invalid_request(StatusCode::BAD_REQUEST, message, "invalid_body"))
    })
}
