//! The process is killed at random moments while it executes calls with side effects, and restarted with the same
//! store. The same sessions continue with the same calls. No call is sent twice, and none is sent that the policy
//! forbids.
//!
//! `CALLWRIGHT_KILLS` sets the number of kills of the long test.

mod moments;
mod parallel;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::answer::{self, one_call};
use crate::support::config::config_with_store;
use crate::support::request::plain;
use crate::support::{Gate, Proxy, Received, Reply, Server, guarded, policy};
use fastrand::Rng;
use moments::{Moment, Seen, Tally};
use serde_json::{Value, json};
use sqlx::ConnectOptions;

/// Default number of kills of the long test.
const KILLS: usize = 200;

/// Number of sessions in flight at each kill.
const SESSIONS: usize = 6;

/// Store that outlives the process.
const ON_DISK: &str = "sqlite:traces.sqlite3";

/// Maximum number of arrivals at a server before the kill; each session gets at least one response in that time.
const MOST_ARRIVALS: usize = 4 * SESSIONS;

/// Maximum delays of the kill after an arrival, in microseconds: immediately, or during the following steps.
const PAUSES: [u64; 3] = [200, 1_000, 4_000];

/// Random seed of the moments of the kills.
const SEED: u64 = 20_260;

/// Part of the message about a call with an unknown outcome.
const UNKNOWN: &str = "it is not known whether it took effect";

/// Document of an API that counts orders; `key` is an additional parameter of its operation.
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

/// A model that places the order in the user's message, then repeats the tool message.
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

/// The API, and the orders that it has answered.
struct Api {
    server: Server,
    answered: Arc<Mutex<BTreeSet<String>>>,
}

impl Api {
    /// Accepts orders, each after a short delay that varies.
    async fn start() -> Self {
        let answered = Arc::new(Mutex::new(BTreeSet::new()));
        let known = Arc::clone(&answered);
        let server = Server::scripted(move |number, received| {
            let (gate, order, known) = (Gate::closed(), order_of(received), Arc::clone(&known));
            let reply = Reply::json(201, &json!({"receipt": order})).after(&gate);
            let pause = Duration::from_micros(number as u64 * 977 % 4_000);
            tokio::spawn(async move {
                tokio::time::sleep(pause).await;
                known.lock().unwrap().insert(order);
                gate.open();
            });
            reply
        })
        .await;
        Self { server, answered }
    }

    /// Returns the number of arrivals of each order.
    fn arrivals(&self) -> BTreeMap<String, usize> {
        let mut arrivals = BTreeMap::new();
        for received in self.server.received() {
            *arrivals.entry(order_of(&received)).or_default() += 1;
        }
        arrivals
    }

    fn most_arrivals(&self) -> usize {
        self.arrivals().into_values().max().unwrap_or_default()
    }
}

fn order_of(received: &Received) -> String {
    received.json()["id"].as_str().unwrap().to_owned()
}

async fn proxy(model: &Server, api: &Server, document: &str, rules: &str) -> Proxy {
    proxy_on(ON_DISK, model, api, document, rules).await
}

async fn proxy_on(store: &str, model: &Server, api: &Server, document: &str, rules: &str) -> Proxy {
    let config = config_with_store(&model.url("/v1"), store)
        + "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n"
        + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"orders\"]\n"
        + &format!("[toolsets.orders]\ndocument = \"orders.yaml\"\nbase_url = \"{}\"\n", api.url(""))
        + &policy::table("orders");
    let files = [("orders.yaml", document), ("policies/orders.yaml", &policy::file("orders", rules))];
    Proxy::start_with_files(config, &files).await
}

const ALLOWED: &str = "execute:\n  rules:\n    - {methods: [POST], tools: [\"orders/*\"], permission: allow}";

/// A sequence of conversations, each with one order, in the same session.
struct Session {
    name: String,
    placed: usize,
    /// Response to the client for each order.
    told: BTreeMap<String, String>,
    /// Order whose intent was stored at the last kill.
    interrupted: Option<String>,
}

impl Session {
    fn order(&self) -> String {
        format!("{}-{}", self.name, self.placed)
    }

    /// Requests the current order, repeats it if it was interrupted, and continues with the next one after a response.
    /// Ends with the proxy, or after `most` responses.
    async fn go_on(mut self, base: String, most: usize) -> Self {
        let client = reqwest::Client::builder().no_proxy().timeout(crate::support::GUARD).build().unwrap();
        for number in 0..most {
            let mut request = plain(&self.order());
            request["model"] = json!("helper");
            // Streamed and whole responses end differently.
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

/// Sessions that continue across restarts of the proxy.
struct Run {
    model: Server,
    api: Api,
    proxy: Proxy,
    sessions: Vec<Session>,
    moments: Rng,
    tally: Tally,
    /// Whether the API receives requests. Otherwise there are no arrivals to wait for.
    reaches_api: bool,
}

impl Run {
    async fn start(store: &str, document: &str, rules: &str) -> Self {
        let (model, api) = (model().await, Api::start().await);
        let session =
            |number| Session { name: format!("s{number}"), placed: 0, told: BTreeMap::new(), interrupted: None };
        Self {
            proxy: proxy_on(store, &model, &api.server, document, rules).await,
            model,
            api,
            sessions: (0..SESSIONS).map(session).collect(),
            moments: Rng::with_seed(SEED),
            tally: Tally::default(),
            reaches_api: rules == ALLOWED,
        }
    }

    /// Continues all sessions until the proxy is killed at a random moment, then restarts it.
    async fn kill_once(mut self) -> Self {
        let base = self.proxy.client().url("");
        let going = |session: Session| tokio::spawn(session.go_on(base.clone(), usize::MAX));
        let tasks: Vec<_> = std::mem::take(&mut self.sessions).into_iter().map(going).collect();
        self.moment().await;
        self.proxy.kill();
        // Later responses of the API reach no client.
        let answered = self.api.answered.lock().unwrap().clone();
        let stopped = self.proxy.ended().await;
        let sessions = guarded("the sessions of a killed proxy", futures_util::future::join_all(tasks)).await;
        self.sessions = sessions.into_iter().map(Result::unwrap).collect();
        let intents = intents_in(stopped.directory()).await;
        self.proxy = stopped.start_again().await;
        self.tally(&intents, &answered);
        self
    }

    /// Waits for a random time, or for an arrival at a server.
    async fn moment(&mut self) {
        let mut servers = vec![&self.model];
        servers.extend(self.reaches_api.then_some(&self.api.server));
        let pause = match servers.get(self.moments.usize(0..=servers.len())) {
            None => self.moments.u64(0..60_000),
            Some(server) => {
                server.arrival_of(server.received().len() + self.moments.usize(1..MOST_ARRIVALS)).await;
                let longest = PAUSES[self.moments.usize(0..PAUSES.len())];
                self.moments.u64(0..longest)
            }
        };
        tokio::time::sleep(Duration::from_micros(pause)).await;
    }

    /// Counts the progress of each session's order.
    fn tally(&mut self, intents: &[(String, Option<String>)], answered: &BTreeSet<String>) {
        let arrived = self.api.arrivals();
        for session in &mut self.sessions {
            let order = session.order();
            let labels = intents.iter().filter(|(name, _)| *name == session.name).map(|(_, label)| label.clone());
            let seen = Seen {
                order: &order,
                told: session.placed,
                interrupted: session.interrupted.as_ref() == Some(&order),
                intents: labels.collect(),
            };
            let moment = seen.moment(&arrived, answered);
            self.tally.add(moment);
            session.interrupted = (moment != Moment::BeforeIntent).then_some(order);
        }
    }

    /// Kills the proxy `times` times, then lets every session get a response to its last order.
    async fn killed(mut self, times: usize) -> Self {
        for _ in 0..times {
            self = self.kill_once().await;
        }
        let base = self.proxy.client().url("");
        let last = std::mem::take(&mut self.sessions).into_iter().map(|session| session.go_on(base.clone(), 1));
        self.sessions = futures_util::future::join_all(last).await;
        self
    }

    /// Returns all orders with the responses to the client.
    fn told(&self) -> impl Iterator<Item = (&String, &String)> {
        self.sessions.iter().flat_map(|session| &session.told)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_order_is_placed_twice_however_often_the_process_is_killed() {
    let kills = std::env::var("CALLWRIGHT_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let run = Run::start(ON_DISK, &document(""), ALLOWED).await.killed(kills).await;
    let arrivals = run.api.arrivals();
    let twice: Vec<_> = arrivals.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "placed twice: {twice:?}");
    let (mut placed, mut unknown) = (0, 0);
    for (order, text) in run.told() {
        if text.contains(UNKNOWN) {
            unknown += 1;
        } else {
            assert!(text.contains("receipt") && text.contains(order), "{order}: {text}");
            assert_eq!(arrivals.get(order), Some(&1), "{order}: {text}");
            placed += 1;
        }
    }
    let all: usize = run.sessions.iter().map(|session| session.placed).sum();
    assert_eq!(placed + unknown, all, "every order was answered in the end");
    anstream::println!(
        "{kills} kills: {placed} orders placed and told so, {unknown} told as unknown, {} arrived; calls interrupted: {}",
        arrivals.len(),
        run.tally
    );
    assert!(placed > 0, "the kills prove nothing");
    // The moments just before and after an arrival cannot be distinguished reliably.
    use Moment::{BeforeAnswer, BeforeIntent, BeforeOutcome, BeforeRequest, BeforeTold};
    for moments in [&[BeforeIntent, BeforeRequest][..], &[BeforeAnswer, BeforeOutcome], &[BeforeTold]] {
        let hits: usize = moments.iter().map(|moment| run.tally.of(*moment)).sum();
        assert!(hits > 0 || kills < KILLS, "no kill hit {moments:?}: {}", run.tally);
    }
}

/// Control test: the duplicates do occur without a persistent store.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_durable_store_an_order_is_placed_twice() {
    let mut run = Run::start("sqlite::memory:", &document(""), ALLOWED).await;
    for _ in 0..KILLS {
        run = run.kill_once().await;
        if run.api.most_arrivals() > 1 {
            return;
        }
    }
    panic!("{KILLS} kills, and no order was placed twice: the kills prove nothing; {}", run.tally);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_order_is_placed_without_a_policy_that_allows_it() {
    let run = Run::start(ON_DISK, &document(""), "execute:\n  rules: []").await.killed(20).await;
    assert_eq!(run.api.most_arrivals(), 0);
    let told: Vec<&String> = run.told().map(|(_, text)| text).collect();
    assert!(!told.is_empty() && told.iter().all(|text| text.contains("policy does not allow")), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_is_repeated_until_the_outcome_is_known() {
    let key = r#"{name: Idempotency-Key, in: header, required: true, schema: {type: string, format: uuid}}"#;
    let run = Run::start(ON_DISK, &document(key), ALLOWED).await.killed(40).await;
    let mut keys: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for received in run.api.server.received() {
        keys.entry(order_of(&received)).or_default().insert(received.header("idempotency-key").unwrap().to_owned());
    }
    let several: Vec<_> = keys.iter().filter(|(_, keys)| keys.len() > 1).collect();
    assert!(several.is_empty(), "the API could not recognise these: {several:?}");
    for (order, text) in run.told() {
        assert!(text.contains("receipt") && text.contains(order), "{order}: {text}");
    }
    assert!(run.api.most_arrivals() > 1, "nothing was repeated: the kills prove nothing");
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

/// Returns session and label of every intent that another process sees, ordered by their last start.
async fn intents_in(directory: &Path) -> Vec<(String, Option<String>)> {
    let file = directory.join("traces.sqlite3");
    if !file.exists() {
        return Vec::new();
    }
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file).read_only(true);
    let mut connection = options.connect().await.unwrap();
    sqlx::query_as("SELECT session, label FROM intents ORDER BY begun_at").fetch_all(&mut connection).await.unwrap()
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
    // The order is placed and answered, and the process is killed during the next model request.
    let first = proxy.client().begin_chat_with(&request, &session).await;
    upstream.arrival_of(2).await;
    proxy.signal("KILL");
    let proxy = proxy.ended().await.start_again().await;
    drop(first);
    gate.open();
    assert!(chat(&proxy).await["content"].as_str().unwrap().contains(r#""receipt":0"#));
    assert_eq!(api.received().len(), 1, "the outcome is known: it is told, and nothing is sent");
    // The client has its response. Now it requests another identical order.
    guarded("a new order", async {
        while !chat(&proxy).await["content"].as_str().unwrap().contains(r#""receipt":1"#) {}
    })
    .await;
    assert_eq!(api.received().len(), 2);
}
