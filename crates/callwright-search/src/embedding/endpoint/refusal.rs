//! Why an endpoint gave no vectors, in words that hold no key.

use http::StatusCode;

use callwright_openai::error_message;

/// Characters of a provider's own words that a message quotes.
const QUOTED_CHARS: usize = 200;

/// As many bytes in a row that a key and a provider's words have in common are no accident. Masked keys (`sk-proj-********1234`) show fewer of
/// what is secret.
const TELLING_BYTES: usize = 8;

/// Why a request gave no vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// What went wrong, and what mends it.
    pub(super) reason: String,
    /// Would a request for other texts fail as well?
    pub(super) lasts: bool,
}

impl Failure {
    /// Something that other texts would meet, too.
    pub(super) fn lasting(reason: String) -> Self {
        Self { reason, lasts: true }
    }

    /// Something about these texts or this answer.
    pub(super) fn passing(reason: String) -> Self {
        Self { reason, lasts: false }
    }
}

/// What an error status means for the operator. `key` is what must not be told.
pub(super) fn refused(status: StatusCode, answer: &[u8], key: &str) -> Failure {
    let advice = match status {
        // Providers quote the key in these; what they say beyond the status is nothing.
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            return Failure::lasting(format!("status {status}; check `embedding.endpoint.api_key`"));
        }
        StatusCode::NOT_FOUND => "; check `embedding.endpoint.base_url` and `model`",
        _ => "",
    };
    let said = error_message(answer).filter(|said| !quotes(said, key)).map(|said| printable(&said)).unwrap_or_default();
    let said = if said.is_empty() { said } else { format!(" ({said})") };
    Failure { reason: format!("status {status}{said}{advice}"), lasts: !is_about_the_texts(status) }
}

/// Statuses by which providers refuse the texts rather than whoever sends them.
fn is_about_the_texts(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY)
}

/// Do words hold a key, or enough of it to tell?
fn quotes(said: &str, key: &str) -> bool {
    let telling = key.as_bytes().windows(TELLING_BYTES.min(key.len()).max(1));
    telling.into_iter().any(|part| memchr::memmem::find(said.as_bytes(), part).is_some())
}

/// The beginning of a provider's words, without control characters.
fn printable(said: &str) -> String {
    said.chars().filter(|character| !character.is_control()).take(QUOTED_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(said: &str, key: &str) -> String {
        let answer = serde_json::json!({"error": {"message": said}}).to_string();
        refused(StatusCode::BAD_REQUEST, answer.as_bytes(), key).reason
    }

    #[test]
    fn words_that_hold_a_key_or_a_part_of_it_are_not_told() {
        let key = "sk-proj-AbCdEfGhIjKl";
        for said in ["bad key sk-proj-AbCdEfGhIjKl", "key=EfGhIjKl!", "\"Bearer sk-proj-AbCd\""] {
            assert_eq!(reason(said, key), "status 400 Bad Request", "{said}");
        }
        assert_eq!(reason("bad key EfG***", key), "status 400 Bad Request (bad key EfG***)");
        assert_eq!(reason("the key is abc", "abc"), "status 400 Bad Request", "short keys as a whole");
        assert_eq!(reason("anything", ""), "status 400 Bad Request (anything)", "without a key");
    }

    #[test]
    fn a_providers_words_are_few() {
        assert!(reason(&"x".repeat(10_000), "").chars().count() < QUOTED_CHARS + 50);
    }

    #[test]
    fn what_is_about_the_texts_does_not_last() {
        let lasts = [400, 413, 422, 307, 401, 404, 429, 500, 503]
            .map(|status| refused(StatusCode::from_u16(status).unwrap(), b"", "").lasts);
        assert_eq!(lasts, [false, false, false, true, true, true, true, true, true]);
    }
}
