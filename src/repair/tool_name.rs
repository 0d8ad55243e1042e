//! E2.2: the tool is renamed to the one offered tool of the same literal name.

use serde_json::Value;

use super::Mended;
use crate::domain::json::Pointer;
use crate::domain::{Repair, RepairKind};
use crate::scanner::{CompiledTool, Toolbook};

/// The tool that is called, under its right name from now on; `None` where that is not known, or may not be mended.
pub(super) fn mend<'a>(mended: &mut Mended, toolbook: &'a Toolbook, renames: bool) -> Option<&'a CompiledTool> {
    let name = &mut mended.call.name;
    if let Some(tool) = toolbook.get(name) {
        return Some(tool);
    }
    match toolbook.literal(name).as_slice() {
        [only] if renames => {
            let from = std::mem::replace(name, only.name().to_owned());
            mended.repairs.push(Repair {
                kind: RepairKind::ToolRenamed,
                call: 0,
                path: Pointer::root(),
                from: Value::from(from),
                to: Value::from(only.name()),
            });
            Some(only)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::RepairKind;
    use crate::repair::testing::{mend, unchanged};
    use crate::scanner::testing::{TOOLS, call};

    #[test]
    fn a_tool_gets_its_offered_name_where_one_alone_is_meant() {
        let mended = mend(TOOLS, &call("functions.GetWeather", r#"{"city": "Oslo"}"#));
        assert_eq!((mended.call.name.as_str(), mended.call.arguments.as_str()), ("get_weather", r#"{"city": "Oslo"}"#));
        assert_eq!(mended.repairs[0].kind, RepairKind::ToolRenamed);
        assert_eq!(
            (&mended.repairs[0].from, &mended.repairs[0].to),
            (&"functions.GetWeather".into(), &"get_weather".into())
        );
    }

    #[test]
    fn a_tool_that_is_close_or_ambiguous_is_left_as_it_is() {
        assert!(unchanged(TOOLS, "get_wether", r#"{"city":"Oslo"}"#));
        assert!(unchanged(TOOLS, "makenote", "{}"));
    }
}
