//! Failures of an endpoint, with messages that contain no key.

use http::StatusCode;

use callwright_common::limits::{LINE_CHARS, MIN_SECRET_BYTES};
use callwright_wire::error_message;

/// Reason why a request returned no vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EmbeddingFailure {
    /// Description of the problem and its fix.
    pub(super) reason: String,
    /// Whether requests for other texts would fail as well.
    pub(super) lasts: bool,
}

impl EmbeddingFailure {
    /// Creates a failure that affects other texts too.
    pub(super) fn lasting(reason: String) -> Self {
        Self { reason, lasts: true }
    }

    /// Creates a failure of these texts or this response only.
    pub(super) fn passing(reason: String) -> Self {
        Self { reason, lasts: false }
    }
}

/// Creates the failure for an error status. `key` must not occur in the message.
pub(super) fn refused(status: StatusCode, answer: &[u8], key: &str) -> EmbeddingFailure {
    let advice = match status {
        // Providers quote the key in these messages, so the message is omitted.
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            return EmbeddingFailure::lasting(format!("status {status}; check `embedding.endpoint.api_key`"));
        }
        StatusCode::NOT_FOUND => "; check `embedding.endpoint.base_url` and `model`",
        _ => "",
    };
    let message = error_message(answer)
        .filter(|message| !reveals(message, key))
        .map(|message| printable(&message))
        .unwrap_or_default();
    let message = if message.is_empty() { message } else { format!(" ({message})") };
    EmbeddingFailure { reason: format!("status {status}{message}{advice}"), lasts: !rejects_texts(status) }
}

/// Whether the provider rejected the texts rather than the client.
fn rejects_texts(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY)
}

/// Whether a text contains a key, or enough of it to reveal it.
fn reveals(message: &str, key: &str) -> bool {
    let parts = key.as_bytes().windows(MIN_SECRET_BYTES.min(key.len()).max(1));
    parts.into_iter().any(|part| memchr::memmem::find(message.as_bytes(), part).is_some())
}

/// Returns the beginning of a provider's message, without control characters.
fn printable(message: &str) -> String {
    message.chars().filter(|character| !character.is_control()).take(LINE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(message: &str, key: &str) -> String {
        let answer = serde_json::json!({"error": {"message": message}}).to_string();
        refused(StatusCode::BAD_REQUEST, answer.as_bytes(), key).reason
    }

    #[test]
    fn messages_that_contain_a_key_or_a_part_of_it_are_omitted() {
        let key = "sk-proj-AbCdEfGhIjKl";
        for message in ["bad key sk-proj-AbCdEfGhIjKl", "key=EfGhIjKl!", "\"Bearer sk-proj-AbCd\""] {
            assert_eq!(reason(message, key), "status 400 Bad Request", "{message}");
        }
        assert_eq!(reason("bad key EfG***", key), "status 400 Bad Request (bad key EfG***)");
        assert_eq!(reason("the key is abc", "abc"), "status 400 Bad Request", "short keys as a whole");
        assert_eq!(reason("anything", ""), "status 400 Bad Request (anything)", "without a key");
    }

    #[test]
    fn a_providers_message_is_shortened() {
        assert!(reason(&"x".repeat(10_000), "").chars().count() < LINE_CHARS + 50);
    }

    #[test]
    fn rejected_texts_do_not_last() {
        let lasts = [400, 413, 422, 307, 401, 404, 429, 500, 503]
            .map(|status| refused(StatusCode::from_u16(status).unwrap(), b"", "").lasts);
        assert_eq!(lasts, [false, false, false, true, true, true, true, true, true]);
    }
}
