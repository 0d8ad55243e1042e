//! Verdicts on turns: `POST /v1/feedback` by applications, `POST /admin/traces/{id}/mark` by operators.
//!
//! Verdicts are accepted as JSON only, so that no foreign web page can make a browser send one.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Extensions, HeaderMap};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::admin::MAX_BODY;
use super::caller::Caller;
use super::error::{self, Refusal};
use super::json::{self, Answer, Json, Sent, SentBody};
use super::received_body::{BodySender, receive};
use super::state::{ClientSide, OperatorSide};
use crate::pipeline::tenant;
use callwright_common::limits::{NAME_LENGTH, TEXT_LENGTH};
use callwright_store::{FeedbackResult, FeedbackRow, FeedbackVerdict, Store};
use callwright_types::Scope;

/// Body of an application's verdict.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VerdictBody {
    /// Value of the turn's `x-callwright-trace`.
    trace_id: String,
    #[serde(flatten)]
    mark: VerdictMark,
}

/// A verdict on a turn.
#[derive(Debug, Deserialize)]
struct VerdictMark {
    /// `good` or `bad`.
    verdict: FeedbackVerdict,
    /// The right answer, stored with the verdict. If it names tools, the request becomes a sample.
    #[serde(default)]
    expected: Option<Value>,
    /// Comment, stored with the verdict.
    #[serde(default)]
    comment: Option<String>,
}

/// Body of an operator's verdict; the path names the turn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OperatorMark {
    #[serde(flatten)]
    mark: VerdictMark,
}

impl SentBody for VerdictBody {
    const NAME: &'static str = "a verdict";
    const FORM: &'static str =
        "a verdict must be an object {\"trace_id\", \"verdict\": \"good\" or \"bad\", \"expected\"?, \"comment\"?}";
}

impl SentBody for OperatorMark {
    const NAME: &'static str = VerdictBody::NAME;
    const FORM: &'static str = VerdictBody::FORM;
}

#[derive(Debug, Serialize)]
struct VerdictResponse {
    trace_id: String,
    verdict: FeedbackVerdict,
    /// Whether the verdict differs from the previous one of this source, or is its first.
    new: bool,
}

/// Accepts an application's verdict on its own turn. The owner of the turn is checked only when something is learned
/// from it. A verdict on a foreign turn is ignored then, and the response does not reveal whether such a turn exists.
pub(super) async fn give(
    State(side): State<ClientSide>,
    Caller(caller): Caller,
    headers: HeaderMap,
    body: Body,
) -> Answer<impl Serialize> {
    let sender = BodySender { caller: &caller, extensions: &Extensions::default() };
    let body = receive(&side, sender, &headers, body, MAX_BODY).await?;
    if !json::is_json(&headers) {
        return Err(json::not_json(VerdictBody::NAME).into());
    }
    let VerdictBody { trace_id, mark } = VerdictBody::parse(&body)?;
    let source = Scope::of_key(&tenant(&caller, &headers)).as_str().to_owned();
    keep(&side.store, trace_id, source, mark).await
}

/// Accepts an operator's verdict on a turn.
pub(super) async fn mark(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    Sent(OperatorMark { mark }): Sent<OperatorMark>,
) -> Answer<impl Serialize> {
    keep(&side.store, id, FeedbackRow::OPERATOR.to_owned(), mark).await
}

async fn keep(
    store: &Store,
    trace: String,
    source: String,
    mark: VerdictMark,
) -> Result<Json<VerdictResponse>, Refusal> {
    let VerdictMark { verdict, expected, comment } = mark;
    if trace.is_empty()
        || trace.len() > NAME_LENGTH
        || comment.as_ref().is_some_and(|it| it.chars().count() > TEXT_LENGTH)
    {
        let message = format!(
            "`trace_id` must be the value of `x-callwright-trace`, and `comment` at most {TEXT_LENGTH} characters"
        );
        return Err(error::invalid_body(message).into());
    }
    let row = FeedbackRow { trace, source, verdict, expected, comment, at: Timestamp::now() };
    let new = store.give_feedback(&row).await? == FeedbackResult::New;
    Ok(Json(VerdictResponse { trace_id: row.trace, verdict, new }))
}
