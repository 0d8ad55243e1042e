//! Requests and their conversations.

use std::collections::{BTreeMap, BTreeSet};

use callwright_types::{Call, Tool, ToolKind};

use super::*;
use crate::parts::{ConversationForm, RequestForm};
use crate::request::RequestFields;
use crate::responses::ResponsesRequest;
use crate::{KeptPart, ModelRequest, ToolChoice};
use callwright_common::json::raw;

fn request(text: &str) -> ModelRequest {
    ModelRequest::parse(Protocol::Responses, Bytes::copy_from_slice(text.as_bytes())).unwrap()
}

fn of_input(input: &Value) -> ModelRequest {
    request(&json!({"model": "m", "instructions": "Be brief.", "input": input}).to_string())
}

fn input_of(request: &ModelRequest) -> Value {
    request.to_value()["input"].clone()
}

fn sent_text(request: &ModelRequest) -> String {
    String::from_utf8(request.to_bytes().to_vec()).unwrap()
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "f", "arguments": "{}"})
}

fn output(id: &str, text: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": text})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn read_tools(element: &Value) -> Vec<(String, ToolKind)> {
    let tools: Vec<Tool> = ResponsesRequest.read_tools(&raw(element));
    tools.into_iter().map(|tool| (tool.name, tool.kind)).collect()
}

#[test]
fn settings_are_read() {
    let set = request(
        r#"{"input":"Hi","max_output_tokens":9,"parallel_tool_calls":false,"text":{"format":{"type":"json_schema"}},"stream":true}"#,
    );
    assert_eq!((set.max_answer_tokens(), set.parallel_tool_calls(), set.requires_json()), (Some(9), false, true));
    assert!(set.is_stream() && set.requests_usage_chunk());
    let unset = request(r#"{"input":[],"text":{"format":{"type":"text"}}}"#);
    assert_eq!((unset.max_answer_tokens(), unset.parallel_tool_calls(), unset.requires_json()), (None, true, false));
    for (text, param) in [(r#"{"input":5}"#, "input"), (r#"{"input":{}}"#, "input"), (r#"{"tools":{}}"#, "tools")] {
        let error = ModelRequest::parse(Protocol::Responses, Bytes::copy_from_slice(text.as_bytes())).unwrap_err();
        assert_eq!(error.param.as_deref(), Some(param));
    }
}

#[test]
fn tools_are_read_with_their_kind() {
    let function = |name: &str| json!({"type": "function", "name": name, "parameters": {"type": "object"}});
    assert_eq!(read_tools(&function("f")), [("f".to_owned(), ToolKind::Function)]);
    assert_eq!(read_tools(&json!({"type": "custom", "name": "sql"})), [("sql".to_owned(), ToolKind::Custom)]);
    let namespace = json!({"type": "namespace", "name": "n", "tools": [function("a"), {"type": "later"}, {"type": "custom", "name": "b"}]});
    let expected = [("a".to_owned(), ToolKind::Function), ("b".to_owned(), ToolKind::Custom)];
    assert_eq!(read_tools(&namespace), expected);
    for (kind, name) in [
        ("web_search", "web_search"),
        ("web_search_preview_2025_03_11", "web_search"),
        ("computer_use_preview", "computer_use"),
        ("later", "later"),
        ("7", "7"),
    ] {
        assert_eq!(read_tools(&json!({"type": kind, "name": "x"})), [(name.to_owned(), ToolKind::BuiltIn)]);
    }
    for kind in ["shell", "local_shell", "apply_patch"] {
        assert_eq!(read_tools(&json!({"type": kind})), [(kind.to_owned(), ToolKind::Predefined)]);
    }
    let search = |execution: &str| read_tools(&json!({"type": "tool_search", "execution": execution}));
    assert_eq!(search("client"), [("tool_search".to_owned(), ToolKind::Predefined)]);
    assert_eq!(search("server"), [("tool_search".to_owned(), ToolKind::BuiltIn)]);
    let server = |allowed: Value| read_tools(&json!({"type": "mcp", "server_label": "s", "allowed_tools": allowed}));
    assert_eq!(server(Value::Null), []);
    for allowed in [json!(["find"]), json!({"tool_names": ["find"], "read_only": true})] {
        assert_eq!(server(allowed), [("find".to_owned(), ToolKind::BuiltIn)]);
    }
    assert_eq!(read_tools(&json!({"name": "untyped"})), []);
    assert_eq!(read_tools(&json!(5)), []);
}

#[test]
fn written_tools_state_whether_they_are_strict() {
    let write = |strict: bool| {
        let schema = json!({"type": "object"});
        let parameters = Some(&schema).filter(|_| strict);
        let fields = crate::tools::WrittenToolFields { name: "f", description: Some("d"), parameters, strict };
        serde_json::from_str::<Value>(ResponsesRequest.write_tool(fields, false).get()).unwrap()
    };
    let function = json!({"type": "function", "name": "f", "description": "d"});
    let with = |parameters: Value, strict: bool| {
        let mut function = function.clone();
        function["parameters"] = parameters;
        function["strict"] = json!(strict);
        function
    };
    assert_eq!(write(true), with(json!({"type": "object"}), true));
    assert_eq!(write(false), with(json!({"type": "object", "properties": {}}), false));
}

#[test]
fn choices_of_hosted_tools_are_kept() {
    let choice = |value: &Value| request(&json!({"tool_choice": value}).to_string()).tool_choice();
    assert_eq!(choice(&json!("none")), ToolChoice::None);
    assert_eq!(choice(&json!("required")), ToolChoice::Required);
    assert_eq!(choice(&json!({"type": "function", "name": "f"})), ToolChoice::Named("f".into()));
    assert_eq!(choice(&json!({"type": "custom", "name": "sql"})), ToolChoice::Named("sql".into()));
    for hosted in [json!({"type": "web_search"}), json!({"type": "mcp", "server_label": "s", "name": "f"})] {
        assert_eq!(choice(&hosted), ToolChoice::Auto);
        let text = json!({"tool_choice": hosted}).to_string();
        let mut kept = request(&text);
        kept.set_tool_choice(ToolChoice::None);
        assert_eq!(sent_text(&kept), text);
    }
}

#[test]
fn a_choice_is_replaced_and_keeps_its_hosted_tools() {
    let tools = json!([{"type": "custom", "name": "sql"}]);
    let allowed = json!({"type": "allowed_tools", "mode": "required", "tools": [
        {"type": "web_search"}, {"type": "function", "name": "f", "x": 1}]});
    let mut edited = request(&json!({"tools": tools, "tool_choice": allowed}).to_string());
    assert_eq!(edited.tool_choice(), ToolChoice::Allowed { required: true, names: vec!["f".into()] });
    edited.set_tool_choice(ToolChoice::Allowed { required: false, names: vec!["sql".into(), "f".into()] });
    assert_eq!(
        edited.to_value()["tool_choice"],
        json!({"type": "allowed_tools", "mode": "auto", "tools": [
            {"type": "web_search"}, {"type": "custom", "name": "sql"}, {"type": "function", "name": "f", "x": 1}]})
    );
    edited.set_tool_choice(ToolChoice::Named("sql".into()));
    assert_eq!(edited.to_value()["tool_choice"], json!({"type": "custom", "name": "sql"}));
    edited.set_tool_choice(ToolChoice::Named("g".into()));
    assert_eq!(edited.to_value()["tool_choice"], json!({"type": "function", "name": "g"}));
    edited.set_tool_choice(ToolChoice::Auto);
    assert_eq!(edited.to_value().get("tool_choice"), None);
}

#[test]
fn a_run_of_the_model_is_one_view() {
    let request = of_input(&json!([
        {"role": "developer", "content": "d"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_image"},
            {"type": "input_text", "text": "b"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hm."}]},
        call("a"),
        {"type": "web_search_call", "id": "ws_1"},
        {"type": "custom_tool_call", "call_id": "b", "name": "sql", "input": "select"},
        output("a", "one"),
        {"type": "custom_tool_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "two"}]},
        {"type": "compaction", "encrypted_content": "x"},
        7,
    ]));
    let views = request.messages();
    let seen: Vec<(&str, Option<&str>)> = views.iter().map(|view| (view.role.as_ref(), view.text.as_deref())).collect();
    assert_eq!(
        seen,
        [
            ("system", Some("Be brief.")),
            ("developer", Some("d")),
            ("user", Some("a\nb")),
            ("assistant", Some("Hm.")),
            ("tool", Some("one")),
            ("tool", Some("two")),
            ("", None),
            ("", None),
        ]
    );
    let calls: Vec<(&str, &str)> =
        views[3].calls.iter().map(|call| (call.id.as_str(), call.arguments.as_str())).collect();
    assert_eq!(calls, [("a", "{}"), ("b", "select")]);
    assert_eq!((views[4].tool_call_id.as_deref(), views[5].tool_call_id.as_deref()), (Some("a"), Some("b")));
}

// vllm-project/vllm issue 43244.
#[test]
fn results_without_their_calls_are_read() {
    let text = json!({"previous_response_id": "resp_1", "input": [output("a", "one"), output("b", "two")]}).to_string();
    let mut request = request(&text);
    assert!(request.may_have_calls());
    let views = request.messages();
    let seen: Vec<_> = views.iter().map(|view| (view.tool_call_id.as_deref(), view.text.as_deref())).collect();
    assert_eq!(seen, [(Some("a"), Some("one")), (Some("b"), Some("two"))]);
    assert_eq!(request.to_bytes(), text);
    request.push_user("And now?");
    assert_eq!(input_of(&request), json!([output("a", "one"), output("b", "two"), user("And now?")]));
    assert_eq!(request.to_value()["previous_response_id"], "resp_1");
}

#[test]
fn a_string_becomes_a_message_when_the_conversation_goes_on() {
    let mut request = request(r#"{"input":"\u0041 or b?","x": 1.0}"#);
    assert!(!request.may_have_calls());
    assert_eq!(request.messages()[0].text.as_deref(), Some("A or b?"));
    request.add_note(0, "see \"this\"".into());
    assert_eq!(sent_text(&request), r#"{"input":"\u0041 or b?\n\nsee \"this\"","x":1.0}"#);
    let mut request = self::request(r#"{"input":"\u0041 or b?"}"#);
    let message = answer(&[function_call("fc_1", "call_1", "{}")]).choices()[0].message.clone();
    request.push_assistant(&message);
    request.push_tool_result(&message.calls()[0], "done", true);
    let expected = [user("A or b?"), function_call("fc_1", "call_1", "{}"), output("call_1", "done")];
    assert_eq!(input_of(&request), json!(expected));
    assert!(sent_text(&request).contains(r#""content":"\u0041 or b?""#));
    assert_eq!(request.messages()[1].calls.len(), 1);
}

#[test]
fn an_answer_is_pushed_unchanged_and_results_have_call_types() {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "g"});
    let custom = json!({"type": "custom_tool_call", "id": "ctc_1", "call_id": "b", "name": "sql", "input": "x"});
    let items = [reasoning, function_call("fc_1", "a", "{}"), custom];
    let mut request = of_input(&json!([user("Hi")]));
    request.push_assistant(&answer(&items).choices()[0].message);
    let call = |id: &str| Call { id: id.into(), name: String::new(), arguments: String::new() };
    request.push_tool_result(&call("a"), "one", false);
    request.push_tool_result(&call("b"), "two", false);
    let input = input_of(&request);
    assert_eq!(input.as_array().unwrap()[1..4], items);
    assert_eq!(input[4], output("a", "one"));
    assert_eq!(input[5], json!({"type": "custom_tool_call_output", "call_id": "b", "output": "two"}));
    assert_eq!(request.messages().len(), 5);
}

#[test]
fn notes_follow_the_texts_of_their_views() {
    let mut request = request(concat!(
        r#"{"instructions":"i","input":[{"role":"user","content":"\u0041"},{"type":"reasoning","summary":[]},"#,
        r#"{"role":"assistant","content":[{"type":"output_text","text":"b"}]},{"type":"function_call","call_id":"a"},"#,
        r#"{"type":"function_call_output", "call_id":"a","output":"c\/"},"#,
        r#"{"type":"function_call_output","call_id":"b","output":[{"type":"input_text", "text":"d"}]},"#,
        r#"{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot"}}]}"#,
    ));
    for place in 0..7 {
        request.add_note(place, format!("n{place}"));
    }
    assert_eq!(
        sent_text(&request),
        concat!(
            r#"{"instructions":"i","input":[{"role":"user","content":"\u0041\n\nn1"},{"type":"reasoning","summary":[]},"#,
            r#"{"role":"assistant","content":[{"type":"output_text","text":"b"},{"type":"output_text","text":"n2","annotations":[]}]},"#,
            r#"{"type":"function_call","call_id":"a"},"#,
            r#"{"type":"function_call_output","call_id":"a","output":"c\/\n\nn3"},"#,
            r#"{"type":"function_call_output","call_id":"b","output":[{"type":"input_text", "text":"d"},{"type":"input_text","text":"n4"}]},"#,
            r#"{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot"}}]}"#,
        )
    );
}

fn kept(before: &[Value], whole: &[Value], sent: &[Value], results: &[(&str, &str)]) -> KeptPart {
    let message = |items: &[Value]| answer(items).choices()[0].message.clone();
    let before: Vec<_> = before.iter().map(|item| std::sync::Arc::from(raw(item))).collect();
    let mut part = KeptPart::new(&before, &message(whole), &message(sent)).unwrap();
    for (id, text) in results {
        part.add_result(&Call { id: (*id).into(), name: String::new(), arguments: String::new() }, (*text).into());
    }
    serde_json::from_str(&serde_json::to_string(&part).unwrap()).unwrap()
}

#[test]
fn kept_parts_return_to_their_places() {
    let mut mine = call("mine");
    mine["extra"] = json!([1]);
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let part = kept(
        &[call("early"), output("early", "hidden"), user("again")],
        &[call("first"), call("mine"), call("late")],
        &[call("mine")],
        &[("first", "done")],
    );
    let history = json!([user("u"), reasoning, mine, output("mine", "ok"), user("v"), call("x"), output("x", "y")]);
    let mut request = of_input(&history);
    for (place, note) in [(1, "note u"), (2, "note of the run"), (3, "note ok"), (6, "note y")] {
        request.add_note(place, note.into());
    }
    request.rejoin(&BTreeMap::from([(2, part)]), "lost");
    assert_eq!(
        input_of(&request),
        json!([
            user("u\n\nnote u"),
            call("early"),
            output("early", "hidden"),
            user("again"),
            reasoning,
            call("first"),
            mine,
            call("late"),
            output("first", "done"),
            output("late", "lost"),
            output("mine", "ok\n\nnote ok"),
            user("v"),
            call("x"),
            output("x", "y\n\nnote y"),
        ])
    );
    assert_eq!(request.messages()[2].calls.len(), 1, "the earlier answer is a view of its own");
}

#[test]
fn items_that_the_earlier_ones_repeat_are_left_out() {
    let text = message("msg_1", &["I look."]);
    let part = kept(&[text.clone(), call("early"), output("early", "x")], &[call("mine")], &[call("mine")], &[]);
    let mut request = of_input(&json!([user("u"), text, call("mine"), output("mine", "ok")]));
    request.rejoin(&BTreeMap::from([(2, part)]), "lost");
    let expected = [user("u"), text, call("early"), output("early", "x"), call("mine"), output("mine", "ok")];
    assert_eq!(input_of(&request), json!(expected));
}

#[test]
fn reasoning_is_removed_and_the_rest_keeps_its_bytes() {
    let first = r#"{"type":"reasoning","id":"rs_1","summary":[]}"#;
    let second = r#"{"type":"reasoning", "id":"rs_2","summary":[{"type":"summary_text","text":"\u0061"}]}"#;
    let reference = r#"{"type":"item_reference","id":"rs_3"}"#;
    let user = r#"{"role":"user", "content":"u"}"#;
    let body = |items: &[&str]| format!(r#"{{"input":[{}]}}"#, items.join(","));
    let mut request = request(&body(&[user, first, second, reference]));
    assert_eq!(request.reasoning().len(), 3);
    request.remove_reasoning(&BTreeSet::from([0, 2]));
    assert_eq!(sent_text(&request), body(&[user, second]));
    assert_eq!(request.messages().len(), 2);
}

#[test]
fn a_part_at_a_string_changes_nothing() {
    let fields = RequestFields::parse(br#"{"input":"a"}"#).unwrap();
    let parts = BTreeMap::from([(0, kept(&[user("b")], &[call("a")], &[call("a")], &[]))]);
    let rejoined = ResponsesRequest.rejoined(&fields, &parts, "lost");
    assert_eq!((rejoined.conversation.get(), rejoined.positions), ("\"a\"", vec![Some(0)]));
}

#[test]
fn namespaces_and_unknown_members_stay() {
    let text = r#"{"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}], "x":1}],"input":[{"type":"function_call","call_id":"a","namespace":"n","name":"f","arguments":"{}"}],"store": false}"#;
    let mut request = request(text);
    assert_eq!(request.to_bytes(), text);
    assert_eq!(request.listed_tools().len(), 1);
    request.forget_storage();
    assert_eq!(request.to_bytes(), text);
    request.set_model("m");
    let sent = sent_text(&request);
    assert!(
        sent.contains(r#""tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}], "x":1}]"#)
    );
    assert!(sent.contains(r#""namespace":"n""#) && sent.ends_with(r#""store":false,"model":"m"}"#));
}
