//! Bodies of responses.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::http1::Http1Connection;
use super::idle::IdleConnections;

/// Body of a response. It polls its HTTP/1.1 connection, which can be used again after the last chunk. Dropping it
/// earlier closes that connection.
#[derive(Debug)]
pub(crate) struct UpstreamBody {
    incoming: Incoming,
    /// `None` if another task polls the connection, and at the end.
    connection: Option<(Box<Http1Connection>, Arc<IdleConnections>)>,
}

impl UpstreamBody {
    /// Wraps a body whose connection another task polls.
    pub(super) fn undriven(incoming: Incoming) -> Self {
        Self { incoming, connection: None }
    }

    /// Wraps the body of a response over this connection, which returns to `idle` at the end.
    pub(super) fn driven(incoming: Incoming, connection: Box<Http1Connection>, idle: Arc<IdleConnections>) -> Self {
        let mut body = Self { incoming, connection: Some((connection, idle)) };
        if body.incoming.is_end_stream() {
            body.give_back();
        }
        body
    }

    fn give_back(&mut self) {
        if let Some((mut connection, idle)) = self.connection.take()
            && connection.is_reusable()
        {
            idle.put(connection);
        }
    }
}

impl Body for UpstreamBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let body = self.get_mut();
        let Some((connection, _)) = &mut body.connection else { return Pin::new(&mut body.incoming).poll_frame(cx) };
        let frame = connection.poll_frame(&mut body.incoming, cx);
        match &frame {
            Poll::Ready(None) => body.give_back(),
            Poll::Ready(Some(Err(_))) => body.connection = None,
            Poll::Ready(Some(Ok(_))) | Poll::Pending => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl Drop for UpstreamBody {
    fn drop(&mut self) {
        if self.incoming.is_end_stream() {
            self.give_back();
        } else if self.connection.is_some() {
            // The end of a chunked body may have arrived with its last chunk.
            let _ = Pin::new(self).poll_frame(&mut Context::from_waker(Waker::noop()));
        }
    }
}
