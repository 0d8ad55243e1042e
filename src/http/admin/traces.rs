//! `GET /admin/traces`, `GET /admin/traces/{id}`.

use axum::extract::{Path, State};
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use super::trace_text;
use crate::http::error::{self, Refusal};
use crate::http::json::{Answer, Json, ParsedQuery};
use crate::http::state::OperatorSide;
use callwright_store::{TraceFilter, Traces};

/// Returns a page of traces, newest first. The query's fields are those of [`TraceFilter`].
pub(in crate::http) async fn list(
    State(side): State<OperatorSide>,
    ParsedQuery(mut filter): ParsedQuery<TraceFilter>,
) -> Answer<impl Serialize> {
    if filter.text.is_some() && filter.since.is_none() {
        return Err(error::invalid_query("a search for `text` requires `since`, which bounds it").into());
    }
    // The store indexes traces by key id, but people use key names.
    if let Some(known) = filter.key.as_ref().and_then(|name| side.access.keys().get(name).cloned()) {
        filter.key = Some(known.key().id.clone());
    }
    Ok(Json(side.store.list(&filter).await?))
}

/// Representation of a trace in the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TraceFormat {
    Json,
    /// Text for people.
    Text,
    /// Mermaid diagram of the plan.
    Mermaid,
}

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
) -> Result<Response, Refusal> {
    let absent = |message, code| error::invalid_request(StatusCode::NOT_FOUND, message, code);
    let Some(trace) = side.store.get(&id).await? else {
        let message =
            format!("no trace `{id}`; a trace is written shortly after its turn and kept for store.retention_days");
        return Err(absent(message, "unknown_trace").into());
    };
    match format.unwrap_or_else(|| accepted(&headers)) {
        TraceFormat::Json => Ok(Json(trace).into_response()),
        TraceFormat::Text => Ok(trace_text::write(&trace).into_response()),
        TraceFormat::Mermaid => match trace.plan.and_then(|note| note.plan) {
            Some(plan) => Ok(plan.mermaid().into_response()),
            None => {
                let message = format!("trace `{id}` has no plan; request it without `format=mermaid`");
                Err(absent(message, "no_plan").into())
            }
        },
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
