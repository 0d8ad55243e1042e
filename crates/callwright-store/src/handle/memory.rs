//! Learned memory of the [`Store`] handle.

use futures_util::future::BoxFuture;

use super::Store;
use crate::sql::MemoryTable;
use crate::{
    Changes, ForgetCounts, ForgetSelection, Lessons, Memory, MemoryFilter, MemoryPage, Procedures, PutResult,
    Representations, Revision, StoreError, ToolSamples,
};

impl Store {
    /// Returns the store of lessons.
    pub fn lessons(&self) -> &Lessons {
        self
    }

    /// Returns the store of procedures.
    pub fn procedures(&self) -> &Procedures {
        self
    }

    /// Returns the store of representations.
    pub fn representations(&self) -> &Representations {
        self
    }

    /// Returns the store of tool samples.
    pub fn tool_samples(&self) -> &ToolSamples {
        self
    }
}

impl<M: MemoryTable> Memory<M> for Store {
    fn put<'a>(&'a self, batch: &'a [M], seen: Revision) -> BoxFuture<'a, Result<PutResult, StoreError>> {
        Box::pin(async move { self.notify_change(self.record_health(self.database()?.put(batch, seen).await)) })
    }

    fn restore<'a>(&'a self, batch: &'a [M]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.notify_change(self.record_health(self.database()?.restore(batch).await)) })
    }

    fn changed(&self, after: Revision, limit: u32) -> BoxFuture<'_, Result<Changes<M>, StoreError>> {
        Box::pin(async move { self.database()?.changed(after, limit).await })
    }

    fn find<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<M>, StoreError>> {
        Box::pin(async move { self.database()?.find(id).await })
    }

    fn page<'a>(&'a self, filter: &'a MemoryFilter) -> BoxFuture<'a, Result<MemoryPage<M>, StoreError>> {
        Box::pin(async move { self.database()?.page(filter).await })
    }

    fn remove<'a>(&'a self, ids: &'a [String]) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move { self.notify_change(self.record_health(self.database()?.remove::<M>(ids).await)) })
    }

    fn forget<'a>(&'a self, what: &'a ForgetSelection) -> BoxFuture<'a, Result<ForgetCounts, StoreError>> {
        Box::pin(async move { self.notify_change(self.record_health(self.database()?.forget::<M>(what).await)) })
    }
}
