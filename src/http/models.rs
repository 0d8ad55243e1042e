//! `GET /v1/models`: the upstream's models and our aliases.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;

use crate::openai;
use crate::pipeline::PassThrough;
use crate::upstream::RequestBody;

use super::error;
use super::router::ClientSide;

/// Who an alias belongs to, in the list.
const OWNER: &str = "callwright";

/// Lists models. Without aliases the upstream's list passes untouched; with an upstream that gives none, the aliases are
/// listed alone.
pub(super) async fn list(State(side): State<ClientSide>, headers: HeaderMap) -> Response {
    let aliases: Vec<(&str, &str)> = side.pipeline.alias_names().map(|name| (name, OWNER)).collect();
    let request = PassThrough {
        method: Method::GET,
        path_and_query: "/models".to_owned(),
        headers: without_encoding(headers),
        body: RequestBody::default(),
    };
    let answer = match side.pipeline.pass_through(request).await {
        Ok(answer) => answer,
        Err(failure) if aliases.is_empty() => return error::upstream_failure(&failure),
        Err(_) => return json(openai::model_list(&aliases).to_string()),
    };
    let (status, mut headers) = (answer.status, answer.headers.clone());
    let Ok(body) = answer.whole().await else { return json(openai::model_list(&aliases).to_string()) };
    if !aliases.is_empty() && has_no_list(status) {
        return json(openai::model_list(&aliases).to_string());
    }
    let merged = if aliases.is_empty() { None } else { openai::merge_model_lists(&body, &aliases) };
    if status.is_success() && merged.is_none() && !aliases.is_empty() {
        return json(openai::model_list(&aliases).to_string());
    }
    headers.remove(header::CONTENT_LENGTH);
    let mut response = Response::new(Body::from(merged.filter(|_| status.is_success()).unwrap_or(body)));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Does the upstream say that it knows no such path? (A missing key, say, is the client's to hear of.)
fn has_no_list(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED)
}

/// The list may have to be read.
fn without_encoding(mut headers: HeaderMap) -> HeaderMap {
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers
}

fn json(text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
