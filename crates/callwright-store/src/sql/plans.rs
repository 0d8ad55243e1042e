//! SQL of plans that wait for clients.

use jiff::{SignedDuration, Timestamp};

use super::{Database, Statement, VALUES_PER_SELECT, now};
use crate::{PlanRow, StoreError};

const KEEP: &str = "\
    INSERT INTO plans (tenant, key, turn, expires_at, document) VALUES ($1, $2, $3, $4, $5) \
    ON CONFLICT (tenant, key) DO UPDATE SET \
    turn = excluded.turn, expires_at = excluded.expires_at, document = excluded.document";

const PLANS: &str = "SELECT tenant, key, turn, document FROM plans WHERE tenant = ";

const ANY: &str = "SELECT turn FROM plans LIMIT 1";

const END: &str = "DELETE FROM plans WHERE tenant = $1 AND key = $2";

const FORGET: &str = "\
    DELETE FROM plans WHERE (tenant, key) IN \
        (SELECT tenant, key FROM plans WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";

impl Database {
    /// See [`crate::Store::keep_plan`]; the plan expires after `age`.
    pub(crate) async fn keep_plan(&self, row: &PlanRow, age: SignedDuration) -> Result<(), StoreError> {
        let expires_at = Timestamp::now().checked_add(age).unwrap_or(Timestamp::MAX);
        let keep = Statement::new(KEEP)
            .bind(&row.tenant)
            .bind(&row.key)
            .bind(&row.turn)
            .bind(expires_at.as_millisecond())
            .bind(&row.document);
        self.execute(keep).await.map(drop)
    }

    pub(crate) async fn plans(&self, tenant: &str, keys: &[String]) -> Result<Vec<PlanRow>, StoreError> {
        let mut plans = Vec::new();
        for keys in keys.chunks(VALUES_PER_SELECT) {
            let mut query = Statement::beginning(PLANS);
            query.push_bind(tenant).push(" AND expires_at > ").push_bind(now()).push(" AND key IN ").push_tuple(keys);
            // Trace ids sort by time.
            query.push(" ORDER BY turn DESC");
            plans.extend(self.fetch_all::<PlanRow>(query).await?);
        }
        Ok(plans)
    }

    pub(crate) async fn has_plans(&self) -> Result<bool, StoreError> {
        let any: Option<(String,)> = self.fetch_optional(Statement::new(ANY)).await?;
        Ok(any.is_some())
    }

    pub(crate) async fn end_plan(&self, tenant: &str, key: &str) -> Result<(), StoreError> {
        self.execute(Statement::new(END).bind(tenant).bind(key)).await.map(drop)
    }

    pub(crate) async fn forget_plans(&self, limit: u32) -> Result<u64, StoreError> {
        self.execute(Statement::new(FORGET).bind(now()).bind(limit)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::on_every_database;

    fn row(tenant: &str, key: &str, turn: &str) -> PlanRow {
        let owned = str::to_owned;
        PlanRow { tenant: owned(tenant), key: owned(key), turn: owned(turn), document: format!("{turn} of {tenant}") }
    }

    on_every_database! {
        async fn the_latest_plan_is_found_by_tenant_and_key(sqlite: Database) {
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

        async fn expired_plans_are_not_found_and_can_be_removed(sqlite: Database) {
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
}
