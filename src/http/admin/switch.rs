//! `GET /admin/switch`, `POST /admin/switch`: the kill switch.

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use crate::http::api_operation::{ApiParts, for_operators};
use crate::http::api_schema::{
    ApiSchema, boolean, closed_object, map_of, named, object, optional, required, text, text_of, time,
};
use crate::http::state::OperatorSide;
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
    json::value(StatusCode::OK, &*side.pipeline.switch.state())
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
            return error::invalid_body(format!(
                "the body must be `{{\"off\": true}}` or `false`, with optional `policy` and `reason`: {error}"
            ));
        }
    };
    if reason.chars().count() > MAX_REASON {
        return error::invalid_body(format!("`reason` is longer than {MAX_REASON} characters"));
    }
    let policies = side.pipeline.policies.load_full();
    if let Some(name) = policy.as_deref().filter(|name| off && policies.get(name).is_none()) {
        let known: Vec<&str> = policies.policies().map(|policy| policy.name.as_str()).collect();
        return error::invalid_body(format!("there is no policy `{name}`; known policies: {}", known.join(", ")));
    }
    let switch = &side.pipeline.switch;
    if off {
        switch.off(policy.as_deref(), &reason)
    } else {
        switch.on(policy.as_deref())
    }
    json::value(StatusCode::OK, &*switch.state())
}

/// Describes the operations.
pub(in crate::http) fn describe(api: &mut ApiParts) {
    let show_operation = for_operators("showSwitch", "Returns what the kill switch has switched off.")
        .responds(200, "The state of the kill switch.", named("Switch"))
        .fails([401]);
    api.operation(Method::GET, "/admin/switch", show_operation);
    let throw_operation = for_operators("throwSwitch", "Switches all turns, or those of one policy, off or on again.")
        .body(named("Throw"))
        .responds(200, "The new state of the kill switch.", named("Switch"))
        .fails([400, 401, 413, 415]);
    api.operation(Method::POST, "/admin/switch", throw_operation);
    api.schema("Thrown", thrown());
    api.schema(
        "Switch",
        object([optional("everything", thrown().or_null()), required("policies", map_of(named("Thrown")))]),
    );
    api.schema(
        "Throw",
        closed_object([
            required("off", boolean()),
            optional("policy", text().or_null()),
            optional("reason", text_of(0, Some(MAX_REASON))),
        ]),
    );
}

fn thrown() -> ApiSchema {
    object([required("at", time()), required("reason", text())])
}
