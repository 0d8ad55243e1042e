//! E2.2: renames the tool to the one offered tool of the same literal name. The name may also be a whole call as code.

use serde_json::Value;

use super::proposal::RepairedCall;
use super::rescue::call_in_code;
use callwright_scanner::{CompiledTool, Context, ToolSet};
use callwright_types::{Repair, RepairKind};

/// Renames the call to the offered tool, and returns that tool; `None` if it is unknown or the rename is not allowed.
pub(super) fn repair<'a>(
    repaired: &mut RepairedCall,
    tool_set: &'a ToolSet,
    renames: bool,
    context: &Context<'_>,
) -> Option<&'a CompiledTool> {
    let name = &mut repaired.call.name;
    if let Some(tool) = tool_set.get(name) {
        return Some(tool);
    }
    match context.meant(tool_set, name).as_slice() {
        [only] if renames => {
            let from = std::mem::replace(name, only.name().to_owned());
            repaired.repairs.push(Repair::of_call(RepairKind::ToolRenamed, 0, from, only.name()));
            Some(only)
        }
        _ if renames => called_in_code(repaired, tool_set),
        _ => None,
    }
}

/// Resolves a name that is a call as code, such as `print(default_api.f(x=1))`, if there are no other arguments.
fn called_in_code<'a>(repaired: &mut RepairedCall, tool_set: &'a ToolSet) -> Option<&'a CompiledTool> {
    let call = &mut repaired.call;
    if !call.name.contains('(') || !matches!(call.arguments.trim(), "" | "{}" | "null") {
        return None;
    }
    let (name, arguments) = call_in_code(&call.name, tool_set)?;
    let tool = tool_set.get(&name)?;
    let value: Value = serde_json::from_str(&arguments).unwrap_or_default();
    let (own_name, own) =
        (std::mem::replace(&mut call.name, name.clone()), std::mem::replace(&mut call.arguments, arguments));
    repaired.repairs.push(Repair::of_call(RepairKind::ToolRenamed, 0, own_name, name));
    repaired.repairs.push(Repair::of_call(RepairKind::ArgumentsMended, 0, own, value));
    Some(tool)
}

#[cfg(test)]
mod tests {
    use crate::repair::judge;
    use crate::repair::testing::{repair, unchanged};
    use callwright_scanner::Context;
    use callwright_scanner::testing::{TOOLS, call, tool_set};
    use callwright_types::rules::{RepairRules, ScanRules};
    use callwright_types::{FaultCode, RepairKind};

    #[test]
    fn a_tool_gets_its_offered_name_where_one_alone_is_meant() {
        let repaired = repair(TOOLS, &call("functions.GetWeather", r#"{"city": "Oslo"}"#));
        assert_eq!(
            (repaired.call.name.as_str(), repaired.call.arguments.as_str()),
            ("get_weather", r#"{"city": "Oslo"}"#)
        );
        assert_eq!(repaired.repairs[0].kind, RepairKind::ToolRenamed);
        assert_eq!(
            (&repaired.repairs[0].from, &repaired.repairs[0].to),
            (&"functions.GetWeather".into(), &"get_weather".into())
        );
    }

    #[test]
    fn debris_and_namespaces_are_removed_where_one_name_remains() {
        let tools = r#"[{"name": "mcp__files__read"}, {"name": "mcp__web__fetch"}, {"name": "mcp__disk__fetch"}, {"name": "ping"}]"#;
        for (name, meant) in [
            ("ping<|channel|>commentary", "ping"),
            ("ping</arg_value>", "ping"),
            ("functions.ping:0", "ping"),
            ("functions_ping_0", "ping"),
            ("functions-ping", "ping"),
            ("paloma.ping", "ping"),
            ("read", "mcp__files__read"),
            ("files:read", "mcp__files__read"),
            ("files.read", "mcp__files__read"),
            ("files__read", "mcp__files__read"),
            ("functions.files__read<|constrain|>json", "mcp__files__read"),
            ("web.fetch", "mcp__web__fetch"),
        ] {
            assert_eq!(repair(tools, &call(name, "{}")).call.name, meant, "{name}");
        }
        for name in ["fetch", "mcp__web__fet", "other__read", "pin", "ping</arg_value>(x=1)"] {
            assert!(unchanged(tools, name, "{}"), "{name}");
        }
    }

    #[test]
    fn in_an_open_set_a_name_is_repaired_only_in_its_spelling() {
        let tools = r#"[{"name": "read"}, {"name": "mcp__web__fetch"}, {"name": "item_1"}]"#;
        let open = tool_set(tools).beside(true, [], []);
        let (scan, repair) = (ScanRules::default(), RepairRules::default());
        for (name, meant) in [
            ("Read", "read"),
            ("functions.read", "read"),
            ("functions_read", "read"),
            ("read<|channel|>commentary", "read"),
            ("files.read", "files.read"),
            ("mcp__files__read", "mcp__files__read"),
            ("fetch", "fetch"),
            ("item_2", "item_2"),
            ("raed", "raed"),
        ] {
            let (repaired, scanned) = judge(&call(name, "{}"), 0, &open, &scan, &repair, &Context::default());
            assert_eq!(repaired.call.name, meant);
            assert!(scanned.result.is_ok(), "{name}");
            assert_eq!(scanned.advice.is_empty(), meant != name, "an unknown name is noted: {name}");
        }
        let broken = judge(&call("other", "{\"a\": "), 0, &open, &scan, &repair, &Context::default()).1;
        assert_eq!(broken.result.unwrap_err()[0].code, FaultCode::NoCall, "no tool takes half an object");
    }

    #[test]
    fn a_call_as_code_in_the_name_is_taken_apart() {
        let name = r#"print(default_api.get_weather(city="Oslo", num_days=2))"#;
        let repaired = repair(TOOLS, &call(name, "{}"));
        assert_eq!(repaired.call.name, "get_weather");
        assert_eq!(repaired.call.arguments, r#"{"city":"Oslo","num_days":2}"#);
        assert_eq!(repaired.repairs.len(), 2);
        for (name, arguments) in [
            (r#"get_weather(city="Oslo")"#, r#"{"city": "Bergen"}"#),
            ("get_weather(city=city)", "{}"),
            (r#"get_weather(city="Oslo"), ping()"#, "{}"),
            (r#"transfer(city="Oslo")"#, "{}"),
        ] {
            assert!(unchanged(TOOLS, name, arguments), "{name}");
        }
    }

    #[test]
    fn a_tool_that_is_close_or_ambiguous_is_left_as_it_is() {
        assert!(unchanged(TOOLS, "get_wether", r#"{"city":"Oslo"}"#));
        assert!(unchanged(TOOLS, "makenote", "{}"));
    }
}
