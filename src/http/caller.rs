//! Authentication of clients, before anything else in a request is read.

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;

use crate::keys;
use callwright_telemetry::labels::KeyResult;

use super::error;
use super::state::ClientSide;

/// Header fields that may hold a key in addition to `Authorization`, for clients of Azure and others.
static KEY_FIELDS: [HeaderName; 2] = [HeaderName::from_static("api-key"), HeaderName::from_static("x-api-key")];

/// The sender of a request. With virtual keys, the key has been removed from the header fields, so that it is not
/// forwarded.
#[derive(Debug)]
pub(super) struct Caller(pub(super) keys::Caller);

impl FromRequestParts<ClientSide> for Caller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, side: &ClientSide) -> Result<Self, Response> {
        let caller = side.access.identify(sent(&parts.headers)).await.map_err(|denied| {
            side.metrics.key_requests.inc("", KeyResult::Denied);
            error::denied(denied)
        })?;
        if side.access.is_required() {
            parts.headers.remove(AUTHORIZATION);
            KEY_FIELDS.iter().for_each(|field| drop(parts.headers.remove(field)));
        }
        Ok(Self(caller))
    }
}

/// Returns the key that was sent. Of several, the first that may be a virtual key is used, because some clients always
/// send an `Authorization` field of their own.
fn sent(headers: &HeaderMap) -> Option<&str> {
    sent_keys(headers).find(|text| keys::may_be_ours(text)).or_else(|| sent_keys(headers).next())
}

fn sent_keys(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    bearer(headers).into_iter().chain(KEY_FIELDS.iter().filter_map(|field| text(headers, field)))
}

/// Returns the token after `Bearer` in `Authorization` (RFC 6750, section 2.1).
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = text(headers, &AUTHORIZATION)?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        fields.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_key_is_found_in_each_of_its_fields() {
        for field in [
            ("authorization", "Bearer cw-1"),
            ("authorization", "bearer  cw-1 "),
            ("api-key", "cw-1"),
            ("x-api-key", "cw-1"),
        ] {
            assert_eq!(sent(&headers(&[field])), Some("cw-1"), "{field:?}");
        }
        for other in ["Basic x", "Bearer sk-1"] {
            let both = headers(&[("authorization", other), ("api-key", "cw-12345678-x")]);
            assert_eq!(sent(&both), Some("cw-12345678-x"), "{other}");
        }
        assert_eq!(sent(&headers(&[("authorization", "Bearer sk-1"), ("api-key", "k")])), Some("sk-1"));
        for field in
            [("authorization", "cw-1"), ("authorization", "Bearer"), ("authorization", "Bearer "), ("api-key", "")]
        {
            assert_eq!(sent(&headers(&[field])), None, "{field:?}");
        }
    }
}
