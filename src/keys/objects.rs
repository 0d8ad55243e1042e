//! Owners of the objects that virtual keys store in the provider's account, which all of them share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use globset::GlobSet;

use super::known::{KnownKey, globs};
use super::request_permit::ReservedCharge;
use super::settings::{ObjectSharing, Settings, UnknownObjects};
use callwright_common::cache::ByteCache;
use callwright_common::digest;
use callwright_common::limits::CACHE_BYTES;
use callwright_store::{ObjectOwner, ObjectRow, Store, StoreError};
use callwright_types::{KeyNote, VirtualKey};

/// Maximum number of objects that wait for the store to accept writes again.
const MAX_UNWRITTEN: usize = 50_000;

/// Relation of a key to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// The key, or its group, got the object from the provider.
    Own,
    /// The configuration lists the object for all keys.
    Shared,
    /// Another key got it.
    Foreign,
    /// No key got it through this proxy.
    Unknown,
}

/// An object that a key got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedObject {
    /// The provider's id.
    pub id: String,
    /// Whether the provider deletes it by itself.
    pub expires: bool,
}

/// Owners of objects; the store has them for all replicas.
#[derive(Debug)]
pub struct ObjectOwners {
    store: Arc<Store>,
    sharing: ObjectSharing,
    unknown: UnknownObjects,
    shared: GlobSet,
    /// By hash of the id.
    cache: ByteCache<String, Arc<ObjectOwner>>,
    /// Objects that the store did not accept yet.
    unwritten: Mutex<Vec<KeyObjects>>,
}

/// Objects that a key got.
#[derive(Debug)]
struct KeyObjects {
    tenant: String,
    team: String,
    rows: Vec<ObjectRow>,
}

impl ObjectOwners {
    pub(super) fn new(settings: &Settings, store: Arc<Store>) -> Self {
        Self {
            store,
            sharing: settings.object_owner,
            unknown: settings.unknown_objects,
            // The configuration was validated.
            shared: globs(&settings.shared_objects).unwrap_or_else(|_| GlobSet::empty()),
            cache: ByteCache::new(CACHE_BYTES, |id, owner| {
                id.len() + owner.id.len() + owner.tenant.len() + owner.team.len()
            }),
            unwritten: Mutex::default(),
        }
    }

    /// Whether a key may use an object. `is_needed` is whether the request depends on it.
    pub fn admits(&self, ownership: Ownership, is_needed: bool) -> bool {
        match ownership {
            Ownership::Own | Ownership::Shared => true,
            Ownership::Foreign => false,
            Ownership::Unknown => !is_needed || self.unknown == UnknownObjects::Allow,
        }
    }

    /// Returns the relations of a key to these objects.
    ///
    /// # Errors
    /// [`StoreError`] if an owner cannot be read.
    pub async fn relations<'a>(
        &self,
        known: &KnownKey,
        ids: impl IntoIterator<Item = &'a str>,
    ) -> Result<BTreeMap<&'a str, Ownership>, StoreError> {
        let (mut relations, mut searched) = (BTreeMap::new(), BTreeMap::new());
        for id in ids {
            let hash = digest::of_text(id);
            match self.cache.get(&hash) {
                Some(owner) => drop(relations.insert(id, self.relation(known, id, Some(&owner)))),
                None => drop(searched.insert(hash, id)),
            }
        }
        if searched.is_empty() {
            return Ok(relations);
        }
        let hashes: Vec<String> = searched.keys().cloned().collect();
        for owner in self.store.object_owners(&hashes).await? {
            if let Some(id) = searched.remove(&owner.id) {
                relations.insert(id, self.relation(known, id, Some(&owner)));
                self.cache.insert(owner.id.clone(), Arc::new(owner));
            }
        }
        relations.extend(searched.into_values().map(|id| (id, self.relation(known, id, None))));
        Ok(relations)
    }

    fn relation(&self, known: &KnownKey, id: &str, owner: Option<&ObjectOwner>) -> Ownership {
        let key = known.key();
        let is_of_group =
            |team: &str| self.sharing == ObjectSharing::Group && !key.group.is_empty() && key.group == team;
        match owner {
            Some(owner) if owner.tenant == key.id || is_of_group(&owner.team) => Ownership::Own,
            _ if self.shared.is_match(id) => Ownership::Shared,
            Some(_) => Ownership::Foreign,
            None => Ownership::Unknown,
        }
    }

    /// Records objects that a key got. Objects that have an owner keep it. If the store does not accept them, this
    /// process has them in memory until it does.
    pub async fn record(&self, known: &KnownKey, objects: Vec<OwnedObject>) {
        let VirtualKey { id, group, .. } = known.key();
        let rows =
            objects.into_iter().map(|object| ObjectRow { id: digest::of_text(&object.id), expires: object.expires });
        let objects = KeyObjects { tenant: id.clone(), team: group.clone(), rows: rows.collect() };
        match self.write(&objects).await {
            // With another owner among them, they are read when they are used.
            Ok(recorded) if recorded < objects.rows.len() as u64 => {}
            Ok(_) => self.remember(&objects),
            Err(error) => {
                tracing::warn!(%error, "cannot store the owner of an object of the provider; other replicas do not have it yet");
                self.remember(&objects);
                self.postpone(objects);
            }
        }
    }

    async fn write(&self, KeyObjects { tenant, team, rows }: &KeyObjects) -> Result<u64, StoreError> {
        self.store.record_objects(tenant, team, rows).await
    }

    fn remember(&self, KeyObjects { tenant, team, rows }: &KeyObjects) {
        for row in rows {
            let owner = ObjectOwner { id: row.id.clone(), tenant: tenant.clone(), team: team.clone() };
            self.cache.insert(row.id.clone(), Arc::new(owner));
        }
    }

    fn postpone(&self, objects: KeyObjects) {
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting: usize = unwritten.iter().map(|objects| objects.rows.len()).sum();
        if waiting + objects.rows.len() <= MAX_UNWRITTEN {
            unwritten.push(objects);
        }
    }

    /// Stores objects that the store did not accept before.
    pub(super) async fn flush(&self) {
        let unwritten = std::mem::take(&mut *self.unwritten.lock().unwrap_or_else(PoisonError::into_inner));
        for objects in unwritten {
            if self.write(&objects).await.is_err() {
                self.postpone(objects);
            }
        }
    }

    /// Stores the charge of a response in the background until its usage is known.
    pub async fn reserve(&self, key: &KeyNote, id: &str, charge: &ReservedCharge) {
        let stored = match serde_json::to_string(charge) {
            Ok(charge) => self.store.reserve_object(&key.id, &key.group, &digest::of_text(id), &charge).await,
            Err(error) => Err(error.into()),
        };
        if let Err(error) = stored {
            tracing::warn!(%error, "cannot store the charge of a response in the background; its reservation stays charged");
        }
    }

    /// Takes the charge of a response in the background, once.
    pub(super) async fn take_reserved(&self, id: &str) -> Option<ReservedCharge> {
        match self.store.take_reserved(&digest::of_text(id)).await {
            Ok(charge) => serde_json::from_str(&charge?).ok(),
            Err(error) => {
                tracing::warn!(%error, "cannot read the charge of a response in the background; its reservation stays charged");
                None
            }
        }
    }

    /// Removes the owner of a deleted object.
    pub async fn forget(&self, id: &str) {
        if let Err(error) = self.store.forget_object(&digest::of_text(id)).await {
            tracing::warn!(%error, "cannot remove the owner of a deleted object of the provider");
        }
    }
}
