//! What a broken exchange was, from the errors that the HTTP client gives.

use std::error::Error;

use crate::domain::{UpstreamFailure, UpstreamFailureKind};

/// Makes failures of one upstream.
#[derive(Debug, Clone)]
pub(super) struct Failures {
    upstream: std::sync::Arc<str>,
}

impl Failures {
    pub(super) fn of(upstream: &str) -> Self {
        Self { upstream: upstream.into() }
    }

    pub(super) fn name(&self) -> &str {
        &self.upstream
    }

    pub(super) fn failure(&self, kind: UpstreamFailureKind, message: impl Into<String>) -> UpstreamFailure {
        UpstreamFailure { kind, upstream: self.upstream.to_string(), message: message.into() }
    }

    /// No head of an answer came.
    pub(super) fn of_request(&self, error: &reqwest::Error) -> UpstreamFailure {
        let cause = root_cause(error);
        if error.is_connect() {
            let what = if error.is_timeout() { "the connection timed out" } else { "no connection could be made" };
            return self.failure(UpstreamFailureKind::Connect, format!("{what}: {cause}"));
        }
        if error.is_builder() {
            return self.failure(UpstreamFailureKind::Malformed, format!("the request could not be made: {cause}"));
        }
        if in_chain::<hyper::Error>(error).is_some_and(hyper::Error::is_parse) {
            return self.failure(UpstreamFailureKind::Malformed, format!("the answer is not HTTP: {cause}"));
        }
        self.failure(UpstreamFailureKind::Reset, format!("the connection broke before the answer began: {cause}"))
    }

    /// The body of an answer broke off.
    pub(super) fn of_body(&self, error: &reqwest::Error) -> UpstreamFailure {
        let cause = root_cause(error);
        // What no connection error stands behind was found by the decoder.
        if in_chain::<hyper::Error>(error).is_none() {
            return self
                .failure(UpstreamFailureKind::Malformed, format!("the answer's body cannot be decoded: {cause}"));
        }
        self.failure(UpstreamFailureKind::Reset, format!("the connection broke in the middle of the answer: {cause}"))
    }
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

fn in_chain<T: Error + 'static>(error: &reqwest::Error) -> Option<&T> {
    chain(error).find_map(|error| error.downcast_ref())
}

/// The innermost error: the outer ones only say that there is one, and may name the URL.
fn root_cause(error: &reqwest::Error) -> String {
    chain(error).skip(1).last().map_or_else(|| "unknown".to_owned(), ToString::to_string)
}
