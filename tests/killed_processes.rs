//! The process is killed at any moment while it executes calls that change something, and started again on the same store; the same sessions
//! go on with the same calls. Nothing is sent twice, nothing is sent that no policy allows.
//!
//! `CALLWRIGHT_KILLS` sets the number of kills of the long test.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};
use sqlx::ConnectOptions;
use support::answer::{self, one_call};
use support::request::plain;
use support::{Gate, Proxy, Received, Reply, Server, config, guarded, policy};

/// Kills of the long test, unless the environment says otherwise.
const KILLS: usize = 200;

/// Sessions in flight at each kill.
const SESSIONS: usize = 6;

/// The moments of the kills are drawn from this.
const SEED: u64 = 20_260;

/// A call is told as unknown in these words.
const UNKNOWN: &str = "it is not known whether it took effect";

/// An API that counts orders; `key` is a parameter that its operation has besides.
fn document(key: &str) -> String {
    format!(
        r#"
openapi: 3.0.3
info: {{title: Orders, version: "1"}}
servers: [{{url: "http://127.0.0.1:1"}}]
paths:
  /orders:
    post:
      operationId: placeOrder
      parameters: [{key}]
      requestBody:
        required: true
        content:
          application/json:
            schema: {{type: object, required: [id], properties: {{id: {{type: string}}}}}}
      responses: {{"201": {{description: Placed.}}}}
"#
    )
}

/// A model that places the order that its user names, and then says what it was told.
async fn model() -> Server {
    Server::scripted(|_, received| {
        let last = received.last_message();
        let text = last["content"].as_str().unwrap_or_default().to_owned();
        if last["role"] == "tool" {
            answer::text(&text)
        } else {
            one_call("placeOrder", &json!({"id": text}).to_string())
        }
    })
    .await
}

/// Takes orders, each after a little while that differs.
async fn api() -> Server {
    Server::scripted(|number, received| {
        let gate = Gate::closed();
        let opener = gate.clone();
        let pause = Duration::from_micros(number as u64 * 977 % 4_000);
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            opener.open();
        });
        Reply::json(201, &json!({"receipt": order_of(received)})).after(&gate)
    })
    .await
}

fn order_of(received: &Received) -> String {
    received.json()["id"].as_str().unwrap().to_owned()
}

async fn proxy(model: &Server, api: &Server, document: &str, rules: &str) -> Proxy {
    let config = config(&model.url("/v1"))
        + "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n"
        + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"orders\"]\n"
        + &format!("[toolsets.orders]\ndocument = \"orders.yaml\"\nbase_url = \"{}\"\n", api.url(""))
        + &policy::table("orders");
    let files = [("orders.yaml", document), ("policies/orders.yaml", &policy::file("orders", rules))];
    Proxy::start_with_files(config, &files).await
}

const ALLOWED: &str = "execute:\n  rules:\n    - {methods: [POST], tools: [\"orders/*\"], permission: allow}";

/// One conversation after the other about one order after the other, always on the same session.
struct Session {
    name: String,
    placed: usize,
    /// What the client was told of each order.
    told: BTreeMap<String, String>,
}

impl Session {
    fn order(&self) -> String {
        format!("{}-{}", self.name, self.placed)
    }

    /// Asks for the present order, again where it was asked for before; goes on to the next when it is answered. Ends when the proxy does,
    /// or after `most` answers.
    async fn go_on(mut self, base: String, most: usize) -> Self {
        let client = reqwest::Client::builder().no_proxy().timeout(support::GUARD).build().unwrap();
        for number in 0..most {
            let mut request = plain(&self.order());
            request["model"] = json!("helper");
            // Both forms of an answer end in their own way.
            request["stream"] = json!(number % 2 == 1);
            let sent = client.post(format!("{base}/v1/chat/completions")).header("x-callwright-session", &self.name);
            let answer = async { sent.json(&request).send().await?.error_for_status()?.text().await };
            let Ok(text) = answer.await else { break };
            if request["stream"] == true && !text.contains("[DONE]") {
                break;
            }
            self.told.insert(self.order(), text);
            self.placed += 1;
        }
        self
    }
}

/// Goes on with all sessions until the proxy is killed at a moment drawn from `moments`, and starts it again.
async fn kill_once(
    proxy: Proxy,
    sessions: Vec<Session>,
    servers: &[&Server],
    moments: &mut Rng,
) -> (Proxy, Vec<Session>) {
    let base = proxy.client().url("");
    let tasks: Vec<_> =
        sessions.into_iter().map(|session| tokio::spawn(session.go_on(base.clone(), usize::MAX))).collect();
    // Now after some time, now just when something has arrived at a server.
    let pause = match servers.get(moments.usize(0..=servers.len())) {
        None => Duration::from_micros(moments.u64(0..60_000)),
        Some(server) => {
            server.arrival_of(server.received().len() + moments.usize(1..8)).await;
            Duration::from_micros(moments.u64(0..3_000))
        }
    };
    tokio::time::sleep(pause).await;
    proxy.signal("KILL");
    let stopped = proxy.ended().await;
    let sessions = guarded("the sessions of a killed proxy", futures_util::future::join_all(tasks)).await;
    (stopped.start_again().await, sessions.into_iter().map(Result::unwrap).collect())
}

/// Kills `times` times, then lets every session have an answer to its last order.
async fn killed(times: usize, document: &str, rules: &str) -> (Server, Vec<Session>) {
    let (model, api) = (model().await, api().await);
    let mut moments = Rng::with_seed(SEED);
    let session = |number| Session { name: format!("s{number}"), placed: 0, told: BTreeMap::new() };
    let mut sessions: Vec<Session> = (0..SESSIONS).map(session).collect();
    let mut proxy = proxy(&model, &api, document, rules).await;
    // An API that gets nothing gives no moments.
    let servers: &[&Server] = if rules == ALLOWED { &[&model, &api] } else { &[&model] };
    for _ in 0..times {
        (proxy, sessions) = kill_once(proxy, sessions, servers, &mut moments).await;
    }
    let base = proxy.client().url("");
    let last = sessions.into_iter().map(|session| session.go_on(base.clone(), 1));
    let sessions = futures_util::future::join_all(last).await;
    proxy.stop().await;
    (api, sessions)
}

/// How often each order arrived.
fn arrivals(api: &Server) -> BTreeMap<String, usize> {
    let mut arrivals = BTreeMap::new();
    for received in api.received() {
        *arrivals.entry(order_of(&received)).or_default() += 1;
    }
    arrivals
}

#[tokio::test(flavor = "multi_thread")]
async fn no_order_is_placed_twice_however_often_the_process_is_killed() {
    let kills = std::env::var("CALLWRIGHT_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let (api, sessions) = killed(kills, &document(""), ALLOWED).await;
    let arrivals = arrivals(&api);
    let twice: Vec<_> = arrivals.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "placed twice: {twice:?}");
    let (mut placed, mut unknown) = (0, 0);
    for (order, text) in sessions.iter().flat_map(|session| &session.told) {
        if text.contains(UNKNOWN) {
            unknown += 1;
        } else {
            assert!(text.contains("receipt") && text.contains(order), "{order}: {text}");
            assert_eq!(arrivals.get(order), Some(&1), "{order}: {text}");
            placed += 1;
        }
    }
    let all: usize = sessions.iter().map(|session| session.placed).sum();
    assert_eq!(placed + unknown, all, "every order was answered in the end");
    assert!(
        placed > 0 && (unknown > 0 || kills < KILLS),
        "{placed} placed, {unknown} unknown: the kills prove nothing"
    );
    anstream::println!(
        "{kills} kills: {placed} orders placed and told so, {unknown} told as unknown, {} arrived",
        arrivals.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_order_is_placed_without_a_policy_that_allows_it() {
    let (api, sessions) = killed(20, &document(""), "execute:\n  rules: []").await;
    assert!(api.received().is_empty(), "{:?}", api.received());
    let told: Vec<&String> = sessions.iter().flat_map(|session| session.told.values()).collect();
    assert!(!told.is_empty() && told.iter().all(|text| text.contains("policy does not allow")), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_with_an_idempotency_key_is_repeated_with_that_key_until_its_outcome_is_known() {
    let key = r#"{name: Idempotency-Key, in: header, required: true, schema: {type: string, format: uuid}}"#;
    let (api, sessions) = killed(40, &document(key), ALLOWED).await;
    let mut keys: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for received in api.received() {
        keys.entry(order_of(&received)).or_default().insert(received.header("idempotency-key").unwrap().to_owned());
    }
    let several: Vec<_> = keys.iter().filter(|(_, keys)| keys.len() > 1).collect();
    assert!(several.is_empty(), "the API could not recognise these: {several:?}");
    for (order, text) in sessions.iter().flat_map(|session| &session.told) {
        assert!(text.contains("receipt") && text.contains(order), "{order}: {text}");
    }
    assert!(arrivals(&api).values().any(|times| *times > 1), "nothing was repeated: the kills prove nothing");
}

#[tokio::test]
async fn the_intent_is_on_disk_when_the_request_arrives() {
    let gate = Gate::closed();
    let model = model().await;
    let api = Server::always(Reply::json(201, &json!({"receipt": 1})).after(&gate)).await;
    let proxy = proxy(&model, &api, &document(""), ALLOWED).await;
    let mut request = plain("a");
    request["model"] = json!("helper");
    let session = [("x-callwright-session", "s1")];
    let (answer, ()) = tokio::join!(proxy.client().chat_with(&request, &session), async {
        api.arrival_of(1).await;
        assert_eq!(intents(&proxy).await, [("s1".to_owned(), None)]);
        gate.open();
    });
    answer.ok();
    proxy.metrics().await;
    let directory = proxy.stop().await;
    assert_eq!(intents_in(directory.directory()).await, [("s1".to_owned(), Some("success".to_owned()))]);
}

async fn intents(proxy: &Proxy) -> Vec<(String, Option<String>)> {
    intents_in(proxy.directory()).await
}

/// Session and label of every intent that another process sees.
async fn intents_in(directory: &std::path::Path) -> Vec<(String, Option<String>)> {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(directory.join("traces.sqlite3")).read_only(true);
    let mut connection = options.connect().await.unwrap();
    sqlx::query_as("SELECT session, label FROM intents").fetch_all(&mut connection).await.unwrap()
}

#[tokio::test]
async fn an_answer_that_the_client_never_had_is_given_again() {
    let gate = Gate::closed();
    let upstream = Server::scripted({
        let gate = gate.clone();
        move |_, received| {
            let last = received.last_message();
            match last["role"].as_str() {
                Some("tool") => answer::text(last["content"].as_str().unwrap()).after(&gate),
                _ => one_call("placeOrder", r#"{"id":"a"}"#),
            }
        }
    })
    .await;
    let api = Server::scripted(|number, _| Reply::json(201, &json!({"receipt": number}))).await;
    let proxy = proxy(&upstream, &api, &document(""), ALLOWED).await;
    let mut request = plain("a");
    request["model"] = json!("helper");
    let session = [("x-callwright-session", "s1")];
    let chat = async |proxy: &Proxy| -> Value { proxy.client().chat_with(&request, &session).await.message() };
    // The order is placed and answered, and the process dies while the model is asked what to say.
    let first = proxy.client().begin_chat_with(&request, &session).await;
    upstream.arrival_of(2).await;
    proxy.signal("KILL");
    let proxy = proxy.ended().await.start_again().await;
    drop(first);
    gate.open();
    assert!(chat(&proxy).await["content"].as_str().unwrap().contains(r#""receipt":0"#));
    assert_eq!(api.received().len(), 1, "the outcome is known: it is told, and nothing is sent");
    // The client has its answer now: it wants another one like it.
    guarded("a new order", async {
        while !chat(&proxy).await["content"].as_str().unwrap().contains(r#""receipt":1"#) {}
    })
    .await;
    assert_eq!(api.received().len(), 2);
}
