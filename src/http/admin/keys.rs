//! `GET`, `POST /admin/keys`, `GET`, `PATCH /admin/keys/{id}`, `POST /admin/keys/{id}/rotate`, `.../revoke`: virtual
//! keys.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use jiff::SignedDuration;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::http::api_operation::{ApiOperation, ApiParts, for_operators};
use crate::http::api_schema::{
    ApiMember, ApiSchema, amount, array, array_up_to, closed_object, count, named, object, one_of, optional, required,
    text, text_like, text_of, time,
};
use crate::http::query::ParsedQuery;
use crate::http::state::OperatorSide;
use crate::http::{error, json};
use crate::keys::{
    IssuedSecret, KeyChange, KeyDraft, KeyError, KeyReport, KeyState, MAX_DAYS, MAX_GLOB, MAX_NAME, MAX_NAMES,
    Registrar,
};
use callwright_types::BudgetPeriod;

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
    let policies = side.pipeline.policies.load_full();
    let named = change.policy.iter().chain(change.selectable_policies.iter().flatten()).filter(|name| !name.is_empty());
    let unknown = named.into_iter().find(|name| policies.get(name).is_none())?;
    let known: Vec<&str> = policies.policies().map(|policy| policy.name.as_str()).collect();
    let message = format!("there is no policy `{unknown}`; known policies: {}", known.join(", "));
    Some(error::invalid_body(message))
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
        Box::new(error::invalid_body(message))
    })
}

/// Describes the operations.
pub(in crate::http) fn describe(api: &mut ApiParts) {
    let list_operation = for_operators("listKeys", "Lists the virtual keys with their usage.")
        .query("group", text(), "Only keys of this group.")
        .query("state", one_of(KEY_STATES), "Only keys in this state.")
        .responds(200, "All selected keys.", object([required("keys", array(named("Key")))]))
        .fails([400, 401, 503]);
    api.operation(Method::GET, "/admin/keys", list_operation);
    let create_operation = for_operators("createKey", "Creates a key.")
        .body(named("KeyDraft"))
        .responds(201, "The key with its secret.", named("IssuedKey"))
        .fails([400, 401, 409, 413, 415, 503]);
    api.operation(Method::POST, "/admin/keys", create_operation);
    let show_operation = of_key(for_operators("showKey", "Returns one key."))
        .responds(200, "The key.", named("Key"))
        .fails([400, 401, 404, 503]);
    api.operation(Method::GET, "/admin/keys/{id}", show_operation);
    let update_operation = of_key(for_operators("updateKey", "Changes a key.")).body(named("KeyChange")).responds(
        200,
        "The changed key.",
        named("Key"),
    );
    api.operation(Method::PATCH, "/admin/keys/{id}", update_operation.fails(CHANGE_FAILURES));
    let grace = count(Some(u32::MAX)).about("Seconds for which the previous secret stays valid.");
    let rotate_operation = of_key(for_operators("rotateKey", "Replaces the secret of a key."))
        .body(closed_object([optional("grace_seconds", grace)]))
        .responds(200, "The key with its new secret.", named("IssuedKey"));
    api.operation(Method::POST, "/admin/keys/{id}/rotate", rotate_operation.fails(CHANGE_FAILURES));
    let revoke_operation = of_key(for_operators("revokeKey", "Revokes a key permanently."))
        .body(closed_object([]))
        .responds(200, "The revoked key.", named("Key"));
    api.operation(Method::POST, "/admin/keys/{id}/revoke", revoke_operation.fails(CHANGE_FAILURES));

    let name = text_like("^[A-Za-z0-9_.-]+$", 1, Some(MAX_NAME));
    api.schema("KeyDraft", closed_object([required("name", name)].into_iter().chain(change_members())));
    api.schema("KeyChange", closed_object(change_members()).about("Members to change; the others stay as they are."));
    let key = object([
        required("id", text()),
        required("name", text()),
        optional("group", text()),
        required("state", one_of(KEY_STATES)),
        optional("prefixes", array(object([]))),
        optional("policy", text()),
        optional("selectable_policies", array(text())),
        optional("models", array(text())),
        optional("pass_through", array(text()).or_null()),
        optional("limits", object([])),
        required("created_at", time()),
        optional("expires_at", time().or_null()),
        optional("revoked_at", time().or_null()),
        optional("usage", object([]).or_null()),
    ]);
    api.schema("Key", key.about("A virtual key without its secret."));
    let secret = text().about("The secret; no other response contains it.");
    api.schema("IssuedKey", object([required("secret", secret), required("key", named("Key"))]));
}

/// Statuses of failed changes of a key.
const CHANGE_FAILURES: [u16; 7] = [400, 401, 404, 409, 413, 415, 503];

const KEY_STATES: [&str; 3] = [KeyState::Active.label(), KeyState::Expired.label(), KeyState::Revoked.label()];

fn of_key(operation: ApiOperation) -> ApiOperation {
    operation.path("id", "Id or name of the key.")
}

/// Returns the members of [`KeyChange`].
fn change_members() -> Vec<ApiMember> {
    let periods = [BudgetPeriod::Day, BudgetPeriod::Month].map(BudgetPeriod::label);
    vec![
        optional("group", text_of(0, Some(MAX_NAME)).or_null().about("Group of the key; empty: none.")),
        optional("policy", text_of(0, Some(MAX_GLOB)).or_null().about("Policy of the key's turns; empty: none.")),
        optional("selectable_policies", texts("Policies that the key's requests may select; empty: none.")),
        optional("models", texts("Globs on the models and aliases that the key may use; empty: all.")),
        optional(
            "pass_through",
            texts(
                "Paths below `/v1` that are passed through for the key, such as `files` or `audio/speech`, each with everything below it; `*`: everything; \
                 `null`: those of `keys.pass_through`.",
            ),
        ),
        optional("requests_per_minute", limit()),
        optional("tokens_per_minute", limit()),
        optional("concurrent_requests", limit()),
        optional("budget", amount(None).or_null().about("Maximum cost per budget period; 0: unlimited.")),
        optional("budget_period", one_of(periods).or_null()),
        optional("expires_in_days", count(Some(MAX_DAYS)).or_null().about("Days until the key expires; 0: never.")),
    ]
}

fn texts(about: &str) -> ApiSchema {
    array_up_to(MAX_NAMES, text()).or_null().about(about)
}

fn limit() -> ApiSchema {
    count(None).or_null().about("0: unlimited.")
}
