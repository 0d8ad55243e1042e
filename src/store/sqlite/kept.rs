//! Kept parts in SQLite.

use jiff::{SignedDuration, Timestamp};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row};

use super::Sqlite;
use super::fault::fault;
use crate::store::{KeptRow, StoreError};

/// Values of one `IN (...)`: far below the variables that SQLite allows a statement.
const CALLS_PER_SELECT: usize = 500;

const KEEP: &str = "\
    INSERT INTO kept_parts (turn, tenant, calls, context, history, expires_at, document) VALUES (?, ?, ?, ?, ?, ?, ?) \
    ON CONFLICT (turn) DO UPDATE SET calls = excluded.calls, document = excluded.document, expires_at = excluded.expires_at";

const FORGET: &str = "\
    DELETE FROM kept_parts WHERE turn IN (SELECT turn FROM kept_parts WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)";

impl Sqlite {
    /// See [`crate::store::KeptParts::keep`]; the part expires after `age`.
    pub(in crate::store) async fn keep(&self, row: &KeptRow, age: SignedDuration) -> Result<(), StoreError> {
        let expires_at = Timestamp::now().checked_add(age).unwrap_or(Timestamp::MAX);
        let insert = sqlx::query(KEEP)
            .bind(&row.turn)
            .bind(&row.tenant)
            .bind(&row.calls)
            .bind(&row.context)
            .bind(&row.history)
            .bind(expires_at.as_millisecond())
            .bind(&row.document);
        insert.execute(&self.writer).await.map(|_| ()).map_err(fault)
    }

    /// See [`crate::store::KeptParts::kept`].
    pub(in crate::store) async fn kept(&self, tenant: &str, calls: &[String]) -> Result<Vec<KeptRow>, StoreError> {
        let now = Timestamp::now().as_millisecond();
        let mut kept = Vec::new();
        for calls in calls.chunks(CALLS_PER_SELECT) {
            let mut query = QueryBuilder::new(
                "SELECT turn, tenant, calls, context, history, document FROM kept_parts WHERE tenant = ",
            );
            query.push_bind(tenant).push(" AND expires_at > ").push_bind(now).push(" AND calls IN (");
            let mut values = query.separated(", ");
            for calls in calls {
                values.push_bind(calls);
            }
            // Trace ids begin with the time.
            query.push(") ORDER BY turn DESC");
            let rows = query.build().fetch_all(&self.reader).await.map_err(fault)?;
            for row in &rows {
                kept.push(read(row).map_err(fault)?);
            }
        }
        Ok(kept)
    }

    /// See [`crate::store::KeptParts::forget_kept`].
    pub(in crate::store) async fn forget_kept(&self, limit: u32) -> Result<u64, StoreError> {
        let forget = sqlx::query(FORGET).bind(Timestamp::now().as_millisecond()).bind(limit);
        forget.execute(&self.writer).await.map(|done| done.rows_affected()).map_err(fault)
    }
}

fn read(row: &SqliteRow) -> Result<KeptRow, sqlx::Error> {
    Ok(KeptRow {
        turn: row.try_get("turn")?,
        tenant: row.try_get("tenant")?,
        calls: row.try_get("calls")?,
        context: row.try_get("context")?,
        history: row.try_get("history")?,
        document: row.try_get("document")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Location;

    fn row(turn: &str, tenant: &str, calls: &str) -> KeptRow {
        let owned = str::to_owned;
        KeptRow {
            turn: owned(turn),
            tenant: owned(tenant),
            calls: owned(calls),
            context: owned("c"),
            history: owned("h"),
            document: owned("{}"),
        }
    }

    async fn turns(store: &Sqlite, tenant: &str, calls: &[&str]) -> Vec<String> {
        let calls: Vec<String> = calls.iter().map(|calls| (*calls).to_owned()).collect();
        store.kept(tenant, &calls).await.unwrap().into_iter().map(|row| row.turn).collect()
    }

    #[tokio::test]
    async fn a_tenant_finds_its_own_parts_newest_first_until_they_expire() {
        let store = Sqlite::open(&Location::Memory).await.unwrap();
        let hour = SignedDuration::from_hours(1);
        for (turn, tenant, calls) in [("1", "a", "x"), ("2", "a", "x"), ("3", "b", "x"), ("4", "a", "y")] {
            store.keep(&row(turn, tenant, calls), hour).await.unwrap();
        }
        assert_eq!(turns(&store, "a", &["x"]).await, ["2", "1"]);
        assert_eq!(turns(&store, "a", &["y", "z"]).await, ["4"]);
        store.keep(&row("2", "a", "x"), SignedDuration::ZERO).await.unwrap();
        assert_eq!(turns(&store, "a", &["x"]).await, ["1"]);
        assert_eq!(store.forget_kept(5).await, Ok(1));
        assert_eq!(store.forget_kept(5).await, Ok(0));
    }

    #[tokio::test]
    async fn what_is_kept_again_replaces_what_was_kept() {
        let store = Sqlite::open(&Location::Memory).await.unwrap();
        let hour = SignedDuration::from_hours(1);
        store.keep(&row("1", "a", "x"), hour).await.unwrap();
        store.keep(&KeptRow { document: "[]".to_owned(), ..row("1", "a", "x") }, hour).await.unwrap();
        assert_eq!(store.kept("a", &["x".to_owned()]).await.unwrap()[0].document, "[]");
    }

    #[tokio::test]
    async fn a_conversation_of_any_length_is_looked_up() {
        let store = Sqlite::open(&Location::Memory).await.unwrap();
        store.keep(&row("1", "a", "1999"), SignedDuration::from_hours(1)).await.unwrap();
        let calls: Vec<String> = (0..2_000).map(|number| number.to_string()).collect();
        assert_eq!(store.kept("a", &calls).await.unwrap().len(), 1);
    }
}
