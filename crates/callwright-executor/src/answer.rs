//! API response, limited in size.

use bytes::BytesMut;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, Method};
use tokio::time::{Instant, timeout_at};

use super::charset::in_utf8;
use super::decoding::{DecodedBody, decoded};
use callwright_common::limits::VALUE_LENGTH;
use callwright_types::outcome::ApiAnswer;

/// Header fields that are kept, in addition to those with a prefix of [`KEPT_PREFIXES`].
const KEPT: [&str; 17] = [
    "allow", "azure-asyncoperation", "content-language", "content-location", "content-type", "deprecation", "etag",
    "last-modified", "link", "location", "operation-location", "retry-after", "sunset", "warning", "www-authenticate",
    "x-request-id", "x-total-count",
];

/// Prefixes of rate-limit header names of vendors and drafts.
const KEPT_PREFIXES: [&str; 3] = ["ratelimit", "x-ratelimit", "x-rate-limit"];

/// Maximum number of fields that are kept of a response to `HEAD`.
const MAX_HEAD_FIELDS: usize = 48;

/// Fields that are about the connection, caches on the way or browsers, not about the resource. They are not kept of a
/// response to `HEAD`.
const TRANSPORT: [&str; 22] = [
    "age", "alt-svc", "clear-site-data", "connection", "content-encoding", "content-security-policy", "date",
    "keep-alive", "nel", "permissions-policy", "referrer-policy", "report-to", "server", "server-timing",
    "strict-transport-security", "trailer", "transfer-encoding", "upgrade", "vary", "via", "x-content-type-options",
    "x-powered-by",
];

/// Prefixes of such fields.
const TRANSPORT_PREFIXES: [&str; 4] = ["access-control-", "cross-origin-", "proxy-", "x-frame-"];

/// Parts of the names of fields that may hold a secret.
const SECRET_PARTS: [&str; 10] =
    ["auth", "cookie", "credential", "csrf", "key", "nonce", "password", "secret", "session", "token"];

/// Reads the response body: at most `max_bytes` after decompression, until the deadline, with text transcoded to
/// UTF-8. A broken-off body counts as truncated, not as an error, because the status has already arrived.
pub(super) async fn receive(
    mut response: reqwest::Response,
    method: &Method,
    max_bytes: usize,
    deadline: Instant,
) -> ApiAnswer {
    let status = response.status().as_u16();
    let headers = if method == Method::HEAD { kept_of_head(response.headers()) } else { kept(response.headers()) };
    let mut body = BytesMut::new();
    let is_cut = loop {
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
    let codings: Vec<&str> =
        response.headers().get_all(CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok()).collect();
    let DecodedBody { bytes, is_truncated } = decoded(body.freeze(), &codings.join(","), max_bytes);
    let truncated = is_cut || is_truncated;
    let content_type = headers.iter().find(|(name, _)| name == CONTENT_TYPE.as_str()).map(|(_, value)| value.as_str());
    let body = in_utf8(bytes, content_type, truncated);
    ApiAnswer { status, headers, body, truncated, paging: Default::default() }
}

fn kept(headers: &HeaderMap) -> Vec<(String, String)> {
    fields(headers, is_relevant).collect()
}

/// Returns the fields of a response to `HEAD`: they are all that it has, and documents seldom describe them. Secrets
/// and fields about the transport are omitted.
fn kept_of_head(headers: &HeaderMap) -> Vec<(String, String)> {
    let kept = fields(headers, |name| is_relevant(name) || !is_transport(name) && !is_secret(name));
    kept.take(MAX_HEAD_FIELDS).collect()
}

fn fields(headers: &HeaderMap, is_kept: impl Fn(&str) -> bool) -> impl Iterator<Item = (String, String)> {
    headers
        .iter()
        .filter(move |(name, value)| is_kept(name.as_str()) && value.len() <= VALUE_LENGTH)
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
}

fn is_relevant(name: &str) -> bool {
    KEPT.contains(&name) || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn is_transport(name: &str) -> bool {
    TRANSPORT.contains(&name) || TRANSPORT_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn is_secret(name: &str) -> bool {
    SECRET_PARTS.iter().any(|part| name.contains(part))
}
