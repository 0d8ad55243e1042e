//! Vocabulary of the tools' schemas and documentation. Learned procedures contain no other names.

use std::collections::HashSet;

use super::calls::ProcedureTool;
use super::names::stems;
use super::schema::ValueSchema;
use callwright_common::json::Pointer;
use callwright_common::text::is_digits;
use callwright_types::memory::is_identifier;

/// Generic member names that are allowed without documentation, because they carry no user data.
const COMMON_NAMES: [&str; 24] = [
    "code",
    "content",
    "count",
    "data",
    "date",
    "day",
    "description",
    "end",
    "id",
    "item",
    "key",
    "list",
    "name",
    "number",
    "output",
    "reference",
    "response",
    "result",
    "start",
    "status",
    "time",
    "type",
    "uuid",
    "value",
];

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
            Self { words: COMMON_NAMES.iter().map(|word| (*word).to_owned()).collect(), members: HashSet::new() };
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
