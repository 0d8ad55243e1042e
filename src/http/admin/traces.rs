//! `GET /admin/traces`, `GET /admin/traces/{id}`.

use axum::extract::{Path, State};
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::{PAGE_LIMIT, trace_text};
use crate::http::api_operation::{ApiParts, JSON, for_operators};
use crate::http::api_schema::{
    array, boolean, count, integer, named, number, object, one_of, optional, required, text, text_like, time,
};
use crate::http::query::ParsedQuery;
use crate::http::state::OperatorSide;
use crate::http::{error, json};
use callwright_store::{TraceFilter, Traces};
use callwright_types::rules::Mode;
use callwright_types::{TurnOutcome, UnjudgedReason, Verdict};

/// Pattern of a finding: its kind and its name.
const FINDING: &str = "^(fault|execution|refusal|client_tool|upstream|limit|repair|shadow_repair):";

/// Returns a page of traces, newest first. The query's fields are those of [`TraceFilter`].
pub(in crate::http) async fn list(
    State(side): State<OperatorSide>,
    ParsedQuery(mut filter): ParsedQuery<TraceFilter>,
) -> Response {
    if filter.text.is_some() && filter.since.is_none() {
        let message = "a search for `text` requires `since`, which bounds it";
        return error::invalid_request(StatusCode::BAD_REQUEST, message, "invalid_query");
    }
    // The store indexes traces by key id, but people use key names.
    if let Some(known) = filter.key.as_ref().and_then(|name| side.access.keys().get(name).cloned()) {
        filter.key = Some(known.key().id.clone());
    }
    let page = side.store.list(&filter).await;
    page.map_or_else(|error| error::store(&error), |page| json::value(StatusCode::OK, &page))
}

/// Representation of a trace in the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TraceFormat {
    /// JSON as stored.
    Json,
    /// Text for people.
    Text,
    /// Mermaid diagram of the plan.
    Mermaid,
}

/// Query of one trace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ShowQuery {
    /// Takes precedence over the header field `Accept`.
    format: Option<TraceFormat>,
}

/// Returns one trace in full: as JSON, or as text if the query (`format=text`) or the header field `Accept` requests
/// it. `format=mermaid` returns its plan only.
pub(in crate::http) async fn show(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    ParsedQuery(ShowQuery { format }): ParsedQuery<ShowQuery>,
    headers: HeaderMap,
) -> Response {
    let format = format.unwrap_or_else(|| accepted(&headers));
    match side.store.get(&id).await {
        Ok(Some(trace)) if format == TraceFormat::Text => trace_text::write(&trace).into_response(),
        Ok(Some(trace)) if format == TraceFormat::Mermaid => match trace.plan.and_then(|note| note.plan) {
            Some(plan) => plan.mermaid().into_response(),
            None => {
                let message = format!("trace `{id}` has no plan; request it without `format=mermaid`");
                error::invalid_request(StatusCode::NOT_FOUND, message, "no_plan")
            }
        },
        Ok(Some(trace)) => json::value(StatusCode::OK, &trace),
        Ok(None) => {
            let message =
                format!("no trace `{id}`; a trace is written shortly after its turn and kept for store.retention_days");
            error::invalid_request(StatusCode::NOT_FOUND, message, "unknown_trace")
        }
        Err(error) => error::store(&error),
    }
}

/// Returns the format that `Accept` prefers (RFC 9110, section 12.5.1): text if it ranks before JSON.
fn accepted(headers: &HeaderMap) -> TraceFormat {
    let accept = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = accept.flat_map(|value| value.split(',')).map(quality);
    let mut best = (TraceFormat::Json, 0.0);
    for (name, quality) in ranges {
        let format = match name {
            "text/plain" => TraceFormat::Text,
            "application/json" => TraceFormat::Json,
            _ => continue,
        };
        if quality > best.1 {
            best = (format, quality);
        }
    }
    best.0
}

/// Splits a media range into its name without parameters and its weight.
fn quality(range: &str) -> (&str, f64) {
    let mut parts = range.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |weight| weight.parse().ok());
    (name, weight.unwrap_or(0.0))
}

/// Describes the operations.
pub(in crate::http) fn describe(api: &mut ApiParts) {
    let list_operation = for_operators("listTraces", "Lists the traces of turns, newest first.")
        .query("verdict", named("Verdict"), "Only turns with this verdict.")
        .query("model", text(), "Only turns with this model name, as the client sent it.")
        .query("session", text(), "Only turns of this session.")
        .query("policy", text(), "Only turns with this policy.")
        .query("key", text(), "Only turns with the virtual key of this id or name.")
        .query("mode", named("Mode"), "Only turns in this mode.")
        .query("status", count(Some(u32::from(u16::MAX))), "Only turns whose response has this status.")
        .query("tool", text(), "Only turns with a call of a tool of this name.")
        .query(
            "finding",
            text_like(FINDING, 0, None),
            "Only turns with this finding: `KIND:NAME`, such as `fault:E3.4`.",
        )
        .query(
            "text",
            text(),
            "Only turns whose recorded texts contain this text. Requires `since`; a page reads at most 2,000 turns.",
        )
        .time_range("Only turns that arrived at this time or later", "Only turns that arrived before this time")
        .query("limit", count(Some(u32::MAX)), PAGE_LIMIT)
        .query("cursor", text(), "`next` of the previous page.")
        .responds(200, "A page.", named("TracePage"))
        .fails([400, 401, 503]);
    api.operation(Method::GET, "/admin/traces", list_operation);
    let format = one_of(["json", "text", "mermaid"]);
    let show_operation = for_operators("showTrace", "Returns one trace in full.")
        .path("id", "Trace id.")
        .query("format", format, "JSON as stored, text for people, or a diagram of the turn's plan.")
        .responds_as(200, "The trace.", [(JSON, named("Trace")), ("text/plain", text().into())])
        .fails([400, 401, 404, 503]);
    api.operation(Method::GET, "/admin/traces/{id}", show_operation);
    api.schema("Verdict", one_of(Verdict::ALL.map(Verdict::label)));
    api.schema("Mode", one_of([Mode::Guard, Mode::Shadow, Mode::Off].map(Mode::label)));
    let next = text().about("`cursor` of the next page.");
    let examined = count(None).about("Number of turns that a search has read for this page.");
    let page =
        [required("traces", array(named("TraceSummary"))), optional("next", next), optional("examined", examined)];
    api.schema("TracePage", object(page));
    api.schema(
        "TraceSummary",
        object([
            required("id", text()),
            required("started_at", time()),
            optional("session", text()),
            required("endpoint", text()),
            required("model", text()),
            required("upstream", text()),
            required("policy", text()),
            required("mode", text()),
            required("verdict", text()),
            required("status", integer()),
            required("duration_ms", number()),
            required("attempts", count(None).about("Number of requests to models.")),
            required("input_tokens", count(None)),
            required("output_tokens", count(None)),
            optional("cost", number().about("In the currency of the price table, if the models have prices.")),
            required("tools", array(text()).about("Tools that were called or executed.")),
            required("findings", array(named("Finding"))),
            optional("question", text().about("Beginning of the user's last message, if bodies are recorded.")),
        ]),
    );
    let actions = object([
        optional("repaired", boolean().about("Whether a call or a text differs from the model's.")),
        optional("sent_back", count(None).about("Number of times that the model got feedback.")),
        optional("withheld", boolean().about("Whether the client did not get calls of the last answer.")),
        optional("cut", count(None).about("Number of calls that were left out.")),
    ]);
    let trace = object([
        required("id", text()),
        required("started_at", time()),
        optional("model", text()),
        optional("policy", text()),
        optional("mode", text()),
        required("verdict", named("Verdict")),
        optional("outcome", one_of(TurnOutcome::ALL.map(TurnOutcome::label)).about("What the client got.")),
        optional("actions", actions.about("What the proxy did to the model's answer.")),
        optional("unjudged", one_of(UnjudgedReason::ALL.map(UnjudgedReason::label)).about("Why it was not validated.")),
        optional("shadow_verdict", named("Verdict")),
        required("status", integer()),
        required("attempts", array(object([]))),
        required("executions", array(object([]))),
        optional("usage", object([])),
        optional("cost", number()),
        optional("duration_ms", number()),
        optional("overhead_ms", number()),
    ]);
    api.schema("Trace", trace.about("Record of a turn. The policy defines whether it holds bodies and arguments."));
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn text_is_given_where_it_is_preferred() {
        let form = |value: &'static str| accepted(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(value))]));
        for text in ["text/plain", "text/plain; charset=utf-8, */*", "application/json;q=0.5, text/plain;q=0.9"] {
            assert_eq!(form(text), TraceFormat::Text, "{text}");
        }
        for json in
            ["*/*", "", "text/html, */*;q=0.1", "application/json, text/plain", "text/plain;q=0", "text/plain;q=x"]
        {
            assert_eq!(form(json), TraceFormat::Json, "{json}");
        }
        assert_eq!(accepted(&HeaderMap::new()), TraceFormat::Json);
    }
}
