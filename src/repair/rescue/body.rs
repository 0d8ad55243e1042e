//! What stands between the marks of a notation: calls as data, as code, or as elements.

use super::literal::{Literal, Reader};
use super::written::Written;
use super::{element, python};
use crate::scanner::Toolbook;

/// Calls up to one of the marks `closes`, which is taken, or to the end of the text. `None` where something else stands there.
pub(super) fn read(reader: &mut Reader<'_>, toolbook: &Toolbook, closes: &[&str]) -> Option<Vec<Written>> {
    let mut calls = Vec::new();
    loop {
        let before = reader.at();
        reader.skip_space()?;
        if closes.iter().any(|close| reader.take(close)) || reader.is_at_end() {
            return (!calls.is_empty()).then_some(calls);
        }
        if !calls.is_empty() && skip_stray(reader, closes) {
            continue;
        }
        match item(reader, toolbook) {
            Some(more) => calls.extend(more),
            // A missing closing mark: what follows the calls is text again.
            None if !calls.is_empty() => {
                reader.go(before);
                return Some(calls);
            }
            None => return None,
        }
        reader.skip_space()?;
        if !reader.take(",") {
            reader.take(";");
        }
    }
}

/// Passes over brackets and quotes that were written once too often before one of the marks `closes`.
fn skip_stray(reader: &mut Reader<'_>, closes: &[&str]) -> bool {
    let rest = reader.rest();
    let length = rest.len() - rest.trim_start_matches(['}', ']', ')', '"', '\'', ' ', '\n']).len();
    let is_closed = rest.get(length..).is_some_and(|rest| closes.iter().any(|close| rest.starts_with(close)));
    length > 0 && is_closed && reader.advance(length).is_some()
}

/// One value, statement or element that holds calls.
fn item(reader: &mut Reader<'_>, toolbook: &Toolbook) -> Option<Vec<Written>> {
    fence(reader)?;
    if reader.rest().starts_with('<') {
        return element::calls(reader);
    }
    let start = reader.at();
    if let Some(calls) = python::sequence(reader, toolbook) {
        fence_end(reader);
        return Some(calls);
    }
    reader.go(start);
    let calls = named_object(reader)?;
    fence_end(reader);
    Some(vec![calls])
}

/// What ChatGLM calls on the line behind the tool's name.
const STAND_IN: &str = "tool_call(";

/// `name {...}`, `name: {...}`, the object on the same line or on the next; `name` and `tool_call(a=1)`.
pub(super) fn named_object(reader: &mut Reader<'_>) -> Option<Written> {
    let name = python::name(reader)?;
    reader.take(":");
    reader.skip_space()?;
    fence(reader)?;
    let call = if reader.take(STAND_IN) {
        python::with_arguments(reader, name)?
    } else {
        let arguments = reader.peek().filter(|next| *next == '{').and_then(|_| reader.data())?;
        Written::with_arguments(name, &arguments)?
    };
    fence_end(reader);
    Some(call)
}

/// Passes over the opening of a code fence.
fn fence(reader: &mut Reader<'_>) -> Option<()> {
    if reader.take("```") {
        let word = reader.rest().find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
        reader.advance(word)?;
        reader.skip_space()?;
    }
    Some(())
}

fn fence_end(reader: &mut Reader<'_>) {
    let start = reader.at();
    if reader.skip_space().is_none() || !reader.take("```") {
        reader.go(start);
    }
}

/// The arguments of a call whose name stands elsewhere: an object, in a fence or not, or nothing before one of the marks `closes`.
pub(super) fn arguments(reader: &mut Reader<'_>, closes: &[&str]) -> Option<Literal> {
    reader.skip_space()?;
    if reader.rest().is_empty() && reader.completes() || closes.iter().any(|close| reader.rest().starts_with(close)) {
        return Some(Literal::Null);
    }
    fence(reader)?;
    // A backtick is the start of a fence that was cut off, and quotes no arguments.
    let arguments = reader.peek().filter(|next| *next != '`').and_then(|_| reader.data())?;
    fence_end(reader);
    Some(arguments)
}
