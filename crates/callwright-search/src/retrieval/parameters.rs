//! Text of a tool's schema.

use std::collections::{HashSet, VecDeque};

use serde_json::Value;

use callwright_common::limits::DESCRIBED_DEPTH;
use callwright_common::schema::{Applies, LocalSchema, SchemaNode, Views, subschemas};

/// Maximum number of bytes of text.
const MAX_BYTES: usize = 16 * 1024;

/// Returns names and descriptions of the parameters in a JSON Schema as one text, least deep first. The members of a
/// schema that several parameters refer to occur once.
pub fn parameters_text(schema: &Value) -> String {
    let mut text = String::new();
    let mut described = HashSet::new();
    let mut waiting = VecDeque::from([(LocalSchema::root(schema), 0)]);
    while let Some((value, depth)) = waiting.pop_front() {
        if depth == DESCRIBED_DEPTH || text.len() >= MAX_BYTES {
            break;
        }
        for (node, keywords) in Views::new(value).iter() {
            if !described.insert(std::ptr::from_ref(keywords)) {
                continue;
            }
            for inside in subschemas(keywords) {
                let member = node.inside(&inside);
                match inside.applies {
                    Applies::Member(name) => {
                        push(name, &mut text);
                        push(Views::new(member).text("description").unwrap_or_default(), &mut text);
                    }
                    Applies::OtherMembers | Applies::OtherItems | Applies::Item(_) => {}
                    _ => continue,
                }
                waiting.push_back((member, depth + 1));
            }
        }
    }
    text
}

fn push(words: &str, text: &mut String) {
    let room = words.floor_char_boundary(MAX_BYTES.saturating_sub(text.len()));
    if let Some(words) = words.get(..room).filter(|words| !words.is_empty()) {
        text.push_str(words);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_and_descriptions_of_all_levels_are_gathered() {
        let schema = json!({"type": "object", "properties": {
            "city": {"type": "string", "description": "The city's name."},
            "days": {"type": "array", "items": {"properties": {"date": {"description": "A day."}}}},
        }, "allOf": [{"properties": {"unit": {"enum": ["C", "F"]}}}]});
        assert_eq!(parameters_text(&schema), "city\nThe city's name.\ndays\nunit\ndate\nA day.\n");
        assert_eq!(parameters_text(&json!(["no", "schema"])), "");
    }

    #[test]
    fn parameters_behind_references_are_gathered_once() {
        let schema = json!({
            "properties": {
                "from": {"$ref": "#/$defs/a%20place"},
                "to": {"$ref": "#/$defs/a place", "description": "The end."},
                "stops": {"additionalProperties": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/a place"}]}},
            },
            "allOf": [{"$ref": "#/$defs/base"}],
            "$defs": {
                "a place": {"description": "A place.", "properties": {"city": {}, "next": {"$ref": "#/$defs/a place"}}},
                "base": {"properties": {"when": {}}},
            },
        });
        let expected = "from\nA place.\nto\nThe end.\nstops\nwhen\ncity\nnext\nA place.\n";
        assert_eq!(parameters_text(&schema), expected);
    }

    #[test]
    fn parameters_behind_many_alternatives_are_gathered() {
        let branches: Vec<Value> = (0..100).map(|at| json!({"properties": {format!("p{at}"): {}}})).collect();
        assert_eq!(parameters_text(&json!({ "oneOf": branches })).lines().count(), 100);
    }

    #[test]
    fn deep_and_large_schemas_are_bounded() {
        let deep = (0..100).fold(json!({}), |inner, level| json!({"properties": {format!("p{level}"): inner}}));
        assert_eq!(parameters_text(&deep).lines().count(), DESCRIBED_DEPTH);
        let large = json!({"properties": {"a": {"description": "ä".repeat(MAX_BYTES)}, "b": {"description": "x".repeat(MAX_BYTES)}}});
        assert!(parameters_text(&large).len() <= MAX_BYTES + 3);
    }
}
