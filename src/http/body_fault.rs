//! Faults of request bodies that were not read to their end.

use std::error::Error;
use std::io;
use std::iter::successors;

use axum::http::StatusCode;
use axum::response::Response;

use super::error;

/// Reason why a body ended before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BodyFault {
    /// No byte arrived within the read timeout.
    #[error(
        "no byte of the request body arrived for {seconds} s (server.body_timeout_seconds); send the request again"
    )]
    Stalled {
        /// The read timeout.
        seconds: u64,
    },
    /// The body arrived more slowly than the minimum rate, or not within the time limit of its length.
    #[error("the request body arrives too slowly (less than 1 KiB/s, or more than a minute and 1 s per 8 KiB)")]
    TooSlow,
    /// The body violates the syntax of its transfer coding (RFC 9112, section 7.1).
    #[error("the request body is not a valid sequence of chunks")]
    Malformed,
    /// The connection or stream ended within the body.
    #[error("the request body ended early")]
    Incomplete,
}

impl BodyFault {
    /// Classifies an error of a connection within a body.
    pub(super) fn of_connection(error: &(dyn Error + 'static)) -> Self {
        use io::ErrorKind::{InvalidData, InvalidInput};
        match find::<io::Error>(error).map(io::Error::kind) {
            Some(InvalidData | InvalidInput) => Self::Malformed,
            _ => Self::Incomplete,
        }
    }

    /// Returns the fault that an error of a body reports.
    pub(super) fn of_body(error: &(dyn Error + 'static)) -> Self {
        find(error).copied().unwrap_or(Self::Incomplete)
    }

    /// Whether the body exceeded a time limit.
    pub(super) fn is_timeout(self) -> bool {
        matches!(self, Self::Stalled { .. } | Self::TooSlow)
    }

    /// Creates the response to the request.
    pub(super) fn response(self) -> Response {
        let code = match self {
            Self::Stalled { .. } => "body_timeout",
            Self::TooSlow => "body_too_slow",
            Self::Malformed => "body_malformed",
            Self::Incomplete => "body_incomplete",
        };
        let status = if self.is_timeout() { StatusCode::REQUEST_TIMEOUT } else { StatusCode::BAD_REQUEST };
        error::invalid_request(status, self.to_string(), code)
    }
}

fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    successors(Some(error), |&error| error.source()).find_map(|error| error.downcast_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_found_behind_the_errors_around_it() {
        let wrapped = axum::Error::new(axum::Error::new(BodyFault::TooSlow));
        assert_eq!(BodyFault::of_body(&wrapped), BodyFault::TooSlow);
        assert_eq!(BodyFault::of_body(&io::Error::other("reset")), BodyFault::Incomplete);
        let chunk = axum::Error::new(io::Error::new(io::ErrorKind::InvalidInput, "chunk size"));
        assert_eq!(BodyFault::of_connection(&chunk), BodyFault::Malformed);
        let end = axum::Error::new(io::Error::from(io::ErrorKind::UnexpectedEof));
        assert_eq!(BodyFault::of_connection(&end), BodyFault::Incomplete);
    }
}
