//! Parses `{tool => "f", args => {--a "1" --b 2}}`, a hash in the syntax of Ruby and Perl, alone or between
//! `[TOOL_CALL]` and `[/TOOL_CALL]`.

use crate::repair::rescue::call_names::{ARGUMENTS, NAMES, clean, offered};
use crate::repair::rescue::literal::{Literal, LiteralReader};
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, element, python};
use callwright_scanner::{CompiledTool, ToolSet};

const CLOSES: [&str; 2] = ["[/TOOL_CALL]", "[/tool_call]"];

/// Parses the hash between markers.
pub(crate) fn marked(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    if let Some(calls) = reader.attempt(|reader| bare(reader, tool_set)) {
        element::skip_end_tags(reader, &CLOSES);
        return Some(calls);
    }
    body::read(reader, tool_set, &CLOSES)
}

/// Parses consecutive hashes.
pub(crate) fn bare(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let begins = |reader: &mut LiteralReader<'_>| reader.rest().starts_with('{');
    body::consecutive(reader, begins, |reader| {
        let call = call(reader, tool_set)?;
        reader.take(",");
        Some(vec![call])
    })
}

fn call(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<WrittenCall> {
    reader.take("{").then_some(())?;
    let mut name: Option<String> = None;
    let mut members: Option<Vec<(String, Literal)>> = None;
    loop {
        reader.skip_space()?;
        if reader.take("}") {
            return Some(WrittenCall::named(name?, members?));
        }
        let key = key(reader)?;
        if name.is_none() && NAMES.contains(&key.as_str()) {
            let Literal::Text(text) = reader.data()? else { return None };
            name = Some(clean(&text));
        } else if members.is_none() && ARGUMENTS.contains(&key.as_str()) {
            let tool = offered(name.as_deref()?, tool_set)?;
            members = Some(arguments(reader, tool)?);
        } else {
            return None;
        }
        reader.skip_space()?;
        reader.take(",");
    }
}

/// Parses `tool =>`, `:tool =>` or `"tool" =>`.
fn key(reader: &mut LiteralReader<'_>) -> Option<String> {
    reader.take(":");
    let key = python::name(reader)?;
    reader.skip_space()?;
    reader.take("=>").then_some(())?;
    reader.skip_space()?;
    Some(key)
}

/// Parses the inner hash: options with two hyphens and a value each, pairs with arrows, or JSON.
fn arguments(reader: &mut LiteralReader<'_>, tool: &CompiledTool) -> Option<Vec<(String, Literal)>> {
    let start = reader.at();
    if let Some(Literal::Object(members)) = reader.data()
        && members.iter().all(|(key, value)| tool.has_parameter(key) && !matches!(value, Literal::Source(_)))
    {
        return Some(members);
    }
    reader.go(start);
    reader.take("{").then_some(())?;
    let mut members = Vec::new();
    loop {
        reader.skip_space()?;
        if reader.take("}") {
            return Some(members);
        }
        let key = if reader.take("--") {
            let rest = reader.rest();
            let length = rest.find(|letter: char| !(letter.is_alphanumeric() || "_-.".contains(letter)))?;
            let key = rest.get(..length)?.to_owned();
            reader.advance(length)?;
            reader.skip_space()?;
            reader.take("=");
            key
        } else {
            key(reader)?
        };
        tool.parameter(&key)?;
        // A value ends with its quote or its word. Any other value has no certain end.
        let value = match reader.peek()? {
            '"' | '\'' => quoted(reader)?,
            _ => reader.data()?,
        };
        members.push((key, value));
        reader.skip_space()?;
        reader.take(",");
    }
}

/// Parses a string that is followed by the next option, the next pair or the end of the hash. Inner quotes therefore do
/// not end it.
fn quoted(reader: &mut LiteralReader<'_>) -> Option<Literal> {
    let rest = reader.rest();
    let quote = rest.chars().next()?;
    let inner = rest.get(1..)?;
    let length = inner.match_indices(quote).map(|(at, _)| at).find(|at| ends_value(inner, *at));
    reader.burn(length.unwrap_or(inner.len()));
    let length = length?;
    let whole = rest.get(..length + 2)?;
    let text = inner.get(..length)?;
    // An inner quote is text, unless the quotes are escaped.
    let value =
        if text.contains('\\') { LiteralReader::new(whole, false).data()? } else { Literal::Text(text.to_owned()) };
    reader.advance(whole.len())?;
    Some(value)
}

/// Whether the quote at `at` is not escaped, and the next option, the next pair or the end of the hash follows it.
fn ends_value(inner: &str, at: usize) -> bool {
    if inner.get(..at).is_some_and(|before| before.ends_with('\\')) {
        return false;
    }
    let behind = inner.get(at + 1..).unwrap_or_default().trim_start();
    let next = behind.strip_prefix(',').map(str::trim_start);
    behind.starts_with("--")
        || behind.starts_with('}')
        || next.is_some_and(|next| next.starts_with(|letter: char| letter.is_alphabetic() || "-:\"'".contains(letter)))
}
