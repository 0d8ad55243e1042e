//! E1: unwraps an argument object from within another object that the tool does not have: `{"arguments": {...}}`,
//! `{"input": "{...}"}`, or a whole call with its name.

use std::collections::HashSet;

use super::lenient::{self, LenientGuard};
use super::rescue::call_names::{ARGUMENTS, MAX_WRAPPERS, NAMES, clean};
use super::rescue::literal::Literal;
use callwright_scanner::names::fold;

/// Members that contain an argument object, in addition to the usual members of a call.
const HOLDERS: [&str; 12] = [
    "data", "properties", "payload", "request", "body", "requestBody", "request_body", "json", "function", "tool_call",
    "function_call", "call",
];

/// Members of a call beside its name and its arguments.
const BESIDE: [&str; 5] = ["id", "type", "index", "call_id", "tool_call_id"];

/// Returns the members of the argument object within `members`, if these are not arguments of the tool themselves.
pub(super) fn inner(members: &[(String, Literal)], guard: LenientGuard<'_>) -> Option<Vec<(String, Literal)>> {
    within(members, guard, MAX_WRAPPERS)
}

fn within(members: &[(String, Literal)], guard: LenientGuard<'_>, depth: usize) -> Option<Vec<(String, Literal)>> {
    let depth = depth.checked_sub(1)?;
    let mut held = None;
    for (key, value) in members {
        if is_parameter(key, guard) {
            return None;
        } else if is_holder(key, guard)
            && matches!(value, Literal::Object(_) | Literal::Text(_))
            && !is_name(key, value)
        {
            if held.replace((key, value)).is_some() {
                return None;
            }
        } else if !(is_own_name(key, value, guard) || is_beside(key, value)) {
            return None;
        }
    }
    let (key, value) = held?;
    let inner = match value {
        Literal::Object(members) => members.clone(),
        Literal::Text(text) => lenient::members(text, guard)?,
        _ => return None,
    };
    if fits(&inner, guard) && !(key == "properties" && describes_parameters(&inner)) {
        return Some(inner);
    }
    within(&inner, guard, depth)
}

/// Whether the members are arguments of the tool: all are known, and none is missing.
fn fits(members: &[(String, Literal)], guard: LenientGuard<'_>) -> bool {
    let given: HashSet<String> = members.iter().map(|(key, _)| fold(key)).collect();
    let required = guard.tool.required();
    members.iter().all(|(key, value)| is_parameter(key, guard) && value.expression().is_none())
        && required.iter().all(|name| given.contains(&fold(name)))
        && (!members.is_empty() || required.is_empty())
}

fn is_parameter(key: &str, guard: LenientGuard<'_>) -> bool {
    guard.tool.has_parameter_like(key)
}

fn is_holder(key: &str, guard: LenientGuard<'_>) -> bool {
    is_usual(key) || fold(key) == fold(guard.tool.name())
}

/// Whether models usually give this name to a member that contains arguments.
pub(super) fn is_usual(key: &str) -> bool {
    ARGUMENTS.contains(&key) || HOLDERS.contains(&key)
}

/// Whether the member is the name of a call and not an argument object: `{"function": "get_user", "arguments": {...}}`.
fn is_name(key: &str, value: &Literal) -> bool {
    NAMES.contains(&key) && value.text().is_some_and(|text| !text.trim_start().starts_with('{'))
}

/// Whether the member names the called tool.
fn is_own_name(key: &str, value: &Literal, guard: LenientGuard<'_>) -> bool {
    let name = value.text().map(clean).filter(|_| NAMES.contains(&key));
    name.is_some_and(|name| guard.tool_set.find(&name).is_some_and(|tool| tool.name() == guard.tool.name()))
}

fn is_beside(key: &str, value: &Literal) -> bool {
    BESIDE.contains(&key) && matches!(value, Literal::Text(_) | Literal::Number(_) | Literal::Null)
}

/// Whether the members define the parameters: `{"city": {"type": "string"}}`.
fn describes_parameters(members: &[(String, Literal)]) -> bool {
    members.iter().any(|(_, value)| value.member("type").is_some() || value.member("description").is_some())
}
