//! Parses strings with unescaped quotes: `{"command": "grep "a b" notes.txt"}`.
//!
//! The end of such a string is ambiguous. The text after the quote must fit the grammar, and its names must fit the
//! schemas of the offered tools. All readings are followed up to a limit on steps, and a reading is accepted only if it
//! is the only one. This parser runs only if the strict one does not complete; well-formed texts never incur its cost.

mod ending;
mod names;
mod thread;

use std::collections::HashSet;
use std::rc::Rc;

use super::expression::closing;
use super::reader::{MAX_DEPTH, fuel_for};
use super::value::{Literal, constant};
use super::{number, string};
use crate::repair::rescue::call_names::{ARGUMENTS, MAX_NAME, NAMES, WRAPPERS, has_required};
use callwright_scanner::{CompiledTool, ToolSet};
pub(super) use thread::name_at;
use thread::{FrameRole, NextElement, Thread};

/// Maximum number of steps for any text, some tenths of a second. Texts with unescaped quotes that fit the grammar in many
/// ways are short; in a long one the first reading takes a few steps per byte.
const MAX_STEPS: usize = 4 << 20;

/// The tools whose names and parameters a text may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnescapedGuard<'a> {
    pub(super) tool_set: &'a ToolSet,
    /// Tool whose argument object is the outermost object, if it is known.
    pub(super) tool: Option<&'a CompiledTool>,
}

/// Result of a search.
#[derive(Debug, Clone)]
pub(super) enum UnescapedOutcome {
    /// No reading.
    Nothing,
    /// Several readings, or one that is uncertain.
    Several,
    /// One value, or the arguments of one call, with its end.
    One(UnescapedReading),
}

/// One parsed value.
#[derive(Debug, Clone)]
pub(super) struct UnescapedReading {
    /// The value. Arguments of a call are the members of an object; those without a name have an empty one.
    pub(super) value: Literal,
    /// Position where the value ends.
    pub(super) end: usize,
    /// Whether a string has two meanings: with or without escapes, or with an odd number of quotes.
    is_uncertain: bool,
}

/// Kind of text to parse.
#[derive(Debug, Clone, Copy)]
pub(super) enum UnescapedKind<'a> {
    /// A value that begins with a bracket.
    Value,
    /// The arguments of a call of this tool, after the opening parenthesis.
    Call(&'a CompiledTool),
}

/// The kind of text to parse, and the calls that it may contain.
#[derive(Clone, Copy)]
pub(super) struct UnescapedCriteria<'a, 'b> {
    pub(super) kind: UnescapedKind<'a>,
    pub(super) guard: UnescapedGuard<'a>,
    /// Whether a value is complete calls of offered tools.
    pub(super) are_calls: &'b dyn Fn(&Literal) -> bool,
}

/// State shared by all searches of one text.
#[derive(Debug, Clone)]
pub(super) struct Effort {
    /// Remaining number of steps.
    steps: usize,
    /// Names of members within arguments, over all tools.
    nested: Option<Rc<HashSet<String>>>,
}

impl Effort {
    pub(super) fn for_text(text: &str) -> Self {
        Self { steps: fuel_for(text).min(MAX_STEPS), nested: None }
    }

    /// Whether a search had too few steps.
    pub(super) fn is_spent(&self) -> bool {
        self.steps == 0
    }
}

/// Searches for the only reading of the value at `start`. Strings before `from` are parsed strictly.
pub(super) fn search<'a>(
    text: &'a str,
    start: usize,
    from: usize,
    criteria: UnescapedCriteria<'a, '_>,
    effort: &mut Effort,
) -> UnescapedOutcome {
    let mut search = UnescapedSearch { text, start, from, criteria, effort, limit: text.len(), readings: Vec::new() };
    if search.follow().is_none() {
        return UnescapedOutcome::Several;
    }
    match search.readings.as_slice() {
        [] => UnescapedOutcome::Nothing,
        [only] if !only.is_uncertain => UnescapedOutcome::One(only.clone()),
        _ => UnescapedOutcome::Several,
    }
}

/// Whether a call or its arguments may begin at `start`, by the name of the first member.
pub(super) fn begins_call(text: &str, start: usize, guard: UnescapedGuard<'_>) -> bool {
    let rest = text.get(start..).unwrap_or_default();
    let object = rest.trim_start_matches(['[', ' ', '\n']).strip_prefix('{').map(str::trim_start);
    let Some((key, _)) = object.and_then(|object| name_at(object, 0, false)) else { return false };
    // A template such as `{"name": ...}` is not a call.
    let is_pattern = rest.contains("...") || rest.contains('…');
    let is_part = [&NAMES[..], &ARGUMENTS, &WRAPPERS].iter().any(|names| names.contains(&key));
    (!is_pattern && is_part) || guard.tool_set.tools().iter().any(|tool| tool.has_parameter(key))
}

/// A string that begins at the position of the thread, and may be closed from `at` on.
#[derive(Debug)]
struct QuoteChoice<'a> {
    thread: Thread<'a>,
    quote: &'static str,
    at: usize,
    /// Number of quotes between the start of the string and `at`. Counted along the way, because the string may be long
    /// and have many possible ends.
    quotes: usize,
}

impl<'a> QuoteChoice<'a> {
    fn new(quote: &'static str, thread: Thread<'a>) -> Self {
        Self { at: thread.at + quote.len(), thread, quote, quotes: 0 }
    }
}

/// A position where a string may be closed.
struct Closing {
    at: usize,
    /// Number of quotes within the string up to here.
    quotes: usize,
    /// Position from which to search for another one.
    next: Option<usize>,
}

struct UnescapedSearch<'a, 'b> {
    text: &'a str,
    start: usize,
    from: usize,
    criteria: UnescapedCriteria<'a, 'b>,
    effort: &'b mut Effort,
    /// Upper limit of strings: the end of the markers around the value.
    limit: usize,
    readings: Vec<UnescapedReading>,
}

impl<'a> UnescapedSearch<'a, '_> {
    /// Follows every thread; `None` if the steps are spent.
    fn follow(&mut self) -> Option<()> {
        let mut thread = Thread { at: self.start, frames: Vec::new(), next: NextElement::Value, is_uncertain: false };
        if let UnescapedKind::Call(tool) = self.criteria.kind {
            thread.open(b')', FrameRole::Arguments(Some(tool)), true);
        }
        let mut choices: Vec<QuoteChoice<'a>> = Vec::new();
        self.run(thread, &mut choices)?;
        while let Some(mut choice) = choices.pop() {
            let Some(Closing { at: close, quotes, next }) = self.closing(&choice)? else { continue };
            // The cost of a copy is proportional to its content.
            self.pay((choice.thread.at - self.start) / 4 + 16)?;
            let (mut thread, quote) = (choice.thread.clone(), choice.quote);
            if let Some(next) = next {
                self.pay(close.saturating_sub(thread.at + quote.len()) / 16)?;
                (choice.at, choice.quotes) = (next, quotes + 1);
                choices.push(choice);
            }
            self.close_string(&mut thread, quote, close, quotes);
            if matches!(thread.next, NextElement::Separator) {
                self.run(thread, &mut choices)?;
            }
            if self.readings.len() > 1 {
                return Some(());
            }
        }
        Some(())
    }

    fn pay(&mut self, steps: usize) -> Option<()> {
        let left = self.effort.steps.checked_sub(steps);
        self.effort.steps = left.unwrap_or_default();
        left.map(drop)
    }

    fn rest(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or_default()
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Returns the position after white space.
    fn past_space(&self, at: usize) -> usize {
        let rest = self.rest(at);
        at + rest.len() - rest.trim_start().len()
    }

    /// Follows a thread up to its next string, its end, or a mismatch; `None` if the steps are spent.
    fn run(&mut self, mut thread: Thread<'a>, choices: &mut Vec<QuoteChoice<'a>>) -> Option<()> {
        loop {
            let at = self.past_space(thread.at);
            self.pay(1 + at - thread.at)?;
            thread.at = at;
            let Some(byte) = self.byte(at) else { return Some(()) };
            let frame = thread.frames.last_mut();
            let fits = match (thread.next, frame) {
                (NextElement::Separator | NextElement::Entry, Some(frame)) if byte == frame.close => {
                    thread.at += 1;
                    match self.close(&mut thread) {
                        Some(Some(value)) => {
                            self.end(value, &thread);
                            return Some(());
                        }
                        Some(None) => Some(()),
                        None => None,
                    }
                }
                (NextElement::Separator, Some(frame)) if byte == b',' => {
                    frame.has_comma = true;
                    thread.at += 1;
                    thread.next = NextElement::Entry;
                    Some(())
                }
                (NextElement::Entry, Some(frame)) if frame.close == b'}' || frame.is_call => self.name(&mut thread),
                (NextElement::Entry, Some(_)) => {
                    thread.next = NextElement::Value;
                    Some(())
                }
                (NextElement::Value, _) => match byte {
                    b'{' | b'[' | b'(' => self.open(&mut thread, byte),
                    b'"' | b'\'' | b'`' => {
                        self.choose(thread, byte, choices);
                        return Some(());
                    }
                    _ => self.scalar(&mut thread),
                },
                _ => None,
            };
            if fits.is_none() {
                return Some(());
            }
        }
    }

    /// Adds the possible quotes of a string as choices.
    fn choose(&self, thread: Thread<'a>, byte: u8, choices: &mut Vec<QuoteChoice<'a>>) {
        let (one, three) = match byte {
            b'"' => ("\"", "\"\"\""),
            b'\'' => ("'", "'''"),
            _ => ("`", "```"),
        };
        if byte != b'`' && self.rest(thread.at).starts_with(three) {
            choices.push(QuoteChoice::new(three, thread.clone()));
        }
        choices.push(QuoteChoice::new(one, thread));
    }

    /// Returns the next position where the string can be closed, and the position from which to search for another one.
    fn closing(&mut self, choice: &QuoteChoice<'a>) -> Option<Option<Closing>> {
        let is_strict = choice.thread.at < self.from;
        let mut at = choice.at;
        let mut quotes = choice.quotes;
        loop {
            let window = self.text.get(at..self.limit).unwrap_or_default();
            let Some(found) = window.find(choice.quote) else {
                self.pay(window.len() / 8)?;
                return Some(None);
            };
            self.pay(found / 8 + 1)?;
            let close = at + found;
            at = close + 1;
            let inner = choice.thread.at + choice.quote.len();
            if string::is_escaped(self.text, inner, close) || string::is_apostrophe(self.text, close, choice.quote) {
                continue;
            }
            if is_strict {
                return Some(Some(Closing { at: close, quotes, next: None }));
            }
            if self.can_follow(&choice.thread, close + choice.quote.len())? {
                return Some(Some(Closing { at: close, quotes, next: Some(at) }));
            }
            quotes += 1;
        }
    }

    /// Whether the text at `at` may follow a value of the innermost bracket.
    fn can_follow(&mut self, thread: &Thread<'a>, at: usize) -> Option<bool> {
        let next = self.past_space(at);
        self.pay(1 + next - at)?;
        let (Some(frame), Some(byte)) = (thread.frames.last(), self.byte(next)) else { return Some(false) };
        if byte == frame.close {
            return Some(true);
        }
        if byte != b',' {
            return Some(false);
        }
        let next = self.past_space(next + 1);
        let Some(byte) = self.byte(next) else { return Some(false) };
        if byte == frame.close {
            return Some(true);
        }
        if frame.close != b'}' && !frame.is_call {
            return Some(
                matches!(byte, b'{' | b'[' | b'(' | b'"' | b'\'' | b'-' | b'+' | b'.') || byte.is_ascii_alphanumeric(),
            );
        }
        self.pay(MAX_NAME / 8)?;
        let is_named = frame.entries.iter().any(|(key, _)| !key.is_empty()) || !frame.key.is_empty();
        Some(match name_at(self.text, next, frame.is_call) {
            Some((key, _)) => key != frame.key && self.is_known(frame, key),
            None => frame.is_call && !is_named,
        })
    }

    /// Closes the string that begins at the position of the thread and ends at `close`, with so many quotes in it.
    fn close_string(&self, thread: &mut Thread<'a>, quote: &str, close: usize, quotes: usize) {
        let inner = self.text.get(thread.at + quote.len()..close).unwrap_or_default();
        let value = string::unescape(inner);
        thread.at = close + quote.len();
        if quotes > 0 {
            // A model that does not escape quotes may not escape any character.
            thread.is_uncertain |= quotes % 2 == 1 || value.as_deref() != Some(inner);
            thread.put(Literal::Text(inner.to_owned()));
        } else if let Some(value) = value {
            thread.is_uncertain |= quote == "'" && value != inner && string::has_apostrophes(inner);
            thread.put(Literal::Text(value));
        } else {
            // Half of a surrogate pair is not a valid string.
            thread.next = NextElement::Value;
        }
    }

    fn open(&mut self, thread: &mut Thread<'a>, byte: u8) -> Option<()> {
        let role = match thread.frames.last() {
            Some(frame) => self.role_within(frame),
            None if self.criteria.guard.tool.is_some() => FrameRole::Arguments(self.criteria.guard.tool),
            None => FrameRole::Envelope,
        };
        (thread.frames.len() < MAX_DEPTH).then_some(())?;
        thread.at += 1;
        thread.open(closing(byte)?, role, false);
        Some(())
    }

    /// Closes the innermost bracket. Returns the value if it was the outermost bracket; `None` if a required parameter
    /// is missing.
    fn close(&mut self, thread: &mut Thread<'a>) -> Option<Option<Literal>> {
        let mut frame = thread.frames.pop()?;
        if let FrameRole::Arguments(Some(tool)) = frame.role
            && (frame.close == b'}' || frame.is_call)
            && !has_required(&frame.entries, tool)
        {
            return None;
        }
        let value = if frame.close == b'}' || frame.is_call {
            Literal::Object(frame.entries)
        } else if frame.close == b')' && frame.entries.len() == 1 && !frame.has_comma {
            frame.entries.pop()?.1
        } else {
            Literal::List(frame.entries.into_iter().map(|(_, item)| item).collect())
        };
        if thread.frames.is_empty() {
            return Some(Some(value));
        }
        thread.put(value);
        Some(None)
    }

    fn scalar(&mut self, thread: &mut Thread<'a>) -> Option<()> {
        let rest = self.rest(thread.at);
        let (length, value) = if let Some((length, digits)) = number::scan(rest) {
            (length, Literal::Number(digits))
        } else {
            let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
            (end, constant(rest.get(..end)?)?)
        };
        self.pay(length)?;
        thread.at += length;
        thread.put(value);
        Some(())
    }
}
