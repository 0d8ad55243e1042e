//! Parses `call:name{a:<escape>text<escape>,b:1}` between markers (FunctionGemma), the variant of Gemma 4 with `<|"|>`
//! around strings, and calls without markers (malformed calls of Gemini).

use crate::repair::rescue::call_names::offered;
use crate::repair::rescue::literal::{Literal, LiteralReader, MAX_DEPTH};
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, element, python};
use callwright_scanner::{CompiledTool, ToolSet};

const CLOSES: [&str; 2] = ["<end_function_call>", "<tool_call|>"];
const CALL: &str = "call:";

/// Delimiters of a string.
const QUOTES: [&str; 2] = ["<escape>", "<|\"|>"];

/// Parses the calls between markers.
pub(crate) fn marked(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    reader.skip_space()?;
    if !reader.rest().starts_with(CALL) {
        // Calls in another notation between the same markers.
        return body::read(reader, tool_set, &CLOSES);
    }
    let calls = body::consecutive(
        reader,
        |reader| reader.take(CALL),
        |reader| {
            let call = call(reader, tool_set)?;
            reader.take(",");
            Some(vec![call])
        },
    )?;
    element::skip_end_tags(reader, &CLOSES);
    Some(calls)
}

/// Parses the call without markers.
pub(crate) fn bare(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    Some(vec![call(reader, tool_set)?])
}

/// Position of a value within a call.
#[derive(Clone, Copy)]
struct GemmaContext<'a> {
    /// The called tool, if it is offered.
    tool: Option<&'a CompiledTool>,
    /// Remaining depth of nested brackets.
    depth: usize,
    /// Whether the value is an item of a list.
    is_item: bool,
}

impl GemmaContext<'_> {
    fn nested(self, is_item: bool) -> Option<Self> {
        Some(Self { depth: self.depth.checked_sub(1)?, is_item, ..self })
    }

    /// Whether a comma and the name of another argument, or of a member of an object, are in `text`.
    fn holds_key(self, text: &str) -> bool {
        let keys = text.split(',').skip(1).filter_map(|part| part.split_once([':', '=']));
        let mut names = keys.map(|(key, _)| key.trim());
        names.any(|name| {
            let is_nested = self.depth + 1 < MAX_DEPTH;
            self.tool.is_none_or(|tool| tool.has_parameter(name)) || is_nested && !name.contains(char::is_whitespace)
        })
    }
}

/// Parses `name{...}`.
fn call(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<WrittenCall> {
    let name = python::name(reader)?;
    let context = GemmaContext { tool: offered(&name, tool_set), depth: MAX_DEPTH, is_item: false };
    let members = members(reader, context)?;
    Some(WrittenCall::named(name, members))
}

/// Parses the members between a pair of braces.
fn members(reader: &mut LiteralReader<'_>, context: GemmaContext<'_>) -> Option<Vec<(String, Literal)>> {
    let context = context.nested(false)?;
    // Some answers use parentheses instead of the template's braces, with keys as in Python.
    let close = if reader.take("{") {
        "}"
    } else {
        reader.take("(").then_some(())?;
        ")"
    };
    let mut members = Vec::new();
    loop {
        reader.skip_space()?;
        if reader.take(close) || reader.completes() {
            return Some(members);
        }
        let key = key(reader, if close == ")" { &[':', '='] } else { &[':'] })?;
        members.push((key, value(reader, context)?));
        reader.skip_space()?;
        reader.take(",");
    }
}

/// Parses a key with one of the `signs` after it.
fn key(reader: &mut LiteralReader<'_>, signs: &[char]) -> Option<String> {
    if let Some(key) = quoted(reader)? {
        reader.take(":").then_some(())?;
        return Some(key);
    }
    let rest = reader.rest();
    let length = rest
        .find([':', '=', ',', '{', '}', '[', ']', '<', '\n'])
        .filter(|end| rest.get(*end..).is_some_and(|rest| rest.starts_with(signs)))?;
    let key = rest.get(..length)?.trim().trim_matches(['"', '\'']).to_owned();
    reader.advance(length + 1)?;
    Some(key)
}

/// Parses a string in the quotes of the notation. Returns `Some(None)` if there is no such string, and `None` if it is
/// not closed.
fn quoted(reader: &mut LiteralReader<'_>) -> Option<Option<String>> {
    let Some(quote) = QUOTES.into_iter().find(|quote| reader.take(quote)) else { return Some(None) };
    let text = reader.up_to(quote)?;
    // If any other content follows, a quote is missing, and this one belongs to another string.
    let ends = reader.rest().trim_start();
    let is_end = ends.is_empty() || ends.starts_with([',', ':', '}', ')', ']']);
    is_end.then(|| Some(text.to_owned()))
}

fn value(reader: &mut LiteralReader<'_>, context: GemmaContext<'_>) -> Option<Literal> {
    reader.skip_space()?;
    let start = reader.at();
    match quoted(reader) {
        Some(Some(text)) => return Some(Literal::Text(text)),
        Some(None) => {}
        None => {
            reader.go(start);
            return unclosed(reader, context).map(Literal::Text);
        }
    }
    match reader.peek()? {
        '{' => members(reader, context).map(Literal::Object),
        '[' => list(reader, context),
        '"' | '\'' => in_quotes(reader),
        _ => {
            let text = match reader.value()? {
                Literal::Source(text) => text,
                value => return Some(value),
            };
            let end = reader.at();
            reader.go(start);
            if let Some(text) = unopened(reader, context)? {
                return Some(Literal::Text(text));
            }
            reader.go(end);
            // In this notation a string may be unquoted, but then it contains no quote of the notation.
            (!QUOTES.iter().any(|quote| text.contains(quote))).then_some(Literal::Text(text))
        }
    }
}

/// Parses a string without its opening quote, up to the next quote of the notation. Returns `Some(None)` if that quote
/// is no closing quote of this value, and `None` if it may close more than one.
fn unopened(reader: &mut LiteralReader<'_>, context: GemmaContext<'_>) -> Option<Option<String>> {
    let rest = reader.rest();
    let line = rest.split(['\n', '{', '}', '[', ']']).next()?;
    let found = QUOTES.iter().filter_map(|quote| Some((line.find(quote)?, quote.len()))).min();
    let Some((length, quote)) = found else {
        reader.burn(line.len());
        return Some(None);
    };
    reader.burn(length);
    let text = line.get(..length)?;
    let behind = rest.get(length + quote..)?.trim_start();
    let is_end = behind.is_empty() || behind.starts_with([',', '}', ')', ']']);
    let is_opening = text.trim_end().is_empty() || text.trim_end().ends_with([',', ':', '=']);
    if !is_end || is_opening || text.contains('"') || context.holds_key(text) {
        return Some(None);
    }
    (!context.is_item || !text.contains(',')).then_some(())?;
    reader.advance(length + quote)?;
    Some(Some(text.to_owned()))
}

/// Parses a string without its closing quote that is the last value of its call: it ends before the last brace, which
/// ends the call.
fn unclosed(reader: &mut LiteralReader<'_>, context: GemmaContext<'_>) -> Option<String> {
    let quote = QUOTES.into_iter().find(|quote| reader.take(quote))?;
    let rest = reader.rest();
    let length = CLOSES.iter().filter_map(|close| rest.find(close)).min();
    if length.is_none() && !reader.may_complete {
        return None;
    }
    let length = length.unwrap_or(rest.len());
    reader.burn(length);
    let text = rest.get(..length)?.trim_end().strip_suffix(['}', ')'])?;
    let is_whole = context.depth + 1 == MAX_DEPTH
        && !text.is_empty()
        && !text.contains(quote)
        && !text.contains(['{', '}', '[', ']', '(', ')', '"', '\n'])
        && !context.holds_key(text);
    is_whole.then_some(())?;
    reader.advance(text.len())?;
    Some(text.to_owned())
}

/// Parses a string in ordinary quotes that a stray quote of the notation may follow.
fn in_quotes(reader: &mut LiteralReader<'_>) -> Option<Literal> {
    let rest = reader.rest();
    let quote = rest.chars().next()?;
    let inner = rest.get(1..)?;
    for (at, _) in inner.match_indices(quote) {
        let behind = inner.get(at + 1..).unwrap_or_default();
        let Some(after) = QUOTES.iter().find_map(|quote| behind.strip_prefix(quote)) else { continue };
        let is_first = inner.get(..at).is_some_and(|text| !QUOTES.iter().any(|quote| text.contains(quote)));
        if is_first && after.trim_start().starts_with([',', '}', ')', ']']) {
            let value = LiteralReader::new(rest.get(..at + 2)?, false).data()?;
            reader.advance(at + 2 + behind.len() - after.len())?;
            return Some(value);
        }
        // Only the first quote of the notation may be a stray one.
        break;
    }
    reader.burn(inner.len());
    reader.value()
}

fn list(reader: &mut LiteralReader<'_>, context: GemmaContext<'_>) -> Option<Literal> {
    let context = context.nested(true)?;
    reader.take("[").then_some(())?;
    let mut items = Vec::new();
    loop {
        reader.skip_space()?;
        if reader.take("]") || reader.completes() {
            return Some(Literal::List(items));
        }
        items.push(value(reader, context)?);
        reader.skip_space()?;
        reader.take(",");
    }
}
