//! `GET /admin/switch`, `POST /admin/switch`: the kill switch.

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use crate::http::router::OperatorSide;
use crate::http::{error, json};

/// Maximum number of characters of a reason.
const MAX_REASON: usize = 500;

/// Maximum number of bytes of a body, far above what the limits of its texts need.
pub(in crate::http) const MAX_BODY: usize = 16 * 1024;

/// Body of a switch request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchBody {
    off: bool,
    /// Policy whose turns are switched; all turns if absent.
    #[serde(default)]
    policy: Option<String>,
    #[serde(default)]
    reason: String,
}

/// Returns what is switched off now.
pub(in crate::http) async fn show(State(side): State<OperatorSide>) -> Response {
    json::value(StatusCode::OK, &*side.pipeline.switch().state())
}

/// Switches everything, or the turns of one policy, off or on again.
pub(in crate::http) async fn throw(
    State(side): State<OperatorSide>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let body = match json::sent(&headers, body, "a switch request must be JSON") {
        Ok(body) => body,
        Err(refusal) => return *refusal,
    };
    let SwitchBody { off, policy, reason } = match json::object(&body) {
        Ok(wanted) => wanted,
        Err(error) => {
            return invalid(format!(
                "the body must be `{{\"off\": true}}` or `false`, with optional `policy` and `reason`: {error}"
            ));
        }
    };
    if reason.chars().count() > MAX_REASON {
        return invalid(format!("`reason` is longer than {MAX_REASON} characters"));
    }
    let policies = side.pipeline.policies();
    if let Some(name) = policy.as_deref().filter(|name| off && policies.get(name).is_none()) {
        let known: Vec<&str> = policies.policies().map(|policy| policy.name.as_str()).collect();
        return invalid(format!("there is no policy `{name}`; known policies: {}", known.join(", ")));
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
