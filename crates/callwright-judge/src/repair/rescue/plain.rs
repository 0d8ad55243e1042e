//! Parses calls without brackets on one line: `name a="1" b="2"` in shell syntax, and `name/a>1`.

use super::call_names::{MAX_HEAD, offered};
use super::element::typed;
use super::literal::{Literal, LiteralReader};
use super::python;
use super::written::WrittenCall;
use callwright_scanner::{CompiledTool, ToolSet};

/// Whether such a call may begin with `rest`.
pub(super) fn may_begin(rest: &str, tool_set: &ToolSet) -> bool {
    let head = rest.get(..rest.floor_char_boundary(MAX_HEAD)).unwrap_or_default();
    let line = memchr::memchr(b'\n', head.as_bytes()).and_then(|end| head.get(..end)).unwrap_or(head);
    // This check alone dismisses most lines.
    if memchr::memchr2(b'>', b'=', line.as_bytes()).is_none() {
        return false;
    }
    if line.split_once('>').is_some_and(|(path, _)| path_of(path, tool_set).is_some()) {
        return true;
    }
    // An argument's name is followed by its sign directly, which most assignments of programs are not.
    let Some((before, _)) = line.split_once('=') else { return false };
    if before.ends_with(char::is_whitespace) {
        return false;
    }
    let mut words = before.split_whitespace();
    let (Some(name), Some(key), None) = (words.next(), words.next(), words.next()) else { return false };
    offered(name, tool_set).is_some_and(|tool| tool.has_parameter(key.trim_start_matches('-')))
}

/// Parses the calls that begin here, each on a separate line.
pub(super) fn read(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    if let Some(calls) = paths(reader, tool_set) {
        return Some(calls);
    }
    assignments(reader, tool_set).map(|call| vec![call])
}

/// Parses `name a="1" b="2"`, up to the end of the line or of its tag.
pub(super) fn assignments(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<WrittenCall> {
    reader.attempt(|reader| assigned(reader, tool_set))
}

fn assigned(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<WrittenCall> {
    let name = python::name(reader)?;
    let tool = offered(&name, tool_set)?;
    let mut members: Vec<(String, Literal)> = Vec::new();
    loop {
        let rest = reader.rest();
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t', ',']).len();
        reader.advance(blanks)?;
        let rest = reader.rest();
        if rest.is_empty() || rest.starts_with(['\n', '\r', '<', '`']) {
            break;
        }
        if reader.take("/>") || reader.take(">") {
            break;
        }
        // Values must be separated.
        (blanks > 0).then_some(())?;
        let (key, value) = rest.split_once('=')?;
        let key = key.trim_start_matches('-');
        tool.parameter(key)?;
        let (text, length) = word(value)?;
        members.push((key.to_owned(), typed(text, key, Some(tool))));
        reader.advance(rest.len() - value.len() + length)?;
        if reader.take("/>") || reader.take(">") {
            break;
        }
    }
    // A slash before the end tag is the remainder of an empty element.
    (!members.is_empty()).then(|| WrittenCall::named(name, members))
}

/// Parses a quoted value, or a literal without quotes, and returns it with its length. A value with backslashes is
/// ambiguous, and is rejected.
fn word(text: &str) -> Option<(&str, usize)> {
    if let Some(quote) = text.chars().next().filter(|letter| matches!(letter, '"' | '\'')) {
        let inner = text.get(1..)?.split([quote, '\n']).next()?;
        let behind = text.get(1 + inner.len()..)?.strip_prefix(quote)?;
        let ends = behind.is_empty() || behind.starts_with([' ', '\t', ',', '\n', '\r', '/', '>', '<', '`']);
        return (ends && !inner.contains('\\')).then_some((inner, inner.len() + 2));
    }
    let length = text.find(|letter: char| !(letter.is_alphanumeric() || "_.-".contains(letter))).unwrap_or(text.len());
    let word = text.get(..length)?;
    let is_literal = matches!(word, "true" | "false" | "null") || word.parse::<f64>().is_ok();
    is_literal.then_some((word, length))
}

/// Parses lines of `name/a>1`, each of which is a call.
fn paths(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let start = reader.at();
    let mut calls: Vec<WrittenCall> = Vec::new();
    let mut end = start;
    loop {
        let rest = reader.rest();
        // The name is near the start: a text without line breaks is not searched for its end at every statement.
        let head = rest.get(..rest.floor_char_boundary(MAX_HEAD)).unwrap_or_default();
        let found = head.split_once('>').and_then(|(path, _)| Some((path_of(path, tool_set)?, path.len() + 1)));
        let Some(((tool, key), value_start)) = found else { break };
        let line = rest.split('\n').next().unwrap_or_default();
        let value = line.get(value_start..).unwrap_or_default().trim_end_matches('\r');
        // Ambiguous: two arguments of one call, or two calls.
        if value.is_empty()
            || calls.iter().any(|call| call.name == tool.name() && !call.named.iter().any(|(had, _)| had == key))
        {
            calls.clear();
            break;
        }
        calls.push(WrittenCall::named(tool.name(), vec![(key.to_owned(), typed(value, key, Some(tool)))]));
        reader.advance(line.len())?;
        end = reader.at();
        if !reader.take("\n") {
            break;
        }
    }
    reader.go(if calls.is_empty() { start } else { end });
    (!calls.is_empty()).then_some(calls)
}

/// Returns the tool and the parameter of `name/parameter`.
fn path_of<'a, 't>(path: &'a str, tool_set: &'t ToolSet) -> Option<(&'t CompiledTool, &'a str)> {
    let (name, key) = path.rsplit_once('/')?;
    if path.contains(|letter: char| letter.is_whitespace() || "<\"'=".contains(letter)) {
        return None;
    }
    let tool = offered(name, tool_set)?;
    tool.parameter(key).map(|_| (tool, key))
}
