//! Body of a streamed response: events, and keep-alive events during silence.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use tokio::time::timeout;

use crate::pipeline::{AnswerBody, EventReceiver, PendingAnswer, Running, TurnAnswer};
use callwright_wire::{KeepAlive, event, late_error};

/// A body in progress.
struct StreamBody {
    source: StreamSource,
    keep_alive: KeepAlive,
    /// Silence after which a keep-alive event is sent.
    interval: Duration,
}

/// Source of the next bytes.
enum StreamSource {
    /// The client got status 200 before the answer's head is known: a keep-alive event comes first.
    Begun(PendingAnswer),
    /// The head is still unknown.
    Late(PendingAnswer),
    /// Events of a stream, and the turn that produces them.
    Events(EventReceiver, Running),
    Ended,
}

/// Creates a body that sends the events of `answer`, and a keep-alive event after each `interval` of silence. The turn is
/// cancelled if the body is dropped before its end.
pub(super) fn of_events(events: EventReceiver, answer: PendingAnswer, interval: Duration) -> Body {
    let keep_alive = answer.keep_alive();
    body(StreamBody { source: StreamSource::Events(events, answer.running), keep_alive, interval })
}

/// Creates a body for a stream whose answer is pending: it begins with a keep-alive event. A later error becomes an
/// error event, because the status has been sent.
pub(super) fn of_late_answer(answer: PendingAnswer, interval: Duration) -> Body {
    let keep_alive = answer.keep_alive();
    body(StreamBody { source: StreamSource::Begun(answer), keep_alive, interval })
}

fn body(body: StreamBody) -> Body {
    Body::from_stream(stream::unfold(body, async |body| {
        let (bytes, body) = body.next().await?;
        Some((Ok::<_, Infallible>(bytes), body))
    }))
}

impl StreamBody {
    /// Returns the next bytes; `None` at the end.
    async fn next(mut self) -> Option<(Bytes, Self)> {
        loop {
            self.source = match self.source {
                StreamSource::Begun(answer) => {
                    self.source = StreamSource::Late(answer);
                    return Some((self.keep_alive.event(), self));
                }
                StreamSource::Late(mut pending) => match timeout(self.interval, pending.answer()).await {
                    Err(_) => {
                        self.source = StreamSource::Late(pending);
                        return Some((self.keep_alive.event(), self));
                    }
                    Ok(Ok(TurnAnswer { body: AnswerBody::Events(events), .. })) => {
                        StreamSource::Events(events, pending.running)
                    }
                    Ok(Ok(TurnAnswer { body: AnswerBody::Whole(body), status, headers })) => {
                        let event = match status.is_success() {
                            true => event(&body),
                            false => late_error(pending.protocol, &body, status, &headers),
                        };
                        self.source = StreamSource::Ended;
                        return Some((event, self));
                    }
                    // The turn failed; the log has the reason.
                    Ok(Err(_)) => StreamSource::Ended,
                },
                StreamSource::Events(mut events, mut turn) => {
                    match timeout(self.interval, turn.event(&mut events)).await {
                        Err(_) => {
                            self.source = StreamSource::Events(events, turn);
                            return Some((self.keep_alive.event(), self));
                        }
                        Ok(Some(bytes)) => {
                            self.source = StreamSource::Events(events, turn);
                            return Some((self.keep_alive.pass(bytes), self));
                        }
                        Ok(None) => StreamSource::Ended,
                    }
                }
                StreamSource::Ended => return None,
            };
        }
    }
}
