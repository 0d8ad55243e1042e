//! `GET /admin/traces`, `GET /admin/traces/{id}`.

use axum::extract::{Path, State};
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::trace_text;
use crate::http::asked::Asked;
use crate::http::router::OperatorSide;
use crate::http::{error, json};
use callwright_store::{TraceFilter, Traces};

/// A page of traces, newest first. The query's fields are those of [`TraceFilter`].
pub(in crate::http) async fn list(State(side): State<OperatorSide>, Asked(mut filter): Asked<TraceFilter>) -> Response {
    // Traces are found by the ids of keys; people know their names.
    if let Some(known) = filter.key.as_ref().and_then(|name| side.access.keys().get(name).cloned()) {
        filter.key = Some(known.key().id.clone());
    }
    let page = side.store.list(&filter).await;
    page.map_or_else(|error| error::store(&error), |page| json::value(StatusCode::OK, &page))
}

/// In what form a trace is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    /// As it is stored.
    Json,
    /// As a person reads it.
    Text,
    /// Its plan alone, as a drawing.
    Mermaid,
}

/// The query of one trace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ShowQuery {
    /// Wins over the header `Accept`.
    format: Option<Format>,
}

/// One trace, whole: as JSON or, where the query (`format=text`) or the header `Accept` asks for that, as text for a person. `format=mermaid` gives its
/// plan alone.
pub(in crate::http) async fn show(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    Asked(ShowQuery { format }): Asked<ShowQuery>,
    headers: HeaderMap,
) -> Response {
    let format = format.unwrap_or_else(|| accepted(&headers));
    match side.store.get(&id).await {
        Ok(Some(trace)) if format == Format::Text => trace_text::write(&trace).into_response(),
        Ok(Some(trace)) if format == Format::Mermaid => match trace.plan.and_then(|note| note.plan) {
            Some(plan) => plan.mermaid().into_response(),
            None => {
                let message = format!("the turn of trace `{id}` drew no plan; ask for it without `format=mermaid`");
                error::invalid_request(StatusCode::NOT_FOUND, message, "no_plan")
            }
        },
        Ok(Some(trace)) => json::value(StatusCode::OK, &trace),
        Ok(None) => {
            let message = format!(
                "no trace `{id}`; a trace is written shortly after its turn, and kept as store.retention_days says"
            );
            error::invalid_request(StatusCode::NOT_FOUND, message, "unknown_trace")
        }
        Err(error) => error::store(&error),
    }
}

/// The form that the header field prefers (RFC 9110 section 12.5.1): text where it names that and not JSON before it.
fn accepted(headers: &HeaderMap) -> Format {
    let accept = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = accept.flat_map(|value| value.split(',')).map(quality);
    let mut best = (Format::Json, 0.0);
    for (name, quality) in ranges {
        let format = match name {
            "text/plain" => Format::Text,
            "application/json" => Format::Json,
            _ => continue,
        };
        if quality > best.1 {
            best = (format, quality);
        }
    }
    best.0
}

/// A media range without its parameters, and its weight.
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
            assert_eq!(form(text), Format::Text, "{text}");
        }
        for json in
            ["*/*", "", "text/html, */*;q=0.1", "application/json, text/plain", "text/plain;q=0", "text/plain;q=x"]
        {
            assert_eq!(form(json), Format::Json, "{json}");
        }
        assert_eq!(accepted(&HeaderMap::new()), Format::Json);
    }
}
