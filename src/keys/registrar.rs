//! Making, changing and ending keys in the store: for the command line and for `/admin/keys` alike.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::access::subject_of_key;
use super::change::{KeyChange, KeyDraft, check_name};
use super::report::{KeyReport, UsageSummary};
use super::secret;
use callwright_store::{KeyPut, KeyUsage, Keys, Revision, Store, StoreError};
use callwright_types::{KeyLimits, Secret, VirtualKey, ids};

/// Times that a key is changed anew because somebody else changed it meanwhile.
const TRIES: u32 = 3;

/// Keys that are read at a time.
const PAGE: u32 = 500;

/// Secrets of a key, the latest among them, that may hold at a time: who rotates faster ends the oldest.
const MAX_SECRETS: usize = 5;

/// What could not be done with a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is none.
    #[error("there is no key `{0}`; `callwright keys list` and `GET /admin/keys` name those that there are")]
    NotFound(String),
    /// Another one has the name.
    #[error("there is a key `{0}` already; take another name, or revoke that one first")]
    NameTaken(String),
    /// It was revoked, and stays so.
    #[error("the key `{0}` is revoked; make a new one")]
    Revoked(String),
    /// Something cannot be.
    #[error("{0}")]
    Invalid(String),
    /// Others change it at the same time.
    #[error("the key `{0}` changes faster than it can be written; try again")]
    Busy(String),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers, so no secret can be made; try again")]
    NoRandom,
    /// The store did not do what was asked.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A key and its new secret, which is nowhere else.
#[derive(Debug)]
pub struct Issued {
    /// The key.
    pub key: KeyReport,
    /// What the client has to send. It is not kept.
    pub secret: Secret,
}

/// Makes and changes keys in a store.
#[derive(Debug, Clone, Copy)]
pub struct Registrar<'a> {
    store: &'a Store,
}

impl<'a> Registrar<'a> {
    /// Of this store.
    pub fn of(store: &'a Store) -> Self {
        Self { store }
    }

    /// Makes a key.
    ///
    /// # Errors
    /// [`KeyError`]; there is no new key then.
    pub async fn create(&self, draft: &KeyDraft) -> Result<Issued, KeyError> {
        check_name("name", &draft.name)?;
        let now = Timestamp::now();
        let (secret, kept) = secret::mint(now).ok_or(KeyError::NoRandom)?;
        let mut key = VirtualKey {
            id: ids::key_id(now),
            name: draft.name.clone(),
            group: String::new(),
            policy: String::new(),
            selectable: None,
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
            KeyPut::Written => Ok(Issued { key: KeyReport::of(&key, now, None), secret }),
            KeyPut::NameTaken => Err(KeyError::NameTaken(key.name)),
            KeyPut::Outdated => Err(KeyError::Busy(key.name)),
        }
    }

    /// Gives a key a new secret; those that it has hold for `grace`.
    ///
    /// # Errors
    /// [`KeyError`]; the secrets hold as before then.
    pub async fn rotate(&self, id_or_name: &str, grace: SignedDuration) -> Result<Issued, KeyError> {
        let (secret, kept) = secret::mint(Timestamp::now()).ok_or(KeyError::NoRandom)?;
        let change = |key: &mut VirtualKey, now: Timestamp| {
            let end = now.checked_add(grace).unwrap_or(Timestamp::MAX);
            for old in &mut key.secrets {
                old.valid_until = Some(old.valid_until.map_or(end, |before| before.min(end)));
            }
            key.secrets.retain(|old| old.valid_until.is_none_or(|end| end > now));
            let surplus = (key.secrets.len() + 1).saturating_sub(MAX_SECRETS);
            key.secrets.drain(..surplus);
            key.secrets.push(kept.clone());
            Ok(())
        };
        let key = self.changed(id_or_name, change).await?;
        Ok(Issued { key: KeyReport::of(&key, Timestamp::now(), None), secret })
    }

    /// Ends a key, at once and for good.
    ///
    /// # Errors
    /// [`KeyError`].
    pub async fn revoke(&self, id_or_name: &str) -> Result<KeyReport, KeyError> {
        let change = |key: &mut VirtualKey, now: Timestamp| {
            key.revoked_at = Some(now);
            Ok(())
        };
        let key = self.changed(id_or_name, change).await?;
        Ok(KeyReport::of(&key, Timestamp::now(), None))
    }

    /// Changes a key.
    ///
    /// # Errors
    /// [`KeyError`]; it stays as it was then.
    pub async fn update(&self, id_or_name: &str, change: &KeyChange) -> Result<KeyReport, KeyError> {
        let key = self.changed(id_or_name, |key, now| change.apply(key, now)).await?;
        Ok(KeyReport::of(&key, Timestamp::now(), None))
    }

    /// All keys, in the order in which they were made.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn list(&self) -> Result<Vec<KeyReport>, StoreError> {
        let (mut keys, mut after) = (std::collections::BTreeMap::new(), 0);
        loop {
            let changes = self.store.keys_changed(after, PAGE).await?;
            keys.extend(changes.keys.into_iter().map(|key| (key.id.clone(), key)));
            after = changes.upto;
            if !changes.more {
                let now = Timestamp::now();
                return Ok(keys.values().map(|key| KeyReport::of(key, now, None)).collect());
            }
        }
    }

    /// A key with what it used, as the store has it.
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

    /// Changes a key as it stands.
    async fn changed(
        &self,
        id_or_name: &str,
        change: impl Fn(&mut VirtualKey, Timestamp) -> Result<(), KeyError>,
    ) -> Result<VirtualKey, KeyError> {
        for _ in 0..TRIES {
            let (mut key, seen) = self.find(id_or_name).await?;
            if key.revoked_at.is_some() {
                return Err(KeyError::Revoked(key.name));
            }
            let now = Timestamp::now();
            change(&mut key, now)?;
            key.updated_at = now;
            match self.store.put_key(&key, Some(seen)).await? {
                KeyPut::Written => return Ok(key),
                KeyPut::NameTaken => return Err(KeyError::NameTaken(key.name)),
                KeyPut::Outdated => {}
            }
        }
        Err(KeyError::Busy(id_or_name.to_owned()))
    }
}
