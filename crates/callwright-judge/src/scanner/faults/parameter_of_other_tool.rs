//! E3.1 `parameter_of_other_tool`: the parameter belongs to another tool.

use serde::Serialize;

use super::case::{FaultCase, quoted, whereabouts};
use super::parameter_unknown::is_one_level_off;
use crate::scanner::examination::UnknownMember;
use crate::scanner::tool_set::CompiledTool;
use callwright_types::{Diagnosis, FaultCode};

/// Maximum number of other tools to report.
const MAX_OWNERS: usize = 3;

/// Maximum number of parameters of the called tool to list.
const MAX_LISTED: usize = 30;

/// Facts for the feedback template.
#[derive(Debug, Serialize)]
struct Facts {
    /// Name in the call.
    name: String,
    /// Path of the object that contains the name.
    object: String,
    /// Tools that have a parameter of this name.
    owners: Vec<String>,
    /// Parameters of the called tool that are not set yet.
    unset: Vec<String>,
}

pub(super) fn check(case: &FaultCase<'_>, tool: &CompiledTool, member: &UnknownMember<'_>) -> Option<Diagnosis> {
    if !member.object.is_root() {
        return None;
    }
    // The tool's own other levels come first.
    if is_one_level_off(tool, member) {
        return None;
    }
    let owners: Vec<String> = case
        .tool_set
        .owners(&member.name)
        .filter(|other| other.name() != tool.name())
        .take(MAX_OWNERS)
        .map(|other| other.name().to_owned())
        .collect();
    let first = owners.first()?;
    let name = quoted(&member.name);
    let message = format!("{} has no parameter `{name}`; that is one of `{first}`", whereabouts(tool, &member.object));
    let unset = member.unset().take(MAX_LISTED).map(str::to_owned).collect();
    let facts = Facts { name, object: member.object.to_string(), owners, unset };
    Some(case.diagnosis(FaultCode::ParameterOfOtherTool, member.path(), message, &facts))
}

#[cfg(test)]
mod tests {
    use crate::scanner::testing::{TOOLS, codes, faults};
    use callwright_types::FaultCode;

    #[test]
    fn a_parameter_of_another_tool_is_recognised() {
        let found = faults(TOOLS, "get_weather", r#"{"city":"Oslo","order_id":7}"#);
        assert_eq!(found[0].code, FaultCode::ParameterOfOtherTool);
        assert_eq!((&found[0].facts["owners"][0], found[0].path.as_str()), (&"orders.cancel".into(), "/order_id"));
    }

    #[test]
    fn the_tools_own_literal_match_wins() {
        assert_eq!(codes(TOOLS, "orders.cancel", r#"{"orderId":7,"reason":"x"}"#), [FaultCode::ParameterLiteral]);
    }
}
