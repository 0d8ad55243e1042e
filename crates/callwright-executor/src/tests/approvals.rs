//! Calls that a person has to approve.

use futures_util::future::join_all;
use http::Response;
use jiff::SignedDuration;

use super::server::Server;
use super::*;
use crate::{Application, Grant};
use callwright_store::{self as store, Question, QueueResult, Ruling, Store};
use callwright_types::ApprovalStatus;
use callwright_types::rules::ApprovalMode;

fn to_be_approved() -> ExecuteRules {
    let rule = ExecuteRule { methods: Vec::new(), tools: Vec::new(), permission: Permission::Approve };
    ExecuteRules { rules: vec![rule], ..ExecuteRules::default() }
}

async fn queue() -> Arc<Store> {
    let settings = store::Settings { url: "sqlite::memory:".into(), ..Default::default() };
    Arc::new(Store::open(&settings, std::path::Path::new("")).await)
}

async fn clear(
    executor: &Executor,
    operation: &Operation,
    arguments: Value,
    turn: &str,
) -> Result<Option<Application>, Box<Outcome>> {
    executor
        .clear(context(&checked(operation, &arguments), operation, &toolset(), &to_be_approved(), Some("s"), turn))
        .await
}

async fn application(executor: &Executor, operation: &Operation, arguments: Value) -> Application {
    match clear(executor, operation, arguments, "t").await {
        Ok(Some(application)) => application,
        other => panic!("no approval is required, but {other:?}"),
    }
}

/// Returns the id of an approval of the application.
async fn approved(queue: &Store, application: Application) -> String {
    let Application { operation, method, target, arguments, digest } = application;
    let hour = SignedDuration::from_hours(1);
    let question = Question {
        mode: ApprovalMode::Notice,
        patience: hour,
        valid: hour,
        tenant: String::new(),
        client: String::new(),
        session: "s".into(),
        trace: "t".into(),
        toolset: "shop".into(),
        tool: "use".into(),
        operation,
        method,
        target,
        arguments,
        digest,
        keep: false,
    };
    let QueueResult::Queued(note) = queue.request_approval(&question, 100).await.unwrap() else { panic!("full") };
    queue.decide_approval(&note.id, &Ruling { approved: true, by: None, comment: None }).await.unwrap();
    note.id
}

async fn run_approved(
    executor: &Executor,
    operation: &Operation,
    arguments: Value,
    grant: Grant,
    turn: &str,
) -> Outcome {
    executor
        .execute_approved(
            context(&checked(operation, &arguments), operation, &toolset(), &to_be_approved(), Some("s"), turn),
            grant,
        )
        .await
}

fn post(server: &str) -> Operation {
    let mut operation = operation(Method::POST, server, "/rooms/{room}", vec![binding("room", Location::Path)]);
    operation.body = Some(json_body(&["hours"]));
    operation
}

#[tokio::test]
async fn a_person_sees_the_request_that_would_be_sent() {
    let executor = executor(&local());
    let requested =
        application(&executor, &post("https://user:pw@api.example/v1"), json!({"room": "a/b", "hours": 2})).await;
    assert_eq!(requested.operation, "POST /rooms/{room}");
    assert_eq!(requested.target, "https://api.example/v1/rooms/a%2Fb");
    assert_eq!(requested.arguments, r#"{"room":"a/b","hours":2}"#);
    let same = application(&executor, &post("https://api.example/v1"), json!({"hours": 2, "room": "a/b"})).await;
    assert_eq!(requested.digest, same.digest);
    for (server, arguments) in [
        ("https://api.example/v2", json!({"room": "a/b", "hours": 2})),
        ("https://api.example/v1", json!({"room": "a/b", "hours": 3})),
        ("https://api.example/v1", json!({"room": "a", "hours": 2})),
    ] {
        assert_ne!(application(&executor, &post(server), arguments).await.digest, requested.digest);
    }
}

#[tokio::test]
async fn calls_that_would_not_be_sent_request_no_approval() {
    let executor = executor(&local());
    match clear(&executor, &post("https://api.example"), json!({"room": "..", "hours": 2}), "t").await {
        Err(outcome) => drop(refusal(*outcome)),
        other => panic!("{other:?}"),
    }
    let call = checked(&post("https://api.example"), &json!({"room": "a"}));
    let (operation, toolset) = (post("https://api.example"), toolset());
    let denied = executor.clear(context(&call, &operation, &toolset, &ExecuteRules::default(), Some("s"), "t")).await;
    assert!(matches!(&denied, Err(outcome) if matches!(**outcome, Outcome::Refused(_))), "{denied:?}");
    let allowed = executor.clear(context(&call, &operation, &toolset, &allow_all(), Some("s"), "t")).await;
    assert!(matches!(allowed, Ok(None)), "{allowed:?}");
}

#[tokio::test]
async fn a_rule_that_requires_approval_runs_nothing_itself() {
    let server = Server::silent().await;
    let executor = executor(&local());
    let operation = post(&server.url());
    let call = checked(&operation, &json!({"room": "a"}));
    let outcome = executor.execute(context(&call, &operation, &toolset(), &to_be_approved(), Some("s"), "t")).await;
    assert!(refusal(outcome).contains("approval"));
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn an_approval_is_valid_only_for_its_own_call() {
    let server = Server::http(|_| Response::builder().status(201).body("{}".into()).unwrap()).await;
    let (executor, queue, operation) = (executor(&local()), queue().await, post(&server.url()));
    let id = approved(&queue, application(&executor, &operation, json!({"room": "a"})).await).await;
    let grant = |id: &str| Grant::new(id.to_owned(), queue.clone());
    let other = run_approved(&executor, &operation, json!({"room": "b"}), grant(&id), "t").await;
    assert!(matches!(&other, Outcome::Unapproved(note) if note.status == ApprovalStatus::Approved), "{other:?}");
    refusal(run_approved(&executor, &operation, json!({"room": "a"}), grant("apr_invented"), "t").await);
    assert!(server.requests().is_empty());
    answer(run_approved(&executor, &operation, json!({"room": "a"}), grant(&id), "t").await);
    let again = run_approved(&executor, &operation, json!({"room": "a"}), grant(&id), "t").await;
    assert!(matches!(&again, Outcome::Unapproved(note) if note.status == ApprovalStatus::Used), "{again:?}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn an_approval_permits_one_execution_even_without_intents() {
    let server = Server::http(|_| Response::new("{}".into())).await;
    let (executor, queue) = (executor(&local()), queue().await);
    let operation = operation(Method::GET, &server.url(), "/secrets", Vec::new());
    let id = approved(&queue, application(&executor, &operation, json!({})).await).await;
    let runs =
        (0..8).map(|_| run_approved(&executor, &operation, json!({}), Grant::new(id.clone(), queue.clone()), "t"));
    let answered = join_all(runs).await.into_iter().filter(|outcome| matches!(outcome, Outcome::Answered(_)));
    assert_eq!((answered.count(), server.requests().len()), (1, 1));
}

#[tokio::test]
async fn an_undelivered_outcome_is_repeated_without_another_approval() {
    let server = Server::http(|_| Response::builder().status(201).body(r#"{"id":7}"#.into()).unwrap()).await;
    let (executor, queue, operation) = (executor(&local()), queue().await, post(&server.url()));
    let id = approved(&queue, application(&executor, &operation, json!({"room": "a"})).await).await;
    let grant = Grant::new(id, queue.clone());
    answer(run_approved(&executor, &operation, json!({"room": "a"}), grant, "t1").await);
    match clear(&executor, &operation, json!({"room": "a"}), "t2").await {
        Err(outcome) => assert_eq!(answer(*outcome).body, r#"{"id":7}"#),
        other => panic!("{other:?}"),
    }
    executor.mark_delivered("t2").await;
    let next = clear(&executor, &operation, json!({"room": "a"}), "t3").await;
    assert!(matches!(next, Ok(Some(_))), "{next:?}");
    assert_eq!(server.requests().len(), 1);
}
