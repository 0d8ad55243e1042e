//! Clean answers keep every byte, including members, parts and events that the proxy is not aware of.

use http::Method;
use serde_json::{Value, json};

use super::api::{APIS, Api, FIELDS, Part, call, text, thought};
use super::sse;
use crate::support::{Proxy, Reply, Server, config};

/// A request that no serialiser would write in this form.
const ODD_RESPONSES_REQUEST: &str = "{ \"model\" : \"gpt-test\",\n \"x_seed\": 123456789012345678901234567890, \"temperature\":1.10,\
    \"input\":[{\"role\":\"user\",\"content\":\"caf\\u00e9 \\/ ☕\",\"x_unknown\":null}, {\"type\":\"x_new\",\"v\":[ ]}],\
    \"tools\":[{\"type\":\"function\",\"name\":\"get_weather\",\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\
    \"days\":{\"type\":\"number\"}}}},{\"type\":\"web_search\",\"x\":1e0},{\"type\":\"x_tool\"}],\"include\":[\"reasoning.encrypted_content\"]}";

const ODD_RESPONSES_ANSWER: &str = "{\"x_first\":1.50, \"id\":\"resp_1\",\"object\":\"response\",\"created_at\":1.0,\"status\":\"completed\",\n\
    \"model\":\"m\",\"output\":[{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[ ],\"encrypted_content\":\"gA\\/A\",\"x\":[1e2]},\
    {\"type\":\"x_new_item\",\"id\":\"x_1\",\"data\":{ }},{\"id\":\"ws_1\",\"type\":\"web_search_call\",\"status\":\"completed\",\
    \"action\":{\"type\":\"search\",\"query\":\"q\"}},{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\",\
    \"content\":[{\"type\":\"output_text\",\"text\":\"\\u00e9\",\"annotations\":[],\"x_more\":{ }}]},{\"type\":\"function_call\",\"id\":\"fc_1\",\
    \"x_signature\":\"abc\",\"call_id\":\"call_1\",\"name\":\"get_weather\",\"arguments\":\"{ \\\"days\\\" : 2.50,\\\"city\\\":\\\"Li\\\\u00e8ge\\\"}\",\
    \"status\":\"completed\"}],\"usage\":{\"input_tokens\":1,\"output_tokens\":1,\"total_tokens\":2,\"x_cached\":123456789012345678901}}";

const ODD_MESSAGES_REQUEST: &str = "{ \"model\" : \"gpt-test\",\n \"max_tokens\": 1024, \"x_seed\": 123456789012345678901234567890,\
    \"system\":[{\"type\":\"text\",\"text\":\"caf\\u00e9\",\"cache_control\":{\"type\":\"ephemeral\"}}],\
    \"messages\":[{\"role\":\"user\",\"content\":\"\\/ ☕\",\"x_unknown\":null}],\"tools\":[{\"name\":\"get_weather\",\"input_schema\":\
    {\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":\"number\"}}},\"x\":1e0},\
    {\"type\":\"web_search_20250305\",\"name\":\"web_search\"},{\"type\":\"x_tool\"}],\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1000}}";

const ODD_MESSAGES_ANSWER: &str = "{\"x_first\":1.50, \"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\n\
    \"content\":[{\"type\":\"thinking\",\"thinking\":\"h\\/m\",\"signature\":\"EqQB\",\"x\":[1e2]},{\"type\":\"x_new_block\",\"data\":{ }},\
    {\"type\":\"server_tool_use\",\"id\":\"srvtoolu_1\",\"name\":\"web_search\",\"input\":{\"query\" : \"q\"}},\
    {\"type\":\"web_search_tool_result\",\"tool_use_id\":\"srvtoolu_1\",\"content\":[ ]},{\"type\":\"text\",\"text\":\"\\u00e9\",\"citations\":[ ]},\
    {\"type\":\"tool_use\",\"id\":\"toolu_1\",\"x_signature\":\"abc\",\"name\":\"get_weather\",\"input\":{ \"days\" : 2.50,\"city\":\"Li\\u00e8ge\"}}],\
    \"stop_reason\":\"tool_use\",\"stop_sequence\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1,\"x_cached\":123456789012345678901}}";

async fn proxy_of(upstream: &Server) -> Proxy {
    Proxy::start(config(&upstream.url("/v1"))).await
}

#[tokio::test]
async fn request_and_answer_keep_every_byte() {
    for (api, request, body) in [
        (Api::Responses, ODD_RESPONSES_REQUEST, ODD_RESPONSES_ANSWER),
        (Api::Messages, ODD_MESSAGES_REQUEST, ODD_MESSAGES_ANSWER),
    ] {
        let upstream = Server::always(Reply::body(200, &[("content-type", "application/json")], body)).await;
        let proxy = proxy_of(&upstream).await;
        let answer = proxy.client().send(Method::POST, api.path(), &FIELDS, request).await;
        assert_eq!((answer.text().as_str(), answer.verdict()), (body, "clean"));
        let received = upstream.only_request();
        assert_eq!((received.target.as_str(), received.text().as_str()), (api.path(), request));
        assert_eq!(received.header("anthropic-version"), Some("2023-06-01"));
    }
}

/// Returns the parts of a clean answer with parts of all kinds.
fn all_kinds(api: Api) -> Vec<Part> {
    let others = match api {
        Api::Responses => [
            json!({"type": "web_search_call", "id": "ws_2", "status": "completed", "action": {"type": "search", "query": "q"}}),
            json!({"type": "x_new_item", "id": "x_3", "data": {"b": 1, "a": []}}),
        ],
        Api::Messages => [
            json!({"type": "server_tool_use", "id": "srvtoolu_2", "name": "web_search", "input": {"query": "q"}}),
            json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_2", "content": [{"type": "web_search_result", "url": "https://a.example"}]}),
        ],
    };
    let [first, second] = others.map(Part::Other);
    let paris = r#"{"city":"Paris","days":2}"#;
    vec![
        thought("Rain?"),
        text("I look it up. "),
        first,
        second,
        text("One moment, 東京."),
        call("a", "get_weather", paris),
    ]
}

/// Returns the events of [`all_kinds`] with events and members that no reference has.
fn odd_events(api: Api) -> Vec<Value> {
    let mut events = api.events(&all_kinds(api));
    let unknown = match api {
        Api::Responses => json!({"type": "response.x_new.noted", "x": [1e2]}),
        Api::Messages => json!({"type": "x_noted", "x": [1e2]}),
    };
    events.insert(5, unknown);
    if api == Api::Responses {
        events = super::responses_api::numbered(events);
    }
    for event in &mut events {
        event["x_more"] = json!({"b": 1, "a": null});
    }
    events
}

#[tokio::test]
async fn a_stream_keeps_every_byte() {
    for api in APIS {
        let text_only = api.events(&[text("It rains in Paris and in Rome.")]);
        let cases = [
            (api.plain("Hello"), text_only.clone()),
            (api.with_tools("Hello"), text_only),
            (api.with_tools("All"), odd_events(api)),
        ];
        for (request, events) in cases {
            let sent = sse::bytes(&events);
            let upstream = Server::always(sse::cut(sent.as_bytes(), [])).await;
            let proxy = proxy_of(&upstream).await;
            let mut stream = api.stream(&proxy, &request).await;
            stream.rest().await;
            assert!(stream.header("content-type").is_some_and(|value| value.starts_with("text/event-stream")));
            assert_eq!(stream.raw(), sent, "{api:?}");
            api.assembled(&sse::events_of(&sent));
        }
    }
}

#[tokio::test]
async fn text_reaches_the_client_while_the_model_still_writes() {
    for api in APIS {
        let gate = crate::support::Gate::closed();
        let events = api.events(&[thought("Rain?"), text("It rains in Paris.")]);
        let is_text = |event: &Value| event.to_string().contains("\"Pari\"");
        let half = events.iter().position(is_text).unwrap() + 1;
        let rest = events[half..]
            .iter()
            .fold(sse::begun(&events[..half]).wait(&gate), |reply, event| reply.piece(sse::event(event)));
        let upstream = Server::always(rest.end()).await;
        let proxy = proxy_of(&upstream).await;
        let mut stream = api.stream(&proxy, &api.with_tools("Weather?")).await;
        stream.await_raw("\"Pari\"").await;
        gate.open();
        stream.rest().await;
        assert_eq!(stream.raw(), sse::bytes(&events));
    }
}

#[tokio::test]
async fn the_builders_and_the_checks_agree() {
    for api in APIS {
        let parts = all_kinds(api);
        assert_eq!(api.assembled(&api.events(&parts)), api.answer(&parts), "{api:?}");
    }
}

#[tokio::test]
async fn answers_carry_the_upstreams_fields_and_those_of_the_proxy() {
    let fields = [
        ("content-type", "application/json"),
        ("request-id", "req_42"),
        ("x-request-id", "req_43"),
        ("anthropic-ratelimit-requests-remaining", "9"),
        ("x-vendor", "kept"),
    ];
    for api in APIS {
        let body = api.answer(&[call("a", "getWeather", r#"{"city":"Paris"}"#)]).to_string();
        let upstream = Server::always(Reply::body(200, &fields, body)).await;
        let proxy = proxy_of(&upstream).await;
        let answer = api.send(&proxy, &api.with_tools("Weather?")).await;
        for (name, value) in fields {
            assert_eq!(answer.header(name), Some(value), "{api:?} {name}");
        }
        assert_eq!((answer.verdict(), answer.header("x-callwright-attempts")), ("repaired", Some("1")));
        assert!(answer.header("x-callwright-overhead-ms").unwrap().parse::<f64>().unwrap() >= 0.0);
        let trace = answer.header("x-callwright-trace").unwrap().to_owned();
        let report = api.send_with(&proxy, &api.with_tools("Weather?"), &[("x-callwright-debug", "true")]).await.ok();
        assert_eq!(report["callwright"]["verdict"], "repaired", "{report}");
        let stored = proxy.traces_after_stop().await;
        let stored = stored.iter().find(|stored| stored["id"] == trace.as_str()).unwrap();
        assert_eq!(stored["endpoint"], api.path());
        assert_eq!(stored["usage"]["prompt_tokens"], 20, "{stored:#}");
        assert_eq!(stored["usage"]["completion_tokens"], 5);
        assert_eq!(stored["usage"]["cached_tokens"], 4);
    }
}
