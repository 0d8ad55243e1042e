//! E3.1 `parameter_of_other_tool`: the parameter belongs to another tool.

use serde_json::json;

use super::case::whereabouts;
use super::parameter_unknown::is_one_level_off;
use crate::{CompiledTool, FaultCase, MAX_LISTED, UnknownMember, quoted};
use callwright_common::limits::EXAMPLES;
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(case: &FaultCase<'_>, tool: &CompiledTool, member: &UnknownMember<'_>) -> Option<Diagnosis> {
    // The tool's own other levels come first.
    if !member.object.is_root() || is_one_level_off(tool, member) {
        return None;
    }
    let owners = case.tool_set.owners(&member.name).map(CompiledTool::name).filter(|other| *other != tool.name());
    let owners: Vec<&str> = owners.take(EXAMPLES).collect();
    let first = owners.first()?;
    let name = quoted(&member.name);
    let message = format!("{} has no parameter `{name}`; that is one of `{first}`", whereabouts(tool, &member.object));
    let unset: Vec<&str> = member.unset().take(MAX_LISTED).collect();
    let facts = json!({ "name": name, "object": member.object.as_str(), "owners": owners, "unset": unset });
    Some(case.diagnosis(FaultCode::ParameterOfOtherTool, member.path(), message, facts))
}

#[cfg(test)]
mod tests {
    use crate::testing::{TOOLS, codes, faults};
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
