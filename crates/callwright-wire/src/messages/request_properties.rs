//! Properties of every edited request.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::request::MessagesRequest;
use super::testing::{call, request};
use crate::KeptPart;
use crate::parts::ConversationForm;
use crate::request::RequestFields;

fn config() -> ProptestConfig {
    let rng_seed = prop::test_runner::RngSeed::Fixed(19);
    ProptestConfig { rng_seed, failure_persistence: None, cases: 500, ..ProptestConfig::default() }
}

fn block() -> impl Strategy<Value = Value> {
    let block = prop_oneof![
        3 => Just(json!({"type": "text", "text": "a"})),
        1 => Just(json!({"type": "image"})),
        2 => Just(json!({"type": "tool_result", "tool_use_id": "c", "content": "r"})),
        1 => Just(json!({"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "s"}]})),
        1 => Just(json!({"type": "tool_result", "tool_use_id": "c"})),
        1 => Just(call("c", "f")),
        1 => prop_oneof![Just(json!(null)), Just(json!(5)), Just(json!("x")), Just(json!({"type": "tool_result", "content": 5}))],
    ];
    (block, prop::bool::weighted(0.15)).prop_map(|(mut block, is_cached)| {
        if let Some(fields) = block.as_object_mut().filter(|_| is_cached) {
            fields.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
        }
        block
    })
}

fn conversation() -> impl Strategy<Value = Vec<Value>> {
    let content = prop_oneof![
        1 => Just(json!("text")),
        4 => prop::collection::vec(block(), 0..5).prop_map(|blocks| json!(blocks)),
        1 => prop_oneof![Just(json!(null)), Just(json!(5)), Just(json!({}))],
    ];
    let role = prop_oneof![4 => Just("user"), 2 => Just("assistant"), 1 => Just("system")];
    let message = (role, content).prop_map(|(role, content)| json!({"role": role, "content": content}));
    prop::collection::vec(prop_oneof![9 => message, 1 => prop_oneof![Just(json!(7)), Just(json!({}))]], 0..6)
}

/// Returns every block with its position in the conversation; a content that is not a list is one block.
fn blocks(messages: &[Value]) -> Vec<Value> {
    let contents = messages.iter().map(|message| &message["content"]);
    contents.flat_map(|content| content.as_array().cloned().unwrap_or_else(|| vec![content.clone()])).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn notes_change_nothing_up_to_the_last_breakpoint(
        messages in conversation(),
        places in prop::collection::btree_set(0_usize..8, 0..5),
    ) {
        let fields = RequestFields::parse(json!({ "messages": messages }).to_string().as_bytes()).unwrap();
        let views = MessagesRequest.views(&fields, &[]);
        let notes: BTreeMap<usize, String> = places.iter().map(|place| (*place, format!("note {place};"))).collect();
        let noted = MessagesRequest.with_notes(&fields, &notes);
        let noted: Vec<Value> = serde_json::from_str(noted.get()).unwrap();
        prop_assert_eq!(noted.len(), messages.len());
        let (old, new) = (blocks(&messages), blocks(&noted));
        let cached = old.iter().rposition(|block| block["cache_control"].is_object()).map_or(0, |last| last + 1);
        prop_assert_eq!(&old[..cached], &new[..cached]);
        let text = json!(noted).to_string();
        for (place, note) in &notes {
            let has_text = views.get(*place).is_some_and(|view| view.text.is_some());
            let found = text.matches(note.as_str()).count();
            prop_assert!(found <= 1 && (has_text || found == 0), "{}", text);
            prop_assert!(!has_text || found == 1 || cached > 0, "{}", text);
        }
    }

    #[test]
    fn views_keep_their_text_when_parts_return(messages in conversation(), place in 0_usize..8) {
        let fields = RequestFields::parse(json!({ "messages": messages }).to_string().as_bytes()).unwrap();
        let stored = r#"{"before":[{"role":"user","content":"hidden"}],
            "calls":[{"proxy":{"type":"tool_use","id":"p","name":"g","input":{}}},{"client":"c"}],"results":{"p":"1"}}"#;
        let part: KeptPart = serde_json::from_str(stored).unwrap();
        let rejoined = MessagesRequest.rejoined(&fields, &BTreeMap::from([(place, part)]), "lost");
        let new: Box<RawValue> = rejoined.conversation;
        let new = request(&format!(r#"{{"messages":{new}}}"#));
        let (old_views, new_views) = (MessagesRequest.views(&fields, &[]), new.messages());
        prop_assert_eq!(old_views.len(), rejoined.positions.len());
        for (view, position) in old_views.iter().zip(&rejoined.positions) {
            if let Some(position) = position {
                prop_assert_eq!(view, &new_views[*position]);
            }
        }
        let moved: Vec<usize> = rejoined.positions.iter().flatten().copied().collect();
        prop_assert!(moved.is_sorted());
    }
}
