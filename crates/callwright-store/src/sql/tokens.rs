//! SQL of encrypted tokens.

use super::{Database, Lock, Statement, now};
use crate::StoreError;

const SHARE: &str = "INSERT INTO tokens (name, expires_at, sealed) VALUES ($1, $2, $3) \
    ON CONFLICT (name) DO UPDATE SET expires_at = excluded.expires_at, sealed = excluded.sealed";

const TOKEN: &str = "SELECT sealed FROM tokens WHERE name = $1 AND expires_at > $2";

/// Deletes all expired tokens at once: each toolset has only a few.
const FORGET_ENDED: &str = "DELETE FROM tokens WHERE expires_at <= $1";

impl Database {
    pub(crate) async fn token(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let row: Option<(Vec<u8>,)> = self.fetch_optional(Statement::new(TOKEN).bind(name).bind(now())).await?;
        Ok(row.map(|(sealed,)| sealed))
    }

    /// See [`crate::SharedTokens::share`]. Also deletes expired tokens.
    pub(crate) async fn share_token(&self, name: &str, expires_at: i64, sealed: &[u8]) -> Result<(), StoreError> {
        let mut transaction = self.begin(Lock::Named("callwright/tokens")).await?;
        transaction.execute(Statement::new(FORGET_ENDED).bind(now())).await?;
        transaction.execute(Statement::new(SHARE).bind(name).bind(expires_at).bind(sealed)).await?;
        transaction.commit().await
    }
}
