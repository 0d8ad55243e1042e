//! Evaluates the wording of passages: whether it describes an error, and whether it adds information to a status.

use crate::failures::body_words::reason_of;
use crate::index::codes::normal_form;
use crate::index::{DocumentedResponse, IndexedPassage};
use crate::passages::sentences::sentences;
use crate::word_list::WordList;
use callwright_search::retrieval::{is_stop_word, tokens};

/// Words (stemmed, lower case) that describe an error.
const ERROR_WORDS: WordList = WordList(
    "error invalid fail failed failure missing miss denied forbidden unauthorized unauthorised illegal wrong \
     exceed exceeded limit limited expired unknown unsupported refused rejected required must bad duplicate \
     timeout unavailable cannot cant not no malformed conflict insufficient disabled blocked outside incorrect \
     unable abnormal",
);

/// Words (stemmed, lower case) that describe a success.
const SUCCESS_WORDS: WordList = WordList("ok succes success successful successfully succeeded succeed");

/// Words (stemmed, lower case) that describe any failed response.
const EMPTY_WORDS: WordList = WordList(
    "error response request default unexpected failed failure operation description status http code return \
     returned client server general payload message",
);

/// Whether a passage that defines a code describes an error, by its words or because it belongs to an error response.
pub(crate) fn describes_error(entry: &IndexedPassage, code: &str) -> bool {
    let about: Vec<&str> = entry.text.lines().flat_map(sentences).filter(|sentence| names(sentence, code)).collect();
    let words: Vec<String> = about.iter().flat_map(|sentence| tokens(sentence)).collect();
    let has = |list: WordList| words.iter().any(|word| list.contains(word));
    let error_response = match entry.response {
        Some(DocumentedResponse::Status(status)) => status >= 400,
        Some(DocumentedResponse::Class(class)) => class >= 4,
        Some(DocumentedResponse::Default) | None => false,
    };
    !has(SUCCESS_WORDS) && (error_response || has(ERROR_WORDS))
}

/// Whether the description of a response adds information to its status: at least two words.
pub(crate) fn adds_to_status(text: &str, status: u16) -> bool {
    let reason = tokens(reason_of(status).unwrap_or_default());
    let mut words = tokens(text);
    words.retain(|word| {
        !reason.contains(word) && !is_stop_word(word) && !EMPTY_WORDS.contains(word) && *word != status.to_string()
    });
    words.len() >= 2
}

fn names(sentence: &str, code: &str) -> bool {
    sentence.split([' ', '|', ':', '`', ',', '(', ')']).any(|word| normal_form(word).as_deref() == Some(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::units::UnitId;

    fn entry(text: &str, response: Option<DocumentedResponse>) -> IndexedPassage {
        IndexedPassage { text: text.into(), source: String::new(), response, unit: UnitId::default(), shape: None }
    }

    #[test]
    fn errors_are_described_by_words_or_by_their_response() {
        let cases = [
            ("20000: invalid parameters", None, true),
            ("| code | meaning |\n| 20000 | longitude first |", Some(DocumentedResponse::Status(400)), true),
            ("20000: longitude first", Some(DocumentedResponse::Status(200)), false),
            ("10000: the request was served", None, false),
            ("10000: success, no errors", None, false),
            ("Fails with 1. The code 20000: is fine.", None, false),
        ];
        for (text, response, expected) in cases {
            let code = if text.contains("20000") { "20000" } else { "10000" };
            assert_eq!(describes_error(&entry(text, response), code), expected, "{text}");
        }
    }

    #[test]
    fn a_description_that_repeats_the_status_adds_nothing() {
        for text in ["Not Found", "Unexpected error", "404 error response.", "Error", "The request failed"] {
            assert!(!adds_to_status(text, 404), "{text}");
        }
        assert!(adds_to_status("No room has this id.", 404));
    }
}
