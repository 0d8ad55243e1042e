//! Parses calls as XML-like elements: `<invoke name="f"><parameter name="a">1</parameter></invoke>` and its variants.

use super::body;
use super::call_names::{self, MAX_NAME, clean, has_only_parameters, offered};
use super::extent::{self, Breaks, Taken, Within, inner_text};
use super::literal::{Literal, LiteralReader, constant};
use super::tag::{self, Tag, TagKind};
use super::written::WrittenCall;
use callwright_common::text::beginning_bytes;
use callwright_scanner::{CompiledTool, ToolSet, type_names};

/// Names of elements that are a call.
const CALLS: [&str; 7] = ["invoke", "function", "tool", "tool_call", "call", "tool_use", "use_mcp_tool"];

/// Names of elements that contain the arguments.
const ARGUMENTS: [&str; 9] = [
    "parameters", "arguments", "input", "args", "params", "properties", "function_arguments", "function_argument",
    "function_args",
];

/// Names of other elements that are ignored, because they do not identify the tool.
const NEUTRAL: [&str; 3] = ["server_name", "tool_call_id", "id"];

/// Words in the position of the tool's name. If one is found, the name follows.
const NAME_WORDS: [&str; 4] = ["name", "tool_name", "function_name", "tool"];

/// Parses one call as an element.
pub(super) fn calls(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    calls_with(reader, tool_set, false)
}

/// Parses one call as an element. If `is_inline` is set, the template writes values between their tags verbatim.
pub(super) fn calls_with(
    reader: &mut LiteralReader<'_>,
    tool_set: &ToolSet,
    is_inline: bool,
) -> Option<Vec<WrittenCall>> {
    let tag = tag::take(reader)?;
    if !(CALLS.contains(&tag.name) || tag.kind == Some(TagKind::Wrapper)) {
        return None;
    }
    let call = match tag.value {
        Some(name) => named(reader, tool_set, &tag, name, is_inline)?,
        None => {
            reader.skip_space()?;
            // Parses whole calls as data. Content that may contain elements again is parsed below, which bounds the
            // nesting.
            if reader.rest().starts_with(['{', '[']) {
                let close = format!("</{}>", tag.full);
                return body::read(reader, tool_set, &[&close]);
            }
            nested(reader, tool_set, &tag, is_inline)?
        }
    };
    Some(vec![call])
}

/// Parses one call as an element of any form: a call element, an element named after the tool, or a call that begins
/// with the tool's name or an argument.
pub(super) fn item(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let tag = tag::start(reader.rest())?;
    if CALLS.contains(&tag.name) || tag.kind == Some(TagKind::Wrapper) {
        return calls(reader, tool_set);
    }
    let call = match tag.kind {
        Some(TagKind::Name) => behind_name(reader, tool_set)?,
        Some(TagKind::Parameter) if tag.value.is_some() => arguments_alone(reader, tool_set)?,
        _ => named_after_tool(reader, tool_set)?,
    };
    Some(vec![call])
}

/// Parses `<f><a>1</a></f>` and `<f a="1"/>`, where `f` is an offered tool and `a` is one of its parameters.
pub(super) fn named_after_tool(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<WrittenCall> {
    let tag = tag::take(reader)?;
    let tool = offered(tag.name, tool_set)?;
    let mut members = attributes(tag.attributes, tool)?;
    if !tag.is_empty {
        members.extend(members_of(reader, tool_set, tag.name, tag.name, false)?);
    }
    is_evident(&members, tool).then(|| WrittenCall::named(tag.name, members))
}

/// Parses `<tool_name>f</tool_name>` and the arguments after it. The end tag may be missing or different.
pub(super) fn behind_name(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<WrittenCall> {
    let tag = tag::take(reader).filter(|tag| tag.kind == Some(TagKind::Name))?;
    let name = name_line(reader)?;
    let tool = offered(&name, tool_set)?;
    if let Some(end) = tag::end(reader.rest()).filter(|end| end.name == tag.name) {
        reader.advance(end.length)?;
    }
    let members = members_of(reader, tool_set, "", &name, false)?;
    is_evident(&members, tool).then(|| WrittenCall::named(name, members))
}

/// Parses `<parameter=a>1</parameter>` without an enclosing element. The first argument names the tool, or only one
/// tool accepts the arguments.
pub(super) fn arguments_alone(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<WrittenCall> {
    let start = reader.at();
    let first = tag::take(reader).filter(|tag| tag.kind == Some(TagKind::Parameter))?;
    let name = clean(first.value?);
    reader.skip_space()?;
    let is_followed =
        tag::start(reader.rest()).is_some_and(|next| next.kind == Some(TagKind::Parameter) && next.value.is_some());
    // The model wrote `<parameter=f>` instead of `<function=f>`.
    if is_followed && let Some(tool) = offered(&name, tool_set) {
        let members = members_of(reader, tool_set, "", &name, false)?;
        return is_evident(&members, tool).then(|| WrittenCall::named(name, members));
    }
    reader.go(start);
    let members = members(reader, Within { call: "", tool: None, next: None }, false)?;
    only_tool(members, tool_set)
}

/// Whether the tool has all of these arguments. Without arguments, whether the tool requires none.
fn is_evident(members: &[(String, Literal)], tool: &CompiledTool) -> bool {
    if members.is_empty() {
        return tool.needs_nothing();
    }
    members.iter().all(|(key, _)| tool.parameters().any(|parameter| parameter.name.eq_ignore_ascii_case(key)))
}

/// Parses arguments from the attributes of an element; `None` if one is not quoted or is not a parameter of the tool.
fn attributes(text: &str, tool: &CompiledTool) -> Option<Vec<(String, Literal)>> {
    let mut members = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (key, value) = rest.split_once('=')?;
        let key = key.trim();
        tool.parameter(key)?;
        let value = value.trim_start();
        let quote = value.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
        let (value, behind) = value.get(1..)?.split_once(quote)?;
        members.push((key.to_owned(), typed(value, key, Some(tool))));
        rest = behind.trim_start();
    }
    Some(members)
}

/// Parses the call of the tool `name`, whose arguments follow.
fn named(
    reader: &mut LiteralReader<'_>,
    tool_set: &ToolSet,
    tag: &Tag<'_>,
    name: &str,
    is_inline: bool,
) -> Option<WrittenCall> {
    let mut name = clean(name);
    if NAME_WORDS.contains(&name.as_str()) && offered(&name, tool_set).is_none() {
        name = name_line(reader)?;
        // The name is in the position of an argument, and may have the end tag of one.
        let before = reader.at();
        reader.skip_space()?;
        match tag::end(reader.rest()).filter(|end| matches!(end.kind, Some(TagKind::Parameter | TagKind::Name))) {
            Some(end) => reader.advance(end.length)?,
            None => reader.go(before),
        }
    }
    let members = if tag.is_empty { Vec::new() } else { members_of(reader, tool_set, tag.name, &name, is_inline)? };
    Some(WrittenCall::named(name, members))
}

/// Parses the arguments of the tool `name`, up to the end tag of the element `call`.
pub(super) fn members_of(
    reader: &mut LiteralReader<'_>,
    tool_set: &ToolSet,
    call: &str,
    name: &str,
    is_inline: bool,
) -> Option<Vec<(String, Literal)>> {
    let tool = offered(name, tool_set);
    members(reader, Within { call, tool, next: None }, is_inline)
}

/// Parses a tool's name on the rest of the line, or on the next line.
fn name_line(reader: &mut LiteralReader<'_>) -> Option<String> {
    reader.skip_space()?;
    let line = beginning_bytes(reader.rest(), MAX_NAME);
    let end = line.find(['\n', '<', '>', ','])?;
    let name = clean(line.get(..end)?.trim_matches(['"', '\'', ' ', '\r']));
    reader.advance(end)?;
    (!name.is_empty() && !name.contains(' ')).then_some(name)
}

/// Skips any of the end markers `ends`, which belong to the calls before them.
pub(super) fn skip_end_tags(reader: &mut LiteralReader<'_>, ends: &[&str]) {
    loop {
        let before = reader.at();
        if reader.skip_space().is_none() || !ends.iter().any(|end| reader.take(end)) {
            reader.go(before);
            return;
        }
    }
}

/// Skips end tags of calls and of their wrappers, and markers that end a turn.
pub(super) fn skip_closes(reader: &mut LiteralReader<'_>) {
    loop {
        let before = reader.at();
        // Skips only white space, because comment syntax is text here.
        let blanks = reader.rest().len() - reader.rest().trim_start().len();
        if reader.advance(blanks).is_none() {
            return reader.go(before);
        }
        let rest = reader.rest();
        let mark = extent::TURN_ENDS.iter().find(|end| rest.starts_with(**end)).map(|end| end.len());
        let length = mark.or_else(|| tag::end(rest).filter(closes_call).map(|end| end.length));
        if length.and_then(|length| reader.advance(length)).is_none() {
            return reader.go(before);
        }
    }
}

/// Skips the end tags after calls; `None` if an unmatched one remains.
pub(super) fn closed(reader: &mut LiteralReader<'_>, calls: Vec<WrittenCall>) -> Option<Vec<WrittenCall>> {
    skip_closes(reader);
    (!extent::leaves_end_tags(reader)).then_some(calls)
}

fn closes_call(end: &tag::EndTag<'_>) -> bool {
    CALLS.contains(&end.name) || tag::is_of_call(end.kind)
}

/// Parses the arguments of a call up to its end tag: elements, or one object.
fn members(reader: &mut LiteralReader<'_>, within: Within<'_>, is_inline: bool) -> Option<Vec<(String, Literal)>> {
    let mut members: Vec<(String, Literal)> = Vec::new();
    loop {
        let before = reader.at();
        reader.skip_space()?;
        let rest = reader.rest();
        if rest.is_empty() && reader.completes() {
            break;
        }
        if let Some(end) = tag::end(rest) {
            if end.name == within.call {
                reader.advance(end.length)?;
                break;
            }
            match end.kind {
                // The end tag of the call is missing or different.
                kind if tag::is_of_call(kind) => break,
                // A stray end tag before the first argument, if the call has no element.
                Some(TagKind::Parameter | TagKind::Name) if members.is_empty() && within.call.is_empty() => {
                    reader.advance(end.length)?
                }
                None if ARGUMENTS.contains(&end.name) => reader.advance(end.length)?,
                _ => return None,
            }
            continue;
        }
        if rest.starts_with('{') && !rest.starts_with("{\"function=") {
            let object = reader.data()?;
            members.extend(object.members()?.iter().cloned());
            continue;
        }
        // A surplus bracket between elements.
        if !members.is_empty() && rest.starts_with(['}', ']']) {
            let behind = rest.trim_start_matches(['}', ']', ' ', '\t', '\r', '\n']);
            if behind.is_empty() || behind.starts_with('<') {
                reader.advance(rest.len() - behind.len())?;
                continue;
            }
        }
        let start = tag::start(rest);
        let begins_call = start.is_some_and(|start| {
            let is_name = start.kind == Some(TagKind::Name)
                && start.value.is_none()
                && within.tool.is_some_and(|tool| !tool.has_parameter(start.name));
            let is_function = start.kind == Some(TagKind::Function) && start.is_assigned;
            is_name || is_function || matches!(start.kind, Some(TagKind::Wrapper | TagKind::Invoke))
        });
        // Whether the text may be truncated here.
        let is_cut = !reader.may_complete || rest.starts_with('<') && start.is_none() && !rest.contains('>');
        let is_turn_end = extent::ends_turn(rest);
        if !members.is_empty() && (start.is_none() || begins_call || is_turn_end) {
            // The end tag is missing: another call or text follows the arguments.
            if is_cut && !is_turn_end {
                return None;
            }
            reader.go(before);
            break;
        }
        let is_holder = start.is_some_and(|start| start.value.is_none() && is_holder(start.name, within.tool));
        if is_holder {
            tag::take(reader)?;
            continue;
        }
        if let Some(object) = reader.attempt(|reader| whole_object(reader, within.tool)) {
            members.extend(object);
            continue;
        }
        let member = parameter(reader, within, is_inline, &members)?;
        members.push(member);
    }
    Some(unwrapped(members, within.tool))
}

/// Parses `<parameter=arguments>{...}`, with or without its end tag, if the tool has the parameters of the object but
/// not the wrapping parameter.
fn whole_object(reader: &mut LiteralReader<'_>, tool: Option<&CompiledTool>) -> Option<Vec<(String, Literal)>> {
    let tag = tag::take(reader).filter(|tag| tag.kind == Some(TagKind::Parameter))?;
    tag.value.filter(|key| is_holder(key, tool))?;
    reader.skip_space()?;
    reader.rest().starts_with('{').then_some(())?;
    let object = reader.data()?;
    let members = object
        .members()
        .filter(|members| !members.is_empty() && tool.is_some_and(|tool| has_only_parameters(members, tool)))?;
    let rest = reader.rest();
    let behind = rest.trim_start_matches(['}', ']', ' ', '\t', '\r', '\n']);
    let end = tag::end(behind).filter(|end| end.kind == Some(TagKind::Parameter)).map_or(0, |end| end.length);
    // If any other content follows, the object is only a part of the value.
    (end > 0 || behind.is_empty() && reader.may_complete || tag::start(behind).is_some() || tag::end(behind).is_some())
        .then_some(())?;
    reader.advance(rest.len() - behind.len() + end)?;
    Some(members.to_vec())
}

/// Whether an element of this name contains the arguments and is not a parameter itself.
fn is_holder(name: &str, tool: Option<&CompiledTool>) -> bool {
    ARGUMENTS.contains(&name) && tool.is_none_or(|tool| !tool.has_parameter(name))
}

/// Parses `<parameter name="a">1</parameter>`, `<parameter=a>1</parameter>`, or `<a>1</a>`.
fn parameter(
    reader: &mut LiteralReader<'_>,
    within: Within<'_>,
    is_inline: bool,
    before: &[(String, Literal)],
) -> Option<(String, Literal)> {
    let tag = tag::take(reader)?;
    let key = match tag.value {
        Some(name) if tag.kind == Some(TagKind::Parameter) => name,
        None => tag.name,
        Some(_) => return None,
    };
    let key = clean(key);
    if tag.is_empty {
        return Some((key, Literal::Text(String::new())));
    }
    let breaks = match tag.kind {
        _ if is_inline => Breaks::Value,
        Some(TagKind::Parameter) if tag.is_assigned => Breaks::Layout,
        Some(TagKind::Parameter) if tag.value.is_some() => Breaks::Value,
        _ => Breaks::Pair,
    };
    let text = extent::value(reader, tag.full, breaks, within, Taken { before, key: &key })?;
    let value = tag.is_json.then(|| whole(&text)).flatten();
    let value = value.unwrap_or_else(|| match typed(&text, &key, within.tool) {
        // The notation declares the text as a string.
        Literal::Null if tag::attribute(tag.attributes, "string") == Some("true") => Literal::Text(text.into_owned()),
        value => value,
    });
    Some((key, value))
}

/// Converts a value by its schema. Returns null if the schema has it and the text spells it. Otherwise returns the text
/// verbatim if it may be a string, else without surrounding white space. Parses objects and lists in any notation.
pub(super) fn typed(text: &str, key: &str, tool: Option<&CompiledTool>) -> Literal {
    converted(text, key, tool).unwrap_or_else(|| Literal::Text(text.to_owned()))
}

fn converted(text: &str, key: &str, tool: Option<&CompiledTool>) -> Option<Literal> {
    if tool.is_some_and(|tool| is_null(text.trim(), key, tool)) {
        return Some(Literal::Null);
    }
    let types = tool?.parameter(key)?.schema.get("type").and_then(type_names)?;
    if types.is_empty() || types.contains(&"string") {
        return None;
    }
    let trimmed = text.trim();
    if let Ok(value) = serde_json::from_str::<serde_json::Value>(trimmed) {
        // White space around a number is not part of it. Coercion parses objects and lists in this form.
        return (value.is_number() || value.is_boolean()).then(|| Literal::Text(trimmed.to_owned()));
    }
    if (types.contains(&"object") || types.contains(&"array"))
        && trimmed.starts_with(['{', '['])
        && let Some(value @ (Literal::Object(_) | Literal::List(_))) = whole(trimmed)
    {
        return Some(value);
    }
    // `True` and similar literals, on their own line.
    matches!(whole(trimmed), Some(Literal::Bool(_) | Literal::Number(_))).then(|| Literal::Text(trimmed.to_owned()))
}

/// Whether an untyped text is the null that the parameter takes. Where a string is possible too, only the JSON notation
/// is null.
fn is_null(text: &str, key: &str, tool: &CompiledTool) -> bool {
    if constant(text) != Some(Literal::Null) {
        return false;
    }
    let (takes_null, takes_string) = tool.takes_null_and_string(key);
    takes_null && (text == "null" || !takes_string)
}

/// Unwraps the arguments from a single argument that the tool does not have and that contains an object with parameters
/// of the tool.
pub(super) fn unwrapped(members: Vec<(String, Literal)>, tool: Option<&CompiledTool>) -> Vec<(String, Literal)> {
    let Some(tool) = tool else { return members };
    let [(key, value)] = members.as_slice() else { return members };
    let may_wrap = ARGUMENTS.contains(&key.as_str()) || call_names::ARGUMENTS.contains(&key.as_str());
    if !may_wrap || tool.has_parameter(key) {
        return members;
    }
    let object = match value {
        Literal::Text(text) => whole(text),
        value => Some(value.clone()),
    };
    match object {
        Some(Literal::Object(inner)) if inner.iter().any(|(key, _)| tool.has_parameter(key)) => inner,
        _ => members,
    }
}

/// Parses a text that is exactly one value.
fn whole(text: &str) -> Option<Literal> {
    let mut reader = LiteralReader::new(text, false);
    let value = reader.data()?;
    reader.skip_space()?;
    reader.rest().is_empty().then_some(value)
}

/// Parses `<tool_name>f</tool_name><parameters><a>1</a></parameters>`, `<f><a>1</a></f>`, or arguments alone.
fn nested(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, outer: &Tag<'_>, is_inline: bool) -> Option<WrittenCall> {
    let mut name: Option<String> = None;
    let mut found: Vec<(String, Literal)> = Vec::new();
    loop {
        let before = reader.at();
        reader.skip_space()?;
        if let Some(end) = tag::end(reader.rest()).filter(|end| end.name == outer.name) {
            reader.advance(end.length)?;
            break;
        }
        if reader.rest().is_empty() && reader.completes() {
            break;
        }
        let tool = name.as_deref().and_then(|name| offered(name, tool_set));
        let within = Within { call: outer.name, tool, next: None };
        if name.is_some() && found.is_empty() && reader.rest().starts_with('{') {
            found = reader.data()?.members()?.to_vec();
            continue;
        }
        let inner = tag::take(reader)?;
        if inner.kind == Some(TagKind::Name) && name.is_none() && inner.value.is_none() {
            name = Some(text_up_to_end(reader, inner.full)?);
        } else if inner.value.is_none() && is_holder(inner.name, tool) {
            found = members(reader, Within { call: inner.name, ..within }, is_inline)?;
        } else if NEUTRAL.contains(&inner.name) && tool.is_none_or(|tool| !tool.has_parameter(inner.name)) {
            text_up_to_end(reader, inner.full)?;
        } else if name.is_none() && inner.value.is_none() && offered(inner.name, tool_set).is_some() {
            name = Some(inner.name.to_owned());
            found = members_of(reader, tool_set, inner.name, inner.name, is_inline)?;
        } else if inner.kind == Some(TagKind::Parameter) || name.is_some() {
            reader.go(before);
            reader.skip_space()?;
            let member = parameter(reader, within, is_inline, &found)?;
            found.push(member);
        } else {
            return None;
        }
    }
    match name {
        Some(name) => {
            let name = clean(name.trim());
            let tool = offered(&name, tool_set);
            Some(WrittenCall::named(name, unwrapped(found, tool)))
        }
        None => only_tool(found, tool_set),
    }
}

/// Returns the call of the one tool that has all of these parameters and requires no others. An argument `name` whose
/// value is an offered tool's name identifies that tool.
pub(super) fn only_tool(mut members: Vec<(String, Literal)>, tool_set: &ToolSet) -> Option<WrittenCall> {
    if let Some((key, value)) = members.first()
        && NAME_WORDS.contains(&key.as_str())
        && let Some(name) = value.text().map(|text| clean(text.trim()))
        && offered(&name, tool_set).is_some_and(|tool| !tool.has_parameter(key))
    {
        members.remove(0);
        let tool = offered(&name, tool_set);
        return Some(WrittenCall::named(name, unwrapped(members, tool)));
    }
    if members.is_empty() {
        return None;
    }
    let tools = tool_set.tools().iter().filter(|tool| tool.tool.is_function());
    let mut candidates = tools.filter(|tool| has_only_parameters(&members, tool)).peekable();
    candidates.peek()?;
    let mut complete = candidates.filter(|tool| has_every_required(&members, tool));
    match (complete.next(), complete.next()) {
        (Some(tool), None) => Some(WrittenCall::named(tool.name(), members)),
        // Several tools match, or an argument is missing: a call was meant, but the tool is ambiguous.
        _ => Some(WrittenCall::named("", members)),
    }
}

fn has_every_required(members: &[(String, Literal)], tool: &CompiledTool) -> bool {
    tool.required().iter().all(|name| members.iter().any(|(key, _)| key == name))
}

/// Returns the text of an element, up to its end tag.
pub(super) fn text_up_to_end(reader: &mut LiteralReader<'_>, element: &str) -> Option<String> {
    let text = reader.up_to(&format!("</{element}>"))?;
    Some(inner_text(text, Breaks::Layout).to_owned())
}

pub(super) use tag::attribute;
