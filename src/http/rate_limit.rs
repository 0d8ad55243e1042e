//! Remaining limits of a caller in OpenAI's header fields (API reference, "Rate limits").

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::keys::{Dimension, QuotaStatus};

const REQUESTS: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit-requests"),
    HeaderName::from_static("x-ratelimit-remaining-requests"),
    HeaderName::from_static("x-ratelimit-reset-requests"),
];

const TOKENS: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit-tokens"),
    HeaderName::from_static("x-ratelimit-remaining-tokens"),
    HeaderName::from_static("x-ratelimit-reset-tokens"),
];

/// Adds the caller's remaining limits; they replace those of the upstream.
pub(super) fn mark(headers: &mut HeaderMap, standing: &QuotaStatus) {
    for (names, dimension) in [(REQUESTS, standing.requests), (TOKENS, standing.tokens)] {
        let Some(Dimension { limit, remaining, reset }) = dimension else { continue };
        let [of_limit, of_remaining, of_reset] = names;
        headers.insert(of_limit, HeaderValue::from(limit));
        headers.insert(of_remaining, HeaderValue::from(remaining));
        if let Ok(reset) = HeaderValue::from_str(&spelled(reset)) {
            headers.insert(of_reset, reset);
        }
    }
}

/// Formats a duration as OpenAI does: `1m5s`, `12s`.
fn spelled(time: Duration) -> String {
    match (time.as_secs() / 60, time.as_secs() % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_limited_values_are_reported_and_replace_the_upstreams() {
        let mut headers = HeaderMap::new();
        headers.insert("x-ratelimit-remaining-requests", "9999".parse().unwrap());
        headers.insert("x-ratelimit-remaining-tokens", "8888".parse().unwrap());
        let requests = Some(Dimension { limit: 10, remaining: 3, reset: Duration::from_secs(60) });
        mark(&mut headers, &QuotaStatus { requests, tokens: None });
        let of = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
        assert_eq!(of("x-ratelimit-limit-requests"), Some("10"));
        assert_eq!(of("x-ratelimit-remaining-requests"), Some("3"));
        assert_eq!(of("x-ratelimit-reset-requests"), Some("1m0s"));
        assert_eq!((of("x-ratelimit-remaining-tokens"), of("x-ratelimit-limit-tokens")), (Some("8888"), None));
        assert_eq!(spelled(Duration::from_secs(59)), "59s");
    }
}
