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
struct Kept {
    tokens: Mutex<HashMap<String, SharedToken>>,
    asked: Mutex<usize>,
}

impl SharedTokens for Kept {
    fn token<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<SharedToken>, StoreError>> {
        *self.asked.lock().unwrap() += 1;
        Box::pin(async move { Ok(self.tokens.lock().unwrap().get(name).cloned()) })
    }

    fn share<'a>(&'a self, name: &'a str, token: &'a SharedToken) -> BoxFuture<'a, Result<(), StoreError>> {
        self.tokens.lock().unwrap().insert(name.to_owned(), token.clone());
        Box::pin(async { Ok(()) })
    }
}

/// Token store whose reads fail and whose writes never end.
#[derive(Debug)]
struct Stuck;

impl SharedTokens for Stuck {
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
async fn shared(kept: &Kept, count: usize) {
    while kept.tokens.lock().unwrap().len() < count {
        tokio::task::yield_now().await;
    }
}

async fn get(executor: &Executor, toolset: &Toolset, api: &Server) -> u16 {
    answer(run(executor, &needing(Method::GET, &api.url()), toolset, json!({})).await).status
}

#[tokio::test]
async fn one_request_serves_several_processes_and_each_looks_once() {
    let (tokens, api, kept) = (token_server(3600).await, Server::plain().await, Arc::new(Kept::default()));
    let toolset = oauth(&tokens.url(), client(given("client-secret")));
    get(&sharing(&kept), &toolset, &api).await;
    shared(&kept, 1).await;
    let second = sharing(&kept);
    for _ in 0..3 {
        get(&second, &toolset, &api).await;
    }
    assert_eq!((tokens.seen().len(), *kept.asked.lock().unwrap()), (1, 2));
    assert!(api.seen().iter().all(|seen| bearer(seen) == "Bearer issued-token-0"));
}

#[tokio::test]
async fn a_token_for_something_else_is_not_taken() {
    let (tokens, api, kept) = (token_server(3600).await, Server::plain().await, Arc::new(Kept::default()));
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
        get(&sharing(&kept), toolset, &api).await;
        shared(&kept, number + 1).await;
    }
    assert_eq!(tokens.seen().len(), 1 + others.len());
}

#[tokio::test]
async fn a_shared_token_that_the_api_refuses_is_replaced_for_all() {
    let (tokens, kept) = (token_server(3600).await, Arc::new(Kept::default()));
    let api = Server::http(|seen| reply(if bearer(seen) == "Bearer issued-token-1" { 200 } else { 401 }, "{}")).await;
    let toolset = oauth(&tokens.url(), client(given("client-secret")));
    assert_eq!(get(&sharing(&kept), &toolset, &api).await, 401, "it was requested just now");
    shared(&kept, 1).await;
    assert_eq!(get(&sharing(&kept), &toolset, &api).await, 200);
    let is_new = || kept.tokens.lock().unwrap().values().all(|token| token.secret.expose() == "issued-token-1");
    while !is_new() {
        tokio::task::yield_now().await;
    }
    assert_eq!(get(&sharing(&kept), &toolset, &api).await, 200);
    assert_eq!(tokens.seen().len(), 2);
}

#[tokio::test]
async fn one_that_ended_is_not_used_whoever_says_that_it_is_good() {
    let (tokens, api, kept) = (token_server(3600).await, Server::plain().await, Arc::new(Kept::default()));
    let toolset = oauth(&tokens.url(), client(given("client-secret")));
    get(&sharing(&kept), &toolset, &api).await;
    shared(&kept, 1).await;
    for token in kept.tokens.lock().unwrap().values_mut() {
        token.use_until = Timestamp::now().saturating_sub(SignedDuration::from_secs(1)).unwrap();
    }
    get(&sharing(&kept), &toolset, &api).await;
    assert_eq!(tokens.seen().len(), 2);
}

#[tokio::test]
async fn a_store_that_is_down_or_hangs_keeps_no_call_waiting() {
    let (tokens, api) = (token_server(3600).await, Server::plain().await);
    let toolset = oauth(&tokens.url(), client(given("client-secret")));
    let executor = sharing(&Arc::new(Stuck));
    for _ in 0..2 {
        assert_eq!(get(&executor, &toolset, &api).await, 200);
    }
    assert_eq!(tokens.seen().len(), 1);
}
