//! `GET /admin/approvals`, `GET /admin/approvals/{id}`, `POST /admin/approvals/{id}/approve`, `.../deny`.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};

use crate::http::error::{self, Refusal};
use crate::http::json::{Answer, Json, ParsedQuery, Sent, SentBody};
use crate::http::state::OperatorSide;
use callwright_common::limits::{LINE_CHARS, TEXT_LENGTH};
use callwright_store::{Approval, ApprovalFilter, DecisionResult, Ruling};

/// Returns a page of approvals, newest first. The query's fields are those of [`ApprovalFilter`].
pub(in crate::http) async fn list(
    State(side): State<OperatorSide>,
    ParsedQuery(filter): ParsedQuery<ApprovalFilter>,
) -> Answer<impl Serialize> {
    Ok(Json(side.pipeline.approvals.list(&filter).await?))
}

/// Returns one approval in full.
pub(in crate::http) async fn show(State(side): State<OperatorSide>, Path(id): Path<String>) -> Answer<impl Serialize> {
    Ok(Json(side.pipeline.approvals.show(&id).await?.ok_or_else(|| unknown(&id))?))
}

/// Body of a decision.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::http) struct ApprovalBody {
    by: Option<String>,
    comment: Option<String>,
}

impl SentBody for ApprovalBody {
    const NAME: &'static str = "a decision";
    const FORM: &'static str = "the body must be an object with `by` and `comment`, both optional";

    fn texts(&self) -> Vec<(&'static str, Option<&str>, usize)> {
        vec![("by", self.by.as_deref(), LINE_CHARS), ("comment", self.comment.as_deref(), TEXT_LENGTH)]
    }
}

/// Approves or denies one execution of the call.
pub(in crate::http) async fn decide<const APPROVED: bool>(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    Sent(ApprovalBody { by, comment }): Sent<ApprovalBody>,
) -> Answer<impl Serialize> {
    match side.pipeline.approvals.decide(&id, &Ruling { approved: APPROVED, by, comment }).await? {
        DecisionResult::Now(approval) => Ok(Json(approval)),
        DecisionResult::Before(approval) => Err(over(StatusCode::CONFLICT, &approval, "already_decided")),
        DecisionResult::TooLate(approval) => Err(over(StatusCode::GONE, &approval, "approval_expired")),
        DecisionResult::Unknown => Err(unknown(&id).into()),
    }
}

fn over(status: StatusCode, approval: &Approval, code: &str) -> Refusal {
    let note = &approval.summary.note;
    error::invalid_request(status, format!("approval {} is already {}", note.id, note.status.label()), code).into()
}

fn unknown(id: &str) -> Response {
    let message = format!("no approval `{id}`; closed approvals are kept for store.retention_days");
    error::invalid_request(StatusCode::NOT_FOUND, message, "unknown_approval")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_says_who_and_why_within_bounds_or_nothing() {
        let silent = ApprovalBody::parse(b"").unwrap();
        assert_eq!((silent.by, silent.comment), (None, None));
        let said = ApprovalBody::parse(br#"{"by":"Ada","comment":"no"}"#).unwrap();
        assert_eq!((said.by.as_deref(), said.comment.as_deref()), (Some("Ada"), Some("no")));
        let long = format!(r#"{{"comment":"{}"}}"#, "x".repeat(TEXT_LENGTH + 1));
        for body in ["[]", "{", r#"{"approved":true}"#, r#"{"by":7}"#, long.as_str()] {
            assert!(ApprovalBody::parse(body.as_bytes()).is_err(), "{body}");
        }
    }
}
