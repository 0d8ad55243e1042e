//! `Retry-After`: the time at which an API requests a retry (RFC 9110 section 10.2.3).

use std::time::{Duration, SystemTime};

use callwright_types::outcome::ApiAnswer;

/// Statuses that request a retry: 429 Too Many Requests (RFC 6585 section 4) and 503 Service Unavailable. Other
/// statuses may have the field, but do not imply that the request had no effect.
const LATER: [u16; 2] = [429, 503];

/// Returns the delay before the request is retried: seconds, or the time until a date in one of the three formats of
/// HTTP. Returns `None` if the response requests no retry.
pub(super) fn wait(answer: &ApiAnswer, now: SystemTime) -> Option<Duration> {
    if !LATER.contains(&answer.status) {
        return None;
    }
    let value = answer.header("retry-after")?.trim();
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        return value.parse().ok().map(Duration::from_secs);
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(status: u16, value: &str) -> Option<u64> {
        let headers = vec![("retry-after".to_owned(), value.to_owned())];
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:30 GMT").unwrap();
        let answer =
            ApiAnswer { status, headers, body: Default::default(), truncated: false, paging: Default::default() };
        wait(&answer, now).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_and_the_three_forms_of_a_date_are_understood() {
        assert_eq!(waits(429, "120"), Some(120));
        assert_eq!(waits(503, " 0 "), Some(0));
        for date in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(waits(429, date), Some(7), "{date}");
        }
        assert_eq!(waits(429, "Sun, 06 Nov 1994 08:00:00 GMT"), Some(0), "a date that is over");
    }

    #[test]
    fn what_is_neither_and_other_statuses_ask_for_no_repetition() {
        for value in ["", "soon", "-1", "1.5", "99999999999999999999999"] {
            assert_eq!(waits(429, value), None, "{value}");
        }
        for status in [200, 301, 400, 500, 502] {
            assert_eq!(waits(status, "1"), None, "{status}");
        }
    }
}
