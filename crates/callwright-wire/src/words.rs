//! Words that decide whether a text has to be parsed. They are found without parsing it.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// A word that is searched for in each request. To prepare the search takes longer than to search a short text.
pub(crate) type Word = LazyLock<Finder<'static>>;

/// The words that begin with this are found together.
static TOOL: Word = Word::new(|| Finder::new("\"tool"));
const LIST: &[u8] = b"\"tools\"";
const REFERENCE: &[u8] = b"\"tool_reference\"";

/// Words of which the text of a conversation with calls has at least one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallWords {
    /// Word that begins with `"tool`, with its quotation marks.
    pub(crate) of_tools: Option<&'static str>,
    pub(crate) other: Option<&'static Word>,
}

/// Which words about tools a conversation has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ToolWords {
    /// One of the words of calls.
    pub(crate) calls: bool,
    /// Member with a list of tools.
    pub(crate) list: bool,
    /// Type of blocks that refer to tools.
    pub(crate) reference: bool,
}

impl ToolWords {
    /// Searches the JSON text of a conversation.
    pub(crate) fn in_text(text: &str, calls: CallWords) -> Self {
        let text = text.as_bytes();
        let mut words = Self::default();
        for start in TOOL.find_iter(text) {
            let rest = text.get(start..).unwrap_or_default();
            words.calls |= calls.of_tools.is_some_and(|word| rest.starts_with(word.as_bytes()));
            words.list |= rest.starts_with(LIST);
            words.reference |= rest.starts_with(REFERENCE);
        }
        words.calls |= calls.other.is_some_and(|word| word.find(text).is_some());
        words
    }
}

/// Whether a text has one of these words.
pub(crate) fn has_one_of(text: &str, words: &[Word]) -> bool {
    words.iter().any(|word| word.find(text.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_and_no_other_one() {
        static OTHER: Word = Word::new(|| Finder::new("\"function_call\""));
        let found =
            |text: &str| ToolWords::in_text(text, CallWords { of_tools: Some("\"tool_calls\""), other: Some(&OTHER) });
        let none = ToolWords::default();
        assert_eq!(found(r#"[{"tool_calls":[]}]"#), ToolWords { calls: true, ..none });
        assert_eq!(found(r#"[{"function_call":{}}]"#), ToolWords { calls: true, ..none });
        assert_eq!(found(r#"[{"tools":[]}]"#), ToolWords { list: true, ..none });
        assert_eq!(found(r#"[{"type":"tool_reference"}]"#), ToolWords { reference: true, ..none });
        assert_eq!(found(r#"[{"content":"tools tool_calls","toolset":1,"tool_use":"#), none);
        let all = found(r#"[{"tools":[],"tool_calls":[],"x":"tool_reference"}]"#);
        assert_eq!(all, ToolWords { calls: true, list: true, reference: true });
    }
}
