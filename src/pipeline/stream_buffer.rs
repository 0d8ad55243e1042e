//! Queue of events between a turn and the connection of its client, bounded by bytes.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use callwright_common::limits::BUFFER_BYTES;

/// Creates a queue for the events of one answer.
pub(crate) fn stream_buffer() -> (EventSender, EventReceiver) {
    let queue = Arc::<Mutex<Queue>>::default();
    (EventSender(Arc::clone(&queue)), EventReceiver(queue))
}

/// Sending end; dropping it ends the stream.
#[derive(Debug)]
pub(crate) struct EventSender(Arc<Mutex<Queue>>);

/// Receiving end; dropping it makes further sends fail.
#[derive(Debug)]
pub struct EventReceiver(Arc<Mutex<Queue>>);

/// The receiver was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReceiverGone;

#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<Bytes>,
    /// Number of bytes of `events`.
    bytes: usize,
    /// Whether one of the ends was dropped.
    is_closed: bool,
    /// The sender, while it waits for room.
    sender: Option<Waker>,
    /// The receiver, while it waits for an event.
    receiver: Option<Waker>,
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    fn pop(&mut self) -> Option<Bytes> {
        let event = self.events.pop_front()?;
        self.bytes -= event.len();
        if self.bytes <= BUFFER_BYTES
            && let Some(sender) = self.sender.take()
        {
            sender.wake();
        }
        Some(event)
    }

    fn close(&mut self) {
        self.is_closed = true;
        for waiting in [self.sender.take(), self.receiver.take()].into_iter().flatten() {
            waiting.wake();
        }
    }
}

impl EventSender {
    /// Queues events, and waits while more than [`BUFFER_BYTES`] are queued. The turn waits behind a large event, not
    /// before it: it must not read the next one while this one is in memory.
    pub(crate) async fn send(&self, events: Bytes) -> Result<(), ReceiverGone> {
        {
            let mut queue = lock(&self.0);
            if queue.is_closed {
                return Err(ReceiverGone);
            }
            queue.bytes += events.len();
            queue.events.push_back(events);
            if let Some(receiver) = queue.receiver.take() {
                receiver.wake();
            }
            if queue.bytes <= BUFFER_BYTES {
                return Ok(());
            }
        }
        poll_fn(|cx| self.poll_room(cx)).await
    }

    fn poll_room(&self, cx: &Context<'_>) -> Poll<Result<(), ReceiverGone>> {
        let mut queue = lock(&self.0);
        if queue.is_closed {
            return Poll::Ready(Err(ReceiverGone));
        }
        if queue.bytes <= BUFFER_BYTES {
            return Poll::Ready(Ok(()));
        }
        queue.sender = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl EventReceiver {
    /// Returns the next events if some are queued.
    pub(crate) fn try_next(&mut self) -> Option<Bytes> {
        lock(&self.0).pop()
    }

    /// Polls the next events; `None` at the end.
    pub(crate) fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<Bytes>> {
        let mut queue = lock(&self.0);
        let next = queue.pop();
        if next.is_some() || queue.is_closed {
            return Poll::Ready(next);
        }
        queue.receiver = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for EventSender {
    fn drop(&mut self) {
        lock(&self.0).close();
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        let mut queue = lock(&self.0);
        (queue.events, queue.bytes) = (VecDeque::new(), 0);
        queue.close();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, poll};

    use super::*;

    fn bytes(count: usize) -> Bytes {
        vec![b'x'; count].into()
    }

    async fn next(receiver: &mut EventReceiver) -> Option<usize> {
        poll_fn(|cx| receiver.poll_next(cx)).await.map(|events| events.len())
    }

    #[tokio::test]
    async fn a_sender_waits_while_more_than_the_limit_is_queued() {
        let (sender, mut receiver) = stream_buffer();
        assert_eq!(sender.send(bytes(BUFFER_BYTES)).now_or_never(), Some(Ok(())));
        let mut send = Box::pin(sender.send(bytes(1)));
        assert!(poll!(&mut send).is_pending());
        assert_eq!(receiver.try_next().map(|events| events.len()), Some(BUFFER_BYTES));
        assert_eq!(send.await, Ok(()));
        assert_eq!((next(&mut receiver).await, receiver.try_next()), (Some(1), None));
    }

    #[tokio::test]
    async fn a_large_event_passes_and_blocks_until_it_is_taken() {
        let (sender, mut receiver) = stream_buffer();
        let mut send = Box::pin(sender.send(bytes(10 * BUFFER_BYTES)));
        assert!(poll!(&mut send).is_pending());
        assert_eq!(next(&mut receiver).await, Some(10 * BUFFER_BYTES));
        assert_eq!(send.await, Ok(()));
    }

    #[tokio::test]
    async fn both_ends_are_woken_by_each_other() {
        const EVENTS: usize = 1_000;
        let (sender, mut receiver) = stream_buffer();
        let sending = tokio::spawn(async move {
            for at in 0..EVENTS {
                sender.send(bytes(at)).await.unwrap();
            }
        });
        for at in 0..EVENTS {
            assert_eq!(next(&mut receiver).await, Some(at));
        }
        assert_eq!(next(&mut receiver).await, None);
        sending.await.unwrap();
    }

    #[tokio::test]
    async fn queued_events_outlive_the_sender() {
        let (sender, mut receiver) = stream_buffer();
        sender.send(bytes(1)).await.unwrap();
        drop(sender);
        assert_eq!((next(&mut receiver).await, next(&mut receiver).await), (Some(1), None));
    }

    #[tokio::test]
    async fn a_send_ends_with_the_receiver() {
        let (sender, receiver) = stream_buffer();
        let mut send = Box::pin(sender.send(bytes(BUFFER_BYTES + 1)));
        assert!(poll!(&mut send).is_pending());
        drop(receiver);
        assert_eq!(send.await, Err(ReceiverGone));
        assert_eq!(sender.send(bytes(1)).await, Err(ReceiverGone));
    }
}
