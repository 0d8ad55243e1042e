//! `GET /admin/approvals/events`: the pending approvals as server-sent events.
//!
//! An event is sent when the list changes: at once after a change in this process, and within the poll interval after a
//! change by another replica.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::stream;
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout};

use crate::http::error::{self, Refusal};
use crate::http::state::OperatorSide;
use callwright_store::{ApprovalFilter, ApprovalSummary, DEFAULT_PAGE, StoreError};
use callwright_types::ApprovalStatus;

/// Maximum number of open streams: each polls the store.
const MAX_STREAMS: usize = 64;

/// Interval of polls for changes by other replicas and for entries that expire.
const POLL: Duration = Duration::from_secs(2);

/// Time of silence after which a comment is sent, so that intermediaries keep the connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Limits the number of open streams.
#[derive(Debug, Clone)]
pub struct ApprovalStreams(Arc<Semaphore>);

impl Default for ApprovalStreams {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_STREAMS)))
    }
}

/// Data of an event.
#[derive(Debug, PartialEq, Serialize)]
struct PendingApprovals {
    /// Number of calls that wait for approval.
    pending: u64,
    /// The newest of them.
    approvals: Vec<ApprovalSummary>,
}

/// Stream of events to one operator.
struct ApprovalStream {
    side: OperatorSide,
    changes: watch::Receiver<()>,
    /// Data of the last event.
    sent: String,
    /// Time of the last event or comment.
    sent_at: Instant,
    _permit: OwnedSemaphorePermit,
}

/// Streams the pending approvals until the client disconnects or the process shuts down.
pub(in crate::http) async fn events(State(side): State<OperatorSide>) -> Result<Response, Refusal> {
    let Ok(permit) = Arc::clone(&side.approval_streams.0).try_acquire_owned() else {
        let message = format!("{MAX_STREAMS} streams of approvals are open; poll /admin/approvals instead");
        return Err(error::invalid_request(StatusCode::SERVICE_UNAVAILABLE, message, "too_many_streams").into());
    };
    pending(&side).await?;
    let changes = side.pipeline.approvals.changes();
    let stream = ApprovalStream { side, changes, sent: String::new(), sent_at: Instant::now(), _permit: permit };
    let events = stream::unfold(stream, |mut stream| async move {
        let bytes = stream.next().await?;
        Some((Ok::<_, Infallible>(bytes), stream))
    });
    let mut response = Response::new(Body::from_stream(events));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

impl ApprovalStream {
    /// Waits for the next event or comment; `None` at shutdown.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            // While the store fails, the list keeps its last state.
            if let Ok(pending) = pending(&self.side).await
                && let Ok(data) = serde_json::to_string(&pending)
                && data != self.sent
            {
                let event = format!("event: approvals\ndata: {data}\n\n");
                self.sent = data;
                self.sent_at = Instant::now();
                return Some(event.into());
            }
            tokio::select! {
                () = self.side.pipeline.approvals.ended() => return None,
                _ = timeout(POLL, self.changes.changed()) => {}
            }
            if self.sent_at.elapsed() >= KEEP_ALIVE {
                self.sent_at = Instant::now();
                return Some(Bytes::from_static(b": keep-alive\n\n"));
            }
        }
    }
}

/// Returns the entries that are pending now. An entry past its deadline is not, even before it is swept.
async fn pending(side: &OperatorSide) -> Result<PendingApprovals, StoreError> {
    let filter = ApprovalFilter {
        status: Some(ApprovalStatus::Pending),
        limit: Some(DEFAULT_PAGE),
        ..ApprovalFilter::default()
    };
    let page = side.store.approvals(&filter).await?;
    let now = Timestamp::now();
    let listed = page.approvals.len();
    let approvals: Vec<ApprovalSummary> =
        page.approvals.into_iter().filter(|approval| approval.note.expires_at > now).collect();
    let unlisted = match page.next {
        Some(_) => side.store.pending_approvals().await?.saturating_sub(listed as u64),
        None => 0,
    };
    Ok(PendingApprovals { pending: approvals.len() as u64 + unlisted, approvals })
}
