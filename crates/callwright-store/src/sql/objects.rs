//! SQL of the owners of the provider's objects.

use jiff::{SignedDuration, Timestamp};

use super::insertion::{Insertion, ROWS_PER_INSERT};
use super::{Database, SqlValue, Statement, VALUES_PER_SELECT, now};
use crate::{ObjectOwner, ObjectRow, StoreError};

static RECORD: Insertion<4, ROWS_PER_INSERT> = Insertion::new(
    "INSERT INTO provider_objects (id, tenant, team, expires_at) VALUES ",
    " ON CONFLICT (id) DO NOTHING",
);

const RESERVE: &str = "\
    INSERT INTO provider_objects (id, tenant, team, reserved, expires_at) VALUES ($1, $2, $3, $4, $5) \
    ON CONFLICT (id) DO UPDATE SET reserved = excluded.reserved WHERE provider_objects.tenant = excluded.tenant";

const OWNERS: &str = "SELECT id, tenant, team FROM provider_objects WHERE (expires_at IS NULL OR expires_at > ";

const RESERVED: &str = "SELECT reserved FROM provider_objects WHERE id = $1 AND reserved IS NOT NULL";

const TAKE: &str = "UPDATE provider_objects SET reserved = NULL WHERE id = $1 AND reserved IS NOT NULL";

const EXPIRE: &str = "\
    DELETE FROM provider_objects WHERE id IN \
    (SELECT id FROM provider_objects WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";

impl Database {
    /// See [`crate::Store::record_objects`]; `None` as `age` keeps all rows.
    pub(crate) async fn record_objects(
        &self,
        tenant: &str,
        team: &str,
        rows: &[ObjectRow],
        age: Option<SignedDuration>,
    ) -> Result<u64, StoreError> {
        let expires_at = end_of(age);
        let statements = RECORD.statements(rows, |row| {
            let expires_at = expires_at.filter(|_| row.expires);
            [SqlValue::from(&row.id), tenant.into(), team.into(), expires_at.into()]
        });
        let mut recorded = 0;
        for statement in statements {
            recorded += self.execute(statement).await?;
        }
        Ok(recorded)
    }

    /// See [`crate::Store::object_owners`].
    pub(crate) async fn object_owners(&self, ids: &[String]) -> Result<Vec<ObjectOwner>, StoreError> {
        let mut owners = Vec::new();
        for ids in ids.chunks(VALUES_PER_SELECT) {
            let mut query = Statement::beginning(OWNERS);
            query.push_bind(now()).push(") AND id IN ").push_tuple(ids);
            owners.extend(self.fetch_all::<ObjectOwner>(query).await?);
        }
        Ok(owners)
    }

    /// See [`crate::Store::reserve_object`]; the values are id, tenant, team and charge.
    pub(crate) async fn reserve_object(
        &self,
        values: [&str; 4],
        age: Option<SignedDuration>,
    ) -> Result<(), StoreError> {
        let reserve = values.into_iter().fold(Statement::new(RESERVE), Statement::bind).bind(end_of(age));
        self.execute(reserve).await.map(drop)
    }

    /// See [`crate::Store::take_reserved`].
    pub(crate) async fn take_reserved(&self, id: &str) -> Result<Option<String>, StoreError> {
        let row: Option<(String,)> = self.fetch_optional(Statement::new(RESERVED).bind(id)).await?;
        let Some((reserved,)) = row else { return Ok(None) };
        // Of several requests, one changes the row.
        let taken = self.execute(Statement::new(TAKE).bind(id)).await?;
        Ok((taken > 0).then_some(reserved))
    }

    /// See [`crate::Store::forget_object`].
    pub(crate) async fn forget_object(&self, id: &str) -> Result<(), StoreError> {
        self.execute(Statement::new("DELETE FROM provider_objects WHERE id = $1").bind(id)).await.map(drop)
    }

    /// See [`crate::Store::expire_objects`].
    pub(crate) async fn expire_objects(&self, limit: u32) -> Result<u64, StoreError> {
        self.execute(Statement::new(EXPIRE).bind(now()).bind(limit)).await
    }
}

/// Returns the end of a retention time as a column value.
fn end_of(age: Option<SignedDuration>) -> Option<i64> {
    age.map(|age| Timestamp::now().checked_add(age).unwrap_or(Timestamp::MAX).as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::on_every_database;

    fn row(id: &str, expires: bool) -> ObjectRow {
        ObjectRow { id: id.to_owned(), expires }
    }

    async fn owners(store: &Database, ids: &[&str]) -> Vec<(String, String)> {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let mut owners: Vec<(String, String)> =
            store.object_owners(&ids).await.unwrap().into_iter().map(|owner| (owner.id, owner.tenant)).collect();
        owners.sort();
        owners
    }

    fn pair(id: &str, tenant: &str) -> (String, String) {
        (id.to_owned(), tenant.to_owned())
    }

    on_every_database! {
        async fn an_object_keeps_its_first_owner_until_it_is_deleted(store: Database) {
            let hour = Some(SignedDuration::from_hours(1));
            assert_eq!(store.record_objects("a", "team", &[row("1", true), row("2", false)], hour).await, Ok(2));
            assert_eq!(store.record_objects("b", "", &[row("2", true), row("3", true)], hour).await, Ok(1));
            assert_eq!(owners(&store, &["1", "2", "3", "4"]).await, [pair("1", "a"), pair("2", "a"), pair("3", "b")]);
            assert_eq!(store.object_owners(&["1".to_owned()]).await.unwrap()[0].team, "team");
            store.forget_object("2").await.unwrap();
            assert_eq!(store.record_objects("b", "", &[row("2", true)], hour).await, Ok(1));
            assert_eq!(owners(&store, &["2"]).await, [pair("2", "b")]);
        }

        async fn only_rows_that_may_expire_do(store: Database) {
            store.record_objects("a", "", &[row("1", true), row("2", false)], Some(SignedDuration::ZERO)).await.unwrap();
            store.record_objects("a", "", &[row("3", true)], None).await.unwrap();
            assert_eq!(owners(&store, &["1", "2", "3"]).await, [pair("2", "a"), pair("3", "a")]);
            assert_eq!(store.expire_objects(5).await, Ok(1));
            assert_eq!(store.expire_objects(5).await, Ok(0));
        }

        async fn a_reserved_charge_is_taken_once(store: Database) {
            store.record_objects("a", "", &[row("1", true), row("2", true)], None).await.unwrap();
            for (id, tenant) in [("1", "a"), ("2", "b"), ("3", "a")] {
                store.reserve_object([id, tenant, "", "{}"], None).await.unwrap();
            }
            assert_eq!(store.take_reserved("3").await, Ok(Some("{}".to_owned())));
            assert_eq!(store.take_reserved("1").await, Ok(Some("{}".to_owned())));
            assert_eq!(store.take_reserved("1").await, Ok(None));
            assert_eq!(store.take_reserved("2").await, Ok(None));
        }

        async fn many_objects_are_recorded_and_found(store: Database) {
            let ids: Vec<String> = (0..1_200).map(|number| number.to_string()).collect();
            let rows: Vec<ObjectRow> = ids.iter().map(|id| row(id, true)).collect();
            assert_eq!(store.record_objects("a", "", &rows, None).await, Ok(1_200));
            assert_eq!(store.object_owners(&ids).await.unwrap().len(), 1_200);
        }
    }
}
