//! E3 `parameter_unknown`: the tool has no such parameter, and no more specific fault applies.

use serde_json::{Value, json};

use super::case::whereabouts;
use crate::{CompiledTool, FaultCase, MAX_LISTED, UnknownMember, quoted};
use callwright_common::json::Pointer;
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(case: &FaultCase<'_>, tool: &CompiledTool, member: &UnknownMember<'_>) -> Option<Diagnosis> {
    let name = quoted(&member.name);
    let message = format!("{} has no parameter `{name}`", whereabouts(tool, &member.object));
    let unset: Vec<&str> = member.unset().take(MAX_LISTED).collect();
    let value = case.arguments.and_then(|arguments| arguments.pointer(member.path().as_str()));
    let inner = value.and_then(Value::as_object).map(|members| member.own(members.keys())).unwrap_or_default();
    let facts = json!({
        "name": name, "object": member.object.as_str(), "unset": unset,
        // Paths one level off at which the schema has the name.
        "places": member.other_levels(tool.compiled()).iter().map(Pointer::as_str).collect::<Vec<_>>(),
        // Members of the value that belong beside it, not into it.
        "inner": inner,
        "objects": open_objects(tool, member), "excluded": member.is_excluded(),
    });
    Some(case.diagnosis(FaultCode::ParameterUnknown, member.path(), message, facts))
}

/// Returns the required objects of the tool that are missing and whose members the schema does not name.
fn open_objects<'a>(tool: &CompiledTool, member: &UnknownMember<'a>) -> Vec<&'a str> {
    if !member.object.is_root() {
        return Vec::new();
    }
    let free = member.missing().filter(|name| {
        let path = Pointer::root().child(name);
        tool.keyword_at(&path, "type").is_some_and(|types| types == "object")
            && tool.keyword_at(&path, "properties").is_none()
    });
    free.take(MAX_LISTED).collect()
}

/// Whether the member belongs to another level of the tool's own arguments, so that it is none of another tool.
pub(super) fn is_one_level_off(tool: &CompiledTool, member: &UnknownMember<'_>) -> bool {
    !member.other_levels(tool.compiled()).is_empty() || !open_objects(tool, member).is_empty()
}

#[cfg(test)]
mod tests {
    use crate::testing::{TOOLS, codes, faults, faults_under};
    use callwright_types::FaultCode;
    use callwright_types::rules::{ScanRules, UnknownParameters};

    #[test]
    fn it_is_a_fault_unless_the_schema_or_the_policy_allows_it() {
        let arguments = r#"{"city":"Oslo","verbose":true}"#;
        let found = faults(TOOLS, "get_weather", arguments);
        assert_eq!((found[0].code, found[0].path.as_str()), (FaultCode::ParameterUnknown, "/verbose"));
        let allow = ScanRules { unknown_parameters: UnknownParameters::Allow, ..ScanRules::default() };
        assert!(faults_under(&allow, TOOLS, "get_weather", arguments).is_empty());
        assert!(codes(TOOLS, "search", r#"{"query":"x","anything":1}"#).is_empty());
    }

    #[test]
    fn a_tool_that_names_no_parameters_takes_any() {
        assert!(codes(TOOLS, "log", r#"{"a":1,"b":{"c":[2]}}"#).is_empty());
        assert_eq!(codes(TOOLS, "ping", r#"{"a":1}"#), [FaultCode::ParameterUnknown]);
    }
}
