//! A bracket of which a call may be made, followed letter by letter up to the end of its line.

use super::names::{Member, Names, member};

/// What has become of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing is certain yet.
    Undecided,
    /// It is no call.
    Text,
    /// It is a call, as far as can be told.
    Call,
}

/// Bytes of a key or a name that are looked at.
const MAX_WORD: usize = 128;

/// A bracket, as far as it has been seen.
#[derive(Debug)]
pub(super) struct Bracket {
    depth: usize,
    quote: Option<char>,
    escaped: bool,
    /// Data is of a certain shape; code is not looked into.
    is_data: bool,
    /// Brackets around the first object of the data.
    object_depth: Option<usize>,
    /// The last string or bare word.
    word: String,
    /// The word was followed by something else; the next letter begins another.
    word_ended: bool,
    /// The value of the last key will be the tool's name.
    name_follows: bool,
    has_name: bool,
    has_arguments: bool,
    names_tool: bool,
    /// Behind the closing bracket: was there a sign that another call follows?
    tail: Option<bool>,
}

impl Bracket {
    pub(super) fn new(is_data: bool) -> Self {
        Self {
            depth: 0,
            quote: None,
            escaped: false,
            is_data,
            object_depth: None,
            word: String::new(),
            word_ended: false,
            name_follows: false,
            has_name: false,
            has_arguments: false,
            names_tool: false,
            tail: None,
        }
    }

    pub(super) fn push(&mut self, letter: char, names: &Names) -> Step {
        if let Some(continues) = self.tail {
            return self.push_tail(letter, continues);
        }
        if let Some(quote) = self.quote {
            self.push_quoted(letter, quote);
            return Step::Undecided;
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
        Step::Undecided
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
        if self.is_data && self.word.len() < MAX_WORD {
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

    fn close(&mut self, names: &Names) -> Step {
        self.value(names);
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 {
            return Step::Undecided;
        }
        // A name that is not offered may be a slip, where arguments say that a call was meant.
        if self.is_data && !(self.names_tool || (self.has_name && self.has_arguments)) {
            return Step::Text;
        }
        self.tail = Some(false);
        Step::Undecided
    }

    fn key(&mut self, names: &Names) -> Step {
        let key = std::mem::take(&mut self.word);
        let of_tool = names.contain(&key);
        self.names_tool |= of_tool;
        match member(&key) {
            Some(Member::Name) => self.name_follows = true,
            Some(Member::Arguments) => self.has_arguments = true,
            Some(Member::Other) => {}
            // The arguments may stand beside the name.
            None if !self.names_tool && self.object_depth == Some(self.depth) => return Step::Text,
            None => {}
        }
        Step::Undecided
    }

    fn value(&mut self, names: &Names) {
        if std::mem::take(&mut self.name_follows) {
            self.has_name = true;
            self.names_tool |= names.contain(&self.word);
        }
        // The call as code, in a string.
        self.names_tool |= self.word.split_once('(').is_some_and(|(name, _)| names.contain(name));
        self.word.clear();
    }

    /// Prose behind a call on its line shows that the call is only mentioned.
    fn push_tail(&mut self, letter: char, continues: bool) -> Step {
        match letter {
            ',' | ';' => {
                self.tail = Some(true);
                Step::Undecided
            }
            ' ' | '\t' | '\r' | '*' | '.' | '"' | '\'' | ']' | ')' | '}' | '”' | '’' => Step::Undecided,
            // The end of the line, a fence, a remark, a subscript, an operator before another call.
            '\n' | '`' | '#' | '/' | '-' | '—' | '=' | '<' | '[' | '(' | '+' | '|' | '&' | '\\' => Step::Call,
            '{' if self.is_data => Step::Call,
            _ if continues => Step::Call,
            _ => Step::Text,
        }
    }
}
