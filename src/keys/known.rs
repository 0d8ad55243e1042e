//! Loaded keys, held in memory, so that requests need no store access.

use std::collections::HashMap;
use std::sync::Arc;

use globset::{Glob, GlobSet, GlobSetBuilder};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::refusal::KeyDenial;
use super::secret;
use callwright_types::{KeyNote, VirtualKey};

/// A loaded key with its compiled globs.
#[derive(Debug)]
pub struct KnownKey {
    key: VirtualKey,
    /// `None` means all models.
    models: Option<GlobSet>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    /// Usable.
    Active,
    Expired,
    Revoked,
}

impl KeyState {
    /// Returns the name in JSON and text.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }

    /// Returns the state of a key at `now`.
    pub fn of(key: &VirtualKey, now: Timestamp) -> Self {
        if key.revoked_at.is_some() {
            Self::Revoked
        } else if key.expires_at.is_some_and(|end| end <= now) {
            Self::Expired
        } else {
            Self::Active
        }
    }
}

impl KnownKey {
    fn new(key: VirtualKey) -> Self {
        let models = (!key.models.is_empty()).then(|| globs(&key.models).unwrap_or_else(|_| GlobSet::empty()));
        Self { key, models }
    }

    pub fn key(&self) -> &VirtualKey {
        &self.key
    }

    /// Returns the note for traces.
    pub fn note(&self) -> KeyNote {
        KeyNote { id: self.key.id.clone(), name: self.key.name.clone(), group: self.key.group.clone() }
    }

    /// Whether the key may use only some models.
    pub fn is_restricted(&self) -> bool {
        self.models.is_some()
    }

    /// Whether the key may use the model or alias with this name.
    pub fn allows(&self, model: &str) -> bool {
        self.models.as_ref().is_none_or(|models| models.is_match(model))
    }
}

/// Whether one of the entries covers a path below `/v1`: it equals the path, is a prefix of whole segments, or is `*`.
pub(super) fn covers(entries: &[String], path: &str) -> bool {
    let path = path.trim_start_matches('/');
    entries.iter().any(|entry| {
        entry == "*" || path.strip_prefix(entry.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Compiles globs on model names.
pub(super) fn globs(texts: &[String]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for text in texts {
        set.add(Glob::new(text)?);
    }
    set.build()
}

/// Immutable set of all keys; a change creates a new set.
#[derive(Debug, Default)]
pub struct KnownKeys {
    by_id: HashMap<String, Arc<KnownKey>>,
    /// By the handles of their secrets.
    by_handle: HashMap<String, Arc<KnownKey>>,
}

impl KnownKeys {
    /// Returns a set in which these keys replace their previous versions.
    pub(super) fn with(&self, keys: Vec<VirtualKey>) -> Self {
        let mut by_id = self.by_id.clone();
        by_id.extend(keys.into_iter().map(|key| (key.id.clone(), Arc::new(KnownKey::new(key)))));
        let handles = |known: &Arc<KnownKey>| {
            let known = Arc::clone(known);
            let handles: Vec<String> = known.key.secrets.iter().map(|secret| secret.handle.clone()).collect();
            handles.into_iter().map(move |handle| (handle, Arc::clone(&known)))
        };
        let by_handle = by_id.values().flat_map(handles).collect();
        Self { by_id, by_handle }
    }

    /// Finds the key with this secret.
    ///
    /// # Errors
    /// [`KeyDenial`]; a sender without the full secret learns only that the key is unknown.
    pub(super) fn find(&self, sent: &str, now: Timestamp) -> Result<Arc<KnownKey>, KeyDenial> {
        let handle = secret::handle_of(sent).ok_or(KeyDenial::Unknown)?;
        let known = self.by_handle.get(handle).ok_or(KeyDenial::Unknown)?;
        let mut secrets = known.key.secrets.iter().filter(|secret| secret.handle == handle);
        let kept = secrets.find(|kept| secret::has_hash(sent, &kept.hash)).ok_or(KeyDenial::Unknown)?;
        match KeyState::of(&known.key, now) {
            KeyState::Revoked => Err(KeyDenial::Revoked),
            KeyState::Expired => Err(KeyDenial::Expired),
            KeyState::Active if kept.valid_until.is_some_and(|end| end <= now) => Err(KeyDenial::Expired),
            KeyState::Active => Ok(Arc::clone(known)),
        }
    }

    /// Returns the key with this id, or else the latest key with this name, preferably one that is not revoked.
    pub fn get(&self, id_or_name: &str) -> Option<&Arc<KnownKey>> {
        self.by_id.get(id_or_name).or_else(|| {
            let named = self.by_id.values().filter(|known| known.key.name == id_or_name);
            named.max_by_key(|known| (known.key.revoked_at.is_none(), &known.key.id))
        })
    }

    /// Iterates over all keys including revoked ones, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<KnownKey>> {
        self.by_id.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_types::{KeyLimits, Secret};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn key(id: &str) -> (Secret, VirtualKey) {
        let (secret, kept) = secret::mint(at(0)).unwrap();
        let key = VirtualKey {
            id: id.to_owned(),
            name: "ada".to_owned(),
            group: String::new(),
            policy: String::new(),
            selectable_policies: Vec::new(),
            models: Vec::new(),
            pass_through: None,
            limits: KeyLimits::default(),
            secrets: vec![kept],
            created_at: at(0),
            expires_at: None,
            revoked_at: None,
            updated_at: at(0),
        };
        (secret, key)
    }

    #[test]
    fn only_the_whole_secret_finds_a_key_and_only_then_more_is_told() {
        let (secret, key) = key("key_1");
        let known = KnownKeys::default().with(vec![VirtualKey { expires_at: Some(at(10)), ..key.clone() }]);
        assert_eq!(known.find(secret.expose(), at(9)).unwrap().key().id, "key_1");
        assert_eq!(known.find(secret.expose(), at(10)).unwrap_err(), KeyDenial::Expired);
        let revoked = known.with(vec![VirtualKey { revoked_at: Some(at(5)), ..key }]);
        assert_eq!(revoked.find(secret.expose(), at(9)).unwrap_err(), KeyDenial::Revoked);
        let other = format!("{}x", secret.expose());
        for wrong in [other.as_str(), "", "sk-1", "cw-00000000-x"] {
            assert_eq!(known.find(wrong, at(100)).unwrap_err(), KeyDenial::Unknown, "{wrong}");
        }
    }

    #[test]
    fn a_secret_that_was_rotated_holds_until_its_time_is_over() {
        let (old, mut key) = key("key_1");
        let (new, kept) = secret::mint(at(0)).unwrap();
        key.secrets[0].valid_until = Some(at(10));
        key.secrets.push(kept);
        let known = KnownKeys::default().with(vec![key]);
        assert!(known.find(old.expose(), at(9)).is_ok() && known.find(new.expose(), at(9)).is_ok());
        assert_eq!(known.find(old.expose(), at(10)).unwrap_err(), KeyDenial::Expired);
        assert!(known.find(new.expose(), at(1_000)).is_ok());
    }

    #[test]
    fn models_are_allowed_by_globs_and_all_where_none_is_given() {
        let (_, key) = key("key_1");
        let allows = |models: &[&str], model: &str| {
            let models = models.iter().map(|model| (*model).to_owned()).collect();
            KnownKey::new(VirtualKey { models, ..key.clone() }).allows(model)
        };
        assert!(allows(&[], "anything") && allows(&["gpt-*", "fast"], "fast") && allows(&["gpt-*"], "gpt-5"));
        assert!(!allows(&["gpt-*"], "o3") && !allows(&["["], "o3"), "a glob that cannot be read allows nothing");
    }

    #[test]
    fn an_entry_covers_whole_segments() {
        let covers = |entries: &[&str], path: &str| {
            covers(&entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>(), path)
        };
        assert!(
            covers(&["files"], "/files") && covers(&["files"], "/files/file-1/content") && covers(&["*"], "/any/thing")
        );
        assert!(
            covers(&["audio/speech", "models"], "/audio/speech") && !covers(&["audio/speech"], "/audio/transcriptions")
        );
        for path in ["/filesystem", "/Files", "/file", "/", "/v1/files", "/x/files"] {
            assert!(!covers(&["files"], path), "{path}");
        }
        assert!(!covers(&[], "/files"));
    }

    #[test]
    fn a_name_means_the_key_that_is_in_use() {
        let ((_, first), (_, second)) = (key("key_1"), key("key_2"));
        let known = KnownKeys::default().with(vec![first, VirtualKey { revoked_at: Some(at(1)), ..second }]);
        assert_eq!(known.get("ada").unwrap().key().id, "key_1");
        assert_eq!(known.get("key_2").unwrap().key().id, "key_2");
        assert!(known.get("eve").is_none());
    }
}
