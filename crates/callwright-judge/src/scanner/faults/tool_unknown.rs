//! E2 `tool_unknown`: the tool does not exist, and no offered tool is close. Only advice if the tool may exist.

use serde::Serialize;

use super::case::{FaultCase, closest_in_meaning, quoted};
use callwright_common::json::Pointer;
use callwright_types::{Diagnosis, FaultCode};

/// Facts for the feedback template.
#[derive(Debug, Serialize)]
struct Facts {
    /// Name in the call.
    name: String,
    /// Offered tools, nearest first: the one that is clearly the closest in meaning, then by spelling.
    nearest: Vec<String>,
    /// Total number of offered tools.
    offered: usize,
    /// Whether the name is that of a tool of the provider's API, which is not called as a function.
    built_in: bool,
}

pub(super) fn check(case: &FaultCase<'_>) -> Option<Diagnosis> {
    let mut nearest: Vec<&str> = case.nearest().iter().map(|&(name, _)| name).collect();
    let offered = case.tool_set.tools().iter().map(|tool| tool.name());
    if !case.may_exist()
        && let Some(closest) = closest_in_meaning(case, &case.call.name, offered, |_| true)
    {
        nearest.retain(|name| *name != closest);
        nearest.insert(0, closest);
    }
    let facts = Facts {
        name: quoted(&case.call.name),
        nearest: nearest.into_iter().map(str::to_owned).collect(),
        offered: case.tool_set.tools().len(),
        built_in: case.tool_set.built_in(&case.call.name).is_some(),
    };
    let message = if facts.built_in {
        format!("`{}` is a tool of the provider's API, which is not called as a function", facts.name)
    } else if case.may_exist() {
        format!("`{}` is not among the known tools, of which there may be more: the call is not judged", facts.name)
    } else {
        format!("no tool `{}` is offered, and none is close to it", facts.name)
    };
    Some(case.diagnosis(FaultCode::ToolUnknown, Pointer::root(), message, &facts))
}

#[cfg(test)]
mod tests {
    use crate::scanner::testing::{TOOLS, codes, faults};
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
