//! Calls as code: `name(a=1, b="x")`, alone, in lists, as strings, and wrapped in `print(...)`.

use super::literal::{Literal, Reader};
use super::shape;
use super::written::{Written, offered};
use crate::scanner::Toolbook;

/// Characters of a tool's name that are read; providers allow 64.
const MAX_NAME: usize = 160;

/// Lists within lists that calls are looked for in.
const MAX_DEPTH: usize = 4;

/// Functions around a call that do not change what is called.
pub(super) const WRAPPERS: [&str; 6] = ["print", "str", "display", "json.dumps", "asyncio.run", "repr"];

/// Does a function of this name only wrap a call?
pub(super) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.contains(&name)
}

/// The calls of a text that holds nothing else.
pub(super) fn whole(text: &str, toolbook: &Toolbook) -> Option<Vec<Written>> {
    let mut reader = Reader::new(text, false);
    let calls = sequence(&mut reader, toolbook)?;
    reader.skip_space()?;
    reader.rest().is_empty().then_some(calls)
}

/// `key=value` or `key: value`, and nothing else.
pub(super) fn keyword(text: &str) -> Option<(String, Literal)> {
    let mut reader = Reader::new(text, false);
    let key = key(&mut reader)?;
    let value = reader.value()?;
    reader.rest().trim().is_empty().then_some((key, value))
}

/// Calls that follow one another on a line: `f(a=1), g(b=2); h()`.
pub(super) fn sequence(reader: &mut Reader<'_>, toolbook: &Toolbook) -> Option<Vec<Written>> {
    let mut calls = item(reader, toolbook, MAX_DEPTH)?;
    loop {
        let end = reader.at();
        let is_separated = same_line(reader) && (reader.take(",") || reader.take(";"));
        match is_separated.then(|| reader.skip_space().and_then(|()| item(reader, toolbook, MAX_DEPTH))).flatten() {
            Some(more) => calls.extend(more),
            None => {
                reader.go(end);
                return Some(calls);
            }
        }
    }
}

/// Passes over blanks; does anything follow on this line?
fn same_line(reader: &mut Reader<'_>) -> bool {
    let rest = reader.rest();
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    reader.advance(blanks).is_some() && !reader.rest().is_empty()
}

/// One call, or a list of them.
fn item(reader: &mut Reader<'_>, toolbook: &Toolbook, depth: usize) -> Option<Vec<Written>> {
    let start = reader.at();
    let found = match reader.peek()? {
        '[' | '(' | '{' => list(reader, toolbook, depth),
        '"' | '\'' | '`' => quoted(reader, toolbook),
        _ => call(reader, toolbook, depth).map(|call| vec![call]),
    };
    if found.is_none() {
        reader.go(start);
    }
    found
}

/// A list, tuple or set of calls.
fn list(reader: &mut Reader<'_>, toolbook: &Toolbook, depth: usize) -> Option<Vec<Written>> {
    let depth = depth.checked_sub(1)?;
    let start = reader.at();
    if let Some(calls) = reader.data().and_then(|value| shape::calls(&value, toolbook)) {
        return Some(calls);
    }
    reader.go(start);
    let close = match reader.peek()? {
        '[' => "]",
        '(' => ")",
        _ => "}",
    };
    reader.advance(1)?;
    let mut calls = Vec::new();
    loop {
        reader.skip_space()?;
        if reader.take(close) {
            break;
        }
        if !calls.is_empty() && reader.completes() {
            break;
        }
        calls.extend(item(reader, toolbook, depth)?);
        reader.skip_space()?;
        reader.take(",");
    }
    if calls.is_empty() {
        return None;
    }
    subscripts(reader);
    Some(calls)
}

/// Calls within quotes; where the quotes of their arguments are not escaped, the closing quote is the one behind the call.
fn quoted(reader: &mut Reader<'_>, toolbook: &Toolbook) -> Option<Vec<Written>> {
    let start = reader.at();
    if let Some(Literal::Text(text)) = reader.data()
        && let Some(calls) = whole(&text, toolbook)
    {
        return Some(calls);
    }
    reader.go(start);
    if let Some(call) = call(reader, toolbook, 0) {
        // `'name'(a=1)`: only the name is quoted.
        return Some(vec![call]);
    }
    reader.go(start);
    let quote = reader.peek()?.to_string();
    reader.advance(quote.len())?;
    let calls = sequence(reader, toolbook)?;
    reader.take(&quote);
    Some(calls)
}

/// `name(...)`, where the name is not that of a function which only wraps a call.
fn call(reader: &mut Reader<'_>, toolbook: &Toolbook, depth: usize) -> Option<Written> {
    for word in ["await ", "return ", "yield "] {
        reader.take(word);
    }
    let name = name(reader)?;
    if !reader.take("(") {
        return None;
    }
    if is_wrapper(&name) && offered(&name, toolbook).is_none() {
        reader.skip_space()?;
        let call = call(reader, toolbook, depth.checked_sub(1)?)?;
        reader.skip_space()?;
        reader.take(",");
        reader.skip_space()?;
        return (reader.take(")") || reader.completes()).then_some(call);
    }
    let mut written = Written { name, positional: Vec::new(), named: Vec::new() };
    arguments(reader, &mut written)?;
    subscripts(reader);
    Some(written)
}

/// A name with dots, in quotes or without, Markdown's escapes undone.
pub(super) fn name(reader: &mut Reader<'_>) -> Option<String> {
    let quote = reader.peek().filter(|letter| matches!(letter, '"' | '\'' | '`'));
    reader.advance(usize::from(quote.is_some()))?;
    let rest = reader.rest();
    let is_part = |letter: char| letter.is_alphanumeric() || "_.-\\:/".contains(letter);
    let end = rest.char_indices().take(MAX_NAME).find(|(_, letter)| !is_part(*letter)).map(|(at, _)| at)?;
    let name = rest.get(..end)?;
    if !name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_' || letter == '\\') {
        return None;
    }
    // A colon behind the name is no part of it.
    let name = name.trim_end_matches([':', '.', '/', '-']);
    reader.advance(name.len())?;
    match quote {
        Some(quote) if !reader.take(&quote.to_string()) => None,
        _ => Some(shape::clean(name)),
    }
}

/// The arguments after the opening parenthesis, up to and with the closing one.
fn arguments(reader: &mut Reader<'_>, written: &mut Written) -> Option<()> {
    loop {
        reader.skip_space()?;
        if reader.take(")") || reader.completes() {
            return Some(());
        }
        if reader.take("**") {
            let Literal::Object(members) = reader.value()? else { return None };
            written.named.extend(members);
        } else {
            let start = reader.at();
            match key(reader) {
                Some(key) => {
                    let value = reader.value()?;
                    written.named.push((key, value));
                }
                None => {
                    reader.go(start);
                    let value = reader.value()?;
                    if !written.named.is_empty() {
                        return None;
                    }
                    written.positional.push(value);
                }
            }
        }
        reader.skip_space()?;
        if !reader.take(",") && !matches!(reader.peek(), Some(')') | None) && !reader.completes() {
            return None;
        }
    }
}

/// A parameter's name with `=` or `:`; not the left side of a comparison.
fn key(reader: &mut Reader<'_>) -> Option<String> {
    let quote = reader.peek().filter(|letter| matches!(letter, '"' | '\''));
    reader.advance(usize::from(quote.is_some()))?;
    let rest = reader.rest();
    let is_part = |letter: char| letter.is_alphanumeric() || "_-\\$.".contains(letter);
    let end = rest.char_indices().take(MAX_NAME).find(|(_, letter)| !is_part(*letter)).map(|(at, _)| at)?;
    let key = rest.get(..end)?;
    if !key.starts_with(|letter: char| letter.is_alphabetic() || letter == '_' || letter == '\\') {
        return None;
    }
    reader.advance(end)?;
    if let Some(quote) = quote
        && !reader.take(&quote.to_string())
    {
        return None;
    }
    reader.skip_space()?;
    if reader.rest().starts_with("==") || reader.rest().starts_with("::") {
        return None;
    }
    (reader.take("=") || reader.take(":")).then(|| key.replace('\\', ""))
}

/// What is done with the result, `[0]['price']`, says nothing about the call.
fn subscripts(reader: &mut Reader<'_>) {
    while reader.rest().starts_with('[') {
        let start = reader.at();
        if reader.value().is_none() {
            reader.go(start);
            return;
        }
    }
}
