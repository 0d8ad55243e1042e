//! E4.1 `type_mismatch`: the type of the value is not allowed by the schema.

use serde_json::{Value, json};

use crate::{CompiledTool, FaultCase, SchemaRule, Violation, quoted, type_of};
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(
    case: &FaultCase<'_>,
    tool: &CompiledTool,
    arguments: &Value,
    violation: &Violation,
) -> Option<Diagnosis> {
    let SchemaRule::Type(expected) = &violation.rule else { return None };
    let value = arguments.pointer(violation.path.as_str())?;
    let actual = if value.is_f64() { "number" } else { type_of(value) };
    let message =
        format!("`{}` is of type {actual}, but must be {}", quoted(violation.path.as_str()), expected.join(" or "));
    let described = tool.describe_argument(&violation.path).unwrap_or_default();
    let facts = json!({
        "value": quoted(&value.to_string()), "actual": actual, "expected": expected,
        "options": described.options, "description": described.description,
    });
    Some(case.diagnosis(FaultCode::TypeMismatch, violation.path.clone(), message, facts))
}

#[cfg(test)]
mod tests {
    use crate::testing::{TOOLS, codes, faults};
    use callwright_types::FaultCode;

    #[test]
    fn a_value_must_have_its_schemas_type() {
        let found = faults(TOOLS, "get_weather", r#"{"city":["Oslo"],"num_days":"two"}"#);
        assert_eq!(found.iter().map(|found| found.path.as_str()).collect::<Vec<_>>(), ["/city", "/num_days"]);
        assert!(found.iter().all(|found| found.code == FaultCode::TypeMismatch));
        assert_eq!(found[1].facts["expected"][0], "integer");
    }

    #[test]
    fn of_alternatives_that_all_differ_in_type_every_type_is_named() {
        let found = faults(TOOLS, "search", r#"{"query":"x","limit":"many"}"#);
        assert_eq!(found[0].code, FaultCode::TypeMismatch);
        assert_eq!(found[0].facts["expected"], serde_json::json!(["integer", "null"]));
        assert!(codes(TOOLS, "search", r#"{"query":"x","limit":null}"#).is_empty());
    }

    #[test]
    fn whole_numbers_are_written_without_fraction_and_fit_numbers() {
        assert_eq!(codes(TOOLS, "get_weather", r#"{"city":"Oslo","num_days":2.0}"#), [FaultCode::TypeMismatch]);
        assert_eq!(codes(TOOLS, "search", r#"{"query":"x","limit":2.0}"#), [FaultCode::TypeMismatch]);
        assert!(codes(TOOLS, "get_weather", r#"{"city":"Oslo","num_days":2}"#).is_empty());
        assert!(codes(TOOLS, "search", r#"{"query":"x","weight":1}"#).is_empty());
        assert!(codes(TOOLS, "search", r#"{"query":"x","weight":1.0}"#).is_empty());
    }
}
