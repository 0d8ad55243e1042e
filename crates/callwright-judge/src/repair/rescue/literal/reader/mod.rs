//! The reader of values.

mod doubt;

use std::cell::Cell;
use std::rc::Rc;

use super::unescaped::{Effort, Guard, Outcome};
use super::{Literal, constant, expression, number, string};

/// Brackets within brackets that are followed; JSON readers stop there as well.
const MAX_DEPTH: usize = 100;

/// Texts within texts that are followed.
const MAX_NESTING: usize = 3;

/// Bytes of work for each byte of the text, over everything that is tried on it: whatever is written there, reading it takes
/// linear time.
const FUEL_PER_BYTE: usize = 24;

/// Work that every text may cost, however short it is.
const LEAST_FUEL: usize = 4096;

/// Reads values of a text, from a place on. Every method moves on only where it succeeds or the text is done for.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// What is left to pay with; readers of texts within this text pay from it too.
    fuel: Rc<Cell<usize>>,
    /// Texts within texts: a string that is read as code is one deeper.
    level: usize,
    /// May what the text leaves open at its end be closed?
    may_complete: bool,
    /// The tools that a string with quotes of its own is held against.
    guard: Option<Guard<'a>>,
    /// Whether the arguments of a call are read.
    in_call: bool,
    /// Whether something was read over that may belong to a string with quotes of its own.
    has_doubt: bool,
    /// Where the last string that is a value begins.
    last_string: Option<usize>,
    /// Where a call begins that cannot be read: the text after it may be part of one of its strings.
    given_up: Option<usize>,
    /// The same, where it can be read in several ways.
    unreadable: Option<usize>,
    /// Whether the end of such strings is looked for.
    searches: bool,
    effort: Option<Effort>,
    /// What was found for places where the strict reading does not come to an end.
    searched: Vec<(usize, Outcome)>,
}

/// Where a text stands that is part of another one.
#[derive(Debug, Clone)]
pub(crate) struct Nesting {
    /// How deep.
    level: usize,
    fuel: Rc<Cell<usize>>,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `text`. Where `may_complete` holds, brackets that are open at the end of the text, or closed
    /// by another kind, are taken as closed.
    pub(crate) fn new(text: &'a str, may_complete: bool) -> Self {
        let fuel = LEAST_FUEL.saturating_add(text.len().saturating_mul(FUEL_PER_BYTE));
        Self::from_parts(text, may_complete, 0, Rc::new(Cell::new(fuel)))
    }

    fn from_parts(text: &'a str, may_complete: bool, level: usize, fuel: Rc<Cell<usize>>) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            fuel,
            level,
            may_complete,
            guard: None,
            in_call: false,
            has_doubt: false,
            last_string: None,
            given_up: None,
            unreadable: None,
            searches: true,
            effort: None,
            searched: Vec::new(),
        }
    }

    /// A reader of a text that stands within others; `None` where that is too deep.
    pub(crate) fn nested_in(text: &'a str, may_complete: bool, nesting: &Nesting) -> Option<Self> {
        let Nesting { level, fuel } = nesting.clone();
        (level <= MAX_NESTING).then(|| Self::from_parts(text, may_complete, level, fuel))
    }

    /// Where a text within this one stands.
    pub(crate) fn nesting_within(&self) -> Nesting {
        Nesting { level: self.level + 1, fuel: Rc::clone(&self.fuel) }
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// Has everything been read?
    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// The place, in bytes.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Goes to another place.
    pub(crate) fn go(&mut self, at: usize) {
        self.at = at.min(self.text.len());
        self.depth = 0;
    }

    /// What is left of the text; nothing where the fuel is spent.
    pub(crate) fn rest(&self) -> &'a str {
        if self.fuel.get() == 0 { "" } else { self.text.get(self.at..).unwrap_or_default() }
    }

    /// Does the text end here, or close another bracket than the one that is open, and may that be taken as the closing?
    pub(crate) fn completes(&self) -> bool {
        self.may_complete && self.fuel.get() > 0 && matches!(self.peek(), Some(']' | '}' | ')') | None)
    }

    /// May brackets that the text leaves open be closed?
    pub(crate) fn may_complete(&self) -> bool {
        self.may_complete
    }

    /// Passes over quotes, backslashes and brackets of other kinds that stand where only a comma or the bracket `close` can: they
    /// were written in the wrong order, or once too often.
    pub(crate) fn skip_stray(&mut self, close: &str) {
        while self.may_complete
            && !self.rest().starts_with(close)
            && self.rest().starts_with(['\'', '"', '\\', ')', ']', '}'])
        {
            let rest = self.rest().get(1..).unwrap_or_default().trim_start();
            if !(rest.is_empty() || rest.starts_with([',', ')', ']', '}'])) || self.advance(1).is_none() {
                return;
            }
            self.has_doubt = true;
        }
    }

    /// Goes back to `end`, as if brackets were closed there, where that may be and the line ends before.
    pub(crate) fn completes_before(&mut self, end: usize) -> bool {
        let kept = self.text.get(..end).unwrap_or_default().trim_end();
        let is_line_end = self.text.get(kept.len()..end).is_some_and(|space| space.contains('\n'));
        if self.may_complete && is_line_end {
            self.go(kept.len());
            return true;
        }
        false
    }

    /// The next character.
    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn byte(&self) -> Option<u8> {
        self.rest().as_bytes().first().copied()
    }

    /// Goes on by `bytes`, and pays for it; `None` where the fuel is spent.
    pub(crate) fn advance(&mut self, bytes: usize) -> Option<()> {
        self.fuel.set(self.fuel.get().checked_sub(bytes + 1)?);
        self.at += bytes;
        Some(())
    }

    /// Pays for `bytes` that were looked at in vain.
    pub(crate) fn burn(&mut self, bytes: usize) {
        self.fuel.set(self.fuel.get().saturating_sub(bytes));
    }

    /// Where `end` is next found, counted from here; paid for where it is not.
    pub(crate) fn find(&mut self, end: &str) -> Option<usize> {
        let found = self.rest().find(end);
        if found.is_none() {
            self.burn(self.rest().len());
        }
        found
    }

    /// Work that was paid for.
    #[cfg(test)]
    pub(crate) fn spent(&self) -> usize {
        LEAST_FUEL.saturating_add(self.text.len().saturating_mul(FUEL_PER_BYTE)) - self.fuel.get()
    }

    /// The text up to `end`, which is taken.
    pub(crate) fn up_to(&mut self, end: &str) -> Option<&'a str> {
        let length = self.find(end)?;
        let text = self.rest().get(..length)?;
        self.advance(length + end.len())?;
        Some(text)
    }

    /// Takes `expected`, where it is what comes next.
    pub(crate) fn take(&mut self, expected: &str) -> bool {
        self.rest().starts_with(expected) && self.advance(expected.len()).is_some()
    }

    /// Passes over white space and comments.
    pub(crate) fn skip_space(&mut self) -> Option<()> {
        loop {
            let rest = self.rest();
            let space = rest.len() - rest.trim_start().len();
            if space > 0 {
                self.advance(space)?;
            }
            let rest = self.rest();
            let comment = if rest.starts_with("//") || rest.starts_with("# ") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("\\\n") {
                2
            } else if rest.starts_with("/*") {
                self.find("*/")? + 2
            } else {
                return Some(());
            };
            // Behind a string, it may be a part of that.
            self.has_doubt |= self.text.get(..self.at).is_some_and(|text| text.trim_end().ends_with(['"', '\'']));
            self.advance(comment)?;
        }
    }

    /// A value; an expression that is no literal ends before a comma or closing bracket.
    pub(crate) fn value(&mut self) -> Option<Literal> {
        self.skip_space()?;
        let start = self.at;
        if let Some(literal) = self.literal() {
            let end = self.at;
            let is_divided = matches!(literal, Literal::Number(_)) && self.is_before_division();
            self.skip_space()?;
            let is_whole = !is_divided && self.is_at_end_of_value();
            self.at = end;
            if is_whole {
                return Some(literal);
            }
        }
        self.at = start;
        // A bracket with something in it that is no literal, or with a string that has quotes of its own.
        self.has_doubt |= matches!(self.byte(), Some(b'{' | b'[' | b'('));
        expression::read(self)
    }

    fn literal(&mut self) -> Option<Literal> {
        match self.byte()? {
            b'{' => self.nested(Self::object),
            b'[' => self.nested(|reader| reader.list(']')),
            b'(' => self.nested(Self::tuple),
            b'"' | b'\'' | b'`' => {
                self.last_string = Some(self.at);
                // JSON has no such strings: they may be two quotes of the string itself.
                self.has_doubt |= !self.in_call && self.rest().starts_with("\"\"\"");
                string::read(self).map(Literal::Text)
            }
            b'0'..=b'9' | b'+' | b'-' | b'.' => number::read(self),
            byte if byte.is_ascii_alphabetic() => self.word(),
            _ => string::read_typographic(self).map(Literal::Text),
        }
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Option<Literal>) -> Option<Literal> {
        if self.depth >= MAX_DEPTH {
            self.burn(usize::MAX);
            return None;
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn word(&mut self) -> Option<Literal> {
        let rest = self.rest();
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        let word = rest.get(..end)?;
        // A prefix of a Python string: raw, Unicode; those that compute something are expressions.
        if matches!(word, "r" | "u" | "R" | "U") && rest.get(end..)?.starts_with(['"', '\'']) {
            self.advance(end)?;
            self.last_string = Some(self.at);
            let (start, text) = (self.at, string::read(self)?);
            let source = self.text.get(start..self.at)?;
            let is_raw = matches!(word, "r" | "R");
            return Some(Literal::Text(if is_raw { string::raw(source)?.to_owned() } else { text }));
        }
        let literal = constant(word)?;
        self.advance(end)?;
        Some(literal)
    }

    /// A list after its opening bracket.
    fn list(&mut self, close: char) -> Option<Literal> {
        self.advance(1)?;
        let mut items = Vec::new();
        while !self.closes(close)? {
            items.push(self.value()?);
            self.separator()?;
        }
        Some(Literal::List(items))
    }

    /// A tuple, or a value in parentheses.
    fn tuple(&mut self) -> Option<Literal> {
        self.advance(1)?;
        let mut items = Vec::new();
        let mut is_tuple = false;
        while !self.closes(')')? {
            items.push(self.value()?);
            is_tuple |= self.separator()?;
        }
        match items.pop() {
            Some(only) if items.is_empty() && !is_tuple => Some(only),
            last => {
                items.extend(last);
                Some(Literal::List(items))
            }
        }
    }

    /// An object, or a set, after its opening bracket.
    fn object(&mut self) -> Option<Literal> {
        self.advance(1)?;
        let mut members = Vec::new();
        while !self.closes('}')? {
            let key = self.key()?;
            let value = self.value()?;
            members.push((key, value));
            self.separator()?;
        }
        Some(Literal::Object(members))
    }

    /// A key with its colon.
    fn key(&mut self) -> Option<String> {
        self.skip_space()?;
        let key = match self.byte()? {
            b'"' | b'\'' | b'`' => string::read(self)?,
            _ => match string::read_typographic(self) {
                Some(key) => key,
                None => self.bare_key()?,
            },
        };
        self.skip_space()?;
        (self.take(":") || self.take("=")).then_some(key)
    }

    fn bare_key(&mut self) -> Option<String> {
        let rest = self.rest();
        let end = rest.find(|letter: char| !(letter.is_alphanumeric() || "_-.$\\".contains(letter)))?;
        let key = rest.get(..end).filter(|key| !key.is_empty())?.replace("\\_", "_");
        self.advance(end)?;
        Some(key)
    }

    /// Takes a comma, where there is one, and tells whether there was.
    fn separator(&mut self) -> Option<bool> {
        self.skip_space()?;
        Some(self.take(","))
    }

    /// Takes the closing bracket, where it comes next. Another kind of bracket, or the end of the text, closes as well where
    /// completing is allowed; the bracket is then left to whom it belongs.
    fn closes(&mut self, close: char) -> Option<bool> {
        self.skip_space()?;
        match self.peek() {
            Some(next) if next == close => self.advance(1).map(|()| true),
            _ if self.completes() => {
                self.has_doubt = true;
                Some(true)
            }
            Some(']' | '}' | ')') | None => None,
            Some(_) => Some(false),
        }
    }

    /// Does `//` and a number come next? That divides, and begins no comment.
    fn is_before_division(&self) -> bool {
        let divisor = self.rest().trim_start_matches([' ', '\t']).strip_prefix("//");
        divisor.is_some_and(|rest| {
            rest.trim_start_matches([' ', '\t']).starts_with(|letter: char| letter.is_ascii_digit() || letter == '(')
        })
    }

    /// Does what comes next end a value?
    fn is_at_end_of_value(&self) -> bool {
        // A new line ends a value outside of brackets, such as an argument of an XML element.
        self.byte().is_none_or(|byte| matches!(byte, b',' | b')' | b']' | b'}' | b':' | b';'))
            || self.depth == 0 && !self.continues_on_this_line()
    }

    fn continues_on_this_line(&self) -> bool {
        let line = self.text.get(..self.at).unwrap_or_default();
        !line.trim_end_matches([' ', '\t']).ends_with('\n')
    }
}
