//! One upstream: the requests that are made to it.

use bytes::Bytes;
use http::{HeaderMap, Method};

use super::{Answer, Settings};
use crate::domain::UpstreamFailure;

/// A provider's endpoint with its pooled client.
#[derive(Debug)]
pub struct Upstream {
    name: String,
    settings: Settings,
}

impl Upstream {
    /// The name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Posts a body to `chat/completions` and waits for the head of the answer. Identity encoding is asked for.
    ///
    /// # Errors
    /// When no answer comes. An HTTP error status is an answer.
    pub async fn chat(&self, _body: Bytes, _client_headers: &HeaderMap) -> Result<Answer, UpstreamFailure> {
        todo!()
    }

    /// Passes a request through untouched. `path_and_query` is what stands below `/v1`, with its leading slash.
    ///
    /// # Errors
    /// When no answer comes. An HTTP error status is an answer.
    pub async fn forward(
        &self,
        _method: Method,
        _path_and_query: &str,
        _client_headers: &HeaderMap,
        _body: reqwest::Body,
    ) -> Result<Answer, UpstreamFailure> {
        todo!()
    }
}
