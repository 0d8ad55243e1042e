//! Parses calls as data: the objects and lists in which models write calls.

use super::call_names::{ARGUMENTS, NAMES, NEUTRAL, WRAPPERS, accepts, clean, offered};
use super::literal::{Literal, Nesting};
use super::python;
use super::written::WrittenCall;
use callwright_scanner::{CompiledTool, ToolSet};

/// Maximum depth of nested objects that are searched for calls.
const MAX_DEPTH: usize = 6;

/// Parses the calls that a value represents; `None` if it is not a call. Strings in it are nested texts.
pub(super) fn calls(literal: &Literal, tool_set: &ToolSet, nesting: &Nesting) -> Option<Vec<WrittenCall>> {
    let place = ShapeContext { tool_set, nesting, depth: MAX_DEPTH };
    read(literal, place).filter(|calls| !calls.is_empty())
}

/// Whether a value is complete calls of offered tools.
pub(super) fn are_complete_calls(literal: &Literal, tool_set: &ToolSet, nesting: &Nesting) -> bool {
    calls(literal, tool_set, nesting).is_some_and(|calls| calls.iter().all(|call| is_complete(call, tool_set)))
}

fn is_complete(call: &WrittenCall, tool_set: &ToolSet) -> bool {
    offered(&call.name, tool_set).is_some_and(|tool| !call.positional.is_empty() || accepts(&call.named, tool))
}

#[derive(Clone, Copy)]
struct ShapeContext<'a> {
    tool_set: &'a ToolSet,
    nesting: &'a Nesting,
    /// Remaining depth of nested values.
    depth: usize,
}

fn read(literal: &Literal, place: ShapeContext<'_>) -> Option<Vec<WrittenCall>> {
    let tool_set = place.tool_set;
    let place = ShapeContext { depth: place.depth.checked_sub(1)?, ..place };
    match literal {
        Literal::Object(members) => single(literal, members, tool_set)
            .or_else(|| coded(members, place))
            .or_else(|| wrapped(members, place))
            .or_else(|| by_name(members, tool_set)),
        Literal::List(items) => list(items, place),
        Literal::Text(text) | Literal::Source(text) => python::whole(text, tool_set, true, place.nesting),
        _ => None,
    }
}

/// Parses `{"name": ..., "arguments": {...}}` and variants with other member names. Parameters of the tool beside the
/// name, with or without an arguments member, are added to the arguments.
fn single(object: &Literal, members: &[(String, Literal)], tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let (name_key, name) = NAMES.iter().find_map(|key| Some((*key, object.member(key)?.text()?)))?;
    let name = clean(name);
    if name.contains('(') {
        return None;
    }
    let tool = offered(&name, tool_set);
    let found = ARGUMENTS.iter().find_map(|key| object.member(key).map(|value| (*key, value)));
    let found = found.filter(|(key, _)| !tool.is_some_and(|tool| tool.has_parameter(key)));
    let (arguments_key, arguments) = found.unwrap_or(("", &Literal::Null));
    if is_schema(arguments) {
        return None;
    }
    if let Literal::List(items) = arguments
        && items.len() > 1
        && members.len() == 2
    {
        return items.iter().map(|item| WrittenCall::with_arguments(name.as_str(), item)).collect();
    }
    let arguments = tool.map_or(arguments, |tool| unwrapped(arguments, tool));
    let mut written = WrittenCall::with_arguments(name, arguments)?;
    let mut neutral = 0;
    for (key, value) in members.iter().filter(|(key, _)| key != name_key && key != arguments_key) {
        if tool.is_some_and(|tool| tool.has_parameter(key)) {
            written.named.push((key.clone(), value.clone()));
        } else if NEUTRAL.contains(&key.as_str()) {
            neutral += 1;
        } else {
            return None;
        }
    }
    // A name alone is a call only if its key or the member `type` shows it, or if there are no other members and the
    // tool requires no arguments.
    let is_explicit = name_key != "name" || object.member("type").is_some();
    let is_enough = neutral == 0 && tool.is_none_or(CompiledTool::needs_nothing);
    (!arguments_key.is_empty() || !written.named.is_empty() || is_explicit || is_enough).then(|| vec![written])
}

/// Unwraps the arguments in `{"arguments": {...}}` if the tool has no such parameter.
fn unwrapped<'a>(arguments: &'a Literal, tool: &CompiledTool) -> &'a Literal {
    match arguments.members() {
        Some([(key, inner @ Literal::Object(_))]) if ARGUMENTS.contains(&key.as_str()) && !tool.has_parameter(key) => {
            inner
        }
        _ => arguments,
    }
}

/// Whether the value is a JSON Schema of a tool definition, and not an argument object.
fn is_schema(arguments: &Literal) -> bool {
    arguments.member("type").and_then(Literal::text) == Some("object") && arguments.member("properties").is_some()
}

/// Parses `{"function": "name(a=1)"}`: a call as code, in a member for the name.
fn coded(members: &[(String, Literal)], place: ShapeContext<'_>) -> Option<Vec<WrittenCall>> {
    let [(key, Literal::Text(code))] = members else { return None };
    let is_name = NAMES.contains(&key.as_str()) || WRAPPERS.contains(&key.as_str());
    let calls = is_name.then(|| python::whole(code, place.tool_set, true, place.nesting))??;
    calls.iter().all(|call| offered(&call.name, place.tool_set).is_some()).then_some(calls)
}

/// Parses an object that contains its calls in one of the usual wrapper members.
fn wrapped(members: &[(String, Literal)], place: ShapeContext<'_>) -> Option<Vec<WrittenCall>> {
    let mut inner = None;
    for (key, value) in members {
        let holds_calls = WRAPPERS.contains(&key.as_str()) && matches!(value, Literal::Object(_) | Literal::List(_));
        if holds_calls && inner.is_none() {
            inner = Some(value);
        } else if !NEUTRAL.contains(&key.as_str()) {
            return None;
        }
    }
    read(inner?, place)
}

/// Parses `{tool: {...}, tool: {...}}`, where each key is the name of an offered tool.
fn by_name(members: &[(String, Literal)], tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let mut calls = Vec::new();
    for (name, value) in members {
        let tool = offered(&clean(name), tool_set)?;
        let value = unwrapped(value, tool);
        // Data about a tool may also use the tool's name as a key.
        let is_data = value
            .members()
            .is_some_and(|members| !members.is_empty() && !members.iter().any(|(key, _)| tool.has_parameter(key)));
        if is_data && tool.parameters().next().is_some() {
            return None;
        }
        match value {
            Literal::List(items) if items.iter().all(|item| item.members().is_some()) => {
                for item in items {
                    calls.push(WrittenCall::with_arguments(clean(name), item)?);
                }
            }
            value => calls.push(WrittenCall::with_arguments(clean(name), value)?),
        }
    }
    Some(calls)
}

/// Types of content parts that are not calls.
const PARTS: [&str; 4] = ["text", "output_text", "thinking", "reasoning"];

/// Parses calls in a list, in any mixture: objects, code, and names followed by their arguments.
fn list(items: &[Literal], place: ShapeContext<'_>) -> Option<Vec<WrittenCall>> {
    let tool_set = place.tool_set;
    if let Some(call) = keywords(items, tool_set) {
        return Some(vec![call]);
    }
    let mut calls = Vec::new();
    let mut items = items.iter().peekable();
    while let Some(item) = items.next() {
        if item.member("type").and_then(Literal::text).is_some_and(|kind| PARTS.contains(&kind)) {
            continue;
        }
        let arguments = items.peek().filter(|next| next.members().is_some());
        match (item.text().map(clean).filter(|name| offered(name, tool_set).is_some()), arguments) {
            (Some(name), Some(arguments)) => {
                calls.push(WrittenCall::with_arguments(name, arguments)?);
                items.next();
            }
            _ => calls.extend(read(item, place)?),
        }
    }
    Some(calls)
}

/// Parses `["name", "a=1", "b='x'"]`.
fn keywords(items: &[Literal], tool_set: &ToolSet) -> Option<WrittenCall> {
    let (first, rest) = items.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let name = clean(first.text()?);
    offered(&name, tool_set)?;
    let named = rest.iter().map(|item| python::keyword(item.text()?)).collect::<Option<Vec<_>>>()?;
    Some(WrittenCall::named(name, named))
}
