//! Approvals in SQLite.

use jiff::Timestamp;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row, SqliteConnection};

use super::Sqlite;
use super::fault::fault;
use crate::domain::{ApprovalNote, ApprovalStatus, ids};
use crate::store::traces::{DEFAULT_PAGE, MAX_PAGE};
use crate::store::{
    Approval, ApprovalFilter, ApprovalPage, ApprovalSummary, Asked, Closed, Decided, Question, Ruling, StoreError,
};

const INSERT: &str = "\
    INSERT INTO approvals (id, status, mode, created_at, expires_at, valid_ms, tenant, client, session, trace, toolset, tool, \
        operation, method, digest, keep, target, arguments) \
    VALUES (?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// An entry that still holds for the same call. One that is pending for a turn is that turn's; a denial of a turn was told by it.
const TAKE_UP: &str = "\
    SELECT id, status, expires_at, decided_at, decided_by, comment FROM approvals \
    WHERE session = ?1 AND digest = ?2 AND tenant = ?3 AND expires_at > ?4 \
        AND (status = 'approved' OR (?5 = 'notice' AND mode = 'notice' AND status IN ('pending', 'denied'))) \
    ORDER BY status = 'approved' DESC, id DESC LIMIT 1";

const PENDING: &str = "SELECT COUNT(*) FROM approvals WHERE status = 'pending'";

const NOTE: &str = "SELECT id, status, expires_at, decided_at, decided_by, comment FROM approvals WHERE id = ?";

const SUMMARY: &str = "\
    SELECT id, status, mode, created_at, expires_at, client, session, trace, toolset, tool, operation, method, target, decided_at, \
        decided_by, comment";

/// A decision that comes too late changes nothing. What is approved in a turn's last moment is still that turn's to use.
const DECIDE: &str = "\
    UPDATE approvals SET status = ?2, decided_at = ?3, decided_by = ?4, comment = ?5, expires_at = ?3 + valid_ms, \
        target = CASE WHEN keep OR ?2 = 'approved' THEN target END, \
        arguments = CASE WHEN keep OR ?2 = 'approved' THEN arguments END \
    WHERE id = ?1 AND status = 'pending' AND expires_at > ?3";

const CLOSE: &str = "\
    UPDATE approvals SET status = ?2, target = CASE WHEN keep THEN target END, arguments = CASE WHEN keep THEN arguments END \
    WHERE id = ?1 AND status = 'pending'";

const USE_UP: &str = "\
    UPDATE approvals SET status = 'used', used_at = ?3, target = CASE WHEN keep THEN target END, \
        arguments = CASE WHEN keep THEN arguments END \
    WHERE id = ?1 AND digest = ?2 AND status = 'approved'";

const EXPIRE: &str = "\
    UPDATE approvals SET status = 'expired', target = CASE WHEN keep THEN target END, \
        arguments = CASE WHEN keep THEN arguments END \
    WHERE id IN (SELECT id FROM approvals WHERE status = ?1 AND expires_at <= ?2 ORDER BY expires_at LIMIT ?3)";

const ABANDON: &str = "\
    UPDATE approvals SET status = 'expired', target = CASE WHEN keep THEN target END, \
        arguments = CASE WHEN keep THEN arguments END \
    WHERE status = 'pending' AND mode = 'wait'";

impl Sqlite {
    /// See [`crate::store::Approvals::ask`].
    pub(in crate::store) async fn ask(&self, question: &Question, most: u32) -> Result<Asked, StoreError> {
        self.queue(question, most).await.map_err(fault)
    }

    async fn queue(&self, question: &Question, most: u32) -> Result<Asked, sqlx::Error> {
        let now = Timestamp::now();
        let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
        let earlier = sqlx::query(TAKE_UP)
            .bind(&question.session)
            .bind(&question.digest)
            .bind(&question.tenant)
            .bind(now.as_millisecond())
            .bind(question.mode.label())
            .fetch_optional(&mut *transaction)
            .await?;
        if let Some(row) = earlier {
            return Ok(Asked::Queued(note(&row)?));
        }
        let pending: i64 = sqlx::query_scalar(PENDING).fetch_one(&mut *transaction).await?;
        if pending >= i64::from(most) {
            return Ok(Asked::Full);
        }
        let asked = insert(&mut transaction, question, now).await?;
        transaction.commit().await?;
        Ok(Asked::Queued(asked))
    }

    /// See [`crate::store::Approvals::decide`].
    pub(in crate::store) async fn decide(&self, id: &str, ruling: &Ruling) -> Result<Decided, StoreError> {
        let status = if ruling.approved { ApprovalStatus::Approved } else { ApprovalStatus::Denied };
        let decide = sqlx::query(DECIDE)
            .bind(id)
            .bind(status.label())
            .bind(Timestamp::now().as_millisecond())
            .bind(&ruling.by)
            .bind(&ruling.comment);
        let is_decided = decide.execute(&self.writer).await.map_err(fault)?.rows_affected() > 0;
        let Some(approval) = self.approval(id).await?.map(Box::new) else { return Ok(Decided::Unknown) };
        Ok(match approval.summary.note.status {
            _ if is_decided => Decided::Now(approval),
            ApprovalStatus::Pending | ApprovalStatus::Expired | ApprovalStatus::Withdrawn => Decided::TooLate(approval),
            ApprovalStatus::Approved | ApprovalStatus::Denied | ApprovalStatus::Used => Decided::Before(approval),
        })
    }

    /// See [`crate::store::Approvals::close`].
    pub(in crate::store) async fn close_approval(
        &self,
        id: &str,
        status: ApprovalStatus,
    ) -> Result<Option<Closed>, StoreError> {
        let close = sqlx::query(CLOSE).bind(id).bind(status.label());
        let now = close.execute(&self.writer).await.map_err(fault)?.rows_affected() > 0;
        Ok(self.standing(id).await?.map(|note| Closed { now, note }))
    }

    /// See [`crate::store::Approvals::use_up`].
    pub(in crate::store) async fn use_up(&self, id: &str, digest: &str) -> Result<bool, StoreError> {
        let use_up = sqlx::query(USE_UP).bind(id).bind(digest).bind(Timestamp::now().as_millisecond());
        use_up.execute(&self.writer).await.map(|done| done.rows_affected() > 0).map_err(fault)
    }

    /// See [`crate::store::Approvals::standing`].
    pub(in crate::store) async fn standing(&self, id: &str) -> Result<Option<ApprovalNote>, StoreError> {
        let row = sqlx::query(NOTE).bind(id).fetch_optional(&self.reader).await.map_err(fault)?;
        row.map(|row| note(&row)).transpose().map_err(fault)
    }

    /// See [`crate::store::Approvals::approval`].
    pub(in crate::store) async fn approval(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        let mut query = QueryBuilder::new(SUMMARY);
        query.push(", arguments, digest, used_at FROM approvals WHERE id = ").push_bind(id);
        let row = query.build().fetch_optional(&self.reader).await.map_err(fault)?;
        row.map(|row| whole(&row)).transpose().map_err(fault)
    }

    /// See [`crate::store::Approvals::approvals`].
    pub(in crate::store) async fn approvals(&self, filter: &ApprovalFilter) -> Result<ApprovalPage, StoreError> {
        let limit = filter.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
        let mut query = QueryBuilder::new(SUMMARY);
        query.push(" FROM approvals WHERE true");
        if let Some(status) = filter.status {
            query.push(" AND status = ").push_bind(status.label());
        }
        if let Some(before) = &filter.before {
            query.push(" AND id < ").push_bind(before);
        }
        query.push(" ORDER BY id DESC LIMIT ").push_bind(limit + 1);
        let rows = query.build().fetch_all(&self.reader).await.map_err(fault)?;
        let mut approvals = rows.iter().map(summary).collect::<Result<Vec<_>, _>>().map_err(fault)?;
        let more = approvals.len() > limit as usize;
        approvals.truncate(limit as usize);
        let next = approvals.last().filter(|_| more).map(|last| last.note.id.clone());
        Ok(ApprovalPage { approvals, next })
    }

    /// See [`crate::store::Approvals::pending`].
    pub(in crate::store) async fn pending(&self) -> Result<u64, StoreError> {
        let pending: i64 = sqlx::query_scalar(PENDING).fetch_one(&self.reader).await.map_err(fault)?;
        Ok(pending.unsigned_abs())
    }

    /// See [`crate::store::Approvals::expire_due`].
    pub(in crate::store) async fn expire_due(&self, limit: u32) -> Result<u64, StoreError> {
        let mut expired = 0;
        for status in [ApprovalStatus::Pending, ApprovalStatus::Approved] {
            let now = Timestamp::now().as_millisecond();
            let expire = sqlx::query(EXPIRE).bind(status.label()).bind(now).bind(limit);
            let done = expire.execute(&self.writer).await.map_err(fault)?;
            expired += if status == ApprovalStatus::Pending { done.rows_affected() } else { 0 };
        }
        Ok(expired)
    }

    /// Ends what turns of an earlier process waited for.
    pub(super) async fn abandon_waiting(&self) -> Result<(), sqlx::Error> {
        sqlx::query(ABANDON).execute(&self.writer).await.map(|_| ())
    }
}

async fn insert(
    connection: &mut SqliteConnection,
    question: &Question,
    now: Timestamp,
) -> Result<ApprovalNote, sqlx::Error> {
    let id = ids::approval_id(now);
    // As it will be read back.
    let expires_at = time(now.checked_add(question.patience).unwrap_or(Timestamp::MAX).as_millisecond());
    sqlx::query(INSERT)
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
        .execute(connection)
        .await?;
    let status = ApprovalStatus::Pending;
    Ok(ApprovalNote { id, status, expires_at, decided_at: None, decided_by: None, comment: None })
}

fn note(row: &SqliteRow) -> Result<ApprovalNote, sqlx::Error> {
    let status: String = row.try_get("status")?;
    let decided_at: Option<i64> = row.try_get("decided_at")?;
    Ok(ApprovalNote {
        id: row.try_get("id")?,
        // Nobody but this file writes one; what it does not know must not be taken for an approval.
        status: ApprovalStatus::of(&status).unwrap_or(ApprovalStatus::Expired),
        expires_at: time(row.try_get("expires_at")?),
        decided_at: decided_at.map(time),
        decided_by: row.try_get("decided_by")?,
        comment: row.try_get("comment")?,
    })
}

fn summary(row: &SqliteRow) -> Result<ApprovalSummary, sqlx::Error> {
    Ok(ApprovalSummary {
        note: note(row)?,
        created_at: time(row.try_get("created_at")?),
        mode: row.try_get("mode")?,
        client: row.try_get("client")?,
        session: row.try_get("session")?,
        trace: row.try_get("trace")?,
        toolset: row.try_get("toolset")?,
        tool: row.try_get("tool")?,
        operation: row.try_get("operation")?,
        method: row.try_get("method")?,
        target: row.try_get("target")?,
    })
}

fn whole(row: &SqliteRow) -> Result<Approval, sqlx::Error> {
    let arguments: Option<String> = row.try_get("arguments")?;
    let used_at: Option<i64> = row.try_get("used_at")?;
    Ok(Approval {
        summary: summary(row)?,
        arguments: arguments.and_then(|text| serde_json::from_str(&text).ok()),
        digest: row.try_get("digest")?,
        used_at: used_at.map(time),
    })
}

fn time(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(millisecond).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
