//! Intents in SQLite.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::Sqlite;
use super::fault::fault;
use crate::store::{Beginning, Begun, IntentKey, StoreError};

/// What a call's row holds.
#[derive(sqlx::FromRow)]
struct Row {
    turn: String,
    label: Option<String>,
    answer: Option<String>,
    idempotency_key: Option<String>,
}

const SELECT: &str = "\
    SELECT turn, label, answer, idempotency_key FROM intents WHERE session = ? AND operation = ? AND arguments_hash = ?";

const BEGIN: &str = "\
    INSERT INTO intents (session, operation, arguments_hash, begun_at, turn, idempotency_key, label, answer) \
        VALUES (?, ?, ?, ?, ?, ?, NULL, NULL) \
    ON CONFLICT (session, operation, arguments_hash) DO UPDATE SET \
        begun_at = excluded.begun_at, turn = excluded.turn, idempotency_key = excluded.idempotency_key, label = NULL, answer = NULL";

const TAKE_OVER: &str = "UPDATE intents SET turn = ? WHERE session = ? AND operation = ? AND arguments_hash = ?";

impl Sqlite {
    /// See [`crate::store::Intents::unfinished_key`].
    pub(in crate::store) async fn unfinished_key(&self, key: &IntentKey) -> Result<Option<String>, StoreError> {
        let row = bound(sqlx::query_as::<_, Row>(SELECT), key).fetch_optional(&self.writer).await.map_err(fault)?;
        Ok(row.filter(|row| row.label.is_none()).and_then(|row| row.idempotency_key))
    }

    /// See [`crate::store::Intents::earlier`].
    pub(in crate::store) async fn earlier(&self, key: &IntentKey, turn: &str) -> Result<Option<Begun>, StoreError> {
        self.take_up(key, turn).await.map_err(fault)
    }

    async fn take_up(&self, key: &IntentKey, turn: &str) -> Result<Option<Begun>, sqlx::Error> {
        let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
        let begun = look(&mut transaction, key, turn).await?;
        if is_settled(&begun) {
            return Ok(None);
        }
        transaction.commit().await?;
        Ok(Some(begun))
    }

    /// See [`crate::store::Intents::begin`].
    pub(in crate::store) async fn begin(&self, key: &IntentKey, beginning: Beginning<'_>) -> Result<Begun, StoreError> {
        self.mark_begun(key, beginning).await.map_err(fault)
    }

    async fn mark_begun(&self, key: &IntentKey, beginning: Beginning<'_>) -> Result<Begun, sqlx::Error> {
        // Takes the write lock before it reads: no other process can begin the same in between.
        let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
        let begun = look(&mut transaction, key, beginning.turn).await?;
        if is_settled(&begun) {
            sqlx::query(BEGIN)
                .bind(&key.session)
                .bind(&key.operation)
                .bind(&key.arguments_hash)
                .bind(Timestamp::now().as_millisecond())
                .bind(beginning.turn)
                .bind(beginning.idempotency_key)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(begun)
    }

    /// See [`crate::store::Intents::finish`].
    pub(in crate::store) async fn finish(
        &self,
        key: &IntentKey,
        label: &str,
        answer: Option<&str>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE intents SET label = ?, answer = ? WHERE session = ? AND operation = ? AND arguments_hash = ?",
        )
        .bind(label)
        .bind(answer)
        .bind(&key.session)
        .bind(&key.operation)
        .bind(&key.arguments_hash)
        .execute(&self.writer)
        .await
        .map(|_| ())
        .map_err(fault)
    }

    /// See [`crate::store::Intents::told`].
    pub(in crate::store) async fn told(&self, turn: &str) -> Result<(), StoreError> {
        sqlx::query("UPDATE intents SET answer = NULL WHERE turn = ? AND answer IS NOT NULL")
            .bind(turn)
            .execute(&self.writer)
            .await
            .map(|_| ())
            .map_err(fault)
    }
}

/// What turn `turn` finds. What is not settled belongs to it from here on.
async fn look(connection: &mut SqliteConnection, key: &IntentKey, turn: &str) -> Result<Begun, sqlx::Error> {
    let before = bound(sqlx::query_as::<_, Row>(SELECT), key).fetch_optional(&mut *connection).await?;
    let begun = found(before, turn);
    if !is_settled(&begun) {
        sqlx::query(TAKE_OVER)
            .bind(turn)
            .bind(&key.session)
            .bind(&key.operation)
            .bind(&key.arguments_hash)
            .execute(connection)
            .await?;
    }
    Ok(begun)
}

/// Is nothing open about an earlier call: there was none, or its outcome was told?
fn is_settled(begun: &Begun) -> bool {
    matches!(begun, Begun::Fresh | Begun::FinishedBefore { .. })
}

fn found(before: Option<Row>, turn: &str) -> Begun {
    match before {
        None => Begun::Fresh,
        Some(Row { label: None, idempotency_key, .. }) => Begun::UnknownBefore { idempotency_key },
        Some(Row { answer: Some(answer), turn: before, .. }) if before != turn => Begun::UntoldBefore { answer },
        Some(Row { label: Some(label), .. }) => Begun::FinishedBefore { label },
    }
}

type RowQuery<'q> = sqlx::query::QueryAs<'q, sqlx::Sqlite, Row, sqlx::sqlite::SqliteArguments>;

fn bound<'q>(query: RowQuery<'q>, key: &'q IntentKey) -> RowQuery<'q> {
    query.bind(&key.session).bind(&key.operation).bind(&key.arguments_hash)
}
