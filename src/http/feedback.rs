//! Verdicts on turns: `POST /v1/feedback` by applications, `POST /admin/traces/{id}/mark` by operators.
//!
//! Verdicts are accepted as JSON only, so that no foreign web page can make a browser send one.

use axum::body::{Body, Bytes};
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::{Extensions, HeaderMap, Method, StatusCode};
use axum::response::Response;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::api_operation::{ApiParts, for_clients, for_operators};
use super::api_schema::{
    ApiMember, any, boolean, closed_object, named, object, one_of, optional, required, text, text_of,
};
use super::caller::Caller;
use super::received_body::{BodySender, receive};
use super::state::{ClientSide, OperatorSide};
use super::{error, json};
use crate::pipeline::tenant;
use callwright_store::{FeedbackResult, FeedbackRow, FeedbackVerdict, Store};
use callwright_types::Scope;

/// Maximum number of bytes of a verdict.
pub(super) const MAX_BODY: usize = 256 * 1024;

/// Maximum number of characters of a comment.
const MAX_COMMENT: usize = 4_000;

/// Maximum number of characters of an accepted trace id; the proxy's ids have 32.
const MAX_TRACE: usize = 64;

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
struct OperatorMark {
    #[serde(flatten)]
    mark: VerdictMark,
}

#[derive(Debug, Serialize)]
struct VerdictResponse<'a> {
    trace_id: &'a str,
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
) -> Response {
    let sender = BodySender { caller: &caller, extensions: &Extensions::default() };
    let body = match receive(&side, sender, &headers, body, MAX_BODY).await {
        Ok(body) => body,
        Err(refusal) => return *refusal,
    };
    match read::<VerdictBody>(&headers, Ok(body)) {
        Ok(VerdictBody { trace_id, mark }) => {
            let source = Scope::of_key(&tenant(&caller, &headers)).as_str().to_owned();
            keep(&side.store, trace_id, source, mark).await
        }
        Err(refusal) => *refusal,
    }
}

/// Accepts an operator's verdict on a turn.
pub(super) async fn mark(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    match read::<OperatorMark>(&headers, body) {
        Ok(OperatorMark { mark }) => keep(&side.store, id, FeedbackRow::OPERATOR.to_owned(), mark).await,
        Err(refusal) => *refusal,
    }
}

fn read<T: DeserializeOwned>(headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<T, Box<Response>> {
    let body = json::sent(headers, body, "a verdict must be JSON")?;
    json::object(&body).map_err(|error| {
        let message = format!(
            "a verdict must be an object {{\"trace_id\", \"verdict\": \"good\" or \"bad\", \"expected\"?, \"comment\"?}}: {error}"
        );
        Box::new(error::invalid_body(message))
    })
}

async fn keep(store: &Store, trace: String, source: String, mark: VerdictMark) -> Response {
    let VerdictMark { verdict, expected, comment } = mark;
    if trace.is_empty()
        || trace.len() > MAX_TRACE
        || comment.as_ref().is_some_and(|it| it.chars().count() > MAX_COMMENT)
    {
        let message = format!(
            "`trace_id` must be the value of `x-callwright-trace`, and `comment` at most {MAX_COMMENT} characters"
        );
        return error::invalid_body(message);
    }
    let row = FeedbackRow { trace, source, verdict, expected, comment, at: Timestamp::now() };
    match store.give_feedback(&row).await {
        Ok(given) => json::value(
            StatusCode::OK,
            &VerdictResponse { trace_id: &row.trace, verdict, new: given == FeedbackResult::New },
        ),
        Err(failure) => error::store(&failure),
    }
}

/// Describes the operations.
pub(super) fn describe(api: &mut ApiParts) {
    let feedback = for_clients("giveFeedback", "Stores an application's verdict on its own turn.")
        .body(named("Feedback"))
        .responds(200, "The stored verdict.", named("Taken"))
        .fails([400, 401, 403, 413, 415, 429, 503]);
    api.operation(Method::POST, "/v1/feedback", feedback);
    let mark = for_operators("markTrace", "Stores an operator's verdict on a turn.")
        .path("id", "Trace id.")
        .body(named("Mark"))
        .responds(200, "The stored verdict.", named("Taken"))
        .fails([400, 401, 413, 415, 503]);
    api.operation(Method::POST, "/admin/traces/{id}/mark", mark);
    api.schema("Mark", closed_object(mark_members()));
    let trace = text_of(1, Some(MAX_TRACE)).about("Value of the turn's `x-callwright-trace`.");
    api.schema("Feedback", closed_object([required("trace_id", trace)].into_iter().chain(mark_members())));
    let is_new = boolean().about("Whether the verdict differs from the previous one of this source, or is its first.");
    let stored = [required("trace_id", text()), required("verdict", one_of(VERDICTS)), required("new", is_new)];
    api.schema("Taken", object(stored));
}

/// Names of the verdicts in JSON.
const VERDICTS: [&str; 2] = ["good", "bad"];

fn mark_members() -> [ApiMember; 3] {
    [
        required("verdict", one_of(VERDICTS)),
        optional("expected", any().about("The right answer. If it names tools, the request becomes a sample.")),
        optional("comment", text_of(0, Some(MAX_COMMENT)).or_null()),
    ]
}
