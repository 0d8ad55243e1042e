//! Parses values leniently.

mod doubt;
mod stray;

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::string::ScannedString;
use super::unescaped::{Effort, UnescapedGuard, UnescapedOutcome};
use super::value::{Literal, constant};
use super::{expression, number, string};
use crate::repair::rescue::call_names::MAX_WRAPPERS;
use callwright_scanner::ToolSet;
use stray::StrayEnds;

/// Maximum depth of nested brackets, which many JSON parsers also use.
pub(crate) const MAX_DEPTH: usize = 100;

/// Maximum depth of blocks of calls. Without end markers, each block contains the next one.
const MAX_BLOCKS: usize = 16;

/// Bytes of work for each byte of the text, over all attempts. This makes the total time linear in the text.
const FUEL_PER_BYTE: usize = 24;

/// Minimum work allowed for any text, however short.
const LEAST_FUEL: usize = 16_384;

/// Returns the work allowed for a text.
pub(super) fn fuel_for(text: &str) -> usize {
    LEAST_FUEL.saturating_add(text.len().saturating_mul(FUEL_PER_BYTE))
}

/// Parses values of a text from a position. Every method advances only on success, or if the fuel is spent.
#[derive(Debug, Clone)]
pub(crate) struct LiteralReader<'a> {
    pub(crate) text: &'a str,
    at: usize,
    depth: usize,
    /// Depth of the open blocks of calls.
    blocks: usize,
    /// Remaining work in bytes, shared with the readers of texts within this text.
    fuel: Rc<Cell<usize>>,
    /// Depth of nested texts: a string that is parsed as code is one level deeper.
    level: usize,
    /// Whether brackets left open at the end of the text may be closed.
    pub(crate) may_complete: bool,
    /// The tools that determine the end of strings with unescaped quotes.
    guard: Option<UnescapedGuard<'a>>,
    /// Whether a value is calls of these tools.
    are_calls: CallCheck,
    /// Whether the arguments of a call are being parsed.
    in_call: bool,
    /// Whether skipped text may belong to a string with unescaped quotes: a comment, or a bracket of another kind.
    pub(crate) has_doubt: bool,
    /// Whether strings follow each other without white space: Python joins them, and other languages escape quotes so.
    is_joined: bool,
    /// Position of the last string that is a value.
    last_string: Option<usize>,
    /// Position of a call that cannot be parsed. The text after it may be part of one of its strings.
    given_up: Option<usize>,
    /// Position of a call that cannot be parsed because it is ambiguous.
    pub(crate) unreadable: Option<usize>,
    /// Whether the end of such strings is searched for.
    searches: bool,
    effort: Option<Effort>,
    /// Cached search results for positions that the strict parser cannot complete.
    searched: HashMap<usize, UnescapedOutcome>,
    /// Lines that end a string and a bracket, for the values before them.
    stray_ends: StrayEnds,
    /// Positions from which a search for unmatched end tags finds none, in order.
    matched_tags: Vec<Range<usize>>,
}

/// Checks whether a value is complete calls of offered tools. The parser of calls uses this reader, and passes itself as
/// a function.
pub(crate) type CallCheck = fn(&Literal, &ToolSet, &Nesting) -> bool;

/// Position of a text that is part of another one.
#[derive(Debug, Clone)]
pub(crate) struct Nesting {
    /// Depth of the text.
    level: usize,
    fuel: Rc<Cell<usize>>,
}

impl<'a> LiteralReader<'a> {
    /// Creates a reader at the start of `text`. If `may_complete` is set, brackets that are open at the end of the
    /// text, or closed by another kind, are treated as closed.
    pub(crate) fn new(text: &'a str, may_complete: bool) -> Self {
        Self::from_parts(text, may_complete, 0, Rc::new(Cell::new(fuel_for(text))))
    }

    fn from_parts(text: &'a str, may_complete: bool, level: usize, fuel: Rc<Cell<usize>>) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            blocks: 0,
            fuel,
            level,
            may_complete,
            guard: None,
            are_calls: |_, _, _| false,
            in_call: false,
            has_doubt: false,
            is_joined: false,
            last_string: None,
            given_up: None,
            unreadable: None,
            searches: true,
            effort: None,
            searched: HashMap::new(),
            stray_ends: StrayEnds::default(),
            matched_tags: Vec::new(),
        }
    }

    /// Creates a reader of a text within another text; `None` if it is nested too deeply.
    pub(crate) fn nested_in(text: &'a str, may_complete: bool, nesting: &Nesting) -> Option<Self> {
        let Nesting { level, fuel } = nesting.clone();
        (level <= MAX_WRAPPERS).then(|| Self::from_parts(text, may_complete, level, fuel))
    }

    /// Returns the nesting of a text within this one.
    pub(crate) fn nesting_within(&self) -> Nesting {
        Nesting { level: self.level + 1, fuel: Rc::clone(&self.fuel) }
    }

    /// Whether the whole text was read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Returns the position in bytes.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Moves to another position.
    pub(crate) fn go(&mut self, at: usize) {
        self.at = at.min(self.text.len());
        self.depth = 0;
    }

    /// Returns the remaining text; empty if the fuel is spent.
    pub(crate) fn rest(&self) -> &'a str {
        if self.fuel.get() == 0 { "" } else { self.text.get(self.at..).unwrap_or_default() }
    }

    /// Whether the text ends here or closes another bracket than the open one, and this may be treated as closing it.
    pub(crate) fn completes(&self) -> bool {
        self.may_complete && self.fuel.get() > 0 && matches!(self.peek(), Some(']' | '}' | ')') | None)
    }

    /// Skips quotes, backslashes and brackets of other kinds where only a comma or the bracket `close` is valid. They
    /// are surplus or in the wrong order.
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

    /// Moves back to `end`, as if brackets were closed there, if completion is allowed and a line ends there.
    pub(crate) fn completes_before(&mut self, end: usize) -> bool {
        let kept = self.text.get(..end).unwrap_or_default().trim_end();
        let is_line_end = self.text.get(kept.len()..end).is_some_and(|space| space.contains('\n'));
        if self.may_complete && is_line_end {
            self.go(kept.len());
            return true;
        }
        false
    }

    /// Returns the next character.
    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn byte(&self) -> Option<u8> {
        self.rest().as_bytes().first().copied()
    }

    /// Parses a block of calls; `None` if too many are open, because each is a recursion.
    pub(crate) fn block<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let blocks = self.blocks;
        (blocks < MAX_BLOCKS).then_some(())?;
        self.blocks = blocks + 1;
        let result = read(self);
        self.blocks = blocks;
        result
    }

    /// Advances by `bytes` and consumes that much fuel; `None` if the fuel is spent.
    pub(crate) fn advance(&mut self, bytes: usize) -> Option<()> {
        let left = self.fuel.get().checked_sub(bytes + 1);
        self.fuel.set(left.unwrap_or_default());
        left?;
        self.at += bytes;
        Some(())
    }

    /// Whether the work allowed for the text is spent. Then the rest of the text was not searched for calls.
    pub(crate) fn is_spent(&self) -> bool {
        self.fuel.get() == 0 || self.effort.as_ref().is_some_and(Effort::is_spent)
    }

    /// Whether a search from here would find no unmatched end tag, by an earlier search.
    pub(crate) fn has_matched_tags(&self) -> bool {
        let next = self.matched_tags.partition_point(|range| range.end <= self.at);
        self.matched_tags.get(next).is_some_and(|range| range.contains(&self.at))
    }

    /// Records that searches from these positions find no unmatched end tag.
    pub(crate) fn set_matched_tags(&mut self, positions: Vec<Range<usize>>) {
        self.matched_tags = positions;
    }

    /// Consumes fuel for `bytes` that were searched without success.
    pub(crate) fn burn(&mut self, bytes: usize) {
        self.fuel.set(self.fuel.get().saturating_sub(bytes));
    }

    /// Returns the offset of the next `end`. Consumes fuel if there is none.
    pub(crate) fn find(&mut self, end: &str) -> Option<usize> {
        let found = self.rest().find(end);
        if found.is_none() {
            self.burn(self.rest().len());
        }
        found
    }

    /// Returns the fuel that was consumed.
    #[cfg(test)]
    pub(crate) fn spent(&self) -> usize {
        LEAST_FUEL.saturating_add(self.text.len().saturating_mul(FUEL_PER_BYTE)) - self.fuel.get()
    }

    /// Returns the text up to `end`, and consumes both.
    pub(crate) fn up_to(&mut self, end: &str) -> Option<&'a str> {
        let length = self.find(end)?;
        let text = self.rest().get(..length)?;
        self.advance(length + end.len())?;
        Some(text)
    }

    /// Reads, and stays at this position if that is not possible.
    pub(crate) fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let start = self.at;
        let found = read(self);
        if found.is_none() {
            self.go(start);
        }
        found
    }

    /// Skips blanks within a line.
    pub(crate) fn skip_blanks(&mut self) -> Option<()> {
        let rest = self.rest();
        self.advance(rest.len() - rest.trim_start_matches([' ', '\t']).len())
    }

    /// Consumes `expected` if it comes next, and returns whether it did.
    pub(crate) fn take(&mut self, expected: &str) -> bool {
        self.rest().starts_with(expected) && self.advance(expected.len()).is_some()
    }

    /// Skips white space and comments.
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
            // After a string, the comment may be a part of the string.
            self.has_doubt |= self.text.get(..self.at).is_some_and(|text| text.trim_end().ends_with(['"', '\'']));
            self.advance(comment)?;
        }
    }

    /// Parses a value. An expression that is not a literal ends before a comma or a closing bracket.
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
        // The bracket contains an expression, or a string with unescaped quotes.
        self.has_doubt |= matches!(self.byte(), Some(b'{' | b'[' | b'('));
        self.expression()
    }

    fn expression(&mut self) -> Option<Literal> {
        let rest = self.rest();
        let Some(length) = expression::extent(rest) else {
            self.burn(rest.len());
            return None;
        };
        self.advance(length)?;
        expression::value(rest.get(..length)?)
    }

    fn number(&mut self) -> Option<Literal> {
        let (length, digits) = number::scan(self.rest())?;
        self.advance(length)?;
        Some(Literal::Number(digits))
    }

    /// Parses a string in ASCII quotes.
    fn string(&mut self) -> Option<String> {
        self.scanned(string::scan(self.rest()))
    }

    /// Parses a string that Python joins with the one before it: white space is between them, and the value ends
    /// after the last one. Otherwise, the quotes may belong to the first string.
    fn adjacent_string(&mut self) -> Option<String> {
        let start = self.at;
        let found = self.in_call.then(|| self.string_after_space()).flatten();
        if found.is_none() {
            self.at = start;
        }
        found
    }

    fn string_after_space(&mut self) -> Option<String> {
        let rest = self.rest();
        let inner = rest.trim_start();
        if !inner.starts_with(['"', '\'']) {
            return None;
        }
        self.advance(rest.len() - inner.len())?;
        let text = self.string()?;
        let behind = self.rest().trim_start();
        let is_end = behind.is_empty() || behind.starts_with([',', ')', ']', '}', '"', '\'']);
        self.is_joined |= is_end && inner.len() == rest.len();
        (is_end && inner.len() < rest.len()).then_some(text)
    }

    fn typographic_string(&mut self) -> Option<String> {
        self.scanned(string::scan_typographic(self.rest()))
    }

    fn scanned(&mut self, found: Result<ScannedString, usize>) -> Option<String> {
        match found {
            Ok(ScannedString { length, text }) => {
                self.advance(length)?;
                text
            }
            Err(searched) => {
                self.burn(searched);
                None
            }
        }
    }

    fn literal(&mut self) -> Option<Literal> {
        match self.byte()? {
            b'{' => self.nested(Self::object),
            b'[' => self.nested(|reader| reader.list(']')),
            b'(' => self.nested(Self::tuple),
            b'"' | b'\'' | b'`' => {
                self.last_string = Some(self.at);
                // JSON has no such strings: two of the quotes may belong to the string itself.
                self.has_doubt |= !self.in_call && self.rest().starts_with("\"\"\"");
                let mut text = self.string()?;
                while let Some(next) = self.adjacent_string() {
                    text.push_str(&next);
                }
                Some(Literal::Text(text))
            }
            b'0'..=b'9' | b'+' | b'-' | b'.' => self.number(),
            byte if byte.is_ascii_alphabetic() => self.word(),
            _ => self.typographic_string().map(Literal::Text),
        }
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Option<Literal>) -> Option<Literal> {
        if self.depth >= MAX_DEPTH {
            self.burn(usize::MAX);
            return None;
        }
        // Reading may move the reader, which resets the depth.
        let depth = self.depth;
        self.depth = depth + 1;
        let result = read(self);
        self.depth = depth;
        result
    }

    fn word(&mut self) -> Option<Literal> {
        let rest = self.rest();
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        let word = rest.get(..end)?;
        // Accepts the prefixes of raw and Unicode Python strings. Strings with other prefixes are expressions.
        if matches!(word, "r" | "u" | "R" | "U") && rest.get(end..)?.starts_with(['"', '\'']) {
            self.advance(end)?;
            self.last_string = Some(self.at);
            let (start, text) = (self.at, self.string()?);
            let source = self.text.get(start..self.at)?;
            let is_raw = matches!(word, "r" | "R");
            return Some(Literal::Text(if is_raw { string::raw(source)?.to_owned() } else { text }));
        }
        let literal = constant(word)?;
        self.advance(end)?;
        Some(literal)
    }

    /// Parses a list from its opening bracket.
    fn list(&mut self, close: char) -> Option<Literal> {
        self.advance(1)?;
        let mut items = Vec::new();
        while !self.closes(close)? {
            items.push(self.value()?);
            self.separator()?;
        }
        Some(Literal::List(items))
    }

    /// Parses a tuple, or a value in parentheses.
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

    /// Parses an object from its opening bracket.
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

    /// Parses a key with its colon or equals sign.
    fn key(&mut self) -> Option<String> {
        self.skip_space()?;
        let key = match self.byte()? {
            b'"' | b'\'' | b'`' => self.string()?,
            _ => match self.typographic_string() {
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

    /// Consumes a comma if it comes next, and returns whether it did.
    fn separator(&mut self) -> Option<bool> {
        self.skip_space()?;
        Some(self.take(","))
    }

    /// Consumes the closing bracket if it comes next. If completion is allowed, another kind of bracket or the end of
    /// the text also closes; that bracket is not consumed.
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

    /// Whether `//` and a number follow, which is a division and not a comment.
    fn is_before_division(&self) -> bool {
        let divisor = self.rest().trim_start_matches([' ', '\t']).strip_prefix("//");
        divisor.is_some_and(|rest| {
            rest.trim_start_matches([' ', '\t']).starts_with(|letter: char| letter.is_ascii_digit() || letter == '(')
        })
    }

    /// Whether the next character ends a value.
    fn is_at_end_of_value(&self) -> bool {
        // Outside brackets, a new line ends a value, such as an argument of an XML element.
        self.byte().is_none_or(|byte| matches!(byte, b',' | b')' | b']' | b'}' | b':' | b';'))
            || self.depth == 0 && !self.continues_on_this_line()
    }

    fn continues_on_this_line(&self) -> bool {
        let line = self.text.get(..self.at).unwrap_or_default();
        !line.trim_end_matches([' ', '\t']).ends_with('\n')
    }
}
