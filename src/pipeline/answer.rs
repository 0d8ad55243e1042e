//! What a turn gives back, and the way it gets to the client.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::DropGuard;

/// The answer to a turn's request.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: StatusCode,
    /// Header fields, the upstream's own included.
    pub headers: HeaderMap,
    /// The body.
    pub body: AnswerBody,
}

/// The body of an answer.
#[derive(Debug)]
pub enum AnswerBody {
    /// All of it.
    Whole(Bytes),
    /// Whole server-sent events, as they come.
    Events(mpsc::Receiver<Bytes>),
}

/// An answer that is on its way. Dropping it tells the turn that the client has gone.
#[derive(Debug)]
pub struct Pending {
    /// Gives the answer once its head is known; an error means that the turn's task died.
    pub answer: oneshot::Receiver<Answer>,
    /// Cancels the turn when dropped; hold it until the body is sent.
    pub guard: DropGuard,
    /// Will the answer be a stream, if all goes well?
    pub stream: bool,
}

/// The client went away; nothing more can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientGone;

/// The turn's end of the way to the client: first the head, then the events.
#[derive(Debug)]
pub(crate) struct Outlet {
    head: Option<oneshot::Sender<Answer>>,
    events: Option<mpsc::Sender<Bytes>>,
    buffer: usize,
}

impl Outlet {
    /// An outlet whose head goes to `head`; `buffer` events may wait for a slow client.
    pub(crate) fn new(head: oneshot::Sender<Answer>, buffer: usize) -> Self {
        Self { head: Some(head), events: None, buffer: buffer.max(1) }
    }

    /// Has the head of a stream been sent?
    pub(crate) fn is_open(&self) -> bool {
        self.events.is_some()
    }

    /// Sends the head of a stream, once.
    pub(crate) fn open(&mut self, headers: HeaderMap) -> Result<(), ClientGone> {
        let Some(head) = self.head.take() else { return Ok(()) };
        let (sender, receiver) = mpsc::channel(self.buffer);
        self.events = Some(sender);
        let answer = Answer { status: StatusCode::OK, headers, body: AnswerBody::Events(receiver) };
        head.send(answer).map_err(|_| ClientGone)
    }

    /// Sends events of an open stream; waits while the client is slow.
    pub(crate) async fn send(&mut self, events: Bytes) -> Result<(), ClientGone> {
        match &self.events {
            Some(sender) if !events.is_empty() => sender.send(events).await.map_err(|_| ClientGone),
            _ => Ok(()),
        }
    }

    /// Sends a whole answer; does nothing where a stream is open.
    pub(crate) fn whole(&mut self, answer: Answer) {
        if let Some(head) = self.head.take() {
            // The client may have gone: then there is no one to tell.
            let _ = head.send(answer);
        }
    }
}
