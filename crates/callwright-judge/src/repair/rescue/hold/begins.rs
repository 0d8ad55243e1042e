//! Decides whether a call begins at a position of a streamed text.
//!
//! The check is repeated with every piece until the result is certain. A certain result does not depend on the text
//! that follows.

use super::super::body::TOOL_CALL;
use super::super::notations::NotationMark;
use super::super::python::{KEYWORDS, MAX_DEPTH, WRAPPERS};
use super::super::statement::SHELLS;
use super::marks::{self, HoldMarkMatch};
use super::names::{FoldedToolNames, may_become_member, member};

/// Result of examining the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BeginningMatch {
    /// Undecided: more text is required.
    More,
    /// No call.
    Text,
    /// A call may be between this bracket and the one that closes it.
    Bracket {
        /// Position of the bracket.
        at: usize,
        /// Whether the bracket contains data, which must have a certain shape, and not code.
        is_data: bool,
    },
    /// A marker that is reserved for calls is in the code fence.
    Mark,
    /// A call without brackets begins.
    Call {
        /// Number of bytes after which the call is certain.
        at: usize,
    },
}

/// Classifies the beginnings of texts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beginnings<'a> {
    pub(super) names: &'a FoldedToolNames,
    /// Whether the request requires a JSON answer. If set, data is that answer.
    pub(super) json_wanted: bool,
}

impl Beginnings<'_> {
    /// Examines a line from its first character. List markers, emphasis and chat template tokens may precede a call.
    pub(super) fn line(self, text: &str) -> BeginningMatch {
        let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let digits = text.len() - rest.len();
        let marked = if digits > 0 { rest.strip_prefix(['.', ')']) } else { rest.strip_prefix(['-', '*', '•', '+']) };
        let at = match marked {
            Some("") => return BeginningMatch::More,
            Some(item) if item.starts_with(' ') => text.len() - item.len(),
            _ if digits > 0 => return if rest.is_empty() { BeginningMatch::More } else { BeginningMatch::Text },
            _ => 0,
        };
        let Some(at) = special_tokens(text, skip(text, at, &[' '])) else { return BeginningMatch::More };
        let at = skip(text, at, &['*', '`', ' ']);
        match text.get(at..).unwrap_or_default().strip_prefix('\\') {
            Some("") => BeginningMatch::More,
            // Markdown and TeX escape brackets.
            Some(bracket) if bracket.starts_with('[') => self.statement(text, at + 1, MAX_DEPTH),
            _ => self.statement(text, at, MAX_DEPTH),
        }
    }

    /// Examines a position within a line, after a label or an assignment.
    pub(super) fn place(self, text: &str) -> BeginningMatch {
        self.statement(text, 0, MAX_DEPTH)
    }

    /// Examines a code fence from its marker, with its first statement.
    pub(super) fn fence(self, text: &str, marker: usize) -> BeginningMatch {
        let info = text.get(marker..).unwrap_or_default();
        let word = info.find(|letter: char| !(letter.is_alphanumeric() || "_-+#.".contains(letter)));
        let Some(word) = word else { return BeginningMatch::More };
        let after = info.get(word..).unwrap_or_default();
        if after.starts_with('(') {
            return self.statement(text, marker, MAX_DEPTH);
        }
        // The info string may be the name of the tool whose arguments the code fence contains.
        if self.names.contain(info.get(..word).unwrap_or_default()) {
            match named_object(text, skip_space(text, marker + word)) {
                BeginningMatch::Text => {}
                look => return look,
            }
        }
        let at = text.len() - after.trim_start().len();
        let content = text.get(at..).unwrap_or_default();
        match marks::look(content, self.names, true, |_| false) {
            _ if content.is_empty() => BeginningMatch::More,
            HoldMarkMatch::Start => BeginningMatch::More,
            HoldMarkMatch::Mark(NotationMark::Notation(_) | NotationMark::Tag, _) => BeginningMatch::Mark,
            HoldMarkMatch::Mark(..) | HoldMarkMatch::Nothing => match self.line(content) {
                BeginningMatch::Bracket { at: inner, is_data } => BeginningMatch::Bracket { at: at + inner, is_data },
                BeginningMatch::Call { at: inner } => BeginningMatch::Call { at: at + inner },
                look => look,
            },
        }
    }

    /// Examines the text after a marker that is a common word unless a call follows it.
    pub(super) fn behind_word(self, mark: &str, text: &str) -> BeginningMatch {
        let fence = text.trim_start();
        if fence.starts_with("```") {
            return BeginningMatch::Mark;
        }
        if "```".starts_with(fence) {
            return BeginningMatch::More;
        }
        let at = text.len() - text.trim_start_matches([' ', '\t', '\r', '\n', ':', '`', '*', '"', '[']).len();
        let rest = text.get(at..).unwrap_or_default();
        let name = rest.find(|letter: char| !is_name_part(letter));
        match rest.chars().next() {
            _ if mark.ends_with('{') => BeginningMatch::Mark,
            None => BeginningMatch::More,
            Some('{' | '<') => BeginningMatch::Mark,
            Some(_) if name.is_none() && self.names.may_become(rest) => BeginningMatch::More,
            Some(_) => {
                let name = rest.get(..name.unwrap_or(rest.len())).unwrap_or_default();
                if self.names.contain(name.trim_end_matches([':', '.', '/', '-'])) {
                    BeginningMatch::Mark
                } else {
                    BeginningMatch::Text
                }
            }
        }
    }

    fn statement(self, text: &str, at: usize, depth: usize) -> BeginningMatch {
        let Some(depth) = depth.checked_sub(1) else { return BeginningMatch::Text };
        let rest = text.get(at..).unwrap_or_default();
        if let Some(word) = KEYWORDS.iter().find(|word| rest.starts_with(**word)) {
            return self.statement(text, skip(text, at + word.len(), &[' ']), depth);
        }
        match rest.chars().next() {
            None => BeginningMatch::More,
            Some('{') => self.object(text, at),
            Some('[' | '(') => self.list(text, at, depth),
            Some('"' | '\'') => self.name(text, at + 1, depth),
            Some(letter) if begins_name(letter) => self.name(text, at, depth),
            Some(_) => BeginningMatch::Text,
        }
    }

    /// Examines `name(`, `name {`, the object on the next line, and `print(name(`.
    fn name(self, text: &str, at: usize, depth: usize) -> BeginningMatch {
        let rest = text.get(at..).unwrap_or_default();
        let Some(length) = rest.find(|letter: char| !is_name_part(letter)) else {
            let is_path = rest.rsplit_once('/').is_some_and(|(name, _)| self.names.contain(name));
            return if is_path || self.may_become_name(rest) { BeginningMatch::More } else { BeginningMatch::Text };
        };
        let name = rest.get(..length).unwrap_or_default().trim_end_matches([':', '.', '/', '-']);
        let end = at + length;
        // The form `name/parameter>value`.
        if let Some((tool, parameter)) = name.rsplit_once('/')
            && !parameter.is_empty()
            && self.names.contain(tool)
            && text.get(end..).is_some_and(|rest| rest.starts_with('>'))
        {
            return BeginningMatch::Call { at: end + 1 };
        }
        if WRAPPERS.contains(&name)
            && text.get(end..).is_some_and(|rest| rest.starts_with('('))
            && !self.names.contain(name)
        {
            return self.within(self.statement(text, skip_space(text, end + 1), depth), end);
        }
        if !self.names.contain(name) {
            return BeginningMatch::Text;
        }
        let at = skip(text, end, &[' ', ':', '`', '*', '"', '\'', '\r']);
        match text.get(at..).unwrap_or_default().chars().next() {
            None => BeginningMatch::More,
            Some('(' | '{') => BeginningMatch::Bracket { at, is_data: false },
            Some('\n') => named_object(text, skip_space(text, at)),
            Some(_) => assignment(text, end),
        }
    }

    fn may_become_name(self, start: &str) -> bool {
        self.names.may_become(start) || KEYWORDS.iter().chain(&WRAPPERS).any(|word| word.starts_with(start))
    }

    fn may_become_key(self, start: &str) -> bool {
        may_become_member(start) || self.names.may_become(start)
    }

    /// Examines `{"name":`, `{tool:` and `{tool(`.
    fn object(self, text: &str, open: usize) -> BeginningMatch {
        let at = skip_space(text, open + 1);
        let rest = text.get(at..).unwrap_or_default();
        let quote = rest.chars().next().filter(|letter| matches!(letter, '"' | '\''));
        let inner = rest.get(usize::from(quote.is_some())..).unwrap_or_default();
        let length = match quote {
            Some(quote) => inner.find(quote),
            None => inner.find(|letter: char| !is_name_part(letter) || letter == ':'),
        };
        let word = inner.find(|letter: char| !is_name_part(letter)).unwrap_or(inner.len());
        if quote.is_some() && inner.get(word..).is_some_and(|rest| rest.starts_with('(')) {
            // A call as a string in a set.
            let is_call = self.names.contain(inner.get(..word).unwrap_or_default());
            return if is_call { BeginningMatch::Bracket { at: open, is_data: false } } else { BeginningMatch::Text };
        }
        let Some(length) = length else {
            return if self.may_become_key(inner) { BeginningMatch::More } else { BeginningMatch::Text };
        };
        let key = inner.get(..length).unwrap_or_default();
        let is_tool = self.names.contain(key);
        if !self.may_become_key(key) || (member(key).is_none() && !is_tool) {
            return BeginningMatch::Text;
        }
        let end = at + 2 * usize::from(quote.is_some()) + length;
        let end = skip_space(text, end);
        match text.get(end..).unwrap_or_default().chars().next() {
            None => BeginningMatch::More,
            Some(':') if self.json_wanted => BeginningMatch::Text,
            Some(':') => BeginningMatch::Bracket { at: open, is_data: true },
            Some('(') if is_tool => BeginningMatch::Bracket { at: open, is_data: false },
            Some(_) => BeginningMatch::Text,
        }
    }

    /// Examines a list of calls, as data or as code, and `["name", {...}]`.
    fn list(self, text: &str, open: usize, depth: usize) -> BeginningMatch {
        let at = skip_space(text, open + 1);
        let rest = text.get(at..).unwrap_or_default();
        let quote = rest.chars().next().filter(|letter| matches!(letter, '"' | '\'' | '`'));
        let Some(quote) = quote else {
            let name = rest.split(|letter| !is_name_part(letter)).next().unwrap_or_default();
            let is_pair = rest.get(name.len()..).is_some_and(|rest| rest.starts_with(','));
            return match is_pair && self.names.contain(name) {
                true => BeginningMatch::Bracket { at: open, is_data: false },
                false => self.within(self.statement(text, at, depth), open),
            };
        };
        let inner = rest.get(1..).unwrap_or_default();
        let Some(length) = inner.find(|letter: char| !is_name_part(letter)) else {
            return if self.may_become_name(inner) { BeginningMatch::More } else { BeginningMatch::Text };
        };
        let name = inner.get(..length).unwrap_or_default();
        let is_call = inner.get(length..).is_some_and(|rest| rest.starts_with(quote) || rest.starts_with('('));
        if is_call && (self.names.contain(name) || WRAPPERS.contains(&name)) {
            BeginningMatch::Bracket { at: open, is_data: false }
        } else {
            BeginningMatch::Text
        }
    }

    /// Replaces an inner bracket by the enclosing one at `open`, because the call ends with the latter.
    fn within(self, look: BeginningMatch, open: usize) -> BeginningMatch {
        match look {
            BeginningMatch::Bracket { is_data, .. } => BeginningMatch::Bracket { at: open, is_data },
            look => look,
        }
    }
}

/// Examines ` parameter=` after a name.
fn assignment(text: &str, end: usize) -> BeginningMatch {
    let at = skip(text, end, &[' ']);
    let word = text.get(skip(text, at, &['-'])..).unwrap_or_default();
    let length = word.find(|letter: char| !(letter.is_alphanumeric() || "_-.".contains(letter)));
    match length.map(|length| word.get(length..).unwrap_or_default()) {
        _ if at == end => BeginningMatch::Text,
        None => BeginningMatch::More,
        Some(rest) if rest.starts_with('=') && length > Some(0) => {
            BeginningMatch::Call { at: text.len() - rest.len() + 1 }
        }
        Some(_) => BeginningMatch::Text,
    }
}

/// Examines the object after a name, optionally in a code fence.
fn named_object(text: &str, at: usize) -> BeginningMatch {
    let rest = text.get(at..).unwrap_or_default();
    if rest.is_empty() || (rest.len() < 3 && "```".starts_with(rest)) {
        return BeginningMatch::More;
    }
    let at = match rest.strip_prefix("```") {
        None => at,
        Some(info) => {
            let Some(word) = info.find(|letter: char| !(letter.is_alphanumeric() || letter == '_')) else {
                return BeginningMatch::More;
            };
            skip_space(text, at + 3 + word)
        }
    };
    match text.get(at..).unwrap_or_default().chars().next() {
        None => BeginningMatch::More,
        Some('{') => BeginningMatch::Bracket { at, is_data: false },
        Some(_) => tool_call(text, at),
    }
}

/// Examines `tool_call(` in place of the object.
fn tool_call(text: &str, at: usize) -> BeginningMatch {
    let rest = text.get(at..).unwrap_or_default();
    if rest.starts_with(TOOL_CALL) {
        BeginningMatch::Bracket { at: at + TOOL_CALL.len() - 1, is_data: false }
    } else if TOOL_CALL.starts_with(rest) {
        BeginningMatch::More
    } else {
        BeginningMatch::Text
    }
}

/// Skips chat template tokens that leaked into the text; `None` if one is not complete.
fn special_tokens(text: &str, mut at: usize) -> Option<usize> {
    loop {
        let rest = text.get(at..).unwrap_or_default();
        if rest == "<" {
            return None;
        }
        match shell(rest) {
            Some(Some(length)) => {
                at = skip(text, at + length, &[' ']);
                continue;
            }
            Some(None) => return None,
            None => {}
        }
        let Some(token) = rest.strip_prefix("<|") else { return Some(at) };
        let length = token.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))?;
        match token.get(length..).unwrap_or_default() {
            "|" => return None,
            end if length > 0 && end.starts_with("|>") => at = skip(text, at + length + 4, &[' ']),
            _ => return Some(at),
        }
    }
}

/// Returns the number of bytes of a wrapper tag at this position; `Some(None)` if it is not complete.
fn shell(rest: &str) -> Option<Option<usize>> {
    let tag = rest.strip_prefix('<')?;
    SHELLS.iter().find_map(|name| match tag.strip_prefix(name) {
        Some("") => Some(None),
        Some(end) => end.starts_with('>').then_some(Some(name.len() + "<>".len())),
        None => name.starts_with(tag).then_some(None),
    })
}

fn begins_name(letter: char) -> bool {
    letter.is_alphabetic() || letter == '_' || letter == '\\'
}

fn is_name_part(letter: char) -> bool {
    letter.is_alphanumeric() || "_.-\\:/".contains(letter)
}

fn skip(text: &str, at: usize, letters: &[char]) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.len() - rest.trim_start_matches(letters).len()
}

fn skip_space(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.len() - rest.trim_start().len()
}
