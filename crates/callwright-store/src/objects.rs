//! Turn state: owners of the objects that virtual keys stored in the provider's account.

use super::sql::database_record;
use super::{Store, StoreError};

/// Object to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectRow {
    /// Hash of the provider's id.
    pub id: String,
    /// Whether the row expires after `store.object_days`; otherwise it is kept until the object is deleted.
    pub expires: bool,
}

database_record! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ObjectOwner {
        /// Hash of the provider's id.
        pub id: String,
        /// Id of the virtual key.
        pub tenant: String,
        /// Group of the virtual key; empty: none.
        pub team: String,
    }
}

impl Store {
    /// Records objects of a key and its group. An object keeps its first owner. Returns the number of objects that had
    /// none. They are on disk when this returns.
    pub async fn record_objects(&self, tenant: &str, team: &str, rows: &[ObjectRow]) -> Result<u64, StoreError> {
        let age = self.settings().object_duration();
        self.record_health(self.database()?.record_objects(tenant, team, rows, age).await)
    }

    /// Returns the owners of those objects that have one.
    pub async fn object_owners(&self, ids: &[String]) -> Result<Vec<ObjectOwner>, StoreError> {
        self.database()?.object_owners(ids).await
    }

    /// Records a response in the background with its charge, a document of the caller, which holds until it is taken. It is
    /// on disk when this returns.
    pub async fn reserve_object(&self, tenant: &str, team: &str, id: &str, reserved: &str) -> Result<(), StoreError> {
        let age = self.settings().object_duration();
        self.record_health(self.database()?.reserve_object([id, tenant, team, reserved], age).await)
    }

    /// Takes the charge of a response in the background; `None` if it has none or another request took it.
    pub async fn take_reserved(&self, id: &str) -> Result<Option<String>, StoreError> {
        self.record_health(self.database()?.take_reserved(id).await)
    }

    /// Removes the owner of a deleted object.
    pub async fn forget_object(&self, id: &str) -> Result<(), StoreError> {
        self.record_health(self.database()?.forget_object(id).await)
    }

    /// Removes at most `limit` expired rows and returns their number.
    pub async fn expire_objects(&self, limit: u32) -> Result<u64, StoreError> {
        self.record_health(self.database()?.expire_objects(limit).await)
    }
}
