//! Words about tools in a conversation, found in one search, so that conversations without them are not parsed.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::ModelRequest;

/// The words that begin with this are found together.
static TOOL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"tool"));
const CALLS: &[u8] = b"\"tool_calls\"";
const LIST: &[u8] = b"\"tools\"";
const REFERENCE: &[u8] = b"\"tool_reference\"";
static FUNCTION_CALL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"function_call\""));

/// Which words occur.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ToolWords {
    /// Members of chat messages with calls.
    pub(super) calls: bool,
    /// Member with a list of tools.
    pub(super) list: bool,
    /// Type of blocks that refer to tools.
    pub(super) reference: bool,
}

impl ToolWords {
    /// Searches a JSON text.
    pub(super) fn in_text(text: &str) -> Self {
        let text = text.as_bytes();
        let mut words = Self::default();
        for start in TOOL.find_iter(text) {
            let rest = text.get(start..).unwrap_or_default();
            words.calls |= rest.starts_with(CALLS);
            words.list |= rest.starts_with(LIST);
            words.reference |= rest.starts_with(REFERENCE);
        }
        words
    }
}

impl ModelRequest {
    /// Returns the words in the client's conversation.
    pub(super) fn tool_words(&self) -> ToolWords {
        *self.tool_words.get_or_init(|| {
            let text = self.conversation_text();
            let mut words = ToolWords::in_text(text);
            // Only chat messages have the legacy member.
            words.calls |= self.form.is_none() && FUNCTION_CALL.find(text.as_bytes()).is_some();
            words
        })
    }

    /// Returns the JSON text of the client's conversation.
    pub(super) fn conversation_text(&self) -> &str {
        let key = self.form.map_or("messages", |form| form.conversation_key());
        self.fields.get(key).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_types::Protocol;

    #[test]
    fn every_word_is_found_and_no_other_one() {
        let found = |text: &str| {
            let body = format!(r#"{{"messages":{text}}}"#);
            let words = ModelRequest::parse(Protocol::Chat, body.into()).unwrap().tool_words();
            (words.calls, words.list, words.reference)
        };
        assert_eq!(found(r#"[{"role": "tool", "content": "tools tool_calls"}]"#), (false, false, false));
        assert_eq!(found(r#"[{"tool_calls": []}]"#), (true, false, false));
        assert_eq!(found(r#"[{"function_call": {}}]"#), (true, false, false));
        assert_eq!(found(r#"[{"role": "tool"}, {"tools": [], "type": "tool_reference"}]"#), (false, true, true));
    }
}
