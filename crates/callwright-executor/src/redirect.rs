//! Redirects (RFC 9110 section 15.4): which of them are followed, and with which request.

use http::header::{CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, Method, StatusCode};
use url::Url;

use super::refusal::refuse;
use super::request::ApiRequest;
use callwright_types::Refusal;

/// Redirects that are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RedirectRule {
    /// Those of `GET` and `HEAD`.
    ReadsOnly,
    /// Those of `GET` and `HEAD`. For other methods, on the same origin: 307 and 308 repeat the request with its
    /// method and body, because the server did not carry it out (sections 15.4.8 and 15.4.9); 303 leads to a `GET`,
    /// because it did (section 15.4.4). 301 and 302 are ambiguous: clients repeat the request or send a `GET`.
    SameRequest,
}

/// Whether the method only reads a resource: `GET` and `HEAD`.
pub(super) fn reads_only(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Returns the request to which `response` redirects; `None` if the response is no redirect, or one of a method other
/// than `GET` and `HEAD` that is not followed.
///
/// # Errors
/// [`Refusal`] for a redirect of `GET` or `HEAD` that is not followed.
pub(super) fn next_request(
    request: &ApiRequest,
    response: &reqwest::Response,
    rule: RedirectRule,
) -> Result<Option<ApiRequest>, Refusal> {
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let is_read = reads_only(&request.method);
    let method = match response.status() {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER if is_read => &request.method,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => &request.method,
        StatusCode::SEE_OTHER => &Method::GET,
        _ => return Ok(None),
    };
    if !is_read && rule == RedirectRule::ReadsOnly {
        return Ok(None);
    }
    let target = location.to_str().ok().and_then(|location| request.url.join(location).ok());
    let Some(mut url) = target else {
        return not_followed(is_read, || refuse!(RedirectNotAllowed, "the API redirects to an invalid URL"));
    };
    url.set_fragment(None);
    let is_followed = is_same_origin(&request.url, &url) || is_read && is_upgrade(&request.url, &url);
    if !is_followed {
        return not_followed(is_read, || {
            refuse!(
                RedirectNotAllowed,
                "the API redirects to `{}`, which is not the server in the document; the redirect is not followed",
                address(&url)
            )
        });
    }
    let mut next = ApiRequest { method: method.clone(), url, ..request.clone() };
    if next.method != request.method {
        next.body = None;
        remove_content_fields(&mut next.headers);
    }
    Ok(Some(next))
}

fn not_followed(is_read: bool, refusal: impl FnOnce() -> Refusal) -> Result<Option<ApiRequest>, Refusal> {
    if is_read { Err(refusal()) } else { Ok(None) }
}

/// Removes the fields that describe a body, which a `GET` does not have (RFC 9110 section 15.4).
fn remove_content_fields(headers: &mut HeaderMap) {
    for name in [CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_TYPE] {
        headers.remove(name);
    }
}

/// Returns scheme, host, port and path of a redirect's target, without credentials and query.
pub(super) fn address(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

fn is_same_origin(current: &Url, next: &Url) -> bool {
    !has_credentials(next) && current.origin() == next.origin()
}

/// Whether `next` is the same host over HTTPS instead of HTTP, on the default ports.
fn is_upgrade(current: &Url, next: &Url) -> bool {
    let is_https = current.scheme() == "http" && next.scheme() == "https";
    is_https
        && !has_credentials(next)
        && current.port().is_none()
        && next.port().is_none()
        && current.host() == next.host()
}

fn has_credentials(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}
