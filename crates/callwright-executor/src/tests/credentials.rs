//! Sources and destinations of credentials, and locations where they must never appear.

use crate::LackingCredential;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body_util::Full;

use super::server::{RecordedRequest, Server, unreachable_server};
use super::*;
use callwright_openapi::{ClientCredentials, Credential, MissingCredentials, SecretSource};

type Reply = Response<Full<Bytes>>;

pub(super) fn reply(status: u16, body: &str) -> Reply {
    Response::builder().status(status).body(Full::from(body.to_owned())).unwrap()
}

/// Starts a token endpoint that numbers its tokens.
pub(super) async fn token_server(lifetime: u64) -> Server {
    let count = Arc::new(AtomicUsize::new(0));
    Server::http(move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        reply(
            200,
            &format!(r#"{{"access_token":"issued-token-{number}","token_type":"bearer","expires_in":{lifetime}}}"#),
        )
    })
    .await
}

pub(super) fn bearer(request: &RecordedRequest) -> &str {
    request.headers["authorization"].to_str().unwrap()
}

pub(super) fn client(secret: SecretSource) -> Credential {
    let client = ClientCredentials { client_id: "me".into(), client_secret: secret, ..ClientCredentials::default() };
    Credential::Client(Box::new(client))
}

pub(super) fn given(secret: &str) -> SecretSource {
    SecretSource::Given(Secret::new(secret))
}

/// Returns the toolset whose scheme `key` is OAuth 2 with this token endpoint.
pub(super) fn oauth(token_url: &str, credential: Credential) -> Toolset {
    let mut toolset = guarded(SecurityScheme::OAuth2 { token_url: Some(format!("{token_url}/token")) }, None);
    toolset.credentials.insert("key".into(), credential);
    toolset
}

pub(super) fn needing(method: Method, server: &str) -> Operation {
    let mut operation = operation(method, server, "/r", Vec::new());
    operation.security = vec![vec!["key".into()]];
    operation
}

fn in_file(folder: &tempfile::TempDir, contents: &str) -> (std::path::PathBuf, SecretSource) {
    let path = folder.path().join("secret");
    std::fs::write(&path, contents).unwrap();
    (path.clone(), SecretSource::File { file: path.to_str().unwrap().into() })
}

#[tokio::test]
async fn a_token_is_requested_once_and_used_until_it_ends() {
    let (tokens, api) = (token_server(3600).await, Server::plain().await);
    let toolset = oauth(&tokens.url(), client(given("client-secret")));
    let executor = executor(&local());
    let mut operation = needing(Method::GET, &api.url());
    operation.security[0][0].scopes = vec!["read".into()];
    for _ in 0..3 {
        answer(run(&executor, &operation, &toolset, json!({})).await);
    }
    let request = tokens.only();
    assert_eq!((request.method.clone(), request.target.as_str()), (Method::POST, "/token"));
    assert_eq!(&request.body[..], b"grant_type=client_credentials&scope=read");
    assert_eq!(request.headers["authorization"], "Basic bWU6Y2xpZW50LXNlY3JldA==");
    assert!(api.requests().iter().all(|request| bearer(request) == "Bearer issued-token-0"));

    operation.security[0][0].scopes = vec!["write".into()];
    answer(run(&executor, &operation, &toolset, json!({})).await);
    let mut other = toolset.clone();
    other.name = "depot".into();
    answer(run(&executor, &operation, &other, json!({})).await);
    assert_eq!(tokens.requests().len(), 3, "other scopes and other toolsets have tokens of their own");
}

#[tokio::test]
async fn a_token_that_ends_is_replaced() {
    let (tokens, api) = (token_server(0).await, Server::plain().await);
    let toolset = oauth(&tokens.url(), client(given("client-secret")));
    let executor = executor(&local());
    for _ in 0..2 {
        answer(run(&executor, &needing(Method::GET, &api.url()), &toolset, json!({})).await);
    }
    let used: Vec<String> = api.requests().iter().map(|request| bearer(request).to_owned()).collect();
    assert_eq!(used, ["Bearer issued-token-0", "Bearer issued-token-1"]);
}

#[tokio::test]
async fn simultaneous_calls_wait_for_one_token_and_share_a_failure() {
    let api = Server::plain().await;
    for (status, body, reaches_api) in
        [(200, r#"{"access_token":"shared-token"}"#, 20), (400, r#"{"error":"invalid_client"}"#, 0)]
    {
        let tokens = Server::slow_http(Duration::from_millis(50), move |_| reply(status, body)).await;
        let toolset = oauth(&tokens.url(), client(given("client-secret")));
        let executor = executor(&Settings { timeout_seconds: 20, ..local() });
        let operation = needing(Method::GET, &api.url());
        let before = api.requests().len();
        futures_util::future::join_all((0..20).map(|_| run(&executor, &operation, &toolset, json!({})))).await;
        assert_eq!(tokens.requests().len(), 1, "{status}");
        assert_eq!(api.requests().len() - before, reaches_api, "{status}");
    }
}

/// Starts a server that rejects every token except this one.
async fn accepting(token: &'static str) -> Server {
    Server::http(move |request| if bearer(request) == token { reply(200, "{}") } else { reply(401, "{}") }).await
}

#[tokio::test]
async fn a_refused_token_is_replaced_and_any_call_is_repeated_once() {
    for method in [Method::GET, Method::POST] {
        let (tokens, api) = (token_server(3600).await, accepting("Bearer issued-token-1").await);
        let toolset = oauth(&tokens.url(), client(given("client-secret")));
        let intents = Arc::new(Remembered::default());
        let executor = Executor::build(&local(), Arc::clone(&intents) as Arc<dyn Intents>, None).unwrap();
        let operation = needing(method.clone(), &api.url());
        // A token that was requested for this call is rejected for another reason than its age.
        assert_eq!(answer(run(&executor, &operation, &toolset, json!({})).await).status, 401);
        assert_eq!((tokens.requests().len(), api.requests().len()), (1, 1));
        assert_eq!(answer(run(&executor, &operation, &toolset, json!({})).await).status, 200);
        assert_eq!((tokens.requests().len(), api.requests().len()), (2, 3));
        if method == Method::POST {
            assert_eq!(intents.labels(), [Some("success".to_owned())], "one intent for both requests");
        }
    }
}

#[tokio::test]
async fn a_call_that_is_refused_with_a_new_token_too_ends() {
    let (tokens, api) = (token_server(3600).await, accepting("Bearer none").await);
    let toolset = oauth(&tokens.url(), client(given("client-secret")));
    let executor = executor(&local());
    for expected in [(1, 1), (2, 3), (3, 5)] {
        assert_eq!(answer(run(&executor, &needing(Method::POST, &api.url()), &toolset, json!({})).await).status, 401);
        assert_eq!((tokens.requests().len(), api.requests().len()), expected);
    }
}

#[tokio::test]
async fn a_client_secret_is_sent_only_to_allowed_addresses_over_https() {
    let (tokens, api) = (Server::plain().await, Server::plain().await);
    let port = tokens.port();
    for host in [format!("http://127.0.0.2:{port}"), format!("http://localhost:{port}"), "https://10.0.0.1".to_owned()]
    {
        let toolset = oauth(&host, client(given("client-secret")));
        let outcome = run(&executor(&local()), &needing(Method::GET, &api.url()), &toolset, json!({})).await;
        assert!(refusal(outcome).contains("not authorised"), "{host}");
    }
    assert!(tokens.requests().is_empty() && api.requests().is_empty());
}

#[tokio::test]
async fn a_token_endpoint_that_redirects_is_not_followed() {
    let elsewhere = Server::plain().await;
    let location = elsewhere.url();
    let tokens = Server::http(move |_| {
        Response::builder().status(307).header("location", location.clone()).body(Full::default()).unwrap()
    })
    .await;
    let toolset = oauth(&tokens.url(), client(given("client-secret")));
    refusal(run(&executor(&local()), &needing(Method::GET, &unreachable_server().await), &toolset, json!({})).await);
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn an_unavailable_token_endpoint_is_a_temporary_failure() {
    let api = Server::plain().await;
    let busy = Server::http(|_| reply(503, "")).await;
    let silent = Server::silent().await;
    for url in [unreachable_server().await, busy.url(), silent.url()] {
        let toolset = oauth(&url, client(given("client-secret")));
        let outcome = run(&executor(&local()), &needing(Method::POST, &api.url()), &toolset, json!({})).await;
        assert!(matches!(outcome, Outcome::Unreachable { .. }), "{outcome:?}");
    }
    assert!(api.requests().is_empty());
}

#[tokio::test]
async fn an_endless_answer_of_a_token_endpoint_is_bounded() {
    let tokens = Server::endless(b"HTTP/1.1 200 OK\r\n\r\n{\"access_token\":\"", &[b'x'; 4_096]).await;
    let toolset = oauth(&tokens.url(), client(given("client-secret")));
    refusal(run(&executor(&local()), &needing(Method::GET, &unreachable_server().await), &toolset, json!({})).await);
}

#[tokio::test]
async fn a_secret_in_a_file_is_read_for_every_call() {
    let folder = tempfile::tempdir().unwrap();
    let (path, source) = in_file(&folder, "first-secret\n");
    let api = Server::plain().await;
    let mut toolset = guarded(SecurityScheme::Bearer, None);
    toolset.credentials.insert("key".into(), Credential::Fixed(source));
    let executor = executor(&local());
    let operation = needing(Method::GET, &api.url());
    answer(run(&executor, &operation, &toolset, json!({})).await);
    std::fs::write(&path, "second-secret").unwrap();
    answer(run(&executor, &operation, &toolset, json!({})).await);
    std::fs::remove_file(&path).unwrap();
    let reason = refusal(run(&executor, &operation, &toolset, json!({})).await);
    assert!(!reason.contains("secret"), "the model learns nothing about files: {reason}");
    let used: Vec<String> = api.requests().iter().map(|request| bearer(request).to_owned()).collect();
    assert_eq!(used, ["Bearer first-secret", "Bearer second-secret"]);
}

#[tokio::test]
async fn a_file_that_changed_during_the_refusal_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (path, source) = in_file(&folder, "old-secret");
    let api = Server::http(move |request| {
        if bearer(request) == "Bearer new-secret" {
            return reply(200, "{}");
        }
        std::fs::write(&path, "new-secret").unwrap();
        reply(401, "{}")
    })
    .await;
    let mut toolset = guarded(SecurityScheme::Bearer, None);
    toolset.credentials.insert("key".into(), Credential::Fixed(source));
    let executor = executor(&local());
    assert_eq!(answer(run(&executor, &needing(Method::GET, &api.url()), &toolset, json!({})).await).status, 200);
    assert_eq!(api.requests().len(), 2);
}

#[tokio::test]
async fn without_its_credential_a_call_is_not_sent_unless_configured() {
    let api = Server::plain().await;
    let mut toolset = guarded(SecurityScheme::Bearer, None);
    let operation = needing(Method::GET, &api.url());
    let reason = refusal(run(&executor(&local()), &operation, &toolset, json!({})).await);
    assert!(reason.contains("not authorised") && !reason.contains("key"), "{reason}");
    assert!(api.requests().is_empty());
    toolset.missing_credentials = MissingCredentials::Send;
    answer(run(&executor(&local()), &operation, &toolset, json!({})).await);
    assert!(!api.only().headers.contains_key("authorization"));
}

#[tokio::test]
async fn an_undefined_scheme_requires_no_credential() {
    let api = Server::plain().await;
    answer(run(&executor(&local()), &needing(Method::GET, &api.url()), &toolset(), json!({})).await);
    assert_eq!(api.requests().len(), 1);
}

#[tokio::test]
async fn an_unavailable_alternative_falls_back_to_the_next() {
    let api = Server::plain().await;
    let mut toolset = guarded(SecurityScheme::Bearer, None);
    toolset.security_schemes.insert("spare".into(), SecurityScheme::Bearer);
    let gone = SecretSource::File { file: "/nowhere/secret".into() };
    toolset.credentials.insert("key".into(), Credential::Fixed(gone));
    toolset.credentials.insert("spare".into(), Secret::new("spare-secret").into());
    let mut operation = needing(Method::GET, &api.url());
    operation.security.push(vec!["spare".into()]);
    answer(run(&executor(&local()), &operation, &toolset, json!({})).await);
    assert_eq!(bearer(&api.only()), "Bearer spare-secret");
}

#[tokio::test]
async fn an_api_that_echoes_the_request_reveals_no_secret() {
    let api = Server::http(|request| {
        let echoed = format!("{} {}", request.target, request.headers.get("authorization").unwrap().to_str().unwrap());
        Response::builder().status(403).header("link", format!("<{echoed}>")).body(Full::from(echoed)).unwrap()
    })
    .await;
    let tokens = token_server(3600).await;
    let mut toolset = oauth(&tokens.url(), client(given("client-secret")));
    let query_key = SecurityScheme::ApiKey { location: Location::Query, name: "k".into() };
    toolset.security_schemes.insert("query".into(), query_key);
    toolset.credentials.insert("query".into(), Secret::new("query/secret").into());
    let mut operation = needing(Method::GET, &api.url());
    operation.security[0].push("query".into());
    let outcome = run(&executor(&local()), &operation, &toolset, json!({})).await;
    let answer = answer(outcome);
    assert_eq!(answer.text(), "/r?k=*** Bearer ***");
    assert_eq!(answer.header("link"), Some("</r?k=*** Bearer ***>"));
}

#[tokio::test]
async fn the_audit_names_missing_credentials_and_no_secret() {
    let mut toolset = guarded(SecurityScheme::Basic, None);
    toolset.operations =
        vec![needing(Method::GET, "https://a.example.com"), needing(Method::PUT, "https://a.example.com")];
    let (audit, lacking) = (crate::audit_credentials, crate::lacking_credentials);
    let found = lacking(&toolset);
    assert_eq!(found, [LackingCredential { scheme: "key".into(), takes_client: false, operations: 2 }]);
    assert!(audit(&toolset).is_empty(), "nothing is configured");
    toolset.credentials.insert("key".into(), client(given("canary-secret")));
    let found = audit(&toolset);
    assert!(found.len() == 1 && found[0].contains("takes no token") && !found[0].contains("canary"), "{found:?}");
    let gone = SecretSource::File { file: "/nowhere/secret".into() };
    toolset.credentials.insert("key".into(), Credential::Fixed(gone));
    assert!(audit(&toolset)[0].contains("`/nowhere/secret`"));
    toolset.credentials.insert("key".into(), Secret::new("user:password").into());
    assert!(audit(&toolset).is_empty() && lacking(&toolset).is_empty());
}
