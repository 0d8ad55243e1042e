//! Retries and failover of a failed request, as long as the client has received nothing of its answer.

use std::time::Duration;

use http::{HeaderMap, StatusCode};

use crate::pipeline::Pipeline;
use crate::pipeline::answer::ResponseSender;
use crate::pipeline::dialogue::RequestPurpose;
use crate::pipeline::turn::Turn;
use callwright_types::UpstreamFailureKind;
use callwright_upstream::{Again, forbid_retry};

use super::super::compose::ChatDraft;
use super::super::offer::Offer;
use super::flow::StreamProgress;
use super::{Relay, UpstreamReply, attempt};

/// Sends the draft and reads the answer. Streamed text is forwarded to the client meanwhile.
///
/// A request is retried only if it certainly had no effect: no connection was made, or the answer requests a retry. The
/// turn fails over to the alias's next target if this one gives no useful answer and the client has received nothing of
/// the turn. A model never continues the answer of another model.
pub(crate) async fn ask(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offer: &Offer,
    draft: &ChatDraft,
    response_sender: &mut ResponseSender,
    purpose: RequestPurpose,
) -> UpstreamReply {
    let mut retries = turn.upstream.retries(&turn.headers);
    let mut were_made = false;
    loop {
        let (asked, again) = attempt(pipeline, turn, (offer, draft), response_sender, purpose).await;
        let left = time_for_waits(pipeline, turn, response_sender);
        let wait = match (&asked, again) {
            (UpstreamReply::Relay(Relay::Failure(failure)), _) if failure.kind == UpstreamFailureKind::Connect => {
                retries.after_connect(left)
            }
            (UpstreamReply::Relay(Relay::Answer { .. }), Some(again)) => retries.after_answer(again, left),
            _ => None,
        };
        if let Some(wait) = wait {
            if !pause(turn, wait).await {
                return UpstreamReply::ClientGone;
            }
        } else if !response_sender.is_open()
            && !turn.time_left().is_zero()
            && is_of_no_use(&asked, again)
            && turn.fall_back()
        {
            were_made |= retries.were_made();
            retries = turn.upstream.retries(&turn.headers);
        } else {
            // Otherwise the retries of client and proxy would multiply.
            if (were_made || retries.were_made()) && is_of_no_use(&asked, again) {
                forbid_retry(&mut turn.answer_headers);
            }
            return asked;
        }
        if !response_sender.is_open() {
            forget(turn);
        }
    }
}

/// Returns the maximum wait. A wait must not hold the head of a stream beyond its time limit: until then, the client
/// can get the status of the failure.
fn time_for_waits(pipeline: &Pipeline, turn: &Turn, response_sender: &ResponseSender) -> Duration {
    let left = turn.time_left();
    match pipeline.hold_head().checked_sub(turn.record.elapsed()) {
        Some(held) if turn.request.is_stream() && !response_sender.is_open() => left.min(held),
        _ => left,
    }
}

/// Whether another upstream could give a better result. Errors of the request itself or of a key are reported to the
/// client or operator.
fn is_of_no_use(asked: &UpstreamReply, again: Option<Again>) -> bool {
    match asked {
        UpstreamReply::Relay(Relay::Failure(_) | Relay::ErrorEvent(_)) => true,
        UpstreamReply::Relay(Relay::Answer { status, .. }) => {
            status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS || again.is_some()
        }
        UpstreamReply::Completion(_) | UpstreamReply::ClientGone => false,
    }
}

/// Waits; returns false if the client disconnects meanwhile.
async fn pause(turn: &mut Turn, wait: Duration) -> bool {
    turn.record.waited(wait);
    tokio::select! {
        biased;
        () = turn.cancelled.cancelled() => false,
        () = tokio::time::sleep(wait) => true,
    }
}

/// Discards the rest of an attempt of which the client has received nothing.
fn forget(turn: &mut Turn) {
    turn.streamed = StreamProgress::default();
    turn.answer_status = StatusCode::OK;
    turn.answer_headers = HeaderMap::new();
}
