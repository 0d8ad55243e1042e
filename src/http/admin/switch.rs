//! `GET /admin/switch`, `POST /admin/switch`: the kill switch.

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use crate::http::router::OperatorSide;
use crate::http::{error, json};

/// Characters of a reason.
const MAX_REASON: usize = 500;

/// Bytes of what is sent, far above what the limits of its texts need.
pub(in crate::http) const MAX_BODY: usize = 16 * 1024;

/// What is sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    off: bool,
    /// The turns of this policy; all turns where it is left out.
    #[serde(default)]
    policy: Option<String>,
    #[serde(default)]
    reason: String,
}

/// What is turned off now.
pub(in crate::http) async fn show(State(side): State<OperatorSide>) -> Response {
    json::value(StatusCode::OK, &*side.pipeline.switch().state())
}

/// Turns off, or on again: everything, or the turns of one policy.
pub(in crate::http) async fn throw(
    State(side): State<OperatorSide>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let body = match json::sent(&headers, body, "the switch is thrown by JSON") {
        Ok(body) => body,
        Err(refusal) => return *refusal,
    };
    let Wanted { off, policy, reason } = match json::object(&body) {
        Ok(wanted) => wanted,
        Err(error) => {
            return invalid(format!(
                "the body must be `{{\"off\": true}}` or `false`, with `policy` and `reason` where wanted: {error}"
            ));
        }
    };
    if reason.chars().count() > MAX_REASON {
        return invalid(format!("`reason` may have {MAX_REASON} characters"));
    }
    let policies = side.pipeline.policies();
    if let Some(name) = policy.as_deref().filter(|name| off && policies.get(name).is_none()) {
        let known: Vec<&str> = policies.policies().map(|policy| policy.name.as_str()).collect();
        return invalid(format!("there is no policy `{name}`; there are {}", known.join(", ")));
    }
    let switch = side.pipeline.switch();
    if off {
        switch.off(policy.as_deref(), &reason)
    } else {
        switch.on(policy.as_deref())
    }
    json::value(StatusCode::OK, &*switch.state())
}

fn invalid(message: String) -> Response {
    error::invalid_request(StatusCode::BAD_REQUEST, message, "invalid_body")
}
