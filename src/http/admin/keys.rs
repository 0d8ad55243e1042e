//! `GET`, `POST /admin/keys`, `GET`, `PATCH /admin/keys/{id}`, `POST /admin/keys/{id}/rotate`, `.../revoke`: virtual
//! keys.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::policy_named;
use crate::http::error::{self, Refusal};
use crate::http::json::{Answer, Json, ParsedQuery, Sent, SentBody};
use crate::http::state::OperatorSide;
use crate::keys::{IssuedSecret, KeyChange, KeyDraft, KeyError, KeyReport, KeyState, Registrar};

/// Filter of the key list; all given conditions must hold.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::http) struct KeyFilter {
    group: Option<String>,
    state: Option<KeyState>,
}

#[derive(Debug, Serialize)]
struct KeyList {
    keys: Vec<KeyReport>,
}

/// A key with its new secret; no other response contains it.
#[derive(Debug, Serialize)]
struct IssuedKey {
    secret: String,
    key: KeyReport,
}

impl SentBody for KeyDraft {
    const NAME: &'static str = "a key";
    const FORM: &'static str = "the body must be an object {\"name\": ...}";
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::http) struct Rotation {
    /// Seconds for which the previous secret stays valid.
    grace_seconds: u32,
}

impl SentBody for Rotation {
    const NAME: &'static str = "a key";
    const FORM: &'static str = "the body must be an object {\"grace_seconds\": 3600}";
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Update {
    #[serde(flatten)]
    change: KeyChange,
}

impl SentBody for Update {
    const NAME: &'static str = "a key";
    const FORM: &'static str = "the body must be an object {} with the members to change";
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct EmptyBody {}

impl SentBody for EmptyBody {
    const NAME: &'static str = "a key";
    const FORM: &'static str = "the body must be an object {}";
}

/// Returns the keys known to this process in the order of creation, with their usage.
pub(in crate::http) async fn list(
    State(side): State<OperatorSide>,
    ParsedQuery(KeyFilter { group, state }): ParsedQuery<KeyFilter>,
) -> Answer<impl Serialize> {
    read(&side).await?;
    let mut keys: Vec<KeyReport> = side.access.keys().iter().map(|known| side.access.report(known.key())).collect();
    keys.retain(|key| {
        group.as_ref().is_none_or(|group| *group == key.group) && state.is_none_or(|state| state == key.state)
    });
    keys.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(Json(KeyList { keys }))
}

pub(in crate::http) async fn show(State(side): State<OperatorSide>, Path(id): Path<String>) -> Answer<impl Serialize> {
    read(&side).await?;
    let keys = side.access.keys();
    let known = keys.get(&id).ok_or(KeyError::NotFound(id))?;
    Ok(Json(side.access.report(known.key())))
}

/// Creates a key. Only this response contains its secret.
pub(in crate::http) async fn create(
    State(side): State<OperatorSide>,
    Sent(draft): Sent<KeyDraft>,
) -> Result<Response, Refusal> {
    check_policies(&side, &draft.change)?;
    let issued = issued(&side, Registrar::of(&side.store).create(&draft).await?).await;
    Ok((StatusCode::CREATED, Json(issued)).into_response())
}

/// Changes a key.
pub(in crate::http) async fn update(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    Sent(Update { change }): Sent<Update>,
) -> Answer<impl Serialize> {
    check_policies(&side, &change)?;
    let key = Registrar::of(&side.store).update(&id, &change).await?;
    known_here(&side).await;
    Ok(Json(key))
}

/// Replaces the secret of a key.
pub(in crate::http) async fn rotate(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    Sent(Rotation { grace_seconds }): Sent<Rotation>,
) -> Answer<impl Serialize> {
    let grace = SignedDuration::from_secs(i64::from(grace_seconds));
    Ok(Json(issued(&side, Registrar::of(&side.store).rotate(&id, grace).await?).await))
}

pub(in crate::http) async fn revoke(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    _: Sent<EmptyBody>,
) -> Answer<impl Serialize> {
    let key = Registrar::of(&side.store).revoke(&id).await?;
    known_here(&side).await;
    Ok(Json(key))
}

async fn issued(side: &OperatorSide, IssuedSecret { key, secret }: IssuedSecret) -> IssuedKey {
    known_here(side).await;
    IssuedKey { secret: secret.expose().to_owned(), key }
}

/// Reads the changes in the store. Loaded keys are shown also if that fails.
async fn read(side: &OperatorSide) -> Result<(), Refusal> {
    match side.access.refresh().await {
        Err(failure) if !side.access.is_loaded() => Err(failure.into()),
        _ => Ok(()),
    }
}

/// Applies the change to this process at once; other processes follow through the store.
async fn known_here(side: &OperatorSide) {
    if let Err(error) = side.access.refresh().await {
        tracing::warn!(%error, "a key was changed, but cannot be read back from the store yet");
    }
}

impl From<KeyError> for Refusal {
    fn from(failure: KeyError) -> Self {
        let (status, code) = match failure {
            KeyError::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
            KeyError::NameTaken(_) => (StatusCode::CONFLICT, "name_taken"),
            KeyError::Revoked(_) => (StatusCode::CONFLICT, "key_revoked"),
            KeyError::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid_body"),
            KeyError::Busy(_) | KeyError::NoRandom => {
                return error::unavailable(failure.to_string(), "store_busy").into();
            }
            KeyError::Store(failure) => return failure.into(),
        };
        error::invalid_request(status, failure.to_string(), code).into()
    }
}

/// Checks that the policies exist which the change names.
fn check_policies(side: &OperatorSide, change: &KeyChange) -> Result<(), Refusal> {
    let mut named = change.policy.iter().chain(change.selectable_policies.iter().flatten());
    named.try_for_each(|name| if name.is_empty() { Ok(()) } else { policy_named(side, name) })
}
