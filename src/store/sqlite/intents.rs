//! Intents in SQLite.

use jiff::Timestamp;

use super::Sqlite;
use super::fault::fault;
use crate::store::{Begun, IntentKey, StoreError};

impl Sqlite {
    /// See [`crate::store::Intents::begin`].
    pub(in crate::store) async fn begin(&self, key: &IntentKey) -> Result<Begun, StoreError> {
        self.mark_begun(key).await.map_err(fault)
    }

    async fn mark_begun(&self, key: &IntentKey) -> Result<Begun, sqlx::Error> {
        // Takes the write lock before it reads: no other process can begin the same in between.
        let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
        let before: Option<Option<String>> =
            sqlx::query_scalar("SELECT label FROM intents WHERE session = ? AND operation = ? AND arguments_hash = ?")
                .bind(&key.session)
                .bind(&key.operation)
                .bind(&key.arguments_hash)
                .fetch_optional(&mut *transaction)
                .await?;
        sqlx::query(
            "INSERT INTO intents (session, operation, arguments_hash, begun_at, label) VALUES (?, ?, ?, ?, NULL) \
             ON CONFLICT (session, operation, arguments_hash) DO UPDATE SET begun_at = excluded.begun_at, label = NULL",
        )
        .bind(&key.session)
        .bind(&key.operation)
        .bind(&key.arguments_hash)
        .bind(Timestamp::now().as_millisecond())
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(match before {
            None => Begun::Fresh,
            Some(None) => Begun::UnknownBefore,
            Some(Some(label)) => Begun::FinishedBefore { label },
        })
    }

    /// See [`crate::store::Intents::finish`].
    pub(in crate::store) async fn finish(&self, key: &IntentKey, label: &str) -> Result<(), StoreError> {
        sqlx::query("UPDATE intents SET label = ? WHERE session = ? AND operation = ? AND arguments_hash = ?")
            .bind(label)
            .bind(&key.session)
            .bind(&key.operation)
            .bind(&key.arguments_hash)
            .execute(&self.writer)
            .await
            .map(|_| ())
            .map_err(fault)
    }
}
