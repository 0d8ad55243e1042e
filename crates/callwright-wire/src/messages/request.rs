//! Requests.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::blocks::{
    ASSISTANT, CONTENT, TOOL_RESULT, USER, blocks_in, is_blank_text, is_block, is_call_of_program, message,
    result_block, user_blocks,
};
use super::conversation::result_with_note;
use crate::content::text_block;
use crate::fields::{ObjectFields, object};
use crate::parts::RequestForm;
use crate::request::{Additions, RequestFields, check_arrays, wrong_type};
use crate::tools::WrittenToolFields;
use crate::{AssistantMessage, RequestError, ToolChoice};
use callwright_common::json::{RawObject, raw};
use callwright_types::tool::Owner;
use callwright_types::{Call, Tool, ToolKind};

/// Member with the tools that the model may or must call.
const TOOL_CHOICE: &str = "tool_choice";

/// Setting in `tool_choice` that limits an answer to one call.
const ONE_CALL: &str = "disable_parallel_tool_use";

/// Type of a tool with a schema.
const CUSTOM: &str = "custom";

/// Beginnings of the types of tools that the provider executes. Their calls are `server_tool_use` blocks.
const SERVER_TOOLS: [&str; 6] = ["web_search", "web_fetch", "code_execution", "tool_search", "advisor", "mcp_toolset"];

/// Member with the container in which the model's programs run. A program that waits for the result of its call goes on
/// only in its own container, so the request with the result must name it.
const CONTAINER: &str = "container";

/// Requests of this protocol.
#[derive(Debug)]
pub(crate) struct MessagesRequest;

impl RequestForm for MessagesRequest {
    fn check(&self, fields: &RequestFields) -> Result<(), RequestError> {
        check_arrays(fields, &["messages", "tools"])?;
        match fields.get("system") {
            Some(system) if !system.starts_with(['"', '[']) => Err(wrong_type("system", "a string or an array")),
            _ => Ok(()),
        }
    }

    fn max_answer_tokens(&self, fields: &RequestFields) -> Option<u64> {
        fields.get_as("max_tokens")
    }

    fn parallel_tool_calls(&self, fields: &RequestFields) -> bool {
        let choice = member(fields, TOOL_CHOICE);
        !choice.and_then(|choice| choice.get_as(ONE_CALL)).unwrap_or(false)
    }

    fn requires_json(&self, fields: &RequestFields) -> bool {
        let format = member(fields, "output_config").and_then(|config| config.object("format"));
        let kind = format.or_else(|| member(fields, "output_format")).and_then(|format| format.string("type"));
        kind.as_deref() == Some("json_schema")
    }

    fn tool_choice(&self, fields: &RequestFields) -> ToolChoice {
        let Some(choice) = member(fields, TOOL_CHOICE) else { return ToolChoice::Auto };
        match choice.string("type").as_deref() {
            Some("none") => ToolChoice::None,
            Some("any") => ToolChoice::Required,
            Some("tool") => choice.string("name").map(|name| ToolChoice::Named(name.into_owned())).unwrap_or_default(),
            _ => ToolChoice::Auto,
        }
    }

    fn new_tool_choice(&self, fields: &RequestFields, choice: &ToolChoice) -> (&'static str, Option<Box<RawValue>>) {
        let mut value: RawObject = fields.get_as(TOOL_CHOICE).unwrap_or_default();
        value.remove("name");
        let kind = match choice {
            ToolChoice::None => "none",
            // The API rejects a required call while the model thinks.
            _ if is_thinking(fields) => "auto",
            ToolChoice::Auto | ToolChoice::Allowed { required: false, .. } => "auto",
            ToolChoice::Required | ToolChoice::Allowed { required: true, .. } => "any",
            ToolChoice::Named(name) => {
                value.set("name", raw(name));
                "tool"
            }
        };
        value.set("type", raw(kind));
        let value = match kind {
            // The API has no other member beside this type.
            "none" => Some(object([("type", raw(kind))]).to_raw()),
            "auto" if value.iter().count() == 1 => None,
            _ => Some(value.to_raw()),
        };
        (TOOL_CHOICE, value)
    }

    fn read_tools(&self, element: &RawValue) -> Vec<Tool> {
        ObjectFields::parse(element.get()).and_then(|element| read_tool(&element)).into_iter().collect()
    }

    fn write_tool(&self, tool: WrittenToolFields<'_>, _legacy: bool) -> Box<RawValue> {
        let mut element = tool.described(RawObject::default());
        element.set("input_schema", input_schema(tool.parameters));
        if tool.strict {
            element.set("strict", raw(&true));
        }
        element.to_raw()
    }

    /// Appends an answer of the model. Its blocks are unmodified and in the model's order, because the API rejects thinking
    /// that was changed or moved. Nothing is appended for an answer without blocks, which the API rejects too.
    fn push_assistant(&self, added: &mut Additions, answer: &AssistantMessage) {
        let mut blocks = answer.parts();
        blocks.retain(|block| !is_blank_text(block));
        for block in &mut blocks {
            if let Some(readable) = with_object_input(block) {
                *block = Cow::Owned(readable);
            }
        }
        if !blocks.is_empty() {
            added.messages.push(message(ASSISTANT, &blocks).into());
        }
    }

    /// Appends the result of a call to the user message with the results of the last answer.
    fn push_result(&self, added: &mut Additions, call: &Call, text: &str, is_error: bool) {
        let result = result_block(&call.id, text, is_error);
        edit_last_user(&mut added.messages, |blocks| {
            let end = blocks.iter().take_while(|block| is_block(block, TOOL_RESULT)).count();
            blocks.insert(end, result);
        });
    }

    /// Appends text of the user to the last user message, after the results in it. The API refuses text beside the results
    /// for a program, so it is appended to the last one of them.
    fn push_user(&self, added: &mut Additions, text: &str) {
        let is_for_program = answers_program(&added.messages);
        edit_last_user(&mut added.messages, |blocks| {
            let result = blocks.last_mut().filter(|last| is_for_program && is_block(last, TOOL_RESULT));
            match result.and_then(|result| Some((result_with_note(result, text)?, result))) {
                Some((noted, result)) => *result = noted,
                None => blocks.push(text_block(text)),
            }
        });
    }

    fn carried(&self) -> &'static [&'static str] {
        &[CONTAINER]
    }
}

/// Returns a member that is an object.
fn member<'a>(fields: &'a RequestFields, key: &str) -> Option<ObjectFields<'a>> {
    ObjectFields::parse(fields.get(key)?)
}

/// Parses an element of `tools`; `None` for a toolset and for an element without a name.
fn read_tool(element: &ObjectFields<'_>) -> Option<Tool> {
    let name = element.string("name").filter(|name| !name.is_empty())?.into_owned();
    let version = element.string("type").filter(|kind| kind != CUSTOM).unwrap_or_default();
    let (kind, parameters) = match element.get_as::<Value>("input_schema") {
        _ if SERVER_TOOLS.iter().any(|tool| version.starts_with(tool)) => (ToolKind::BuiltIn, Arc::default()),
        Some(schema) => (ToolKind::Function, Arc::new(schema)),
        None => (ToolKind::Predefined, schema_of(&version)),
    };
    let description = element.string("description").unwrap_or_default().into_owned();
    Some(Tool { name, description, parameters, kind, reads: None, owner: Owner::Client, namespace: None })
}

/// Returns the schema of a tool's input. The API requires a schema, with the type of an object.
fn input_schema(schema: Option<&Value>) -> Box<RawValue> {
    match schema {
        Some(Value::Object(members)) if !members.contains_key("type") => {
            let mut members = members.clone();
            members.insert("type".to_owned(), json!("object"));
            raw(&members)
        }
        Some(schema) => raw(schema),
        None => raw(&json!({ "type": "object" })),
    }
}

/// Returns a call whose input is an empty object, if it is none: the API refuses requests with unreadable input. The result
/// of the call quotes what the model wrote.
fn with_object_input(block: &RawValue) -> Option<Box<RawValue>> {
    let mut fields = RawObject::parse(block.get()).ok().filter(|_| is_block(block, "tool_use"))?;
    if fields.get("input").is_some_and(|input| input.get().starts_with('{')) {
        return None;
    }
    fields.set("input", RawObject::default().to_raw());
    Some(fields.to_raw())
}

/// Whether the last message has results for calls of a program.
fn answers_program(added: &[Arc<RawValue>]) -> bool {
    let [.., answer, _] = added else { return false };
    blocks_in(answer).into_iter().any(is_call_of_program)
}

/// Edits the blocks of the last element if it is a user message, or those of a new user message.
fn edit_last_user(added: &mut Vec<Arc<RawValue>>, edit: impl FnOnce(&mut Vec<Box<RawValue>>)) {
    if let Some(last) = added.last_mut()
        && let Some((mut fields, mut blocks)) = user_blocks(last)
    {
        edit(&mut blocks);
        fields.set(CONTENT, raw(&blocks));
        *last = fields.to_raw().into();
        return;
    }
    let mut blocks = Vec::new();
    edit(&mut blocks);
    added.push(message(USER, &blocks).into());
}

/// Schemas of the inputs of the tools that Anthropic defines and the client executes (documentation, "Tool use"), by the
/// beginning of their types, which a version follows. Versions differ in details, so the schemas have what all of them
/// share, and are open.
static SCHEMAS: LazyLock<BTreeMap<String, Arc<Value>>> =
    LazyLock::new(|| serde_json::from_str(include_str!("predefined.json")).unwrap_or_default());

/// Returns the schema of the input of a tool of this type, such as `bash_20250124`; `null` if it is not known.
fn schema_of(kind: &str) -> Arc<Value> {
    let name = kind.trim_end_matches(|letter: char| letter.is_ascii_digit());
    SCHEMAS.get(name).cloned().unwrap_or_default()
}

/// Whether the model thinks before its answer: `thinking` of any type but `disabled`.
pub(super) fn is_thinking(fields: &RequestFields) -> bool {
    let thinking = fields.get("thinking").and_then(ObjectFields::parse);
    thinking.is_some_and(|thinking| thinking.string("type").is_some_and(|kind| kind != "disabled"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{request, sent};
    use super::*;
    use crate::{Completion, ModelRequest, SentTool, WrittenTool};
    use callwright_types::Protocol;

    #[test]
    fn the_next_request_names_the_container_of_the_answer() {
        let answer = |container: &str| {
            let body = format!(r#"{{"type":"message","content":[],"container":{container}}}"#);
            Completion::parse(Protocol::Messages, body.into()).unwrap()
        };
        let created = answer(r#"{"id":"c_2","expires_at":"2026-11-28T00:00:00Z"}"#);
        for (before, after) in [
            (r#"{"messages":[]}"#, r#"{"messages":[],"container":"c_2"}"#),
            (r#"{"container":"c_1","messages":[]}"#, r#"{"container":"c_2","messages":[]}"#),
            (
                r#"{"container":{"skills":[{"type":"a"}]},"messages":[]}"#,
                r#"{"container":{"skills":[{"type":"a"}],"id":"c_2"},"messages":[]}"#,
            ),
            (r#"{"container":{"id":"c_1","x":1.0}}"#, r#"{"container":{"id":"c_2","x":1.0}}"#),
        ] {
            let mut request = request(before);
            request.carry(&created);
            assert_eq!(sent(&request), after);
        }
        let mut request = request(r#"{"container":"c_1"}"#);
        for none in ["null", "{}", "7", "\"c_3\""] {
            request.carry(&answer(none));
        }
        assert!(!request.is_edited());
    }

    fn choice(text: &str, choice: &ToolChoice) -> String {
        let fields = RequestFields::parse(text.as_bytes()).unwrap();
        let (key, value) = MessagesRequest.new_tool_choice(&fields, choice);
        let mut changed = RawObject::parse(text).unwrap();
        match value {
            Some(value) => changed.set(key, value),
            None => drop(changed.remove(key)),
        }
        changed.to_raw().get().to_owned()
    }

    #[test]
    fn members_are_read() {
        let request = request(
            r#"{"model":"m","max_tokens":7,"stream":true,"output_config":{"format":{"type":"json_schema"}},
                "tool_choice":{"type":"any","disable_parallel_tool_use":true},"messages":[]}"#,
        );
        assert_eq!((request.max_answer_tokens(), request.is_stream()), (Some(7), true));
        assert!(request.requires_json() && !request.parallel_tool_calls() && request.requests_usage_chunk());
        assert_eq!(request.tool_choice(), ToolChoice::Required);
        assert!(super::super::testing::request(r#"{"output_format":{"type":"json_schema"}}"#).requires_json());
        let empty = super::super::testing::request("{}");
        assert!(!empty.requires_json() && empty.parallel_tool_calls() && empty.messages().is_empty());
        assert_eq!(empty.tool_choice(), ToolChoice::Auto);
    }

    #[test]
    fn members_of_the_wrong_type_are_named() {
        for (text, param) in
            [(r#"{"messages":{}}"#, "messages"), (r#"{"tools":"f"}"#, "tools"), (r#"{"system":5}"#, "system")]
        {
            let error = ModelRequest::parse(Protocol::Messages, text.into()).unwrap_err();
            assert_eq!(error.param.as_deref(), Some(param), "{text}");
        }
    }

    #[test]
    fn a_choice_keeps_the_setting_for_parallel_calls() {
        let one = r#"{"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}"#;
        let named = ToolChoice::Named("f".into());
        assert_eq!(
            choice(one, &named),
            r#"{"tool_choice":{"type":"tool","disable_parallel_tool_use":true,"name":"f"}}"#
        );
        let back = choice(&choice(one, &named), &ToolChoice::Auto);
        assert_eq!(back, one);
        assert_eq!(choice(r#"{"tool_choice":{"type":"tool","name":"f"}}"#, &ToolChoice::Auto), "{}");
        assert_eq!(choice(one, &ToolChoice::None), r#"{"tool_choice":{"type":"none"}}"#);
        assert_eq!(choice("{}", &ToolChoice::Required), r#"{"tool_choice":{"type":"any"}}"#);
        let allowed = |required| ToolChoice::Allowed { required, names: vec!["f".into()] };
        assert_eq!(choice("{}", &allowed(true)), r#"{"tool_choice":{"type":"any"}}"#);
        assert_eq!(choice("{}", &allowed(false)), "{}");
    }

    #[test]
    fn no_call_is_required_of_a_model_that_thinks() {
        for kind in ["enabled", "adaptive"] {
            let thinking = format!(r#"{{"thinking":{{"type":"{kind}"}}}}"#);
            assert_eq!(choice(&thinking, &ToolChoice::Required), thinking);
            assert_eq!(choice(&thinking, &ToolChoice::Named("f".into())), thinking);
            assert!(choice(&thinking, &ToolChoice::None).contains("none"));
        }
        assert!(choice(r#"{"thinking":{"type":"disabled"}}"#, &ToolChoice::Required).contains("any"));
    }

    #[test]
    fn tools_are_functions_or_those_of_the_provider() {
        let request = request(
            r#"{"tools":[
                {"name":"f","description":"d","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}},
                {"type":"custom","name":"g","input_schema":{"type":"object"}},
                {"type":"bash_20250124","name":"bash"},
                {"type":"text_editor_20250728","name":"str_replace_based_edit_tool"},
                {"type":"computer_20250124","name":"computer","display_width_px":1},
                {"type":"memory_20250818","name":"memory"},
                {"type":"web_search_20250305","name":"web_search"},
                {"type":"code_execution_20250825","name":"code_execution"},
                {"type":"web_fetch_20250910","name":"web_fetch"},
                {"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"},
                {"type":"mcp_toolset","mcp_server_name":"s"},
                {"type":"browser_toolset_20260801"},
                {"name":""}, {"name":5}, 7]}"#,
        );
        let read = request.client_tools();
        let tools: Vec<(&str, ToolKind, bool)> =
            read.iter().map(|tool| (tool.name.as_str(), tool.kind, tool.parameters.is_null())).collect();
        let expected = [
            ("f", ToolKind::Function, false),
            ("g", ToolKind::Function, false),
            ("bash", ToolKind::Predefined, false),
            ("str_replace_based_edit_tool", ToolKind::Predefined, false),
            ("computer", ToolKind::Predefined, true),
            ("memory", ToolKind::Predefined, false),
            ("web_search", ToolKind::BuiltIn, true),
            ("code_execution", ToolKind::BuiltIn, true),
            ("web_fetch", ToolKind::BuiltIn, true),
            ("tool_search_tool_regex", ToolKind::BuiltIn, true),
        ];
        assert_eq!(tools, expected);
        assert_eq!(*read[0].parameters, json!({"type": "object"}));
        let listed = request.listed_tools();
        assert_eq!((listed.len(), listed.iter().filter(|(tool, _)| tool.is_some()).count()), (15, 6));
    }

    #[test]
    fn a_written_tool_has_a_schema_of_an_object() {
        let tool = Tool {
            name: "f".into(),
            description: "d".into(),
            parameters: Arc::new(Value::Null),
            kind: ToolKind::Function,
            reads: None,
            owner: Owner::Client,
            namespace: None,
        };
        let written = |parameters: Value, strict| {
            let tool = WrittenTool::new(Arc::new(tool.clone()), Arc::new(parameters), strict);
            let mut request = request(r#"{"tools":[{"name":"own", "input_schema":{}}]}"#);
            request.send_tools(&[SentTool::Own(0), SentTool::Added(Arc::new(tool))]);
            sent(&request)
        };
        let own = r#"{"name":"own", "input_schema":{}}"#;
        assert_eq!(
            written(json!({"properties": {}}), true),
            format!(
                r#"{{"tools":[{own},{{"name":"f","description":"d","input_schema":{{"properties":{{}},"type":"object"}},"strict":true}}]}}"#
            )
        );
        assert!(written(Value::Null, false).ends_with(r#""input_schema":{"type":"object"}}]}"#));
    }

    #[test]
    fn a_request_may_have_calls_if_its_text_has_their_type() {
        let with =
            r#"{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}]}"#;
        assert!(request(with).may_have_calls());
        assert!(!request(r#"{"messages":[{"role":"user","content":"a tool_use"}]}"#).may_have_calls());
    }
}

#[cfg(test)]
mod added_tests {
    use serde_json::{Value, json};

    use super::super::testing::{answer_of, call, request, sent};
    use crate::Completion;
    use callwright_types::{Call, Protocol};

    fn made(id: &str) -> Call {
        Call { id: id.into(), name: "f".into(), arguments: "{}".into() }
    }

    /// Blocks in an order and notation that no serializer produces.
    const INTERLEAVED: &str = concat!(
        r#"{"type":"thinking", "thinking":"\u0061\/b" ,"signature":"s1=="},{"type":"text","text":"Now."},"#,
        r#"{"type":"tool_use","id":"a","name":"f","input":{ "x" : 1.50e1 }},{"signature":"s2","type":"thinking","thinking":""},"#,
        r#"{"type":"redacted_thinking","data":"x\/y"},{"type":"tool_use","id":"b","name":"f","input":{}}"#
    );

    // maximhq/bifrost 6342: replayed thinking was moved before the calls, and results without content were dropped, so
    // that every later request of the conversation failed.
    #[test]
    fn thinking_among_calls_is_replayed_to_the_byte_in_place() {
        let body = format!(r#"{{"type":"message","content":[ {INTERLEAVED} ],"stop_reason":"tool_use"}}"#);
        let completion = Completion::parse(Protocol::Messages, body.into()).unwrap();
        let client = format!(
            r#"{{"role":"assistant","content":[ {INTERLEAVED} ]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a"}},{{"type":"tool_result","tool_use_id":"b","is_error":true}}]}}"#
        );
        let mut request = request(&format!(r#"{{"messages":[{client}]}}"#));
        request.push_assistant(&completion.choices()[0].message);
        request.push_tool_result(&made("a"), "1", false);
        request.push_tool_result(&made("b"), "2", true);
        let results = concat!(
            r#"{"type":"tool_result","tool_use_id":"a","content":"1"},"#,
            r#"{"type":"tool_result","tool_use_id":"b","content":"2","is_error":true}"#
        );
        assert_eq!(
            sent(&request),
            format!(
                r#"{{"messages":[{client},{{"role":"assistant","content":[{INTERLEAVED}]}},{{"role":"user","content":[{results}]}}]}}"#
            )
        );
    }

    #[test]
    fn results_precede_the_text_of_their_message() {
        let mut request = request(r#"{"messages":[]}"#);
        request.push_assistant(&answer_of(&json!([call("a", "f"), call("b", "f")])).choices()[0].message);
        request.push_tool_result(&made("a"), "1", false);
        request.push_user("Go on.");
        request.push_tool_result(&made("b"), "2", false);
        request.push_user("Now.");
        let messages = request.to_value()["messages"].clone();
        assert_eq!(messages.as_array().map(Vec::len), Some(2));
        let kinds: Vec<Value> =
            messages[1]["content"].as_array().unwrap().iter().map(|block| block["type"].clone()).collect();
        assert_eq!(kinds, ["tool_result", "tool_result", "text", "text"]);
    }

    #[test]
    fn a_message_for_a_program_has_results_only() {
        for (kind, kinds) in [("code_execution_20250825", &["tool_result"][..]), ("direct", &["tool_result", "text"])] {
            let made = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}, "caller": {"type": kind, "tool_id": "s"}});
            let mut request = request(r#"{"messages":[]}"#);
            request.push_assistant(&answer_of(&json!([made])).choices()[0].message);
            request.push_tool_result(&self::made("a"), "wrong", true);
            request.push_user("Answer now.");
            let blocks = request.to_value()["messages"][1]["content"].clone();
            let seen: Vec<&str> =
                blocks.as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
            assert_eq!(seen, kinds, "{kind}");
            assert!(blocks.to_string().contains("Answer now."), "{kind}");
        }
    }

    #[test]
    fn blank_texts_and_empty_answers_are_left_out() {
        let mut request = request(r#"{"messages":[]}"#);
        let blank = json!([{"type": "text", "text": ""}, call("a", "f"), {"type": "text", "text": "\n\n"}]);
        request.push_assistant(&answer_of(&blank).choices()[0].message);
        request.push_user("again");
        request.push_assistant(&answer_of(&json!([{"type": "text", "text": ""}])).choices()[0].message);
        request.push_user("and again");
        assert_eq!(
            request.to_value()["messages"],
            json!([
                {"role": "assistant", "content": [call("a", "f")]},
                {"role": "user", "content": [{"type": "text", "text": "again"}, {"type": "text", "text": "and again"}]},
            ])
        );
    }

    #[test]
    fn generated_ids_are_those_of_the_results() {
        let completion = answer_of(&json!([{"type": "tool_use", "name": "f", "input": "{\"x\":1}"}]));
        let message = &completion.choices()[0].message;
        let mut request = request(r#"{"messages":[]}"#);
        request.push_assistant(message);
        request.push_tool_result(&message.calls()[0], "done", false);
        let messages = request.to_value()["messages"].clone();
        let block = &messages[0]["content"][0];
        assert_eq!((&block["id"], &block["input"]), (&messages[1]["content"][0]["tool_use_id"], &json!({"x": 1})));
    }

    #[test]
    fn unreadable_input_becomes_an_empty_object() {
        let completion = answer_of(&json!([{"type": "tool_use", "id": "a", "name": "f", "input": "{\"x\": "}]));
        let mut request = request(r#"{"messages":[]}"#);
        request.push_assistant(&completion.choices()[0].message);
        assert_eq!(request.to_value()["messages"][0]["content"], json!([call("a", "f")]));
    }
}

#[cfg(test)]
mod predefined_tests {
    use super::*;

    #[test]
    fn a_schema_belongs_to_all_versions_of_a_tool() {
        for (kind, members) in [
            ("bash_20250124", 2),
            ("bash_20241022", 2),
            ("text_editor_20250728", 8),
            ("text_editor_20250124", 8),
            ("memory_20250818", 10),
        ] {
            assert_eq!(schema_of(kind)["properties"].as_object().map(serde_json::Map::len), Some(members), "{kind}");
        }
        for kind in ["computer_20250124", "bash_v2", "bash", "x_bash_20250124"] {
            assert!(schema_of(kind).is_null(), "{kind}");
        }
    }
}
