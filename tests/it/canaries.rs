//! Secrets do not leak: the operator's keys, the client's key, a tool's credential, an argument marked as secret in its
//! document and the collector's token are sent through every path, then searched in all output, stored data and
//! requests of the proxy.

use std::path::Path;

use crate::support::answer::{self, call_chunks, one_call, role};
use crate::support::collector::Collector;
use crate::support::request::{plain, streamed};
use crate::support::verb::Folder;
use crate::support::{Answer, Client, POLL, Proxy, Received, Reply, Server, config, guarded, policy};
use http::Method;
use serde_json::{Value, json};

/// The operator's key for the provider.
const UPSTREAM_KEY: &str = "sk-canary-upstream-0123456789";
/// A further header field for the provider.
const UPSTREAM_FIELD: &str = "canary-upstream-field-0123456789";
/// The client's key; the provider receives the operator's key instead.
const CLIENT_KEY: &str = "sk-canary-client-0123456789";
/// The credential of the tool's API.
const CREDENTIAL: &str = "canary-credential-0123456789";
/// A call argument that the document marks as secret.
const ARGUMENT: &str = "canary-argument-0123456789";
/// The token of the collector.
const TOKEN: &str = "canary-token-0123456789";
const ALL: [&str; 6] = [UPSTREAM_KEY, UPSTREAM_FIELD, CLIENT_KEY, CREDENTIAL, ARGUMENT, TOKEN];

const DOCUMENT: &str = r#"
openapi: 3.0.3
info: {title: Doors, version: "1"}
servers: [{url: "http://127.0.0.1:1"}]
paths:
  /doors/{door}/unlock:
    post:
      operationId: unlockDoor
      summary: Unlocks a door.
      description: Unlocks a door with its code. Code 4711 means that the door is jammed.
      parameters:
        - {name: door, in: path, required: true, schema: {type: string}}
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [code]
              properties:
                code: {type: string, format: password, minLength: 12, description: The code of the door.}
      responses: {"200": {description: Unlocked.}, "409": {description: The door is jammed.}}
  /doors/{door}:
    delete:
      operationId: removeDoor
      summary: Removes a door.
      parameters:
        - {name: door, in: path, required: true, schema: {type: string}}
        - {name: code, in: query, required: true, schema: {type: string, format: password}}
      responses: {"200": {description: Removed.}}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Api-Key}
security: [{key: []}]
"#;

const RULES: &str = "mode: guard\nrecord: {bodies: true}\nexecute:\n  rules:\n    - {methods: [POST], permission: allow}\n    \
     - {methods: [DELETE], permission: approve}\n  approval: {mode: notice}";

/// Returns the whole content of a request, which a careless server repeats.
fn told(received: &Received) -> String {
    let fields: Vec<String> = received.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    format!("{} {} {} {}", received.method, received.target, fields.join(", "), received.text())
}

/// Returns a careless error of a provider.
fn careless(status: u16, received: &Received) -> Reply {
    let key = received.header("authorization").unwrap_or_default().to_owned();
    let field = received.header("x-extra").unwrap_or_default().to_owned();
    let message = format!("Incorrect API key provided: {key} ({field})");
    let body = json!({"error": {"message": message, "type": "invalid_request_error", "code": "invalid_api_key"}});
    let fields = [("content-type", "application/json"), ("x-echo", key.as_str()), ("x-request-id", "r1")];
    Reply::body(status, &fields, body.to_string())
}

/// A model whose behaviour the user's message selects.
fn model(_: usize, received: &Received) -> Reply {
    if received.target != "/v1/chat/completions" {
        return careless(if received.target.contains("models") { 403 } else { 401 }, received);
    }
    let (messages, is_stream) = (received.messages(), received.json()["stream"] == true);
    let user = messages.iter().rposition(|message| message["role"] == "user").unwrap();
    let wish = messages[user]["content"].as_str().unwrap_or_default().to_owned();
    let rounds = messages[user..].iter().filter(|message| message["role"] == "tool").count();
    let calls = |name: &str, arguments: &Value| match is_stream {
        true => Reply::events(&call_chunks(&[("c1", name, &arguments.to_string())])),
        false => one_call(name, &arguments.to_string()),
    };
    let unlock = |door: &str| calls("unlockDoor", &json!({"door": door, "code": ARGUMENT}));
    match rounds {
        0 if wish.contains("jammed") => unlock("jammed"),
        0 if wish.contains("unlock") => unlock("front"),
        // Misspelt and of the wrong type: repaired and recorded.
        0 if wish.contains("repair") => calls("unlock_door", &json!({"Door": "front", "code": ARGUMENT})),
        // Faulty: sent back with feedback.
        0 if wish.contains("fault") => calls("unlockDoor", &json!({"code": ARGUMENT, "door": null})),
        1 if wish.contains("fault") => unlock("front"),
        0 if wish.contains("remove") => calls("removeDoor", &json!({"door": "front", "code": ARGUMENT})),
        0 if wish.contains("own tool") => calls("login", &json!({"user": "me", "pass": ARGUMENT})),
        _ if wish.contains("refused") => careless(401, received),
        _ if wish.contains("overloaded") => careless(503, received),
        _ if wish.contains("broken") => Reply::raw(format!("HTTP/1.1 200 OK\r\n{}\r\n", told(received))),
        _ if wish.contains("no JSON") => Reply::body(200, &[("content-type", "application/json")], told(received)),
        _ if wish.contains("reset") => Reply::reset(),
        _ if wish.contains("error event") => {
            let key = received.header("authorization").unwrap_or_default();
            Reply::stream().event(&role()).event(&json!({"error": {"message": key, "type": "server_error"}})).done()
        }
        _ if is_stream => Reply::events(&answer::text_chunks("All is done.")),
        _ => answer::text("All is done."),
    }
}

/// An API that repeats its input, also in errors.
fn api(_: usize, received: &Received) -> Reply {
    let status = if received.target.contains("jammed") { 409 } else { 200 };
    Reply::json(status, &json!({"code": 4711, "echo": told(received)}))
}

/// Findings of the search.
#[derive(Default)]
struct Sweep {
    looked_at: usize,
    found: Vec<String>,
}

impl Sweep {
    /// Searches `text` for all secrets except those that belong there.
    fn look(&mut self, place: &str, text: impl AsRef<[u8]>, belong: &[&str]) {
        let text = text.as_ref();
        assert!(!text.is_empty(), "nothing to look at: {place}");
        self.looked_at += 1;
        for secret in ALL.iter().filter(|secret| !belong.contains(secret)) {
            if let Some(at) = memchr::memmem::find(text, secret.as_bytes()) {
                let around = &text[at.saturating_sub(200)..(at + secret.len() + 60).min(text.len())];
                self.found.push(format!("{place}: {secret}: ...{}...", String::from_utf8_lossy(around)));
            }
        }
    }

    fn look_at_answer(&mut self, place: &str, answer: &Answer, belong: &[&str]) {
        self.look(&format!("{place}: head"), format!("{:?} {:?}", answer.status, answer.headers), belong);
        self.look(place, answer.text() + " ", belong);
    }
}

async fn ask(client: &Client, model: &str, text: &str) -> Answer {
    let mut request = plain(text);
    request["model"] = json!(model);
    let fields =
        [("authorization", key()), ("x-callwright-debug", "true".to_owned()), ("x-callwright-session", "s".to_owned())];
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    client
        .send(
            Method::POST,
            "/v1/chat/completions",
            &[&[("content-type", "application/json")], &fields[..]].concat(),
            request.to_string(),
        )
        .await
}

fn key() -> String {
    format!("Bearer {CLIENT_KEY}")
}

async fn post(client: &Client, path: &str, body: &Value) -> Answer {
    let (key, body) = (key(), body.to_string());
    client.send(Method::POST, path, &[("content-type", "application/json"), ("authorization", &key)], body).await
}

fn config_of(upstream: &Server, api: &Server, collector: &Collector) -> String {
    config(&upstream.url("/v1"))
        + &format!("api_key = \"{UPSTREAM_KEY}\"\nheaders = {{ x-extra = \"{UPSTREAM_FIELD}\" }}\nretries = 0\n")
        + "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n"
        + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"doors\"]\n"
        + &format!("[toolsets.doors]\ndocument = \"doors.yaml\"\nbase_url = \"{}\"\n", api.url(""))
        + &format!("[toolsets.doors.credentials]\nkey = \"{CREDENTIAL}\"\n")
        + &policy::table("open")
        + &collector.table()
        + &format!("otlp_headers = {{ authorization = \"Bearer {TOKEN}\" }}\nlog = \"trace\"\nformat = \"json\"\n")
}

/// Uses every request path, and searches the responses to clients.
async fn take_every_way(proxy: &Proxy, sweep: &mut Sweep) {
    let client = proxy.client();
    let wishes = [
        "unlock", "jammed: unlock", "repair", "fault", "remove", "refused", "overloaded", "broken", "no JSON", "reset",
        "plain words",
    ];
    for wish in wishes {
        // The model's own request contains the tool's response, and it is in the data that the client requested.
        sweep.look_at_answer(wish, &ask(client, "helper", wish).await, &[ARGUMENT]);
    }
    for wish in ["unlock", "jammed: unlock", "fault", "refused", "error event", "broken", "plain words"] {
        let mut request = streamed(plain(wish));
        request["model"] = json!("helper");
        let fields = [("authorization", key()), ("x-callwright-debug", "true".to_owned())];
        let [authorization, debug] = &fields;
        let all = [
            ("content-type", "application/json"),
            (authorization.0, authorization.1.as_str()),
            (debug.0, debug.1.as_str()),
        ];
        let answer = client.send(Method::POST, "/v1/chat/completions", &all, request.to_string()).await;
        sweep.look_at_answer(&format!("streamed {wish}"), &answer, &[ARGUMENT]);
    }
    // A tool of the client whose schema marks the argument, and a conversation that contains the call.
    let mut request = plain("own tool");
    let pass = json!({"type": "string", "writeOnly": true});
    let parameters = json!({"type": "object", "properties": {"user": {"type": "string"}, "pass": pass}, "required": ["user", "pass"]});
    request["tools"] = json!([{"type": "function", "function": {"name": "login", "parameters": parameters}}]);
    let answer = post(client, "/v1/chat/completions", &request).await;
    sweep.look_at_answer("a client's own tool", &answer, &[ARGUMENT]);
    let said = answer.message();
    request["messages"] = json!([
        {"role": "user", "content": "own tool"}, said,
        {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": format!("Error: wrong password {ARGUMENT}")},
        {"role": "user", "content": "plain words"},
    ]);
    sweep.look_at_answer("a conversation", &post(client, "/v1/chat/completions", &request).await, &[ARGUMENT]);

    sweep.look_at_answer("passed through", &post(client, "/v1/embeddings", &json!({"input": "x"})).await, &[]);
    sweep.look_at_answer(
        "models",
        &client.send(Method::GET, "/v1/models", &[("authorization", &key())], "").await,
        &[],
    );
    sweep.look_at_answer("no JSON", &post(client, "/v1/chat/completions", &json!(CLIENT_KEY)).await, &[]);
    sweep.look_at_answer("no route", &post(client, "/nowhere", &json!({})).await, &[]);
    let trace = answer.header("x-callwright-trace").unwrap();
    let verdict = json!({"trace_id": trace, "verdict": "bad", "comment": "no secret"});
    sweep.look_at_answer("feedback", &post(client, "/v1/feedback", &verdict).await, &[]);
}

/// Searches the responses of the operator listener.
async fn look_at_the_operator_side(proxy: &Proxy, sweep: &mut Sweep) {
    let operator = proxy.operator();
    let approvals = operator.get("/admin/approvals").await.ok();
    let id =
        approvals["approvals"][0]["id"].as_str().unwrap_or_else(|| panic!("nobody was asked: {approvals}")).to_owned();
    let approval = operator.get(&format!("/admin/approvals/{id}")).await;
    assert!(approval.text().contains("***"), "{}", approval.text());
    sweep.look_at_answer("an approval", &approval, &[]);
    for path in [
        "/healthz", "/readyz", "/metrics", "/console", "/admin/approvals", "/admin/traces", "/admin/switch",
        "/admin/lessons", "/admin/procedures",
    ] {
        sweep.look_at_answer(path, &operator.get(path).await, &[]);
    }
    let page = operator.get("/console").await.text();
    for file in page.split('"').filter(|part| part.starts_with("/console/")) {
        sweep.look_at_answer(file, &operator.get(file).await, &[]);
    }
    let traces = proxy.traces().await;
    assert!(traces.len() > 15, "{}", traces.len());
    assert!(traces.iter().any(|trace| trace["request"].is_object() && trace["executions"][0]["body"].is_string()));
    for trace in &traces {
        sweep.look(&format!("trace of {}", trace["request"]["messages"]), trace.to_string(), &[]);
    }
}

/// Searches the files that the proxy wrote, except its configuration and its document.
fn look_at_files(folder: &Path, sweep: &mut Sweep) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            look_at_files(&path, sweep);
        } else if name != "callwright.toml" {
            let bytes = std::fs::read(&path).unwrap();
            if !bytes.is_empty() {
                sweep.look(&name, bytes, &[]);
            }
        }
    }
}

#[tokio::test]
async fn no_secret_is_anywhere_but_where_it_belongs() {
    let (upstream, api, collector) =
        (Server::scripted(model).await, Server::scripted(api).await, Collector::start().await);
    let rules = policy::file("open", RULES);
    let files = [("doors.yaml", DOCUMENT), ("policies/open.yaml", rules.as_str())];
    let proxy = Proxy::start_with_files(config_of(&upstream, &api, &collector), &files).await;
    let mut sweep = Sweep::default();
    take_every_way(&proxy, &mut sweep).await;
    proxy.metrics().await;
    guarded("the traces", async {
        while proxy.operator().get("/admin/traces").await.json()["traces"].as_array().map_or(0, Vec::len) < 20 {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    look_at_the_operator_side(&proxy, &mut sweep).await;

    // Sent data: each secret reaches only its destination.
    let has = |received: &[Received], secret: &str| received.iter().any(|received| told(received).contains(secret));
    let (models, calls, spans) = (upstream.received(), api.received(), collector.server().received());
    assert!(has(&models, UPSTREAM_KEY) && has(&models, UPSTREAM_FIELD) && has(&models, ARGUMENT));
    assert!(has(&calls, CREDENTIAL) && has(&calls, ARGUMENT));
    assert!(has(&spans, TOKEN));
    for received in &models {
        sweep.look("what the provider gets", told(received), &[UPSTREAM_KEY, UPSTREAM_FIELD, ARGUMENT]);
    }
    for received in &calls {
        sweep.look("what the API gets", told(received), &[CREDENTIAL, ARGUMENT]);
    }
    for received in &spans {
        let fields = format!("{:?}", received.headers);
        sweep.look("what the collector gets: head", fields, &[TOKEN]);
        sweep.look("what the collector gets", &received.body, &[]);
    }

    let stopped = proxy.stop().await;
    assert!(stopped.log().contains("\"level\":\"TRACE\""), "the log is at its most talkative");
    look_at_files(stopped.directory(), &mut sweep);
    assert!(sweep.looked_at > 100, "{}", sweep.looked_at);
    assert!(sweep.found.is_empty(), "{} finds:\n{}", sweep.found.len(), sweep.found.join("\n"));
}

#[tokio::test]
async fn verbs_show_no_secret() {
    let (upstream, api, collector) =
        (Server::scripted(model).await, Server::scripted(api).await, Collector::start().await);
    let configuration = config_of(&upstream, &api, &collector);
    let wrong = configuration.replace("retries = 0", "retries = \"many\"");
    let cases = [("right.toml", configuration.as_str()), ("wrong.toml", &wrong)];
    let mut sweep = Sweep::default();
    for (name, text) in cases {
        for verb in [&["doctor"][..], &["doctor", "--format", "json"], &["config", "check"], &["policy", "check"]] {
            let folder = Folder::with(&[(name, text.as_bytes()), ("doors.yaml", DOCUMENT.as_bytes())]);
            std::fs::create_dir(folder.path("policies")).unwrap();
            std::fs::write(folder.path("policies/open.yaml"), policy::file("open", RULES)).unwrap();
            let arguments: Vec<String> =
                [verb, &["--config", name]].concat().iter().map(|word| (*word).to_owned()).collect();
            let shown = arguments.join(" ");
            let run = move || folder.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), b"");
            let said = tokio::task::spawn_blocking(run).await.unwrap();
            sweep.look(&shown, [said.stdout.as_slice(), said.stderr.as_bytes()].concat(), &[]);
        }
    }
    assert!(sweep.found.is_empty(), "{}", sweep.found.join("\n"));
}
