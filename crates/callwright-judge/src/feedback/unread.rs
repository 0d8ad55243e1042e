//! Static feedback for an answer that contains an unreadable call (E1).

use minijinja::context;
use minijinja::value::Value;
use serde_json::Map;

use super::shown::{self, ExampleCall};
use callwright_common::limits::LISTED;
use callwright_scanner::ToolSet;
use callwright_types::Diagnosis;

/// Returns the template context. The facts of the diagnosis depend on how far the answer could be parsed. All are
/// optional: `reason` (why no call can be recovered), `name` (tool name), `near` (text at that position), `notation`,
/// `native_only` (whether calls of the tool cannot be read from text).
pub(super) fn context(diagnosis: &Diagnosis, tool_set: &ToolSet) -> Value {
    let name = fact(diagnosis, "name");
    let tools: Vec<String> = match name {
        Some(name) => tool_set.nearest(name, LISTED).into_iter().map(|(near, _)| near.to_owned()).collect(),
        None => tool_set.tools().iter().take(LISTED).map(|tool| tool.name().to_owned()).collect(),
    };
    context! {
        code => diagnosis.code.code(),
        message => &diagnosis.message,
        reason => fact(diagnosis, "reason"),
        near => fact(diagnosis, "near"),
        notation => fact(diagnosis, "notation"),
        name => name,
        native_only => diagnosis.facts.get("native_only").and_then(serde_json::Value::as_bool).unwrap_or(false),
        tools => tools,
        offered => tool_set.tools().len(),
        example => example_of(name, tool_set).map(ExampleCall::context),
    }
}

fn fact<'a>(diagnosis: &'a Diagnosis, name: &str) -> Option<&'a str> {
    diagnosis.facts.get(name).and_then(serde_json::Value::as_str).filter(|fact| !fact.is_empty())
}

/// Returns an example call of the named tool, or of the only one offered.
fn example_of(name: Option<&str>, tool_set: &ToolSet) -> Option<ExampleCall> {
    let tool = match (name, tool_set.tools()) {
        (Some(name), _) => tool_set.find(name),
        (None, [only]) => Some(only),
        (None, _) => None,
    }?;
    shown::call_of(tool, &Map::new(), &[])
}
