//! `ask`: sends an upstream request and returns the answer, assembled from the stream if it is one. Retries a failed
//! request, or fails over to another upstream, as long as the client has received nothing of its answer.

mod attempt;
mod chat_flow;
mod event_flow;
mod flow;
mod forwarding;
mod passed_end;
mod texts;

use std::time::Duration;

use http::{HeaderMap, StatusCode};

use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{Relay, StreamProgress, Turn, TurnConversation, UpstreamReply};
use callwright_types::{Purpose, UpstreamFailureKind};
use callwright_upstream::{Again, forbid_retry};

use attempt::attempt;

/// Sends the draft and reads the answer. Streamed text is forwarded to the client meanwhile.
///
/// A request is retried only if it certainly had no effect: no connection was made, or the answer requests a retry. The
/// turn fails over to the alias's next target if this one gives no useful answer and the client has received nothing of
/// the turn. A model never continues the answer of another model.
pub(crate) async fn ask(
    pipeline: &Pipeline,
    turn: &mut Turn,
    conversation: &mut TurnConversation,
    purpose: Purpose,
) -> UpstreamReply {
    let mut retries = turn.upstream.retries(&turn.headers);
    let mut were_made = false;
    loop {
        let (reply, again) = attempt(pipeline, turn, conversation, purpose).await;
        let is_open = conversation.response_sender.is_open();
        let left = time_for_waits(pipeline, turn, is_open);
        let wait = match (&reply, again) {
            (UpstreamReply::Relay(Relay::Failure(failure)), _) => match failure.kind {
                UpstreamFailureKind::Connect => retries.after_connect(left),
                UpstreamFailureKind::Refused => retries.after_unprocessed(left),
                // The provider would hold the input twice if it keeps what it has read in part.
                UpstreamFailureKind::Unread if !turn.request.has_provider_conversation() => {
                    retries.after_unprocessed(left)
                }
                _ => None,
            },
            (UpstreamReply::Relay(Relay::Answer { .. }), Some(again)) => retries.after_answer(again, left),
            _ => None,
        };
        if let Some(wait) = wait {
            if !pause(turn, wait).await {
                return UpstreamReply::ClientGone;
            }
        } else if !is_open && !turn.time_left().is_zero() && is_useless(&reply, again) && turn.fall_back() {
            were_made |= retries.were_made();
            retries = turn.upstream.retries(&turn.headers);
        } else {
            // Otherwise the retries of client and proxy would multiply.
            if (were_made || retries.were_made()) && is_useless(&reply, again) {
                forbid_retry(&mut turn.answer_headers);
            }
            return reply;
        }
        if !is_open {
            forget(turn);
        }
    }
}

/// Returns the maximum wait. `is_open` is whether the head of a stream is sent. A wait must not hold the head beyond
/// its time limit: until then, the client can get the status of the failure.
fn time_for_waits(pipeline: &Pipeline, turn: &Turn, is_open: bool) -> Duration {
    let left = turn.time_left();
    match pipeline.hold_head().checked_sub(turn.record.elapsed()) {
        Some(held) if turn.request.is_stream() && !is_open => left.min(held),
        _ => left,
    }
}

/// Whether another upstream could give a better result. Errors of the request itself or of a key are reported to the
/// client or operator.
fn is_useless(reply: &UpstreamReply, again: Option<Again>) -> bool {
    match reply {
        UpstreamReply::Relay(Relay::Failure(_) | Relay::ErrorEvent(_)) => true,
        UpstreamReply::Relay(Relay::Answer { status, .. }) => {
            status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS || again.is_some()
        }
        UpstreamReply::Relay(Relay::MemoryFull) | UpstreamReply::Completion(_) | UpstreamReply::ClientGone => false,
    }
}

/// Waits; returns false if the client disconnects meanwhile.
async fn pause(turn: &mut Turn, wait: Duration) -> bool {
    turn.record.elsewhere += wait;
    tokio::select! {
        biased;
        () = turn.cancelled.cancelled() => false,
        () = tokio::time::sleep(wait) => true,
    }
}

/// Discards the rest of an attempt of which the client has received nothing.
fn forget(turn: &mut Turn) {
    turn.streamed = StreamProgress::new(turn.request.protocol());
    turn.answer_status = StatusCode::OK;
    turn.answer_headers = HeaderMap::new();
}
