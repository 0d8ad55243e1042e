//! The approval desk: turns request approvals, people decide, and the desk notifies the waiting turns.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::webhook::{ApprovalEvent, Webhook};
use callwright_executor::Grant;
use callwright_store::{
    Approval, ApprovalFilter, ApprovalPage, DecisionResult, Question, QueueResult, Ruling, SWEEP_ROWS, Store,
    StoreError,
};
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::Decision;
use callwright_types::{ApprovalNote, ApprovalStatus};

/// The approval queue with in-process notification: waiting turns receive decisions at once.
#[derive(Debug)]
pub struct ApprovalDesk {
    store: Arc<Store>,
    metrics: Arc<Metrics>,
    /// Notifies at every change of the queue by this process; each waiting turn then checks its own entry.
    changed: watch::Sender<()>,
    /// Receiver of notifications, if one is configured.
    webhook: Option<Webhook>,
    /// Cancelled at shutdown: no turn waits for a decision any more.
    ending: CancellationToken,
}

impl ApprovalDesk {
    pub(super) fn new(store: Arc<Store>, metrics: Arc<Metrics>, webhook: Option<Webhook>) -> Self {
        Self { store, metrics, changed: watch::Sender::new(()), webhook, ending: CancellationToken::new() }
    }

    /// Subscribes to changes of the queue by this process.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Waits until the process shuts down.
    pub async fn ended(&self) {
        self.ending.cancelled().await;
    }

    /// Returns a page of the queue, newest first.
    pub async fn list(&self, filter: &ApprovalFilter) -> Result<ApprovalPage, StoreError> {
        self.sweep().await?;
        self.store.approvals(filter).await
    }

    /// Returns one complete entry; `None` if no entry has this id.
    pub async fn show(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        self.sweep().await?;
        self.store.approval(id).await
    }

    /// Records the decision of a person. The first decision about a call is final.
    ///
    /// # Errors
    /// [`StoreError`]; no decision is recorded then.
    pub async fn decide(&self, id: &str, ruling: &Ruling) -> Result<DecisionResult, StoreError> {
        self.sweep().await?;
        let decided = self.store.decide_approval(id, ruling).await?;
        if let DecisionResult::Now(approval) = &decided {
            self.metrics.approvals.inc(if ruling.approved { Decision::Approved } else { Decision::Denied });
            self.changed.send_replace(());
            if let Some(webhook) = &self.webhook {
                webhook.notify(ApprovalEvent::Decided, &approval.summary);
            }
            tracing::info!(
                approval = id,
                decision = approval.summary.note.status.label(),
                by = ruling.by,
                "approval decided"
            );
        }
        Ok(decided)
    }

    /// Expires overdue entries.
    pub async fn sweep(&self) -> Result<(), StoreError> {
        let expired = self.store.expire_approvals(SWEEP_ROWS).await?;
        self.metrics.approvals.add(Decision::Expired, expired);
        Ok(())
    }

    /// Updates the gauge of pending approvals. If the store fails, the gauge keeps its value.
    pub async fn measure(&self) {
        if let Ok(pending) = self.store.pending_approvals().await {
            self.metrics.approvals_pending.set(i64::try_from(pending).unwrap_or(i64::MAX));
        }
    }

    /// Stops all waiting: pending approvals are withdrawn and their turns continue.
    pub fn end_waiting(&self) {
        self.ending.cancel();
    }

    /// Adds an approval request unless `most` requests are pending.
    pub(super) async fn request(&self, question: &Question, most: u32) -> Result<QueueResult, StoreError> {
        let result = self.store.request_approval(question, most).await?;
        if let QueueResult::Queued(note) = &result {
            self.changed.send_replace(());
            if let Some(webhook) = &self.webhook
                && let Ok(Some(approval)) = self.store.approval(&note.id).await
            {
                webhook.notify(ApprovalEvent::Requested, &approval.summary);
            }
        }
        Ok(result)
    }

    /// Waits for the decision about a call until `deadline` or until the client has `gone`. Returns the final status,
    /// which is never pending.
    pub(super) async fn decision(
        &self,
        id: &str,
        deadline: Instant,
        gone: &CancellationToken,
    ) -> Result<ApprovalNote, StoreError> {
        let mut changed = self.changed.subscribe();
        loop {
            let note = self.store.approval_note(id).await?.ok_or_else(|| no_such(id))?;
            if note.status != ApprovalStatus::Pending {
                return Ok(note);
            }
            tokio::select! {
                // The desk outlives every turn, so the sender exists.
                _ = changed.changed() => {}
                () = sleep_until(deadline) => return self.close(id, ApprovalStatus::Expired).await,
                () = gone.cancelled() => return self.close(id, ApprovalStatus::Withdrawn).await,
                () = self.ending.cancelled() => return self.close(id, ApprovalStatus::Withdrawn).await,
            }
        }
    }

    /// Returns an approval in the form that the executor expects.
    pub(super) fn grant(&self, id: &str) -> Grant {
        Grant::new(id.to_owned(), Arc::clone(&self.store))
    }

    async fn close(&self, id: &str, status: ApprovalStatus) -> Result<ApprovalNote, StoreError> {
        let closed = self.store.close_approval(id, status).await?.ok_or_else(|| no_such(id))?;
        if closed.now {
            let is_expired = status == ApprovalStatus::Expired;
            self.metrics.approvals.inc(if is_expired { Decision::Expired } else { Decision::Withdrawn });
            self.changed.send_replace(());
        }
        Ok(closed.note)
    }
}

fn no_such(id: &str) -> StoreError {
    StoreError::Refused(format!("there is no approval {id}"))
}
