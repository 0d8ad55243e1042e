//! `GET /admin/policies`, `POST /admin/policies/explain`: the policies in force, and the policy that a request would
//! get.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::api_operation::{ApiParts, for_operators};
use crate::http::api_schema::{
    array, boolean, closed_object, integer, map_of, named, object, optional, required, text, text_like,
};
use crate::http::state::OperatorSide;
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
    let asked: ExplainBody = match json::object(&body) {
        Ok(asked) => asked,
        Err(error) => {
            return error::invalid_body(format!(
                "the body must be an object with `request` and optional `headers` and `key`: {error}"
            ));
        }
    };
    let Some(model) = asked.request.get("model").and_then(Value::as_str) else {
        return error::invalid_body("`request` has no `model`; it must be the body of a chat request".to_owned());
    };
    let fields = match fields(&asked.headers) {
        Ok(fields) => fields,
        Err(message) => return error::invalid_body(message),
    };
    let keys = side.access.keys();
    let key = match asked.key.as_deref().map(|name| keys.get(name).ok_or(name)).transpose() {
        Ok(key) => key,
        Err(name) => return error::invalid_body(format!("there is no key `{name}`; `GET /admin/keys` lists them")),
    };
    match side.pipeline.inspect().explain(model, key.map(|key| &**key), &fields) {
        Ok(explained) => json::value(StatusCode::OK, &explained),
        Err(error) => error::invalid_request(StatusCode::BAD_REQUEST, error.to_string(), "policy_not_selectable"),
    }
}

fn fields(headers: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
    let mut fields = HeaderMap::new();
    for (name, value) in headers {
        let known: HeaderName = name.parse().map_err(|_| format!("`{name}` is not a header field name"))?;
        let value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of `{name}` has characters that are invalid in a header field"))?;
        fields.append(known, value);
    }
    Ok(fields)
}

/// Values of header fields (RFC 9110, section 5.5).
const FIELD_VALUE: &str = r"^[^\x00-\x08\x0a-\x1f\x7f]*$";

/// Describes the operations.
pub(in crate::http) fn describe(api: &mut ApiParts) {
    let list_operation = for_operators("listPolicies", "Lists the policies in the order of evaluation.")
        .responds(200, "All policies.", object([required("policies", array(named("Policy")))]))
        .fails([401]);
    api.operation(Method::GET, "/admin/policies", list_operation);
    let headers = map_of(text_like(FIELD_VALUE, 0, None)).about("Header fields of the request, by their names.");
    let key = text().or_null().about("Id or name of the request's virtual key.");
    let request = closed_object([
        required("request", object([required("model", text())])),
        optional("headers", headers),
        optional("key", key),
    ]);
    let explain_operation =
        for_operators("explainPolicy", "Returns the policy that a request would get, and the reason.")
            .body(request)
            .responds(200, "The policy.", named("Explained"))
            .fails([400, 401, 413, 415]);
    api.operation(Method::POST, "/admin/policies/explain", explain_operation);
    api.schema(
        "Policy",
        object([
            required("name", text()),
            required("mode", named("Mode")),
            required("priority", integer()),
            required("is_default", boolean()),
            required("aliases", array(text())),
        ]),
    );
    api.schema(
        "Explained",
        object([
            required("model", text()),
            required("alias", boolean()),
            required("policy", text()),
            required("mode", named("Mode")),
            required("base", text()),
            required("because", text()),
            required("considered", array(object([]))),
            required("rules", object([])),
        ]),
    );
}
