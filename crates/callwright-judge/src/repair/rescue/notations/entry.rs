//! One notation of the table.

use super::super::grammar::Grammar;
use super::super::literal::LiteralReader;
use super::super::tag::TagKind;
use super::super::written::WrittenCall;
use super::tokens::NotationTokens;
use crate::scanner::ToolSet;

/// Role of a start tag, regardless of the namespace, bars and blanks around its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::repair::rescue) enum TagRole {
    /// The last word of the name is `tool_call`, `tool_calls`, `function_call` or `function_calls`.
    Wrapper,
    /// The element `invoke`, with the tool as an attribute.
    Invoke,
    /// The element `function`, with the tool after an equals sign or as an attribute.
    Function,
    /// The element `parameter`, with its name after an equals sign or as an attribute.
    Parameter,
    /// An element that contains the tool's name.
    Name,
    /// An element with the name of an offered tool.
    Tool,
}

impl TagRole {
    /// Returns the role of a tag of this name.
    pub(super) fn of(name: &str, kind: Option<TagKind>, is_tool: impl Fn(&str) -> bool) -> Option<Self> {
        match kind {
            Some(TagKind::Wrapper) => Some(Self::Wrapper),
            Some(TagKind::Invoke) => Some(Self::Invoke),
            Some(TagKind::Function) => Some(Self::Function),
            Some(TagKind::Parameter) if matches!(name, "parameter" | "param") => Some(Self::Parameter),
            Some(TagKind::Name) => Some(Self::Name),
            _ => is_tool(name).then_some(Self::Tool),
        }
    }
}

#[derive(Debug)]
pub(in crate::repair::rescue) struct NotationEntry {
    /// Name in traces, metrics and the documentation.
    pub(in crate::repair::rescue) name: &'static str,
    /// Role of the start tag that begins the notation, in addition to its openers.
    pub(super) tag: Option<TagRole>,
    /// Whether its markers are reserved for calls. A reserved marker without a readable call is a fault (E1) and not
    /// text.
    pub(in crate::repair::rescue) is_reserved: bool,
    /// Whether a marker counts only at the start of a line.
    pub(in crate::repair::rescue) begins_line: bool,
    /// Whether the marker is ignored if no call follows it.
    pub(in crate::repair::rescue) is_tentative: bool,
    pub(super) form: NotationParser,
}

#[derive(Debug)]
pub(super) enum NotationParser {
    /// A dedicated reader.
    Reader {
        grammar: &'static dyn Grammar,
        /// Texts that begin the notation.
        open: Vec<String>,
        /// Texts that end a call or one of its parts, beside those that the reader knows as tags or tokens.
        close: Vec<String>,
    },
    /// The generic parser for these tokens.
    Tokens(Box<NotationTokens>),
}

impl PartialEq for NotationParser {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            // Entries of the same name have the same reader.
            (Self::Reader { open, close, .. }, Self::Reader { open: others, close: other, .. }) => {
                open == others && close == other
            }
            (Self::Tokens(tokens), Self::Tokens(other)) => tokens == other,
            _ => false,
        }
    }
}

impl PartialEq for NotationEntry {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.tag, self.is_reserved, self.begins_line, self.is_tentative)
            == (other.name, other.tag, other.is_reserved, other.begins_line, other.is_tentative)
            && self.form == other.form
    }
}

impl NotationEntry {
    /// Returns the texts that begin the notation.
    pub(in crate::repair::rescue) fn openers(&self) -> impl Iterator<Item = &str> {
        let (first, second): (&[String], &[String]) = match &self.form {
            NotationParser::Reader { open, .. } => (&[], open),
            NotationParser::Tokens(tokens) => (&tokens.section, &tokens.open),
        };
        first.iter().chain(second).map(String::as_str)
    }

    /// Returns all texts of the notation that are not content of a call.
    pub(super) fn tokens(&self) -> Vec<&str> {
        match &self.form {
            NotationParser::Reader { open, close, .. } => open.iter().chain(close).map(String::as_str).collect(),
            NotationParser::Tokens(tokens) => tokens.all().map(String::as_str).collect(),
        }
    }

    /// Parses the calls at the reader's position. On success, the reader is positioned after the last closing marker.
    pub(in crate::repair::rescue) fn read(
        &self,
        reader: &mut LiteralReader<'_>,
        tool_set: &ToolSet,
    ) -> Option<Vec<WrittenCall>> {
        match &self.form {
            NotationParser::Reader { grammar, .. } => grammar.read(reader, tool_set),
            NotationParser::Tokens(tokens) => tokens.read(reader, tool_set, self.is_reserved),
        }
    }
}
