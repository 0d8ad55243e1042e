//! Procedures as plan templates: a learned workflow saves requests to the model, unless it is withheld to measure its
//! effect.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::config::config;
use crate::support::planning::{self, Task};
use crate::support::{Proxy, Reply, Server, answer, learned, office, policy};
use serde_json::{Value, json};

/// A memory group, so that all clients share what is learned.
const GROUP: &str = "recall: {group: office}\n";

/// Probability 0 of withholding: every procedure is used.
const ALWAYS: &str = "[experience]\nwithhold = 0.0\n";

async fn upstream() -> Server {
    let task = |asked: &Value| -> Task {
        match asked["conversation"].to_string().contains("Jill") {
            true => office::meeting("Jill", ("11:00", "from 11"), ("12:00", "to 12")),
            false => office::meeting("Jack", ("09:00", "from 9"), ("10:00", "to 10")),
        }
    };
    planning::upstream(task, |_, _| answer::text("It is booked.")).await
}

/// Starts a proxy with these experience settings.
async fn proxy(upstream: &Server, api: &Server, experience: &str) -> Proxy {
    let config = config(&upstream.url("/v1")) + &office::tables(api) + experience;
    office::configured(config, &format!("{GROUP}{}", office::RULES)).await
}

/// Books a meeting with Jack, and starts a new process that has learned the procedure, with these further rules.
async fn experienced(proxy: Proxy, rules: &str) -> Proxy {
    proxy.client().chat(&office::ask("Book a room for Jack from 9 to 10")).await.ok();
    proxy.metric_reaches("plans_total", &[("result", "complete")], 1.0).await;
    let file = policy::file("ruled", &format!("{GROUP}{}\n{rules}", office::RULES));
    learned::one_procedure(proxy).await.start_again_with("", &[("policies/ruled.yaml", &file)]).await
}

#[tokio::test]
async fn a_recurring_request_needs_one_question_in_a_fresh_process() {
    let (upstream, api) = (upstream().await, Server::scripted(|_, received| office::api(received)).await);
    let proxy = experienced(proxy(&upstream, &api, ALWAYS).await, "").await;
    // The selection, three completions, and the choice of a room.
    assert_eq!(planning::split(&upstream).0.len(), 5);

    upstream.take_received();
    api.take_received();
    let answer = proxy.client().chat(&office::ask("Please book a room for Jill from 11 to 12")).await;
    assert_eq!(answer.message()["content"], "It is booked.");
    let (questions, others) = planning::split(&upstream);
    // The inputs, and the choice.
    assert_eq!((questions.len(), others.len()), (2, 1), "{questions:#?}");
    let inputs: Vec<&Value> =
        questions[0]["known"]["inputs"].as_array().unwrap().iter().map(|input| &input["name"]).collect();
    assert_eq!(inputs, ["name", "start", "end"]);
    assert!(!questions[0]["known"].to_string().contains("Jack"), "{:#}", questions[0]);
    let booked = api.received().into_iter().find(|received| received.method == "POST").unwrap().json();
    assert_eq!(booked, json!({"person_id": "P17", "room_id": "R72", "start": "11:00", "end": "12:00"}));

    let trace =
        proxy.traces_after_stop().await.into_iter().find(|trace| trace["plan"]["procedure"].is_string()).unwrap();
    assert_eq!(trace["plan"]["cost"]["requests"], 2);
    let found = json!([{"id": trace["plan"]["procedure"], "chance": 1.0}]);
    assert_eq!(trace["memory"]["procedures"], found);
}

#[tokio::test]
async fn a_withheld_procedure_is_reported_and_the_turn_goes_on() {
    let (upstream, api) = (upstream().await, Server::scripted(|_, received| office::api(received)).await);
    let withheld = "[experience]\nwithhold = 0.999999\n";
    let proxy = experienced(proxy(&upstream, &api, withheld).await, "").await;
    upstream.take_received();
    proxy.client().chat(&office::ask("Please book a room for Jill from 11 to 12")).await.ok();
    assert_eq!(planning::split(&upstream).0.len(), 5, "a plan is drawn as ever");
    // The result of the turn is counted.
    let stopped = proxy.stop().await;
    let proxy = stopped.start_again().await;
    let traces = proxy.traces().await;
    let trace = traces.iter().find(|trace| trace["memory"]["procedures"].is_array()).unwrap();
    assert_eq!(trace["memory"]["procedures"][0]["withheld"], true, "{trace:#}");
    assert_eq!((&trace["plan"]["result"], &trace["plan"]["procedure"]), (&json!("complete"), &Value::Null));
}

#[tokio::test]
async fn policy_may_want_no_procedure() {
    let (upstream, api) = (upstream().await, Server::scripted(|_, received| office::api(received)).await);
    let proxy = experienced(proxy(&upstream, &api, ALWAYS).await, "procedures: off").await;
    upstream.take_received();
    proxy.client().chat(&office::ask("Book a room for Jill from 11 to 12")).await.ok();
    assert_eq!(planning::split(&upstream).0.len(), 5, "a plan is drawn as ever");
}

#[tokio::test]
async fn a_procedure_that_does_harm_is_retired_and_that_is_seen() {
    // The API refuses exactly those bookings whose plan was filled in from the procedure.
    let is_followed = Arc::new(AtomicBool::new(false));
    let (asked, refused) = (Arc::clone(&is_followed), Arc::clone(&is_followed));
    let task = move |question: &Value| {
        if question.get("known").is_some() || planning::selects(question) {
            asked.store(question.get("known").is_some(), Ordering::SeqCst);
        }
        office::meeting("Jack", ("09:00", "from 9"), ("10:00", "to 10"))
    };
    let upstream = planning::upstream(task, |_, _| answer::text("I did what I could.")).await;
    let api = Server::scripted(move |_, received| match received.method == "POST" && refused.load(Ordering::SeqCst) {
        true => Reply::json(409, &json!({"error": "taken"})),
        false => office::api(received),
    })
    .await;
    let proxy = proxy(&upstream, &api, "[experience]\nwithhold = 0.5\nerror_rate = 0.9\n").await;
    let proxy = experienced(proxy, "").await;
    let ask = async || proxy.client().chat(&office::ask("Book a room for Jack from 9 to 10")).await.ok();
    // Sufficient for the test's minimum numbers of turns with any random choices.
    for _ in 0..40 {
        is_followed.store(false, Ordering::SeqCst);
        ask().await;
    }
    proxy.metric_reaches("retired_total", &[("kind", "procedure")], 1.0).await;
    proxy.metric_falls("procedures", &[], 0.0).await;
    upstream.take_received();
    ask().await;
    assert!(planning::split(&upstream).0.iter().all(|question| question.get("known").is_none()));

    let stopped = proxy.stop().await;
    assert!(learned::listed(stopped.directory(), "active").is_empty());
    let [retired] = <[Value; 1]>::try_from(learned::listed(stopped.directory(), "retired")).unwrap();
    let reason = retired["retired"]["reason"].as_str().unwrap();
    assert!(reason.contains("failed") && reason.contains("turns without it"), "{reason}");
    assert_eq!(retired["tally"]["helped"], 0, "{retired:#}");
}
