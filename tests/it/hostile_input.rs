//! The proxy responds to arbitrary content of clients, models and schemas, and continues to serve.

use crate::support::answer::{self, call, completion, one_call};
use crate::support::request::{plain, streamed, with_tools};
use crate::support::{Proxy, Reply, Server, config};
use http::Method;
use serde_json::{Value, json};

/// More levels than any unbounded recursion survives.
const LEVELS: usize = 100_000;

fn nested_arrays() -> String {
    "[".repeat(LEVELS) + &"]".repeat(LEVELS)
}

/// Returns `{"items":{"items": ... }}`, a schema of nested arrays.
fn nested_schema() -> String {
    "{\"type\":\"array\",\"items\":".repeat(LEVELS) + "{}" + &"}".repeat(LEVELS)
}

/// Sends the body and checks that the proxy still serves afterwards. Any valid response is accepted.
async fn survive(proxy: &Proxy, body: String) {
    let fields = [("content-type", "application/json")];
    let answer = proxy.client().send(Method::POST, "/v1/chat/completions", &fields, body).await;
    assert!(answer.status == 200 || answer.status.is_client_error() || answer.status == 502, "{}", answer.text());
    proxy.client().chat(&plain("Still there?")).await.ok();
}

#[tokio::test]
async fn nesting_without_end_in_a_request() {
    let upstream = Server::always(one_call("f", r#"{"x":[[[1]]]}"#)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let deep = nested_arrays();
    let with = |member: &str, value: &str| format!("{{\"model\":\"m\",\"messages\":[],\"{member}\":{value}}}");
    let tool = |parameters: &str| {
        format!("[{{\"type\":\"function\",\"function\":{{\"name\":\"f\",\"parameters\":{parameters}}}}}]")
    };
    survive(&proxy, format!("{{\"model\":\"m\",\"messages\":{deep}}}")).await;
    survive(&proxy, format!("{{\"model\":\"m\",\"messages\":[{{\"role\":\"user\",\"content\":{deep}}}]}}")).await;
    for member in ["tool_choice", "stream_options", "x_unknown", "functions", "tools", "response_format"] {
        survive(&proxy, with(member, &deep)).await;
    }
    for parameters in
        [&deep, &nested_schema(), &format!("{{\"type\":\"object\",\"properties\":{{\"x\":{}}}}}", nested_schema())]
    {
        survive(&proxy, with("tools", &tool(parameters))).await;
    }
}

#[tokio::test]
async fn nesting_without_end_in_an_answer() {
    let deep = nested_arrays();
    let object = format!("{{\"city\":{deep}}}");
    let message = |member: &str| {
        format!(
            "{{\"id\":\"x\",\"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"{member}\":{deep}}},\"finish_reason\":\"stop\"}}]}}"
        )
    };
    let json = |body: String| Reply::body(200, &[("content-type", "application/json")], body);
    let in_arguments = one_call("get_weather", &object);
    let in_stream = Reply::events(&answer::call_chunks(&[("a", "get_weather", &object[..40_000])]));
    let deep_chunk =
        Reply::stream().piece(format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"x\":{deep}}}}}]}}\n\n")).done();
    for (stream, reply) in [
        (false, json(message("content"))),
        (false, json(message("tool_calls"))),
        (false, json(message("x_unknown"))),
        (false, json(format!("{{\"choices\":[{deep}]}}"))),
        (false, in_arguments),
        (true, in_stream),
        (true, deep_chunk),
    ] {
        let upstream = Server::scripted(move |_, received| {
            if received.text().contains("Still there?") { answer::text("yes") } else { reply.clone() }
        })
        .await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let request = if stream { streamed(with_tools("Weather?")) } else { with_tools("Weather?") };
        survive(&proxy, request.to_string()).await;
    }
}

fn with_parameters(parameters: Value) -> Value {
    let mut request = plain("Do it");
    request["tools"] = json!([{"type": "function", "function": {"name": "f", "parameters": parameters}}]);
    request
}

#[tokio::test]
async fn schemas_that_are_broken_or_cruel() {
    let cycle = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
    let schemas = [
        cycle,
        json!({"$ref": "#"}),
        json!({"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1:1/schema.json"}}}),
        json!({"type": "object", "properties": {"x": {"$ref": "file:///etc/passwd"}}}),
        json!({"type": "object", "properties": {"x": {"type": "string", "pattern": "^(a+)+$"}}}),
        json!({"type": "object", "properties": {"x": {"type": "string", "pattern": "(?<=a)b(?!c)\\1"}}}),
        json!({"type": "object", "properties": {"x": {"type": "string", "pattern": "(x{1000}){1000}{1000}"}}}),
        json!({"type": "object", "properties": {"x": {"enum": []}}, "required": ["x", "x", 5]}),
        json!({"type": 5, "properties": [], "required": "x"}),
        json!(false),
        json!("schema"),
        json!([]),
        json!({"$schema": "http://no.example/draft", "type": "object"}),
        json!({"type": "object", "properties": {"": {"type": "string"}, "~1/~0": {"type": "string"}, "\u{0}": {}}, "required": [""]}),
    ];
    let cruel = json!({"x": "a".repeat(5_000) + "!"}).to_string();
    let upstream = Server::always(one_call("f", &cruel)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    for schema in schemas {
        survive(&proxy, with_parameters(schema).to_string()).await;
    }
}

/// Returns the arguments that the client receives for these, and the verdict.
async fn judged(parameters: Value, arguments: &str) -> (String, String) {
    let upstream = Server::always(one_call("f", arguments)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let answer = proxy.client().chat(&with_parameters(parameters)).await;
    let given = answer.message()["tool_calls"][0]["function"]["arguments"].as_str().unwrap().to_owned();
    (given, answer.verdict().to_owned())
}

#[tokio::test]
async fn enormous_schemas_judge_what_they_can() {
    let properties: serde_json::Map<String, Value> =
        (0..10_000).map(|number| (format!("p{number}"), json!({"type": "integer"}))).collect();
    let wide = json!({"type": "object", "properties": properties});
    let nested = |levels| (0..levels).fold(json!({"type": "integer"}), |inner, _| json!({"properties": {"a": inner}}));
    for (parameters, right, wrong) in
        [(wide, r#"{"p9999":1}"#, r#"{"p9999":"x"}"#), (nested(50), r#"{"a":{"a":{"a":{}}}}"#, r#"{"a":1}"#)]
    {
        assert_eq!(judged(parameters.clone(), right).await, (right.to_owned(), "clean".to_owned()));
        assert_eq!(judged(parameters, wrong).await, (wrong.to_owned(), "faulty".to_owned()));
    }
    // A schema nested beyond the limit of JSON parsers is ignored, and does not block calls.
    let arguments = r#"{"a":1}"#;
    assert_eq!(judged(nested(500), arguments).await, (arguments.to_owned(), "clean".to_owned()));
}

#[tokio::test]
async fn arguments_that_readers_take_differently_keep_their_bytes() {
    let parameters = json!({"type": "object", "properties": {"n": {"type": "integer"}, "t": {"type": "string"}}});
    for arguments in [
        r#"{"n": 9007199254740993}"#,
        r#"{"n": 18446744073709551616}"#,
        r#"{"t": 1, "t": "the last one counts"}"#,
        r#"{"t": "\ud83d\ude00"}"#,
    ] {
        assert_eq!(judged(parameters.clone(), arguments).await, (arguments.to_owned(), "clean".to_owned()));
    }
    for arguments in [r#"{"n": 1e400}"#, r#"{"t": "\ud83d"}"#] {
        assert_eq!(judged(parameters.clone(), arguments).await, (arguments.to_owned(), "unguarded".to_owned()));
    }
    let arguments = r#"{"t": "x", "t": 1}"#;
    assert_eq!(judged(parameters, arguments).await, (arguments.to_owned(), "faulty".to_owned()));
}

#[tokio::test]
async fn strings_that_are_no_unicode_and_numbers_that_are_no_doubles() {
    let upstream = Server::scripted(|_, received| {
        if !received.text().contains("tools") {
            return answer::text("yes");
        }
        let arguments = r#"{"city":"\\ud800","days":1e999,"unit":"\\u0000"}"#;
        let body = completion(
            json!({"role": "assistant", "content": null, "tool_calls": [call("a", "get_weather", "@")]}),
            "tool_calls",
        );
        Reply::body(
            200,
            &[("content-type", "application/json")],
            body.to_string().replace('@', &arguments.replace('"', "\\\"")),
        )
    })
    .await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let request = with_tools("@").to_string();
    for text in [r"\ud800", r"\udc00\ud800", r"\u0000", "\u{202e}\u{feff}"] {
        survive(&proxy, request.replace('@', text)).await;
        survive(&proxy, request.replace("get_weather", text)).await;
        survive(&proxy, request.replace("gpt-test", text)).await;
    }
    for number in ["1e999", "-0", "123456789012345678901234567890", "0.1e-400"] {
        survive(
            &proxy,
            request
                .replace("\"model\"", &format!("\"seed\":{number},\"n\":{number},\"max_tokens\":{number},\"model\"")),
        )
        .await;
    }
}

#[tokio::test]
async fn more_of_everything_than_is_sensible() {
    let many_calls: Vec<Value> = (0..500).map(|number| call(&format!("c{number}"), "get_weather", "{}")).collect();
    let upstream = Server::scripted(move |_, received| match received.tool_names().len() {
        0 => answer::text("yes"),
        2 => answer::calls(&many_calls),
        _ => one_call("tool_2001", "{}"),
    })
    .await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    survive(&proxy, with_tools("Weather?").to_string()).await;
    let mut request = plain("Hello");
    let tool = |number: usize| json!({"type": "function", "function": {"name": format!("tool_{number}"), "parameters": {"type": "object"}}});
    request["tools"] = (0..2_000).map(tool).collect();
    survive(&proxy, request.to_string()).await;
    let mut request = with_tools("Weather?");
    request["tools"][0]["function"]["name"] = json!("n".repeat(100_000));
    survive(&proxy, request.to_string()).await;
}

/// Unfinished beginnings of calls, marks and fences.
const BEGINNINGS: [&str; 12] = [
    "[",
    "{\"name\": \"get_weather\", \"arguments\": {\n",
    "get_weather(",
    "get_weather(city=\"Oslo\")\n",
    "<tool_call>",
    "<tool_call>{\"name\": \"",
    "[TOOL_CALLS][",
    "<function=get_weather>",
    "<invoke name=\"get_weather\"><parameter name=\"city\">",
    "<|python_tag|>get_weather(",
    "```json\n{\n",
    "<think>",
];

/// Size of a text in bytes, sufficient to make superlinear time noticeable.
const TEXT_BYTES: usize = 200_000;

#[tokio::test]
async fn texts_that_begin_calls_without_end() {
    for beginning in BEGINNINGS {
        let text = beginning.repeat(TEXT_BYTES / beginning.len());
        let pieces: Vec<String> =
            text.as_bytes().chunks(4_001).map(|piece| String::from_utf8_lossy(piece).into()).collect();
        let chunks: Vec<Value> = pieces.iter().map(|piece| answer::chunk(json!({ "content": piece }))).collect();
        let in_stream = Reply::events(&[chunks, vec![answer::finish("stop")]].concat());
        for (stream, reply) in [(false, answer::text(&text)), (true, in_stream)] {
            let upstream = Server::scripted(move |_, received| {
                if received.text().contains("Still there?") { answer::text("yes") } else { reply.clone() }
            })
            .await;
            let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
            let request = if stream { streamed(with_tools("Weather?")) } else { with_tools("Weather?") };
            survive(&proxy, request.to_string()).await;
        }
    }
}

#[tokio::test]
async fn schemas_that_are_large_and_arguments_that_are_odd() {
    let properties: serde_json::Map<String, Value> =
        (0..10_000).map(|number| (format!("p{number}"), json!({ "type": "integer" }))).collect();
    let large = json!({ "type": "object", "properties": properties, "required": ["p1", "p9999"] });
    let deep = (0..500)
        .fold(json!({ "type": "integer" }), |inner, _| json!({ "type": "object", "properties": { "p1": inner } }));
    for arguments in [
        "{\"p1\":9007199254740993,\"p9999\":123456789012345678901234567890}",
        "{\"p1\":1,\"p1\":\"2\",\"p1\":{\"p1\":3},\"P9999\":\"4\"}",
        "{\"p1\":1e999,\"q\":-0.0}",
        &format!("{{\"p1\":{}1{}}}", "{\"p1\":".repeat(100), "}".repeat(100)),
        &format!("{{{}}}", (0..20_000).map(|number| format!("\"q{number}\":{number}")).collect::<Vec<_>>().join(",")),
    ] {
        let upstream = Server::always(one_call("f", arguments)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        for schema in [&large, &deep] {
            survive(&proxy, with_parameters(schema.clone()).to_string()).await;
        }
    }
}

#[tokio::test]
async fn requests_that_are_no_http() {
    let upstream = Server::always(answer::text("yes")).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    for bytes in [
        &b"GARBAGE\r\n\r\n"[..],
        b"GET /v1/models HTTP/9.9\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}",
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999\r\nconnection: close\r\n\r\n{}",
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ] {
        let socket = proxy.client().raw(bytes);
        // Some of these wait for more input. Only the next request matters.
        let _ = tokio::time::timeout(std::time::Duration::from_millis(200), socket).await;
        proxy.client().chat(&plain("Still there?")).await.ok();
    }
}
