//! Approval queue of the [`Store`] handle.

use futures_util::future::BoxFuture;

use super::Store;
use crate::{Approval, ApprovalFilter, ApprovalPage, Approvals, Asked, Closed, Decided, Question, Ruling, StoreError};
use callwright_types::{ApprovalNote, ApprovalStatus};

impl Approvals for Store {
    fn ask<'a>(&'a self, question: &'a Question, most: u32) -> BoxFuture<'a, Result<Asked, StoreError>> {
        Box::pin(async move { self.noted(self.database()?.ask(question, most, &self.inner.owner).await) })
    }

    fn decide<'a>(&'a self, id: &'a str, ruling: &'a Ruling) -> BoxFuture<'a, Result<Decided, StoreError>> {
        Box::pin(async move { self.noted(self.database()?.decide(id, ruling).await) })
    }

    fn close<'a>(&'a self, id: &'a str, status: ApprovalStatus) -> BoxFuture<'a, Result<Option<Closed>, StoreError>> {
        Box::pin(async move { self.noted(self.database()?.close_approval(id, status).await) })
    }

    fn use_up<'a>(&'a self, id: &'a str, digest: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { self.noted(self.database()?.use_up(id, digest).await) })
    }

    fn standing<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ApprovalNote>, StoreError>> {
        Box::pin(async move { self.database()?.standing(id).await })
    }

    fn approval<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Approval>, StoreError>> {
        Box::pin(async move { self.database()?.approval(id).await })
    }

    fn approvals<'a>(&'a self, filter: &'a ApprovalFilter) -> BoxFuture<'a, Result<ApprovalPage, StoreError>> {
        Box::pin(async move { self.database()?.approvals(filter).await })
    }

    fn pending(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { self.database()?.pending().await })
    }

    fn expire_due(&self, limit: u32) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { self.noted(self.database()?.expire_due(limit, &self.inner.owner).await) })
    }
}
