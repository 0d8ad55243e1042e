//! E2.3 `tool_name_semantic`: the tool does not exist, but one offered tool is close.
//!
//! Closeness is similarity in spelling or words ([`crate::scanner::names::Name`]) of at least `scan.similarity` and
//! above that of every other tool. If no tool reaches it and an embedder is available, it is semantic similarity of at
//! least `scan.semantic_similarity`.

use serde::Serialize;

use super::case::{FaultCase, clearly_closest, quoted};
use callwright_common::json::Pointer;
use callwright_common::text::excerpt;
use callwright_types::{Diagnosis, FaultCode};

/// Facts for the feedback template.
#[derive(Debug, Serialize)]
struct Facts {
    /// Name in the call.
    name: String,
    /// The closest tool.
    candidate: String,
    /// Description of that tool, shortened.
    description: String,
}

pub(super) fn check(case: &FaultCase<'_>) -> Option<Diagnosis> {
    let offered = case.tool_set.tools().iter().map(|tool| tool.name());
    let candidate = case.tool_set.get(clearly_closest(case, &case.call.name, case.nearest(), offered, |_| true)?)?;
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
    use crate::scanner::testing::{TOOLS, call, codes, faults, tool_set};
    use crate::scanner::{Context, scan_in};
    use callwright_types::rules::ScanRules;
    use callwright_types::{FaultCode, Similarity};

    #[test]
    fn a_close_name_is_suggested() {
        for name in ["get_wether", "weather_get", "get_weathers"] {
            let found = faults(TOOLS, name, r#"{"city":"Oslo"}"#);
            assert_eq!(found[0].code, FaultCode::ToolNameSemantic, "{name}");
            assert_eq!(found[0].suggestion.as_deref(), Some("get_weather"));
        }
    }

    #[derive(Debug)]
    struct Meanings(&'static [(&'static str, &'static str, f64)]);

    impl Similarity for Meanings {
        fn similarity(&self, one: &str, other: &str) -> Option<f64> {
            self.0.iter().find(|(left, right, _)| (*left, *right) == (one, other)).map(|found| found.2)
        }
    }

    fn suggested(
        name: &str,
        arguments: &str,
        meanings: &'static [(&'static str, &'static str, f64)],
    ) -> Option<String> {
        let meanings = Meanings(meanings);
        let context = Context { similarity: Some(&meanings), ..Context::default() };
        let scan = scan_in(&call(name, arguments), 0, &tool_set(TOOLS), &ScanRules::default(), &context);
        scan.result.err()?.remove(0).suggestion
    }

    #[test]
    fn a_name_that_is_close_in_meaning_is_suggested_where_its_spelling_is_not() {
        let forecast = &[("forecast", "get_weather", 0.7), ("forecast", "search", 0.3)];
        assert_eq!(suggested("forecast", "{}", forecast).as_deref(), Some("get_weather"));
        let town = r#"{"town":"Oslo"}"#;
        assert_eq!(suggested("get_weather", town, &[("town", "city", 0.9)]).as_deref(), Some("city"));
        assert_eq!(suggested("get_wether", "{}", &[("get_wether", "search", 0.9)]).as_deref(), Some("get_weather"));
    }

    #[test]
    fn a_meaning_that_is_far_or_shared_suggests_nothing() {
        assert_eq!(suggested("forecast", "{}", &[("forecast", "get_weather", 0.4)]), None);
        let both = &[("forecast", "get_weather", 0.7), ("forecast", "search", 0.65)];
        assert_eq!(suggested("forecast", "{}", both), None);
    }

    #[test]
    fn a_literal_match_comes_first_and_a_far_name_is_not_close() {
        assert_eq!(codes(TOOLS, "getWeather", "{}"), [FaultCode::ToolNameLiteral]);
        assert_eq!(codes(TOOLS, "transfer_money", "{}"), [FaultCode::ToolUnknown]);
    }
}
