//! `GET /admin/approvals`, `GET /admin/approvals/{id}`, `POST /admin/approvals/{id}/approve`, `.../deny`.
//!
//! A foreign web page can make an operator's browser send a form or plain text here. It can send JSON only if this
//! server allows it (<https://fetch.spec.whatwg.org/#http-cors-protocol>), which it never does. Decisions are therefore
//! accepted as JSON only.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use super::PAGE_LIMIT;
use crate::http::api_operation::{ApiParts, for_operators};
use crate::http::api_schema::{
    array, closed_object, count, named, object, one_of, optional, required, text, text_of, time,
};
use crate::http::query::ParsedQuery;
use crate::http::state::OperatorSide;
use crate::http::{error, json};
use callwright_store::{Approval, ApprovalFilter, DecisionResult, Ruling};
use callwright_types::ApprovalStatus;

/// Maximum number of characters of the decider's name.
const MAX_BY: usize = 200;

/// Maximum number of characters of a comment, which the model reads.
const MAX_COMMENT: usize = 2_000;

/// Maximum number of bytes of a decision, far above what the limits of its texts need.
pub(in crate::http) const MAX_BODY: usize = 64 * 1024;

/// Returns a page of approvals, newest first. The query's fields are those of [`ApprovalFilter`].
pub(in crate::http) async fn list(
    State(side): State<OperatorSide>,
    ParsedQuery(filter): ParsedQuery<ApprovalFilter>,
) -> Response {
    let page = side.pipeline.approvals.list(&filter).await;
    page.map_or_else(|error| error::store(&error), |page| json::value(StatusCode::OK, &page))
}

/// Returns one approval in full.
pub(in crate::http) async fn show(State(side): State<OperatorSide>, Path(id): Path<String>) -> Response {
    match side.pipeline.approvals.show(&id).await {
        Ok(Some(approval)) => json::value(StatusCode::OK, &approval),
        Ok(None) => unknown(&id),
        Err(error) => error::store(&error),
    }
}

/// Approves one execution of the call.
pub(in crate::http) async fn approve(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    decide(&side, &id, true, &headers, body).await
}

/// Denies the execution of the call.
pub(in crate::http) async fn deny(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    decide(&side, &id, false, &headers, body).await
}

/// Body of a decision; an empty body has the defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ApprovalBody {
    by: Option<String>,
    comment: Option<String>,
}

async fn decide(
    side: &OperatorSide,
    id: &str,
    approved: bool,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let body = match json::sent(headers, body, "a decision must be JSON") {
        Ok(body) => body,
        Err(refusal) => return *refusal,
    };
    let ruling = match ruling(approved, &body) {
        Ok(ruling) => ruling,
        Err(message) => return error::invalid_body(message),
    };
    match side.pipeline.approvals.decide(id, &ruling).await {
        Ok(DecisionResult::Now(approval)) => json::value(StatusCode::OK, &approval),
        Ok(DecisionResult::Before(approval)) => over(StatusCode::CONFLICT, &approval, "already_decided"),
        Ok(DecisionResult::TooLate(approval)) => over(StatusCode::GONE, &approval, "approval_expired"),
        Ok(DecisionResult::Unknown) => unknown(id),
        Err(error) => error::store(&error),
    }
}

fn ruling(approved: bool, body: &[u8]) -> Result<Ruling, String> {
    let ApprovalBody { by, comment } = said(body)
        .map_err(|error| format!("the body must be an object with `by` and `comment`, both optional: {error}"))?;
    for (name, text, most) in [("by", &by, MAX_BY), ("comment", &comment, MAX_COMMENT)] {
        if text.as_ref().is_some_and(|text| text.chars().count() > most) {
            return Err(format!("`{name}` is longer than {most} characters"));
        }
    }
    Ok(Ruling { approved, by, comment })
}

fn said(body: &[u8]) -> serde_json::Result<ApprovalBody> {
    if body.is_empty() {
        return Ok(ApprovalBody::default());
    }
    json::object(body)
}

fn over(status: StatusCode, approval: &Approval, code: &str) -> Response {
    let note = &approval.summary.note;
    error::invalid_request(status, format!("approval {} is already {}", note.id, note.status.label()), code)
}

fn unknown(id: &str) -> Response {
    let message = format!("no approval `{id}`; closed approvals are kept for store.retention_days");
    error::invalid_request(StatusCode::NOT_FOUND, message, "unknown_approval")
}

/// Describes the operations.
pub(in crate::http) fn describe(api: &mut ApiParts) {
    let statuses = one_of(ApprovalStatus::ALL.map(ApprovalStatus::label));
    let list_operation = for_operators("listApprovals", "Lists the calls that need a person's approval, newest first.")
        .query("status", statuses, "Only calls with this status.")
        .time_range(
            "Only calls that were requested at this time or later",
            "Only calls that were requested before this time",
        )
        .query("limit", count(Some(u32::MAX)), PAGE_LIMIT)
        .query("before", text(), "`next` of the previous page.")
        .responds(200, "A page.", named("ApprovalPage"))
        .fails([400, 401, 503]);
    api.operation(Method::GET, "/admin/approvals", list_operation);
    let show_operation = for_operators("showApproval", "Returns one call in full.")
        .path("id", "Approval id.")
        .responds(200, "The call.", named("Approval"))
        .fails([400, 401, 404, 503]);
    api.operation(Method::GET, "/admin/approvals/{id}", show_operation);
    for (id, summary, path) in [
        ("approveCall", "Approves one execution of a call.", "/admin/approvals/{id}/approve"),
        ("denyCall", "Denies the execution of a call.", "/admin/approvals/{id}/deny"),
    ] {
        let decision = for_operators(id, summary)
            .path("id", "Approval id.")
            .body(named("Decision"))
            .responds(200, "The call after the decision.", named("Approval"))
            .fails([400, 401, 404, 409, 410, 413, 415, 503]);
        api.operation(Method::POST, path, decision);
    }
    let approval = object([
        required("id", text()),
        required("status", text()),
        optional("created_at", time()),
        optional("expires_at", time()),
        required("toolset", text()),
        required("tool", text()),
        optional("operation", text()),
        optional("method", text()),
        optional("target", text()),
        optional("arguments", object([])),
        optional("decided_by", text()),
        optional("comment", text()),
    ]);
    api.schema("Approval", approval.about("A call that needs a person's approval."));
    let listed = object([required("id", text()), required("status", text())]);
    api.schema("ApprovalPage", object([required("approvals", array(listed)), optional("next", text())]));
    let comment = text_of(0, Some(MAX_COMMENT)).or_null().about("Comment, which the model reads.");
    let by = text_of(0, Some(MAX_BY)).or_null();
    api.schema("Decision", closed_object([optional("by", by), optional("comment", comment)]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_says_who_and_why_within_bounds_or_nothing() {
        assert_eq!(ruling(true, b""), Ok(Ruling { approved: true, by: None, comment: None }));
        let said = ruling(false, br#"{"by":"Ada","comment":"no"}"#).unwrap();
        assert_eq!((said.by.as_deref(), said.comment.as_deref()), (Some("Ada"), Some("no")));
        let long = format!(r#"{{"comment":"{}"}}"#, "x".repeat(MAX_COMMENT + 1));
        for body in ["[]", "{", r#"{"approved":true}"#, r#"{"by":7}"#, long.as_str()] {
            assert!(ruling(true, body.as_bytes()).is_err(), "{body}");
        }
    }
}
