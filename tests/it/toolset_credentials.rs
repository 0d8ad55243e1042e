//! Credentials from the configuration, the environment, files and token endpoints, as seen by the API, the model and
//! the operator.

use crate::support::answer::{self, one_call};
use crate::support::request::plain;
use crate::support::{Proxy, Received, Reply, Server, config, rooms};
use serde_json::{Value, json};

/// The security scheme of the rooms' document.
const KEY_IN_HEADER: &str = "{type: apiKey, in: header, name: X-Api-Key}";

/// A model that lists the rooms, then repeats the tool message.
async fn model() -> Server {
    Server::scripted(|_, received| {
        let last = received.last_message();
        match last["role"].as_str() {
            Some("tool") => answer::text(last["content"].as_str().unwrap()),
            _ => one_call("listRooms", r#"{"floor":2}"#),
        }
    })
    .await
}

async fn api() -> Server {
    Server::always(Reply::json(200, &json!(["Amber"]))).await
}

/// Returns a configuration with the alias `helper` and the rooms, with these lines of TOML as credentials.
fn config_of(model: &Server, api: &Server, credentials: &str) -> String {
    config(&model.url("/v1"))
        + "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n"
        + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"rooms\"]\n"
        + &format!("[toolsets.rooms]\ndocument = \"rooms.yaml\"\nbase_url = \"{}\"\n", api.url(""))
        + &format!("[toolsets.rooms.credentials]\n{credentials}\n")
}

/// Returns the rooms' document with another security scheme.
fn document(scheme: &str) -> String {
    assert!(rooms::DOCUMENT.contains(KEY_IN_HEADER));
    rooms::DOCUMENT.replace(KEY_IN_HEADER, scheme)
}

async fn proxy(model: &Server, api: &Server, scheme: &str, credentials: &str) -> Proxy {
    Proxy::start_with_files(config_of(model, api, credentials), &[("rooms.yaml", &document(scheme))]).await
}

/// Returns the final response to the client, which repeats the tool message about the call.
async fn told(proxy: &Proxy) -> String {
    let mut request = plain("Which rooms?");
    request["model"] = json!("helper");
    proxy.client().chat(&request).await.message()["content"].as_str().unwrap().to_owned()
}

fn authorizations(requests: &[Received]) -> Vec<String> {
    requests.iter().map(|request| request.header("authorization").unwrap_or("none").to_owned()).collect()
}

#[tokio::test]
async fn each_kind_of_scheme_is_shown_as_the_document_says() {
    for (scheme, field, value, target) in [
        (KEY_IN_HEADER, "x-api-key", "s3cret:canary", "/rooms?floor=2"),
        ("{type: apiKey, in: query, name: key}", "", "", "/rooms?floor=2&key=s3cret%3Acanary"),
        ("{type: apiKey, in: cookie, name: sid}", "cookie", "sid=s3cret%3Acanary", "/rooms?floor=2"),
        ("{type: http, scheme: bearer}", "authorization", "Bearer s3cret:canary", "/rooms?floor=2"),
        ("{type: http, scheme: basic}", "authorization", "Basic czNjcmV0OmNhbmFyeQ==", "/rooms?floor=2"),
    ] {
        let (model, api) = (model().await, api().await);
        let proxy = proxy(&model, &api, scheme, "key = \"s3cret:canary\"").await;
        assert!(told(&proxy).await.contains("Amber"));
        let request = api.only_request();
        assert_eq!(request.target, target);
        assert_eq!(request.header(field), (!field.is_empty()).then_some(value), "{scheme}");
        let elsewhere = format!("{:?} {}", model.received(), proxy.log());
        assert!(!elsewhere.contains("canary"), "{elsewhere}");
    }
}

#[tokio::test]
async fn a_secret_comes_from_the_environment() {
    let (model, api) = (model().await, api().await);
    let config = config_of(&model, &api, "key = \"${ROOMS_TEST_KEY}\"");
    let (files, variables) = ([("rooms.yaml", rooms::DOCUMENT)], [("ROOMS_TEST_KEY", "from-the-environment")]);
    let proxy = Proxy::start_with_files_and_environment(config, &files, &variables).await;
    told(&proxy).await;
    assert_eq!(api.only_request().header("x-api-key"), Some("from-the-environment"));
}

#[tokio::test]
async fn a_secret_file_may_change_and_vanish_while_the_proxy_runs() {
    let (model, api) = (model().await, api().await);
    let config = config_of(&model, &api, "key = { file = \"rooms-key\" }");
    let proxy = Proxy::start_with_files(config, &[("rooms.yaml", rooms::DOCUMENT), ("rooms-key", "canary-1\n")]).await;
    told(&proxy).await;
    proxy.write("rooms-key", " canary-2 \r\n");
    told(&proxy).await;
    let keys: Vec<_> = api.received().iter().map(|request| request.header("x-api-key").unwrap().to_owned()).collect();
    assert_eq!(keys, ["canary-1", "canary-2"], "white space around it is no part of a secret");

    std::fs::remove_file(proxy.directory().join("rooms-key")).unwrap();
    let unavailable = told(&proxy).await;
    assert!(unavailable.contains("not authorised") && !unavailable.contains("rooms-key"), "{unavailable}");
    assert_eq!(api.received().len(), 2, "without its credential a call is not sent");
    told(&proxy).await;
    proxy.write("rooms-key", "canary-3");
    told(&proxy).await;
    std::fs::remove_file(proxy.directory().join("rooms-key")).unwrap();
    told(&proxy).await;
    // Each of them is counted.
    proxy.metric_reaches("calls_refused_total", &[("reason", "credential_unavailable")], 3.0).await;
    let log = proxy.stop().await.log();
    let logged: Vec<&str> = log.lines().filter(|line| line.contains("no credential: ")).collect();
    assert!(logged.iter().all(|line| line.contains("rooms-key")) && !log.contains("canary"), "which file: {log}");
    assert_eq!(logged.len(), 2, "once until the credential is there again: {log}");
}

#[tokio::test]
async fn a_file_that_is_no_secret_is_said_at_the_start() {
    let (model, api) = (model().await, api().await);
    let config = config_of(&model, &api, "key = { file = \"rooms-key\" }");
    for (contents, why) in [("", "empty"), (&"canary ".repeat(10_000)[..], "larger than")] {
        let files = [("rooms.yaml", rooms::DOCUMENT), ("rooms-key", contents)];
        let proxy = Proxy::start_with_files(config.clone(), &files).await;
        let log = proxy.log();
        assert!(log.contains("rooms-key") && log.contains(why) && !log.contains("canary"), "{log}");
    }
}

/// A token endpoint that numbers its tokens.
async fn tokens() -> Server {
    Server::scripted(|number, _| {
        Reply::json(200, &json!({"access_token": format!("canary-token-{number}"), "expires_in": 3600}))
    })
    .await
}

fn oauth(tokens: &Server) -> String {
    format!(
        "{{type: oauth2, flows: {{clientCredentials: {{tokenUrl: \"{}\", scopes: {{}}}}}}}}",
        tokens.url("/oauth/token")
    )
}

const CLIENT: &str = "key = { client_id = \"me\", client_secret = \"canary-client\" }";

#[tokio::test]
async fn one_token_serves_all_turns_and_is_seen_by_the_api_alone() {
    let (model, api, tokens) = (model().await, api().await, tokens().await);
    let proxy = proxy(&model, &api, &oauth(&tokens), CLIENT).await;
    let turns = futures_util::future::join_all((0..8).map(|_| told(&proxy))).await;
    assert!(turns.iter().all(|told| told.contains("Amber")), "{turns:?}");
    let asked = tokens.only_request();
    assert_eq!((asked.target.as_str(), asked.text().as_str()), ("/oauth/token", "grant_type=client_credentials"));
    assert_eq!(authorizations(&api.received()), vec!["Bearer canary-token-0"; 8]);
    let elsewhere = format!("{:?} {} {:?}", model.received(), proxy.log(), proxy.traces_after_stop().await);
    assert!(!elsewhere.contains("canary"), "{elsewhere}");
}

#[tokio::test]
async fn a_token_that_the_api_refuses_is_replaced_once() {
    let (model, tokens) = (model().await, tokens().await);
    let api = Server::scripted(|_, received| match received.header("authorization") {
        Some("Bearer canary-token-1") => Reply::json(200, &json!(["Amber"])),
        _ => Reply::json(401, &json!({"error": "the token is no longer valid"})),
    })
    .await;
    let proxy = proxy(&model, &api, &oauth(&tokens), CLIENT).await;
    // The first token is new, so a second one would be refused as well.
    assert!(told(&proxy).await.contains("401"));
    assert_eq!((tokens.received().len(), api.received().len()), (1, 1));
    api.take_received();
    assert!(told(&proxy).await.contains("Amber"));
    assert_eq!(tokens.received().len(), 2);
    assert_eq!(authorizations(&api.received()), ["Bearer canary-token-0", "Bearer canary-token-1"]);
}

#[tokio::test]
async fn a_token_endpoint_that_fails_is_told_to_the_operator() {
    let (model, api) = (model().await, api().await);
    let tokens = Server::always(Reply::json(401, &json!({"error": "invalid_client"}))).await;
    let proxy = proxy(&model, &api, &oauth(&tokens), CLIENT).await;
    let told = told(&proxy).await;
    assert!(told.contains("not authorised") && !told.contains("invalid_client"), "{told}");
    assert!(api.received().is_empty());
    let log = proxy.log();
    assert!(log.contains("401 with `invalid_client`") && !log.contains("canary"), "{log}");
}

#[tokio::test]
async fn two_toolsets_on_one_server_have_each_their_own() {
    let api = api().await;
    let model = Server::scripted(|_, received| match received.last_message()["role"].as_str() {
        Some("tool") => answer::text("Done."),
        _ => answer::calls(&[
            answer::call("a", "listRooms", r#"{"floor":2}"#),
            answer::call("b", "listDesks", r#"{"floor":3}"#),
        ]),
    })
    .await;
    let desks = rooms::DOCUMENT.replace("listRooms", "listDesks").replace("getRoom", "getDesk");
    let desks = desks.replace("bookRoom", "bookDesk").replace("Lists the rooms", "Lists the desks");
    let config = config_of(&model, &api, "key = \"key-of-rooms\"")
        .replace("toolsets = [\"rooms\"]", "toolsets = [\"rooms\", \"desks\"]")
        + &format!("[toolsets.desks]\ndocument = \"desks.yaml\"\nbase_url = \"{}\"\n", api.url(""))
        + "[toolsets.desks.credentials]\nkey = \"key-of-desks\"\n";
    let proxy = Proxy::start_with_files(config, &[("rooms.yaml", rooms::DOCUMENT), ("desks.yaml", &desks)]).await;
    told(&proxy).await;
    let mut sent: Vec<(String, String)> = api
        .received()
        .into_iter()
        .map(|request| (request.target.clone(), request.header("x-api-key").unwrap().to_owned()))
        .collect();
    sent.sort();
    let expected = [("/rooms?floor=2", "key-of-rooms"), ("/rooms?floor=3", "key-of-desks")];
    assert_eq!(sent, expected.map(|(target, key)| (target.to_owned(), key.to_owned())));
}

#[tokio::test]
async fn toolsets_without_a_required_credential_are_named_at_start() {
    let (model, api) = (model().await, api().await);
    let proxy = proxy(&model, &api, KEY_IN_HEADER, "").await;
    assert!(proxy.log().contains("3 operations require a credential"), "{}", proxy.log());
    assert!(told(&proxy).await.contains("not authorised"));
    assert!(api.received().is_empty());
}

/// Checks the trace of a response that was shortened for the model.
#[tokio::test]
async fn a_shortened_answer_is_whole_in_the_trace_but_for_the_secret() {
    let model = model().await;
    let api = Server::scripted(|_, received| {
        let items: Vec<Value> = (0..2_000).map(|id| json!({"id": id, "key": received.header("x-api-key")})).collect();
        Reply::json(200, &json!({"items": items}))
    })
    .await;
    let config = config_of(&model, &api, "key = \"canary-key\"")
        + "[pipeline]\noutcome_chars = 1000\n"
        + &crate::support::policy::table("recording");
    let policy = crate::support::policy::file("recording", "record:\n  bodies: true");
    let files = [("rooms.yaml", rooms::DOCUMENT), ("policies/recording.yaml", &policy)];
    let proxy = Proxy::start_with_files(config, &files).await;
    let (first, second) = (told(&proxy).await, told(&proxy).await);
    assert_eq!(first, second, "the same answer is shortened in the same way");
    let shown: Value = serde_json::from_str(&first).unwrap();
    let items = shown["items"].as_array().unwrap();
    assert!(first.chars().count() <= 1_000 && items.len() > 10, "{first}");
    assert_eq!(items.last().unwrap(), &json!(format!("… ({} more items)", 2_000 - (items.len() - 1))));
    let traces = proxy.traces_after_stop().await;
    let kept: Value = serde_json::from_str(traces[0]["executions"][0]["body"].as_str().unwrap()).unwrap();
    assert_eq!(kept["items"].as_array().unwrap().len(), 2_000);
    assert_eq!(kept["items"][7], json!({"id": 7, "key": "***"}));
}
