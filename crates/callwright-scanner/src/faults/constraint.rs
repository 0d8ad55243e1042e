//! E4.2 `constraint`: the value violates a keyword other than `type`: enum, range, length, pattern, format or
//! uniqueness.

use std::sync::Arc;

use serde_json::{Value, json};

use super::case::clear;
use crate::names::NameList;
use crate::{CompiledTool, FaultCase, MAX_LISTED, Relevance, SchemaRule, Violation, quoted};
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(
    case: &FaultCase<'_>,
    tool: &CompiledTool,
    arguments: &Value,
    violation: &Violation,
) -> Option<Diagnosis> {
    let value = arguments.pointer(violation.path.as_str())?;
    let allowed = match &violation.rule {
        SchemaRule::Options(options) => Some(options),
        _ => None,
    };
    let options = allowed.and_then(|options| options.as_array()).map(Vec::as_slice).unwrap_or_default();
    let (keyword, rule) = match &violation.rule {
        SchemaRule::Options(_) => ("enum", one_of(options)),
        SchemaRule::Constraint(keyword, rule) => (*keyword, rule.clone()),
        SchemaRule::Type(_) | SchemaRule::Missing(_) | SchemaRule::Unknown(_) | SchemaRule::Branches(_) => return None,
    };
    let place = if violation.path.is_root() { "the whole".to_owned() } else { quoted(violation.path.as_str()) };
    let message = format!("`{place}` {rule}, not {}", quoted(&value.to_string()));
    let facts = json!({
        "value": quoted(&value.to_string()), "keyword": keyword, "rule": rule, "options": listed(options),
        "description": tool.describe_argument(&violation.path).unwrap_or_default().description,
    });
    let diagnosis = case.diagnosis(FaultCode::Constraint, violation.path.clone(), message, facts);
    Some(Diagnosis { suggestion: allowed.and_then(|options| closest(case, value.as_str()?, options)), ..diagnosis })
}

/// Returns the allowed string that is clearly the closest to `value`.
fn closest(case: &FaultCase<'_>, value: &str, allowed: &Arc<Value>) -> Option<String> {
    let names = case.option_names(allowed, || NameList::read(texts(allowed)));
    let nearest = names.nearest(value, 2, case.rules.similarity, |_| true);
    let ranked: Vec<_> = nearest.into_iter().filter_map(|(at, alike)| Some((texts(allowed).nth(at)?, alike))).collect();
    clear(&ranked, case.rules.similarity, f64::MIN_POSITIVE).map(str::to_owned)
}

/// Returns the strings among the allowed values.
fn texts(allowed: &Value) -> impl Iterator<Item = &str> {
    allowed.as_array().into_iter().flatten().filter_map(Value::as_str).take(Relevance::MAX_RANKED)
}

fn listed(options: &[Value]) -> Vec<String> {
    options.iter().take(MAX_LISTED).map(|option| quoted(&option.to_string())).collect()
}

fn one_of(options: &[Value]) -> String {
    let listed = listed(options);
    match (listed.as_slice(), options.len() - listed.len()) {
        ([only], 0) => format!("must be {only}"),
        (_, 0) => format!("must be one of {}", listed.join(", ")),
        (_, more) => format!("must be one of {} and {more} more", listed.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TOOLS, codes, faults};
    use callwright_types::FaultCode;

    #[test]
    fn rules_other_than_the_type_are_judged() {
        let wrong = [
            (r#"{"city":"Oslo","unit":"kelvin"}"#, "/unit", "must be one of \"celsius\", \"fahrenheit\""),
            (r#"{"city":"Oslo","num_days":0}"#, "/num_days", "must be at least 1"),
            (r#"{"city":""}"#, "/city", "must have at least 1 characters"),
            (r#"{"city":"Oslo","from":"tomorrow"}"#, "/from", "must be a date as in 2025-01-31 (RFC 3339)"),
            (r#"{"city":"Oslo","code":"no"}"#, "/code", "must match the regular expression ^[A-Z]{2}$"),
            (r#"{"city":"Oslo","tags":["a","a"]}"#, "/tags", "must have no item twice"),
        ];
        for (arguments, path, rule) in wrong {
            let found = faults(TOOLS, "get_weather", arguments);
            assert_eq!((found[0].code, found[0].path.as_str()), (FaultCode::Constraint, path), "{arguments}");
            assert_eq!(found[0].facts["rule"], rule);
        }
        let right = r#"{"city":"Oslo","unit":"celsius","num_days":1,"from":"2025-01-31","code":"NO","tags":["a","b"]}"#;
        assert!(codes(TOOLS, "get_weather", right).is_empty());
    }

    #[test]
    fn a_close_option_is_suggested() {
        let found = faults(TOOLS, "get_weather", r#"{"city":"Oslo","unit":"celcius"}"#);
        assert_eq!(found[0].suggestion.as_deref(), Some("celsius"));
    }

    #[test]
    fn a_scalar_that_fits_several_alternatives_is_right() {
        let tools = r#"[{"name":"f","parameters":{"type":"object","properties":{
            "at":{"oneOf":[{"type":"string","format":"date"},{"type":"string"}]}}}}]"#;
        assert!(codes(tools, "f", r#"{"at":"2025-01-31"}"#).is_empty());
        assert_eq!(codes(tools, "f", r#"{"at":5}"#), [FaultCode::TypeMismatch]);
    }
}
