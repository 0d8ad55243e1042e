//! E2 `tool_unknown`: the tool does not exist, and no offered tool is close. Only advice if the tool may exist.
//!
//! The tools that fit the request best are named (AutoFeedback, section 3.2.2), the one with the closest name in
//! meaning first; where the request has nothing in common with any tool, those with the most similar names.

use serde_json::json;

use super::case::{MAX_FITTING, closest_in_meaning};
use crate::{FaultCase, quoted};
use callwright_common::json::Pointer;
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(case: &FaultCase<'_>) -> Option<Diagnosis> {
    let offered = case.tool_set.tools().iter().map(|tool| tool.name());
    let closest = match case.may_exist() {
        true => None,
        false => closest_in_meaning(case, &case.call.name, offered, |_| true),
    };
    let mut fitting: Vec<&str> = closest.into_iter().collect();
    fitting.extend(case.most_relevant(&fitting, MAX_FITTING - fitting.len()));
    for (name, _) in case.nearest() {
        if fitting.len() < MAX_FITTING && !fitting.contains(name) {
            fitting.push(name);
        }
    }
    let (name, built_in) = (quoted(&case.call.name), case.tool_set.built_in(&case.call.name).is_some());
    let message = if built_in {
        format!("`{name}` is a tool of the provider's API, which is not called as a function")
    } else if case.may_exist() {
        format!("`{name}` is not among the known tools, of which there may be more: the call is not judged")
    } else {
        format!("no tool `{name}` is offered, and none is close to it")
    };
    let offered = case.tool_set.tools().len();
    let facts = json!({ "name": name, "fitting": fitting, "offered": offered, "built_in": built_in });
    Some(case.diagnosis(FaultCode::ToolUnknown, Pointer::root(), message, facts))
}

#[cfg(test)]
mod tests {
    use crate::testing::{TOOLS, call, codes, faults, tool_set};
    use crate::{Context, Relevance, scan_in};
    use callwright_types::FaultCode;
    use callwright_types::rules::ScanRules;

    #[test]
    fn an_unknown_tool_is_found_with_and_without_tools() {
        let found = faults(TOOLS, "transfer_money", "{}");
        assert_eq!(found[0].code, FaultCode::ToolUnknown);
        assert_eq!(found[0].suggestion, None);
        assert_eq!(codes("[]", "get_weather", "{}"), [FaultCode::ToolUnknown]);
        assert_eq!(codes(TOOLS, "", "{}"), [FaultCode::ToolUnknown]);
    }

    fn fitting(name: &str, relevance: &Relevance) -> Vec<String> {
        let context = Context { relevance: Some(relevance), ..Context::default() };
        let scan = scan_in(&call(name, "{}"), 0, &tool_set(TOOLS), &ScanRules::default(), &context);
        serde_json::from_value(scan.result.unwrap_err()[0].facts["fitting"].clone()).unwrap()
    }

    #[test]
    fn tools_that_fit_the_request_precede_similar_names() {
        let relevance = Relevance::by_words([("search", 4.0), ("get_weather", 2.0), ("gone", 1.0)], 0.4);
        let [first, second, third] = fitting("find_forecast", &relevance).try_into().unwrap();
        assert_eq!([first, second], ["search", "get_weather"]);
        assert!(tool_set(TOOLS).get(&third).is_some(), "{third}");
        assert_eq!(fitting("serch_all", &Relevance::default())[0], "search");
    }
}
