//! E2.3 `tool_name_semantic`: no such tool; one offered tool is close.
//!
//! Closeness is string similarity ([`crate::scanner::names::similarity`]) of at least the rules' threshold, more than that
//! of every other tool.

use serde::Serialize;

use super::{Case, clearly_closest, quoted};
use crate::domain::json::Pointer;
use crate::domain::{Diagnosis, FaultCode};
use crate::scanner::excerpt::excerpt;

/// What the template of this fault can say.
#[derive(Debug, Serialize)]
struct Facts {
    /// The name that was called.
    name: String,
    /// The tool that is close.
    candidate: String,
    /// What it does, cut short.
    description: String,
}

pub(super) fn check(case: &Case<'_>) -> Option<Diagnosis> {
    let offered = case.toolbook.tools().iter().map(|tool| tool.name());
    let candidate = case.toolbook.get(clearly_closest(&case.call.name, offered, case.rules)?)?;
    let name = quoted(&case.call.name);
    let message = format!("no tool `{name}` is offered; the closest is `{}`", candidate.name());
    let description = excerpt(&candidate.tool.description, 160);
    let facts = Facts { name, candidate: candidate.name().to_owned(), description };
    let mut diagnosis = case.diagnosis(FaultCode::ToolNameSemantic, Pointer::root(), message, &facts);
    diagnosis.suggestion = Some(facts.candidate);
    Some(diagnosis)
}

#[cfg(test)]
mod tests {
    use crate::domain::FaultCode;
    use crate::scanner::testing::{TOOLS, codes, faults};

    #[test]
    fn a_close_name_is_suggested() {
        for name in ["get_wether", "weather_get", "get_weathers"] {
            let found = faults(TOOLS, name, r#"{"city":"Oslo"}"#);
            assert_eq!(found[0].code, FaultCode::ToolNameSemantic, "{name}");
            assert_eq!(found[0].suggestion.as_deref(), Some("get_weather"));
        }
    }

    #[test]
    fn a_literal_match_comes_first_and_a_far_name_is_not_close() {
        assert_eq!(codes(TOOLS, "getWeather", "{}"), [FaultCode::ToolNameLiteral]);
        assert_eq!(codes(TOOLS, "transfer_money", "{}"), [FaultCode::ToolUnknown]);
    }
}
