//! Stored tokens of toolsets: one token request for several proxies and for the next start, and no readable token in
//! the database.

use std::path::Path;

use crate::support::answer::{self, one_call};
use crate::support::config::config_with_store_keys;
use crate::support::postgres;
use crate::support::request::plain;
use crate::support::{POLL, Proxy, Reply, Server, guarded, rooms};
use callwright_test_macros::requires;
use serde_json::json;
use sqlx::ConnectOptions;

/// 32 bytes in base64: `seal-canary-seal-canary-seal-can`.
const SEAL_KEY: &str = "c2VhbC1jYW5hcnktc2VhbC1jYW5hcnktc2VhbC1jYW4=";

/// Another key: 32 times the letter `b`.
const OTHER_KEY: &str = "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI=";

/// Model, API and token endpoint.
struct World {
    model: Server,
    api: Server,
    tokens: Server,
}

impl World {
    async fn new() -> Self {
        let model = Server::scripted(|_, received| {
            let last = received.last_message();
            match last["role"].as_str() {
                Some("tool") => answer::text(last["content"].as_str().unwrap()),
                _ => one_call("listRooms", r#"{"floor":2}"#),
            }
        })
        .await;
        let tokens = Server::scripted(|number, _| {
            Reply::json(200, &json!({"access_token": format!("canary-token-{number}"), "expires_in": 3600}))
        })
        .await;
        Self { model, api: Server::always(Reply::json(200, &json!(["Amber"]))).await, tokens }
    }

    /// Starts a proxy on this store with these keys of `[store]`.
    async fn proxy(&self, store: &str, keys: &str) -> Proxy {
        Proxy::start_with_files(self.config(store, keys), &[("rooms.yaml", &self.document())]).await
    }

    fn config(&self, store: &str, keys: &str) -> String {
        config_with_store_keys(&self.model.url("/v1"), store, keys)
            + "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n"
            + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"rooms\"]\n"
            + &format!("[toolsets.rooms]\ndocument = \"rooms.yaml\"\nbase_url = \"{}\"\n", self.api.url(""))
            + "[toolsets.rooms.credentials]\nkey = { client_id = \"me\", client_secret = \"canary-client\" }\n"
    }

    fn document(&self) -> String {
        let scheme = "{type: apiKey, in: header, name: X-Api-Key}";
        assert!(rooms::DOCUMENT.contains(scheme));
        let url = self.tokens.url("/oauth/token");
        let oauth = format!("{{type: oauth2, flows: {{clientCredentials: {{tokenUrl: \"{url}\", scopes: {{}}}}}}}}");
        rooms::DOCUMENT.replace(scheme, &oauth)
    }
}

fn seal_key(keys: &str) -> String {
    format!("seal_key = \"{keys}\"")
}

async fn turn(proxy: &Proxy) {
    let mut request = plain("Which rooms?");
    request["model"] = json!("helper");
    let told = proxy.client().chat(&request).await.message()["content"].as_str().unwrap().to_owned();
    assert!(told.contains("Amber"), "{told}");
}

async fn stored_in_file(directory: &Path) -> i64 {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(directory.join("traces.sqlite3"));
    let mut connection = options.connect().await.unwrap();
    sqlx::query_scalar("SELECT COUNT(*) FROM tokens").fetch_one(&mut connection).await.unwrap()
}

/// Waits until a token is stored; turns do not wait for it.
async fn stored(proxy: &Proxy) {
    guarded("a token is stored", async {
        while stored_in_file(proxy.directory()).await == 0 {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
}

const FILE: &str = "sqlite:traces.sqlite3";

#[tokio::test]
async fn a_token_survives_a_restart_and_nobody_reads_it_in_the_file() {
    let world = World::new().await;
    let proxy = world.proxy(FILE, &seal_key(SEAL_KEY)).await;
    turn(&proxy).await;
    stored(&proxy).await;
    let stopped = proxy.stop().await;
    let file = std::fs::read(stopped.directory().join("traces.sqlite3")).unwrap();
    assert!(!file.windows(6).any(|part| part == b"canary"), "a token or a secret stands in the file");
    let proxy = stopped.start_again().await;
    turn(&proxy).await;
    assert_eq!(world.tokens.received().len(), 1);
    assert_eq!(world.api.received()[1].header("authorization"), Some("Bearer canary-token-0"));
    assert!(!proxy.log().contains("canary"), "{}", proxy.log());
}

#[tokio::test]
async fn a_key_that_was_replaced_still_opens_and_another_one_does_not() {
    let world = World::new().await;
    let proxy = world.proxy(FILE, &seal_key(SEAL_KEY)).await;
    turn(&proxy).await;
    stored(&proxy).await;
    let rotated = format!("{OTHER_KEY} {SEAL_KEY}");
    let mut stopped = proxy.stop().await;
    for (keys, requests) in [(rotated.as_str(), 1), (OTHER_KEY, 2)] {
        let proxy = stopped.start_again_as(world.config(FILE, &seal_key(keys))).await;
        turn(&proxy).await;
        assert_eq!(world.tokens.received().len(), requests);
        stopped = proxy.stop().await;
    }
}

#[tokio::test]
async fn without_a_key_tokens_stay_in_the_process() {
    let world = World::new().await;
    let proxy = world.proxy(FILE, "").await;
    turn(&proxy).await;
    let proxy = proxy.stop().await.start_again().await;
    turn(&proxy).await;
    assert_eq!(world.tokens.received().len(), 2);
    assert_eq!(stored_in_file(proxy.directory()).await, 0);
}

#[requires(postgres)]
#[tokio::test]
async fn replicas_share_one_token() {
    let server = postgres::Postgres::start();
    let (world, url) = (World::new().await, server.database());
    let database = url.rsplit('/').next().unwrap();
    let first = world.proxy(&url, &seal_key(SEAL_KEY)).await;
    let second = world.proxy(&url, &seal_key(SEAL_KEY)).await;
    turn(&first).await;
    guarded("a token is stored", async {
        while server.ask(database, "SELECT COUNT(*) FROM tokens") != "1" {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    turn(&second).await;
    assert_eq!(world.tokens.received().len(), 1);
    let dump = server.client("pg_dump").args(["--inserts", database]).output().unwrap();
    assert!(dump.status.success());
    let dump = String::from_utf8_lossy(&dump.stdout);
    // PostgreSQL prints bytes as hexadecimal digits.
    assert!(dump.contains("INSERT INTO public.tokens") && !dump.contains("canary") && !dump.contains("63616e617279"));
}

#[tokio::test]
async fn a_wrong_key_is_told_at_the_start_without_it() {
    let world = World::new().await;
    let said = Proxy::refusal(&world.config(FILE, &seal_key(&format!("{SEAL_KEY} wrong-canary")))).await;
    assert!(said.contains("store.seal_key") && said.contains("key 2 of 2") && said.contains("openssl rand"), "{said}");
    assert!(!said.contains("wrong-canary"), "{said}");
}
