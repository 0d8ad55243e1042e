//! E3.2 `parameter_literal`: an unknown parameter differs from a known one only in case and separators.

use serde_json::json;

use super::case::whereabouts;
use crate::{CompiledTool, FaultCase, UnknownMember, quoted};
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(case: &FaultCase<'_>, tool: &CompiledTool, member: &UnknownMember<'_>) -> Option<Diagnosis> {
    let first = member.literal.first()?;
    let meant = member.meant();
    let already_set = meant.is_none() && member.literal.len() == 1;
    let name = quoted(&member.name);
    let place = whereabouts(tool, &member.object);
    let message = if already_set {
        format!("{place} has no parameter `{name}`, and `{first}` is given already")
    } else if meant.is_some() {
        format!("{place} has no parameter `{name}`; it is written `{first}`")
    } else {
        format!("{place} has no parameter `{name}`; it can mean `{}`", member.literal.join("` or `"))
    };
    let (object, candidates) = (member.object.as_str(), &member.literal);
    let facts = json!({ "name": name, "object": object, "candidates": candidates, "already_set": already_set });
    let diagnosis = case.diagnosis(FaultCode::ParameterLiteral, member.path(), message, facts);
    Some(Diagnosis { suggestion: meant.map(str::to_owned), ..diagnosis })
}

#[cfg(test)]
mod tests {
    use crate::testing::{TOOLS, codes, faults};
    use callwright_types::FaultCode;

    #[test]
    fn another_writing_of_a_parameter_is_recognised() {
        let found = faults(TOOLS, "get_weather", r#"{"City":"Oslo","numDays":2}"#);
        assert_eq!(found.len(), 2, "what is meant by a misspelt name is not reported missing as well: {found:?}");
        assert_eq!((found[0].code, found[0].suggestion.as_deref()), (FaultCode::ParameterLiteral, Some("city")));
        assert_eq!((found[1].path.as_str(), found[1].suggestion.as_deref()), ("/numDays", Some("num_days")));
    }

    #[test]
    fn a_parameter_that_is_set_already_is_not_suggested_again() {
        let found = faults(TOOLS, "get_weather", r#"{"city":"Oslo","City":"Bergen"}"#);
        assert_eq!((found[0].code, found[0].suggestion.as_ref()), (FaultCode::ParameterLiteral, None));
        assert_eq!(found[0].facts["already_set"], true);
    }

    #[test]
    fn nested_names_are_judged_too_and_free_ones_left_alone() {
        let found = faults(TOOLS, "make_note", r#"{"place":{"City":"Oslo","mood":"fine"}}"#);
        assert_eq!(found.iter().map(|found| found.path.as_str()).collect::<Vec<_>>(), ["/place/City"]);
        assert!(codes(TOOLS, "make_note", r#"{"place":{"city":"Oslo","mood":"fine"}}"#).is_empty());
        let found = faults(TOOLS, "make_note", r#"{"place":{"city":"Oslo"},"stops":[{"city":"A"},{"City":"B"}]}"#);
        assert_eq!(found[0].path.as_str(), "/stops/1/City");
    }
}
