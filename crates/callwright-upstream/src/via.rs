//! `Via` of requests to upstreams (RFC 9110, section 7.6.3), by which the proxy recognises its own requests.
//!
//! An upstream whose address leads back to the proxy would otherwise turn one request into an endless chain of turns.

use std::sync::LazyLock;

use http::header::{HeaderMap, HeaderValue, VIA};

/// Number of random characters of the pseudonym.
const RANDOM_CHARS: usize = 12;

/// Version of HTTP in the field. It has no effect on recognition; requests of HTTP/2 are forwarded as HTTP/1.1.
const PROTOCOL: &str = "1.1";

/// Pseudonym of this process. It is random, so that proxies can be chained, and replicas recognise only their own.
static PSEUDONYM: LazyLock<String> = LazyLock::new(|| {
    let random: String = std::iter::repeat_with(fastrand::alphanumeric).take(RANDOM_CHARS).collect();
    format!("callwright-{random}")
});

/// The field's value. All characters of the pseudonym are allowed in a header.
static VALUE: LazyLock<Option<HeaderValue>> =
    LazyLock::new(|| HeaderValue::try_from(format!("{PROTOCOL} {}", *PSEUDONYM)).ok());

/// Appends this process to the proxies that a request has passed.
pub(super) fn add(headers: &mut HeaderMap) {
    if let Some(value) = &*VALUE {
        headers.append(VIA, value.clone());
    }
}

/// Whether a request with these headers was sent by this process, directly or through other proxies.
pub fn is_own_request(headers: &HeaderMap) -> bool {
    if !headers.contains_key(VIA) {
        return false;
    }
    let proxies =
        headers.get_all(VIA).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    let mut received_by = proxies.filter_map(|proxy| proxy.split_whitespace().nth(1));
    received_by.any(|pseudonym| pseudonym == *PSEUDONYM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_recognised_behind_any_other_proxies() {
        let mut headers = HeaderMap::new();
        assert!(!is_own_request(&headers));
        for others in ["1.0 fred", "1.1 p.example.net (squid), HTTP/2 callwright-abcdefabcdef", ",", "1.1"] {
            headers.append(VIA, HeaderValue::from_static(others));
        }
        assert!(!is_own_request(&headers));
        add(&mut headers);
        assert!(is_own_request(&headers));
        let joined: Vec<&str> = headers.get_all(VIA).iter().map(|value| value.to_str().unwrap()).collect();
        let one =
            HeaderMap::from_iter([(VIA, HeaderValue::try_from(format!("{}, 1.1 last", joined.join(", "))).unwrap())]);
        assert!(is_own_request(&one));
    }
}
