//! Virtual keys and their usage, for the [`Store`] handle.

use futures_util::future::BoxFuture;
use jiff::civil::Date;

use super::Store;
use crate::{KeyChanges, KeyPut, KeyUsage, Keys, Revision, StoreError, UsageReport, UsageRow, UsageSeen};
use callwright_types::VirtualKey;

impl Keys for Store {
    fn put_key<'a>(&'a self, key: &'a VirtualKey, seen: Option<Revision>) -> BoxFuture<'a, Result<KeyPut, StoreError>> {
        Box::pin(async move { self.changed_here(self.noted(self.database()?.put_key(key, seen).await)) })
    }

    fn keys_changed(&self, after: Revision, limit: u32) -> BoxFuture<'_, Result<KeyChanges, StoreError>> {
        Box::pin(async move { self.database()?.keys_changed(after, limit).await })
    }

    fn key<'a>(&'a self, id_or_name: &'a str) -> BoxFuture<'a, Result<Option<(VirtualKey, Revision)>, StoreError>> {
        Box::pin(async move { self.database()?.key(id_or_name).await })
    }
}

impl KeyUsage for Store {
    fn exchange_usage<'a>(&'a self, report: UsageReport<'a>) -> BoxFuture<'a, Result<UsageSeen, StoreError>> {
        Box::pin(async move {
            let (owner, settings) = (&self.inner.owner, &self.inner.settings);
            let exchanged = self.database()?.exchange_usage(report, owner, settings.replica_seconds).await;
            // A read does not show whether the disk is full.
            if report.used.is_empty() { exchanged } else { self.noted(exchanged) }
        })
    }

    fn usage_since<'a>(&'a self, subject: &'a str, since: Date) -> BoxFuture<'a, Result<Vec<UsageRow>, StoreError>> {
        Box::pin(async move { self.database()?.usage_since(subject, since).await })
    }
}
