//! `GET /admin/policies`, `POST /admin/policies/explain`: the policies in force, and the policy that a request would
//! get.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::http::error;
use crate::http::json::{Answer, Json, Sent, SentBody};
use crate::http::state::OperatorSide;

/// Returns the policies in the order of evaluation.
pub(in crate::http) async fn list(State(side): State<OperatorSide>) -> Json<impl Serialize> {
    Json(json!({"policies": side.pipeline.inspect().policies()}))
}

/// Body of `explain`: the request to evaluate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ExplainBody {
    /// Body of a chat request; only its `model` is used.
    request: Value,
    /// Header fields of the request.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Id or name of the request's virtual key.
    #[serde(default)]
    key: Option<String>,
}

impl SentBody for ExplainBody {
    const NAME: &'static str = "the request to explain";
    const FORM: &'static str = "the body must be an object with `request` and optional `headers` and `key`";
}

/// Returns the policy that a request would get, and the reason.
pub(in crate::http) async fn explain(
    State(side): State<OperatorSide>,
    Sent(ExplainBody { request, headers, key }): Sent<ExplainBody>,
) -> Answer<impl Serialize> {
    let model = request.get("model").and_then(Value::as_str);
    let model =
        model.ok_or_else(|| error::invalid_body("`request` has no `model`; it must be the body of a chat request"))?;
    let fields = fields(&headers).map_err(error::invalid_body)?;
    let keys = side.access.keys();
    let mut of_key = None;
    if let Some(name) = &key {
        let unknown = || error::invalid_body(format!("there is no key `{name}`; `GET /admin/keys` lists them"));
        of_key = Some(&**keys.get(name).ok_or_else(unknown)?);
    }
    let explained = side.pipeline.inspect().explain(model, of_key, &fields);
    Ok(Json(explained.map_err(|error| {
        error::invalid_request(StatusCode::BAD_REQUEST, error.to_string(), "policy_not_selectable")
    })?))
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
