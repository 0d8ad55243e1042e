//! E1: the text of a custom tool's call, from arguments in the form of a function's call.
//!
//! A custom tool takes one text. Models and servers that know only functions wrap it into an object under a name of
//! their own, or send the text itself as arguments. Both have exactly one reading.

use std::borrow::Cow;

use serde_json::Value;

use super::lenient::{self, LenientGuard};
use super::proposal::{RepairJob, RepairedCall};
use super::rescue::call_names::MAX_WRAPPERS;
use super::rescue::literal::Literal;
use callwright_common::json::Pointer;
use callwright_types::tool::CUSTOM_INPUT;
use callwright_types::{FaultCode, Repair, RepairKind};

/// Puts the one text of the arguments under the member that the tool's schema has for it.
pub(super) fn repair(repaired: &mut RepairedCall, job: &RepairJob<'_>) {
    if !job.rules.values || !job.repairs(FaultCode::NoCall) {
        return;
    }
    let guard = LenientGuard { tool: job.tool, tool_set: job.tool_set };
    let arguments = &repaired.call.arguments;
    let Some((member, text)) = input_in(arguments, guard) else { return };
    let is_object = serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object());
    if is_object && member.as_deref() == Some(CUSTOM_INPUT) {
        return;
    }
    let to = serde_json::json!({ CUSTOM_INPUT: text });
    let from = std::mem::replace(&mut repaired.call.arguments, to.to_string());
    let repair = match member.filter(|_| is_object) {
        Some(member) => Repair {
            path: Pointer::root().child(CUSTOM_INPUT),
            ..Repair::of_call(RepairKind::ParameterRenamed, 0, member, CUSTOM_INPUT)
        },
        None => Repair::of_call(RepairKind::ArgumentsMended, 0, from, to),
    };
    repaired.repairs.push(repair);
}

/// Returns the one text of the arguments, and the name of its member if they are an object; `None` if there is none, or
/// more than a text.
fn input_in(arguments: &str, guard: LenientGuard<'_>) -> Option<(Option<String>, String)> {
    let whole = |text: &str| Some((None, text.to_owned()));
    match serde_json::from_str(arguments) {
        Ok(Value::Object(members)) => {
            let mut members = members.into_iter();
            match (members.next()?, members.next()) {
                ((member, Value::String(text)), None) => Some((Some(member), text)),
                _ => None,
            }
        }
        Ok(Value::String(text)) => match encoded_object(&text, MAX_WRAPPERS) {
            Some(object) => input_in(&object, guard),
            None => whole(&text),
        },
        Ok(Value::Null) => None,
        Ok(_) => whole(arguments),
        Err(_) if arguments.trim().is_empty() => None,
        // An object with a defect is not the text itself.
        Err(_) if begins_object(arguments) => match lenient::members(arguments, guard)?.as_slice() {
            [(member, Literal::Text(text))] => Some((Some(member.clone()), text.clone())),
            _ => None,
        },
        Err(_) => whole(arguments),
    }
}

/// Returns the text of the object that a text is, or that it encodes as a string.
fn encoded_object(text: &str, encodings: usize) -> Option<Cow<'_, str>> {
    if begins_object(text) {
        return Some(Cow::Borrowed(text));
    }
    let inner: String = serde_json::from_str(text).ok().filter(|_| encodings > 1)?;
    encoded_object(&inner, encodings - 1).map(|object| Cow::Owned(object.into_owned()))
}

/// Whether a text begins like an object with a member. A program may begin with a bracket, too, but not with a quoted
/// name after it.
fn begins_object(text: &str) -> bool {
    let inner = text.trim_start().strip_prefix('{').map(str::trim_start);
    inner.is_some_and(|inner| inner.starts_with(['"', '\'', '}']))
}

#[cfg(test)]
mod tests {
    use crate::repair::testing::{repair, unchanged};
    use callwright_scanner::testing::call;
    use callwright_types::RepairKind;
    use serde_json::json;

    const TOOLS: &str = r#"[{"name":"edit_notes","kind":"custom"},{"name":"ping"}]"#;
    const TEXT: &str = "*** Begin\n+ \"Grüße\" {\\n}\n*** End\n";

    fn read(arguments: &str) -> (String, RepairKind) {
        let repaired = repair(TOOLS, &call("edit_notes", arguments));
        let [made] = repaired.repairs.as_slice() else { panic!("{arguments}: {repaired:?}") };
        let object: serde_json::Value = serde_json::from_str(&repaired.call.arguments).unwrap();
        (object["input"].as_str().unwrap().to_owned(), made.kind)
    }

    #[test]
    fn the_one_text_is_found_under_any_name() {
        for name in ["patch", "text", "Input", "内容", ""] {
            let arguments = json!({ name: TEXT }).to_string();
            assert_eq!(read(&arguments), (TEXT.to_owned(), RepairKind::ParameterRenamed), "{name}");
        }
        assert!(unchanged(TOOLS, "edit_notes", &json!({"input": TEXT}).to_string()));
        assert_eq!(read(r#"{"sql":""}"#).0, "");
    }

    #[test]
    fn a_text_that_is_no_object_is_the_input_itself() {
        for text in [TEXT, "SELECT 1", "{ return x }", "{% if a %}", "1 + 1", "42", "[1, 2]", " x", "true"] {
            assert_eq!(read(text), (text.to_owned(), RepairKind::ArgumentsMended), "{text}");
        }
        assert_eq!(read(&json!(TEXT).to_string()), (TEXT.to_owned(), RepairKind::ArgumentsMended));
    }

    #[test]
    fn an_encoded_or_defective_object_is_read() {
        let once = json!({"code": TEXT}).to_string();
        let twice = json!(json!(once).to_string()).to_string();
        assert_eq!(read(&json!(once).to_string()).0, TEXT);
        assert_eq!(read(&twice).0, TEXT);
        assert_eq!(read("{\"patch\": \"a\nb\"}").0, "a\nb");
        assert_eq!(read("{'patch': 'a b',}").0, "a b");
    }

    #[test]
    fn no_text_several_texts_and_other_values_stay() {
        for arguments in [
            "", " ", "{}", "null", r#"{"input":null}"#, r#"{"input":5}"#, r#"{"input":["a"]}"#,
            r#"{"input":{"text":"a"}}"#, r#"{"input":"a","cwd":"/"}"#, r#"{"patch":"a","note":"b"}"#,
            r#"{"patch":"*** Begin"#, "{'a': 'b', 'c': 'd'}",
        ] {
            assert!(unchanged(TOOLS, "edit_notes", arguments), "{arguments}");
        }
    }
}
