//! `GET /admin/lessons`, `GET /admin/lessons/{id}`, `POST /admin/lessons/{id}/retire`, `.../approve`, and the same for
//! `/admin/procedures`: learned memory, and operators' verdicts on it.

use axum::extract::{Path, State};
use axum::response::Response;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::http::error::{self, Refusal};
use crate::http::json::{Answer, Json, ParsedQuery, Sent, SentBody};
use crate::http::state::OperatorSide;
use callwright_common::limits::{ATTEMPTS, LINE_CHARS, TEXT_LENGTH};
use callwright_store::{Memorable, Memory, MemoryFilter, Revision, Revisions, Store};
use callwright_types::memory::Retirement;
use callwright_types::{Evidence, EvidenceKind, Lesson, Procedure, UsageCounter};

/// Memory that operators can retire and approve.
pub(in crate::http) trait ReviewableMemory: Memorable + Clone + Serialize {
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
) -> Answer<impl Serialize>
where
    Store: Memory<M>,
{
    Ok(Json(Memory::<M>::page(&*side.store, &filter).await?))
}

/// Returns one item in full.
pub(in crate::http) async fn show<M: ReviewableMemory>(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
) -> Answer<impl Serialize>
where
    Store: Memory<M>,
{
    Ok(Json(Memory::<M>::find(&*side.store, &id).await?.ok_or_else(|| unknown::<M>(&id))?))
}

/// Retires the item: it is no longer used.
pub(in crate::http) async fn retire<M: ReviewableMemory>(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    Sent(ReviewBody { by, reason }): Sent<ReviewBody>,
) -> Answer<impl Serialize>
where
    Store: Memory<M>,
{
    let by = by.as_deref().unwrap_or("an operator");
    let reason = reason.map_or_else(|| format!("by {by}"), |reason| format!("by {by}: {reason}"));
    changed::<M>(&side.store, &id, |one, at| {
        one.review_fields().retired.get_or_insert(Retirement { at, reason: reason.clone() });
    })
    .await
}

/// Approves the item: it is used again regardless of earlier verdicts, and its counters are reset.
pub(in crate::http) async fn approve<M: ReviewableMemory>(
    State(side): State<OperatorSide>,
    Path(id): Path<String>,
    Sent(ReviewBody { by, .. }): Sent<ReviewBody>,
) -> Answer<impl Serialize>
where
    Store: Memory<M>,
{
    let source = Some(by.unwrap_or_else(|| "operator".to_owned()));
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
async fn changed<M: ReviewableMemory>(
    store: &Store,
    id: &str,
    change: impl Fn(&mut M, Timestamp),
) -> Result<Json<M>, Refusal>
where
    Store: Memory<M>,
{
    for _ in 0..ATTEMPTS {
        // The revision is read first, so that the item is not older than it.
        let seen = M::latest(&store.latest().await?);
        let mut one = Memory::<M>::find(store, id).await?.ok_or_else(|| unknown::<M>(id))?;
        let now = Timestamp::now();
        change(&mut one, now);
        *one.review_fields().updated_at = now;
        if Memory::put(store, std::slice::from_ref(&one), seen).await?.outdated.is_empty() {
            return Ok(Json(one));
        }
    }
    let message = format!("the {} changes faster than it can be written; try again", M::NAME);
    Err(error::unavailable(message, "store_busy").into())
}

/// Body of a verdict.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::http) struct ReviewBody {
    by: Option<String>,
    reason: Option<String>,
}

impl SentBody for ReviewBody {
    const NAME: &'static str = "a verdict";
    const FORM: &'static str = "the body must be an object with `by` and `reason`, both optional";

    fn texts(&self) -> Vec<(&'static str, Option<&str>, usize)> {
        vec![("by", self.by.as_deref(), LINE_CHARS), ("reason", self.reason.as_deref(), TEXT_LENGTH)]
    }
}

fn unknown<M: ReviewableMemory>(id: &str) -> Response {
    error::not_found(format!("there is no {} `{id}`", M::NAME))
}
