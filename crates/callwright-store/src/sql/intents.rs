//! SQL of intents.

use super::{Database, DatabaseTransaction, Lock, Statement, database_record, now};
use crate::{Beginning, IntentKey, IntentState, StoreError};

database_record! {
    struct IntentRow {
        turn: String,
        label: Option<String>,
        answer: Option<String>,
        idempotency_key: Option<String>,
    }
}

const SELECT: &str = "\
    SELECT turn, label, answer, idempotency_key FROM intents WHERE session = $1 AND operation = $2 AND arguments_hash = $3";

const BEGIN: &str = "\
    INSERT INTO intents (session, operation, arguments_hash, begun_at, turn, idempotency_key, label, answer) \
        VALUES ($1, $2, $3, $4, $5, $6, NULL, NULL) \
    ON CONFLICT (session, operation, arguments_hash) DO UPDATE SET \
        begun_at = excluded.begun_at, turn = excluded.turn, idempotency_key = excluded.idempotency_key, label = NULL, answer = NULL";

const TAKE_OVER: &str = "UPDATE intents SET turn = $4 WHERE session = $1 AND operation = $2 AND arguments_hash = $3";

const FINISH: &str =
    "UPDATE intents SET label = $4, answer = $5 WHERE session = $1 AND operation = $2 AND arguments_hash = $3";

const MARK_DELIVERED: &str = "UPDATE intents SET answer = NULL WHERE turn = $1 AND answer IS NOT NULL";

impl Database {
    pub(crate) async fn unfinished_key(&self, key: &IntentKey) -> Result<Option<String>, StoreError> {
        let row: Option<IntentRow> = self.fetch_optional(of_call(SELECT, key)).await?;
        Ok(row.filter(|row| row.label.is_none()).and_then(|row| row.idempotency_key))
    }

    pub(crate) async fn earlier(&self, key: &IntentKey, turn: &str) -> Result<Option<IntentState>, StoreError> {
        let mut transaction = self.alone_with(key).await?;
        let begun = earlier_state(&mut transaction, key, turn).await?;
        transaction.commit().await?;
        Ok(Some(begun).filter(|begun| !is_settled(begun)))
    }

    /// See [`crate::Intents::begin`].
    pub(crate) async fn begin_intent(
        &self,
        key: &IntentKey,
        beginning: Beginning<'_>,
    ) -> Result<IntentState, StoreError> {
        let mut transaction = self.alone_with(key).await?;
        let begun = earlier_state(&mut transaction, key, beginning.turn).await?;
        if is_settled(&begun) {
            let begin = of_call(BEGIN, key).bind(now()).bind(beginning.turn).bind(beginning.idempotency_key);
            transaction.execute(begin).await?;
        }
        transaction.commit().await?;
        Ok(begun)
    }

    pub(crate) async fn finish(&self, key: &IntentKey, label: &str, answer: Option<&str>) -> Result<(), StoreError> {
        self.execute(of_call(FINISH, key).bind(label).bind(answer)).await.map(drop)
    }

    pub(crate) async fn mark_delivered(&self, turn: &str) -> Result<(), StoreError> {
        self.execute(Statement::new(MARK_DELIVERED).bind(turn)).await.map(drop)
    }

    /// Begins a transaction with a lock on the name of the call: a row that does not exist yet cannot be locked itself.
    /// No replica can begin the same call until the commit.
    async fn alone_with(&self, key: &IntentKey) -> Result<DatabaseTransaction, StoreError> {
        let IntentKey { session, operation, arguments_hash } = key;
        self.begin(Lock::Named(&format!("callwright/intent/{session}/{operation}/{arguments_hash}"))).await
    }
}

/// Returns the earlier state of the call for turn `turn`. An unsettled call belongs to that turn from now on.
async fn earlier_state(
    transaction: &mut DatabaseTransaction,
    key: &IntentKey,
    turn: &str,
) -> Result<IntentState, StoreError> {
    let before = transaction.fetch_optional(of_call(SELECT, key)).await?;
    let begun = state_of(before, turn);
    if !is_settled(&begun) {
        transaction.execute(of_call(TAKE_OVER, key).bind(turn)).await?;
    }
    Ok(begun)
}

/// Whether no earlier call is open: there was none, or its client got the outcome.
fn is_settled(begun: &IntentState) -> bool {
    matches!(begun, IntentState::Fresh | IntentState::FinishedBefore { .. })
}

fn state_of(before: Option<IntentRow>, turn: &str) -> IntentState {
    match before {
        None => IntentState::Fresh,
        Some(IntentRow { label: None, idempotency_key, .. }) => IntentState::UnknownBefore { idempotency_key },
        Some(IntentRow { answer: Some(answer), turn: before, .. }) if before != turn => {
            IntentState::UndeliveredBefore { answer }
        }
        Some(IntentRow { label: Some(label), .. }) => IntentState::FinishedBefore { label },
    }
}

/// Returns a statement whose first three placeholders identify the call.
fn of_call(text: &'static str, key: &IntentKey) -> Statement {
    Statement::new(text).bind(&key.session).bind(&key.operation).bind(&key.arguments_hash)
}
