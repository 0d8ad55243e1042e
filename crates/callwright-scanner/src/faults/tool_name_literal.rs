//! E2.2 `tool_name_literal`: the name differs from an offered tool's name only in case, separators or namespace.

use serde_json::json;

use crate::{FaultCase, quoted};
use callwright_common::json::Pointer;
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(case: &FaultCase<'_>) -> Option<Diagnosis> {
    let candidates = case.context.meant(case.tool_set, &case.call.name);
    let candidates: Vec<&str> = candidates.iter().map(|tool| tool.name()).collect();
    let first = candidates.first()?;
    let only = (candidates.len() == 1).then(|| (*first).to_owned());
    let name = quoted(&case.call.name);
    let message = match &only {
        Some(only) => format!("no tool `{name}` is offered; it is written `{only}`"),
        None => format!("no tool `{name}` is offered; it can mean `{}`", candidates.join("` or `")),
    };
    let facts = json!({ "name": name, "candidates": candidates });
    let diagnosis = case.diagnosis(FaultCode::ToolNameLiteral, Pointer::root(), message, facts);
    Some(Diagnosis { suggestion: only, ..diagnosis })
}

#[cfg(test)]
mod tests {
    use crate::testing::{TOOLS, codes, faults};
    use callwright_types::FaultCode;

    #[test]
    fn another_writing_of_the_name_is_recognised() {
        for name in ["getWeather", "get-weather", "GET_WEATHER", "functions.get_weather", "mcp__srv__getWeather"] {
            let found = faults(TOOLS, name, r#"{"city":"Oslo"}"#);
            assert_eq!(found[0].code, FaultCode::ToolNameLiteral, "{name}");
            assert_eq!(found[0].suggestion.as_deref(), Some("get_weather"), "{name}");
        }
        assert_eq!(faults(TOOLS, "cancel", "{}")[0].suggestion.as_deref(), Some("orders.cancel"));
        assert!(codes(TOOLS, "get_weather", r#"{"city":"Oslo"}"#).is_empty());
    }

    #[test]
    fn nothing_is_suggested_where_two_tools_can_be_meant() {
        let found = faults(TOOLS, "makenote", "{}");
        assert_eq!(found[0].code, FaultCode::ToolNameLiteral);
        assert_eq!((found[0].suggestion.as_ref(), &found[0].facts["candidates"][1]), (None, &"makeNote".into()));
    }
}
