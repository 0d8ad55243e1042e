//! Names in written calls: of the members of a call, of its tool and of its arguments.

use super::literal::Literal;
use callwright_scanner::names::{CONTENT_TYPES, without_number, without_scope};
use callwright_scanner::{CompiledTool, ToolSet};
use callwright_types::tool_names::without_id_scope;

/// Maximum number of bytes of the name of a tool or of an argument. Providers allow a tool 64.
pub(crate) const MAX_NAME: usize = 160;

/// Maximum number of bytes of a call before its arguments.
pub(super) const MAX_HEAD: usize = 256;

/// Maximum number of times that a call or its arguments are encoded as text or wrapped.
pub(crate) const MAX_WRAPPERS: usize = 3;

/// Members that contain the tool's name.
pub(crate) const NAMES: [&str; 11] = [
    "name", "tool_name", "function_name", "tool", "function", "recipient_name", "action", "api_name", "api", "func",
    "command",
];

/// Members that contain the arguments.
pub(crate) const ARGUMENTS: [&str; 18] = [
    "arguments", "parameters", "args", "params", "kwargs", "input", "inputs", "tool_input", "action_input",
    "tool_args", "tool_arguments", "function_args", "argument", "function_arg", "function_arguments",
    "function_parameters", "tool_parameters", "tool_params",
];

/// Members that contain a call or a list of calls, and have only insignificant siblings.
pub(crate) const WRAPPERS: [&str; 19] = [
    "tool_calls", "function_call", "function", "tool_call", "function_calls", "tool_uses", "calls", "functions",
    "tools", "actions", "command", "call", "functionCall", "functionCalls", "toolCall", "toolCalls", "toolUse",
    "tool_use", "api_call",
];

/// Members that may be beside a wrapper or a call, and do not identify the tool.
pub(crate) const NEUTRAL: [&str; 23] = [
    "text", "id", "type", "index", "role", "content", "thought", "thoughts", "reasoning", "tool_call_id", "call_id",
    "explanation", "rationale", "status", "reason", "thinking", "tool_plan", "toolUseId", "confidence", "comment",
    "note", "step", "purpose",
];

/// Removes Markdown escapes from a name.
pub(crate) fn clean(name: &str) -> String {
    // Tool names contain no angle bracket: the text after it is a remainder of a tag.
    let name = name.split('<').next().unwrap_or(name);
    name.trim().trim_end_matches("()").replace('\\', "")
}

/// Returns the offered tool that a written name refers to: by the exact name, or by the only name that differs just in
/// spelling.
pub(super) fn offered<'a>(name: &str, tool_set: &'a ToolSet) -> Option<&'a CompiledTool> {
    let tool = tool_set.find(name).or_else(|| tool_set.find(without_scope(name)?))?;
    tool.may_be_written().then_some(tool)
}

/// Returns the offered name in the header of a call, to which models join the number of the call (`f:0`, `f_1`,
/// `functions-f-1`) or the content type of the arguments (`fjson`). Returns the name unchanged if it is offered or if
/// no part of it is.
pub(super) fn in_header(name: String, tool_set: &ToolSet) -> String {
    if offered(&name, tool_set).is_some() {
        return name;
    }
    let unnumbered = without_call_number(&name, tool_set);
    let bare = unnumbered.unwrap_or(&name);
    let scoped = without_id_scope(bare);
    let untyped = CONTENT_TYPES.iter().find_map(|kind| bare.strip_suffix(kind));
    let parts = [unnumbered, scoped, untyped].into_iter().flatten();
    let found = parts.into_iter().find(|part| offered(part, tool_set).is_some()).map(str::to_owned);
    found.unwrap_or(name)
}

/// Returns the name without the number of the call. After another sign than a colon, the number may belong to the
/// name: then no offered tool may have a name that differs only in its number.
fn without_call_number<'a>(name: &'a str, tool_set: &ToolSet) -> Option<&'a str> {
    let bare = without_number(name)?;
    let unscoped = without_scope(bare).unwrap_or(bare);
    let is_counted = name.get(bare.len()..).is_some_and(|number| number.starts_with(':'));
    (is_counted || !tool_set.has_series(unscoped)).then_some(bare)
}

/// Whether every required parameter is among the members. Arguments without a name are assigned to the first
/// parameters.
pub(super) fn has_required(members: &[(String, Literal)], tool: &CompiledTool) -> bool {
    let positional = members.iter().filter(|(key, _)| key.is_empty()).count();
    tool.required().iter().all(|name| {
        members.iter().any(|(key, _)| key == name)
            || positional > 0 && tool.parameters().take(positional).any(|parameter| parameter.name == name)
    })
}

/// Whether the members are arguments of the tool: all are known, and none is missing.
pub(super) fn accepts(members: &[(String, Literal)], tool: &CompiledTool) -> bool {
    has_required(members, tool) && has_only_parameters(members, tool)
}

pub(super) fn has_only_parameters(members: &[(String, Literal)], tool: &CompiledTool) -> bool {
    members.iter().all(|(key, _)| tool.has_parameter(key))
}
