//! The body of a streamed answer: events as they come, and a keep-alive comment while there are none.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::DropGuard;

use crate::openai::{emit, event};
use crate::pipeline::{Answer, AnswerBody};

/// Where the next bytes come from.
enum Source {
    /// The client was told 200 before the answer's head is known: a comment first.
    Ping(oneshot::Receiver<Answer>),
    /// The head is still not known.
    Late(oneshot::Receiver<Answer>),
    /// Events of a stream.
    Events(mpsc::Receiver<Bytes>),
    /// Nothing more.
    Ended,
}

/// A body that sends `events`, and a comment after each `keep_alive` of silence. The turn is cancelled when the body is
/// dropped before its end.
pub(super) fn of_events(events: mpsc::Receiver<Bytes>, keep_alive: Duration, guard: DropGuard) -> Body {
    body(Source::Events(events), keep_alive, guard)
}

/// A body for a stream whose answer is still to come: it begins with a keep-alive comment. An error that comes after
/// this becomes an error event, as the status can no longer say it.
pub(super) fn of_late_answer(answer: oneshot::Receiver<Answer>, keep_alive: Duration, guard: DropGuard) -> Body {
    body(Source::Ping(answer), keep_alive, guard)
}

fn body(source: Source, keep_alive: Duration, guard: DropGuard) -> Body {
    Body::from_stream(stream::unfold((source, guard), move |(source, guard)| async move {
        let (bytes, source) = next(source, keep_alive).await?;
        Some((Ok::<_, Infallible>(bytes), (source, guard)))
    }))
}

async fn next(mut source: Source, keep_alive: Duration) -> Option<(Bytes, Source)> {
    let ping = Bytes::from_static(emit::KEEP_ALIVE);
    loop {
        source = match source {
            Source::Ping(answer) => return Some((ping, Source::Late(answer))),
            Source::Late(mut answer) => match timeout(keep_alive, &mut answer).await {
                Err(_) => return Some((ping, Source::Late(answer))),
                Ok(Ok(Answer { body: AnswerBody::Events(events), .. })) => Source::Events(events),
                Ok(Ok(Answer { body: AnswerBody::Whole(error), .. })) => {
                    return Some((event(&error), Source::Ended));
                }
                // The turn's task died; the log says why.
                Ok(Err(_)) => Source::Ended,
            },
            Source::Events(mut events) => match timeout(keep_alive, events.recv()).await {
                Err(_) => return Some((ping, Source::Events(events))),
                Ok(Some(bytes)) => return Some((bytes, Source::Events(events))),
                Ok(None) => Source::Ended,
            },
            Source::Ended => return None,
        };
    }
}
