//! `GET /admin/lessons`, `GET /admin/lessons/{id}`, `POST /admin/lessons/{id}/retire`, `.../approve`, and the same for
//! `/admin/procedures`: learned memory, and operators' verdicts on it.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use jiff::Timestamp;
use serde::Deserialize;

use super::PAGE_LIMIT;
use crate::http::api_operation::{ApiParts, for_operators};
use crate::http::api_schema::{
    array, closed_object, count, named, object, one_of, optional, required, text, text_of, time,
};
use crate::http::query::ParsedQuery;
use crate::http::state::OperatorSide;
use crate::http::{error, json};
use callwright_store::{Memorable, Memory, MemoryFilter, Revision, Revisions, Store};
use callwright_types::memory::Retirement;
use callwright_types::{Evidence, EvidenceKind, Lesson, Procedure, UsageCounter};

/// Maximum number of bytes of a verdict, far above what the limits of its texts need.
pub(in crate::http) const MAX_BODY: usize = 16 * 1024;

/// Maximum number of characters of the author's name.
const MAX_BY: usize = 200;

/// Maximum number of characters of a reason.
const MAX_REASON: usize = 500;

/// Number of attempts of a change when concurrent changes interfere.
const TRIES: u32 = 3;

/// Memory that operators can retire and approve.
pub(in crate::http) trait ReviewableMemory: Memorable + Clone {
    /// Name in messages.
    const NAME: &'static str;
    /// Returns the revision of the latest change of this kind.
    fn latest(revisions: &Revisions) -> Revision;
    /// Returns the fields that a verdict changes.
    fn review_fields(&mut self) -> ReviewFields<'_>;
}

/// The fields that a verdict changes.
pub(in crate::http) struct ReviewFields<'a> {
    retired: &'a mut Option<Retirement>,
    tally: &'a mut UsageCounter,
    updated_at: &'a mut Timestamp,
}

impl ReviewableMemory for Lesson {
    const NAME: &'static str = "lesson";

    fn latest(revisions: &Revisions) -> Revision {
        revisions.lessons
    }

    fn review_fields(&mut self) -> ReviewFields<'_> {
        ReviewFields { retired: &mut self.retired, tally: &mut self.tally, updated_at: &mut self.updated_at }
    }
}

impl ReviewableMemory for Procedure {
    const NAME: &'static str = "procedure";

    fn latest(revisions: &Revisions) -> Revision {
        revisions.procedures
    }

    fn review_fields(&mut self) -> ReviewFields<'_> {
        ReviewFields { retired: &mut self.retired, tally: &mut self.tally, updated_at: &mut self.updated_at }
    }
}

/// Returns a page in the order of learning. The query's fields are those of [`MemoryFilter`].
pub(in crate::http) async fn list<M: ReviewableMemory>(
    State(side): State<OperatorSide>,
    ParsedQuery(filter): ParsedQuery<MemoryFilter>,
) -> Response
where
    Store: Memory<M>,
{
    match Memory::<M>::page(&*side.store, &filter).await {
        Ok(page) => json::value(StatusCode::OK, &page),
        Err(error) => error::store(&error),
    }
}

/// Returns one item in full.
pub(in crate::http) async fn show<M: ReviewableMemory>(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
) -> Response
where
    Store: Memory<M>,
{
    match Memory::<M>::find(&*side.store, &id).await {
        Ok(Some(one)) => json::value(StatusCode::OK, &one),
        Ok(None) => unknown::<M>(&id),
        Err(error) => error::store(&error),
    }
}

/// Retires the item: it is no longer used.
pub(in crate::http) async fn retire<M: ReviewableMemory>(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response
where
    Store: Memory<M>,
{
    let review = match review(&headers, body) {
        Ok(review) => review,
        Err(refusal) => return *refusal,
    };
    let by = review.by.as_deref().unwrap_or("an operator");
    let reason = review.reason.as_deref().map_or_else(|| format!("by {by}"), |reason| format!("by {by}: {reason}"));
    changed::<M>(&side.store, &id, |one, at| {
        one.review_fields().retired.get_or_insert(Retirement { at, reason: reason.clone() });
    })
    .await
}

/// Approves the item: it is used again regardless of earlier verdicts, and its counters are reset.
pub(in crate::http) async fn approve<M: ReviewableMemory>(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response
where
    Store: Memory<M>,
{
    let review = match review(&headers, body) {
        Ok(review) => review,
        Err(refusal) => return *refusal,
    };
    let source = Some(review.by.unwrap_or_else(|| "operator".to_owned()));
    changed::<M>(&side.store, &id, |one, at| {
        let ReviewFields { retired, tally, .. } = one.review_fields();
        *retired = None;
        *tally = UsageCounter { counted: tally.counted, ..UsageCounter::default() };
        let source = source.clone();
        let evidence = Evidence { kind: EvidenceKind::Operator, trace: None, session: None, source, at };
        if !one.evidence().iter().any(|known| known.is_same_event(&evidence)) {
            one.evidence_mut().push(evidence);
        }
    })
    .await
}

/// Changes the current version of an item, and returns the result.
async fn changed<M: ReviewableMemory>(store: &Store, id: &str, change: impl Fn(&mut M, Timestamp)) -> Response
where
    Store: Memory<M>,
{
    for _ in 0..TRIES {
        // The revision is read first, so that the item is not older than it.
        let seen = match store.latest().await {
            Ok(revisions) => M::latest(&revisions),
            Err(error) => return error::store(&error),
        };
        let mut one = match Memory::<M>::find(store, id).await {
            Ok(Some(one)) => one,
            Ok(None) => return unknown::<M>(id),
            Err(error) => return error::store(&error),
        };
        let now = Timestamp::now();
        change(&mut one, now);
        *one.review_fields().updated_at = now;
        match Memory::put(store, std::slice::from_ref(&one), seen).await {
            Ok(put) if put.outdated.is_empty() => return json::value(StatusCode::OK, &one),
            Ok(_) => {}
            Err(error) => return error::store(&error),
        }
    }
    error::unavailable(format!("the {} changes faster than it can be written; try again", M::NAME), "store_busy")
}

/// Body of a verdict; an empty body has the defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ReviewBody {
    by: Option<String>,
    reason: Option<String>,
}

fn review(headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<ReviewBody, Box<Response>> {
    let body = json::sent(headers, body, "a verdict must be JSON")?;
    if body.is_empty() {
        return Ok(ReviewBody::default());
    }
    let review: ReviewBody = json::object(&body).map_err(|error| {
        Box::new(error::invalid_body(format!(
            "the body must be an object with `by` and `reason`, both optional: {error}"
        )))
    })?;
    for (name, text, most) in [("by", &review.by, MAX_BY), ("reason", &review.reason, MAX_REASON)] {
        if text.as_ref().is_some_and(|text| text.chars().count() > most) {
            return Err(Box::new(error::invalid_body(format!("`{name}` is longer than {most} characters"))));
        }
    }
    Ok(review)
}

fn unknown<M: ReviewableMemory>(id: &str) -> Response {
    let name = M::NAME;
    error::invalid_request(StatusCode::NOT_FOUND, format!("there is no {name} `{id}`"), "not_found")
}

/// Describes the operations.
pub(in crate::http) fn describe(api: &mut ApiParts) {
    describe_kind::<Lesson>(api, "Lesson", "Lessons");
    describe_kind::<Procedure>(api, "Procedure", "Procedures");
    let learned = object([
        required("id", text()),
        required("scope", text()),
        required("evidence", array(object([]))),
        optional("tally", object([])),
        required("updated_at", time()),
        optional("retired", object([]).or_null()),
    ]);
    api.schema("Learned", learned.about("A lesson or a procedure, with its evidence and its usage counters."));
    api.schema("LearnedPage", object([required("items", array(named("Learned"))), optional("next", text())]));
    let (by, reason) = (text_of(0, Some(MAX_BY)).or_null(), text_of(0, Some(MAX_REASON)).or_null());
    api.schema("Opinion", closed_object([optional("by", by), optional("reason", reason)]));
}

fn describe_kind<M: ReviewableMemory>(api: &mut ApiParts, one: &str, many: &str) {
    let name = M::NAME;
    let path = format!("/admin/{name}s");
    let list_operation =
        for_operators(&format!("list{many}"), &format!("Lists the learned {name}s in the order of learning."))
            .query("scope", text(), "Only those of this scope.")
            .query("toolset", text(), "Only those about this toolset.")
            .query("tool", text(), "Only those about a tool of this name.")
            .query("status", one_of(["active", "retired"]), "Only those with this status.")
            .query("limit", count(Some(u32::MAX)), PAGE_LIMIT)
            .query("after", text(), "`next` of the previous page.")
            .responds(200, "A page.", named("LearnedPage"))
            .fails([400, 401, 503]);
    api.operation(Method::GET, &path, list_operation);
    let show_operation = for_operators(&format!("show{one}"), &format!("Returns one {name} in full."))
        .path("id", "Its id.")
        .responds(200, &format!("The {name}."), named("Learned"))
        .fails([400, 401, 404, 503]);
    api.operation(Method::GET, &format!("{path}/{{id}}"), show_operation);
    for (verb, summary) in [
        ("retire", format!("Retires a {name}: it is no longer used.")),
        ("approve", format!("Approves a {name}: it is used again, and its usage counters are reset.")),
    ] {
        let review = for_operators(&format!("{verb}{one}"), &summary)
            .path("id", "Its id.")
            .body(named("Opinion"))
            .responds(200, &format!("The changed {name}."), named("Learned"))
            .fails([400, 401, 404, 413, 415, 503]);
        api.operation(Method::POST, &format!("{path}/{{id}}/{verb}"), review);
    }
}
