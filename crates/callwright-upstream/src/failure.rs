//! Classification of the HTTP client's errors.

use std::error::Error;
use std::io;
use std::time::Duration;

use super::pool::{RequestError, Unprocessed};
use callwright_types::{UpstreamFailure, UpstreamFailureKind};

/// Creates failures of one upstream.
#[derive(Debug, Clone)]
pub(super) struct FailureBuilder {
    upstream: std::sync::Arc<str>,
}

impl FailureBuilder {
    pub(super) fn of(upstream: &str) -> Self {
        Self { upstream: upstream.into() }
    }

    pub(super) fn name(&self) -> &str {
        &self.upstream
    }

    pub(super) fn failure(&self, kind: UpstreamFailureKind, message: impl Into<String>) -> UpstreamFailure {
        UpstreamFailure::new(kind, &self.upstream, message)
    }

    /// Creates a failure of a request that was not sent; a retry may succeed after `wait`.
    pub(super) fn not_sent(&self, kind: UpstreamFailureKind, message: &str, wait: Duration) -> UpstreamFailure {
        UpstreamFailure { retry_after: Some(wait), ..self.failure(kind, message) }
    }

    /// Classifies an error before the head of a response.
    pub(super) fn of_request(&self, error: &RequestError) -> UpstreamFailure {
        let cause = root_cause(error);
        if matches!(error, RequestError::Connect(_)) {
            let timed_out = in_chain::<io::Error>(error).is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
            let what = if timed_out { "the connection timed out" } else { "the connection failed" };
            if is_plain_http(error) {
                let message = "the server answers without TLS; if it serves plain HTTP, write `http://` in `base_url`";
                return self.failure(UpstreamFailureKind::Connect, format!("{what}: {message}"));
            }
            return self.failure(UpstreamFailureKind::Connect, format!("{what}: {cause}"));
        }
        if in_chain::<hyper::Error>(error).is_some_and(hyper::Error::is_parse) {
            return self.failure(UpstreamFailureKind::Malformed, format!("the answer is not HTTP: {cause}"));
        }
        match error {
            RequestError::Exchange { evidence: Some(Unprocessed::Refused), .. } => {
                self.failure(UpstreamFailureKind::Refused, format!("the server did not accept the request: {cause}"))
            }
            RequestError::Exchange { evidence: Some(Unprocessed::Unread), .. } => {
                let message = "the server was closing the idle connection on which the request was sent";
                self.failure(UpstreamFailureKind::Unread, message)
            }
            _ => {
                let message = format!("the connection broke before the answer began: {cause}");
                self.failure(UpstreamFailureKind::Reset, message)
            }
        }
    }

    /// Classifies an error in the body of a response.
    pub(super) fn of_body(&self, error: &hyper::Error) -> UpstreamFailure {
        let message = format!("the connection broke in the middle of the answer: {}", root_cause(error));
        self.failure(UpstreamFailureKind::Reset, message)
    }

    /// Creates a failure for a body that cannot be decoded.
    pub(super) fn of_encoding(&self, error: &io::Error) -> UpstreamFailure {
        self.failure(UpstreamFailureKind::Malformed, format!("the answer's body cannot be decoded: {error}"))
    }
}

/// Whether a TLS handshake failed because the server sent something other than TLS records.
fn is_plain_http(error: &(dyn Error + 'static)) -> bool {
    chain(error)
        .filter_map(tls_error)
        .any(|error| matches!(error, rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType)))
}

/// Returns the TLS error in I/O errors, which do not report the error that they contain as their source.
fn tls_error<'a>(mut error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    loop {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        error = error.downcast_ref::<io::Error>()?.get_ref()?;
    }
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

fn in_chain<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    chain(error).find_map(|error| error.downcast_ref())
}

/// Error numbers for too many open files, of the process (`EMFILE`) and of the system (`ENFILE`): identical on Linux,
/// macOS and the BSDs.
const TOO_MANY_FILES: [i32; 2] = [24, 23];

/// Whether the upstream caused the error. It did not if the request's own body broke off because its client
/// disconnected, or if the proxy has reached its limit of open files; nor is it a failure to close a connection properly.
pub(super) fn is_the_upstreams(error: &RequestError) -> bool {
    if matches!(error, RequestError::Exchange { evidence: Some(_), .. }) {
        return false;
    }
    let by_client = in_chain::<hyper::Error>(error).is_some_and(hyper::Error::is_user);
    let by_us = in_chain::<io::Error>(error).and_then(io::Error::raw_os_error);
    !by_client && !by_us.is_some_and(|number| TOO_MANY_FILES.contains(&number))
}

/// Returns the innermost error; the outer ones have no further information.
fn root_cause(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map_or_else(String::new, ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_behind_https_is_recognised_in_nested_errors() {
        let not_tls = || rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
        assert!(is_plain_http(&not_tls()));
        assert!(is_plain_http(&io::Error::other(io::Error::other(not_tls()))));
        assert!(!is_plain_http(&io::Error::other(rustls::Error::NoApplicationProtocol)));
        assert!(!is_plain_http(&io::Error::from(io::ErrorKind::ConnectionRefused)));
    }
}
