//! Body of a streamed response: events, and keep-alive comments during silence.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::pipeline::{AnswerBody, PendingAnswer, Running, TurnAnswer};
use callwright_openai::{emit, event, late_error};

/// Source of the next bytes.
enum StreamSource {
    /// The client got status 200 before the answer's head is known: a comment comes first.
    Ping(PendingAnswer),
    /// The head is still unknown.
    Late(PendingAnswer),
    /// Events of a stream, and the turn that produces them.
    Events(mpsc::Receiver<Bytes>, Running),
    /// End of the body.
    Ended,
}

/// Creates a body that sends `events`, and a comment after each `keep_alive` of silence. The turn is cancelled if the
/// body is dropped before its end.
pub(super) fn of_events(events: mpsc::Receiver<Bytes>, turn: Running, keep_alive: Duration) -> Body {
    body(StreamSource::Events(events, turn), keep_alive)
}

/// Creates a body for a stream whose answer is pending: it begins with a keep-alive comment. A later error becomes an
/// error event, because the status has been sent.
pub(super) fn of_late_answer(answer: PendingAnswer, keep_alive: Duration) -> Body {
    body(StreamSource::Ping(answer), keep_alive)
}

fn body(source: StreamSource, keep_alive: Duration) -> Body {
    Body::from_stream(stream::unfold(source, move |source| async move {
        let (bytes, source) = next(source, keep_alive).await?;
        Some((Ok::<_, Infallible>(bytes), source))
    }))
}

async fn next(mut source: StreamSource, keep_alive: Duration) -> Option<(Bytes, StreamSource)> {
    let ping = Bytes::from_static(emit::KEEP_ALIVE);
    loop {
        source = match source {
            StreamSource::Ping(answer) => return Some((ping, StreamSource::Late(answer))),
            StreamSource::Late(mut pending) => match timeout(keep_alive, pending.answer()).await {
                Err(_) => return Some((ping, StreamSource::Late(pending))),
                Ok(Ok(TurnAnswer { body: AnswerBody::Events(events), .. })) => {
                    StreamSource::Events(events, pending.into_running())
                }
                Ok(Ok(TurnAnswer { body: AnswerBody::Whole(body), status, headers })) => {
                    let event = match status.is_success() {
                        true => event(&body),
                        false => late_error(pending.protocol(), &body, status, &headers),
                    };
                    return Some((event, StreamSource::Ended));
                }
                // The turn failed; the log has the reason.
                Ok(Err(_)) => StreamSource::Ended,
            },
            StreamSource::Events(mut events, mut turn) => match timeout(keep_alive, turn.event(&mut events)).await {
                Err(_) => return Some((ping, StreamSource::Events(events, turn))),
                Ok(Some(bytes)) => return Some((bytes, StreamSource::Events(events, turn))),
                Ok(None) => StreamSource::Ended,
            },
            StreamSource::Ended => return None,
        };
    }
}
