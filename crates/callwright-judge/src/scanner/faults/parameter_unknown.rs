//! E3 `parameter_unknown`: the tool has no such parameter, and no more specific fault applies.

use serde::Serialize;

use super::case::{FaultCase, quoted, whereabouts};
use crate::scanner::examination::UnknownMember;
use crate::scanner::tool_set::CompiledTool;
use callwright_types::{Diagnosis, FaultCode};

/// Maximum number of known parameters to list.
const MAX_LISTED: usize = 30;

/// Facts for the feedback template.
#[derive(Debug, Serialize)]
struct Facts {
    /// Name in the call.
    name: String,
    /// Path of the object that contains the name.
    object: String,
    /// Parameters that are not set yet.
    unset: Vec<String>,
}

pub(super) fn check(case: &FaultCase<'_>, tool: &CompiledTool, member: &UnknownMember<'_>) -> Option<Diagnosis> {
    let name = quoted(&member.name);
    let message = format!("{} has no parameter `{name}`", whereabouts(tool, &member.object));
    let unset = member.unset().take(MAX_LISTED).map(str::to_owned).collect();
    let facts = Facts { name, object: member.object.to_string(), unset };
    Some(case.diagnosis(FaultCode::ParameterUnknown, member.path(), message, &facts))
}

#[cfg(test)]
mod tests {
    use crate::scanner::testing::{TOOLS, codes, faults, faults_under};
    use callwright_types::FaultCode;
    use callwright_types::rules::{ScanRules, UnknownParameters};

    #[test]
    fn an_unknown_parameter_is_a_fault_unless_the_schema_or_the_policy_allows_it() {
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
