//! Vocabulary of the tools' schemas and documentation. Learned procedures contain no other names.

use std::collections::HashSet;

use serde_json::Value;

use super::input::ProcedureTool;
use super::names::stems;
use super::schema::ValueSchema;
use callwright_common::json::{Pointer, scalar_text};
use callwright_common::limits::MIN_SIGNIFICANT_LENGTH;
use callwright_common::text::{is_digits, spaced_words};
use callwright_types::memory::is_identifier;

/// Generic member names that are allowed without documentation, because they carry no user data.
const COMMON_NAMES: &str = "code content count data date day description end id item key list name number \
    output reference response result start status time type uuid value";

/// Allowed names of answer members. Undocumented object keys may be user data, such as names or addresses.
#[derive(Debug)]
pub(super) struct MemberVocabulary {
    words: HashSet<String>,
    /// Members in the documented outputs.
    members: HashSet<String>,
}

impl MemberVocabulary {
    pub(super) fn new(tools: &[ProcedureTool<'_>]) -> Self {
        let mut vocabulary =
            Self { words: COMMON_NAMES.split(' ').map(str::to_owned).collect(), members: HashSet::new() };
        for tool in tools {
            vocabulary.words.extend(stems(tool.name));
            vocabulary.words.extend(stems(tool.description));
            for (name, parameter) in ValueSchema::new(tool.parameters).members() {
                vocabulary.words.extend(stems(name));
                vocabulary.words.extend(stems(parameter.description()));
            }
            let pointers = tool.outputs.iter().map(|field| field.pointer.as_str());
            let pointers = pointers.chain(tool.links.iter().map(|link| link.pointer.as_str()));
            vocabulary.members.extend(pointers.flat_map(|location| Pointer::from(location).tokens()));
        }
        vocabulary
    }

    /// Whether a location may be stored.
    pub(super) fn allows(&self, location: &Pointer) -> bool {
        location.tokens().iter().all(|token| self.allows_member(token))
    }

    /// Whether the name of a member may be stored.
    pub(super) fn allows_member(&self, token: &str) -> bool {
        let words = stems(token);
        is_digits(token)
            || self.members.contains(token)
            || is_identifier(token) && !words.is_empty() && words.iter().all(|word| self.words.contains(word))
    }
}

/// Generic words that are common as values.
const COMMON_WORDS: [&str; 10] = ["all", "any", "false", "none", "null", "other", "true", "unknown", "yes", "default"];

/// Indexed messages of the user.
#[derive(Debug)]
pub(super) struct UserMessages {
    words: String,
}

impl UserMessages {
    pub(super) fn new(texts: &[&str]) -> Self {
        let mut words = " ".to_owned();
        for text in texts {
            words.push_str(spaced_words(text).trim_start());
        }
        Self { words }
    }

    /// Whether the messages contain this value as whole words.
    pub(super) fn contains(&self, value: &Value) -> bool {
        let folded = spaced_words(&scalar_text(value).unwrap_or_default());
        !folded.trim().is_empty() && self.words.contains(&folded)
    }
}

/// Whether a value is so common that a match has no significance, like `true`, `""`, `7` or `"A"`.
pub(super) fn is_trivial(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::Number(number) => {
            let digits = number.to_string();
            digits.bytes().filter(u8::is_ascii_digit).count() < MIN_SIGNIFICANT_LENGTH || has_many_zeros(&digits)
        }
        Value::String(text) => {
            let text = text.trim();
            text.chars().count() < MIN_SIGNIFICANT_LENGTH
                || COMMON_WORDS.iter().any(|common| text.eq_ignore_ascii_case(common))
        }
        Value::Array(items) => items.iter().all(is_trivial),
        Value::Object(members) => members.values().all(is_trivial),
    }
}

/// Whether a number is round. Round numbers are common in requests and as limits.
fn has_many_zeros(digits: &str) -> bool {
    digits.trim_end_matches(['0', '.']).bytes().filter(u8::is_ascii_digit).count() < MIN_SIGNIFICANT_LENGTH - 1
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_names_of_the_tools_are_allowed() {
        let parameters = json!({"properties": {"person_id": {"description": "Who it is for."}}});
        let field = callwright_types::OutputField { pointer: "/rooms/0/Ref".to_owned(), ..Default::default() };
        let tool = ProcedureTool {
            name: "bookRoom",
            toolset: Some("rooms"),
            client: None,
            description: "Books a meeting room.",
            parameters: &parameters,
            outputs: &[field],
            links: &[],
            changes_state: true,
        };
        let vocabulary = MemberVocabulary::new(&[tool]);
        for known in ["", "/rooms/7/Ref", "/meetings/0/personId", "/data/id"] {
            assert!(vocabulary.allows(&Pointer::from(known)), "{known}");
        }
        for unknown in
            ["/jack/id", "/jack@example.com", "/P98341/id", "/rooms/0/bookedByJack", "/ ", "/room of a person"]
        {
            assert!(!vocabulary.allows(&Pointer::from(unknown)), "{unknown}");
        }
    }
}
