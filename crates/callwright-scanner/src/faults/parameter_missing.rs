//! E3.4 `parameter_missing`: a required parameter is absent.

use serde_json::{Value, json};

use super::case::whereabouts;
use crate::{CompiledTool, FaultCase, SchemaRule, Violation, quoted};
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(case: &FaultCase<'_>, tool: &CompiledTool, _: &Value, violation: &Violation) -> Option<Diagnosis> {
    let SchemaRule::Missing(name) = &violation.rule else { return None };
    let path = violation.path.child(name);
    let message = format!("{} needs the parameter `{}`", whereabouts(tool, &violation.path), quoted(name));
    let parameter = tool.describe_argument(&path).unwrap_or_default();
    let facts = json!({ "name": quoted(name), "object": violation.path.as_str(), "parameter": parameter });
    Some(case.diagnosis(FaultCode::ParameterMissing, path, message, facts))
}

#[cfg(test)]
mod tests {
    use crate::testing::{TOOLS, codes, faults};
    use callwright_types::FaultCode;

    #[test]
    fn a_required_parameter_must_be_there_at_every_level() {
        let found = faults(TOOLS, "get_weather", "{}");
        assert_eq!((found[0].code, found[0].path.as_str()), (FaultCode::ParameterMissing, "/city"));
        assert_eq!(found[0].facts["parameter"]["types"], "string");
        let found = faults(TOOLS, "make_note", r#"{"place":{}}"#);
        assert_eq!((found[0].code, found[0].path.as_str()), (FaultCode::ParameterMissing, "/place/city"));
        assert!(codes(TOOLS, "get_weather", r#"{"city":"Oslo"}"#).is_empty());
    }

    #[test]
    fn a_schema_that_judges_no_values_still_knows_what_is_required() {
        let tools = r##"[{"name":"f","parameters":{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/a"}},
            "$defs":{"a":{"$ref":"#/$defs/a"}}}}]"##;
        assert_eq!(codes(tools, "f", "{}"), [FaultCode::ParameterMissing]);
        assert!(codes(tools, "f", r#"{"a":1}"#).is_empty());
    }
}
