//! Tokens that are shared between executors.

use std::collections::HashMap;

use futures_util::future::{BoxFuture, pending};
use jiff::{SignedDuration, Timestamp};

use super::credentials::{bearer, client, given, needing, oauth, reply, token_server};
use super::server::Server;
use super::*;
use callwright_store::{SharedToken, SharedTokens};

/// In-memory token store that counts its queries.
#[derive(Debug, Default)]
struct StoredTokens {
    tokens: Mutex<HashMap<String, SharedToken>>,
    reads: Mutex<usize>,
}

impl SharedTokens for StoredTokens {
    fn token<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<SharedToken>, StoreError>> {
        *self.reads.lock().unwrap() += 1;
        Box::pin(async move { Ok(self.tokens.lock().unwrap().get(name).cloned()) })
    }

    fn share<'a>(&'a self, name: &'a str, token: &'a SharedToken) -> BoxFuture<'a, Result<(), StoreError>> {
        self.tokens.lock().unwrap().insert(name.to_owned(), token.clone());
        Box::pin(async { Ok(()) })
    }
}

/// Token store whose reads fail and whose writes never end.
#[derive(Debug)]
struct HangingTokens;

impl SharedTokens for HangingTokens {
    fn token<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<SharedToken>, StoreError>> {
        Box::pin(async { Err(StoreError::Unavailable("down".to_owned())) })
    }

    fn share<'a>(&'a self, _: &'a str, _: &'a SharedToken) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(pending())
    }
}

fn sharing(tokens: &Arc<impl SharedTokens + 'static>) -> Executor {
    let tokens = Arc::clone(tokens) as Arc<dyn SharedTokens>;
    Executor::build(&local(), Arc::new(Remembered::default()), Some(tokens)).unwrap()
}

/// Waits until this number of tokens is shared, which happens in the background.
async fn shared(stored: &StoredTokens, count: usize) {
    while stored.tokens.lock().unwrap().len() < count {
        tokio::task::yield_now().await;
    }
}

async fn get(executor: &Executor, toolset: &Toolset, api: &Server) -> u16 {
    answer(run(executor, &needing(Method::GET, &api.url()), toolset, json!({})).await).status
}

#[tokio::test]
async fn one_token_request_serves_processes_that_each_read_once() {
    let (tokens, api, stored) = (token_server(3600).await, Server::plain().await, Arc::new(StoredTokens::default()));
    let toolset = oauth(&tokens.url(), client(given("client-secret")));
    get(&sharing(&stored), &toolset, &api).await;
    shared(&stored, 1).await;
    let second = sharing(&stored);
    for _ in 0..3 {
        get(&second, &toolset, &api).await;
    }
    assert_eq!((tokens.requests().len(), *stored.reads.lock().unwrap()), (1, 2));
    assert!(api.requests().iter().all(|request| bearer(request) == "Bearer issued-token-0"));
}

#[tokio::test]
async fn a_token_for_something_else_is_not_taken() {
    let (tokens, api, stored) = (token_server(3600).await, Server::plain().await, Arc::new(StoredTokens::default()));
    let plain = oauth(&tokens.url(), client(given("client-secret")));
    let of = |change: fn(&mut callwright_openapi::ClientCredentials)| {
        let mut credential = client(given("client-secret"));
        if let callwright_openapi::Credential::Client(client) = &mut credential {
            change(client);
        }
        oauth(&tokens.url(), credential)
    };
    let mut other = plain.clone();
    other.name = "other".into();
    let others = [
        of(|client| client.client_id = "you".into()),
        of(|client| client.audience = "a".into()),
        of(|client| client.scopes = Some(vec!["read".into()])),
        of(|client| drop(client.parameters.insert("resource".into(), "https://a".into()))),
        other,
    ];
    for (number, toolset) in std::iter::once(&plain).chain(&others).enumerate() {
        get(&sharing(&stored), toolset, &api).await;
        shared(&stored, number + 1).await;
    }
    assert_eq!(tokens.requests().len(), 1 + others.len());
}

#[tokio::test]
async fn a_shared_token_that_the_api_refuses_is_replaced_for_all() {
    let (tokens, stored) = (token_server(3600).await, Arc::new(StoredTokens::default()));
    let api =
        Server::http(|request| reply(if bearer(request) == "Bearer issued-token-1" { 200 } else { 401 }, "{}")).await;
    let toolset = oauth(&tokens.url(), client(given("client-secret")));
    assert_eq!(get(&sharing(&stored), &toolset, &api).await, 401, "it was requested just now");
    shared(&stored, 1).await;
    assert_eq!(get(&sharing(&stored), &toolset, &api).await, 200);
    let is_new = || stored.tokens.lock().unwrap().values().all(|token| token.secret.expose() == "issued-token-1");
    while !is_new() {
        tokio::task::yield_now().await;
    }
    assert_eq!(get(&sharing(&stored), &toolset, &api).await, 200);
    assert_eq!(tokens.requests().len(), 2);
}

#[tokio::test]
async fn an_expired_shared_token_is_not_used() {
    let (tokens, api, stored) = (token_server(3600).await, Server::plain().await, Arc::new(StoredTokens::default()));
    let toolset = oauth(&tokens.url(), client(given("client-secret")));
    get(&sharing(&stored), &toolset, &api).await;
    shared(&stored, 1).await;
    for token in stored.tokens.lock().unwrap().values_mut() {
        token.use_until = Timestamp::now().saturating_sub(SignedDuration::from_secs(1)).unwrap();
    }
    get(&sharing(&stored), &toolset, &api).await;
    assert_eq!(tokens.requests().len(), 2);
}

#[tokio::test]
async fn a_store_that_is_down_or_hangs_keeps_no_call_waiting() {
    let (tokens, api) = (token_server(3600).await, Server::plain().await);
    let toolset = oauth(&tokens.url(), client(given("client-secret")));
    let executor = sharing(&Arc::new(HangingTokens));
    for _ in 0..2 {
        assert_eq!(get(&executor, &toolset, &api).await, 200);
    }
    assert_eq!(tokens.requests().len(), 1);
}
