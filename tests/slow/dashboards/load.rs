//! A proxy under a load that covers every metric of the boards.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

use crate::support::answer::{self, finish, one_call, role, text_chunk};
use crate::support::config::config_with_server;
use crate::support::request::{plain, streamed, with_tools};
use crate::support::tls::{Authority, Issued};
use crate::support::{Proxy, Received, Reply, Server, policy, rooms};

/// A call in text, as written by models without tool calls.
const WRITTEN: &str = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";

/// A policy under which bookings require approval.
const RULES: &str = "mode: guard\nexecute:\n  rules:\n    - {methods: [POST], tools: [\"rooms/book*\"], permission: approve}\n  \
                     approval: {mode: notice}";

/// Floors for which the API fails, each in a different way.
const BROKEN_FLOOR: u64 = 7;
const FORBIDDEN_FLOOR: u64 = 8;
const CLOSED_FLOOR: u64 = 9;

/// The proxy, and the servers that it uses.
pub(crate) struct Loaded {
    pub(crate) proxy: Proxy,
    /// Secret of a virtual key.
    key: String,
    /// Secret of a virtual key whose budget the first request exceeds.
    poor_key: String,
    upstream: Server,
    api: Server,
    authority: Authority,
}

impl Loaded {
    pub(crate) async fn start() -> Self {
        let (upstream, api) = (Server::scripted(model).await, Server::scripted(api).await);
        let config = config_of(&upstream, &api);
        let (rules, spare) = (policy::file("usual", RULES), policy::file("spare", "mode: guard"));
        let authority = Authority::new();
        let Issued { certificate, key } = authority.issue();
        let files = [
            ("rooms.yaml", rooms::DOCUMENT),
            ("policies/usual.yaml", rules.as_str()),
            ("policies/spare.yaml", spare.as_str()),
            ("cert.pem", certificate.as_str()),
            ("key.pem", key.as_str()),
        ];
        let proxy = Proxy::start_with_files(config, &files).await.trusting(&authority.pem());
        let key = make_key(&proxy, &json!({"name": "desk", "group": "office"})).await;
        let poor_key = make_key(&proxy, &json!({"name": "intern", "group": "office", "budget": 0.000_001})).await;
        Self { proxy, key, poor_key, upstream, api, authority }
    }

    /// Sends one request of each kind.
    pub(crate) async fn round(&self) {
        let key = ("api-key", self.key.as_str());
        const WISHES: [&str; 11] = [
            "forget", "repair", "stubborn", "stubborn too", "floor 1", "floor 7", "floor 7 again", "floor 7 once more",
            "floor 8", "floor 9", "book",
        ];
        for (number, wish) in WISHES.iter().enumerate() {
            let mut request = plain(&format!("List the rooms of the office: {wish}"));
            request["model"] = json!("helper");
            self.proxy.client().chat_with(&request, &[key, ("x-callwright-session", &format!("s{number}"))]).await;
        }
        self.proxy.client().chat_stream_with(&streamed(with_tools("Weather?")), &[key]).await.assemble().await;
        let mut lost = plain("Is anybody there?");
        lost["model"] = json!("lost");
        self.proxy.client().chat_with(&lost, &[key]).await;
        let poor_key = ("api-key", self.poor_key.as_str());
        // More than one request in twenty.
        for _ in 0..3 {
            self.proxy.client().chat_with(&plain("May I?"), &[poor_key]).await;
        }
        self.proxy.client().send(Method::GET, "/v1/models", &[key], "").await;
        self.proxy.metrics().await;
        assert!(!self.upstream.received().is_empty() && !self.api.received().is_empty(), "{}", self.proxy.log());
    }

    /// Introduces an error in a policy.
    pub(crate) fn break_policy(&self) {
        self.proxy.write("policies/usual.yaml", &policy::file("usual", "mode: sideways"));
    }

    /// Turns on the kill switch for a policy without turns.
    pub(crate) async fn turn_a_policy_off(&self) {
        let body = json!({"off": true, "policy": "spare", "reason": "a rehearsal"}).to_string();
        self.proxy
            .operator()
            .send(Method::POST, "/admin/switch", &[("content-type", "application/json")], body)
            .await
            .ok();
    }

    /// Damages the database while the proxy runs.
    pub(crate) async fn break_store(&self) {
        let file = self.proxy.directory().join("traces.sqlite3");
        let mut database = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
        sqlx::query("DROP TABLE traces").execute(&mut database).await.unwrap();
    }

    /// Replaces the certificate by one that expires in a few days.
    pub(crate) fn let_certificate_run_out(&self) {
        let Issued { certificate, key } = self.authority.issue_for_days(5);
        self.proxy.write("cert.pem", &certificate);
        self.proxy.write("key.pem", &key);
    }
}

/// Creates a virtual key and returns its secret.
async fn make_key(proxy: &Proxy, draft: &Value) -> String {
    let fields = [("content-type", "application/json")];
    let made = proxy.operator().send(Method::POST, "/admin/keys", &fields, draft.to_string()).await.json();
    made["secret"].as_str().unwrap_or_else(|| panic!("no key: {made}")).to_owned()
}

/// Returns a configuration with TLS, the alias of the rooms, an alias with an unavailable upstream, and an upstream
/// that accepts fewer tools than there are, so that they are ranked.
fn config_of(upstream: &Server, api: &Server) -> String {
    let tls = r#"tls = { certificate = "cert.pem", key = "key.pem" }"#;
    config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", tls)
        + "max_tools = 2\napi_key = \"k\"\n"
        + &format!(
            "[upstreams.down]\nbase_url = \"http://{}/v1\"\nconnect_retries = 0\ncircuit_failures = 3\napi_key = \"k\"\n",
            Server::refusing()
        )
        + "[keys]\nmode = \"required\"\n[prices.gpt-test]\nprompt = 1.0\n"
        + "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n"
        + "[aliases.lost]\nmodel = \"gpt-test\"\nupstream = \"down\"\n"
        + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"rooms\"]\n"
        + &format!("[toolsets.rooms]\ndocument = \"rooms.yaml\"\nbase_url = \"{}\"\n", api.url(""))
        + &format!("[toolsets.rooms.credentials]\nkey = \"{}\"\n", rooms::KEY)
        + &policy::table("usual")
}

/// A model that makes the call that the user's message requests, and answers with text after a tool message.
fn model(_: usize, received: &Received) -> Reply {
    if received.json()["stream"] == true {
        return Reply::events(&[role(), text_chunk("I look it up. "), text_chunk(WRITTEN), finish("stop")]);
    }
    let messages = received.messages();
    let Some(user) = messages.iter().rposition(|message| message["role"] == "user") else { return answer::text("?") };
    let wish = messages[user]["content"].as_str().unwrap_or_default().to_owned();
    let told = messages[user..].iter().filter(|message| message["role"] == "tool").count();
    let list = |arguments: Value| one_call("listRooms", &arguments.to_string());
    match told {
        _ if wish.contains("stubborn") => list(json!({})),
        0 if wish.contains("forget") => list(json!({})),
        1 if wish.contains("forget") => list(json!({"floor": 5})),
        0 if wish.contains("book") => {
            let booking = json!({"room": "blue", "from": "2026-03-01T09:00:00Z", "hours": 2});
            one_call("bookRoom", &booking.to_string())
        }
        0 if wish.contains("repair") => list(json!({"floor": "5"})),
        0 => {
            let floor = (0..10).find(|floor| wish.contains(&format!("floor {floor}"))).unwrap_or(1);
            list(json!({"floor": floor}))
        }
        _ => answer::text("That is all."),
    }
}

fn api(_: usize, received: &Received) -> Reply {
    let is_of = |floor: u64| received.target.contains(&format!("floor={floor}"));
    if is_of(BROKEN_FLOOR) {
        Reply::json(503, &json!({"message": "The calendar is down"}))
    } else if is_of(FORBIDDEN_FLOOR) {
        Reply::json(401, &json!({"message": "Invalid API key"}))
    } else if is_of(CLOSED_FLOOR) {
        Reply::json(400, &json!({"code": 4711, "message": "closed"}))
    } else {
        Reply::json(200, &json!({"rooms": ["blue"]}))
    }
}
