//! Parses the content between the markers of a notation: calls as data, as code, or as elements.

use super::call_names::{ARGUMENTS, accepts, clean, offered};
use super::literal::{Literal, LiteralReader};
use super::written::WrittenCall;
use super::{element, python, tag};
use callwright_scanner::ToolSet;

/// Parses calls up to one of the markers `closes`, which is consumed, or to the end of the text. `None` on any other
/// content.
pub(super) fn read(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, closes: &[&str]) -> Option<Vec<WrittenCall>> {
    reader.block(|reader| block(reader, tool_set, closes))
}

fn block(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, closes: &[&str]) -> Option<Vec<WrittenCall>> {
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
        // After a call without its closing marker, any word may precede a bracket.
        let more = item(reader, tool_set);
        match more.filter(|more| calls.is_empty() || more.iter().any(|call| offered(&call.name, tool_set).is_some())) {
            Some(more) => calls.extend(more),
            // The closing marker is missing: text follows the calls.
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

/// Parses calls as long as one `begins`; `None` if there is none, or if one that begins cannot be parsed.
pub(super) fn consecutive(
    reader: &mut LiteralReader<'_>,
    begins: impl Fn(&mut LiteralReader<'_>) -> bool,
    read: impl Fn(&mut LiteralReader<'_>) -> Option<Vec<WrittenCall>>,
) -> Option<Vec<WrittenCall>> {
    let mut calls = Vec::new();
    loop {
        let before = reader.at();
        reader.skip_space()?;
        if !begins(reader) {
            reader.go(before);
            return (!calls.is_empty()).then_some(calls);
        }
        calls.extend(read(reader)?);
    }
}

/// Skips surplus brackets and quotes before one of the markers `closes`.
fn skip_stray(reader: &mut LiteralReader<'_>, closes: &[&str]) -> bool {
    let rest = reader.rest();
    let length = rest.len() - rest.trim_start_matches(['}', ']', ')', '"', '\'', ' ', '\n']).len();
    let is_closed = rest.get(length..).is_some_and(|rest| closes.iter().any(|close| rest.starts_with(close)));
    length > 0 && is_closed && reader.advance(length).is_some()
}

/// Parses one value, statement or element that contains calls, or a code fence of them.
pub(super) fn item(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    if fence(reader)? {
        return read(reader, tool_set, &[FENCE]);
    }
    if reader.rest().starts_with('<') || reader.rest().starts_with("{\"function=") {
        return element::item(reader, tool_set);
    }
    if let Some(calls) = reader.attempt(|reader| python::sequence(reader, tool_set)) {
        return Some(calls);
    }
    if let Some(call) = reader.attempt(|reader| json_head(reader, tool_set)) {
        return Some(vec![call]);
    }
    named_object(reader).map(|call| with_further(reader, tool_set, call))
}

/// Parses further argument objects of the same tool directly after a call: `f{"a": 1}{"a": 2}`.
pub(super) fn with_further(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, call: WrittenCall) -> Vec<WrittenCall> {
    let tool = offered(&call.name, tool_set);
    let mut calls = vec![call];
    while let Some(tool) = tool {
        let end = reader.at();
        // An object on a line of its own may be a result that the model invented.
        let object = reader.skip_blanks().and_then(|()| reader.peek().filter(|next| *next == '{'));
        let object = object.and_then(|_| reader.data());
        match object.as_ref().and_then(Literal::members).filter(|members| accepts(members, tool)) {
            Some(members) => calls.push(WrittenCall::named(tool.name(), members.to_vec())),
            None => {
                reader.go(end);
                break;
            }
        }
    }
    calls
}

/// Parses `{"name": "f",` followed by content that is not JSON: `<parameter=a>` elements, or an object after a key that
/// was closed like a tag. Consumes the bracket that may close the object.
pub(super) fn json_head(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<WrittenCall> {
    reader.take("{").then_some(())?;
    reader.skip_space()?;
    (reader.take("\"name\"") || reader.take("'name'")).then_some(())?;
    reader.skip_space()?;
    reader.take(":").then_some(())?;
    reader.skip_space()?;
    let Literal::Text(name) = reader.data()? else { return None };
    let name = clean(&name);
    let tool = offered(&name, tool_set)?;
    reader.skip_space()?;
    reader.take(",").then_some(())?;
    reader.skip_space()?;
    let members = if tag::start(reader.rest()).is_some_and(|tag| tag.kind == Some(tag::TagKind::Parameter)) {
        element::members_of(reader, tool_set, "function", &name, false)?
    } else {
        broken_key(reader)?;
        reader.skip_space()?;
        reader.rest().starts_with('{').then_some(())?;
        element::unwrapped(reader.data()?.members()?.to_vec(), Some(tool))
    };
    reader.attempt(|reader| reader.skip_space().filter(|()| reader.take("}")));
    (!members.is_empty()).then(|| WrittenCall::named(name, members))
}

/// Parses `"arguments>`, `"arguments">` or `"arguments=`: the key of the arguments without its quote or its colon.
fn broken_key(reader: &mut LiteralReader<'_>) -> Option<()> {
    reader.take("\"").then_some(())?;
    let key = ARGUMENTS.iter().find(|key| {
        let behind = reader.rest().strip_prefix(**key);
        behind.is_some_and(|behind| !behind.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_'))
    })?;
    reader.advance(key.len())?;
    let rest = reader.rest();
    let signs = rest.len() - rest.trim_start_matches(['"', '>', ':', '=']).len();
    // With its quote and its colon, it is valid JSON.
    let is_broken = rest.get(..signs).is_some_and(|signs| !signs.is_empty() && signs != "\":");
    is_broken.then_some(())?;
    reader.advance(signs)
}

/// Function name that ChatGLM writes on the line after the tool's name.
pub(super) const TOOL_CALL: &str = "tool_call(";

/// Parses `name {...}` or `name: {...}`, with the object on the same line or on the next, and `name` with
/// `tool_call(a=1)`.
pub(super) fn named_object(reader: &mut LiteralReader<'_>) -> Option<WrittenCall> {
    let name = python::name(reader)?;
    reader.take(":");
    reader.skip_space()?;
    in_fence(reader, |reader| {
        if reader.take(TOOL_CALL) {
            return python::with_arguments(reader, name);
        }
        let arguments = reader.peek().filter(|next| *next == '{').and_then(|_| reader.data())?;
        WrittenCall::with_arguments(name, &arguments)
    })
}

/// Marker of a code fence.
pub(super) const FENCE: &str = "```";

/// Skips the opening of a code fence, and returns whether there is one.
fn fence(reader: &mut LiteralReader<'_>) -> Option<bool> {
    let opens = reader.take(FENCE);
    if opens {
        let word = reader.rest().find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
        reader.advance(word)?;
        reader.skip_space()?;
    }
    Some(opens)
}

/// Parses content that may be in a separate code fence.
fn in_fence<'a, T>(
    reader: &mut LiteralReader<'a>,
    read: impl FnOnce(&mut LiteralReader<'a>) -> Option<T>,
) -> Option<T> {
    let opens = fence(reader)?;
    let found = read(reader)?;
    if opens {
        reader.attempt(|reader| reader.skip_space().filter(|()| reader.take(FENCE)));
    }
    Some(found)
}

/// Parses the arguments of a call whose name is elsewhere: an object, in a code fence or not, or nothing before one of
/// the markers `closes`.
pub(super) fn arguments(reader: &mut LiteralReader<'_>, closes: &[&str]) -> Option<Literal> {
    reader.skip_space()?;
    if reader.rest().is_empty() && reader.completes() || closes.iter().any(|close| reader.rest().starts_with(close)) {
        return Some(Literal::Null);
    }
    // A backtick here begins an incomplete code fence; it does not quote arguments.
    in_fence(reader, |reader| reader.peek().filter(|next| *next != '`').and_then(|_| reader.data()))
}
