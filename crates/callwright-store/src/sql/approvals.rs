//! Approvals.

use jiff::Timestamp;

use super::leases::REPLICA;
use super::{Database, DatabaseTransaction, Lock, Statement, database_record, now, time};
use crate::traces::{DEFAULT_PAGE, MAX_PAGE};
use crate::{
    Approval, ApprovalFilter, ApprovalPage, ApprovalSummary, ClosedApproval, DecisionResult, Question, QueueResult,
    Ruling, StoreError,
};
use callwright_types::{ApprovalNote, ApprovalStatus, ids};

const INSERT: &str = "\
    INSERT INTO approvals (id, status, mode, created_at, expires_at, valid_ms, tenant, client, session, trace, toolset, tool, \
        operation, method, digest, keep, target, arguments, owner) \
    VALUES ($1, 'pending', $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)";

/// Existing entry that is valid for the same call. A pending entry with a waiting turn belongs to that turn only; that
/// turn has also reported its denial.
const TAKE_UP: &str = "\
    SELECT id, status, expires_at, decided_at, decided_by, comment FROM approvals \
    WHERE session = $1 AND digest = $2 AND tenant = $3 AND expires_at > $4 \
        AND (status = 'approved' OR ($5 = 'notice' AND mode = 'notice' AND status IN ('pending', 'denied'))) \
    ORDER BY status = 'approved' DESC, id DESC LIMIT 1";

const PENDING: &str = "SELECT COUNT(*) FROM approvals WHERE status = 'pending'";

const NOTE: &str = "SELECT id, status, expires_at, decided_at, decided_by, comment FROM approvals WHERE id = $1";

const SUMMARY: &str = "\
    SELECT id, status, mode, created_at, expires_at, client, session, trace, toolset, tool, operation, method, target, decided_at, \
        decided_by, comment FROM approvals WHERE true";

const WHOLE: &str = "\
    SELECT id, status, mode, created_at, expires_at, client, session, trace, toolset, tool, operation, method, target, decided_at, \
        decided_by, comment, arguments, digest, used_at FROM approvals WHERE id = $1";

/// Decides a pending entry; a late decision changes nothing. The validity counts from the decision, so that a waiting
/// turn can use a last-moment approval.
const DECIDE: &str = "\
    UPDATE approvals SET status = $2, decided_at = $3, decided_by = $4, comment = $5, expires_at = $3 + valid_ms, \
        target = CASE WHEN keep OR $2 = 'approved' THEN target END, \
        arguments = CASE WHEN keep OR $2 = 'approved' THEN arguments END \
    WHERE id = $1 AND status = 'pending' AND expires_at > $3";

const CLOSE: &str = "\
    UPDATE approvals SET status = $2, target = CASE WHEN keep THEN target END, arguments = CASE WHEN keep THEN arguments END \
    WHERE id = $1 AND status = 'pending'";

const USE_UP: &str = "\
    UPDATE approvals SET status = 'used', used_at = $3, target = CASE WHEN keep THEN target END, \
        arguments = CASE WHEN keep THEN arguments END \
    WHERE id = $1 AND digest = $2 AND status = 'approved'";

const EXPIRE: &str = "\
    UPDATE approvals SET status = 'expired', target = CASE WHEN keep THEN target END, \
        arguments = CASE WHEN keep THEN arguments END \
    WHERE id IN (SELECT id FROM approvals WHERE status = $1 AND expires_at <= $2 ORDER BY expires_at LIMIT $3) AND status = $1";

/// Expires entries that turns of ended replicas waited for.
const ABANDON: &str = "\
    UPDATE approvals SET status = 'expired', target = CASE WHEN keep THEN target END, \
        arguments = CASE WHEN keep THEN arguments END \
    WHERE status = 'pending' AND mode = 'wait' AND owner <> $1";

/// Running replicas renew their leases.
const OWNER_HAS_ENDED: &str =
    " AND NOT EXISTS (SELECT 1 FROM leases WHERE leases.name = $2 || approvals.owner AND leases.expires_at > ";

/// Lock that makes counting and inserting atomic across replicas.
const QUEUE: Lock<'_> = Lock::Named("callwright/approvals");

impl Database {
    pub(crate) async fn request_approval(
        &self,
        question: &Question,
        most: u32,
        owner: &str,
    ) -> Result<QueueResult, StoreError> {
        let mut transaction = self.begin(QUEUE).await?;
        let now = Timestamp::now();
        let earlier = Statement::new(TAKE_UP)
            .bind(&question.session)
            .bind(&question.digest)
            .bind(&question.tenant)
            .bind(now.as_millisecond())
            .bind(question.mode.label());
        let earlier: Option<NoteRow> = transaction.fetch_optional(earlier).await?;
        let result = if let Some(row) = earlier {
            QueueResult::Existing(row.note())
        } else if transaction.count(Statement::new(PENDING)).await? >= u64::from(most) {
            QueueResult::Full
        } else {
            QueueResult::Queued(insert(&mut transaction, question, now, owner).await?)
        };
        transaction.commit().await?;
        Ok(result)
    }

    /// See [`crate::Store::decide_approval`].
    pub(crate) async fn decide(&self, id: &str, ruling: &Ruling) -> Result<DecisionResult, StoreError> {
        let status = if ruling.approved { ApprovalStatus::Approved } else { ApprovalStatus::Denied };
        let decide =
            Statement::new(DECIDE).bind(id).bind(status.label()).bind(now()).bind(&ruling.by).bind(&ruling.comment);
        let is_decided = self.execute(decide).await? > 0;
        let Some(approval) = self.approval(id).await?.map(Box::new) else { return Ok(DecisionResult::Unknown) };
        Ok(match approval.summary.note.status {
            _ if is_decided => DecisionResult::Now(approval),
            ApprovalStatus::Pending | ApprovalStatus::Expired | ApprovalStatus::Withdrawn => {
                DecisionResult::TooLate(approval)
            }
            ApprovalStatus::Approved | ApprovalStatus::Denied | ApprovalStatus::Used => {
                DecisionResult::Before(approval)
            }
        })
    }

    pub(crate) async fn close_approval(
        &self,
        id: &str,
        status: ApprovalStatus,
    ) -> Result<Option<ClosedApproval>, StoreError> {
        let now = self.execute(Statement::new(CLOSE).bind(id).bind(status.label())).await? > 0;
        Ok(self.approval_note(id).await?.map(|note| ClosedApproval { now, note }))
    }

    /// See [`crate::Store::use_approval`].
    pub(crate) async fn use_up(&self, id: &str, digest: &str) -> Result<bool, StoreError> {
        Ok(self.execute(Statement::new(USE_UP).bind(id).bind(digest).bind(now())).await? > 0)
    }

    pub(crate) async fn approval_note(&self, id: &str) -> Result<Option<ApprovalNote>, StoreError> {
        let row: Option<NoteRow> = self.fetch_optional(Statement::new(NOTE).bind(id)).await?;
        Ok(row.map(NoteRow::note))
    }

    pub(crate) async fn approval(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        let row: Option<WholeRow> = self.fetch_optional(Statement::new(WHOLE).bind(id)).await?;
        Ok(row.map(WholeRow::whole))
    }

    pub(crate) async fn approvals(&self, filter: &ApprovalFilter) -> Result<ApprovalPage, StoreError> {
        let limit = filter.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
        let mut query = Statement::beginning(SUMMARY);
        if let Some(status) = filter.status {
            query.push(" AND status = ").push_bind(status.label());
        }
        for (condition, bound) in [(" AND created_at >= ", filter.since), (" AND created_at < ", filter.until)] {
            if let Some(bound) = bound {
                query.push(condition).push_bind(bound.as_millisecond());
            }
        }
        if let Some(before) = &filter.before {
            query.push(" AND id < ").push_bind(before);
        }
        query.push(" ORDER BY id DESC LIMIT ").push_bind(limit + 1);
        let rows: Vec<ApprovalSummaryRow> = self.fetch_all(query).await?;
        let mut approvals: Vec<ApprovalSummary> = rows.into_iter().map(ApprovalSummaryRow::summary).collect();
        let more = approvals.len() > limit as usize;
        approvals.truncate(limit as usize);
        let next = approvals.last().filter(|_| more).map(|last| last.note.id.clone());
        Ok(ApprovalPage { approvals, next })
    }

    /// See [`crate::Store::pending_approvals`].
    pub(crate) async fn pending(&self) -> Result<u64, StoreError> {
        self.count(Statement::new(PENDING)).await
    }

    /// See [`crate::Store::expire_approvals`].
    pub(crate) async fn expire_due(&self, limit: u32, owner: &str) -> Result<u64, StoreError> {
        let mut expired = if self.has_replicas() { self.abandon_waiting(owner).await? } else { 0 };
        for status in [ApprovalStatus::Pending, ApprovalStatus::Approved] {
            let done = self.execute(Statement::new(EXPIRE).bind(status.label()).bind(now()).bind(limit)).await?;
            expired += if status == ApprovalStatus::Pending { done } else { 0 };
        }
        Ok(expired)
    }

    /// Expires entries whose waiting turn belongs to an ended process, except those of `owner`; returns their number.
    pub(crate) async fn abandon_waiting(&self, owner: &str) -> Result<u64, StoreError> {
        let mut abandon = Statement::beginning(ABANDON).bind(owner);
        if self.has_replicas() {
            abandon.push(OWNER_HAS_ENDED).push(self.clock()).push(")");
            abandon = abandon.bind(REPLICA);
        }
        self.execute(abandon).await
    }
}

async fn insert(
    transaction: &mut DatabaseTransaction,
    question: &Question,
    now: Timestamp,
    owner: &str,
) -> Result<ApprovalNote, StoreError> {
    let id = ids::approval_id(now);
    // Rounded to the precision of the column.
    let expires_at = time(now.checked_add(question.patience).unwrap_or(Timestamp::MAX).as_millisecond());
    let insert = Statement::new(INSERT)
        .bind(&id)
        .bind(question.mode.label())
        .bind(now.as_millisecond())
        .bind(expires_at.as_millisecond())
        .bind(i64::try_from(question.valid.as_millis()).unwrap_or(i64::MAX / 2))
        .bind(&question.tenant)
        .bind(&question.client)
        .bind(&question.session)
        .bind(&question.trace)
        .bind(&question.toolset)
        .bind(&question.tool)
        .bind(&question.operation)
        .bind(&question.method)
        .bind(&question.digest)
        .bind(question.keep)
        .bind(&question.target)
        .bind(&question.arguments)
        .bind(owner);
    transaction.execute(insert).await?;
    let status = ApprovalStatus::Pending;
    Ok(ApprovalNote { id, status, expires_at, decided_at: None, decided_by: None, comment: None })
}

database_record! {
    struct NoteRow {
        id: String,
        status: String,
        expires_at: i64,
        decided_at: Option<i64>,
        decided_by: Option<String>,
        comment: Option<String>,
    }
}

impl NoteRow {
    fn note(self) -> ApprovalNote {
        ApprovalNote {
            id: self.id,
            // Only this module writes the status; an unknown one must not count as an approval.
            status: ApprovalStatus::of(&self.status).unwrap_or(ApprovalStatus::Expired),
            expires_at: time(self.expires_at),
            decided_at: self.decided_at.map(time),
            decided_by: self.decided_by,
            comment: self.comment,
        }
    }
}

database_record! {
    struct ApprovalSummaryRow(note: NoteRow) {
        created_at: i64,
        mode: String,
        client: String,
        session: String,
        trace: String,
        toolset: String,
        tool: String,
        operation: String,
        method: String,
        target: Option<String>,
    }
}

impl ApprovalSummaryRow {
    fn summary(self) -> ApprovalSummary {
        ApprovalSummary {
            note: self.note.note(),
            created_at: time(self.created_at),
            mode: self.mode,
            client: self.client,
            session: self.session,
            trace: self.trace,
            toolset: self.toolset,
            tool: self.tool,
            operation: self.operation,
            method: self.method,
            target: self.target,
        }
    }
}

database_record! {
    struct WholeRow(summary: ApprovalSummaryRow) {
        arguments: Option<String>,
        digest: String,
        used_at: Option<i64>,
    }
}

impl WholeRow {
    fn whole(self) -> Approval {
        Approval {
            summary: self.summary.summary(),
            arguments: self.arguments.and_then(|text| serde_json::from_str(&text).ok()),
            digest: self.digest,
            used_at: self.used_at.map(time),
        }
    }
}

#[cfg(test)]
mod tests;
