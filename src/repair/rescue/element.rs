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
    /// Does an attribute say that the content is JSON, and no string?
    is_json: bool,
}

/// Names of elements that are a call.
const CALLS: [&str; 7] = ["invoke", "function", "tool", "tool_call", "call", "tool_use", "use_mcp_tool"];

/// Names of elements that are an argument.
const PARAMETERS: [&str; 5] = ["parameter", "param", "arg", "argument", "input"];

/// Names of elements that hold the tool's name.
const NAMES: [&str; 3] = ["tool_name", "name", "function_name"];

/// Names of elements that hold the arguments.
const ARGUMENTS: [&str; 7] =
    ["parameters", "arguments", "input", "args", "function_arguments", "function_argument", "function_args"];

/// Names of elements beside these two that say nothing about what is called.
const NEUTRAL: [&str; 2] = ["server_name", "tool_call_id"];

/// One call as an element.
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

/// Passes over what belongs to the calls before it.
pub(super) fn skip_end_tags(reader: &mut Reader<'_>, ends: &[&str]) {
    loop {
        let before = reader.at();
        if reader.skip_space().is_none() || !ends.iter().any(|end| reader.take(end)) {
            reader.go(before);
            return;
        }
    }
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
        members.push(parameter(reader, element)?);
    }
}

/// `<parameter name="a">1</parameter>`, `<parameter=a>1</parameter>`, or `<a>1</a>`, within the element `parent`.
fn parameter(reader: &mut Reader<'_>, parent: &str) -> Option<(String, Literal)> {
    let tag = tag(reader)?;
    let key = match tag.value {
        Some(name) if PARAMETERS.contains(&tag.name) => name,
        None => tag.name,
        Some(_) => return None,
    };
    let text = content(reader, tag.full, parent)?;
    let value = tag.is_json.then(|| whole(text)).flatten();
    Some((clean(key), value.unwrap_or_else(|| Literal::Text(text.to_owned()))))
}

/// The value that a text is, and nothing else.
fn whole(text: &str) -> Option<Literal> {
    let mut reader = Reader::new(text, false);
    let value = reader.data()?;
    reader.skip_space()?;
    reader.rest().is_empty().then_some(value)
}

/// `<tool_name>f</tool_name><parameters><a>1</a></parameters>`.
fn nested(reader: &mut Reader<'_>, element: &str) -> Option<(String, Vec<(String, Literal)>)> {
    let mut name = None;
    let mut found = Vec::new();
    loop {
        reader.skip_space()?;
        if end_tag(reader, element) || reader.rest().is_empty() && reader.completes() {
            break;
        }
        let inner = tag(reader)?;
        if NAMES.contains(&inner.name) {
            name = Some(text_up_to_end(reader, inner.full)?);
        } else if ARGUMENTS.contains(&inner.name) {
            found = members(reader, inner.full)?;
        } else if NEUTRAL.contains(&inner.name) {
            text_up_to_end(reader, inner.full)?;
        } else {
            return None;
        }
    }
    Some((clean(name?.text()?), found))
}

/// The text of an element, which is a value as it stands: what it means is for the schema to say.
pub(super) fn text_up_to_end(reader: &mut Reader<'_>, element: &str) -> Option<Literal> {
    let text = reader.up_to(&format!("</{element}>"))?;
    Some(Literal::Text(bare(text).to_owned()))
}

/// The text of an argument up to its end tag; where that was forgotten, up to the next argument or the end of the call.
fn content<'a>(reader: &mut Reader<'a>, element: &str, parent: &str) -> Option<&'a str> {
    let end = format!("</{element}>");
    let found = reader.find(&end);
    let rest = reader.rest();
    let inner = rest.get(..found.unwrap_or(rest.len()))?;
    let sibling = ["=", " name="].iter().filter_map(|sign| inner.find(&format!("\n<{element}{sign}"))).min();
    let (length, closing) = match (sibling, found) {
        (Some(length), _) => {
            reader.burn(inner.len());
            (length, 0)
        }
        (None, Some(length)) => (length, end.len()),
        (None, None) => (reader.find(&format!("</{parent}>"))?, 0),
    };
    let text = rest.get(..length)?;
    reader.advance(length + closing)?;
    Some(bare(text))
}

/// The templates put a line break on either side of a value; further ones are its own.
fn bare(text: &str) -> &str {
    let text = text.strip_prefix('\n').unwrap_or(text);
    text.strip_suffix('\n').unwrap_or(text)
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
    let is_json = attribute(attributes, "string") == Some("false");
    reader.advance(end + 2)?;
    Some(Tag { full, name, value, is_json })
}

/// Bytes of a start tag.
const MAX_TAG: usize = 512;

/// The value of an attribute in quotes.
pub(super) fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let rest = attributes.split_once(name)?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
    rest.get(1..)?.split_once(quote).map(|(value, _)| value)
}
