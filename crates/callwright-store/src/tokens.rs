//! Memory: access tokens of toolsets' APIs, shared between replicas and restarts. They are stored encrypted or not at
//! all.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::seal::Seal;
use super::{SealKeyError, Settings, Store, StoreError};
use callwright_types::Secret;

/// Access token with its validity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedToken {
    /// Token text.
    pub secret: Secret,
    /// Time after which the token is no longer used, some time before it expires.
    pub use_until: Timestamp,
}

/// Tokens shared between processes. They are a cache: a lost token is requested again.
pub trait SharedTokens: Send + Sync + fmt::Debug {
    /// Returns the unexpired token with this name. A token that cannot be decrypted (key removed, or data damaged)
    /// counts as missing.
    fn token<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<SharedToken>, StoreError>>;

    /// Stores a token and replaces an earlier one with this name.
    ///
    /// # Errors
    /// [`StoreError`]; the earlier one is kept then.
    fn share<'a>(&'a self, name: &'a str, token: &'a SharedToken) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// Encrypted tokens in the store.
#[derive(Debug)]
pub struct SealedTokens {
    store: Arc<Store>,
    seal: Seal,
}

impl SealedTokens {
    /// Creates the token cache; `None` if the settings have no key: tokens are not stored then.
    ///
    /// # Errors
    /// [`SealKeyError`] if a key is invalid.
    pub fn new(store: &Arc<Store>, settings: &Settings) -> Result<Option<Self>, SealKeyError> {
        Ok(Seal::parse(&settings.seal_key)?.map(|seal| Self { store: Arc::clone(store), seal }))
    }
}

impl Settings {
    /// Returns the error of the configured encryption keys, if any.
    pub fn seal_key_fault(&self) -> Option<String> {
        Seal::parse(&self.seal_key).err().map(|error| error.to_string())
    }
}

/// Plaintext of a stored token.
#[derive(Serialize, Deserialize)]
struct SharedTokenPlaintext {
    token: String,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    use_until: i64,
}

impl SharedTokens for SealedTokens {
    fn token<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<SharedToken>, StoreError>> {
        Box::pin(async move {
            let sealed = self.store.database()?.token(name).await?;
            Ok(sealed.and_then(|sealed| {
                let content: SharedTokenPlaintext = serde_json::from_slice(&self.seal.open(&sealed, name)?).ok()?;
                let use_until = Timestamp::from_millisecond(content.use_until).ok()?;
                Some(SharedToken { secret: content.token.into(), use_until })
            }))
        })
    }

    fn share<'a>(&'a self, name: &'a str, token: &'a SharedToken) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let use_until = token.use_until.as_millisecond();
            let content = SharedTokenPlaintext { token: token.secret.expose().to_owned(), use_until };
            let sealed = self.seal.close(&serde_json::to_vec(&content)?, name).ok_or_else(|| {
                StoreError::Refused("the token cannot be encrypted: the system has no random numbers".to_owned())
            })?;
            self.store.record_health(self.store.database()?.share_token(name, use_until, &sealed).await)
        })
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::contract::on_every_database;
    use crate::seal::tests::{key, seal};
    use crate::sql::Statement;

    fn with(store: &Store, keys: &[u8]) -> SealedTokens {
        SealedTokens { store: Arc::new(store.clone()), seal: seal(keys) }
    }

    /// Returns a token that is valid for this many seconds; times are stored in milliseconds.
    fn good_for(secret: &str, seconds: i64) -> SharedToken {
        let end = Timestamp::now().saturating_add(SignedDuration::from_secs(seconds)).unwrap();
        let use_until = Timestamp::from_millisecond(end.as_millisecond()).unwrap();
        SharedToken { secret: secret.into(), use_until }
    }

    on_every_database! {
        async fn a_token_is_found_by_its_name_until_it_ends(store: Store) {
            let tokens = with(&store, &[1]);
            let (first, second) = (good_for("first", 60), good_for("second", 90));
            tokens.share("a", &first).await.unwrap();
            assert_eq!(tokens.token("a").await, Ok(Some(first)));
            assert_eq!(tokens.token("b").await, Ok(None));
            tokens.share("a", &second).await.unwrap();
            assert_eq!(with(&store, &[1]).token("a").await, Ok(Some(second)));
            tokens.share("a", &good_for("ended", -1)).await.unwrap();
            assert_eq!(tokens.token("a").await, Ok(None));
        }

        async fn expired_tokens_are_removed_by_the_next_write(store: Store) {
            let tokens = with(&store, &[1]);
            for name in ["a", "b", "c"] {
                tokens.share(name, &good_for("ended", -1)).await.unwrap();
            }
            tokens.share("d", &good_for("token", 60)).await.unwrap();
            let left = Statement::new("SELECT COUNT(*) FROM tokens");
            assert_eq!(store.database().unwrap().count(left).await, Ok(1));
        }

        async fn an_undecryptable_token_is_ignored_and_replaced(store: Store) {
            with(&store, &[1]).share("a", &good_for("canary", 60)).await.unwrap();
            let other = with(&store, &[2]);
            assert_eq!(other.token("a").await, Ok(None), "another key");
            assert!(with(&store, &[2, 1]).token("a").await.unwrap().is_some(), "a key that was replaced");
            other.share("a", &good_for("other", 60)).await.unwrap();
            assert!(other.token("a").await.unwrap().is_some());
            let database = store.database().unwrap();
            let moved = "INSERT INTO tokens (name, expires_at, sealed) SELECT 'b', expires_at, sealed FROM tokens";
            database.execute(Statement::new(moved)).await.unwrap();
            assert_eq!(other.token("b").await, Ok(None), "what was sealed for another name");
            database.execute(Statement::new("UPDATE tokens SET sealed = $1").bind(&b"short"[..])).await.unwrap();
            assert_eq!(other.token("a").await, Ok(None), "damaged");
        }
    }

    #[tokio::test]
    async fn no_key_gives_no_tokens_and_an_invalid_key_is_reported() {
        let settings = crate::samples::in_memory();
        let store = Arc::new(Store::open(&settings, std::path::Path::new("")).await);
        assert!(SealedTokens::new(&store, &settings).unwrap().is_none() && settings.seal_key_fault().is_none());
        let good = Settings { seal_key: key(1).into(), ..settings.clone() };
        assert!(SealedTokens::new(&store, &good).unwrap().is_some());
        let wrong = Settings { seal_key: "wrong".into(), ..settings };
        assert!(
            SealedTokens::new(&store, &wrong).is_err() && wrong.seal_key_fault().unwrap().contains("32 random bytes")
        );
    }
}
