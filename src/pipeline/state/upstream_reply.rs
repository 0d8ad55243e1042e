//! The reply to an upstream request.

use bytes::Bytes;
use http::StatusCode;

use callwright_openai::Completion;
use callwright_types::UpstreamFailure;

/// Result of an upstream request.
#[derive(Debug)]
pub(crate) enum UpstreamReply {
    /// An answer to validate.
    Completion(Completion),
    /// An answer or error to forward unchanged.
    Relay(Relay),
    /// The client disconnected; the upstream request was cancelled.
    ClientGone,
}

/// Data to forward to the client unchanged if no earlier answer is useful.
#[derive(Debug)]
pub(crate) enum Relay {
    /// An answer that the proxy does not validate: an HTTP error, or any answer in mode `off`.
    Answer {
        /// Status of the upstream.
        status: StatusCode,
        /// Body of the upstream.
        body: Bytes,
    },
    /// An error event inside the upstream's stream, unchanged.
    ErrorEvent(Bytes),
    /// The upstream gave no usable answer.
    Failure(UpstreamFailure),
}
