//! Creation, change and revocation of keys in the store, for the command line and for `/admin/keys`.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::change::{KeyChange, KeyDraft, check_name};
use super::ledger::subject_of_key;
use super::report::{KeyReport, UsageSummary};
use super::secret;
use callwright_common::limits::ATTEMPTS;
use callwright_store::{KeyPut, MAX_PAGE, Revision, Store, StoreError};
use callwright_types::{KeyLimits, KeySecret, Secret, VirtualKey, ids};

/// Maximum number of valid secrets of a key, including the latest; faster rotation invalidates the oldest.
const MAX_SECRETS: usize = 5;

/// Error of an operation on a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The key does not exist.
    #[error("there is no key `{0}`; see `callwright keys list` or `GET /admin/keys`")]
    NotFound(String),
    /// Another key has the name.
    #[error("the key `{0}` already exists; use another name, or revoke that key first")]
    NameTaken(String),
    /// The key was revoked permanently.
    #[error("the key `{0}` is revoked; create a new one")]
    Revoked(String),
    /// A value is invalid.
    #[error("{0}")]
    Invalid(String),
    /// Concurrent changes interfere.
    #[error("the key `{0}` changes faster than it can be written; try again")]
    Busy(String),
    /// The system provides no random numbers.
    #[error("the system provides no random numbers, so no secret can be created; try again")]
    NoRandom,
    /// The store operation failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A key with its new secret, which is stored nowhere else.
#[derive(Debug)]
pub struct IssuedSecret {
    pub key: KeyReport,
    /// Secret for the client; it is not stored.
    pub secret: Secret,
}

/// Creates and changes keys in a store.
#[derive(Debug, Clone, Copy)]
pub struct Registrar<'a> {
    store: &'a Store,
}

impl<'a> Registrar<'a> {
    /// Creates a registrar of this store.
    pub fn of(store: &'a Store) -> Self {
        Self { store }
    }

    /// Creates a key.
    ///
    /// # Errors
    /// [`KeyError`]; then no key was created.
    pub async fn create(&self, draft: &KeyDraft) -> Result<IssuedSecret, KeyError> {
        check_name("name", &draft.name)?;
        let now = Timestamp::now();
        let (secret, kept) = secret::mint(now).ok_or(KeyError::NoRandom)?;
        let mut key = VirtualKey {
            id: ids::key_id(now),
            name: draft.name.clone(),
            group: String::new(),
            policy: String::new(),
            selectable_policies: Vec::new(),
            models: Vec::new(),
            pass_through: None,
            limits: KeyLimits::default(),
            secrets: vec![kept],
            created_at: now,
            expires_at: None,
            revoked_at: None,
            updated_at: now,
        };
        draft.change.apply(&mut key, now)?;
        match self.store.put_key(&key, None).await? {
            KeyPut::Written => Ok(IssuedSecret { key: KeyReport::of(&key, now, None), secret }),
            KeyPut::NameTaken => Err(KeyError::NameTaken(key.name)),
            KeyPut::Outdated => Err(KeyError::Busy(key.name)),
        }
    }

    /// Issues a new secret of a key; its previous secrets stay valid for `grace`.
    ///
    /// # Errors
    /// [`KeyError`]; then the secrets are unchanged.
    pub async fn rotate(&self, id_or_name: &str, grace: SignedDuration) -> Result<IssuedSecret, KeyError> {
        let (secret, kept) = secret::mint(Timestamp::now()).ok_or(KeyError::NoRandom)?;
        let add = |key: &mut VirtualKey, now| {
            add_secret(key, kept.clone(), now, grace);
            Ok(())
        };
        Ok(IssuedSecret { key: self.changed(id_or_name, add).await?, secret })
    }

    /// Revokes a key at once and permanently.
    pub async fn revoke(&self, id_or_name: &str) -> Result<KeyReport, KeyError> {
        let revoke = |key: &mut VirtualKey, now| {
            key.revoked_at = Some(now);
            Ok(())
        };
        self.changed(id_or_name, revoke).await
    }

    /// Changes a key.
    ///
    /// # Errors
    /// [`KeyError`]; then the key is unchanged.
    pub async fn update(&self, id_or_name: &str, change: &KeyChange) -> Result<KeyReport, KeyError> {
        self.changed(id_or_name, |key, now| change.apply(key, now)).await
    }

    /// Returns all keys in the order of creation.
    pub async fn list(&self) -> Result<Vec<KeyReport>, StoreError> {
        let (mut keys, mut after) = (std::collections::BTreeMap::new(), 0);
        loop {
            let changes = self.store.keys_changed(after, MAX_PAGE).await?;
            keys.extend(changes.keys.into_iter().map(|key| (key.id.clone(), key)));
            after = changes.upto;
            if !changes.more {
                let now = Timestamp::now();
                return Ok(keys.values().map(|key| KeyReport::of(key, now, None)).collect());
            }
        }
    }

    /// Returns a key with its usage from the store.
    ///
    /// # Errors
    /// [`KeyError::NotFound`] and [`KeyError::Store`].
    pub async fn show(&self, id_or_name: &str) -> Result<KeyReport, KeyError> {
        let (key, _) = self.find(id_or_name).await?;
        let now = Timestamp::now();
        let today = now.to_zoned(TimeZone::UTC).date();
        let rows = self.store.usage_since(&subject_of_key(&key.id), today.first_of_month()).await?;
        Ok(KeyReport::of(&key, now, Some(UsageSummary::of_rows(&rows, today))))
    }

    async fn find(&self, id_or_name: &str) -> Result<(VirtualKey, Revision), KeyError> {
        self.store.key(id_or_name).await?.ok_or_else(|| KeyError::NotFound(id_or_name.to_owned()))
    }

    /// Changes the current version of a key.
    async fn changed(
        &self,
        id_or_name: &str,
        change: impl Fn(&mut VirtualKey, Timestamp) -> Result<(), KeyError>,
    ) -> Result<KeyReport, KeyError> {
        for _ in 0..ATTEMPTS {
            let (mut key, seen) = self.find(id_or_name).await?;
            if key.revoked_at.is_some() {
                return Err(KeyError::Revoked(key.name));
            }
            let now = Timestamp::now();
            change(&mut key, now)?;
            key.updated_at = now;
            match self.store.put_key(&key, Some(seen)).await? {
                KeyPut::Written => return Ok(KeyReport::of(&key, now, None)),
                KeyPut::NameTaken => return Err(KeyError::NameTaken(key.name)),
                KeyPut::Outdated => {}
            }
        }
        Err(KeyError::Busy(id_or_name.to_owned()))
    }
}

/// Adds a secret; the previous ones stay valid for `grace`.
fn add_secret(key: &mut VirtualKey, secret: KeySecret, now: Timestamp, grace: SignedDuration) {
    let end = now.checked_add(grace).unwrap_or(Timestamp::MAX);
    for old in &mut key.secrets {
        old.valid_until = Some(old.valid_until.map_or(end, |before| before.min(end)));
    }
    key.secrets.retain(|old| old.valid_until.is_none_or(|end| end > now));
    let surplus = (key.secrets.len() + 1).saturating_sub(MAX_SECRETS);
    key.secrets.drain(..surplus);
    key.secrets.push(secret);
}
