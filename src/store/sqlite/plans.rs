//! Plans that wait for clients, in SQLite.

use jiff::{SignedDuration, Timestamp};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row};

use super::Sqlite;
use super::fault::fault;
use crate::store::{PlanRow, StoreError};

/// Values of one `IN (...)`: far below the variables that SQLite allows a statement.
const KEYS_PER_SELECT: usize = 500;

const KEEP: &str = "\
    INSERT INTO plans (tenant, key, turn, expires_at, document) VALUES (?, ?, ?, ?, ?) \
    ON CONFLICT (tenant, key) DO UPDATE SET \
    turn = excluded.turn, expires_at = excluded.expires_at, document = excluded.document";

const FORGET: &str = "\
    DELETE FROM plans WHERE (tenant, key) IN (SELECT tenant, key FROM plans WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)";

impl Sqlite {
    /// See [`crate::store::PlanStates::keep_plan`]; the plan expires after `age`.
    pub(in crate::store) async fn keep_plan(&self, row: &PlanRow, age: SignedDuration) -> Result<(), StoreError> {
        let expires_at = Timestamp::now().checked_add(age).unwrap_or(Timestamp::MAX);
        let insert = sqlx::query(KEEP)
            .bind(&row.tenant)
            .bind(&row.key)
            .bind(&row.turn)
            .bind(expires_at.as_millisecond())
            .bind(&row.document);
        insert.execute(&self.writer).await.map(|_| ()).map_err(fault)
    }

    /// See [`crate::store::PlanStates::plans`].
    pub(in crate::store) async fn plans(&self, tenant: &str, keys: &[String]) -> Result<Vec<PlanRow>, StoreError> {
        let now = Timestamp::now().as_millisecond();
        let mut plans = Vec::new();
        for keys in keys.chunks(KEYS_PER_SELECT) {
            let mut query = QueryBuilder::new("SELECT tenant, key, turn, document FROM plans WHERE tenant = ");
            query.push_bind(tenant).push(" AND expires_at > ").push_bind(now).push(" AND key IN (");
            let mut values = query.separated(", ");
            for key in keys {
                values.push_bind(key);
            }
            // Trace ids begin with the time.
            query.push(") ORDER BY turn DESC");
            let rows = query.build().fetch_all(&self.reader).await.map_err(fault)?;
            for row in &rows {
                plans.push(read(row).map_err(fault)?);
            }
        }
        Ok(plans)
    }

    /// See [`crate::store::PlanStates::end_plan`].
    pub(in crate::store) async fn end_plan(&self, tenant: &str, key: &str) -> Result<(), StoreError> {
        let end = sqlx::query("DELETE FROM plans WHERE tenant = ? AND key = ?").bind(tenant).bind(key);
        end.execute(&self.writer).await.map(|_| ()).map_err(fault)
    }

    /// See [`crate::store::PlanStates::forget_plans`].
    pub(in crate::store) async fn forget_plans(&self, limit: u32) -> Result<u64, StoreError> {
        let forget = sqlx::query(FORGET).bind(Timestamp::now().as_millisecond()).bind(limit);
        forget.execute(&self.writer).await.map(|done| done.rows_affected()).map_err(fault)
    }
}

fn read(row: &SqliteRow) -> Result<PlanRow, sqlx::Error> {
    Ok(PlanRow {
        tenant: row.try_get("tenant")?,
        key: row.try_get("key")?,
        turn: row.try_get("turn")?,
        document: row.try_get("document")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Location;

    fn row(tenant: &str, key: &str, turn: &str) -> PlanRow {
        let owned = str::to_owned;
        PlanRow { tenant: owned(tenant), key: owned(key), turn: owned(turn), document: format!("{turn} of {tenant}") }
    }

    #[tokio::test]
    async fn a_plan_is_found_by_its_tenant_and_key_as_it_was_left_last() {
        let sqlite = Sqlite::open(&Location::Memory).await.unwrap();
        let age = SignedDuration::from_hours(1);
        for row in [row("t", "a", "1"), row("t", "b", "2"), row("u", "a", "3"), row("t", "a", "4")] {
            sqlite.keep_plan(&row, age).await.unwrap();
        }
        let keys: Vec<String> =
            (0..1_200).map(|number| number.to_string()).chain(["a".to_owned(), "b".to_owned()]).collect();
        assert_eq!(sqlite.plans("t", &keys).await.unwrap(), [row("t", "a", "4"), row("t", "b", "2")]);
        assert_eq!(sqlite.plans("v", &keys).await.unwrap(), []);
        assert_eq!(sqlite.plans("t", &[]).await.unwrap(), []);
        for _ in 0..2 {
            sqlite.end_plan("t", "a").await.unwrap();
        }
        assert_eq!(sqlite.plans("t", &keys).await.unwrap(), [row("t", "b", "2")]);
        assert_eq!(sqlite.plans("u", &keys).await.unwrap(), [row("u", "a", "3")]);
    }

    #[tokio::test]
    async fn plans_that_have_expired_are_gone_and_can_be_removed() {
        let sqlite = Sqlite::open(&Location::Memory).await.unwrap();
        for turn in ["1", "2", "3"] {
            sqlite.keep_plan(&row("t", turn, turn), SignedDuration::from_secs(-1)).await.unwrap();
        }
        sqlite.keep_plan(&row("t", "4", "4"), SignedDuration::from_hours(1)).await.unwrap();
        let keys = ["1", "4"].map(str::to_owned);
        assert_eq!(sqlite.plans("t", &keys).await.unwrap(), [row("t", "4", "4")]);
        assert_eq!(sqlite.forget_plans(2).await.unwrap(), 2);
        assert_eq!(sqlite.forget_plans(2).await.unwrap(), 1);
        assert_eq!(sqlite.forget_plans(2).await.unwrap(), 0);
    }
}
