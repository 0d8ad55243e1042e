//! Calls as XML-like elements: `<invoke name="f"><parameter name="a">1</parameter></invoke>` and its relatives.

use super::literal::{Literal, Reader};
use super::shape::clean;
use super::written::Written;

/// A start tag, without its namespace.
struct Tag<'a> {
    /// The element's name as it was written, for its end tag.
    full: &'a str,
    /// The name without its namespace.
    name: &'a str,
    /// What stands behind `=` in `<function=name>`, or the value of the attribute `name`.
    value: Option<&'a str>,
}

/// Names of elements that are a call.
const CALLS: [&str; 6] = ["invoke", "function", "tool", "tool_call", "call", "tool_use"];

/// Names of elements that are an argument.
const PARAMETERS: [&str; 5] = ["parameter", "param", "arg", "argument", "input"];

/// One call as an element, or several within an element around them.
pub(super) fn calls(reader: &mut Reader<'_>) -> Option<Vec<Written>> {
    let tag = tag(reader)?;
    if !CALLS.contains(&tag.name) {
        return None;
    }
    let (name, members) = match tag.value {
        Some(name) => (clean(name), members(reader, tag.full)?),
        None => nested(reader, tag.full)?,
    };
    Some(vec![Written::named(name, members)])
}

/// The arguments of a call up to its end tag: elements, or one object.
fn members(reader: &mut Reader<'_>, element: &str) -> Option<Vec<(String, Literal)>> {
    let mut members = Vec::new();
    loop {
        reader.skip_space()?;
        if end_tag(reader, element) || reader.rest().is_empty() && reader.completes() {
            return Some(members);
        }
        if reader.rest().starts_with('{') {
            let object = reader.data()?;
            members.extend(object.members()?.iter().cloned());
            continue;
        }
        members.push(parameter(reader)?);
    }
}

/// `<parameter name="a">1</parameter>`, `<parameter=a>1</parameter>`, or `<a>1</a>`.
fn parameter(reader: &mut Reader<'_>) -> Option<(String, Literal)> {
    let tag = tag(reader)?;
    let key = match tag.value {
        Some(name) if PARAMETERS.contains(&tag.name) => name,
        None => tag.name,
        Some(_) => return None,
    };
    Some((clean(key), text_up_to_end(reader, tag.full)?))
}

/// `<tool_name>f</tool_name><parameters><a>1</a></parameters>`.
fn nested(reader: &mut Reader<'_>, element: &str) -> Option<(String, Vec<(String, Literal)>)> {
    reader.skip_space()?;
    let first = tag(reader)?;
    if !matches!(first.name, "tool_name" | "name" | "function_name") {
        return None;
    }
    let name = text_up_to_end(reader, first.full)?;
    reader.skip_space()?;
    let mut found = Vec::new();
    if !end_tag(reader, element) {
        let inner = tag(reader)?;
        if !matches!(inner.name, "parameters" | "arguments" | "input" | "args") {
            return None;
        }
        found = members(reader, inner.full)?;
        reader.skip_space()?;
        end_tag(reader, element);
    }
    Some((clean(name.text()?), found))
}

/// The text of an element, which is a value as it stands: what it means is for the schema to say.
pub(super) fn text_up_to_end(reader: &mut Reader<'_>, element: &str) -> Option<Literal> {
    let end = format!("</{element}>");
    let length = reader.find(&end)?;
    let text = reader.rest().get(..length)?;
    reader.advance(length + end.len())?;
    // The templates put a line break on either side of the value; further ones are its own.
    let text = text.strip_prefix('\n').unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    Some(Literal::Text(text.to_owned()))
}

fn end_tag(reader: &mut Reader<'_>, element: &str) -> bool {
    reader.take(&format!("</{element}>"))
}

fn tag<'a>(reader: &mut Reader<'a>) -> Option<Tag<'a>> {
    let rest = reader.rest();
    let inner = rest.strip_prefix('<')?;
    let end = inner.bytes().take(MAX_TAG).position(|byte| byte == b'>')?;
    let inner = inner.get(..end)?;
    let full_end =
        inner.find(|letter: char| !(letter.is_alphanumeric() || "_-:.｜".contains(letter))).unwrap_or(inner.len());
    let full = inner.get(..full_end).filter(|full| !full.is_empty())?;
    let name = full.rsplit([':', '｜']).next()?;
    let attributes = inner.get(full_end..)?;
    let value = match attributes.strip_prefix('=') {
        Some(value) => Some(value.trim().trim_matches(['"', '\''])),
        None => attribute(attributes, "name"),
    };
    reader.advance(end + 2)?;
    Some(Tag { full, name, value })
}

/// Bytes of a start tag.
const MAX_TAG: usize = 512;

fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let rest = attributes.split_once(name)?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
    rest.get(1..)?.split_once(quote).map(|(value, _)| value)
}
