//! Texts of a trace for people: the user's question, and the texts that a search reads.

use std::sync::Arc;

use callwright_common::limits::LINE_CHARS;
use serde_json::Value;

/// Returns the beginning of the last user message that has a text, on one line. The messages are `messages` in chat
/// completions and in Messages; in Responses they are among the items of `input`, which may also be the text itself.
pub(crate) fn question(request: &Value) -> Option<Arc<str>> {
    let text = match request.get("messages").or_else(|| request.get("input"))? {
        Value::Array(messages) => {
            let users = messages.iter().rev().filter(|one| one.get("role").and_then(Value::as_str) == Some("user"));
            users.filter_map(|message| text_of(message.get("content")?)).next()?
        }
        input => text_of(input)?,
    };
    Some(text.into())
}

/// Returns the beginning of a message's content: a text, or a list of parts of which some are texts (tool results and
/// images are not). `None` if there is no text.
fn text_of(content: &Value) -> Option<String> {
    let texts: Vec<&str> = match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => return None,
    };
    let mut words = texts.into_iter().flat_map(str::split_whitespace);
    let mut line = words.next()?.to_owned();
    for word in words {
        if line.len() > LINE_CHARS * 4 {
            break;
        }
        line.push(' ');
        line.push_str(word);
    }
    Some(match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    })
}

/// Members of a trace or of its request whose texts a search does not read: identifiers, and texts that come from tool
/// lists instead of the conversation.
const UNREAD: [&str; 6] = ["id", "tools", "tools_offered", "offer", "tenant", "started_at"];

/// Whether a stored trace contains a text, regardless of case. `searched` is in lower case.
pub(crate) fn contains(document: &str, searched: &str) -> bool {
    // A trace whose nesting exceeds the parser's limit is not found.
    serde_json::from_str::<Value>(document).is_ok_and(|trace| has_text(&trace, searched))
}

/// The recursion is bounded by the nesting that the JSON parser accepts.
fn has_text(value: &Value, searched: &str) -> bool {
    match value {
        Value::String(text) => text.to_lowercase().contains(searched),
        Value::Array(items) => items.iter().any(|item| has_text(item, searched)),
        Value::Object(members) => {
            members.iter().any(|(name, member)| !UNREAD.contains(&name.as_str()) && has_text(member, searched))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_question_is_the_last_user_text_on_one_line() {
        let question_of = |messages: Value| question(&json!({"messages": messages})).map(|text| text.to_string());
        let user = |content: Value| json!({"role": "user", "content": content});
        assert_eq!(
            question_of(json!([user(json!("Old")), user(json!("A\n room?")), {"role": "tool", "content": "x"}]))
                .unwrap(),
            "A room?"
        );
        let parts = json!([{"type": "image_url"}, {"type": "text", "text": "See"}, {"type": "text", "text": "this"}]);
        assert_eq!(question_of(json!([user(parts)])).unwrap(), "See this");
        assert_eq!(question_of(json!([user(json!(" ")), user(json!(7))])), None);
        let result = json!([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x"}]}]);
        let blocks = json!([{"type": "text", "text": "Ask", "cache_control": {"type": "ephemeral"}}]);
        assert_eq!(question_of(json!([user(blocks), user(result)])).unwrap(), "Ask", "the content of Messages");
        let long = question_of(json!([user(json!("ä".repeat(9_000)))])).unwrap();
        assert_eq!(long.chars().count(), LINE_CHARS + 1);
    }

    #[test]
    fn the_question_of_responses_is_in_its_input() {
        let question_of = |input: Value| question(&json!({"input": input})).map(|text| text.to_string());
        assert_eq!(question_of(json!("A\n room?")).unwrap(), "A room?");
        let items = json!([
            {"role": "user", "content": "Old"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "New"}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "x"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "y"}]},
        ]);
        assert_eq!(question_of(items).unwrap(), "New");
        for none in [json!(" "), json!([]), json!(7), json!(["New"]), json!({"role": "user", "content": "New"})] {
            assert_eq!(question_of(none.clone()), None, "{none}");
        }
    }

    #[test]
    fn a_search_reads_the_conversation_and_not_the_tool_list() {
        let document = json!({"id": "abc", "tools_offered": ["bookRoom"], "request": {"tools": [{"name": "findRoom"}],
            "messages": [{"role": "user", "content": "Ist ein BÜRO frei?"}]}})
        .to_string();
        assert!(contains(&document, "büro"));
        for other in ["bookroom", "findroom", "abc", "messages"] {
            assert!(!contains(&document, other), "{other}");
        }
        assert!(!contains("{", ""));
    }
}
