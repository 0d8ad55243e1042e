//! Tools of a request that are not in its own list: those that its conversation brings, those that it only names, and
//! those that the provider's state may have.

use std::collections::BTreeSet;

use memchr::memmem::Finder;
use serde_json::Value;
use serde_json::value::RawValue;

use super::ModelRequest;
use crate::fields::{ObjectFields, array};
use crate::words::{Word, has_one_of};
use callwright_types::{Protocol, Tool, tool_names};

/// Member of an element of a conversation with the tools that it brings: of items `additional_tools` and
/// `tool_search_output` of Responses, and of messages.
const TOOLS: &str = "tools";

/// Type of a block that names a tool which a search has found, and its member with the name.
const REFERENCE: &str = "tool_reference";
static REFERENCE_WORD: [Word; 1] = [Word::new(|| Finder::new(REFERENCE))];
const REFERENCED: &str = "tool_name";

/// Type of a block with the result of a client's tool.
const CLIENT_RESULT: &str = "tool_result";

static NAMESPACE_WORD: [Word; 1] = [Word::new(|| Finder::new("\"namespace\""))];

/// Tools of a request besides those in its own list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ToolsElsewhere {
    /// JSON texts of the lists of tools in the conversation, in order.
    lists: Vec<String>,
    /// Names of tools that a search has found.
    referenced: BTreeSet<String>,
    /// Tools of namespaces: name with its namespace, and the name itself.
    qualified: BTreeSet<(String, String)>,
    is_open: bool,
}

impl ToolsElsewhere {
    /// Whether there may be further tools: the provider keeps a part of the conversation, or the client searches for tools
    /// that it does not list.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Returns the names of tools that the conversation only refers to.
    pub fn referenced(&self) -> impl Iterator<Item = &str> {
        self.referenced.iter().map(String::as_str)
    }

    /// Returns the names of tools in namespaces, each with its namespace and without.
    pub fn qualified(&self) -> impl Iterator<Item = (&str, &str)> {
        self.qualified.iter().map(|(full, name)| (full.as_str(), name.as_str()))
    }

    /// Returns the JSON texts of the lists of tools in the conversation, in order.
    pub fn lists(&self) -> impl Iterator<Item = &str> {
        self.lists.iter().map(String::as_str)
    }

    /// Returns the number of bytes of the lists of tools.
    pub fn size(&self) -> usize {
        self.lists.iter().map(String::len).sum()
    }
}

impl ModelRequest {
    /// Finds the tools that are not in the request's own list.
    pub fn tools_elsewhere(&self) -> ToolsElsewhere {
        let mut elsewhere = ToolsElsewhere { is_open: self.has_unlisted_tools(), ..ToolsElsewhere::default() };
        if self.protocol == Protocol::Responses {
            self.tools_text().into_iter().for_each(|list| add_qualified(list, &mut elsewhere.qualified));
        }
        let text = self.conversation_text();
        let words = self.tool_words();
        if words.reference {
            let References { names, are_of_client } = references(text);
            elsewhere.referenced = names;
            // The request lists what the client's search has found so far.
            elsewhere.is_open |= are_of_client;
        }
        if words.list {
            let elements: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            let lists = elements.into_iter().filter_map(|element| ObjectFields::parse(element.get()));
            let lists = lists.flat_map(|element| lists_of(&element)).filter_map(|list| array(list).map(|_| list));
            elsewhere.lists = lists.map(|list| list.get().to_owned()).collect();
            elsewhere.lists.iter().for_each(|list| add_qualified(list, &mut elsewhere.qualified));
        }
        elsewhere
    }

    /// Returns the tools that the conversation brings, in order. The later definition of a tool comes first, because
    /// clients bring a changed tool again.
    pub fn read_tools_elsewhere(&self, elsewhere: &ToolsElsewhere) -> Vec<Tool> {
        let lists = elsewhere.lists.iter().rev().filter_map(|list| serde_json::from_str::<Vec<&RawValue>>(list).ok());
        lists.flatten().flat_map(|element| self.form.read_tools(element)).collect()
    }

    /// Whether the client or the provider has tools that the request does not list.
    fn has_unlisted_tools(&self) -> bool {
        if self.has_provider_conversation() {
            return true;
        }
        if self.protocol != Protocol::Responses {
            return false;
        }
        // A stored prompt has tools of its own.
        let has_prompt = self.fields.get("prompt").is_some_and(|prompt| prompt.starts_with('{'));
        self.previous_response().is_some() || has_prompt || self.client_searches()
    }

    /// Whether the client searches for tools (`tool_search` with `execution: client`), which the request lists once they
    /// are found.
    fn client_searches(&self) -> bool {
        self.tool_elements().into_iter().filter_map(|element| ObjectFields::parse(element.get())).any(|element| {
            element.string("type").as_deref() == Some("tool_search")
                && element.string("execution").as_deref() == Some("client")
        })
    }
}

/// Returns the lists of tools in an element that the model did not write: its own, and those of its blocks.
fn lists_of<'a>(element: &ObjectFields<'a>) -> Vec<&'a RawValue> {
    if element.string("role").as_deref() == Some("assistant") {
        return Vec::new();
    }
    let blocks = element.items("content").unwrap_or_default().into_iter();
    let of_blocks = blocks.filter_map(|block| ObjectFields::parse(block.get())?.get(TOOLS));
    element.get(TOOLS).into_iter().chain(of_blocks).collect()
}

/// Adds the names of the tools of namespaces in a list.
fn add_qualified(list: &str, names: &mut BTreeSet<(String, String)>) {
    if !has_one_of(list, &NAMESPACE_WORD) {
        return;
    }
    let elements: Vec<&RawValue> = serde_json::from_str(list).unwrap_or_default();
    for element in elements.into_iter().filter_map(|element| ObjectFields::parse(element.get())) {
        if element.string("type").as_deref() != Some("namespace") {
            continue;
        }
        let Some(namespace) = element.string("name").filter(|name| !name.is_empty()) else { continue };
        for tool in element.items(TOOLS).unwrap_or_default() {
            let Some(tool) = ObjectFields::parse(tool.get()) else { continue };
            let Some(name) = tool.string("name") else { continue };
            names.extend(tool_names::qualified(&namespace, &name).into_iter().map(|full| (full, name.to_string())));
        }
    }
}

/// Blocks of a conversation that refer to tools.
#[derive(Default)]
struct References {
    names: BTreeSet<String>,
    /// Whether a tool of the client returned one: the client searches for tools, and has others.
    are_of_client: bool,
}

/// Returns the blocks that refer to tools, wherever they are in the conversation.
fn references(text: &str) -> References {
    let mut found = References::default();
    let elements: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
    for element in elements {
        if has_one_of(element.get(), &REFERENCE_WORD)
            && let Ok(value) = serde_json::from_str::<Value>(element.get())
        {
            found.add(&value, false);
        }
    }
    found
}

impl References {
    fn add(&mut self, value: &Value, is_result: bool) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.add(item, is_result)),
            Value::Object(members) => {
                let kind = members.get("type").and_then(Value::as_str);
                if kind == Some(REFERENCE) {
                    self.names.extend(members.get(REFERENCED).and_then(Value::as_str).map(str::to_owned));
                    self.are_of_client |= is_result;
                    return;
                }
                let is_result = is_result || kind == Some(CLIENT_RESULT);
                members.values().for_each(|member| self.add(member, is_result));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(protocol: Protocol, body: &Value) -> ModelRequest {
        ModelRequest::parse(protocol, body.to_string().into()).unwrap()
    }

    fn found(protocol: Protocol, body: &Value) -> (Vec<String>, Vec<String>, bool) {
        let request = request(protocol, body);
        let elsewhere = request.tools_elsewhere();
        let tools = request.read_tools_elsewhere(&elsewhere).into_iter().map(|tool| tool.name);
        (tools.collect(), elsewhere.referenced().map(str::to_owned).collect(), elsewhere.is_open())
    }

    #[test]
    fn items_of_responses_bring_tools() {
        let function = |name: &str| json!({"type": "function", "name": name, "parameters": {"type": "object"}});
        let input = json!([
            {"type": "additional_tools", "role": "developer", "tools": [function("wait"), {"type": "custom", "name": "exec"}]},
            {"role": "user", "content": "Hi"},
            {"type": "tool_search_call", "call_id": "a", "execution": "client", "arguments": {}},
            {"type": "tool_search_output", "call_id": "a", "execution": "client", "status": "completed",
                "tools": [{"type": "namespace", "name": "crm", "tools": [function("list_orders")]}, function("ping")]},
            {"role": "assistant", "content": [], "tools": [function("invented")]},
        ]);
        let names = ["list_orders", "ping", "wait", "exec"].map(str::to_owned).to_vec();
        assert_eq!(found(Protocol::Responses, &json!({"input": input, "tools": []})), (names, vec![], false));
    }

    #[test]
    fn tools_of_namespaces_have_qualified_names() {
        let namespace =
            |name: &str| json!({"type": "namespace", "name": name, "tools": [{"type": "function", "name": "f"}]});
        let input = json!([{"type": "additional_tools", "tools": [namespace("mcp__a__")]}]);
        let body = json!({"tools": [namespace("mcp__b__")], "input": input});
        let elsewhere = request(Protocol::Responses, &body).tools_elsewhere();
        assert_eq!(elsewhere.qualified().collect::<Vec<_>>(), [("mcp__a__f", "f"), ("mcp__b__f", "f")]);
    }

    #[test]
    fn blocks_of_messages_refer_to_tools() {
        let reference = |name: &str| json!({"type": "tool_reference", "tool_name": name});
        let messages = json!([
            {"role": "assistant", "content": [
                {"type": "server_tool_use", "id": "s", "name": "tool_search_tool_bm25", "input": {"query": "x"}},
                {"type": "tool_search_tool_result", "tool_use_id": "s", "content":
                    {"type": "tool_search_tool_search_result", "tool_references": [reference("a")]}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [reference("b")]}]},
            {"role": "user", "content": "\"tool_reference\" tool_name c"},
        ]);
        let names = ["a", "b"].map(str::to_owned).to_vec();
        assert_eq!(found(Protocol::Messages, &json!({"messages": messages})), (vec![], names, true));
        // The provider's search finds tools of the request's list.
        let names = vec!["a".to_owned()];
        assert_eq!(found(Protocol::Messages, &json!({"messages": [messages[0]]})), (vec![], names, false));
    }

    #[test]
    fn provider_state_and_client_searches_leave_the_set_open() {
        for body in [
            json!({"previous_response_id": "resp_1"}),
            json!({"conversation": "conv_1"}),
            json!({"prompt": {"id": "pmpt_1"}}),
            json!({"tools": [{"type": "tool_search", "execution": "client"}]}),
        ] {
            assert!(found(Protocol::Responses, &body).2, "{body}");
        }
        for body in [json!({}), json!({"tools": [{"type": "tool_search"}]}), json!({"prompt": null})] {
            assert!(!found(Protocol::Responses, &body).2, "{body}");
        }
        assert!(found(Protocol::Messages, &json!({"thread": {"id": "t"}})).2);
        assert!(!found(Protocol::Chat, &json!({"previous_response_id": "resp_1", "messages": []})).2);
    }

    #[test]
    fn messages_of_chat_completions_may_bring_tools() {
        let tool = json!({"type": "function", "function": {"name": "f"}});
        let messages = json!([{"role": "system", "tools": [tool]}, {"role": "user", "content": "\"tools\""}, 7]);
        assert_eq!(found(Protocol::Chat, &json!({"messages": messages})).0, ["f"]);
    }
}
