//! An upstream's answer: its head at once, its body as it comes.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use crate::domain::UpstreamFailure;

/// The answer to one request. Dropping it cancels what is still to come.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers for the client: without those that concern this connection alone, and, after [`super::Upstream::chat`], without
    /// the stale `content-length` and `content-encoding`.
    pub headers: HeaderMap,
}

impl Answer {
    /// Is the body a stream of server-sent events?
    pub fn is_event_stream(&self) -> bool {
        todo!()
    }

    /// The provider's `x-request-id`.
    pub fn request_id(&self) -> Option<&str> {
        todo!()
    }

    /// The whole body.
    ///
    /// # Errors
    /// When it breaks off, falls silent or is longer than the limit.
    pub async fn whole(self) -> Result<Bytes, UpstreamFailure> {
        todo!()
    }

    /// The next piece of the body; `None` at its end.
    pub async fn next(&mut self) -> Option<Result<Bytes, UpstreamFailure>> {
        todo!()
    }
}
