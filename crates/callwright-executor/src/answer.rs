//! An API's answer, bounded.

use bytes::BytesMut;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use tokio::time::{Instant, timeout_at};

use super::charset::in_utf8;
use callwright_types::outcome::ApiAnswer;

/// Header fields that are kept, beside those with a prefix of [`KEPT_PREFIXES`].
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

/// Prefixes of the names that vendors and drafts give their rate limits.
const KEPT_PREFIXES: [&str; 3] = ["ratelimit", "x-ratelimit", "x-rate-limit"];

/// Longest value of a header field that is kept, in bytes; a longer one is data in the wrong place.
const MAX_VALUE_BYTES: usize = 1_024;

/// Reads the answer's body: at most `max_bytes` of it after decompression, and not beyond the deadline; texts in UTF-8. What broke off counts
/// as cut, because the status is known all the same.
pub(super) async fn read(mut response: reqwest::Response, max_bytes: usize, deadline: Instant) -> ApiAnswer {
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
    let wanted = |name: &str| KEPT.contains(&name) || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    headers
        .iter()
        .filter(|(name, value)| wanted(name.as_str()) && value.len() <= MAX_VALUE_BYTES)
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect()
}
