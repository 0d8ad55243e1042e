//! At-most-once execution while the outcome is unknown.

use std::time::Duration;

use http::Response;

use super::server::{Server, unreachable_server};
use super::*;
use callwright_openapi::IdempotencyKey;

fn with_intents(intents: &Arc<Remembered>) -> Executor {
    Executor::build(&local(), Arc::clone(intents) as Arc<dyn Intents>, None).unwrap()
}

fn post(server: &str) -> Operation {
    let mut operation = operation(Method::POST, server, "/book", Vec::new());
    operation.body = Some(json_body(&["room"]));
    operation
}

#[tokio::test]
async fn a_call_whose_outcome_is_unknown_is_never_sent_again() {
    let server = Server::raw(|stream| async move { drop(stream) }).await;
    let intents = Arc::new(Remembered::default());
    let operation = post(&server.url());
    let (first, second) = (with_intents(&intents), with_intents(&intents));
    unknown(run(&first, &operation, &toolset(), json!({"room": 1})).await);
    // Another executor with the same store, as after a restart.
    for executor in [&first, &second, &second] {
        let reason = unknown(run(executor, &operation, &toolset(), json!({"room": 1})).await);
        assert!(reason.contains("not sent again"), "{reason}");
    }
    assert_eq!(server.requests().len(), 1);
    unknown(run(&second, &operation, &toolset(), json!({"room": 2})).await);
    assert_eq!(server.requests().len(), 2, "other arguments are another call");
}

#[tokio::test]
async fn the_same_call_at_the_same_time_is_sent_once() {
    let server = Server::silent().await;
    let executor = with_intents(&Arc::default());
    let operation = post(&server.url());
    let set = toolset();
    let (one, other) = tokio::join!(
        run(&executor, &operation, &set, json!({"room": 1})),
        run(&executor, &operation, &set, json!({"room": 1}))
    );
    unknown(one);
    unknown(other);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn another_session_is_another_call() {
    let server = Server::raw(|stream| async move { drop(stream) }).await;
    let executor = with_intents(&Arc::default());
    let operation = post(&server.url());
    let call = checked(&operation, &json!({"room": 1}));
    for (session, trace) in
        [(Some("a"), "t1"), (Some("b"), "t2"), (None, "t3"), (None, "t4"), (Some("a"), "t5"), (None, "t3")]
    {
        unknown(executor.execute(context(&call, &operation, &toolset(), &allow_all(), session, trace)).await);
    }
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn a_finished_call_may_be_made_again() {
    let server = Server::http(|_| Response::builder().status(409).body("{}".into()).unwrap()).await;
    let intents = Arc::new(Remembered::default());
    let executor = with_intents(&intents);
    for _ in 0..2 {
        assert_eq!(answer(run(&executor, &post(&server.url()), &toolset(), json!({})).await).status, 409);
    }
    assert_eq!(server.requests().len(), 2);
    assert_eq!(intents.labels(), [Some("client_error".to_owned())]);
}

#[tokio::test]
async fn an_undelivered_answer_is_repeated_without_a_request() {
    let server = Server::http(|_| Response::builder().status(201).body(r#"{"id":7}"#.into()).unwrap()).await;
    let intents = Arc::new(Remembered::default());
    let operation = post(&server.url());
    let call = checked(&operation, &json!({"room": 1}));
    let execute = async |turn| {
        // Another executor with the same store, as after a restart.
        with_intents(&intents).execute(context(&call, &operation, &toolset(), &allow_all(), Some("s"), turn)).await
    };
    let first = answer(execute("t1").await);
    for turn in ["t2", "t3"] {
        let again = answer(execute(turn).await);
        assert_eq!((again.status, &again.body), (first.status, &first.body));
    }
    assert_eq!(server.requests().len(), 1);
    with_intents(&intents).mark_delivered("t3").await;
    answer(execute("t4").await);
    assert_eq!(server.requests().len(), 2, "the client received the outcome and repeats the call");
    answer(execute("t4").await);
    assert_eq!(server.requests().len(), 3, "the model received the outcome and repeats the call");
}

/// Returns an operation whose documented idempotency key is a header.
fn keyed(server: &str) -> Operation {
    let mut operation = post(server);
    operation.bindings.push(binding("Idempotency-Key", Location::Header));
    operation.idempotency_key = Some(IdempotencyKey { argument: "Idempotency-Key".into(), max_chars: 36 });
    operation
}

fn keys(server: &Server) -> Vec<String> {
    server.requests().iter().map(|request| request.headers["idempotency-key"].to_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_repeat_of_an_unknown_outcome_has_the_first_requests_key() {
    let server = Server::http(|_| Response::builder().status(503).body("{}".into()).unwrap()).await;
    let intents = Arc::new(Remembered::default());
    let operation = keyed(&server.url());
    for turn in ["t1", "t2", "t3"] {
        let call = checked(&operation, &json!({"room": 1}));
        let executor = with_intents(&intents);
        answer(executor.execute(context(&call, &operation, &toolset(), &allow_all(), Some("s"), turn)).await);
    }
    let sent = keys(&server);
    assert_eq!(sent.len(), 3, "the request is repeated for an API with keys");
    assert!(sent.iter().all(|key| *key == sent[0] && key.len() == 36), "{sent:?}");
}

#[tokio::test]
async fn a_request_with_a_key_is_repeated_by_itself_with_that_key() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let (requests, record) = (Arc::clone(&heads), heads);
    let server = Server::raw_heads(move |head, stream| {
        record.lock().unwrap().push(head);
        async move { drop(stream) }
    })
    .await;
    let executor =
        Executor::build(&Settings { max_repeats: 3, ..local() }, Arc::new(Remembered::default()), None).unwrap();
    unknown(run(&executor, &keyed(&server.url()), &toolset(), json!({"room": 1})).await);
    let requests = requests.lock().unwrap();
    let key = |head: &String| head.lines().find(|line| line.starts_with("idempotency-key: ")).map(str::to_owned);
    assert_eq!(requests.len(), 4);
    assert!(key(&requests[0]).is_some() && requests.iter().all(|head| key(head) == key(&requests[0])), "{requests:?}");
}

#[tokio::test]
async fn a_new_turn_and_another_call_have_keys_of_their_own() {
    let server = Server::plain().await;
    let intents = Arc::new(Remembered::default());
    let operation = keyed(&server.url());
    let executor = with_intents(&intents);
    for (session, turn, room) in [("s", "t1", 1), ("s", "t1", 2), ("r", "t1", 1), ("s", "t2", 1), ("s", "t2", 1)] {
        let call = checked(&operation, &json!({"room": room}));
        answer(executor.execute(context(&call, &operation, &toolset(), &allow_all(), Some(session), turn)).await);
        executor.mark_delivered(turn).await;
    }
    let sent: std::collections::HashSet<String> = keys(&server).into_iter().collect();
    assert_eq!(sent.len(), 5);
}

#[tokio::test]
async fn the_model_cannot_choose_the_key() {
    let server = Server::plain().await;
    let arguments = json!({"room": 1, "Idempotency-Key": "guessed"});
    answer(run(&with_intents(&Arc::default()), &keyed(&server.url()), &toolset(), arguments).await);
    assert_ne!(keys(&server), ["guessed"]);
}

#[tokio::test]
async fn unknown_outcomes_of_idempotent_methods_are_retried_if_set() {
    for (trusted, times) in [(true, 2), (false, 1)] {
        let server = Server::raw(|stream| async move { drop(stream) }).await;
        let settings = Settings { max_repeats: 0, repeat_put_and_delete: trusted, ..local() };
        let executor = Executor::build(&settings, Arc::new(Remembered::default()), None).unwrap();
        let operation = operation(Method::PUT, &server.url(), "/r", Vec::new());
        for _ in 0..2 {
            unknown(run(&executor, &operation, &toolset(), json!({})).await);
        }
        assert_eq!(server.requests().len(), times, "{trusted}");
    }
}

#[tokio::test]
async fn an_unsent_request_may_be_retried() {
    let intents = Arc::new(Remembered::default());
    let executor = with_intents(&intents);
    let operation = post(&unreachable_server().await);
    for _ in 0..2 {
        let outcome = run(&executor, &operation, &toolset(), json!({})).await;
        assert!(matches!(outcome, Outcome::Unreachable { .. }), "{outcome:?}");
    }
    assert!(intents.labels().is_empty(), "nothing was sent");
}

#[tokio::test]
async fn a_call_that_only_waited_is_not_sent_and_may_be_repeated() {
    let server = Server::raw(|mut stream| async move {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        let _ =
            tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await;
    })
    .await;
    let intents = Arc::new(Remembered::default());
    let settings = Settings { max_requests_per_host: 1, timeout_seconds: 2, ..local() };
    let executor = Executor::build(&settings, Arc::clone(&intents) as Arc<dyn Intents>, None).unwrap();
    let operation = post(&server.url());
    let set = toolset();
    let order = |room: i32| run(&executor, &operation, &set, json!({"room": room}));
    let outcomes = futures_util::future::join_all((0..4).map(order)).await;
    let waited: Vec<i32> = (0..4)
        .zip(&outcomes)
        .filter(|(_, outcome)| matches!(outcome, Outcome::Unreachable { .. }))
        .map(|(room, _)| room)
        .collect();
    assert!(!waited.is_empty(), "{outcomes:?}");
    let arrived = server.requests().len();
    assert!(arrived + waited.len() <= 4, "an unreachable call was never sent");
    assert_eq!(intents.labels().len(), 4 - waited.len());
    for room in &waited {
        assert_eq!(answer(order(*room).await).status, 200, "it can be placed");
    }
    assert_eq!(server.requests().len(), arrived + waited.len());
}

#[tokio::test]
async fn without_a_store_only_safe_requests_are_sent() {
    let server = Server::plain().await;
    let intents = Arc::new(Remembered { broken: true, ..Remembered::default() });
    let executor = with_intents(&intents);
    let reason = refusal(run(&executor, &post(&server.url()), &toolset(), json!({})).await);
    assert!(reason.contains("the disk is full"), "{reason}");
    let get = operation(Method::GET, &server.url(), "/r", Vec::new());
    answer(run(&executor, &get, &toolset(), json!({})).await);
    assert_eq!(server.only().method, Method::GET);
}

#[tokio::test]
async fn reading_methods_leave_no_intent() {
    let server = Server::plain().await;
    let intents = Arc::new(Remembered::default());
    for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
        let operation = operation(method, &server.url(), "/r", Vec::new());
        answer(run(&with_intents(&intents), &operation, &toolset(), json!({})).await);
    }
    assert!(intents.labels().is_empty());
}

#[tokio::test]
async fn a_sent_request_finishes_after_the_caller_disconnects() {
    let (release, wait) = tokio::sync::watch::channel(false);
    let server = Server::raw(move |mut stream| {
        let mut wait = wait.clone();
        async move {
            let _ = wait.wait_for(|released| *released).await;
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
                .await;
        }
    })
    .await;
    let intents = Arc::new(Remembered::default());
    let executor = with_intents(&intents);
    let operation = post(&server.url());
    let set = toolset();
    {
        let running = run(&executor, &operation, &set, json!({}));
        tokio::pin!(running);
        while server.requests().is_empty() {
            assert!(tokio::time::timeout(Duration::from_millis(5), &mut running).await.is_err(), "still running");
        }
    }
    assert_eq!(intents.labels(), [None], "begun and not finished");
    release.send(true).unwrap();
    while intents.labels() == [None] {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(intents.labels(), [Some("success".to_owned())]);
    assert_eq!(server.requests().len(), 1);
}
