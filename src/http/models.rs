//! `GET /v1/models`: the upstream's models and the proxy's aliases.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::Response;

use crate::keys::{KnownKey, RequestedAccess};
use crate::pipeline::PassThrough;
use callwright_openai as openai;
use callwright_types::UpstreamFailure;
use callwright_upstream::RequestBody;

use super::api_operation::{ApiParts, for_clients};
use super::api_schema::{array, object, optional, required, text};
use super::caller::Caller;
use super::state::ClientSide;
use super::{error, json, pass_through, rate_limit};

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
) -> Response {
    let _admission = match pass_through::admit(&side, &caller, LISTING) {
        Ok(request_permit) => request_permit,
        Err(refusal) => return *refusal,
    };
    let mut response = listed(&side, caller.as_deref(), uri.query(), headers).await;
    rate_limit::mark(response.headers_mut(), &side.access.standing(&caller));
    response
}

/// Returns the list of models. Without aliases, the upstream's list or failure is returned unchanged. If the upstream
/// has no list, only the aliases are listed. A restricted key sees only its allowed models. Of several pages, the first one
/// has the aliases.
async fn listed(side: &ClientSide, key: Option<&KnownKey>, query: Option<&str>, headers: HeaderMap) -> Response {
    let restricted = key.filter(|key| key.is_restricted());
    let is_first = query.is_none_or(|query| !continues(query));
    let aliases = side.pipeline.alias_names().filter(|_| is_first);
    let aliases = aliases.filter(|name| restricted.is_none_or(|key| key.allows(name)));
    let aliases: Vec<(&str, &str)> = aliases.map(|name| (name, OWNER)).collect();
    let mut theirs = theirs(side, query, headers).await;
    if let Some(key) = restricted
        && let Ok(theirs) = &mut theirs
        && theirs.status.is_success()
    {
        // A list that cannot be parsed is not shown to a restricted key.
        theirs.body = openai::filter_model_list(&theirs.body, |name| key.allows(name))
            .unwrap_or_else(|| openai::model_list(&[]).to_string().into());
    }
    if aliases.is_empty() {
        return theirs.map_or_else(|failure| error::upstream_failure(&failure), UpstreamModelList::into_response);
    }
    if let Ok(theirs) = theirs {
        if theirs.status.is_success() {
            if let Some(body) = openai::merge_model_lists(&theirs.body, &aliases) {
                return UpstreamModelList { body, ..theirs }.into_response();
            }
        } else if !has_no_list(theirs.status) {
            return theirs.into_response();
        }
    }
    json::text(StatusCode::OK, openai::model_list(&aliases).to_string())
}

/// Response of the upstream.
struct UpstreamModelList {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl UpstreamModelList {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response.headers_mut().remove(header::CONTENT_LENGTH);
        response
    }
}

/// Members of a query that continue a list.
const CURSORS: [&str; 4] = ["after", "after_id", "before", "before_id"];

/// Whether a query requests a page behind or before another one.
fn continues(query: &str) -> bool {
    url::form_urlencoded::parse(query.as_bytes()).any(|(name, _)| CURSORS.contains(&name.as_ref()))
}

async fn theirs(
    side: &ClientSide,
    query: Option<&str>,
    headers: HeaderMap,
) -> Result<UpstreamModelList, UpstreamFailure> {
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let request = PassThrough {
        method: Method::GET,
        path_and_query: format!("/models{query}"),
        headers: for_list(headers),
        body: RequestBody::default(),
        upstream: None,
    };
    let mut answer = side.pipeline.pass_through(request).await?;
    let (status, headers) = (answer.status, answer.headers.clone());
    // A body that is encoded anyway cannot be read here, and an error may have any form.
    let is_readable = status.is_success() && !headers.contains_key(header::CONTENT_ENCODING);
    let body = if is_readable { answer.whole_json().await? } else { answer.whole().await? };
    Ok(UpstreamModelList { status, headers, body })
}

/// Whether the upstream has no such path. (A missing key, in contrast, is reported to the client.)
fn has_no_list(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED)
}

/// Returns the header fields of the list request, whose response may have to be parsed here. The client's body is not
/// sent, and therefore not its length either.
fn for_list(mut headers: HeaderMap) -> HeaderMap {
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers
}

/// Describes the operation.
pub(super) fn describe(api: &mut ApiParts) {
    let model = object([required("id", text())]);
    let models = object([optional("object", text()), required("data", array(model))]);
    let operation = for_clients("listModels", "Lists the provider's models and the proxy's aliases.")
        .responds(200, "The models.", models)
        .fails([401, 403, 429, 502, 503, 504]);
    api.operation(Method::GET, "/v1/models", operation);
}
