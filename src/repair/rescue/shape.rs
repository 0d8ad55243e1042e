//! Calls as data: the objects and lists by which models say which tool they call.

use super::literal::Literal;
use super::python;
use super::written::{Written, offered};
use crate::scanner::Toolbook;

/// Members that hold the tool's name.
pub(super) const NAMES: [&str; 10] =
    ["name", "tool_name", "function_name", "tool", "function", "recipient_name", "action", "api_name", "api", "func"];

/// Members that hold the arguments.
pub(super) const ARGUMENTS: [&str; 13] = [
    "arguments",
    "parameters",
    "args",
    "params",
    "kwargs",
    "input",
    "inputs",
    "tool_input",
    "action_input",
    "tool_args",
    "tool_arguments",
    "function_args",
    "argument",
];

/// Members that hold a call, or a list of calls, and nothing else of importance beside it.
pub(super) const WRAPPERS: [&str; 11] = [
    "tool_calls",
    "function_call",
    "function",
    "tool_call",
    "function_calls",
    "tool_uses",
    "calls",
    "functions",
    "tools",
    "actions",
    "call",
];

/// Members that may stand beside a wrapper or a call: they say nothing about what is called.
pub(super) const NEUTRAL: [&str; 16] = [
    "id",
    "type",
    "index",
    "role",
    "content",
    "thought",
    "thoughts",
    "reasoning",
    "tool_call_id",
    "call_id",
    "explanation",
    "rationale",
    "status",
    "reason",
    "thinking",
    "tool_plan",
];

/// Objects within objects that are looked into for calls.
const MAX_DEPTH: usize = 6;

/// The calls that a value spells; `None` where it is no such thing.
pub(super) fn calls(literal: &Literal, toolbook: &Toolbook) -> Option<Vec<Written>> {
    read(literal, toolbook, MAX_DEPTH).filter(|calls| !calls.is_empty())
}

fn read(literal: &Literal, toolbook: &Toolbook, depth: usize) -> Option<Vec<Written>> {
    let depth = depth.checked_sub(1)?;
    match literal {
        Literal::Object(members) => single(literal, members)
            .map(|call| vec![call])
            .or_else(|| wrapped(members, toolbook, depth))
            .or_else(|| by_name(members, toolbook)),
        Literal::List(items) => match pair(items, toolbook) {
            Some(call) => Some(vec![call]),
            None => {
                let mut calls = Vec::new();
                for item in items {
                    calls.extend(read(item, toolbook, depth)?);
                }
                Some(calls)
            }
        },
        Literal::Text(text) | Literal::Source(text) => python::whole(text, toolbook),
        _ => None,
    }
}

/// `{"name": ..., "arguments": {...}}` under one of its many names.
fn single(object: &Literal, members: &[(String, Literal)]) -> Option<Written> {
    let (name_key, name) = NAMES.iter().find_map(|key| Some((*key, object.member(key)?.text()?)))?;
    let found = ARGUMENTS.iter().find_map(|key| object.member(key).map(|value| (*key, value)));
    // A tool that needs no arguments may be called by its name alone, if nothing else is said.
    let (arguments_key, arguments) = found.unwrap_or(("", &Literal::Null));
    let is_plain = |key: &str| key == name_key || key == arguments_key || NEUTRAL.contains(&key);
    if !members.iter().all(|(key, _)| is_plain(key)) || is_schema(arguments) {
        return None;
    }
    if found.is_none() && name_key == "name" && members.len() > 1 && object.member("type").is_none() {
        return None;
    }
    Written::with_arguments(clean(name), arguments)
}

/// Is it a JSON Schema, as the definition of a tool has it, and not an argument object?
fn is_schema(arguments: &Literal) -> bool {
    arguments.member("type").and_then(Literal::text) == Some("object") && arguments.member("properties").is_some()
}

/// An object that holds its calls under one of the usual names.
fn wrapped(members: &[(String, Literal)], toolbook: &Toolbook, depth: usize) -> Option<Vec<Written>> {
    let mut inner = None;
    for (key, value) in members {
        let holds_calls = WRAPPERS.contains(&key.as_str()) && matches!(value, Literal::Object(_) | Literal::List(_));
        if holds_calls && inner.is_none() {
            inner = Some(value);
        } else if !NEUTRAL.contains(&key.as_str()) {
            return None;
        }
    }
    read(inner?, toolbook, depth)
}

/// `{tool: {...}, tool: {...}}`, where each name is that of an offered tool.
fn by_name(members: &[(String, Literal)], toolbook: &Toolbook) -> Option<Vec<Written>> {
    let mut calls = Vec::new();
    for (name, value) in members {
        offered(&clean(name), toolbook)?;
        match value {
            Literal::List(items) if items.iter().all(|item| item.members().is_some()) => {
                for item in items {
                    calls.push(Written::with_arguments(clean(name), item)?);
                }
            }
            value => calls.push(Written::with_arguments(clean(name), value)?),
        }
    }
    Some(calls)
}

/// `["name", {...}]`, or `["name", "a=1", "b='x'"]`.
fn pair(items: &[Literal], toolbook: &Toolbook) -> Option<Written> {
    let (name, rest) = items.split_first()?;
    let name = clean(name.text()?);
    offered(&name, toolbook)?;
    match rest {
        [arguments @ Literal::Object(_)] => Written::with_arguments(name, arguments),
        [_, ..] => {
            let named = rest.iter().map(|item| python::keyword(item.text()?)).collect::<Option<Vec<_>>>()?;
            Some(Written::named(name, named))
        }
        [] => None,
    }
}

/// A name without the escapes that Markdown asks for.
pub(super) fn clean(name: &str) -> String {
    name.trim().trim_end_matches("()").replace('\\', "")
}
