//! Body of a streamed response: events, and keep-alive comments during silence.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::pipeline::{Answer, AnswerBody, Pending, Running};
use callwright_openai::{emit, event};

/// Source of the next bytes.
enum Source {
    /// The client got status 200 before the answer's head is known: a comment comes first.
    Ping(Pending),
    /// The head is still unknown.
    Late(Pending),
    /// Events of a stream, and the turn that produces them.
    Events(mpsc::Receiver<Bytes>, Running),
    /// End of the body.
    Ended,
}

/// Creates a body that sends `events`, and a comment after each `keep_alive` of silence. The turn is cancelled if the
/// body is dropped before its end.
pub(super) fn of_events(events: mpsc::Receiver<Bytes>, turn: Running, keep_alive: Duration) -> Body {
    body(Source::Events(events, turn), keep_alive)
}

/// Creates a body for a stream whose answer is pending: it begins with a keep-alive comment. A later error becomes an
/// error event, because the status has been sent.
pub(super) fn of_late_answer(answer: Pending, keep_alive: Duration) -> Body {
    body(Source::Ping(answer), keep_alive)
}

fn body(source: Source, keep_alive: Duration) -> Body {
    Body::from_stream(stream::unfold(source, move |source| async move {
        let (bytes, source) = next(source, keep_alive).await?;
        Some((Ok::<_, Infallible>(bytes), source))
    }))
}

async fn next(mut source: Source, keep_alive: Duration) -> Option<(Bytes, Source)> {
    let ping = Bytes::from_static(emit::KEEP_ALIVE);
    loop {
        source = match source {
            Source::Ping(answer) => return Some((ping, Source::Late(answer))),
            Source::Late(mut pending) => match timeout(keep_alive, pending.answer()).await {
                Err(_) => return Some((ping, Source::Late(pending))),
                Ok(Ok(Answer { body: AnswerBody::Events(events), .. })) => {
                    Source::Events(events, pending.into_running())
                }
                Ok(Ok(Answer { body: AnswerBody::Whole(body), status, headers })) => {
                    let event =
                        if status.is_success() { event(&body) } else { emit::late_error(&body, status, &headers) };
                    return Some((event, Source::Ended));
                }
                // The turn failed; the log has the reason.
                Ok(Err(_)) => Source::Ended,
            },
            Source::Events(mut events, mut turn) => match timeout(keep_alive, turn.event(&mut events)).await {
                Err(_) => return Some((ping, Source::Events(events, turn))),
                Ok(Some(bytes)) => return Some((bytes, Source::Events(events, turn))),
                Ok(None) => Source::Ended,
            },
            Source::Ended => return None,
        };
    }
}
