//! One notation of the table.

use super::super::grammar::Grammar;
use super::super::literal::Reader;
use super::super::tag::Kind;
use super::super::written::Written;
use super::tokens::Tokens;
use crate::scanner::Toolbook;

/// The part that a start tag plays, whatever namespace, bars and blanks are around its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::repair::rescue) enum TagRole {
    /// Its last word is `tool_call`, `tool_calls`, `function_call` or `function_calls`.
    Wrapper,
    /// `invoke`, with the tool as an attribute.
    Invoke,
    /// `function`, with the tool behind an equals sign or as an attribute.
    Function,
    /// `parameter`, with its name behind an equals sign or as an attribute.
    Parameter,
    /// An element that holds the tool's name.
    Name,
    /// Its name is that of an offered tool.
    Tool,
}

impl TagRole {
    /// The part of a tag of this name.
    pub(super) fn of(name: &str, kind: Option<Kind>, is_tool: impl Fn(&str) -> bool) -> Option<Self> {
        match kind {
            Some(Kind::Wrapper) => Some(Self::Wrapper),
            Some(Kind::Invoke) => Some(Self::Invoke),
            Some(Kind::Function) => Some(Self::Function),
            Some(Kind::Parameter) if matches!(name, "parameter" | "param") => Some(Self::Parameter),
            Some(Kind::Name) => Some(Self::Name),
            _ => is_tool(name).then_some(Self::Tool),
        }
    }
}

/// A notation.
#[derive(Debug)]
pub(in crate::repair::rescue) struct Entry {
    /// Its name in traces, metrics and the documentation.
    pub(in crate::repair::rescue) name: &'static str,
    /// The start tag with which it begins, beside its openers.
    pub(super) tag: Option<TagRole>,
    /// Whether its marks are reserved for calls, so that one without a readable call is a fault (E1), and no text.
    pub(in crate::repair::rescue) is_reserved: bool,
    /// Whether a mark counts at the start of a line alone.
    pub(in crate::repair::rescue) begins_line: bool,
    /// Whether the text is read as if the mark were not there, where no call follows it.
    pub(in crate::repair::rescue) is_tentative: bool,
    /// The way it is read.
    pub(super) form: Form,
}

/// The way a notation is read.
#[derive(Debug)]
pub(super) enum Form {
    /// By a reader of its own, with the openers that it is aware of.
    Reader(&'static dyn Grammar, Vec<String>),
    /// By its tokens.
    Tokens(Box<Tokens>),
}

impl PartialEq for Form {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            // An entry of the same name has the same reader.
            (Self::Reader(_, open), Self::Reader(_, others)) => open == others,
            (Self::Tokens(tokens), Self::Tokens(other)) => tokens == other,
            _ => false,
        }
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.tag, self.is_reserved, self.begins_line, self.is_tentative)
            == (other.name, other.tag, other.is_reserved, other.begins_line, other.is_tentative)
            && self.form == other.form
    }
}

impl Entry {
    /// The texts with which it begins.
    pub(in crate::repair::rescue) fn openers(&self) -> impl Iterator<Item = &str> {
        let (first, second): (&[String], &[String]) = match &self.form {
            Form::Reader(_, open) => (&[], open),
            Form::Tokens(tokens) => (&tokens.section, &tokens.open),
        };
        first.iter().chain(second).map(String::as_str)
    }

    /// Reads the calls that begin where the reader is. On success the reader is behind the last closing mark.
    pub(in crate::repair::rescue) fn read(&self, reader: &mut Reader<'_>, toolbook: &Toolbook) -> Option<Vec<Written>> {
        match &self.form {
            Form::Reader(grammar, _) => grammar.read(reader, toolbook),
            Form::Tokens(tokens) => tokens.read(reader, toolbook, self.is_reserved),
        }
    }
}
