//! E3.3 `parameter_semantic`: unknown, but close to one parameter that is not set yet.

use serde::Serialize;

use super::{Case, clearly_closest, quoted, whereabouts};
use crate::domain::{Diagnosis, FaultCode};
use crate::scanner::examination::UnknownMember;
use crate::scanner::toolbook::CompiledTool;

/// What the template of this fault can say.
#[derive(Debug, Serialize)]
struct Facts {
    /// The name that was used.
    name: String,
    /// Place of the object that has it.
    object: String,
    /// The parameter that is close.
    candidate: String,
}

pub(super) fn check(case: &Case<'_>, tool: &CompiledTool, member: &UnknownMember<'_>) -> Option<Diagnosis> {
    let candidate = clearly_closest(case, &member.name, &member.nearest(2), member.unset.iter().copied())?;
    let name = quoted(&member.name);
    let place = whereabouts(tool, &member.object);
    let message = format!("{place} has no parameter `{name}`; the closest is `{candidate}`");
    let facts = Facts { name, object: member.object.to_string(), candidate: candidate.to_owned() };
    let mut diagnosis = case.diagnosis(FaultCode::ParameterSemantic, member.path(), message, &facts);
    diagnosis.suggestion = Some(facts.candidate);
    Some(diagnosis)
}

#[cfg(test)]
mod tests {
    use crate::domain::FaultCode;
    use crate::scanner::testing::{TOOLS, codes, faults};

    #[test]
    fn a_close_parameter_is_suggested_and_not_reported_missing_as_well() {
        let found = faults(TOOLS, "get_weather", r#"{"citty":"Oslo"}"#);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].code, found[0].suggestion.as_deref()), (FaultCode::ParameterSemantic, Some("city")));
    }

    #[test]
    fn a_parameter_that_is_set_is_not_close() {
        assert_eq!(codes(TOOLS, "get_weather", r#"{"city":"Oslo","citty":"x"}"#), [FaultCode::ParameterUnknown]);
    }
}
