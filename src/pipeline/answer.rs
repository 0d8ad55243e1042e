//! The answer of a turn and its delivery to the client.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, StatusCode};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::stream_buffer::{EventReceiver, EventSender, ReceiverGone, stream_buffer};
use callwright_types::Protocol;
use callwright_wire::KeepAlive;

/// Answer to the request of a turn.
#[derive(Debug)]
pub struct TurnAnswer {
    /// HTTP status.
    pub status: StatusCode,
    /// Header fields, including those from the upstream.
    pub headers: HeaderMap,
    pub body: AnswerBody,
}

#[derive(Debug)]
pub enum AnswerBody {
    /// Complete body.
    Whole(Bytes),
    /// Complete server-sent events, streamed as they arrive.
    Events(EventReceiver),
}

/// Acknowledges to a turn that its client received the whole answer. Dropping it without a call means "not delivered".
#[derive(Debug)]
pub struct DeliveryAck(oneshot::Sender<()>);

impl DeliveryAck {
    /// Creates a delivery_ack and the receiver of its acknowledgement.
    pub(crate) fn new() -> (Self, oneshot::Receiver<()>) {
        let (sender, receiver) = oneshot::channel();
        (Self(sender), receiver)
    }

    /// Reports that the connection took the last byte of the answer.
    pub fn delivered(self) {
        // The receiver is gone if the turn does not wait for the acknowledgement.
        let _ = self.0.send(());
    }
}

/// An answer in progress. Awaiting it drives the turn. Dropping it cancels the turn: the client has disconnected.
#[derive(Debug)]
pub struct PendingAnswer {
    pub(super) answer: oneshot::Receiver<TurnAnswer>,
    /// The turn, which must be polled until all events are sent.
    pub(crate) running: Running,
    pub(crate) protocol: Protocol,
    /// Whether a successful answer is a stream.
    pub(crate) is_stream: bool,
    /// Whether the turn may change its answer.
    pub(super) is_guarded: bool,
    /// To acknowledge after complete delivery, if the turn waits for it.
    pub(crate) delivery_ack: Option<DeliveryAck>,
}

impl PendingAnswer {
    /// Returns the writer of keep-alive events. A stream that is not guarded gets no event that its upstream did not send.
    pub fn keep_alive(&self) -> KeepAlive {
        if self.is_guarded { KeepAlive::events(self.protocol) } else { KeepAlive::comments() }
    }

    /// Returns the answer as soon as its head is available.
    ///
    /// # Errors
    /// [`NoAnswer`] if the turn ended without an answer.
    pub async fn answer(&mut self) -> Result<TurnAnswer, NoAnswer> {
        let Self { answer, running, .. } = self;
        let answer = running.until(|cx, alone| match answer.try_recv() {
            Err(TryRecvError::Empty) if alone => Pin::new(&mut *answer).poll(cx).map(Result::ok),
            Err(TryRecvError::Empty) => Poll::Pending,
            found => Poll::Ready(found.ok()),
        });
        answer.await.ok_or(NoAnswer)
    }
}

/// The turn ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the turn ended without an answer")]
pub struct NoAnswer;

/// A turn in progress. A turn without tool execution runs in the task that awaits its answer, which saves the transfer
/// to another task and back. Such a turn pauses while the client reads nothing. Dropping `Running` before the end means
/// that the client has disconnected: the turn is cancelled and finishes in its own task, because started work is
/// completed and recorded.
pub struct Running {
    /// The turn; `None` if it runs in its own task or has ended.
    turn: Option<BoxFuture<'static, ()>>,
    cancelled: CancellationToken,
    tracker: TaskTracker,
    runtime: Handle,
    /// Keeps the tracker waiting for this turn.
    _counted: TaskTrackerToken,
}

impl Running {
    /// Creates a turn that runs in the awaiting task. `tracker` counts it; `cancelled` signals that the client
    /// disconnected.
    pub(crate) fn here(turn: BoxFuture<'static, ()>, cancelled: CancellationToken, tracker: &TaskTracker) -> Self {
        let mut running = Self::elsewhere(cancelled, tracker);
        running.turn = Some(turn);
        running
    }

    /// Creates a handle for a turn that runs in its own task, or for no turn at all.
    pub(crate) fn elsewhere(cancelled: CancellationToken, tracker: &TaskTracker) -> Self {
        Self { turn: None, cancelled, tracker: tracker.clone(), runtime: Handle::current(), _counted: tracker.token() }
    }

    /// Returns the next event of the stream; `None` at its end.
    pub async fn event(&mut self, events: &mut EventReceiver) -> Option<Bytes> {
        self.until(|cx, alone| match events.try_next() {
            Some(event) => Poll::Ready(Some(event)),
            None if alone => events.poll_next(cx),
            None => Poll::Pending,
        })
        .await
    }

    /// Polls the turn until `next` is ready. The second argument of `next` is whether the turn does not run in this
    /// task; only then must `next` register a waker. A turn in this task is polled here and needs no other wake-up.
    async fn until<T>(&mut self, mut next: impl FnMut(&mut Context<'_>, bool) -> Poll<T>) -> T {
        poll_fn(|cx| {
            let Some(mut turn) = self.turn.take() else { return next(cx, true) };
            if let Poll::Ready(found) = next(cx, false) {
                self.turn = Some(turn);
                return Poll::Ready(found);
            }
            // A turn that panics is not put back.
            let ended = turn.as_mut().poll(cx).is_ready();
            if !ended {
                self.turn = Some(turn);
            }
            next(cx, ended)
        })
        .await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.cancelled.cancel();
        if let Some(turn) = self.turn.take() {
            self.tracker.spawn_on(turn, &self.runtime);
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("here", &self.turn.is_some()).finish_non_exhaustive()
    }
}

/// The client disconnected; nothing more can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientGone;

impl From<ReceiverGone> for ClientGone {
    fn from(_: ReceiverGone) -> Self {
        Self
    }
}

/// The sending side of an answer: first the head, then the events.
#[derive(Debug)]
pub(crate) struct ResponseSender {
    head: Option<oneshot::Sender<TurnAnswer>>,
    events: Option<EventSender>,
}

impl ResponseSender {
    /// Creates a sender that sends the head to `head`.
    pub(crate) fn new(head: oneshot::Sender<TurnAnswer>) -> Self {
        Self { head: Some(head), events: None }
    }

    /// Whether the head of a stream is sent.
    pub(crate) fn is_open(&self) -> bool {
        self.events.is_some()
    }

    /// Sends the head of a stream once.
    pub(crate) fn open(&mut self, headers: HeaderMap) -> Result<(), ClientGone> {
        let Some(head) = self.head.take() else { return Ok(()) };
        let (sender, receiver) = stream_buffer();
        self.events = Some(sender);
        let answer = TurnAnswer { status: StatusCode::OK, headers, body: AnswerBody::Events(receiver) };
        head.send(answer).map_err(|_| ClientGone)
    }

    /// Sends events of an open stream; waits while the client is slow.
    pub(crate) async fn send(&mut self, events: Bytes) -> Result<(), ClientGone> {
        match &self.events {
            Some(sender) if !events.is_empty() => Ok(sender.send(events).await?),
            _ => Ok(()),
        }
    }

    /// Sends a complete answer; does nothing if a stream is open.
    pub(crate) fn whole(&mut self, answer: TurnAnswer) {
        if let Some(head) = self.head.take() {
            // The receiver is gone if the client disconnected.
            let _ = head.send(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A turn that sends two events at its start and a late one after `gate` opens or the turn is cancelled. `ended`
    /// receives whether the client was still connected.
    struct Fixture {
        pending: PendingAnswer,
        gate: oneshot::Sender<()>,
        ended: oneshot::Receiver<Result<(), ClientGone>>,
        tracker: TaskTracker,
    }

    fn fixture(here: bool) -> Fixture {
        let (tracker, cancelled) = (TaskTracker::new(), CancellationToken::new());
        let (head, answer) = oneshot::channel();
        let (gate, opened) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let told = cancelled.clone();
        let turn = async move {
            let mut response_sender = ResponseSender::new(head);
            let mut sent = response_sender.open(HeaderMap::new());
            for piece in ["a", "b"] {
                sent = sent.and(response_sender.send(Bytes::from_static(piece.as_bytes())).await);
            }
            tokio::select! {
                () = told.cancelled() => {}
                _ = opened => {}
            }
            let _ = end.send(sent.and(response_sender.send(Bytes::from_static(b"late")).await));
        };
        let running = if here {
            Running::here(Box::pin(turn), cancelled, &tracker)
        } else {
            tracker.spawn(turn);
            Running::elsewhere(cancelled, &tracker)
        };
        Fixture { pending: pending(answer, running), gate, ended, tracker }
    }

    fn pending(answer: oneshot::Receiver<TurnAnswer>, running: Running) -> PendingAnswer {
        let protocol = Protocol::Chat;
        PendingAnswer { answer, running, protocol, is_stream: true, is_guarded: false, delivery_ack: None }
    }

    #[tokio::test]
    async fn events_come_in_order_wherever_the_turn_runs() {
        for here in [true, false] {
            let Fixture { mut pending, gate, ended, .. } = fixture(here);
            let AnswerBody::Events(mut events) = pending.answer().await.unwrap().body else { panic!("no stream") };
            let mut running = pending.running;
            assert_eq!(running.event(&mut events).await.unwrap(), "a");
            assert_eq!(running.event(&mut events).await.unwrap(), "b");
            gate.send(()).unwrap();
            assert_eq!(running.event(&mut events).await.unwrap(), "late");
            assert_eq!(running.event(&mut events).await, None);
            assert_eq!(ended.await.unwrap(), Ok(()));
        }
    }

    #[tokio::test]
    async fn a_turn_ends_and_is_awaited_although_its_client_has_gone() {
        for here in [true, false] {
            let Fixture { mut pending, gate: _gate, ended, tracker } = fixture(here);
            drop(pending.answer().await.unwrap());
            drop(pending);
            tracker.close();
            tracker.wait().await;
            assert_eq!(ended.await.unwrap(), Err(ClientGone));
        }
    }

    #[tokio::test]
    async fn a_turn_that_was_never_waited_for_is_taken_to_its_end() {
        let Fixture { pending, gate: _gate, ended, tracker } = fixture(true);
        drop(pending);
        tracker.close();
        tracker.wait().await;
        assert_eq!(ended.await.unwrap(), Err(ClientGone));
    }

    #[tokio::test]
    async fn a_turn_that_ends_without_an_answer_is_no_answer() {
        let (tracker, (head, answer)) = (TaskTracker::new(), oneshot::channel());
        let turn = Box::pin(async move { drop(ResponseSender::new(head)) });
        let running = Running::here(turn, CancellationToken::new(), &tracker);
        assert_eq!(pending(answer, running).answer().await.err(), Some(NoAnswer));
    }
}
