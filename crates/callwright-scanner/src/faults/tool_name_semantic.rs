//! E2.3 `tool_name_semantic`: the tool does not exist, and its name is evidently a misspelling of one offered name.
//!
//! The names have the same words ([`crate::names::is_misspelling`]): another verb, noun, digit or negation makes
//! another tool, however similar the names are. The similarity ([`crate::names::Name`]) is at least
//! `scan.similarity` and above that of every other such tool. A name that the conversation has is no misspelling.

use serde_json::json;

use super::case::clear;
use crate::names::is_misspelling;
use crate::{FaultCase, quoted};
use callwright_common::json::Pointer;
use callwright_common::limits::LINE_CHARS;
use callwright_common::text::excerpt;
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(case: &FaultCase<'_>) -> Option<Diagnosis> {
    let ranked = case.nearest().iter().copied().filter(|(name, _)| is_misspelling(&case.call.name, name));
    let closest = clear(&ranked.collect::<Vec<_>>(), case.rules.similarity, f64::MIN_POSITIVE)?;
    if case.may_exist() || case.context.mentions(&case.call.name) {
        return None;
    }
    let candidate = case.tool_set.get(closest)?;
    let name = quoted(&case.call.name);
    let message = format!("no tool `{name}` is offered; the closest is `{}`", candidate.name());
    let description = excerpt(&candidate.tool.description, LINE_CHARS);
    let facts = json!({ "name": name, "candidate": candidate.name(), "description": description });
    let diagnosis = case.diagnosis(FaultCode::ToolNameSemantic, Pointer::root(), message, facts);
    Some(Diagnosis { suggestion: Some(candidate.name().to_owned()), ..diagnosis })
}

#[cfg(test)]
mod tests {
    use crate::testing::{TOOLS, call, codes, faults, tool_set};
    use crate::{Context, Transcript, scan_in};
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
        let first = scan.result.err()?.remove(0);
        let listed = first.facts.get("fitting").and_then(|fitting| fitting.get(0)?.as_str().map(str::to_owned));
        first.suggestion.or_else(|| Some(format!("first of the list: {}", listed?)))
    }

    #[test]
    fn a_tool_close_in_meaning_is_listed_first_and_not_suggested() {
        let forecast = &[("forecast", "get_weather", 0.7), ("forecast", "search", 0.3)];
        assert_eq!(suggested("forecast", "{}", forecast).as_deref(), Some("first of the list: get_weather"));
        let town = r#"{"town":"Oslo"}"#;
        assert_eq!(suggested("get_weather", town, &[("town", "city", 0.9)]).as_deref(), Some("city"));
        assert_eq!(suggested("get_wether", "{}", &[("get_wether", "search", 0.9)]).as_deref(), Some("get_weather"));
    }

    #[test]
    fn a_meaning_that_is_far_or_shared_changes_nothing() {
        let by_spelling = suggested("forecast", "{}", &[]);
        assert_eq!(suggested("forecast", "{}", &[("forecast", "search", 0.4)]), by_spelling);
        let both = &[("forecast", "search", 0.7), ("forecast", "get_weather", 0.65)];
        assert_eq!(suggested("forecast", "{}", both), by_spelling);
    }

    /// Documents whose tools all have the same schema.
    fn documents() -> Vec<Vec<String>> {
        let verbs = [
            "get", "set", "delete", "update", "enable", "disable", "lock", "unlock", "upload", "unload", "import",
            "export", "activate", "deactivate", "increase", "decrease", "attach", "detach", "start", "restart",
        ];
        let nouns = ["row", "rows_of_table", "user", "payment_method"];
        let forms: [fn(&str, &str) -> String; 4] = [
            |verb, noun| format!("{verb}_{noun}"),
            |verb, noun| format!("{noun}-{verb}"),
            |verb, noun| format!("mcp__srv__{verb}_{noun}"),
            |verb, noun| {
                verb.to_owned() + &noun.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect::<String>()
            },
        ];
        let mut documents: Vec<Vec<String>> = Vec::new();
        for form in forms {
            documents.push(nouns.iter().flat_map(|noun| verbs.iter().map(|verb| form(verb, noun))).collect());
        }
        let numbered = ["tool_", "mcp__srv__tool_", "tool", "get_v1_item_"];
        documents.extend(numbered.map(|name| (0..120).map(|number| format!("{name}{number}")).collect()));
        documents
    }

    #[test]
    fn no_tool_of_a_document_is_suggested_for_another_one() {
        for document in documents() {
            for missing in &document {
                let others = document.iter().filter(|name| *name != missing);
                let tools: Vec<_> = others.map(|name| serde_json::json!({"name": name})).collect();
                let tools = serde_json::Value::from(tools).to_string();
                let found =
                    scan_in(&call(missing, "{}"), 0, &tool_set(&tools), &ScanRules::default(), &Context::default());
                let found = found.result.unwrap_err();
                assert_eq!((found[0].code, &found[0].suggestion), (FaultCode::ToolUnknown, &None), "{missing}");
            }
        }
    }

    #[test]
    fn a_name_in_the_conversation_is_no_misspelling() {
        let codes = |transcript: &Transcript| {
            let context = Context { conversation: Some(transcript), ..Context::default() };
            let scan = scan_in(&call("get_wether", "{}"), 0, &tool_set(TOOLS), &ScanRules::default(), &context);
            scan.result.map(|_| ()).map_err(|found| found[0].code)
        };
        let mut transcript = Transcript::default();
        assert_eq!(codes(&transcript), Err(FaultCode::ToolNameSemantic));
        transcript.add_user_message("Use get_wether.");
        assert_eq!(codes(&transcript), Err(FaultCode::ToolUnknown), "the user is not the client");
        transcript.given("Deferred tools:\n- get_wether\n");
        assert_eq!(codes(&transcript), Ok(()));
    }

    #[test]
    fn a_literal_match_comes_first_and_a_far_name_is_not_close() {
        assert_eq!(codes(TOOLS, "getWeather", "{}"), [FaultCode::ToolNameLiteral]);
        assert_eq!(codes(TOOLS, "transfer_money", "{}"), [FaultCode::ToolUnknown]);
    }
}
