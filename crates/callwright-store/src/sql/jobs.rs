//! SQL of background jobs.

use std::time::Duration;

use super::leases::JOB;
use super::{Database, Statement, now};
use crate::StoreError;

const CURSOR: &str = "SELECT cursor FROM jobs WHERE name = $1";

impl Database {
    pub(crate) async fn take_job(&self, name: &str, owner: &str, age: Duration) -> Result<bool, StoreError> {
        self.lease(&format!("{JOB}{name}"), owner, age).await
    }

    pub(crate) async fn leave_job(&self, name: &str, owner: &str) -> Result<(), StoreError> {
        self.release(&format!("{JOB}{name}"), owner).await
    }

    pub(crate) async fn job_cursor(&self, name: &str) -> Result<Option<String>, StoreError> {
        let row: Option<(String,)> = self.fetch_optional(Statement::new(CURSOR).bind(name)).await?;
        Ok(row.map(|(cursor,)| cursor))
    }

    pub(crate) async fn note_job(&self, name: &str, owner: &str, cursor: &str) -> Result<bool, StoreError> {
        let clock = self.clock();
        let note = Statement::beginning(format!(
            "INSERT INTO jobs (name, cursor, updated_at) SELECT $1, $2, $3 \
            WHERE EXISTS (SELECT 1 FROM leases WHERE leases.name = $4 AND owner = $5 AND expires_at > {clock}) \
            ON CONFLICT (name) DO UPDATE SET cursor = excluded.cursor, updated_at = excluded.updated_at"
        ));
        let note = note.usual(true).bind(name).bind(cursor).bind(now()).bind(format!("{JOB}{name}")).bind(owner);
        Ok(self.execute(note).await? > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::on_every_database;

    const LONG: Duration = Duration::from_secs(600);

    on_every_database! {
        async fn a_job_is_one_owners_until_it_is_given_back(store: Database) {
            assert_eq!(store.take_job("learn", "a", LONG).await, Ok(true));
            assert_eq!(store.take_job("learn", "b", LONG).await, Ok(false));
            assert_eq!(store.take_job("learn", "a", LONG).await, Ok(true), "it goes on");
            assert_eq!(store.take_job("other", "b", LONG).await, Ok(true));
            store.leave_job("learn", "b").await.unwrap();
            assert_eq!(store.take_job("learn", "b", LONG).await, Ok(false), "it was not b's to give back");
            store.leave_job("learn", "a").await.unwrap();
            assert_eq!(store.take_job("learn", "b", LONG).await, Ok(true));
        }

        async fn a_job_of_an_ended_process_is_resumed_by_another(store: Database) {
            assert_eq!(store.job_cursor("learn").await, Ok(None));
            assert_eq!(store.note_job("learn", "a", "0").await, Ok(false), "the job has no owner");
            assert_eq!(store.take_job("learn", "a", LONG).await, Ok(true));
            assert_eq!(store.note_job("learn", "a", "7").await, Ok(true));
            assert_eq!(store.note_job("learn", "b", "9").await, Ok(false));
            // The process `a` is killed, and its lease expires.
            store.execute(Statement::new("UPDATE leases SET expires_at = 1")).await.unwrap();
            assert_eq!(store.take_job("learn", "b", LONG).await, Ok(true));
            assert_eq!(store.job_cursor("learn").await, Ok(Some("7".to_owned())));
            assert_eq!(store.note_job("learn", "b", "8").await, Ok(true));
            // The process `a` was only slow and notices the takeover.
            assert_eq!(store.note_job("learn", "a", "100").await, Ok(false));
            assert_eq!(store.take_job("learn", "a", LONG).await, Ok(false));
            assert_eq!(store.job_cursor("learn").await, Ok(Some("8".to_owned())));
        }

        async fn expired_leases_are_removed(store: Database) {
            store.take_job("a", "a", LONG).await.unwrap();
            store.execute(Statement::new("UPDATE leases SET expires_at = 1")).await.unwrap();
            store.take_job("b", "b", LONG).await.unwrap();
            assert!(store.forget_leases(10).await.unwrap() >= 1);
            assert_eq!(store.take_job("b", "c", LONG).await, Ok(false));
        }
    }
}
