//! Bodies of upstream requests.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Body, Frame, SizeHint};

type BoxError = Box<dyn Error + Send + Sync>;

/// The body of a request: buffered or streamed. The default is empty.
#[derive(Debug, Default)]
pub struct RequestBody(BodyKind);

#[derive(Debug)]
enum BodyKind {
    Whole(Full<Bytes>),
    Stream(UnsyncBoxBody<Bytes, BoxError>),
}

impl Default for BodyKind {
    fn default() -> Self {
        Self::Whole(Full::default())
    }
}

impl RequestBody {
    /// Creates a body of unknown length; an error of the stream aborts the request.
    pub fn wrap_stream<S, D, E>(stream: S) -> Self
    where
        S: Stream<Item = Result<D, E>> + Send + 'static,
        D: Into<Bytes>,
        E: Into<BoxError> + 'static,
    {
        let frames = stream.map_ok(|piece| Frame::data(piece.into())).map_err(Into::into);
        Self(BodyKind::Stream(StreamBody::new(frames).boxed_unsync()))
    }

    /// Whether the body arrives while it is sent.
    pub(super) fn is_streamed(&self) -> bool {
        matches!(self.0, BodyKind::Stream(_))
    }

    /// Clones the body; `None` for a stream, which can be sent only once.
    pub(super) fn try_clone(&self) -> Option<Self> {
        match &self.0 {
            BodyKind::Whole(bytes) => Some(Self(BodyKind::Whole(bytes.clone()))),
            BodyKind::Stream(_) => None,
        }
    }
}

impl<T: Into<Bytes>> From<T> for RequestBody {
    fn from(bytes: T) -> Self {
        Self(BodyKind::Whole(Full::new(bytes.into())))
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.get_mut().0 {
            BodyKind::Whole(whole) => Pin::new(whole).poll_frame(cx).map_err(|never| match never {}),
            BodyKind::Stream(stream) => Pin::new(stream).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            BodyKind::Whole(whole) => whole.is_end_stream(),
            BodyKind::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodyKind::Whole(whole) => whole.size_hint(),
            BodyKind::Stream(stream) => stream.size_hint(),
        }
    }
}
