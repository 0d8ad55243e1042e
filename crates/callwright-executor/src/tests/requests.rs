//! Requests as sent: their parts, credentials, addresses and permissions.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::server::{Server, unreachable_server};
use super::*;
use crate::address::Lookup;

#[tokio::test]
async fn every_argument_is_sent_in_its_location() {
    let server = Server::plain().await;
    let bindings = vec![
        binding("id", Location::Path),
        binding("tags", Location::Query),
        binding("X-Trace", Location::Header),
        binding("theme", Location::Cookie),
    ];
    let mut operation = operation(Method::POST, &format!("{}/v1/?fixed=1", server.url()), "/items/{id}", bindings);
    operation.body = Some(json_body(&["name", "count"]));
    let arguments = json!({"id": "a/b", "tags": ["x y", "z"], "X-Trace": "t1", "theme": "d;k", "name": "ü", "count": 2, "other": 1});
    let answer = answer(run(&executor(&local()), &operation, &toolset(), arguments).await);
    assert_eq!((answer.status, &answer.body[..]), (200, &b"{}"[..]));
    let request = server.only();
    assert_eq!(request.method, Method::POST);
    assert_eq!(request.target, "/v1/items/a%2Fb?fixed=1&tags=x%20y&tags=z");
    assert_eq!(request.headers["x-trace"], "t1");
    assert_eq!(request.headers["cookie"], "theme=d%3Bk");
    assert_eq!(request.headers["content-type"], "application/json");
    assert_eq!(request.headers["accept"], "application/json, */*;q=0.1");
    assert_eq!(serde_json::from_slice::<Value>(&request.body).unwrap(), json!({"name": "ü", "count": 2}));
}

#[tokio::test]
async fn each_kind_of_credential_is_sent_as_its_scheme_specifies() {
    let key = |location, name: &str| SecurityScheme::ApiKey { location, name: name.into() };
    let cases = [
        (key(Location::Header, "X-Api-Key"), "s e", "x-api-key", "s e", "/r"),
        (key(Location::Query, "api key"), "s&e", "", "", "/r?api%20key=s%26e"),
        (key(Location::Cookie, "sid"), "s;e", "cookie", "sid=s%3Be", "/r"),
        (SecurityScheme::Bearer, "tok", "authorization", "Bearer tok", "/r"),
        (SecurityScheme::OAuth2 { token_url: None }, "tok", "authorization", "Bearer tok", "/r"),
        (SecurityScheme::Basic, "user:pässword", "authorization", "Basic dXNlcjpww6Rzc3dvcmQ=", "/r"),
    ];
    for (scheme, secret, header, value, target) in cases {
        let server = Server::plain().await;
        let mut operation = operation(Method::GET, &server.url(), "/r", Vec::new());
        operation.security = vec![vec!["key".into()]];
        answer(run(&executor(&local()), &operation, &guarded(scheme, Some(secret)), json!({})).await);
        let request = server.only();
        assert_eq!(request.target, target);
        if !header.is_empty() {
            assert_eq!(request.headers[header], value);
        }
    }
}

#[tokio::test]
async fn an_operation_gets_no_credential_that_it_does_not_require() {
    let server = Server::plain().await;
    let operation = operation(Method::GET, &server.url(), "/r", Vec::new());
    answer(run(&executor(&local()), &operation, &guarded(SecurityScheme::Bearer, Some("tok")), json!({})).await);
    assert!(!server.only().headers.contains_key("authorization"));
}

#[tokio::test]
async fn the_first_complete_alternative_is_used() {
    let server = Server::plain().await;
    let mut operation = operation(Method::GET, &server.url(), "/r", Vec::new());
    operation.security = vec![vec![], vec!["key".into(), "other".into()], vec!["key".into()]];
    let executor = executor(&local());
    answer(run(&executor, &operation, &guarded(SecurityScheme::Bearer, Some("tok")), json!({})).await);
    answer(run(&executor, &operation, &guarded(SecurityScheme::Bearer, None), json!({})).await);
    let requests = server.requests();
    assert_eq!(requests[0].headers["authorization"], "Bearer tok");
    assert!(!requests[1].headers.contains_key("authorization"));
}

#[tokio::test]
async fn no_argument_can_replace_a_credential() {
    let server = Server::plain().await;
    let bindings = vec![
        binding("api_key", Location::Query),
        binding("X-Key", Location::Header),
        binding("Authorization", Location::Header),
    ];
    let mut operation = operation(Method::GET, &server.url(), "/r", bindings);
    operation.security = vec![vec!["key".into()]];
    let arguments = json!({"api_key": "evil", "X-Key": "evil", "Authorization": "evil"});
    for location in [Location::Query, Location::Header] {
        let name = if location == Location::Query { "api_key" } else { "X-Key" };
        let toolset = guarded(SecurityScheme::ApiKey { location, name: name.into() }, Some("good"));
        answer(run(&executor(&local()), &operation, &toolset, arguments.clone()).await);
    }
    let requests = server.requests();
    assert_eq!(requests[0].target, "/r?api_key=good");
    assert_eq!(requests[1].headers["x-key"], "good");
    assert!(requests.iter().all(|request| !request.headers.contains_key("authorization")));
}

#[tokio::test]
async fn a_secret_is_in_no_reason() {
    let canary = "canary-4711";
    let broken = format!("{canary}\r\nX: 1");
    let key = |location| SecurityScheme::ApiKey { location, name: "k".into() };
    let server = unreachable_server().await;
    let mut operation = operation(Method::GET, &server, "/r", Vec::new());
    operation.security = vec![vec!["key".into()]];
    for toolset in [guarded(key(Location::Query), Some(canary)), guarded(key(Location::Header), Some(&broken))] {
        let outcome = run(&executor(&local()), &operation, &toolset, json!({})).await;
        let is_unsent =
            matches!(outcome, Outcome::Unreachable { .. } | Outcome::Refused(_) | Outcome::Unauthorised { .. });
        assert!(is_unsent, "{outcome:?}");
        assert!(!format!("{outcome:?}").contains("canary"), "{outcome:?}");
    }
}

#[tokio::test]
async fn denied_calls_are_not_sent() {
    let server = Server::plain().await;
    let operation = operation(Method::POST, &server.url(), "/r", Vec::new());
    let call = checked(&operation, &json!({}));
    let outcome =
        executor(&local()).execute(context(&call, &operation, &toolset(), &ExecuteRules::default(), None, "t")).await;
    assert!(refusal(outcome).contains("shop/use"));
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_call_of_another_tool_is_not_sent() {
    let server = Server::plain().await;
    let checked_for = operation(Method::GET, &server.url(), "/r", Vec::new());
    let mut other = checked_for.clone();
    let reference = OperationRef { toolset: "shop".into(), tool: "other".into() };
    other.tool = Arc::new(Tool { owner: Owner::Proxy(reference), ..(*checked_for.tool).clone() });
    let call = checked(&checked_for, &json!({}));
    let outcome = executor(&local()).execute(context(&call, &other, &toolset(), &allow_all(), None, "t")).await;
    assert!(refusal(outcome).contains("not checked"));
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_local_address_is_not_connected_to_unless_allowed() {
    let server = Server::plain().await;
    for host in ["127.0.0.1", "localhost", "127.1", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]"] {
        let operation = operation(Method::GET, &format!("http://{host}:{}", server.port()), "/r", Vec::new());
        let strict = executor(&Settings { allowed_addresses: Vec::new(), ..local() });
        let reason = refusal(run(&strict, &operation, &toolset(), json!({})).await);
        assert!(reason.contains("executor.allowed_addresses"), "{host}: {reason}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn servers_of_other_schemes_and_absent_ones_are_refused() {
    let mut file = operation(Method::GET, "file:///etc/passwd", "/r", Vec::new());
    assert!(refusal(run(&executor(&local()), &file, &toolset(), json!({})).await).contains("http"));
    file.servers.clear();
    assert!(refusal(run(&executor(&local()), &file, &toolset(), json!({})).await).contains("base_url"));
}

#[tokio::test]
async fn credentials_in_a_server_address_are_not_sent() {
    let server = Server::plain().await;
    let operation =
        operation(Method::GET, &format!("http://user:secret@127.0.0.1:{}", server.port()), "/r", Vec::new());
    answer(run(&executor(&local()), &operation, &toolset(), json!({})).await);
    assert!(!server.only().headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_url_beyond_all_bounds_is_refused() {
    let operation = operation(Method::GET, &unreachable_server().await, "/r", vec![binding("q", Location::Query)]);
    let arguments = json!({"q": "x".repeat(100_000)});
    assert!(refusal(run(&executor(&local()), &operation, &toolset(), arguments).await).contains("longer than"));
}

/// Resolver that returns one list of addresses after the other.
struct Scripted {
    turns: Vec<Vec<&'static str>>,
    lookups: Arc<AtomicUsize>,
}

impl Lookup for Scripted {
    fn lookup(&self, _name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let turn = self.lookups.fetch_add(1, Ordering::SeqCst).min(self.turns.len() - 1);
        let addresses = self.turns[turn].iter().map(|address| address.parse().unwrap()).collect();
        Box::pin(async move { Ok(addresses) })
    }
}

fn scripted(turns: Vec<Vec<&'static str>>) -> (Executor, Arc<AtomicUsize>) {
    let lookups = Arc::new(AtomicUsize::new(0));
    let lookup = Arc::new(Scripted { turns, lookups: Arc::clone(&lookups) });
    (Executor::with_lookup(&local(), Arc::new(Remembered::default()), None, lookup).unwrap(), lookups)
}

#[tokio::test]
async fn a_name_is_resolved_once_and_its_checked_address_is_connected() {
    let server =
        Server::http(|_| http::Response::builder().header("connection", "close").body("{}".into()).unwrap()).await;
    let operation = operation(Method::GET, &format!("http://rebound.example:{}", server.port()), "/r", Vec::new());
    // The second response is the rebinding attack: the executor must not connect on the basis of the first one.
    let (executor, lookups) = scripted(vec![vec!["127.0.0.1"], vec!["127.0.0.2"]]);
    assert_eq!(answer(run(&executor, &operation, &toolset(), json!({})).await).status, 200);
    assert_eq!(lookups.load(Ordering::SeqCst), 1);
    let reason = refusal(run(&executor, &operation, &toolset(), json!({})).await);
    assert!(reason.contains("127.0.0.2") && reason.contains("rebound.example"), "{reason}");
    assert_eq!(server.only().headers["host"], format!("rebound.example:{}", server.port()));
}

#[tokio::test]
async fn forbidden_addresses_among_permitted_ones_are_skipped() {
    let server = Server::plain().await;
    let operation = operation(Method::GET, &format!("http://mixed.example:{}", server.port()), "/r", Vec::new());
    let (executor, _) = scripted(vec![vec!["169.254.169.254", "127.0.0.1", "10.0.0.1"]]);
    answer(run(&executor, &operation, &toolset(), json!({})).await);
    assert_eq!(server.requests().len(), 1);
}

/// Resolver that resolves no name.
struct Nowhere;

impl Lookup for Nowhere {
    fn lookup(&self, _name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async { Err(io::Error::other("no such name")) })
    }
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_unreachable() {
    let executor = Executor::with_lookup(&local(), Arc::new(Remembered::default()), None, Arc::new(Nowhere)).unwrap();
    let operation = operation(Method::GET, "http://nothing.example", "/r", Vec::new());
    let outcome = run(&executor, &operation, &toolset(), json!({})).await;
    assert!(matches!(&outcome, Outcome::Unreachable { reason } if reason.contains("no such name")), "{outcome:?}");
}

#[test]
fn unusable_settings_are_errors_that_name_the_key() {
    let build =
        |settings: &Settings| Executor::build(settings, Arc::new(Remembered::default()), None).unwrap_err().to_string();
    let error = build(&Settings { allowed_addresses: vec!["10.0.0.0/99".into()], ..Settings::default() });
    assert!(error.contains("executor.allowed_addresses") && error.contains("10.0.0.0/99"), "{error}");
    let error = build(&Settings { ca_file: "/nowhere/ca.pem".into(), ..Settings::default() });
    assert!(error.contains("executor.ca_file") && error.contains("/nowhere/ca.pem"), "{error}");
}
