//! SQL of kept parts.

use jiff::{SignedDuration, Timestamp};

use super::{Database, Statement, VALUES_PER_SELECT, now};
use crate::{KeptRow, StoreError};

const KEEP: &str = "\
    INSERT INTO kept_parts (turn, tenant, calls, context, history, expires_at, document) VALUES ($1, $2, $3, $4, $5, $6, $7) \
    ON CONFLICT (turn) DO UPDATE SET calls = excluded.calls, document = excluded.document, expires_at = excluded.expires_at";

const KEPT: &str = "SELECT turn, tenant, calls, context, history, document FROM kept_parts WHERE tenant = ";

const FORGET: &str = "\
    DELETE FROM kept_parts WHERE turn IN (SELECT turn FROM kept_parts WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";

impl Database {
    /// See [`crate::Store::keep_part`]; the part expires after `age`.
    pub(crate) async fn keep(&self, row: &KeptRow, age: SignedDuration) -> Result<(), StoreError> {
        let expires_at = Timestamp::now().checked_add(age).unwrap_or(Timestamp::MAX);
        let keep = Statement::new(KEEP)
            .bind(&row.turn)
            .bind(&row.tenant)
            .bind(&row.calls)
            .bind(&row.context)
            .bind(&row.history)
            .bind(expires_at.as_millisecond())
            .bind(&row.document);
        self.execute(keep).await.map(drop)
    }

    /// See [`crate::Store::kept_parts`].
    pub(crate) async fn kept(&self, tenant: &str, calls: &[String]) -> Result<Vec<KeptRow>, StoreError> {
        let mut kept = Vec::new();
        for calls in calls.chunks(VALUES_PER_SELECT) {
            let mut query = Statement::beginning(KEPT);
            query
                .push_bind(tenant)
                .push(" AND expires_at > ")
                .push_bind(now())
                .push(" AND calls IN ")
                .push_tuple(calls);
            // Trace ids sort by time.
            query.push(" ORDER BY turn DESC");
            kept.extend(self.fetch_all::<KeptRow>(query).await?);
        }
        Ok(kept)
    }

    /// See [`crate::Store::forget_kept_parts`].
    pub(crate) async fn expire_kept(&self, limit: u32) -> Result<u64, StoreError> {
        self.execute(Statement::new(FORGET).bind(now()).bind(limit)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::on_every_database;

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

    async fn turns(store: &Database, tenant: &str, calls: &[&str]) -> Vec<String> {
        let calls: Vec<String> = calls.iter().map(|calls| (*calls).to_owned()).collect();
        store.kept(tenant, &calls).await.unwrap().into_iter().map(|row| row.turn).collect()
    }

    on_every_database! {
        async fn a_tenant_finds_its_own_parts_newest_first_until_they_expire(store: Database) {
            let hour = SignedDuration::from_hours(1);
            for (turn, tenant, calls) in [("1", "a", "x"), ("2", "a", "x"), ("3", "b", "x"), ("4", "a", "y")] {
                store.keep(&row(turn, tenant, calls), hour).await.unwrap();
            }
            assert_eq!(turns(&store, "a", &["x"]).await, ["2", "1"]);
            assert_eq!(turns(&store, "a", &["y", "z"]).await, ["4"]);
            store.keep(&row("2", "a", "x"), SignedDuration::ZERO).await.unwrap();
            assert_eq!(turns(&store, "a", &["x"]).await, ["1"]);
            assert_eq!(store.expire_kept(5).await, Ok(1));
            assert_eq!(store.expire_kept(5).await, Ok(0));
        }

        async fn a_part_of_the_same_turn_is_replaced(store: Database) {
            let hour = SignedDuration::from_hours(1);
            store.keep(&row("1", "a", "x"), hour).await.unwrap();
            store.keep(&KeptRow { document: "[]".to_owned(), ..row("1", "a", "x") }, hour).await.unwrap();
            assert_eq!(store.kept("a", &["x".to_owned()]).await.unwrap()[0].document, "[]");
        }

        async fn parts_are_found_for_conversations_of_any_length(store: Database) {
            store.keep(&row("1", "a", "1999"), SignedDuration::from_hours(1)).await.unwrap();
            let calls: Vec<String> = (0..2_000).map(|number| number.to_string()).collect();
            assert_eq!(store.kept("a", &calls).await.unwrap().len(), 1);
        }
    }
}
