//! The desk at which turns ask, people decide, and turns hear of it.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use callwright_executor::Grant;
use callwright_store::{
    Approval, ApprovalFilter, ApprovalPage, Approvals, Asked, Decided, Question, Ruling, StoreError,
};
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::Decision;
use callwright_types::{ApprovalNote, ApprovalStatus};

/// Most entries that one sweep lets expire: it holds the write lock meanwhile.
const SWEEP: u32 = 500;

/// The queue of approvals with what the process adds to it: turns that wait hear of decisions at once.
#[derive(Debug)]
pub struct ApprovalDesk {
    approvals: Arc<dyn Approvals>,
    metrics: Arc<Metrics>,
    /// Told at every decision; whoever waits looks for its own then.
    decided: watch::Sender<()>,
    /// Nothing is waited for any more: the process ends.
    ending: CancellationToken,
}

impl ApprovalDesk {
    pub(super) fn new(approvals: Arc<dyn Approvals>, metrics: Arc<Metrics>) -> Self {
        Self { approvals, metrics, decided: watch::Sender::new(()), ending: CancellationToken::new() }
    }

    /// A page of the queue, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn list(&self, filter: &ApprovalFilter) -> Result<ApprovalPage, StoreError> {
        self.sweep().await?;
        self.approvals.approvals(filter).await
    }

    /// One entry, whole; `None` where there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn show(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        self.sweep().await?;
        self.approvals.approval(id).await
    }

    /// A person decides. Of several decisions about one call the first stands.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is decided then.
    pub async fn decide(&self, id: &str, ruling: &Ruling) -> Result<Decided, StoreError> {
        self.sweep().await?;
        let decided = self.approvals.decide(id, ruling).await?;
        if let Decided::Now(approval) = &decided {
            self.metrics.approvals.inc(if ruling.approved { Decision::Approved } else { Decision::Denied });
            self.decided.send_replace(());
            tracing::info!(
                approval = id,
                decision = approval.summary.note.status.label(),
                by = ruling.by,
                "a call was decided about"
            );
        }
        Ok(decided)
    }

    /// Lets expire what is over.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn sweep(&self) -> Result<(), StoreError> {
        let expired = self.approvals.expire_due(SWEEP).await?;
        self.metrics.approvals.add(Decision::Expired, expired);
        Ok(())
    }

    /// Brings the gauge of pending approvals up to date. A store that does not work leaves it as it is.
    pub async fn measure(&self) {
        if let Ok(pending) = self.approvals.pending().await {
            self.metrics.approvals_pending.set(i64::try_from(pending).unwrap_or(i64::MAX));
        }
    }

    /// From now on nothing is waited for: what waits is withdrawn, and its turns go on.
    pub fn end_waiting(&self) {
        self.ending.cancel();
    }

    /// Asks, unless `most` questions are pending.
    pub(super) async fn ask(&self, question: &Question, most: u32) -> Result<Asked, StoreError> {
        self.approvals.ask(question, most).await
    }

    /// Waits for the decision about a call until `deadline`, or until the client has `gone`; how it stands then. It is not pending.
    pub(super) async fn decision(
        &self,
        id: &str,
        deadline: Instant,
        gone: &CancellationToken,
    ) -> Result<ApprovalNote, StoreError> {
        let mut decided = self.decided.subscribe();
        loop {
            let note = self.approvals.standing(id).await?.ok_or_else(|| no_such(id))?;
            if note.status != ApprovalStatus::Pending {
                return Ok(note);
            }
            tokio::select! {
                // The desk outlives every turn, so the sender is there.
                _ = decided.changed() => {}
                () = sleep_until(deadline) => return self.close(id, ApprovalStatus::Expired).await,
                () = gone.cancelled() => return self.close(id, ApprovalStatus::Withdrawn).await,
                () = self.ending.cancelled() => return self.close(id, ApprovalStatus::Withdrawn).await,
            }
        }
    }

    /// An approval as the executor takes it.
    pub(super) fn grant(&self, id: &str) -> Grant {
        Grant::new(id.to_owned(), Arc::clone(&self.approvals))
    }

    async fn close(&self, id: &str, status: ApprovalStatus) -> Result<ApprovalNote, StoreError> {
        let closed = self.approvals.close(id, status).await?.ok_or_else(|| no_such(id))?;
        if closed.now {
            let is_expired = status == ApprovalStatus::Expired;
            self.metrics.approvals.inc(if is_expired { Decision::Expired } else { Decision::Withdrawn });
        }
        Ok(closed.note)
    }
}

fn no_such(id: &str) -> StoreError {
    StoreError::Refused(format!("there is no approval {id}"))
}
