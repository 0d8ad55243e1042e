//! Objects that keys store in the provider's account: each key may name only its own, in every protocol and on every replica.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use callwright_test_macros::requires;
use reqwest::Method;
use serde_json::{Value, json};

use super::{JSON, Key, configuration, configuration_with_store, draft};
use crate::support::postgres::{self, Postgres};
use crate::support::{Answer, GUARD, POLL, Proxy, Received, Reply, Server};

/// Paths that the keys of these tests may pass through.
const OPEN: [&str; 11] = [
    "responses", "files", "batches", "conversations", "vector_stores", "containers", "threads", "uploads",
    "messages/count_tokens", "messages/batches", "chat/completions",
];

/// Creates a provider that creates objects with consecutive ids, lists all of one collection, and accepts everything.
async fn provider() -> Server {
    let created: Mutex<BTreeMap<String, Vec<String>>> = Mutex::default();
    Server::scripted(move |number, received| {
        let path = received.target.split('?').next().unwrap().to_owned();
        let mut created = created.lock().unwrap();
        let collection = path.trim_start_matches("/v1/").to_owned();
        if received.method == "GET" {
            let ids = created.get(&collection).cloned().unwrap_or_default();
            let is_list = created.contains_key(&collection);
            return if is_list { listed(received, &ids) } else { Reply::json(200, &json!({"id": last(&path)})) };
        }
        if received.method == "DELETE" {
            return Reply::json(200, &json!({"id": last(&path), "deleted": true}));
        }
        let id = format!("{}_{number}", collection.replace('/', "_"));
        created.entry(collection.clone()).or_default().push(id.clone());
        created_object(&collection, &id, number, received)
    })
    .await
}

fn created_object(collection: &str, id: &str, number: usize, received: &Received) -> Reply {
    match collection {
        "responses" => response(id, number, received),
        "messages" => Reply::json(
            200,
            &json!({"id": id, "type": "message", "role": "assistant", "model": "gpt-test", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "hi"}], "container": {"id": format!("container_{number}")},
                "usage": {"input_tokens": 1, "output_tokens": 1}}),
        ),
        "chat/completions" => {
            let message = json!({"role": "assistant", "content": "hi", "audio": {"id": format!("audio_{number}")}});
            let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
            Reply::json(200, &json!({"id": id, "object": "chat.completion", "model": "gpt-test", "choices": [choice]}))
        }
        "batches" => Reply::json(200, &json!({"id": id, "output_file_id": format!("file-out{number}")})),
        _ => Reply::json(200, &json!({"id": id, "metadata": {"file_id": "file-of-nobody"}})),
    }
}

/// Returns a response, streamed on request, with an item and a container of its own.
fn response(id: &str, number: usize, received: &Received) -> Reply {
    let item = json!({"id": format!("msg_{number}"), "type": "message", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "text": "hi", "annotations": []}]});
    let code = json!({"id": format!("ci_{number}"), "type": "code_interpreter_call", "status": "completed", "code": "1",
        "container_id": format!("cntr_{number}"), "outputs": null});
    let whole = |status: &str, output: Vec<&Value>| {
        json!({"id": id, "object": "response", "status": status, "model": "gpt-test", "output": output,
            "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}})
    };
    if received.json()["stream"] != true {
        return Reply::json(200, &whole("completed", vec![&code, &item]));
    }
    let mut events = vec![json!({"type": "response.created", "response": whole("in_progress", vec![])})];
    for (index, item) in [&code, &item].into_iter().enumerate() {
        for kind in ["response.output_item.added", "response.output_item.done"] {
            events.push(json!({"type": kind, "output_index": index, "item": item}));
        }
    }
    events.push(json!({"type": "response.completed", "response": whole("completed", vec![&code, &item])}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    events.iter().fold(Reply::stream(), |reply, event| reply.event(event)).end()
}

/// Returns a page of at most two entries.
fn listed(received: &Received, ids: &[String]) -> Reply {
    let after = received.target.split("after=").nth(1);
    let start = after.and_then(|after| ids.iter().position(|id| id == after)).map_or(0, |at| at + 1);
    let page: Vec<Value> = ids[start..].iter().take(2).map(|id| json!({"id": id, "object": "thing"})).collect();
    let has_more = start + page.len() < ids.len();
    Reply::json(200, &json!({"object": "list", "data": page, "last_id": null, "has_more": has_more}))
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

async fn send(proxy: &Proxy, key: &Key, method: Method, path: &str, body: &Value) -> Answer {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    proxy.client().send(method, path, &[JSON, key.field()], body).await
}

async fn create(proxy: &Proxy, key: &Key, path: &str) -> String {
    let body = json!({"model": "gpt-test", "input": "hi", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9,
        "store": true});
    send(proxy, key, Method::POST, path, &body).await.ok()["id"].as_str().unwrap().to_owned()
}

/// A request that names an object: method, path and body with `ID`, the path that creates the object, and the status of
/// the answer if it does not exist.
struct Naming(&'static str, &'static str, Value, &'static str, u16);

fn namings() -> Vec<Naming> {
    let responses = |members: Value| with(json!({"model": "gpt-test", "input": "hi"}), members);
    let chat = |content: Value| json!({"model": "gpt-test", "messages": [{"role": "user", "content": [content]}]});
    let messages = |members: Value| {
        with(json!({"model": "gpt-test", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}), members)
    };
    let block = |block: Value| messages(json!({"messages": [{"role": "user", "content": [block]}]}));
    let tool = |tool: Value| responses(json!({"tools": [tool]}));
    let part = |part: Value| responses(json!({"input": [{"role": "user", "content": [part]}]}));
    let file = json!({"type": "document", "source": {"type": "file", "file_id": "ID"}});
    let post = |path, body, made, status| Naming("POST", path, body, made, status);
    let path = |method, path, made| Naming(method, path, Value::Null, made, 404);
    vec![
        post("/v1/responses", responses(json!({"previous_response_id": "ID"})), "/v1/responses", 400),
        post("/v1/responses", responses(json!({"previous_response_id": "ID", "stream": true})), "/v1/responses", 400),
        post("/v1/responses", responses(json!({"conversation": "ID"})), "/v1/conversations", 404),
        post("/v1/responses", responses(json!({"conversation": {"id": "ID"}})), "/v1/conversations", 404),
        post("/v1/responses", part(json!({"type": "input_file", "file_id": "ID"})), "/v1/files", 404),
        post("/v1/responses", part(json!({"type": "input_image", "file_id": "ID"})), "/v1/files", 404),
        post(
            "/v1/responses",
            tool(json!({"type": "file_search", "vector_store_ids": ["ID"]})),
            "/v1/vector_stores",
            404,
        ),
        post("/v1/responses", tool(json!({"type": "code_interpreter", "container": "ID"})), "/v1/containers", 404),
        post(
            "/v1/responses",
            tool(json!({"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["ID"]}})),
            "/v1/files",
            404,
        ),
        post("/v1/responses/input_tokens", responses(json!({"previous_response_id": "ID"})), "/v1/responses", 400),
        post("/v1/responses/compact", responses(json!({"previous_response_id": "ID"})), "/v1/responses", 400),
        post("/v1/chat/completions", chat(json!({"type": "file", "file": {"file_id": "ID"}})), "/v1/files", 404),
        post("/openai/v1/chat/completions", chat(json!({"type": "file", "file": {"file_id": "ID"}})), "/v1/files", 404),
        post("/v1/messages", block(file.clone()), "/v1/files", 404),
        post("/v1/messages", block(json!({"type": "container_upload", "file_id": "ID"})), "/v1/files", 404),
        post(
            "/v1/messages",
            block(json!({"type": "tool_result", "tool_use_id": "t", "content": [file.clone()]})),
            "/v1/files",
            404,
        ),
        post("/v1/messages", messages(json!({"container": "ID"})), "/v1/containers", 404),
        post("/v1/messages", messages(json!({"container": {"id": "ID"}})), "/v1/containers", 404),
        post("/v1/messages", messages(json!({"thread": {"type": "continue", "id": "ID"}})), "/v1/threads", 404),
        post("/v1/messages/count_tokens", block(file.clone()), "/v1/files", 404),
        post("/v1/messages/batches", json!({"requests": [{"params": block(file)}]}), "/v1/files", 404),
        post("/v1/batches", json!({"input_file_id": "ID", "endpoint": "/v1/responses"}), "/v1/files", 404),
        post("/v1/vector_stores", json!({"file_ids": ["ID"]}), "/v1/files", 404),
        post("/v1/conversations", json!({"items": [{"type": "item_reference", "id": "ID"}]}), "/v1/files", 404),
        path("GET", "/v1/responses/ID", "/v1/responses"),
        path("GET", "/v1/responses/ID/input_items", "/v1/responses"),
        path("POST", "/v1/responses/ID/cancel", "/v1/responses"),
        path("GET", "/v1/conversations/ID/items", "/v1/conversations"),
        path("GET", "/v1/files/ID/content", "/v1/files"),
        path("GET", "/openai/v1/files/ID", "/v1/files"),
        path("GET", "/v1/./%66iles/ID", "/v1/files"),
        path("GET", "/v1/batches/ID", "/v1/batches"),
        path("GET", "/v1/vector_stores/ID/files", "/v1/vector_stores"),
        path("GET", "/v1/containers/ID/files", "/v1/containers"),
        path("GET", "/v1/threads/ID/messages", "/v1/threads"),
        path("GET", "/v1/chat/completions/ID", "/v1/chat/completions"),
        path("DELETE", "/v1/files/ID", "/v1/files"),
        path("DELETE", "/v1/responses/ID", "/v1/responses"),
    ]
}

fn with(mut body: Value, members: Value) -> Value {
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    body
}

/// Creates two keys that may use all paths.
async fn keys(proxy: &Proxy) -> [Key; 2] {
    let open = || json!({"pass_through": OPEN});
    [Key::create(proxy, draft("ada", open())).await, Key::create(proxy, draft("bob", open())).await]
}

/// Sends each request of the table with an own, a foreign and an unknown id. Objects are created at `one` and named at
/// `other`.
async fn check_table(upstream: &Server, one: &Proxy, other: &Proxy) {
    let [ada, bob] = keys(one).await;
    arrived(other, &bob).await;
    for Naming(method, path, body, made, status) in namings() {
        let object = create(one, &ada, made).await;
        let asked = async |key: &Key, id: &str| {
            let path = path.replace("ID", id);
            let body: Value = serde_json::from_str(&body.to_string().replace("ID", id)).unwrap();
            upstream.take_received();
            let answer = send(other, key, method.parse().unwrap(), &path, &body).await;
            // A batch's input file is read first.
            let is_input = |received: &Received| path == "/v1/batches" && received.target.ends_with("/content");
            let received = upstream.take_received();
            (answer, received.iter().filter(|received| !is_input(received)).count())
        };
        let what = format!("{method} {path} {body}");
        let (foreign, arrivals) = asked(&bob, &object).await;
        assert_eq!((foreign.status.as_u16(), arrivals), (status, 0), "{what}: {}", foreign.text());
        let (unknown, arrivals) = asked(&bob, "x-unknown").await;
        assert_eq!((unknown.status.as_u16(), arrivals), (status, 0), "{what}: {}", unknown.text());
        assert_eq!(foreign.text().replace(&object, "x-unknown"), unknown.text(), "{what}");
        let (own, arrivals) = asked(&ada, &object).await;
        assert_eq!((own.status.as_u16(), arrivals), (200, 1), "{what}: {}", own.text());
    }
}

/// Lines of a batch, `ID` for the object that one of them names.
const INPUTS: [(&str, u16); 5] = [
    (r#"{"custom_id":"a","url":"/v1/responses","body":{"input":"hi","previous_response_id":"ID"}}"#, 400),
    (r#"{"body":{"input":[{"role":"user","content":[{"type":"input_file","file_id":"ID"}]}]}}"#, 404),
    (r#"{"body":{"input":"hi","conversation":"ID"}}"#, 404),
    (r#"{"body":{"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"ID"}}]}]}}"#, 404),
    (r#"{"body":"#, 400),
];

#[tokio::test]
async fn lines_of_a_batch_name_only_own_objects() {
    let input: Arc<Mutex<Option<String>>> = Arc::default();
    let served = Arc::clone(&input);
    let upstream = Server::scripted(move |number, received| {
        let path = received.target.trim_start_matches("/v1/").replace('/', "_");
        match served.lock().unwrap().as_deref() {
            Some(lines) if received.method == "GET" => {
                Reply::body(200, &[("content-type", "text/plain")], lines.to_owned())
            }
            None if received.method == "GET" => Reply::json(404, &json!({"error": {"message": "no such file"}})),
            _ => Reply::json(200, &json!({"id": format!("{path}_{number}")})),
        }
    })
    .await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let [ada, bob] = keys(&proxy).await;
    let files = [create(&proxy, &ada, "/v1/files").await, create(&proxy, &bob, "/v1/files").await];
    let object = create(&proxy, &ada, "/v1/files").await;
    let batch = async |key: &Key, file: &str| {
        upstream.take_received();
        let body = json!({"input_file_id": file, "endpoint": "/v1/responses"});
        let answer = send(&proxy, key, Method::POST, "/v1/batches", &body).await;
        let created = upstream.take_received().iter().filter(|received| received.method == "POST").count();
        (answer.status.as_u16(), created)
    };
    assert_eq!(batch(&ada, &files[0]).await, (502, 0));
    for (line, status) in INPUTS {
        let filler = format!("{}\n", json!({"body": {"input": "x".repeat(500)}}));
        let lines = [filler.repeat(1_000), line.replace("ID", &object), format!("\n\n{filler}")].concat();
        *input.lock().unwrap() = Some(lines);
        let is_broken = !line.contains("ID");
        let own = if is_broken { (400, 0) } else { (200, 1) };
        assert_eq!((batch(&ada, &files[0]).await, batch(&bob, &files[1]).await), (own, (status, 0)), "{line}");
    }
}

/// Waits until a proxy has a key.
async fn arrived(proxy: &Proxy, key: &Key) {
    let known = async {
        while send(proxy, key, Method::GET, "/v1/models", &Value::Null).await.status == 401 {
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(GUARD, known).await.unwrap();
}

#[tokio::test]
async fn a_key_may_name_only_its_own_objects() {
    let upstream = provider().await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    check_table(&upstream, &proxy, &proxy).await;
    assert!(proxy.metrics().await.sum("key_requests_total", &[("result", "refused_object")]) > 50.0);
}

#[requires(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_has_the_objects_of_another() {
    let (url, upstream) = (postgres::database(), provider().await);
    let start = async || Proxy::start(configuration_with_store(&upstream, &url, "", "")).await;
    let (one, other) = (start().await, start().await);
    check_table(&upstream, &one, &other).await;
}

#[tokio::test]
async fn what_an_answer_hands_out_is_the_keys_own() {
    let upstream = provider().await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let [ada, bob] = keys(&proxy).await;
    for is_stream in [false, true] {
        let body = json!({"model": "gpt-test", "input": "hi", "stream": is_stream});
        let answer = send(&proxy, &ada, Method::POST, "/v1/responses", &body).await;
        assert_eq!(answer.status, 200);
        let number = answer.text().split("msg_").nth(1).unwrap().split('"').next().unwrap().to_owned();
        for item in [
            json!({"input": [{"type": "item_reference", "id": format!("msg_{number}")}]}),
            json!({"input": [{"id": format!("ci_{number}")}]}),
            json!({"input": "hi", "tools": [{"type": "code_interpreter", "container": format!("cntr_{number}")}]}),
            json!({"input": "hi", "previous_response_id": format!("responses_{number}")}),
        ] {
            let body = with(json!({"model": "gpt-test"}), item);
            let [foreign, own] = [&bob, &ada].map(|key| send(&proxy, key, Method::POST, "/v1/responses", &body));
            let foreign = foreign.await;
            assert!(matches!(foreign.status.as_u16(), 400 | 404), "{body}: {}", foreign.text());
            assert_eq!(own.await.status, 200, "{body}");
        }
        // A copy of an item has its content, and may have any id but that of another key's item.
        let copied = |id: &str| json!({"model": "gpt-test", "input": [{"type": "message", "id": id, "role": "user", "content": "hi"}]});
        let foreign = send(&proxy, &bob, Method::POST, "/v1/responses", &copied(&format!("msg_{number}"))).await;
        assert_eq!(foreign.error(404)["param"], "input");
        assert_eq!(send(&proxy, &bob, Method::POST, "/v1/responses", &copied("msg_made_up")).await.status, 200);
    }
    let message = json!({"model": "gpt-test", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]});
    let container = send(&proxy, &ada, Method::POST, "/v1/messages", &message).await.ok()["container"]["id"].clone();
    let next = with(message, json!({"container": container}));
    assert_eq!(send(&proxy, &ada, Method::POST, "/v1/messages", &next).await.status, 200);
    let refused = send(&proxy, &bob, Method::POST, "/v1/messages", &next).await;
    assert_eq!((refused.status.as_u16(), refused.json()["error"]["type"].as_str()), (404, Some("not_found_error")));
    // What the client wrote itself, and what the answer repeats, belongs to no one.
    create(&proxy, &ada, "/v1/conversations").await;
    assert_eq!(send(&proxy, &ada, Method::GET, "/v1/files/file-of-nobody", &Value::Null).await.status, 404);
    // An object that was deleted through the proxy has no owner.
    let file = create(&proxy, &ada, "/v1/files").await;
    send(&proxy, &ada, Method::DELETE, &format!("/v1/files/{file}"), &Value::Null).await.ok();
}

#[tokio::test]
async fn lists_have_the_keys_own_objects() {
    let upstream = provider().await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let [ada, bob] = keys(&proxy).await;
    let mut own = Vec::new();
    for key in [&ada, &bob, &bob, &bob, &ada, &bob, &ada] {
        let file = create(&proxy, key, "/v1/files").await;
        if std::ptr::eq(key, &raw const ada) {
            own.push(file);
        }
    }
    let listed = async |query: &str| {
        let list = send(&proxy, &ada, Method::GET, &format!("/v1/files{query}"), &Value::Null).await.ok();
        let ids = list["data"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned());
        (ids.collect::<Vec<_>>(), list["has_more"].as_bool().unwrap())
    };
    assert_eq!(listed("").await, (own[..2].to_vec(), true), "the page is filled from the provider's next ones");
    assert_eq!(listed(&format!("?after={}", own[1])).await, (own[2..].to_vec(), false));
}

#[tokio::test]
async fn bodies_that_cannot_be_searched_are_refused() {
    let upstream = provider().await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let [ada, bob] = keys(&proxy).await;
    let (file, container) = (create(&proxy, &ada, "/v1/files").await, create(&proxy, &bob, "/v1/containers").await);
    let path = format!("/v1/containers/{container}/files");
    let named = json!({"file_id": file}).to_string();
    let form = format!("--x\r\ncontent-disposition: form-data; name=\"file_id\"\r\n\r\n{file}\r\n--x--\r\n");
    let utf16: Vec<u8> = named.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let deep = format!("{{\"a\":{}{named}{}}}", "[".repeat(500), "]".repeat(500));
    for (kind, encoding, body, status) in [
        ("application/json", "identity", named.clone().into_bytes(), 404),
        ("text/plain", "identity", named.clone().into_bytes(), 404),
        ("multipart/form-data; boundary=x", "identity", form.clone().into_bytes(), 404),
        ("multipart/form-data; boundary=x", "gzip", form.into_bytes(), 415),
        ("multipart/form-data", "identity", named.clone().into_bytes(), 400),
        ("application/json; charset=utf-16", "identity", utf16, 400),
        ("application/json", "identity", deep.into_bytes(), 400),
        ("application/json", "gzip", named.into_bytes(), 415),
    ] {
        upstream.take_received();
        let headers = [("content-type", kind), ("content-encoding", encoding), bob.field()];
        let answer = proxy.client().send(Method::POST, &path, &headers, body).await;
        assert_eq!(answer.status.as_u16(), status, "{kind} {encoding}: {}", answer.text());
        assert!(upstream.received().is_empty());
    }
    let upload =
        "--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n{\"file_id\"\r\n--x--\r\n";
    let headers = [("content-type", "multipart/form-data; boundary=x"), bob.field()];
    for path in ["/v1/files", path.as_str()] {
        assert_eq!(proxy.client().send(Method::POST, path, &headers, upload).await.status, 200, "{path}");
        assert_eq!(upstream.last_request().text(), upload);
    }
}

#[tokio::test]
async fn the_configuration_shares_objects_and_allows_unknown_ones() {
    let upstream = provider().await;
    let keys = "unknown_objects = \"allow\"\nobject_owner = \"group\"";
    let proxy = Proxy::start(configuration(&upstream, keys, "")).await;
    let of_group = |name, group| draft(name, json!({"pass_through": OPEN, "group": group}));
    let ada = Key::create(&proxy, of_group("ada", "team")).await;
    let bob = Key::create(&proxy, of_group("bob", "team")).await;
    let eve = Key::create(&proxy, of_group("eve", "")).await;
    let file = create(&proxy, &ada, "/v1/files").await;
    let status = async |key: &Key, method: Method, id: &str| {
        send(&proxy, key, method, &format!("/v1/files/{id}"), &Value::Null).await.status.as_u16()
    };
    assert_eq!([status(&bob, Method::GET, &file).await, status(&eve, Method::GET, &file).await], [200, 404]);
    assert_eq!(status(&eve, Method::GET, "file-old").await, 200);
    assert_eq!(status(&ada, Method::GET, "file-old").await, 200, "naming an object makes no one its owner");

    let proxy = Proxy::start(configuration(&upstream, "shared_objects = [\"connector_*\", \"file-s*\"]", "")).await;
    let ada = Key::create(&proxy, of_group("ada", "")).await;
    let body =
        json!({"model": "gpt-test", "input": "hi", "tools": [{"type": "mcp", "connector_id": "connector_gmail"}]});
    assert_eq!(send(&proxy, &ada, Method::POST, "/v1/responses", &body).await.status, 200);
    let status = async |method: Method, id: &str| {
        send(&proxy, &ada, method, &format!("/v1/files/{id}"), &Value::Null).await.status.as_u16()
    };
    assert_eq!([status(Method::GET, "file-s1").await, status(Method::DELETE, "file-s1").await], [200, 404]);
    let invalid = Proxy::refusal(&configuration(&upstream, "shared_objects = [\"[\"]", "")).await;
    assert!(invalid.contains("keys.shared_objects"), "{invalid}");
}

#[requires(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn without_the_store_a_key_uses_objects_of_known_owners() {
    let mut server = Postgres::start();
    let upstream = provider().await;
    let start = async || Proxy::start(configuration_with_store(&upstream, &server.database(), "", "")).await;
    let proxy = start().await;
    let [ada, _] = keys(&proxy).await;
    let file = create(&proxy, &ada, "/v1/files").await;
    server.stop();
    let status = async |id: &str| {
        send(&proxy, &ada, Method::GET, &format!("/v1/files/{id}"), &Value::Null).await.status.as_u16()
    };
    assert_eq!([status(&file).await, status("file-other").await], [200, 503]);
    let unwritten = create(&proxy, &ada, "/v1/files").await;
    assert_eq!(status(&unwritten).await, 200);
    server.start_again();
    let stored = async {
        while status("file-other").await == 503 {
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(GUARD, stored).await.unwrap();
    assert_eq!([status(&unwritten).await, status("file-other").await], [200, 404]);
}
