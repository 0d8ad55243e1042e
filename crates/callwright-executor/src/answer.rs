//! API response, limited in size.

use bytes::BytesMut;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use tokio::time::{Instant, timeout_at};

use super::charset::in_utf8;
use callwright_types::outcome::ApiAnswer;

/// Header fields that are kept, in addition to those with a prefix of [`KEPT_PREFIXES`].
const KEPT: [&str; 14] = [
    "allow",
    "content-language",
    "content-type",
    "deprecation",
    "etag",
    "last-modified",
    "link",
    "location",
    "retry-after",
    "sunset",
    "warning",
    "www-authenticate",
    "x-request-id",
    "x-total-count",
];

/// Prefixes of rate-limit header names of vendors and drafts.
const KEPT_PREFIXES: [&str; 3] = ["ratelimit", "x-ratelimit", "x-rate-limit"];

/// Maximum length of a kept header field value in bytes. A longer value is payload data.
const MAX_VALUE_BYTES: usize = 1_024;

/// Reads the response body: at most `max_bytes` after decompression, until the deadline, with text transcoded to
/// UTF-8. A broken-off body counts as truncated, not as an error, because the status has already arrived.
pub(super) async fn receive(mut response: reqwest::Response, max_bytes: usize, deadline: Instant) -> ApiAnswer {
    let status = response.status().as_u16();
    let headers = kept(response.headers());
    let mut body = BytesMut::new();
    let truncated = loop {
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(chunk))) => {
                let room = max_bytes - body.len();
                body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
                if chunk.len() > room {
                    break true;
                }
            }
            Ok(Ok(None)) => break false,
            Ok(Err(_)) | Err(_) => break true,
        }
    };
    let content_type = headers.iter().find(|(name, _)| name == CONTENT_TYPE.as_str()).map(|(_, value)| value.as_str());
    let body = in_utf8(body.freeze(), content_type, truncated);
    ApiAnswer { status, headers, body, truncated, paging: Default::default() }
}

fn kept(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .filter(|(name, value)| is_relevant(name.as_str()) && value.len() <= MAX_VALUE_BYTES)
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect()
}

fn is_relevant(name: &str) -> bool {
    KEPT.contains(&name) || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
