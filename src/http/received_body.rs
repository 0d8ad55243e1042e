//! Request bodies that are read in full, within the size limit of a body and the memory limit of all bodies.

use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Extensions, HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Frame;

use super::body_budget::cost;
use super::body_fault::BodyFault;
use super::body_shares::{BodyShare, BodyShares, CallerId};
use super::connections::CLOSING_TIME;
use super::error::{self, Refusal};
use super::state::ClientSide;
use crate::keys;
use crate::pipeline::{MemoryFull, Reservation, SMALL_BODY_BYTES, held};
use callwright_common::limits::BUFFER_BYTES;
use callwright_telemetry::labels::{CloseReason, Listener};

/// Memory reserved for one body. The share is dropped last, because its end means that there is room.
struct BodyRoom {
    reservation: Reservation,
    /// `None` for a body that is known to be small.
    sender: Option<(Arc<BodyShares>, CallerId)>,
    share: Option<BodyShare>,
}

impl BodyRoom {
    fn new(reservation: Reservation, sender: Option<(Arc<BodyShares>, CallerId)>) -> Self {
        Self { reservation, sender, share: None }
    }

    /// Reserves memory for a buffer that grows from `held` to `size` bytes. Its cost covers both while the first is copied.
    fn grow(&mut self, held: usize, size: usize) -> Result<(), MemoryFull> {
        let more = cost(size) - cost(held);
        let Some((shares, caller)) = self.sender.as_ref().filter(|_| size > SMALL_BODY_BYTES) else {
            return self.reservation.add(more, size);
        };
        let share = self.share.get_or_insert_with(|| shares.open(*caller));
        let of_share = cost(size) - share.bytes();
        share.add(of_share)?;
        self.reservation.add(more, size).inspect_err(|_| share.release(of_share))
    }

    /// Grows as [`Self::grow`] does, and ends slow bodies if there is no room.
    async fn grow_at_cost_of_slow(&mut self, held: usize, size: usize) -> Result<(), MemoryFull> {
        let grown = self.grow(held, size);
        match &self.sender {
            Some((shares, caller)) if grown.is_err() && shares.make_room(*caller, cost(size)).await => {
                self.grow(held, size)
            }
            _ => grown,
        }
    }

    /// Waits for the next frame of a body, or for the end of its share.
    async fn frame(&self, body: &mut Body) -> Result<Option<Frame<Bytes>>, BodyRefusal> {
        let frame = match &self.share {
            None => body.frame().await,
            Some(share) => {
                let frame = Box::pin(async {
                    tokio::select! {
                        biased;
                        () = share.ended() => None,
                        frame = body.frame() => Some(frame),
                    }
                });
                frame.await.ok_or(BodyRefusal::Ended)?
            }
        };
        let frame = frame.transpose().map_err(|error| BodyRefusal::Broken(BodyFault::of_body(&error)))?;
        if let (Some(share), Some(data)) = (&self.share, frame.as_ref().and_then(Frame::data_ref)) {
            share.received(data.len());
        }
        Ok(frame)
    }
}

/// Reason why a body was not read to its end.
#[derive(Debug, PartialEq, Eq)]
enum BodyRefusal {
    /// The body exceeds the size limit.
    TooLarge,
    /// The memory limit of all request bodies, or the caller's share of it, is reached.
    MemoryFull,
    /// The body arrived slowly while another one needed its memory.
    Ended,
    /// The body ended before its end.
    Broken(BodyFault),
}

impl From<MemoryFull> for BodyRefusal {
    fn from(_: MemoryFull) -> Self {
        Self::MemoryFull
    }
}

/// The sender of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodySender<'a> {
    pub(super) caller: &'a keys::Caller,
    /// Extensions of the request.
    pub(super) extensions: &'a Extensions,
}

impl BodySender<'_> {
    fn of_large(self, side: &ClientSide) -> (Arc<BodyShares>, CallerId) {
        let key = self.caller.as_ref().map(|known| known.key().id.as_str());
        let caller = side.body_shares.caller(key, self.extensions.get().copied());
        (Arc::clone(&side.body_shares), caller)
    }
}

/// Reads a body of at most `limit` bytes.
///
/// # Errors
/// The response to a request whose body is too large, exceeds the memory limit, or ends early.
pub(super) async fn receive(
    side: &ClientSide,
    sender: BodySender<'_>,
    headers: &HeaderMap,
    mut body: Body,
    limit: usize,
) -> Result<Bytes, Refusal> {
    let declared = HttpBody::size_hint(&body).exact().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let sender = (declared.unwrap_or(limit) > SMALL_BODY_BYTES).then(|| sender.of_large(side));
    let read = match declared {
        Some(bytes) if bytes > limit => Err(BodyRefusal::TooLarge),
        Some(bytes) if !has_room(side, sender.as_ref(), bytes).await => Err(BodyRefusal::MemoryFull),
        _ => {
            let room = BodyRoom::new(side.body_memory.reservation(), sender);
            collect(&mut body, room, declared, limit).await
        }
    };
    let refusal = match read {
        Ok(body) => return Ok(body),
        Err(refusal) => refusal,
    };
    // A client that waits for `100 Continue` has not sent any of the body.
    if matches!(refusal, BodyRefusal::TooLarge | BodyRefusal::MemoryFull) && !headers.contains_key(header::EXPECT) {
        // Closing a connection with unread bytes resets it, and the client would not see the reason.
        let _ = tokio::time::timeout(CLOSING_TIME, discard(body, limit)).await;
    }
    let response = match refusal {
        BodyRefusal::TooLarge => {
            let key = if limit == side.body_limit_bytes { " (server.body_limit_bytes)" } else { "" };
            let message = format!("the request body is larger than {limit} bytes{key}");
            error::invalid_request(StatusCode::PAYLOAD_TOO_LARGE, message, "body_too_large")
        }
        BodyRefusal::MemoryFull => {
            side.metrics.request_bodies_refused.inc();
            let message = format!(
                "request bodies use the {} bytes allowed by server.body_memory_bytes, or those of this caller use its share \
                 of them; try again later",
                side.body_memory.limit
            );
            error::overloaded(message, "body_memory_full")
        }
        BodyRefusal::Ended => {
            side.metrics.connections_closed.inc(Listener::Client, CloseReason::BodyTooSlow);
            BodyFault::TooSlow.response()
        }
        BodyRefusal::Broken(fault) => fault.response(),
    };
    Err(response.into())
}

/// Whether there is room for a body of this size, also after slow bodies were ended.
async fn has_room(side: &ClientSide, sender: Option<&(Arc<BodyShares>, CallerId)>, bytes: usize) -> bool {
    let fits = || side.body_memory.has_room(cost(bytes), bytes);
    match sender {
        _ if fits() => true,
        Some((shares, caller)) => shares.make_room(*caller, cost(bytes)).await && fits(),
        None => false,
    }
}

/// Factor by which the buffer of a body with a declared length grows. A byte of it is copied 1/7 times on average.
const DECLARED_GROWTH: usize = 8;

/// Reads a body of the declared length, or of at most `limit` bytes, into one buffer. The bytes are copied, because each of the connection's buffers may be much larger than
/// the piece of the body in it.
///
/// The buffer grows as the body arrives, also with a declared length: with huge pages one byte in a buffer of 1 MiB can
/// take 2 MiB of memory, so that many slow bodies would hold far more than they sent.
async fn collect(
    body: &mut Body,
    mut room: BodyRoom,
    declared: Option<usize>,
    limit: usize,
) -> Result<Bytes, BodyRefusal> {
    let longest = declared.unwrap_or(limit);
    let mut bytes = Vec::new();
    let mut capacity: usize = 0;
    while let Some(frame) = room.frame(body).await? {
        let Ok(piece) = frame.into_data() else { continue };
        let length = bytes.len() + piece.len();
        if length > longest {
            return Err(BodyRefusal::TooLarge);
        }
        if length > capacity {
            let grown = match declared {
                // Most requests of agents fit into the first buffer.
                Some(_) => capacity.saturating_mul(DECLARED_GROWTH).max(BUFFER_BYTES),
                None => capacity.saturating_mul(2),
            };
            let larger = grown.clamp(length, longest);
            room.grow_at_cost_of_slow(capacity, larger).await?;
            let mut next = Vec::new();
            next.try_reserve_exact(larger).map_err(|_| BodyRefusal::MemoryFull)?;
            next.extend_from_slice(&bytes);
            bytes = next;
            capacity = larger;
        }
        bytes.extend_from_slice(&piece);
    }
    if let Some(share) = &room.share {
        share.finish();
    }
    Ok(held(bytes, room))
}

/// Reads and discards a body up to a limit.
async fn discard(mut body: Body, limit: usize) {
    let mut left = limit;
    while let Some(Ok(frame)) = body.frame().await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;

    use super::*;
    use crate::pipeline::MemoryLimit;
    use callwright_telemetry::Metrics;

    const KIB: usize = 1024;

    fn memory(limit: usize) -> (Arc<MemoryLimit>, Arc<Metrics>) {
        let metrics = Arc::new(Metrics::new());
        (MemoryLimit::new(limit, &metrics.request_body_bytes), metrics)
    }

    fn room(memory: &Arc<MemoryLimit>) -> BodyRoom {
        BodyRoom::new(memory.reservation(), None)
    }

    fn pieces(count: usize, bytes: usize) -> Body {
        let piece = Bytes::from(vec![b'x'; bytes]);
        Body::from_stream(stream::iter(vec![Ok::<_, Infallible>(piece); count]))
    }

    #[tokio::test]
    async fn a_body_holds_its_bytes_until_its_last_reference_is_dropped() {
        let (memory, metrics) = memory(cost(1024 * KIB));
        let bytes = collect(&mut pieces(100, KIB), room(&memory), None, 200 * KIB).await.ok().unwrap();
        assert_eq!(bytes.len(), 100 * KIB);
        let held = usize::try_from(metrics.request_body_bytes.get()).unwrap();
        assert!((cost(100 * KIB)..=cost(200 * KIB)).contains(&held), "no more than twice its cost: {held}");
        let part = bytes.slice(..1);
        drop(bytes);
        assert_ne!(metrics.request_body_bytes.get(), 0);
        drop(part);
        assert_eq!(metrics.request_body_bytes.get(), 0);
    }

    #[tokio::test]
    async fn with_a_known_length_no_more_than_that_is_reserved() {
        let (memory, metrics) = memory(cost(1024 * KIB));
        let _held = collect(&mut pieces(100, KIB), room(&memory), Some(100 * KIB), 0).await.ok().unwrap();
        assert_eq!(metrics.request_body_bytes.get(), 8 * 100 * 1024);
    }

    #[tokio::test]
    async fn a_declared_length_reserves_only_what_arrived() {
        let (memory, metrics) = memory(cost(1024 * KIB));
        let broken = stream::iter([Ok(Bytes::from(vec![b'x'; KIB])), Err(std::io::Error::other("reset"))]);
        let mut body = Body::from_stream(broken);
        let reading = collect(&mut body, room(&memory), Some(900 * KIB), 0);
        assert_eq!(reading.await.err(), Some(BodyRefusal::Broken(BodyFault::Incomplete)));
        let mut body = Body::from_stream(stream::iter([Ok::<_, Infallible>(Bytes::from(vec![b'x'; KIB]))]));
        let _held = collect(&mut body, room(&memory), Some(900 * KIB), 0).await.ok().unwrap();
        assert_eq!(metrics.request_body_bytes.get(), 8 * 64 * 1024);
    }

    #[tokio::test]
    async fn bodies_without_room_or_above_the_limit_release_their_memory() {
        let (memory, metrics) = memory(cost(1024 * KIB));
        let full = collect(&mut pieces(1024, KIB), room(&memory), None, 4096 * KIB).await.err();
        assert_eq!(full, Some(BodyRefusal::MemoryFull));
        let large = collect(&mut pieces(100, KIB), room(&memory), Some(99 * KIB), 0).await.err();
        assert_eq!(large, Some(BodyRefusal::TooLarge));
        assert_eq!(metrics.request_body_bytes.get(), 0);
    }
}
