//! Parses `name <arg_key>a</arg_key> <arg_value>1</arg_value>` of GLM, LongCat and Hunyuan, with missing, doubled or
//! confused tags.

use super::call_names::{MAX_NAME, offered};
use super::extent::{self, Breaks, Taken, Within};
use super::literal::{Literal, LiteralReader};
use super::tag::{self, TagKind};
use super::written::WrittenCall;
use super::{element, python};
use callwright_common::text::beginning_bytes;
use callwright_scanner::ToolSet;

const KEY: &str = "arg_key";
const VALUE: &str = "arg_value";
const SEPARATOR: &str = "tool_sep";

/// Parses one call after the start tag of the element `wrapper`, including the end tag of that element.
pub(super) fn call(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, wrapper: &str) -> Option<WrittenCall> {
    reader.skip_space()?;
    let name = python::name(reader)?;
    let tool = offered(&name, tool_set);
    let mut members: Vec<(String, Literal)> = Vec::new();
    // Templates may add the same prefix and suffix to the names of all these elements.
    let mut next = KEY.to_owned();
    let mut has_stray = false;
    loop {
        reader.skip_space()?;
        let rest = reader.rest();
        if rest.is_empty() {
            let is_call = !members.is_empty() || has_stray && tool.is_some();
            return (is_call && reader.completes()).then(|| WrittenCall::named(name, members));
        }
        if let Some(end) = tag::end(rest) {
            reader.advance(end.length)?;
            if is_of_pair(end.name) {
                has_stray = true;
                continue;
            }
            return (end.name == wrapper || tag::is_of_call(end.kind)).then(|| WrittenCall::named(name, members));
        }
        if let Some(start) = tag::start(rest) {
            match start.name.strip_suffix(KEY) {
                Some(_) => start.full.clone_into(&mut next),
                None if start.name.ends_with(SEPARATOR) => {
                    reader.advance(start.length)?;
                    continue;
                }
                // The next call begins, and this one was not closed.
                None if start.kind == Some(TagKind::Wrapper) && !members.is_empty() && reader.may_complete => {
                    return Some(WrittenCall::named(name, members));
                }
                None => return None,
            }
            reader.advance(start.length)?;
        } else if extent::ends_turn(rest) && !members.is_empty() {
            return Some(WrittenCall::named(name, members));
        }
        let key = key(reader)?;
        // Without tags, a name must be a parameter of the tool.
        let is_known = tool.is_some_and(|tool| tool.has_parameter(&key));
        let is_tagged = rest.starts_with('<');
        let opens = value_opens(reader)?;
        let full = match opens {
            Opens::Value(full) => full.to_owned(),
            Opens::Other if is_known => next.replace(KEY, VALUE),
            Opens::Other | Opens::Nothing => return None,
        };
        if !(is_known || is_tagged) {
            return None;
        }
        let within = Within { call: wrapper, tool, next: Some(&next) };
        let text = extent::value(reader, &full, Breaks::Value, within, Taken { before: &members, key: &key })?;
        // Without its start tag, an empty value is not a value.
        if text.trim().is_empty() && !matches!(opens, Opens::Value(_)) {
            return None;
        }
        let value = element::typed(&text, &key, tool);
        members.push((key, value));
    }
}

fn is_of_pair(name: &str) -> bool {
    name.ends_with(KEY) || name.ends_with(VALUE)
}

/// Parses an argument's name up to the next tag.
fn key(reader: &mut LiteralReader<'_>) -> Option<String> {
    let window = beginning_bytes(reader.rest(), MAX_NAME);
    let length = window.find('<')?;
    let key = window.get(..length)?.trim();
    (!key.is_empty() && !key.contains('\n')).then_some(())?;
    reader.advance(length)?;
    Some(key.to_owned())
}

/// The last tag between an argument's name and its value.
#[derive(Clone, Copy)]
enum Opens<'a> {
    /// The start tag of the value, with this name.
    Value(&'a str),
    /// Another tag.
    Other,
    /// No tag.
    Nothing,
}

/// Skips the tags between an argument's name and its value, and returns the last one.
fn value_opens<'a>(reader: &mut LiteralReader<'a>) -> Option<Opens<'a>> {
    let mut opens = Opens::Nothing;
    loop {
        let before = reader.at();
        reader.skip_space()?;
        let rest = reader.rest();
        if let Some(start) = tag::start(rest).filter(|start| is_of_pair(start.name)) {
            reader.advance(start.length)?;
            if start.name.ends_with(VALUE) {
                return Some(Opens::Value(start.full));
            }
        } else if let Some(end) = tag::end(rest).filter(|end| is_of_pair(end.name)) {
            reader.advance(end.length)?;
        } else {
            reader.go(before);
            return Some(opens);
        }
        opens = Opens::Other;
    }
}
