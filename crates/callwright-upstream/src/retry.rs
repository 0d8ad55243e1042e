//! Retries of requests, and the delay before each.

use std::time::{Duration, SystemTime};

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::Settings;

/// Maximum delay before the first retry, doubled for each further one, if the provider specifies none.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Maximum delay before the first retry after a failed connection. It is long enough for a restarting server to listen
/// again, and short enough to go unnoticed in a response that takes seconds.
const FIRST_CONNECT_WAIT: Duration = Duration::from_millis(100);
/// Maximum number of repetitions of a request that the upstream has not processed. Several idle connections may be closed
/// at the same time.
const UNPROCESSED_REPEATS: u32 = 3;
/// Header with `retry-after` in milliseconds, which some providers send in addition.
const RETRY_AFTER_MS: &str = "retry-after-ms";
/// Header in which the provider states whether a retry is useful (`true`) or not (`false`).
pub(super) const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Header with the number of retries that an OpenAI client has made.
const CLIENT_RETRY_COUNT: &str = "x-stainless-retry-count";

/// A retry requested by a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again {
    /// Delay requested by the provider.
    pub after: Option<Duration>,
}

/// Retry budget of one request, which also determines the delays.
#[derive(Debug)]
pub struct Retries {
    connects_left: u32,
    answers_left: u32,
    unprocessed_left: u32,
    made: u32,
    /// Whether any delay was started.
    begun: bool,
    max_wait: Duration,
}

impl Retries {
    /// Creates the budget that the settings allow.
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            connects_left: settings.connect_retries,
            answers_left: settings.retries,
            unprocessed_left: UNPROCESSED_REPEATS,
            made: 0,
            begun: false,
            max_wait: Duration::from_secs(settings.retry_max_wait_seconds),
        }
    }

    /// Creates the budget for a client that retries by itself: only what an upstream has not processed is repeated.
    pub(super) fn none() -> Self {
        Self {
            connects_left: 0,
            answers_left: 0,
            unprocessed_left: UNPROCESSED_REPEATS,
            made: 0,
            begun: false,
            max_wait: Duration::ZERO,
        }
    }

    /// Whether the request was retried. If so, its client need not retry.
    pub fn were_made(&self) -> bool {
        self.begun
    }

    /// Returns the delay before a request that the upstream has not processed is sent again; `None` if it is not. The first
    /// time there is none, because the connection was at fault.
    pub fn after_unprocessed(&mut self, within: Duration) -> Option<Duration> {
        let is_first = self.unprocessed_left == UNPROCESSED_REPEATS;
        self.unprocessed_left = self.unprocessed_left.checked_sub(1)?;
        let wait = if is_first { Duration::ZERO } else { self.jittered(FIRST_CONNECT_WAIT) };
        (wait < within).then_some(wait)
    }

    /// Returns the delay before the next attempt after a failed connection; `None` if there is no further attempt.
    pub fn after_connect(&mut self, within: Duration) -> Option<Duration> {
        self.connects_left = self.connects_left.checked_sub(1)?;
        let wait = self.jittered(FIRST_CONNECT_WAIT);
        self.begin(wait, within)
    }

    /// Returns the delay before the next attempt after a response that requests one; `None` if there is none. A delay
    /// requested by the provider is not shortened. If it exceeds the limit or `within`, there is no further attempt.
    pub fn after_answer(&mut self, again: Again, within: Duration) -> Option<Duration> {
        self.answers_left = self.answers_left.checked_sub(1)?;
        let wait = match again.after {
            // Adds jitter, because all rejected clients receive the same delay.
            Some(requested) if requested <= self.max_wait => {
                requested.saturating_add(self.jittered(FIRST_CONNECT_WAIT))
            }
            Some(_) => return None,
            None => self.jittered(FIRST_WAIT),
        };
        self.begin(wait, within)
    }

    fn begin(&mut self, wait: Duration, within: Duration) -> Option<Duration> {
        let begins = wait < within;
        self.begun |= begins;
        begins.then_some(wait)
    }

    /// Returns a delay with full jitter: random, up to `first` doubled with each attempt.
    fn jittered(&mut self, first: Duration) -> Duration {
        let longest = first.saturating_mul(1_u32.checked_shl(self.made).unwrap_or(u32::MAX)).min(self.max_wait);
        self.made = self.made.saturating_add(1);
        longest.mul_f64(fastrand::f64())
    }
}

/// Whether a client repeats an earlier request.
pub(super) fn is_repeated(client: &HeaderMap) -> bool {
    number(client, CLIENT_RETRY_COUNT).is_some_and(|count| count > 0.0)
}

/// Marks a response as not worth a retry, because the proxy has retried enough. OpenAI's clients respect this.
pub fn forbid_retry(answer: &mut HeaderMap) {
    answer.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
}

/// Whether a response forbids a retry.
pub fn is_retry_forbidden(answer: &HeaderMap) -> bool {
    answer.get(&SHOULD_RETRY).is_some_and(|word| word.as_bytes().trim_ascii() == b"false")
}

/// Returns the retry that a response requests. A status in `statuses` requests one unless the provider forbids it. 408
/// and 409 require the provider's explicit permission, because the request may have had an effect.
pub(super) fn again(statuses: &[u16], status: StatusCode, headers: &HeaderMap) -> Option<Again> {
    let word = headers.get(&SHOULD_RETRY).map(|word| word.as_bytes().trim_ascii());
    let is_listed = statuses.contains(&status.as_u16());
    let needs_word = matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT);
    let is_requested = match word {
        Some(b"false") => false,
        Some(b"true") => is_listed || needs_word,
        _ => is_listed && !needs_word,
    };
    is_requested.then(|| Again { after: retry_after(headers, SystemTime::now()) })
}

/// Returns the delay that a response requests: in milliseconds, in seconds, or as an HTTP date (RFC 9110, section
/// 10.2.3).
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    if let Some(milliseconds) = number(headers, RETRY_AFTER_MS) {
        return Duration::try_from_secs_f64(milliseconds / 1_000.0).ok();
    }
    if let Some(seconds) = number(headers, RETRY_AFTER.as_str()) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(headers.get(RETRY_AFTER)?.to_str().ok()?.trim()).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// Parses a number; some providers send fractions of a second.
fn number(headers: &HeaderMap, name: &str) -> Option<f64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        fields.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn waits(fields: &[(&'static str, &str)]) -> Option<Duration> {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:30 GMT").unwrap();
        retry_after(&headers(fields), now)
    }

    #[test]
    fn seconds_milliseconds_and_dates_are_understood() {
        assert_eq!(waits(&[("retry-after", " 120 ")]), Some(Duration::from_secs(120)));
        assert_eq!(waits(&[("retry-after", "0.25")]), Some(Duration::from_millis(250)));
        assert_eq!(waits(&[("retry-after", "9"), ("retry-after-ms", "300")]), Some(Duration::from_millis(300)));
        assert_eq!(waits(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]), Some(Duration::from_secs(7)));
        assert_eq!(waits(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")]), Some(Duration::ZERO), "it is over");
    }

    #[test]
    fn what_is_no_time_is_none() {
        for value in ["", "soon", "-1", "NaN", "inf", "1e300"] {
            assert_eq!(waits(&[("retry-after", value)]), None, "{value}");
        }
        assert_eq!(waits(&[]), None);
    }

    #[test]
    fn a_listed_status_retries_unless_the_provider_forbids_it() {
        let statuses = Settings::default().retry_statuses;
        let is_requested = |status: u16, fields: &[(&'static str, &str)]| {
            again(&statuses, StatusCode::from_u16(status).unwrap(), &headers(fields)).is_some()
        };
        for status in [429, 502, 503, 504] {
            assert!(is_requested(status, &[]) && !is_requested(status, &[("x-should-retry", "false")]), "{status}");
        }
        for status in [408, 409] {
            assert!(!is_requested(status, &[]) && is_requested(status, &[("x-should-retry", "true")]), "{status}");
        }
        for status in [200, 400, 401, 404, 500] {
            assert!(!is_requested(status, &[]) && !is_requested(status, &[("x-should-retry", "true")]), "{status}");
        }
    }

    #[test]
    fn a_client_that_repeats_its_request_says_so() {
        for (count, is_repeated_) in [("0", false), ("1", true), ("12", true), ("", false), ("x", false), ("-1", false)]
        {
            assert_eq!(is_repeated(&headers(&[("x-stainless-retry-count", count)])), is_repeated_, "{count}");
        }
        assert!(!is_repeated(&HeaderMap::new()));
        let mut none = Retries::none();
        assert_eq!((none.after_connect(HOUR), none.after_answer(Again { after: None }, HOUR)), (None, None));
        assert!(!none.were_made());
    }

    #[test]
    fn a_wait_that_is_asked_for_is_kept_or_not_begun() {
        let mut retries = Retries::new(&Settings { retries: 9, ..Settings::default() });
        let requested = Duration::from_secs(3);
        let wait = retries.after_answer(Again { after: Some(requested) }, HOUR).unwrap();
        assert!(wait >= requested && wait <= requested + FIRST_CONNECT_WAIT, "{wait:?}");
        assert_eq!(retries.after_answer(Again { after: Some(requested) }, Duration::from_secs(2)), None);
        assert_eq!(retries.after_answer(Again { after: Some(HOUR) }, HOUR * 2), None);
        assert!(retries.were_made());
        let mut none = Retries::new(&Settings::default());
        assert_eq!(none.after_answer(Again { after: Some(requested) }, Duration::from_secs(2)), None);
        assert!(!none.were_made(), "a wait that was not begun is no try");
    }

    proptest! {
        #[test]
        fn tries_end_and_no_wait_is_longer_than_allowed(
            retries in 0_u32..50, connect_retries in 0_u32..50, retry_max_wait_seconds in 0_u64..10,
            kinds in prop::collection::vec(any::<bool>(), 120),
        ) {
            let mut left = Retries::new(&Settings { retries, connect_retries, retry_max_wait_seconds, ..Settings::default() });
            let mut made = (0, 0);
            for connects in kinds {
                let wait = if connects { left.after_connect(HOUR) } else { left.after_answer(Again { after: None }, HOUR) };
                let Some(wait) = wait else { continue };
                prop_assert!(wait <= Duration::from_secs(retry_max_wait_seconds));
                if connects { made.0 += 1 } else { made.1 += 1 }
            }
            prop_assert!(made.0 <= connect_retries && made.1 <= retries);
        }
    }
}
