//! API response as stored with the intent until it is delivered to the client.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use callwright_common::limits::SHORT_BODY_BYTES;
use callwright_common::text::beginning_bytes;
use callwright_types::Outcome;
use callwright_types::outcome::ApiAnswer;

#[derive(Serialize, Deserialize)]
struct StoredResponse {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    truncated: bool,
}

/// Serialises the response for storage; `None` if no API answered.
pub(super) fn write(outcome: &Outcome) -> Option<String> {
    let Outcome::Answered(answer) = outcome else { return None };
    let text = answer.text();
    let body = beginning_bytes(&text, SHORT_BODY_BYTES);
    let stored = StoredResponse {
        status: answer.status,
        headers: answer.headers.clone(),
        body: body.to_owned(),
        truncated: answer.truncated || body.len() < text.len(),
    };
    serde_json::to_string(&stored).ok()
}

pub(super) fn parse(text: &str) -> Option<ApiAnswer> {
    let StoredResponse { status, headers, body, truncated } = serde_json::from_str(text).ok()?;
    Some(ApiAnswer { status, headers, body: Bytes::from(body), truncated, paging: Default::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(body: Vec<u8>) -> ApiAnswer {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        ApiAnswer { status: 201, headers, body: body.into(), truncated: false, paging: Default::default() }
    }

    #[test]
    fn a_stored_answer_is_parsed_unchanged() {
        let answer = answered(br#"{"id":7,"name":"\u00fc"}"#.to_vec());
        assert_eq!(parse(&write(&Outcome::Answered(answer.clone())).unwrap()), Some(answer));
    }

    #[test]
    fn a_long_answer_is_truncated_between_characters_and_marked() {
        let cut = parse(&write(&Outcome::Answered(answered("ü".repeat(40_000).into_bytes()))).unwrap()).unwrap();
        assert!(cut.truncated && cut.body.len() <= SHORT_BODY_BYTES && cut.text().chars().all(|letter| letter == 'ü'));
    }

    #[test]
    fn only_answers_are_stored_and_parsed() {
        assert_eq!(write(&Outcome::Unknown { reason: "late".into() }), None);
        assert_eq!(parse("nonsense"), None);
    }
}
