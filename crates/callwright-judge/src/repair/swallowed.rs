//! E4.2: takes the parameters that a string swallowed out of it.

use serde_json::Value;

use super::proposal::RepairProposal;
use callwright_common::json::Pointer;
use callwright_scanner::{CompiledTool, swallowed};
use callwright_types::RepairKind;

/// Proposes the changes that give the first such string its own text, and each parameter in it its value.
pub(super) fn propose(arguments: &Value, tool: &CompiledTool) -> Vec<RepairProposal> {
    let found = arguments.as_object().and_then(|arguments| swallowed::find(tool.compiled(), arguments));
    let Some((holder, (kept, members))) = found.and_then(|found| Some((found.holder, found.parts?))) else {
        return Vec::new();
    };
    let path = Pointer::root().child(&holder);
    let Some(before) = arguments.pointer(path.as_str()) else { return Vec::new() };
    let mut changes = vec![RepairProposal::set(RepairKind::ParameterSeparated, &path, before, Value::from(kept))];
    for (name, value) in members {
        let path = Pointer::root().child(&name);
        changes.push(RepairProposal::set(RepairKind::ParameterSeparated, &path, &Value::Null, value));
    }
    changes
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::repair::testing::{repaired, unchanged};
    use callwright_scanner::testing::codes;
    use callwright_types::{FaultCode, RepairKind};

    const TOOLS: &str = r#"[{"name":"publish","parameters":{"type":"object","properties":{
        "headline":{"type":"string"},"story":{"type":"string"},"meta":{"type":"object",
            "properties":{"topic":{"type":"string"}},"additionalProperties":false},
        "keywords":{"type":"array","items":{"type":"string"}},"author":{"type":"string"},
        "live":{"type":"boolean"},"rank":{"type":"integer"}},"required":["headline"]}}]"#;

    fn call(members: &Value) -> String {
        members.to_string()
    }

    fn separated(text: &str) -> Value {
        let (text, kinds) = repaired(TOOLS, "publish", &call(&json!({ "headline": "h", "story": text })));
        assert!(!kinds.is_empty() && kinds.iter().all(|kind| *kind == RepairKind::ParameterSeparated), "{text}");
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn one_parameter_is_taken_out_in_every_notation() {
        for text in [
            "Es war <einmal>.</story>\n<parameter name=\"meta\">{\"topic\": \"x\"}",
            "Es war <einmal>.</parameter>\n<parameter name=\"meta\">{\"topic\": \"x\"}</parameter>",
            "Es war <einmal>.</param><param name='meta'>{\"topic\": \"x\"}</param>\n</invoke>\n</function_calls>",
            "Es war <einmal>.</ns:parameter>\n<ns:parameter name=\"meta\">{\"topic\": \"x\"}</ns:parameter>\n</ns:invoke>",
            "Es war <einmal>.\n</parameter>\n<parameter=meta>\n{\"topic\": \"x\"}\n</parameter>\n</function>\n</tool_call>",
            "Es war <einmal>.</arg_value>\n<arg_key>meta</arg_key>\n<arg_value>{\"topic\": \"x\"}</arg_value>\n</tool_call>",
            "Es war <einmal>.</｜DSML｜parameter>\n<｜DSML｜parameter name=\"meta\" string=\"false\">{\"topic\": \"x\"}",
            "Es war <einmal>.</story>\n<meta>{\"topic\": \"x\"}</meta>",
            "Es war <einmal>.\", \"meta\": {\"topic\": \"x\"}",
            "Es war <einmal>.\",\n  \"meta\": {\"topic\": \"x\"}}",
            "Es war <einmal>.\", meta={\"topic\": \"x\"})",
            "Es war <einmal>.', meta={\"topic\": \"x\"}",
            "Es war <einmal>.', meta={'topic': 'x'})",
        ] {
            let expected = json!({ "headline": "h", "story": "Es war <einmal>.", "meta": { "topic": "x" } });
            assert_eq!(separated(text), expected, "{text}");
        }
    }

    #[test]
    fn several_parameters_of_any_type_are_taken_out() {
        for text in [
            "b</parameter>\n<parameter name=\"author\">me, \"you\"</parameter>\n<parameter name=\"rank\">3</parameter>\n<parameter name=\"live\">True",
            "b</story><author>me, \"you\"</author><rank>3</rank><live>true</live></invoke>",
            "b\n</parameter>\n<parameter=author>\nme, \"you\"\n</parameter>\n<parameter=rank>\n3\n</parameter>\n<parameter=live>\ntrue",
            "b\", \"author\": \"me, \\\"you\\\"\", \"rank\": 3, \"live\": true",
            "b\", \"live\": true, \"rank\": 3, \"author\": \"me, \\\"you\\\"",
            "b', live=True, rank=3, author='me, \"you\"'",
        ] {
            let expected = json!({ "headline": "h", "story": "b", "author": "me, \"you\"", "rank": 3, "live": true });
            assert_eq!(separated(text), expected, "{text}");
        }
        let expected = json!({ "headline": "h", "story": "b", "author": "me" });
        assert_eq!(separated("b<|\"|>,author:<|\"|>me<|\"|>}<tool_call|>"), expected);
        assert_eq!(separated("b<|\"|>, author: <|\"|>me"), expected);
    }

    #[test]
    fn end_tags_of_the_call_are_taken_off() {
        for text in ["b</parameter>\n</invoke>", "b</story></function></tool_call>\n", "b</arg_value></tool_call>"] {
            assert_eq!(separated(text), json!({ "headline": "h", "story": "b" }), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_told_apart_goes_back() {
        for text in [
            "b</story>\n<parameter name=\"meta\">{\"topic\": \"x\"}</parameter> and more",
            "b</story>\n<parameter name=\"meta\">[\"x\"]",
            "b</parameter>\n<parameter name=\"rank\">first</parameter>",
            "b</parameter>\n<parameter name=\"author\">x</parameter>\n<parameter name=\"author\">y</parameter>",
            "b</parameter>\n<parameter name=\"author\">x</parameter>\n<parameter name=\"colour\">red</parameter>",
            "b<|\"|>,meta:{topic:<|\"|>x<|\"|>}}",
        ] {
            let arguments = call(&json!({ "headline": "h", "story": text }));
            assert!(unchanged(TOOLS, "publish", &arguments), "{text}");
            assert_eq!(codes(TOOLS, "publish", &arguments), [FaultCode::Constraint], "{text}");
        }
    }

    #[test]
    fn text_that_only_shows_marks_is_right() {
        for text in [
            "b</story>",
            "b</parameter>",
            "<html><story>b</story>\n<author>me</author></html>",
            "<story>b</story><parameter name=\"author\">me</parameter>",
            "Write <parameter name=\"story\">b</parameter>\n<parameter name=\"author\">me</parameter>",
            "<invoke name=\"publish\">\n<parameter name=\"story\">b</parameter>\n</invoke>",
            "b</parameter>\n<parameter name=\"colour\">red</parameter>",
            "b</parameter> <parameter name=\"headline\">other</parameter>",
            "{\"story\": \"b\", \"author\": \"me\"}",
            "He said \"b\", \"author\": was the answer",
            "print(\"b\", author=\"me\")",
            "don't say 'b', author='me'",
            "b\", \"author\": and so on",
            "b\", author == \"me\"",
            "b\", \"colour\": \"red\"",
            "a, b</i>, author: me",
        ] {
            let arguments = call(&json!({ "headline": "h", "story": text }));
            assert!(unchanged(TOOLS, "publish", &arguments), "{text}");
            assert!(codes(TOOLS, "publish", &arguments).is_empty(), "{text}");
        }
        let given = json!({ "headline": "h", "story": "b</story>\n<parameter name=\"author\">me", "author": "you" });
        assert!(codes(TOOLS, "publish", &call(&given)).is_empty());
    }

    #[test]
    fn long_strings_of_marks_take_linear_time() {
        for mark in [
            "</story>", "</parameter>", "\", ", "', a=", "<|\"|>,", "<parameter name=", "</parameter>\n<a>",
            "\",\"author\":",
        ] {
            let text = mark.repeat(200_000 / mark.len());
            let arguments = call(&json!({ "headline": "h", "story": text }));
            assert!(codes(TOOLS, "publish", &arguments).len() < 2, "{mark}");
        }
    }
}
