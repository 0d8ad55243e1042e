//! The body of a streamed answer: events as they come, and a keep-alive comment while there are none.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::pipeline::{Answer, AnswerBody, Pending, Running};
use callwright_openai::{emit, event};

/// Where the next bytes come from.
enum Source {
    /// The client was told 200 before the answer's head is known: a comment first.
    Ping(Pending),
    /// The head is still not known.
    Late(Pending),
    /// Events of a stream, and the turn that makes them.
    Events(mpsc::Receiver<Bytes>, Running),
    /// Nothing more.
    Ended,
}

/// A body that sends `events`, and a comment after each `keep_alive` of silence. The turn is cancelled when the body is
/// dropped before its end.
pub(super) fn of_events(events: mpsc::Receiver<Bytes>, turn: Running, keep_alive: Duration) -> Body {
    body(Source::Events(events, turn), keep_alive)
}

/// A body for a stream whose answer is still to come: it begins with a keep-alive comment. An error that comes after
/// this becomes an error event, as the status can no longer say it.
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
                // The turn broke; the log says why.
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
