//! Earlier results: lookup of the earlier equal call, and classification of results by their text.

use callwright_common::limits::{LINE_CHARS, TEXT_LENGTH};
use serde_json::Value;

use crate::{PastCall, Round, is_same};

/// Maximum number of characters of the earlier result to quote.
pub(super) const MAX_RESULT: usize = 400;

/// Returns the last equal call of a round and its result.
pub(super) fn find<'a>(round: &'a Round, name: &str, arguments: &Value) -> Option<(&'a PastCall, &'a str)> {
    let found = round.iter().rev().find(|call| call.name == name && has_arguments(call, arguments))?;
    Some((found, found.result.as_deref().unwrap_or_default()))
}

fn has_arguments(call: &PastCall, arguments: &Value) -> bool {
    serde_json::from_str(&call.arguments).is_ok_and(|past: Value| is_same(&past, arguments))
}

/// Returns the beginning of a result in lower case.
fn beginning(result: &str) -> String {
    result.get(..result.floor_char_boundary(TEXT_LENGTH)).unwrap_or_default().to_lowercase()
}

/// Words at the beginning of results that report a failure.
const FAILURE: [&str; 6] = ["error", "exception", "failed", "failure", "invalid", "traceback"];

/// Whether a result begins with a report of a failure. `{"error": null}` does not.
pub(super) fn has_failed(result: &str) -> bool {
    let beginning = beginning(result);
    let head = beginning.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    let rest = FAILURE.iter().find_map(|word| head.strip_prefix(word));
    let value = rest.map(|rest| rest.trim_start_matches(['"', ' ', ':', '=', 's']));
    value
        .is_some_and(|value| !["null", "none", "false", "[]", "{}", "0", "\"\""].iter().any(|no| value.starts_with(no)))
}

/// HTTP status codes of transient failures.
const STATUSES: [&str; 7] = ["408", "425", "429", "500", "502", "503", "504"];

/// Words that indicate transient failures or work in progress.
const COME_BACK: [&str; 32] = [
    "timeout", "timed out", "time out", "rate limit", "rate-limit", "too many requests", "quota", "temporar",
    "unavailable", "overload", "busy", "try again", "retry", "later", "connection", "network", "internal server error",
    "pending", "processing", "queued", "running", "in progress", "in_progress", "inprogress", "not ready", "wait",
    "scheduled", "started", "loading", "starting", "building", "initializing",
];

pub(super) fn requests_repeat(result: &str) -> bool {
    let beginning = beginning(result);
    let mut words = beginning.split(|letter: char| !letter.is_alphanumeric());
    COME_BACK.iter().any(|word| beginning.contains(word)) || words.any(|word| STATUSES.contains(&word))
}

/// Words of notes that agents write in place of old results to save context.
const TAKEN_AWAY: [&str; 7] = ["cleared", "truncated", "omitted", "removed", "elided", "compacted", "pruned"];

/// Whether the result is empty or was replaced with a note.
pub(super) fn is_gone(result: &str) -> bool {
    let short = beginning(result);
    result.trim().is_empty() || (result.len() <= LINE_CHARS && TAKEN_AWAY.iter().any(|word| short.contains(word)))
}

/// Words of results that only acknowledge an action.
const ACKNOWLEDGING: [&str; 34] = [
    "accepted", "ack", "acknowledged", "action", "added", "applied", "changed", "clicked", "completed", "created",
    "deleted", "done", "executed", "finished", "message", "moved", "none", "null", "ok", "okay", "performed",
    "pressed", "received", "removed", "result", "saved", "sent", "set", "status", "success", "successful",
    "successfully", "true", "updated",
];

/// Whether a result only acknowledges an action. Repeating the call repeats the action.
pub(super) fn only_acknowledges(result: &str) -> bool {
    let beginning = beginning(result);
    let mut words =
        beginning.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    // An empty list is information; an empty text is not.
    let has_no_content = words.peek().is_none() && !beginning.trim_start().starts_with('[');
    has_no_content || words.peek().is_some() && words.all(|word| ACKNOWLEDGING.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_acknowledges_is_told_from_what_informs() {
        for result in [
            "ok",
            "{\"success\": true}",
            "Done.",
            "{}",
            "",
            "Moved successfully",
            "null",
            "{\"status\":\"OK\",\"message\":\"updated\"}",
        ] {
            assert!(only_acknowledges(result), "{result}");
        }
        for result in ["[]", "sunny", "{\"price\": 5}", "5", "Error: no such room", "No rooms found."] {
            assert!(!only_acknowledges(result), "{result}");
        }
    }
}
