//! A request that failed is made again, or made to another upstream, as long as the client has nothing of its answer.

use std::time::Duration;

use http::{HeaderMap, StatusCode};

use crate::pipeline::Pipeline;
use crate::pipeline::answer::Outlet;
use crate::pipeline::dialogue::Purpose;
use crate::pipeline::turn::Turn;
use callwright_types::UpstreamFailureKind;
use callwright_upstream::{Again, forbid_retry};

use super::super::compose::Draft;
use super::super::offer::Offer;
use super::flow::Streamed;
use super::{Asked, Relay, attempt};

/// Sends the draft and reads the answer. Text of a stream flows on to the client meanwhile.
///
/// A request is made again where nothing came of it and that is certain: no connection was made, or the answer asks for it. The alias's next
/// target is asked where this one gives nothing of use and the client has nothing of the turn: what one model began, no other goes on with.
pub(crate) async fn ask(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offer: &Offer,
    draft: &Draft,
    outlet: &mut Outlet,
    purpose: Purpose,
) -> Asked {
    let mut retries = turn.upstream.retries(&turn.headers);
    let mut were_made = false;
    loop {
        let (asked, again) = attempt(pipeline, turn, (offer, draft), outlet, purpose).await;
        let left = time_for_waits(pipeline, turn, outlet);
        let wait = match (&asked, again) {
            (Asked::Relay(Relay::Failure(failure)), _) if failure.kind == UpstreamFailureKind::Connect => {
                retries.after_connect(left)
            }
            (Asked::Relay(Relay::Answer { .. }), Some(again)) => retries.after_answer(again, left),
            _ => None,
        };
        if let Some(wait) = wait {
            if !pause(turn, wait).await {
                return Asked::ClientGone;
            }
        } else if !outlet.is_open() && !turn.time_left().is_zero() && is_of_no_use(&asked, again) && turn.fall_back() {
            were_made |= retries.were_made();
            retries = turn.upstream.retries(&turn.headers);
        } else {
            // Client and proxy would multiply their retries.
            if (were_made || retries.were_made()) && is_of_no_use(&asked, again) {
                forbid_retry(&mut turn.answer_headers);
            }
            return asked;
        }
        if !outlet.is_open() {
            forget(turn);
        }
    }
}

/// How long a wait may be. The head of a stream is not held beyond its time by a wait: as long as it is held, the client gets the status that
/// would be waited out.
fn time_for_waits(pipeline: &Pipeline, turn: &Turn, outlet: &Outlet) -> Duration {
    let left = turn.time_left();
    match pipeline.hold_head().checked_sub(turn.record.elapsed()) {
        Some(held) if turn.request.is_stream() && !outlet.is_open() => left.min(held),
        _ => left,
    }
}

/// Could another upstream do better? What is wrong with the request itself, or with a key, is for its client or operator to hear of.
fn is_of_no_use(asked: &Asked, again: Option<Again>) -> bool {
    match asked {
        Asked::Relay(Relay::Failure(_) | Relay::ErrorEvent(_)) => true,
        Asked::Relay(Relay::Answer { status, .. }) => {
            status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS || again.is_some()
        }
        Asked::Completion(_) | Asked::ClientGone => false,
    }
}

/// Waits; false where the client goes away meanwhile.
async fn pause(turn: &mut Turn, wait: Duration) -> bool {
    turn.record.waited(wait);
    tokio::select! {
        biased;
        () = turn.cancelled.cancelled() => false,
        () = tokio::time::sleep(wait) => true,
    }
}

/// Forgets what is left of an attempt of which the client has nothing.
fn forget(turn: &mut Turn) {
    turn.streamed = Streamed::default();
    turn.answer_status = StatusCode::OK;
    turn.answer_headers = HeaderMap::new();
}
