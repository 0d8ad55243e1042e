//! Views of a conversation, with the place of each view in it.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::blocks::{ASSISTANT, CONTENT, TOOL_RESULT, TOOL_USE, USER, read_call};
use crate::MessageView;
use crate::content::{part_text, text_of};
use crate::fields::ObjectFields;
use crate::request::RequestFields;

/// Separator between the texts of blocks.
const SEPARATOR: &str = "\n";

/// Role of instructions, and the member of a request with them.
const SYSTEM: &str = "system";

/// Part of a request that one view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ViewOrigin {
    /// The member `system`.
    System,
    /// An element of the conversation, without its results.
    Element(usize),
    /// A result in a user message: the element, and the block in its content.
    Result(usize, usize),
}

/// A view with its origin.
#[derive(Debug)]
pub(super) struct LocatedView<'a> {
    pub(super) origin: ViewOrigin,
    pub(super) view: MessageView<'a>,
}

/// Returns the elements of the client's conversation.
pub(super) fn elements(fields: &RequestFields) -> Vec<&RawValue> {
    fields.get_as("messages").unwrap_or_default()
}

/// Returns the views of a conversation, in order. The position of a view is its index in this list.
pub(super) fn located_views<'a>(
    fields: &'a RequestFields,
    elements: impl IntoIterator<Item = &'a RawValue>,
) -> Vec<LocatedView<'a>> {
    let mut views = Vec::new();
    if let Some(system) = fields.get_as::<&RawValue>(SYSTEM) {
        let view = view(SYSTEM.into(), text_of(system, SEPARATOR));
        views.push(LocatedView { origin: ViewOrigin::System, view });
    }
    for (at, element) in elements.into_iter().enumerate() {
        let Some(message) = ObjectFields::parse(element.get()) else {
            views.push(LocatedView { origin: ViewOrigin::Element(at), view: view(Cow::Borrowed(""), None) });
            continue;
        };
        let role = message.string("role").unwrap_or_default();
        match role.as_ref() {
            USER => add_user_views(at, &message, &mut views),
            _ => {
                let content = message.get(CONTENT);
                let mut view = view(role, content.and_then(|content| text_of(content, SEPARATOR)));
                if view.role == ASSISTANT {
                    let blocks = message.items(CONTENT).unwrap_or_default();
                    view.calls = blocks.into_iter().filter_map(block_of_call).map(|call| read_call(&call)).collect();
                }
                views.push(LocatedView { origin: ViewOrigin::Element(at), view });
            }
        }
    }
    views
}

/// Adds a view for each result of a user message, then one for its other blocks.
fn add_user_views<'a>(at: usize, message: &ObjectFields<'a>, views: &mut Vec<LocatedView<'a>>) {
    let Some(blocks) = message.items(CONTENT) else {
        let text = message.get(CONTENT).and_then(|content| text_of(content, SEPARATOR));
        views.push(LocatedView { origin: ViewOrigin::Element(at), view: view(USER.into(), text) });
        return;
    };
    let mut texts = Vec::new();
    let mut has_other_blocks = blocks.is_empty();
    for (block_at, raw_block) in blocks.into_iter().enumerate() {
        let result =
            ObjectFields::parse(raw_block.get()).filter(|block| block.string("type").as_deref() == Some(TOOL_RESULT));
        let Some(block) = result else {
            has_other_blocks = true;
            texts.extend(part_text(raw_block));
            continue;
        };
        let text = block.get(CONTENT).and_then(|content| text_of(content, SEPARATOR));
        let view = MessageView { tool_call_id: block.string("tool_use_id"), ..view("tool".into(), text) };
        views.push(LocatedView { origin: ViewOrigin::Result(at, block_at), view });
    }
    if has_other_blocks {
        let text = if texts.len() > 1 { Some(texts.join(SEPARATOR).into()) } else { texts.pop() };
        views.push(LocatedView { origin: ViewOrigin::Element(at), view: view(USER.into(), text) });
    }
}

fn block_of_call(block: &RawValue) -> Option<ObjectFields<'_>> {
    ObjectFields::parse(block.get()).filter(|block| block.string("type").as_deref() == Some(TOOL_USE))
}

fn view<'a>(role: Cow<'a, str>, text: Option<Cow<'a, str>>) -> MessageView<'a> {
    MessageView { role, text, ..MessageView::default() }
}

#[cfg(test)]
mod tests {
    use super::super::testing::request;

    const TEXT: &str = r#"{"system":[{"type":"text","text":"Be"},{"type":"text","text":"brief."}],"messages":[
        {"role":"user","content":"Hi"},
        {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a"},
            {"type":"tool_use","id":"1","name":"f","input":{ "x":1 }},{"type":"server_tool_use","id":"2","name":"g","input":{}},
            {"type":"text","text":"b"}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"c"},{"type":"image"},{"type":"text","text":"d"}]},
            {"type":"tool_result","tool_use_id":"3"},{"type":"text","text":"And?"},{"type":"image"}]},
        {"role":"user","content":[{"type":"image"}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"4","content":"e"}]},
        7,
        {"role":"system","content":"Now."},
        {"role":"user"},
        {"role":"user","content":[]}]}"#;

    #[test]
    fn results_and_other_blocks_of_a_message_are_separate_views() {
        let request = request(TEXT);
        let views = request.messages();
        let seen: Vec<(&str, Option<&str>, Option<&str>)> =
            views.iter().map(|view| (view.role.as_ref(), view.text.as_deref(), view.tool_call_id.as_deref())).collect();
        assert_eq!(
            seen,
            [
                ("system", Some("Be\nbrief."), None),
                ("user", Some("Hi"), None),
                ("assistant", Some("a\nb"), None),
                ("tool", Some("c\nd"), Some("1")),
                ("tool", None, Some("3")),
                ("user", Some("And?"), None),
                ("user", None, None),
                ("tool", Some("e"), Some("4")),
                ("", None, None),
                ("system", Some("Now."), None),
                ("user", None, None),
                ("user", None, None),
            ]
        );
        assert_eq!(views[2].calls.len(), 1);
        assert_eq!((views[2].calls[0].name.as_str(), views[2].calls[0].arguments.as_str()), ("f", r#"{ "x":1 }"#));
    }

    #[test]
    fn appended_elements_are_viewed_after_the_clients() {
        let mut request = request(r#"{"system":"S","messages":[{"role":"user","content":"Hi"}]}"#);
        request.push_user("more");
        let texts: Vec<_> = request.messages().iter().map(|view| view.text.as_deref().map(str::to_owned)).collect();
        assert_eq!(texts, [Some("S".to_owned()), Some("Hi".to_owned()), Some("more".to_owned())]);
        assert_eq!(request.first_messages_text(), "system: S\nuser: Hi\n");
    }
}

#[cfg(test)]
mod reasoning_tests {
    use std::collections::BTreeSet;

    use super::super::testing::request;

    #[test]
    fn blocks_are_removed_and_the_rest_keeps_its_bytes() {
        let first = r#"{"type":"thinking","thinking":"a","signature":"s1"}"#;
        let second = r#"{"type":"thinking", "thinking":"\u0062","signature":"s2"}"#;
        let redacted = r#"{"type":"redacted_thinking","data":"x"}"#;
        let text = r#"{"type":"text", "text":"t"}"#;
        let user = r#"{"role":"user", "content":"u"}"#;
        let answer = |blocks: &str| format!(r#"{{"role":"assistant","content":[{blocks}]}}"#);
        let body = |messages: &[&str]| format!(r#"{{"messages":[{}]}}"#, messages.join(","));
        let before = body(&[
            user,
            &answer(&format!("{first},{second},{text}")),
            user,
            &answer(redacted),
            r#"{"role":"assistant","content":"x"}"#,
        ]);
        let mut request = request(&before);
        assert_eq!(request.reasoning().len(), 3);
        request.remove_reasoning(&BTreeSet::new());
        assert_eq!(request.to_bytes(), before);
        request.remove_reasoning(&BTreeSet::from([0, 2]));
        let after = body(&[user, &answer(&format!("{second},{text}")), user, r#"{"role":"assistant","content":"x"}"#]);
        assert_eq!(request.to_bytes(), after);
        assert_eq!(request.messages().len(), 4);
    }

    #[test]
    fn with_thinking_an_answer_keeps_the_block_that_it_begins_with() {
        let blocks = ["a", "b"].map(|text| format!(r#"{{"type":"thinking","thinking":"{text}","signature":"s"}}"#));
        let call = r#"{"type":"tool_use","id":"c","name":"f","input":{}}"#;
        let body = |thinking: &str, blocks: &str| {
            format!(
                r#"{{"thinking":{{"type":"{thinking}"}},"messages":[{{"role":"assistant","content":[{blocks}]}}]}}"#
            )
        };
        for (thinking, after) in [("enabled", format!("{},{call}", blocks[1])), ("disabled", call.to_owned())] {
            let mut request = request(&body(thinking, &format!("{},{call}", blocks.join(","))));
            request.remove_reasoning(&BTreeSet::from([0, 1]));
            assert_eq!(request.to_bytes(), body(thinking, &after));
        }
    }
}
