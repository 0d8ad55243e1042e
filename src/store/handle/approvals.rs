//! The queue of approvals as the process sees it.

use futures_util::future::BoxFuture;

use super::Store;
use crate::domain::{ApprovalNote, ApprovalStatus};
use crate::store::{
    Approval, ApprovalFilter, ApprovalPage, Approvals, Asked, Closed, Decided, Question, Ruling, StoreError,
};

impl Approvals for Store {
    fn ask<'a>(&'a self, question: &'a Question, most: u32) -> BoxFuture<'a, Result<Asked, StoreError>> {
        Box::pin(async move { self.noted(self.sqlite()?.ask(question, most).await) })
    }

    fn decide<'a>(&'a self, id: &'a str, ruling: &'a Ruling) -> BoxFuture<'a, Result<Decided, StoreError>> {
        Box::pin(async move { self.noted(self.sqlite()?.decide(id, ruling).await) })
    }

    fn close<'a>(&'a self, id: &'a str, status: ApprovalStatus) -> BoxFuture<'a, Result<Option<Closed>, StoreError>> {
        Box::pin(async move { self.noted(self.sqlite()?.close_approval(id, status).await) })
    }

    fn use_up<'a>(&'a self, id: &'a str, digest: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { self.noted(self.sqlite()?.use_up(id, digest).await) })
    }

    fn standing<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ApprovalNote>, StoreError>> {
        Box::pin(async move { self.sqlite()?.standing(id).await })
    }

    fn approval<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Approval>, StoreError>> {
        Box::pin(async move { self.sqlite()?.approval(id).await })
    }

    fn approvals<'a>(&'a self, filter: &'a ApprovalFilter) -> BoxFuture<'a, Result<ApprovalPage, StoreError>> {
        Box::pin(async move { self.sqlite()?.approvals(filter).await })
    }

    fn pending(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { self.sqlite()?.pending().await })
    }

    fn expire_due(&self, limit: u32) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { self.noted(self.sqlite()?.expire_due(limit).await) })
    }
}
