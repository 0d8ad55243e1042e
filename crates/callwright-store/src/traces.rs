//! Memory: stored traces of turns.

use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::findings::{Finding, FindingFilter};
use super::{Revision, StoreError, TraceRow};
use callwright_common::limits::WORD_CHARS;
use callwright_types::rules::Mode;
use callwright_types::{Trace, Verdict};

pub trait Traces: Send + Sync {
    /// Writes a batch in one transaction. A trace whose id is already stored is skipped.
    ///
    /// # Errors
    /// [`StoreError`]; none of the batch is stored then.
    fn append<'a>(&'a self, batch: &'a [TraceRow]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns a page of traces, newest first.
    ///
    /// # Errors
    /// [`StoreError`], including [`StoreError::BadCursor`].
    fn list<'a>(&'a self, filter: &'a TraceFilter) -> BoxFuture<'a, Result<TracePage, StoreError>>;

    /// Returns a full trace; `None` if no trace has this id.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Trace>, StoreError>>;

    /// Returns at most `limit` traces to learn from after this revision, in the order of writing.
    fn learnable(&self, after: Revision, limit: u32) -> BoxFuture<'_, Result<LearnableTraces, StoreError>>;

    /// Removes at most `limit` expired rows of each kind and returns the number of removed rows.
    fn expire(&self, ages: Ages, limit: u32) -> BoxFuture<'_, Result<u64, StoreError>>;
}

#[derive(Debug, Clone)]
pub struct LearnableTraces {
    /// Traces with their revisions, in the order of writing.
    pub traces: Vec<(Revision, Trace)>,
    /// Revision of the last examined trace, where the next query continues; the requested revision if there is none.
    pub upto: Revision,
}

/// Age limits of stored rows; `None` keeps that kind for ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ages {
    /// Limit for traces, vectors, feedback, records of removed lessons and procedures, key usage of past months,
    /// intents with a known outcome, and closed approvals.
    pub before: Option<Timestamp>,
    /// Limit for intents with an unknown outcome: the call of a kept intent is not sent again.
    pub unknown_before: Option<Timestamp>,
}

/// Maximum number of entries of a page or a list: it is held in memory. Clients choose the names of their tools, so
/// there may be any number of them.
pub const MAX_PAGE: u32 = 1_000;

/// Maximum number of traces that a text search reads per page, and of rows that an overview combines.
pub const MAX_EXAMINED: u32 = 2_000;

/// Default number of entries of a page, and of a part of an export.
pub const DEFAULT_PAGE: u32 = 100;

/// Filter and page of a list. A trace must match all given members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TraceFilter {
    pub verdict: Option<Verdict>,
    /// Model name, as sent by the client.
    pub model: Option<String>,
    /// Session id.
    pub session: Option<String>,
    /// Policy name.
    pub policy: Option<String>,
    pub mode: Option<Mode>,
    /// Id of the virtual key of the request, or hash of the client's own key (the trace's `tenant`).
    pub key: Option<String>,
    /// Status of the response to the client.
    pub status: Option<u16>,
    /// Name of a tool that the model called or the proxy executed.
    pub tool: Option<String>,
    /// A finding of the turn.
    pub finding: Option<FindingFilter>,
    /// Text that the recorded conversation, its calls or its messages contain, regardless of case. At most
    /// [`MAX_EXAMINED`] traces are read per page, which then may have fewer traces and a `next`.
    pub text: Option<String>,
    /// Arrival at this time or later.
    #[serde(deserialize_with = "time_or_age")]
    pub since: Option<Timestamp>,
    /// Arrival before this time.
    #[serde(deserialize_with = "time_or_age")]
    pub until: Option<Timestamp>,
    /// Traces per page; default [`DEFAULT_PAGE`], at most [`MAX_PAGE`].
    pub limit: Option<u32>,
    /// Value of `next` of the previous page.
    pub cursor: Option<String>,
}

/// Deserialises a time of a query: RFC 3339, or an age such as `-1h`, `-30m` or `-2d`.
///
/// # Errors
/// The errors of [`parse_time`].
pub fn time_or_age<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    parse_time(&text, Timestamp::now()).map(Some).map_err(D::Error::custom)
}

/// Parses a time: RFC 3339, or an age before `now` such as `-1h`, `-30m` or `-2d`.
///
/// # Errors
/// A message with the accepted forms.
pub fn parse_time(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let text = text.trim();
    let time = match text.strip_prefix('-') {
        Some(age) => parse_age(age).and_then(|age| now.checked_sub(age).ok()),
        // A `+` in a query is a space.
        None => text.replace(' ', "+").parse().ok(),
    };
    time.ok_or_else(|| {
        format!(
            "`{}` is not a time; write an age such as `-1h`, `-30m` or `-2d`, or a time such as `2026-01-31T08:00:00Z`",
            text.chars().take(WORD_CHARS).collect::<String>()
        )
    })
}

/// Parses a number with a unit: seconds, minutes, hours, days or weeks.
fn parse_age(text: &str) -> Option<SignedDuration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        "w" => 7 * 24 * 60 * 60,
        _ => return None,
    };
    Some(SignedDuration::from_secs(number.parse::<u32>().map(i64::from).ok()?.checked_mul(seconds)?))
}

/// One page of a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TracePage {
    /// Traces, newest first.
    pub traces: Vec<TraceSummary>,
    /// Cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Number of traces that a text search has read for this page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub examined: Option<u32>,
}

/// Trace in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceSummary {
    pub id: String,
    /// Arrival of the request, to the millisecond.
    pub started_at: Timestamp,
    /// Session id, if the turn has a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Route template.
    pub endpoint: String,
    /// Model name, as sent by the client.
    pub model: String,
    /// Name of the upstream.
    pub upstream: String,
    /// Name of the policy.
    pub policy: String,
    /// `guard`, `shadow` or `off`.
    pub mode: String,
    /// Verdict on the answer.
    pub verdict: String,
    /// Status of the response to the client.
    pub status: u16,
    /// Total duration in milliseconds.
    pub duration_ms: f64,
    /// Number of requests to models.
    pub attempts: u32,
    /// Prompt tokens over all attempts.
    pub input_tokens: u64,
    /// Completion tokens over all attempts.
    pub output_tokens: u64,
    /// Cost in the currency of the price table, if the models have prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Names of the tools that were called or executed.
    pub tools: Vec<String>,
    /// Faults, failures and refusals.
    pub findings: Vec<Finding>,
    /// Beginning of the user's last message, if bodies are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_absolute_or_an_age() {
        let now: Timestamp = "2026-01-31T08:00:00Z".parse().unwrap();
        for (text, time) in [
            ("-1h", "2026-01-31T07:00:00Z"),
            ("-90s", "2026-01-31T07:58:30Z"),
            ("-30m", "2026-01-31T07:30:00Z"),
            ("-2d", "2026-01-29T08:00:00Z"),
            ("-1w", "2026-01-24T08:00:00Z"),
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
            ("2026-01-01T02:00:00 02:00", "2026-01-01T00:00:00Z"),
        ] {
            assert_eq!(parse_time(text, now), Ok(time.parse().unwrap()), "{text}");
        }
        for text in ["", "-", "1h", "-1", "-h", "-1y", "--1h", "-99999999999w", "-4294967295w", "yesterday", "-1ä"] {
            let error = parse_time(text, now).unwrap_err();
            assert!(error.contains("`-1h`"), "{text}: {error}");
        }
    }
}
