//! `GET /v1/models`: the upstream's models and the proxy's aliases.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;

use crate::keys::{KnownKey, RequestedAccess};
use callwright_wire as openai;

use super::caller::Caller;
use super::error::{self, Refusal};
use super::forwarded::WholeAnswer;
use super::state::ClientSide;
use super::{json, pass_through, rate_limit};

/// Value of `owned_by` for aliases.
const OWNER: &str = "callwright";

/// Permission that listing models requires.
const LISTING: RequestedAccess<'static> = RequestedAccess::PassedThrough { path: "/models", may_use_model: false };

/// Handles `GET /v1/models`.
pub(super) async fn list(
    State(side): State<ClientSide>,
    Caller(caller): Caller,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let _admission = pass_through::admit(&side, &caller, LISTING)?;
    let mut response = listed(&side, caller.as_deref(), uri.query(), headers).await;
    rate_limit::mark(response.headers_mut(), &side.access.standing(&caller));
    Ok(response)
}

/// Returns the list of models. Without aliases, the upstream's list or failure is returned unchanged. If the upstream
/// has no list, only the aliases are listed. A restricted key sees only its allowed models. Of several pages, the first one
/// has the aliases.
async fn listed(side: &ClientSide, key: Option<&KnownKey>, query: Option<&str>, headers: HeaderMap) -> Response {
    let restricted = key.filter(|key| key.is_restricted());
    let is_first = query.is_none_or(|query| !continues(query));
    let aliases = side.pipeline.aliases.keys().map(String::as_str).filter(|_| is_first);
    let aliases = aliases.filter(|name| restricted.is_none_or(|key| key.allows(name)));
    let aliases: Vec<(&str, &str)> = aliases.map(|name| (name, OWNER)).collect();
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let mut theirs = WholeAnswer::of_list(side, format!("/models{query}"), headers).await;
    if let Some(key) = restricted
        && let Ok(theirs) = &mut theirs
        && theirs.status.is_success()
    {
        // A list that cannot be parsed is not shown to a restricted key.
        theirs.body = openai::filter_model_list(&theirs.body, |name| key.allows(name))
            .unwrap_or_else(|| openai::model_list(&[]).to_string().into());
    }
    if aliases.is_empty() {
        return theirs.map_or_else(|failure| error::upstream_failure(&failure), WholeAnswer::into_response);
    }
    if let Ok(theirs) = theirs {
        if theirs.status.is_success() {
            if let Some(body) = openai::merge_model_lists(&theirs.body, &aliases) {
                return WholeAnswer { body, ..theirs }.into_response();
            }
        } else if !has_no_list(theirs.status) {
            return theirs.into_response();
        }
    }
    json::text(StatusCode::OK, openai::model_list(&aliases).to_string())
}

/// Members of a query that continue a list.
const CURSORS: [&str; 4] = ["after", "after_id", "before", "before_id"];

/// Whether a query requests a page behind or before another one.
fn continues(query: &str) -> bool {
    url::form_urlencoded::parse(query.as_bytes()).any(|(name, _)| CURSORS.contains(&name.as_ref()))
}

/// Whether the upstream has no such path. (A missing key, in contrast, is reported to the client.)
fn has_no_list(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED)
}
