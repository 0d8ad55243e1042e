//! SQL of virtual keys.

use super::revisions::Topic;
use super::{Database, DatabaseTransaction, Lock, Statement};
use crate::{ImportResult, KeyChanges, KeyPut, Revision, StoreError};
use callwright_types::VirtualKey;

const WRITE: &str = "\
    INSERT INTO virtual_keys (id, name, revision, updated_at, revoked, document) VALUES ($1, $2, $3, $4, $5, $6) \
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, revision = excluded.revision, updated_at = excluded.updated_at, \
        revoked = excluded.revoked, document = excluded.document";

const STORED_VERSION: &str = "SELECT revision, updated_at FROM virtual_keys WHERE id = $1";

const NAMESAKES: &str = "SELECT COUNT(*) FROM virtual_keys WHERE name = $1 AND id <> $2 AND revoked = $3";

const CHANGED: &str = "SELECT id, revision, document FROM virtual_keys WHERE revision > $1 ORDER BY revision LIMIT $2";

/// A key in use takes precedence over revoked keys of the same name.
const FIND: &str = "\
    SELECT id, revision, document FROM virtual_keys WHERE id = $1 OR name = $1 \
    ORDER BY CASE WHEN id = $1 THEN 0 ELSE 1 END, revoked, id DESC LIMIT 1";

impl Database {
    pub(crate) async fn put_key(&self, key: &VirtualKey, seen: Option<Revision>) -> Result<KeyPut, StoreError> {
        let mut transaction = self.begin(Lock::Rows).await?;
        // Taking a revision locks the topic until the commit.
        let revision = transaction.revisions(Topic::Keys, 1).await?;
        let stored: Option<(i64, i64)> =
            transaction.fetch_optional(Statement::new(STORED_VERSION).bind(&key.id)).await?;
        if stored.map(|(revision, _)| revision) != seen {
            return Ok(KeyPut::Outdated);
        }
        if is_name_taken(&mut transaction, key).await? {
            return Ok(KeyPut::NameTaken);
        }
        write(&mut transaction, key, revision).await?;
        transaction.commit().await?;
        Ok(KeyPut::Written)
    }

    pub(crate) async fn keys_changed(&self, after: Revision, limit: u32) -> Result<KeyChanges, StoreError> {
        let limit = limit.max(1);
        let rows: Vec<(String, i64, String)> = self.fetch_all(Statement::new(CHANGED).bind(after).bind(limit)).await?;
        let more = rows.len() >= limit as usize;
        let mut changes = KeyChanges { keys: Vec::with_capacity(rows.len()), upto: after, more };
        for (id, revision, document) in rows {
            changes.upto = revision;
            match parse(&id, &document) {
                Ok(key) => changes.keys.push(key),
                // An unreadable key must not hide the others.
                Err(error) => tracing::error!(%error, "skipping a stored key that cannot be parsed"),
            }
        }
        Ok(changes)
    }

    pub(crate) async fn key(&self, id_or_name: &str) -> Result<Option<(VirtualKey, Revision)>, StoreError> {
        let row: Option<(String, i64, String)> = self.fetch_optional(Statement::new(FIND).bind(id_or_name)).await?;
        row.map(|(id, revision, document)| Ok((parse(&id, &document)?, revision))).transpose()
    }

    /// Writes a key from another store, unless this store has the same or a newer version.
    pub(super) async fn import_key(&self, key: &VirtualKey) -> Result<ImportResult, StoreError> {
        let mut transaction = self.begin(Lock::Rows).await?;
        let revision = transaction.revisions(Topic::Keys, 1).await?;
        let stored: Option<(i64, i64)> =
            transaction.fetch_optional(Statement::new(STORED_VERSION).bind(&key.id)).await?;
        if stored.is_some_and(|(_, updated_at)| updated_at >= key.updated_at.as_millisecond()) {
            return Ok(ImportResult::Unchanged);
        }
        if is_name_taken(&mut transaction, key).await? {
            let name = &key.name;
            return Err(StoreError::Refused(format!(
                "another key has the name `{name}`; revoke or rename one of them"
            )));
        }
        write(&mut transaction, key, revision).await?;
        transaction.commit().await?;
        Ok(ImportResult::Written)
    }
}

async fn is_name_taken(transaction: &mut DatabaseTransaction, key: &VirtualKey) -> Result<bool, StoreError> {
    if key.revoked_at.is_some() {
        return Ok(false);
    }
    let namesakes = Statement::new(NAMESAKES).bind(&key.name).bind(&key.id).bind(false);
    Ok(transaction.count(namesakes).await? > 0)
}

async fn write(transaction: &mut DatabaseTransaction, key: &VirtualKey, revision: Revision) -> Result<(), StoreError> {
    let document = serde_json::to_string(key).map_err(|error| StoreError::Refused(error.to_string()))?;
    let write = Statement::new(WRITE)
        .bind(&key.id)
        .bind(&key.name)
        .bind(revision)
        .bind(key.updated_at.as_millisecond())
        .bind(key.revoked_at.is_some())
        .bind(document);
    transaction.execute(write).await.map(drop)
}

pub(super) fn parse(id: &str, document: &str) -> Result<VirtualKey, StoreError> {
    serde_json::from_str(document).map_err(|error| StoreError::Refused(format!("the key {id} cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::contract::on_every_database;
    use crate::samples::key;

    on_every_database! {
        async fn a_key_is_found_by_its_id_and_its_name(store: Database) {
            assert_eq!(store.put_key(&key("key_1", "ada"), None).await, Ok(KeyPut::Written));
            assert_eq!(store.put_key(&key("key_2", "bob"), None).await, Ok(KeyPut::Written));
            for name in ["key_1", "ada"] {
                assert_eq!(store.key(name).await.unwrap().unwrap().0, key("key_1", "ada"));
            }
            assert_eq!(store.key("eve").await, Ok(None));
        }

        async fn a_name_is_free_again_when_its_key_is_revoked(store: Database) {
            store.put_key(&key("key_1", "ada"), None).await.unwrap();
            assert_eq!(store.put_key(&key("key_2", "ada"), None).await, Ok(KeyPut::NameTaken));
            let (stored, seen) = store.key("ada").await.unwrap().unwrap();
            let revoked = VirtualKey { revoked_at: Some(Timestamp::MAX), ..stored };
            assert_eq!(store.put_key(&revoked, Some(seen)).await, Ok(KeyPut::Written));
            assert_eq!(store.put_key(&key("key_2", "ada"), None).await, Ok(KeyPut::Written));
            assert_eq!(store.key("ada").await.unwrap().unwrap().0.id, "key_2");
            assert_eq!(store.key("key_1").await.unwrap().unwrap().0.revoked_at, Some(Timestamp::MAX));
        }

        async fn a_key_is_changed_only_from_its_latest_revision(store: Database) {
            let first = key("key_1", "ada");
            store.put_key(&first, None).await.unwrap();
            assert_eq!(store.put_key(&first, None).await, Ok(KeyPut::Outdated), "it is no new one");
            let (_, seen) = store.key("ada").await.unwrap().unwrap();
            let changed = VirtualKey { group: "team".to_owned(), ..first.clone() };
            assert_eq!(store.put_key(&changed, Some(seen)).await, Ok(KeyPut::Written));
            assert_eq!(store.put_key(&first, Some(seen)).await, Ok(KeyPut::Outdated));
            assert_eq!(store.key("ada").await.unwrap().unwrap().0, changed);
        }

        async fn changes_come_in_their_order_and_each_key_once(store: Database) {
            for (id, name) in [("key_3", "c"), ("key_1", "a"), ("key_2", "b")] {
                store.put_key(&key(id, name), None).await.unwrap();
            }
            let ids = |changes: &KeyChanges| changes.keys.iter().map(|key| key.id.clone()).collect::<Vec<_>>();
            let first = store.keys_changed(0, 2).await.unwrap();
            assert_eq!((ids(&first), first.more), (vec!["key_3".to_owned(), "key_1".to_owned()], true));
            let (_, seen) = store.key("key_3").await.unwrap().unwrap();
            store.put_key(&key("key_3", "d"), Some(seen)).await.unwrap();
            let rest = store.keys_changed(first.upto, 10).await.unwrap();
            assert_eq!((ids(&rest), rest.more), (vec!["key_2".to_owned(), "key_3".to_owned()], false));
            assert_eq!(store.latest().await.unwrap().keys, rest.upto);
        }
    }
}
