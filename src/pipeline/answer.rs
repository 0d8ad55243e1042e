//! What a turn gives back, and the way it gets to the client.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, StatusCode};
use tokio::runtime::Handle;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

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

/// Tells a turn that its client has the whole answer; dropping it tells that it has not.
#[derive(Debug)]
pub struct Receipt(oneshot::Sender<()>);

impl Receipt {
    /// A receipt, and where it comes in.
    pub(crate) fn new() -> (Self, oneshot::Receiver<()>) {
        let (sender, receiver) = oneshot::channel();
        (Self(sender), receiver)
    }

    /// The connection has taken the answer to its last byte.
    pub fn delivered(self) {
        // A turn that has nothing to tell does not wait.
        let _ = self.0.send(());
    }
}

/// An answer that is on its way: the turn goes on while it is waited for. Dropping it tells the turn that the client has gone.
#[derive(Debug)]
pub struct Pending {
    answer: oneshot::Receiver<Answer>,
    running: Running,
    stream: bool,
    receipt: Option<Receipt>,
}

impl Pending {
    /// An answer that comes out of `running`; `stream` says whether it will be one, if all goes well.
    pub(crate) fn new(answer: oneshot::Receiver<Answer>, running: Running, stream: bool) -> Self {
        Self { answer, running, stream, receipt: None }
    }

    /// With the receipt that the turn waits for.
    pub(crate) fn with_receipt(self, receipt: Option<Receipt>) -> Self {
        Self { receipt, ..self }
    }

    /// What is to be told when the client has the whole answer; `None` where nobody wants to know.
    pub fn take_receipt(&mut self) -> Option<Receipt> {
        self.receipt.take()
    }

    /// Will the answer be a stream, if all goes well?
    pub fn is_stream(&self) -> bool {
        self.stream
    }

    /// The answer once its head is known.
    ///
    /// # Errors
    /// When the turn ended without one.
    pub async fn answer(&mut self) -> Result<Answer, NoAnswer> {
        let Self { answer, running, .. } = self;
        let next = |cx: &mut Context<'_>, alone: bool| match answer.try_recv() {
            Err(TryRecvError::Empty) if alone => Pin::new(&mut *answer).poll(cx).map(Result::ok),
            Err(TryRecvError::Empty) => Poll::Pending,
            found => Poll::Ready(found.ok()),
        };
        running.until(next).await.ok_or(NoAnswer)
    }

    /// The turn alone, to be kept and driven until its events are sent.
    pub fn into_running(self) -> Running {
        self.running
    }
}

/// A turn ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the turn ended without an answer")]
pub struct NoAnswer;

/// A turn under way. Where it executes nothing it runs in the task that waits for its answer, which saves it the way to a task of
/// its own and back; it stands still then while the client takes nothing. Where it is dropped before its end, the client has
/// gone: the turn is told so and ends in a task of its own, because what was begun is finished and recorded.
pub struct Running {
    /// The turn, unless it has a task of its own or has ended.
    turn: Option<BoxFuture<'static, ()>>,
    cancelled: CancellationToken,
    tracker: TaskTracker,
    runtime: Handle,
    /// Counts the turn among the tracker's.
    _counted: TaskTrackerToken,
}

impl Running {
    /// A turn that runs in the task that waits for it. `tracker` counts it; from `cancelled` it learns that the client has gone.
    pub(crate) fn here(turn: BoxFuture<'static, ()>, cancelled: CancellationToken, tracker: &TaskTracker) -> Self {
        let mut running = Self::elsewhere(cancelled, tracker);
        running.turn = Some(turn);
        running
    }

    /// A turn that has a task of its own, or no turn at all.
    pub(crate) fn elsewhere(cancelled: CancellationToken, tracker: &TaskTracker) -> Self {
        Self { turn: None, cancelled, tracker: tracker.clone(), runtime: Handle::current(), _counted: tracker.token() }
    }

    /// The next events of the turn's stream; `None` at their end.
    pub async fn event(&mut self, events: &mut mpsc::Receiver<Bytes>) -> Option<Bytes> {
        let next = |cx: &mut Context<'_>, alone: bool| match events.try_recv() {
            Ok(event) => Poll::Ready(Some(event)),
            Err(_) if alone => events.poll_recv(cx),
            Err(_) => Poll::Pending,
        };
        self.until(next).await
    }

    /// Takes the turn further until `next` is ready. It is told whether it is alone: where the turn runs here nobody else
    /// sends, and what it sends needs to wake nobody.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer whose turn sends `ready` as it begins, `late` once `gate` lets it, and says in the end whether the client was there.
    struct Fixture {
        pending: Pending,
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
            let mut outlet = Outlet::new(head, 4);
            let mut sent = outlet.open(HeaderMap::new());
            for piece in ["a", "b"] {
                sent = sent.and(outlet.send(Bytes::from_static(piece.as_bytes())).await);
            }
            tokio::select! {
                () = told.cancelled() => {}
                _ = opened => {}
            }
            let _ = end.send(sent.and(outlet.send(Bytes::from_static(b"late")).await));
        };
        let running = if here {
            Running::here(Box::pin(turn), cancelled, &tracker)
        } else {
            tracker.spawn(turn);
            Running::elsewhere(cancelled, &tracker)
        };
        Fixture { pending: Pending::new(answer, running, true), gate, ended, tracker }
    }

    #[tokio::test]
    async fn events_come_in_order_wherever_the_turn_runs() {
        for here in [true, false] {
            let Fixture { mut pending, gate, ended, .. } = fixture(here);
            let AnswerBody::Events(mut events) = pending.answer().await.unwrap().body else { panic!("no stream") };
            let mut running = pending.into_running();
            assert_eq!(running.event(&mut events).await.unwrap(), "a");
            assert_eq!(running.event(&mut events).await.unwrap(), "b");
            gate.send(()).unwrap();
            assert_eq!(running.event(&mut events).await.unwrap(), "late");
            assert_eq!(running.event(&mut events).await, None);
            assert_eq!(ended.await.unwrap(), Ok(()));
        }
    }

    #[tokio::test]
    async fn a_turn_whose_client_goes_is_told_ends_all_the_same_and_is_waited_for() {
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
        let turn = Box::pin(async move { drop(Outlet::new(head, 1)) });
        let running = Running::here(turn, CancellationToken::new(), &tracker);
        assert_eq!(Pending::new(answer, running, false).answer().await.err(), Some(NoAnswer));
    }
}
