//! Never twice while the outcome is unknown.

use std::time::Duration;

use http::Response;

use super::server::{Server, nobody};
use super::*;

fn with_intents(intents: &Arc<Remembered>) -> Executor {
    Executor::build(&local(), Arc::clone(intents) as Arc<dyn Intents>).unwrap()
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
    // Another executor over the same store: as after a restart.
    for executor in [&first, &second, &second] {
        let reason = unknown(run(executor, &operation, &toolset(), json!({"room": 1})).await);
        assert!(reason.contains("not sent again"), "{reason}");
    }
    assert_eq!(server.seen().len(), 1);
    unknown(run(&second, &operation, &toolset(), json!({"room": 2})).await);
    assert_eq!(server.seen().len(), 2, "other arguments are another call");
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
    assert_eq!(server.seen().len(), 1);
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
        unknown(executor.execute(&call, &operation, &toolset(), &allow_all(), session, trace).await);
    }
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn a_finished_call_may_be_made_again() {
    let server = Server::http(|_| Response::builder().status(409).body("{}".into()).unwrap()).await;
    let intents = Arc::new(Remembered::default());
    let executor = with_intents(&intents);
    for _ in 0..2 {
        assert_eq!(answer(run(&executor, &post(&server.url()), &toolset(), json!({})).await).status, 409);
    }
    assert_eq!(server.seen().len(), 2);
    assert_eq!(intents.labels(), [Some("client_error".to_owned())]);
}

#[tokio::test]
async fn what_did_not_leave_may_be_tried_again() {
    let intents = Arc::new(Remembered::default());
    let executor = with_intents(&intents);
    let operation = post(&nobody().await);
    for _ in 0..2 {
        let outcome = run(&executor, &operation, &toolset(), json!({})).await;
        assert!(matches!(outcome, Outcome::Unreachable { .. }), "{outcome:?}");
    }
    assert_eq!(intents.labels(), [Some("unreachable".to_owned())]);
}

#[tokio::test]
async fn without_a_store_nothing_that_changes_data_is_sent_and_reading_goes_on() {
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
async fn a_request_that_was_sent_is_finished_when_the_caller_goes_away() {
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
        while server.seen().is_empty() {
            assert!(tokio::time::timeout(Duration::from_millis(5), &mut running).await.is_err(), "still running");
        }
    }
    assert_eq!(intents.labels(), [None], "begun and not finished");
    release.send(true).unwrap();
    while intents.labels() == [None] {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(intents.labels(), [Some("success".to_owned())]);
    assert_eq!(server.seen().len(), 1);
}
