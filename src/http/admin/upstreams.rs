//! `GET /admin/upstreams`: the providers, their current state, and statistics of their models' calls.

use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde_json::json;

use crate::http::api_operation::{ApiParts, for_operators};
use crate::http::api_schema::{amount, array, boolean, count, named, object, one_of, required, text};
use crate::http::json;
use crate::http::state::OperatorSide;
use callwright_openai::TOOL_CALLS;
use callwright_types::CircuitState;

/// Returns the providers by name.
pub(in crate::http) async fn list(State(side): State<OperatorSide>) -> Response {
    json::value(StatusCode::OK, &json!({"upstreams": side.pipeline.upstreams_shown()}))
}

/// Describes the operation.
pub(in crate::http) fn describe(api: &mut ApiParts) {
    let summary = "Lists the providers with their current state, and how their models deliver calls.";
    let operation = for_operators("listUpstreams", summary)
        .responds(200, "The providers by name.", object([required("upstreams", array(named("Upstream")))]))
        .fails([401]);
    api.operation(Method::GET, "/admin/upstreams", operation);
    let circuit = one_of(CircuitState::ALL.map(CircuitState::label)).about("State of the circuit breaker.");
    let delivery = one_of(["auto", "native", "text"]).about("The setting `tool_calls`.");
    let models = array(named("ModelDelivery")).about("Observed delivery of calls, for models that made calls.");
    api.schema(
        "Upstream",
        object([
            required("name", text()),
            required("is_default", boolean().about("Whether it serves the turns that name no other upstream.")),
            required("in_flight", count(None).about("Number of requests in flight.")),
            required("queued", count(None).about("Number of queued requests.")),
            required("circuit", circuit),
            required(TOOL_CALLS, delivery),
            required("models", models),
        ]),
    );
    let share = amount(Some(1.0)).about("Decayed share of answers with native calls among those with calls.");
    let answers = amount(None).about("Decayed number of answers with calls, from which the share was computed.");
    let delivers = boolean().about("Whether native calls are expected, by observation unless the setting decides.");
    api.schema(
        "ModelDelivery",
        object([
            required("model", text().about("Model name at the upstream.")),
            required("native_share", share),
            required("answers", answers),
            required("delivers_calls", delivers),
        ]),
    );
}
