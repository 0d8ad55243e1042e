//! A response body that reports its delivery.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

use crate::pipeline::DeliveryAck;
use callwright_wire::emit;

/// Wraps `body`; `delivery_ack` is notified when the connection has taken all of it.
pub(super) fn body(body: Body, delivery_ack: DeliveryAck) -> Body {
    Body::new(Receipted { body, delivery_ack: Some(delivery_ack) })
}

struct Receipted {
    body: Body,
    delivery_ack: Option<DeliveryAck>,
}

impl Receipted {
    fn delivered(&mut self) {
        if let Some(delivery_ack) = self.delivery_ack.take() {
            delivery_ack.delivered();
        }
    }
}

impl HttpBody for Receipted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            Poll::Ready(None) => self.delivered(),
            // A client that has read the last event may disconnect before the stream has ended.
            Poll::Ready(Some(Ok(frame))) if is_last(frame) || self.body.is_end_stream() => self.delivered(),
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Events that end the streams of protocols without `[DONE]`.
const LAST_EVENTS: [&[u8]; 3] = [b"event: message_stop", b"event: response.completed", b"event: response.incomplete"];

fn is_last(frame: &Frame<Bytes>) -> bool {
    frame.data_ref().is_some_and(|data| {
        data.ends_with(emit::DONE) || LAST_EVENTS.iter().any(|event| memchr::memmem::find(data, event).is_some())
    })
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt, stream};
    use http_body_util::BodyExt;

    use super::*;

    fn pieces(pieces: &'static [&'static str]) -> Body {
        let pieces =
            stream::iter(pieces).map(|piece| Ok::<_, std::convert::Infallible>(Bytes::from_static(piece.as_bytes())));
        Body::from_stream(pieces)
    }

    #[tokio::test]
    async fn the_end_is_told_when_it_was_taken() {
        for whole in [Body::from("answer"), Body::empty(), pieces(&["a", "b"])] {
            let (delivery_ack, delivered) = DeliveryAck::new();
            body(whole, delivery_ack).collect().await.unwrap();
            assert!(delivered.await.is_ok());
        }
    }

    #[tokio::test]
    async fn a_body_that_is_left_in_the_middle_was_not_delivered() {
        let (delivery_ack, delivered) = DeliveryAck::new();
        let mut body = body(pieces(&["a", "b"]), delivery_ack);
        body.frame().await.unwrap().unwrap();
        drop(body);
        assert!(delivered.await.is_err());
    }

    #[tokio::test]
    async fn the_last_event_is_the_end_for_a_client_that_goes_then() {
        let (delivery_ack, delivered) = DeliveryAck::new();
        let mut body = body(pieces(&["data: {}\n\ndata: [DONE]\n\n", "never read"]), delivery_ack);
        body.frame().await.unwrap().unwrap();
        drop(body);
        assert!(delivered.await.is_ok());
    }
}
