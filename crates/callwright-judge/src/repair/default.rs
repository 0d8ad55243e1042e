//! E3.4: sets a missing required parameter to the default of its schema.

use serde_json::Value;

use super::RepairProposal;
use crate::scanner::CompiledTool;
use crate::scanner::schema::{SchemaRule, Violation};
use callwright_types::RepairKind;

/// Proposes the schema default for the parameter that `violation` reports as missing.
pub(super) fn propose(violation: &Violation, tool: &CompiledTool) -> Option<RepairProposal> {
    let SchemaRule::Missing(name) = &violation.rule else { return None };
    let path = violation.path.child(name);
    let default = tool.default_of(&path)?;
    Some(RepairProposal::set(RepairKind::DefaultFilled, &path, &Value::Null, default.clone()))
}

#[cfg(test)]
mod tests {
    use crate::repair::testing::{mended, unchanged};
    use crate::scanner::testing::TOOLS;
    use callwright_types::RepairKind;

    #[test]
    fn a_missing_parameter_with_a_default_is_filled_and_one_without_is_not() {
        let (text, kinds) = mended(TOOLS, "orders.cancel", r#"{"order_id":7}"#);
        assert_eq!(
            (text.as_str(), kinds.as_slice()),
            (r#"{"order_id":7,"reason":"none given"}"#, &[RepairKind::DefaultFilled][..])
        );
        assert!(unchanged(TOOLS, "get_weather", "{}"));
    }

    #[test]
    fn a_default_that_does_not_fit_is_not_filled() {
        let tools = r#"[{"name":"f","parameters":{"type":"object","required":["a"],"properties":{"a":{"type":"integer","default":"none"}}}}]"#;
        assert!(unchanged(tools, "f", "{}"));
    }

    #[test]
    fn nothing_is_filled_while_an_unknown_name_may_mean_it() {
        assert!(unchanged(TOOLS, "orders.cancel", r#"{"order_id":7,"raeson":"late"}"#));
    }
}
