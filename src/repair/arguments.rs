//! E1: arguments that are no JSON object, and yet say exactly one.

use serde_json::{Map, Value};

use super::Mended;
use crate::domain::json::Pointer;
use crate::domain::{Repair, RepairKind};
use crate::scanner::CompiledTool;

/// Times that arguments may have been encoded as a JSON string.
const MAX_ENCODINGS: usize = 3;

/// Unwraps arguments that were encoded once too often, and writes no arguments as the empty object.
pub(super) fn mend(mended: &mut Mended, tool: &CompiledTool) {
    let text = &mut mended.call.arguments;
    if is_object(text) {
        return;
    }
    if let Some(object) = object_in(text, tool) {
        let from = std::mem::replace(text, object.clone());
        mended.repairs.push(Repair {
            kind: RepairKind::ArgumentsMended,
            call: 0,
            path: Pointer::root(),
            from: Value::from(from),
            to: serde_json::from_str(&object).unwrap_or_default(),
        });
    }
}

fn object_in(text: &str, tool: &CompiledTool) -> Option<String> {
    let mut text = text.to_owned();
    for _ in 0..=MAX_ENCODINGS {
        if is_object(&text) {
            return Some(text);
        }
        // A model that calls a tool without arguments writes nothing, or `null`.
        if matches!(text.trim(), "" | "null") {
            return tool.needs_nothing().then(|| "{}".to_owned());
        }
        text = serde_json::from_str(&text).ok()?;
    }
    None
}

fn is_object(text: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use crate::domain::RepairKind;
    use crate::repair::testing::{mend, unchanged};
    use crate::scanner::testing::{TOOLS, call};

    #[test]
    fn arguments_encoded_once_too_often_are_unwrapped_with_their_bytes() {
        let mended = mend(TOOLS, &call("get_weather", r#""{ \"city\": \"Oslo\" }""#));
        assert_eq!(mended.call.arguments, r#"{ "city": "Oslo" }"#);
        assert_eq!(mended.repairs[0].kind, RepairKind::ArgumentsMended);
        let twice = serde_json::to_string(&serde_json::to_string(r#"{"city":"Oslo"}"#).unwrap()).unwrap();
        assert_eq!(mend(TOOLS, &call("get_weather", &twice)).call.arguments, r#"{"city":"Oslo"}"#);
    }

    #[test]
    fn no_arguments_are_the_empty_object_where_none_are_needed() {
        for text in ["", "  ", "null", "\"\""] {
            assert_eq!(mend(TOOLS, &call("ping", text)).call.arguments, "{}", "{text}");
            assert!(unchanged(TOOLS, "get_weather", text), "{text}");
        }
    }

    #[test]
    fn what_says_no_object_is_left_as_it_is() {
        for text in ["[]", "7", "{\"city\"", "\"Oslo\"", "\"[1]\""] {
            assert!(unchanged(TOOLS, "ping", text), "{text}");
        }
    }
}
