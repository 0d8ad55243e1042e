//! `GET`, `POST /admin/keys`, `GET`, `PATCH /admin/keys/{id}`, `POST /admin/keys/{id}/rotate`, `.../revoke`: virtual
//! keys.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use jiff::SignedDuration;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::http::asked::ParsedQuery;
use crate::http::router::OperatorSide;
use crate::http::{error, json};
use crate::keys::{IssuedSecret, KeyChange, KeyDraft, KeyError, KeyReport, KeyState, Registrar};

/// Maximum number of bytes of a body, far above what the limits of its texts need.
pub(in crate::http) const MAX_BODY: usize = 128 * 1024;

/// Filter of the key list; all given conditions must hold.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::http) struct KeyFilter {
    group: Option<String>,
    state: Option<KeyStateFilter>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeyStateFilter {
    Active,
    Expired,
    Revoked,
}

#[derive(Debug, Serialize)]
struct KeyList {
    keys: Vec<KeyReport>,
}

/// A key with its new secret; no other response contains it.
#[derive(Debug, Serialize)]
struct IssuedKey<'a> {
    secret: &'a str,
    key: &'a KeyReport,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Rotation {
    /// Seconds for which the previous secret stays valid.
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
struct EmptyBody {}

/// Returns the keys known to this process in the order of creation, with their usage.
pub(in crate::http) async fn list(
    State(side): State<OperatorSide>,
    ParsedQuery(filter): ParsedQuery<KeyFilter>,
) -> Response {
    if let Some(refusal) = unread(&side).await {
        return refusal;
    }
    let mut keys: Vec<KeyReport> = side.access.keys().iter().map(|known| side.access.report(known.key())).collect();
    let state = filter.state.map(|state| match state {
        KeyStateFilter::Active => KeyState::Active,
        KeyStateFilter::Expired => KeyState::Expired,
        KeyStateFilter::Revoked => KeyState::Revoked,
    });
    keys.retain(|key| {
        filter.group.as_ref().is_none_or(|group| *group == key.group) && state.is_none_or(|state| state == key.state)
    });
    keys.sort_by(|one, other| one.id.cmp(&other.id));
    json::value(StatusCode::OK, &KeyList { keys })
}

/// Returns one key.
pub(in crate::http) async fn show(State(side): State<OperatorSide>, Path(id): Path<String>) -> Response {
    if let Some(refusal) = unread(&side).await {
        return refusal;
    }
    match side.access.keys().get(&id) {
        Some(known) => json::value(StatusCode::OK, &side.access.report(known.key())),
        None => failed(&KeyError::NotFound(id)),
    }
}

/// Creates a key. Only this response contains its secret.
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
    let Update { change } = match sent(&headers, body, "{} with the members to change") {
        Ok(update) => update,
        Err(refusal) => return *refusal,
    };
    if let Some(refusal) = lacks_policy(&side, &change) {
        return refusal;
    }
    changed(&side, Registrar::of(&side.store).update(&id, &change).await).await
}

/// Replaces the secret of a key.
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

/// Revokes a key.
pub(in crate::http) async fn revoke(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    if let Err(refusal) = sent::<EmptyBody>(&headers, body, "{}") {
        return *refusal;
    }
    changed(&side, Registrar::of(&side.store).revoke(&id).await).await
}

async fn issued(side: &OperatorSide, result: Result<IssuedSecret, KeyError>, status: StatusCode) -> Response {
    match result {
        Ok(IssuedSecret { key, secret }) => {
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

/// Reads the changes in the store. Returns an error response if that fails and the keys were never loaded.
async fn unread(side: &OperatorSide) -> Option<Response> {
    let failure = side.access.refresh().await.err()?;
    (!side.access.is_loaded()).then(|| error::store(&failure))
}

/// Applies the change to this process at once; other processes follow through the store.
async fn known_here(side: &OperatorSide) {
    if let Err(error) = side.access.refresh().await {
        tracing::warn!(%error, "a key was changed, but cannot be read back from the store yet");
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

/// Returns an error response if the change names a policy that does not exist.
fn lacks_policy(side: &OperatorSide, change: &KeyChange) -> Option<Response> {
    let policies = side.pipeline.policies();
    let selectable = change.selectable.iter().flatten().flatten();
    let named = change.policy.iter().chain(selectable).filter(|name| !name.is_empty());
    let unknown = named.into_iter().find(|name| policies.get(name).is_none())?;
    let known: Vec<&str> = policies.policies().map(|policy| policy.name.as_str()).collect();
    let message = format!("there is no policy `{unknown}`; known policies: {}", known.join(", "));
    Some(error::invalid_request(StatusCode::BAD_REQUEST, message, "invalid_body"))
}

fn sent<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
    form: &str,
) -> Result<T, Box<Response>> {
    let body = json::sent(headers, body, "a key must be JSON")?;
    let body = if body.is_empty() { &b"{}"[..] } else { &body };
    json::object(body).map_err(|error| {
        let message = format!("the body must be an object {form}: {error}");
        Box::new(error::invalid_request(StatusCode::BAD_REQUEST, message, "invalid_body"))
    })
}
