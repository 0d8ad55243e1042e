//! E3.3 `parameter_semantic`: an unknown parameter is close to exactly one parameter that is not set yet.
//!
//! Closeness is defined as in E2.3. A purely semantic match also requires that the candidate's schema accepts the
//! value, at most after a change of notation: `{"properties": {...}}` does not match a string `property_type`.
//!
//! Where no name is close, the parameter is suggested by elimination: it is the only required one that is missing, and
//! with this name the call has no fault.

use serde_json::{Value, json};

use super::case::{clearly_closest, whereabouts};
use crate::{CompiledTool, FaultCase, UnknownMember, quoted, type_names};
use callwright_types::rules::UnknownParameters;
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(case: &FaultCase<'_>, tool: &CompiledTool, member: &UnknownMember<'_>) -> Option<Diagnosis> {
    let closest = closest(case, tool, member);
    let candidate = closest.or_else(|| only_missing(case, tool, member))?;
    let name = quoted(&member.name);
    let place = whereabouts(tool, &member.object);
    let how = if closest.is_some() { "the closest is" } else { "the only required one that is missing is" };
    let message = format!("{place} has no parameter `{name}`; {how} `{candidate}`");
    let parameter = match closest {
        Some(_) => None,
        None => tool.describe_argument(&member.object.child(candidate)),
    };
    // The description of a parameter that is suggested by elimination.
    let facts =
        json!({ "name": name, "object": member.object.as_str(), "candidate": candidate, "parameter": parameter });
    let diagnosis = case.diagnosis(FaultCode::ParameterSemantic, member.path(), message, facts);
    Some(Diagnosis { suggestion: Some(candidate.to_owned()), ..diagnosis })
}

/// Returns the unset parameter that is clearly the closest to the member.
fn closest<'a>(case: &FaultCase<'_>, tool: &CompiledTool, member: &UnknownMember<'a>) -> Option<&'a str> {
    // A name that another level has is not a misspelling.
    if !member.other_levels(tool.compiled()).is_empty() {
        return None;
    }
    let value = value_of(case, member);
    let nearest = member.nearest(2, case.rules.similarity);
    clearly_closest(case, &member.name, &nearest, member.unset(), |candidate| {
        value.is_none_or(|value| may_take(tool, member, candidate, value))
    })
}

/// Returns the only required parameter that is missing beside the member, if the call is right with this name.
fn only_missing<'a>(case: &FaultCase<'_>, tool: &CompiledTool, member: &UnknownMember<'a>) -> Option<&'a str> {
    let value = value_of(case, member).filter(|value| !value.is_null())?;
    let mut missing = member.missing();
    let (only, None) = (missing.next()?, missing.next()) else { return None };
    let mut renamed = case.arguments?.clone();
    let object = renamed.pointer_mut(member.object.as_str())?.as_object_mut()?;
    object.shift_remove(&member.name);
    object.insert(only.to_owned(), value.clone());
    tool.examine(&renamed, UnknownParameters::Refuse).is_clean().then_some(only)
}

/// Returns the unset parameter that is clearly the closest to the member with this diagnosis, if it takes the member's
/// value.
pub(crate) fn fitting_parameter(
    case: &FaultCase<'_>,
    tool: &CompiledTool,
    member: &UnknownMember<'_>,
    diagnosis: &Diagnosis,
) -> Option<String> {
    let candidate = match diagnosis.code {
        FaultCode::ParameterSemantic => diagnosis.suggestion.clone()?,
        // That fault precedes E3.3, and another fault follows where no parameter is close.
        FaultCode::ParameterOfOtherTool => closest(case, tool, member)?.to_owned(),
        _ => return None,
    };
    let value = value_of(case, member)?;
    may_take(tool, member, &candidate, value).then_some(candidate)
}

fn value_of<'a>(case: &FaultCase<'a>, member: &UnknownMember<'_>) -> Option<&'a Value> {
    case.arguments?.pointer(member.path().as_str())
}

/// Whether the schema of a parameter accepts the value, at most after a change of notation.
fn may_take(tool: &CompiledTool, member: &UnknownMember<'_>, candidate: &str, value: &Value) -> bool {
    let types = tool.keyword_at(&member.object.child(candidate), "type").and_then(type_names);
    types.is_none_or(|names| names.into_iter().any(|name| may_become(value, name)))
}

fn may_become(value: &Value, type_name: &str) -> bool {
    match (type_name, value) {
        (_, Value::Null) | ("array", _) => true,
        ("object", value) => value.is_object() || value.as_str().is_some_and(|text| text.trim_start().starts_with('{')),
        ("string", value) => !value.is_object() && !value.is_array(),
        ("integer" | "number", Value::String(text)) => text.trim().parse::<f64>().is_ok(),
        ("integer" | "number", value) => value.is_number(),
        ("boolean", Value::String(text)) => {
            ["true", "false", "yes", "no", "1", "0"].iter().any(|word| text.trim().eq_ignore_ascii_case(word))
        }
        ("boolean", value) => value.is_boolean() || value.as_u64().is_some_and(|number| number < 2),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::may_become;
    use crate::testing::{TOOLS, call, codes, faults, refusing, tool_set};
    use crate::{Context, scan_in};
    use callwright_types::{FaultCode, Similarity};

    /// Rates every pair of names as similar.
    #[derive(Debug)]
    struct Alike;

    impl Similarity for Alike {
        fn similarity(&self, _: &str, _: &str) -> Option<f64> {
            Some(0.9)
        }
    }

    const BOOKING: &str = r#"[{"name":"book","parameters":{"type":"object","properties":{
        "guest_count":{"type":"integer"},"options":{"type":"object"}}}}]"#;

    fn suggested(arguments: &str) -> Option<String> {
        let context = Context { similarity: Some(&Alike), ..Context::default() };
        let scan = scan_in(&call("book", arguments), 0, &tool_set(BOOKING), &refusing(), &context);
        scan.result.err()?.remove(0).suggestion
    }

    #[test]
    fn a_parameter_close_in_meaning_must_accept_the_value() {
        assert_eq!(suggested(r#"{"party":4}"#).as_deref(), Some("guest_count"));
        assert_eq!(suggested(r#"{"party":"4"}"#).as_deref(), Some("guest_count"));
        assert_eq!(suggested(r#"{"party":{"x":4}}"#).as_deref(), Some("options"));
        assert_eq!(suggested(r#"{"party":"four"}"#), None);
        assert_eq!(suggested(r#"{"party":null}"#), None, "both may take it, and both are as close");
    }

    #[test]
    fn the_only_missing_parameter_is_suggested_if_it_fits() {
        const TRANSFER: &str = r#"[{"name":"transfer","parameters":{"type":"object","required":["amount","to"],"properties":{
            "amount":{"type":"number"},"to":{"type":"string"},"note":{"type":"string"}}}}]"#;
        for (arguments, parameter) in [
            (r#"{"amount":5,"beneficiary":"Ada"}"#, Some("to")),
            (r#"{"to":"Ada","sum":5}"#, Some("amount")),
            (r#"{"amount":5,"beneficiary":7}"#, None),
            (r#"{"amount":5,"beneficiary":"Ada","bank":"x"}"#, None),
            (r#"{"beneficiary":"Ada"}"#, None),
            (r#"{"amount":"five","beneficiary":"Ada"}"#, None),
            (r#"{"amount":5,"beneficiary":null}"#, None),
        ] {
            let found = faults(TRANSFER, "transfer", arguments);
            assert_eq!(found[0].suggestion.as_deref(), parameter, "{arguments}");
            assert!(parameter.is_none() || found.len() == 1, "{found:?}");
        }
    }

    #[test]
    fn a_value_becomes_another_type_by_notation_alone() {
        let may = |value: &str, name| may_become(&serde_json::from_str(value).unwrap(), name);
        assert!(may("\"5\"", "number") && may("5", "string") && may("\"{}\"", "object") && may("1", "array"));
        assert!(may("1", "boolean") && may("\"Yes\"", "boolean") && may("true", "string"));
        assert!(!may("{}", "string") && !may("[1]", "integer") && !may("\"x\"", "object") && !may("2", "boolean"));
        assert!(!may("true", "integer") && !may("\"x\"", "boolean") && !may("{}", "null"));
    }

    #[test]
    fn a_close_parameter_is_suggested_and_not_reported_missing() {
        let found = faults(TOOLS, "get_weather", r#"{"citty":"Oslo"}"#);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].code, found[0].suggestion.as_deref()), (FaultCode::ParameterSemantic, Some("city")));
    }

    #[test]
    fn a_parameter_that_is_set_is_not_close() {
        assert_eq!(codes(TOOLS, "get_weather", r#"{"city":"Oslo","citty":"x"}"#), [FaultCode::ParameterUnknown]);
    }
}
