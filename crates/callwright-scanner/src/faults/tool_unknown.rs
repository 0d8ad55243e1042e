//! E2 `tool_unknown`: the tool does not exist, and no offered tool is close. Only advice if the tool may exist.

use serde_json::json;

use super::case::closest_in_meaning;
use crate::{FaultCase, quoted};
use callwright_common::json::Pointer;
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(case: &FaultCase<'_>) -> Option<Diagnosis> {
    let mut nearest: Vec<&str> = case.nearest().iter().map(|&(name, _)| name).collect();
    let offered = case.tool_set.tools().iter().map(|tool| tool.name());
    if !case.may_exist()
        && let Some(closest) = closest_in_meaning(case, &case.call.name, offered, |_| true)
    {
        nearest.retain(|name| *name != closest);
        nearest.insert(0, closest);
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
    let facts = json!({ "name": name, "nearest": nearest, "offered": offered, "built_in": built_in });
    Some(case.diagnosis(FaultCode::ToolUnknown, Pointer::root(), message, facts))
}

#[cfg(test)]
mod tests {
    use crate::testing::{TOOLS, codes, faults};
    use callwright_types::FaultCode;

    #[test]
    fn an_unknown_tool_is_found_with_and_without_tools() {
        let found = faults(TOOLS, "transfer_money", "{}");
        assert_eq!(found[0].code, FaultCode::ToolUnknown);
        assert_eq!(found[0].suggestion, None);
        assert_eq!(found[0].facts["offered"], found[0].facts["nearest"].as_array().unwrap().len());
        assert_eq!(codes("[]", "get_weather", "{}"), [FaultCode::ToolUnknown]);
        assert_eq!(codes(TOOLS, "", "{}"), [FaultCode::ToolUnknown]);
    }
}
