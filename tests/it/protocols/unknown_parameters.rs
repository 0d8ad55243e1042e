//! Parameters that a silent schema does not name (`scan.unknown_parameters: auto`), in the three protocols: right calls
//! leave as they came, in one request, plain and streamed; beside evidence they are faults.

use serde_json::{Value, json};

use super::api::{APIS, Api, call, text};
use super::sse;
use crate::support::answer::{call_chunks, one_call};
use crate::support::request::{plain, streamed};
use crate::support::{Answer, Proxy, Reply, Server, config, policy};

/// Right calls of a shell, as agents make them that learned further parameters from other agents.
const RIGHT: [&str; 3] = [
    r#"{"command":"ls -la","description":"Lists all files"}"#,
    r#"{"command":"ls -la", "reason" : "to see the files"}"#,
    r#"{"timeout_ms":5000.0,"command":"ls -la"}"#,
];

/// Returns a schema that has no rule for further parameters.
fn shell() -> Value {
    json!({"type": "object", "required": ["command"],
        "properties": {"command": {"type": "string"}, "timeout": {"type": "number"}, "workdir": {"type": "string"}}})
}

/// Returns a request of chat completions that offers a shell with this schema.
fn chat(schema: Value) -> Value {
    let mut request = plain("List all files.");
    request["tools"] = json!([{"type": "function", "function": {"name": "bash", "parameters": schema}}]);
    request
}

fn request(api: Api) -> Value {
    let mut request = api.plain("List all files.");
    request["tools"] = json!([api.tool("bash", shell())]);
    request
}

async fn before(upstream: &Server) -> Proxy {
    Proxy::start(config(&upstream.url("/v1"))).await
}

fn arguments_of(answer: &Answer) -> Vec<String> {
    let message = answer.message();
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    calls.map(|call| call["function"]["arguments"].as_str().unwrap().to_owned()).collect()
}

async fn advice(proxy: &Proxy) -> f64 {
    proxy.metrics().await.sum("advice_total", &[])
}

#[tokio::test]
async fn right_calls_leave_byte_by_byte_after_one_request() {
    for api in APIS {
        for arguments in RIGHT {
            let parts = vec![text("I look."), call("call_7", "bash", arguments)];
            let (answer, sent) = (api.answer(&parts).to_string(), sse::bytes(&api.events(&parts)));
            let upstream = Server::scripted(move |_, received| api.reply(received, &parts)).await;
            let proxy = before(&upstream).await;
            let received = api.send(&proxy, &request(api)).await;
            assert_eq!((received.verdict(), received.text()), ("clean", answer), "{api:?} {arguments}");
            let mut stream = api.stream(&proxy, &request(api)).await;
            stream.rest().await;
            assert_eq!(stream.raw(), sent, "{api:?} {arguments}");
            assert_eq!(upstream.received().len(), 2);
            assert_eq!(advice(&proxy).await, 2.0, "{api:?} {arguments}");
        }
    }
}

#[tokio::test]
async fn right_chat_completions_calls_pass_unchanged_and_are_noted() {
    for arguments in RIGHT {
        let chunks = call_chunks(&[("call_1", "bash", arguments)]);
        let upstream = Server::replying(vec![one_call("bash", arguments), Reply::events(&chunks)]).await;
        let proxy = before(&upstream).await;
        let answer = proxy.client().chat(&chat(shell())).await;
        assert_eq!((answer.verdict(), arguments_of(&answer)), ("clean", vec![arguments.to_owned()]));
        let mut stream = proxy.client().chat_stream(&streamed(chat(shell()))).await;
        let assembled = stream.assemble().await;
        assert_eq!(assembled.choice().calls[0]["function"]["arguments"], arguments);
        assert_eq!((upstream.received().len(), advice(&proxy).await), (2, 2.0));
        let traces = proxy.traces_after_stop().await;
        for trace in &traces {
            let attempt = &trace["attempts"][0];
            assert_eq!((&trace["verdict"], attempt["advice"].as_array().unwrap().len()), (&json!("clean"), 1));
            assert_eq!(attempt["diagnoses"].as_array().map_or(0, Vec::len), 0, "{attempt}");
        }
        assert_eq!(traces.len(), 2);
    }
}

#[tokio::test]
async fn misspelt_and_missing_parameters_are_faults_as_before() {
    let right = r#"{"command":"ls"}"#;
    let closed = {
        let mut schema = shell();
        schema["additionalProperties"] = json!(false);
        schema
    };
    for (schema, arguments) in [
        (shell(), r#"{"command":"ls","timeuot":5}"#),
        (shell(), r#"{"description":"Lists all files"}"#),
        (shell(), r#"{"cmd":"ls"}"#),
        (closed, r#"{"command":"ls","description":"Lists all files"}"#),
    ] {
        let upstream = Server::replying(vec![one_call("bash", arguments), one_call("bash", right)]).await;
        let proxy = before(&upstream).await;
        let answer = proxy.client().chat(&chat(schema)).await;
        assert_eq!((answer.verdict(), arguments_of(&answer)), ("corrected", vec![right.to_owned()]), "{arguments}");
        assert_eq!(upstream.received().len(), 2, "{arguments}");
    }
    // Another writing is repaired.
    let upstream = Server::replying(vec![one_call("bash", r#"{"Command":"ls","reason":"x"}"#)]).await;
    let proxy = before(&upstream).await;
    let answer = proxy.client().chat(&chat(shell())).await;
    assert_eq!(arguments_of(&answer), [r#"{"command":"ls","reason":"x"}"#]);
    assert_eq!((answer.verdict(), upstream.received().len()), ("repaired", 1));
}

/// Returns a request after a call with `arguments` that had this result.
fn after(arguments: &str, result: &str) -> Value {
    let mut request = chat(shell());
    let made = json!({"id": "call_0", "type": "function", "function": {"name": "bash", "arguments": arguments}});
    let messages = request["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [made]}));
    messages.push(json!({"role": "tool", "tool_call_id": "call_0", "content": result}));
    request
}

#[tokio::test]
async fn a_rejected_parameter_is_a_fault_if_its_value_fits_another() {
    let (odd, right) = (r#"{"command":"pwd","timeout_ms":5}"#, r#"{"command":"pwd","timeout":5}"#);
    let rejected = "Error: Unrecognized key(s) in object: 'timeout_ms'";
    let odd_then_right = || vec![one_call("bash", odd), one_call("bash", right)];
    let upstream = Server::replying([odd_then_right(), odd_then_right(), vec![one_call("bash", odd)]].concat()).await;
    let proxy = before(&upstream).await;
    // The result is in the conversation.
    let answer = proxy.client().chat(&after(odd, rejected)).await;
    assert_eq!((answer.verdict(), upstream.received().len()), ("corrected", 2));
    // It is remembered for the schema.
    let answer = proxy.client().chat(&chat(shell())).await;
    assert_eq!((answer.verdict(), upstream.received().len()), ("corrected", 4));
    // A later result shows that the tool takes the parameter.
    let answer = proxy.client().chat(&after(odd, "/home/user")).await;
    assert_eq!((answer.verdict(), upstream.received().len()), ("clean", 5));
}

#[tokio::test]
async fn policy_refuses_unknown_parameters_of_silent_schemas() {
    let upstream = Server::replying(vec![one_call("bash", RIGHT[0]), one_call("bash", r#"{"command":"ls"}"#)]).await;
    let config = config(&upstream.url("/v1")) + &policy::table("ruled");
    let rules = policy::file("ruled", "scan: {unknown_parameters: refuse}");
    let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", &rules)]).await;
    assert_eq!(proxy.client().chat(&chat(shell())).await.verdict(), "corrected");
    assert_eq!(upstream.received().len(), 2);
}
