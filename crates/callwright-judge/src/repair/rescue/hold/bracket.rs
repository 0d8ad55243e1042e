//! Follows a bracket that may contain a call, character by character up to the end of its line.

use super::super::call_names::MAX_NAME;
use super::names::{CallMember, FoldedToolNames, member};

/// Decision after one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BracketStep {
    /// Undecided.
    Undecided,
    /// The bracket is not a call.
    Text,
    /// The bracket is a call, by the text so far.
    Call,
}

/// A bracket, by the text so far.
#[derive(Debug, Default)]
pub(super) struct Bracket {
    depth: usize,
    quote: Option<char>,
    escaped: bool,
    /// Whether the bracket contains data, which must have a certain shape. Code is not examined.
    is_data: bool,
    /// Depth of the first object in the data.
    object_depth: Option<usize>,
    /// The last string or bare word.
    word: String,
    /// Whether other content followed the word, and the next character begins another word.
    word_ended: bool,
    /// Whether the value of the last key is the tool's name.
    name_follows: bool,
    has_name: bool,
    has_arguments: bool,
    names_tool: bool,
    /// State after the closing bracket: whether a sign announced another call.
    tail: Option<bool>,
}

impl Bracket {
    pub(super) fn new(is_data: bool) -> Self {
        Self { is_data, ..Self::default() }
    }

    pub(super) fn push(&mut self, letter: char, names: &FoldedToolNames) -> BracketStep {
        if let Some(continues) = self.tail {
            return self.push_tail(letter, continues);
        }
        if let Some(quote) = self.quote {
            self.push_quoted(letter, quote);
            return BracketStep::Undecided;
        }
        match letter {
            '"' | '\'' => {
                self.quote = Some(letter);
                self.word.clear();
                self.word_ended = false;
            }
            '(' | '[' | '{' => self.open(letter),
            ')' | ']' | '}' => return self.close(names),
            ':' if self.is_data => return self.key(names),
            ',' => self.value(names),
            letter if letter.is_whitespace() => self.word_ended = true,
            letter => self.push_word(letter),
        }
        BracketStep::Undecided
    }

    fn push_quoted(&mut self, letter: char, quote: char) {
        if self.escaped {
            self.escaped = false;
        } else if letter == '\\' {
            self.escaped = true;
            return;
        } else if letter == quote {
            self.quote = None;
            self.word_ended = true;
            return;
        }
        self.keep(letter);
    }

    fn push_word(&mut self, letter: char) {
        if self.word_ended {
            self.word.clear();
            self.word_ended = false;
        }
        self.keep(letter);
    }

    fn keep(&mut self, letter: char) {
        if self.is_data && self.word.len() < MAX_NAME {
            self.word.push(letter);
        }
    }

    fn open(&mut self, letter: char) {
        self.depth += 1;
        if letter == '{' && self.object_depth.is_none() {
            self.object_depth = Some(self.depth);
        }
        self.name_follows = false;
        self.word.clear();
    }

    fn close(&mut self, names: &FoldedToolNames) -> BracketStep {
        self.value(names);
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 {
            return BracketStep::Undecided;
        }
        // An unknown tool name may be a mistake if arguments show that a call was meant.
        if self.is_data && !(self.names_tool || (self.has_name && self.has_arguments)) {
            return BracketStep::Text;
        }
        self.tail = Some(false);
        BracketStep::Undecided
    }

    fn key(&mut self, names: &FoldedToolNames) -> BracketStep {
        let key = std::mem::take(&mut self.word);
        let of_tool = names.contain(&key);
        self.names_tool |= of_tool;
        match member(&key) {
            Some(CallMember::Name) => self.name_follows = true,
            Some(CallMember::Arguments) => self.has_arguments = true,
            Some(CallMember::Other) => {}
            // The arguments may be members beside the name.
            None if !self.names_tool && self.object_depth == Some(self.depth) => return BracketStep::Text,
            None => {}
        }
        BracketStep::Undecided
    }

    fn value(&mut self, names: &FoldedToolNames) {
        if std::mem::take(&mut self.name_follows) {
            self.has_name = true;
            self.names_tool |= names.contain(&self.word);
        }
        // A call as code, in a string.
        self.names_tool |= self.word.split_once('(').is_some_and(|(name, _)| names.contain(name));
        self.word.clear();
    }

    /// Examines the rest of the line. Prose after a call shows that the call is only mentioned.
    fn push_tail(&mut self, letter: char, continues: bool) -> BracketStep {
        match letter {
            ',' | ';' => {
                self.tail = Some(true);
                BracketStep::Undecided
            }
            ' ' | '\t' | '\r' | '*' | '.' | '"' | '\'' | ']' | ')' | '}' | '”' | '’' => BracketStep::Undecided,
            // End of the line, code fence, comment, subscript, or an operator before another call.
            '\n' | '`' | '#' | '/' | '-' | '—' | '=' | '<' | '[' | '(' | '+' | '|' | '&' | '\\' => BracketStep::Call,
            '{' if self.is_data => BracketStep::Call,
            _ if continues => BracketStep::Call,
            _ => BracketStep::Text,
        }
    }
}
