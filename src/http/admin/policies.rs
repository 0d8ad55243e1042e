//! `GET /admin/policies`, `POST /admin/policies/explain`: the policies in force, and the policy that a request would
//! get.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::router::OperatorSide;
use crate::http::{error, json};

/// Returns the policies in the order of evaluation.
pub(in crate::http) async fn list(State(side): State<OperatorSide>) -> Response {
    json::value(StatusCode::OK, &json!({"policies": side.pipeline.inspect().policies()}))
}

/// Body of `explain`: the request to evaluate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExplainBody {
    /// Body of a chat request; only its `model` is used.
    request: Value,
    /// Header fields of the request.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Id or name of the request's virtual key.
    #[serde(default)]
    key: Option<String>,
}

/// Returns the policy that a request would get, and the reason.
pub(in crate::http) async fn explain(
    State(side): State<OperatorSide>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let body = match json::sent(&headers, body, "the request to explain must be JSON") {
        Ok(body) => body,
        Err(refusal) => return *refusal,
    };
    let invalid = |message: String| error::invalid_request(StatusCode::BAD_REQUEST, message, "invalid_body");
    let asked: ExplainBody = match json::object(&body) {
        Ok(asked) => asked,
        Err(error) => {
            return invalid(format!(
                "the body must be an object with `request` and optional `headers` and `key`: {error}"
            ));
        }
    };
    let Some(model) = asked.request.get("model").and_then(Value::as_str) else {
        return invalid("`request` has no `model`; it must be the body of a chat request".to_owned());
    };
    let fields = match fields(&asked.headers) {
        Ok(fields) => fields,
        Err(message) => return invalid(message),
    };
    let keys = side.access.keys();
    let key = match asked.key.as_deref().map(|name| keys.get(name).ok_or(name)).transpose() {
        Ok(key) => key,
        Err(name) => return invalid(format!("there is no key `{name}`; `GET /admin/keys` lists them")),
    };
    match side.pipeline.inspect().explain(model, key.map(|key| &**key), &fields) {
        Ok(explained) => json::value(StatusCode::OK, &explained),
        Err(error) => error::invalid_request(StatusCode::BAD_REQUEST, error.to_string(), "policy_not_selectable"),
    }
}

fn fields(headers: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
    let field = |(name, value): (&String, &String)| {
        let known: HeaderName = name.parse().map_err(|_| format!("`{name}` is not a header field name"))?;
        let value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of `{name}` has characters that are invalid in a header field"))?;
        Ok((known, value))
    };
    headers.iter().map(field).collect()
}
