//! Plans drawn backward from the goal of the request, and followed with calls that the proxy executes.

use crate::support::config::config;
use crate::support::office::{self, RULES, ask};
use crate::support::planning::{self, Task};
use crate::support::request::streamed;
use crate::support::{Proxy, Received, Reply, Server, answer};
use serde_json::{Value, json};

const REQUEST: &str = "Book a room for Jack from 9 to 10";

fn meeting() -> Task {
    office::meeting("Jack", ("09:00", "from 9"), ("10:00", "to 10"))
}

fn targets(api: &Server) -> Vec<String> {
    let mut targets: Vec<String> = api.received().into_iter().map(|received| received.target).collect();
    targets.sort();
    targets
}

/// Checks that the operator can read the plan of a trace, and its drawing.
async fn told(proxy: &Proxy, trace: &str) {
    proxy.metric_reaches("plans_total", &[("result", "complete")], 1.0).await;
    let path = format!("/admin/traces/{trace}?format=");
    let shown = async |format: &str| {
        for _ in 0..100 {
            let answer = proxy.operator().get(&format!("{path}{format}")).await;
            if answer.status.as_u16() == 200 {
                return answer.text();
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("no trace {trace}");
    };
    let text = shown("text").await;
    assert!(text.contains("Plan") && text.contains("(goal)") && text.contains("took item 2 of 2"), "{text}");
    assert!(shown("mermaid").await.starts_with("flowchart"), "{text}");
}

#[tokio::test]
async fn a_room_is_booked_with_api_ids_and_the_model_concludes() {
    for request in [ask(REQUEST), streamed(ask(REQUEST))] {
        let upstream = planning::upstream(|_| meeting(), |_, _| answer::text("Rome is booked for Jack.")).await;
        let api = Server::scripted(|_, received| office::api(received)).await;
        let proxy = office::proxy(&upstream, &api, RULES).await;
        let is_stream = request["stream"] == true;
        let answer = proxy.client().chat(&request).await;
        if !is_stream {
            assert_eq!(answer.message()["content"], "Rome is booked for Jack.");
        }
        assert_eq!(targets(&api), ["/bookings", "/people?name=Jack", "/rooms?start=09%3A00&end=10%3A00"]);
        let booked = api.received().into_iter().find(|received| received.method == "POST").unwrap().json();
        assert_eq!(booked, json!({"person_id": "P18", "room_id": "R72", "start": "09:00", "end": "10:00"}));

        let (questions, others) = planning::split(&upstream);
        // The selection, three completions, and the choice of a room. The person is chosen by name, without a query.
        assert_eq!(questions.len(), 5, "{questions:#?}");
        assert_eq!(others.len(), 1);
        let roles: Vec<String> =
            others[0].messages().iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "tool", "assistant", "tool"]);
        let metrics = proxy.metrics().await;
        assert_eq!(metrics.sum("plans_total", &[("result", "complete")]), 1.0);

        let id = answer.header("x-callwright-trace").unwrap().to_owned();
        if !is_stream {
            told(&proxy, &id).await;
        }
        let trace = proxy.traces_after_stop().await.pop().unwrap();
        let plan = &trace["plan"];
        assert_eq!((&plan["result"], plan["made"].as_array().unwrap().len()), (&json!("complete"), 3), "{plan:#}");
        let by: Vec<&str> = plan["choices"].as_array().unwrap().iter().map(|it| it["by"].as_str().unwrap()).collect();
        assert_eq!(by, ["said", "model"], "{plan:#}");
        assert_eq!(plan["cost"]["requests"], 5);
        assert_eq!(trace["executions"].as_array().unwrap().len(), 3);
        assert!(!plan.to_string().contains("Jack"), "nothing that was said is stored: {plan:#}");
    }
}

#[tokio::test]
async fn a_simple_turn_draws_no_plan_and_asks_no_more_than_before() {
    let upstream = planning::upstream(|_| meeting(), |_, _| answer::text("Hello.")).await;
    let api = Server::scripted(|_, received| office::api(received)).await;
    for (rules, text) in [
        ("plan: auto", "Good morning!"),
        ("plan: auto", "Which rooms are free from 9 to 10?"),
        ("plan: auto", "Book room R17 for person P4 from 9 to 10"),
        ("plan: off", REQUEST),
        ("plan: always\nmode: shadow", REQUEST),
    ] {
        let proxy = office::proxy(&upstream, &api, rules).await;
        assert_eq!(proxy.client().chat(&ask(text)).await.message()["content"], "Hello.", "{rules} {text}");
        let (questions, others) = planning::split(&upstream);
        assert_eq!((questions.len(), others.len()), (0, 1), "{rules} {text}");
        upstream.take_received();
        let trace = proxy.traces_after_stop().await.pop().unwrap();
        assert_eq!(trace.get("plan"), None, "{rules} {text}");
    }
}

#[tokio::test]
async fn a_missing_value_is_requested_once_and_the_plan_continues() {
    let task = |asked: &Value| {
        let mut task = meeting();
        let is_said = asked["conversation"].to_string().contains("until ten");
        task.values.retain(|(_, name, ..)| *name != "end");
        if is_said {
            task.values.push(("bookRoom", "end", json!("10:00"), "until ten"));
            task.values.push(("findRooms", "end", json!("10:00"), "until ten"));
        }
        task
    };
    let upstream = planning::upstream(task, |_, _| answer::text("Booked.")).await;
    let api = Server::scripted(|_, received| office::api(received)).await;
    let proxy = office::proxy(&upstream, &api, RULES).await;
    let mut request = ask("Book a room for Jack from 9");
    let first = proxy.client().chat(&request).await.message();
    let question = first["content"].as_str().unwrap().to_owned();
    assert_eq!(question, "Which end?", "the question is asked once, though two calls need it");
    assert!(api.received().is_empty(), "nothing is done for a plan that may come to nothing");
    // Another process with the same store receives the answer.
    let proxy = proxy.stop().await.start_again().await;
    request["messages"].as_array_mut().unwrap().extend([first, json!({"role": "user", "content": "until ten"})]);
    let answer = proxy.client().chat_with(&request, &[("x-callwright-debug", "true")]).await.ok();
    assert_eq!(answer["choices"][0]["message"]["content"], "Booked.");
    assert_eq!(api.received().len(), 3, "{:?} {:#}", targets(&api), answer["callwright"]["plan"]);
    let traces = proxy.traces_after_stop().await;
    let results: Vec<&str> = traces.iter().map(|trace| trace["plan"]["result"].as_str().unwrap()).collect();
    assert!(results.contains(&"asked") && results.contains(&"complete"), "{results:?}");
}

#[tokio::test]
async fn an_answer_without_news_returns_the_turn_to_the_model() {
    let task = |_: &Value| {
        let mut task = meeting();
        task.values.retain(|(_, name, ..)| *name != "end");
        task
    };
    let upstream = planning::upstream(task, |_, _| answer::text("Let us talk about cats.")).await;
    let api = Server::scripted(|_, received| office::api(received)).await;
    let proxy = office::proxy(&upstream, &api, RULES).await;
    let mut request = ask("Book a room for Jack from 9");
    let first = proxy.client().chat(&request).await.message();
    request["messages"].as_array_mut().unwrap().extend([first, json!({"role": "user", "content": "I like cats."})]);
    assert_eq!(proxy.client().chat(&request).await.message()["content"], "Let us talk about cats.");
    assert!(api.received().is_empty());
    let trace = proxy.traces_after_stop().await;
    assert!(trace.iter().any(|trace| trace["plan"]["result"] == "given_up"), "{trace:#?}");
}

#[tokio::test]
async fn a_failed_call_and_its_dependents_are_redrawn_and_no_others() {
    let task = |asked: &Value| {
        let mut task = meeting();
        // The conversation contains the response to the failed call.
        if asked["conversation"].to_string().contains("closed for maintenance") {
            for (tool, name, value, words) in &mut task.values {
                if (*tool, *name) == ("findRooms", "start") {
                    (*value, *words) = (json!("09:30"), "from 9");
                }
            }
        }
        task
    };
    let upstream = planning::upstream(task, |_, _| answer::text("Booked.")).await;
    let api = Server::scripted(|_, received| match received.target.contains("start=09%3A00") {
        true => Reply::json(503, &json!({"error": "The calendar is closed for maintenance"})),
        false => office::api(received),
    })
    .await;
    let proxy = office::proxy(&upstream, &api, RULES).await;
    assert_eq!(proxy.client().chat(&ask(REQUEST)).await.message()["content"], "Booked.");
    let all = targets(&api);
    assert_eq!(all.iter().filter(|target| target.starts_with("/people")).count(), 1, "{all:?}");
    assert_eq!(all.iter().filter(|target| *target == "/bookings").count(), 1, "{all:?}");
    assert!(all.contains(&"/rooms?start=09%3A30&end=10%3A00".to_owned()), "{all:?}");
    let trace = proxy.traces_after_stop().await.pop().unwrap();
    assert_eq!(trace["plan"]["result"], "complete", "{trace:#}");
}

#[tokio::test]
async fn an_unrepairable_failure_leaves_the_rest_to_the_model() {
    let upstream = planning::upstream(|_| meeting(), |_, _| answer::text("The calendar is down.")).await;
    let api = Server::scripted(|_, received| match received.target.starts_with("/rooms") {
        true => Reply::json(503, &json!({"error": "closed for maintenance"})),
        false => office::api(received),
    })
    .await;
    let proxy = office::proxy(&upstream, &api, RULES).await;
    assert_eq!(proxy.client().chat(&ask(REQUEST)).await.message()["content"], "The calendar is down.");
    assert!(!targets(&api).contains(&"/bookings".to_owned()));
    let (_, others) = planning::split(&upstream);
    let told = others[0].text();
    assert!(told.contains("closed for maintenance"), "{told}");
    let trace = proxy.traces_after_stop().await.pop().unwrap();
    assert_eq!(trace["plan"]["result"], "given_up", "{trace:#}");
}

#[tokio::test]
async fn the_plan_waits_for_an_approval_and_continues_with_it() {
    let rules = "execute:\n  rules:\n    - {methods: [POST], tools: [\"office/*\"], permission: approve}\n  approval: {mode: notice}";
    let upstream = planning::upstream(
        |asked| match asked["conversation"].to_string().contains("It is approved") {
            true => Task { goals: vec![("bookRoom", "book a room for Jack")], ..meeting() },
            false => meeting(),
        },
        |number, _| answer::text(if number == 0 { "It waits for approval." } else { "Booked." }),
    )
    .await;
    let api = Server::scripted(|_, received| office::api(received)).await;
    let proxy = office::proxy(&upstream, &api, rules).await;
    let mut request = ask(REQUEST);
    let first = proxy.client().chat(&request).await.message();
    assert_eq!(first["content"], "It waits for approval.");
    assert_eq!(api.received().len(), 2, "{:?}", targets(&api));
    let waiting = proxy.operator().get("/admin/approvals").await.ok();
    let id = waiting["approvals"][0]["id"].as_str().unwrap_or_else(|| panic!("{waiting:#}")).to_owned();
    let path = format!("/admin/approvals/{id}/approve");
    let json = [("content-type", "application/json")];
    let decided = proxy.operator().send(reqwest::Method::POST, &path, &json, r#"{"by": "Ada"}"#).await;
    decided.ok();
    request["messages"].as_array_mut().unwrap().extend([first, json!({"role": "user", "content": "It is approved."})]);
    assert_eq!(proxy.client().chat(&request).await.message()["content"], "Booked.");
    assert_eq!(
        targets(&api),
        ["/bookings", "/people?name=Jack", "/rooms?start=09%3A00&end=10%3A00"],
        "nothing is made twice"
    );
}

#[tokio::test]
async fn useless_plans_cost_a_turn_only_their_questions() {
    let api = Server::scripted(|_, received| office::api(received)).await;
    for (what, planned) in [
        ("nonsense", answer::text("I would rather not.")),
        ("an error", Reply::json(500, &json!({"error": {"message": "overloaded"}}))),
        ("a reset", Reply::reset()),
        ("no tool", answer::text(r#"{"goals": []}"#)),
    ] {
        let planned = std::sync::Arc::new(planned);
        let upstream = Server::scripted(move |_, received| match planning::question(received) {
            Some(_) => (*planned).clone(),
            None => answer::text("Which room?"),
        })
        .await;
        let config = format!("{RULES}\nlimits: {{plan_requests: 3}}");
        let proxy = office::proxy(&upstream, &api, &config).await;
        assert_eq!(proxy.client().chat(&ask(REQUEST)).await.message()["content"], "Which room?", "{what}");
        let trace = proxy.traces_after_stop().await.pop().unwrap();
        assert!(["undrawn", "limit"].contains(&trace["plan"]["result"].as_str().unwrap()), "{what}: {trace:#}");
        assert!(planning::split(&upstream).0.len() <= 3, "{what}");
    }
    assert!(api.received().is_empty());
}

#[tokio::test]
async fn plans_can_be_drawn_by_another_model_and_their_cost_is_told() {
    let planner = planning::upstream(|_| meeting(), |_, _| panic!("only plans are drawn here")).await;
    let upstream = Server::scripted(|_, received| {
        assert_eq!(planning::question(received), None);
        answer::text("Booked.")
    })
    .await;
    let api = Server::scripted(|_, received| office::api(received)).await;
    let config = config(&upstream.url("/v1"))
        + &format!("[upstreams.small]\nbase_url = \"{}\"\napi_key = \"sk-small\"\n", planner.url("/v1"))
        + "[planner]\nalias = \"drawer\"\n[aliases.drawer]\nupstream = \"small\"\nmodel = \"small-1\"\n"
        + &office::tables(&api);
    let proxy = office::configured(config, RULES).await;
    let headers = [("authorization", "Bearer sk-client"), ("x-callwright-debug", "true")];
    let answer = proxy.client().chat_with(&ask(REQUEST), &headers).await.ok();
    let received = planner.received();
    assert!(received.iter().all(|received| received.json()["model"] == "small-1"));
    assert!(received.iter().all(|received| received.header("authorization") == Some("Bearer sk-small")));
    let plan = &answer["callwright"]["plan"];
    assert_eq!(plan["cost"], json!({"requests": 5, "prompt_tokens": 100, "completion_tokens": 25}), "{plan:#}");
    assert_eq!(plan["plan"]["finals"].as_array().unwrap().len(), 1);
    assert_eq!(answer["callwright"]["attempts"], 6);
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("tokens_total", &[("purpose", "plan"), ("kind", "prompt")]), 100.0);
}

#[tokio::test]
async fn a_mixed_plan_runs_proxy_calls_and_hands_over_the_clients() {
    let task = |_: &Value| Task {
        goals: vec![("print_badge", "print a badge")],
        values: vec![("findPeople", "name", json!("Jack"), "Jack")],
        outputs: vec![("print_badge", "person_id", "findPeople", "/0/id", Some("choose"))],
        choice: None,
    };
    let upstream = planning::upstream(task, |_, _| answer::text("The badge is printed.")).await;
    let api = Server::scripted(|_, received| office::api(received)).await;
    let proxy = office::proxy(&upstream, &api, "plan: always").await;
    let mut request = ask("Print a badge for Jack");
    request["tools"] = json!([{"type": "function", "function": {
        "name": "print_badge", "description": "Prints a badge for a person.",
        "parameters": {"type": "object", "required": ["person_id"],
            "properties": {"person_id": {"type": "string", "description": "Id of the person"}}}}}]);
    let first = proxy.client().chat(&request).await.message();
    assert_eq!(first["tool_calls"][0]["function"]["name"], "print_badge", "{first}");
    let arguments: Value =
        serde_json::from_str(first["tool_calls"][0]["function"]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({"person_id": "P18"}));
    assert_eq!(targets(&api), ["/people?name=Jack"]);
    let id = first["tool_calls"][0]["id"].clone();
    let proxy = proxy.stop().await.start_again().await;
    let messages = request["messages"].as_array_mut().unwrap();
    messages.extend([first, json!({"role": "tool", "tool_call_id": id, "content": "printed"})]);
    assert_eq!(proxy.client().chat(&request).await.message()["content"], "The badge is printed.");
    assert_eq!(targets(&api).len(), 1, "nothing is run again");
    let (questions, others) = planning::split(&upstream);
    assert_eq!((questions.len(), others.len()), (3, 1));
    let roles: Vec<String> =
        others[0].messages().iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "tool"], "the model sees what the proxy ran before");
}

#[tokio::test]
async fn ids_that_are_numbers_become_texts_where_texts_are_wanted() {
    let upstream = planning::upstream(|_| meeting(), |_, _| answer::text("Booked.")).await;
    let api = Server::scripted(|_, received| match received.target.split('?').next().unwrap() {
        "/people" => Reply::json(200, &json!([{"id": 7, "name": "Jack"}])),
        "/rooms" => Reply::json(200, &json!({"items": [{"id": 11}], "total": 1})),
        _ => office::api(received),
    })
    .await;
    let proxy = office::proxy(&upstream, &api, RULES).await;
    assert_eq!(proxy.client().chat(&ask(REQUEST)).await.message()["content"], "Booked.");
    let booked = api.received().into_iter().find(|received| received.method == "POST").unwrap().json();
    assert_eq!(booked, json!({"person_id": "7", "room_id": "11", "start": "09:00", "end": "10:00"}));
    let trace = proxy.traces_after_stop().await.pop().unwrap();
    assert_eq!(trace["plan"]["result"], "complete", "{trace:#}");
}

#[tokio::test]
async fn a_client_that_goes_away_while_a_plan_is_drawn_ends_the_turn() {
    let gate = crate::support::Gate::closed();
    let waiting = gate.clone();
    let upstream = Server::scripted(move |_, received| match planning::question(received) {
        Some(_) => answer::text("{}").after(&waiting),
        None => answer::text("Too late."),
    })
    .await;
    let api = Server::scripted(|_, received| office::api(received)).await;
    let proxy = office::proxy(&upstream, &api, RULES).await;
    let connection = proxy.client().begin_chat(&ask(REQUEST)).await;
    upstream.arrival_of(1).await;
    connection.leave().await;
    upstream.hangup().await;
    gate.open();
    let trace = proxy.traces_after_stop().await.pop().unwrap();
    assert_eq!(trace["error"], "the client went away", "{trace:#}");
    assert_eq!(upstream.received().len(), 1, "nothing new begins");
}

#[tokio::test]
async fn what_the_client_wants_of_the_next_answer_is_kept() {
    let task = |_: &Value| {
        let mut task = meeting();
        task.values.retain(|(_, name, ..)| *name != "end");
        task
    };
    let upstream = planning::upstream(task, |_, _| answer::text("The model.")).await;
    let api = Server::scripted(|_, received| office::api(received)).await;
    let proxy = office::proxy(&upstream, &api, RULES).await;
    let named = json!({"type": "function", "function": {"name": "bookRoom"}});
    for (key, value, planned) in [
        ("tool_choice", json!("none"), false),
        ("tool_choice", named, false),
        ("n", json!(2), false),
        // A question would be neither a call nor JSON.
        ("tool_choice", json!("required"), true),
        ("response_format", json!({"type": "json_object"}), true),
    ] {
        let mut request = ask(REQUEST);
        request[key] = value;
        assert_eq!(proxy.client().chat(&request).await.message()["content"], "The model.", "{key}");
        assert_eq!(!planning::split(&upstream).0.is_empty(), planned, "{request}");
        upstream.take_received();
    }
    assert!(api.received().is_empty());
}

/// Returns the answer of a planning model to the question whether a request takes a chain of calls, or of the model.
fn chain_or(is_chain: bool, received: &Received, text: &str) -> Reply {
    let messages = received.messages();
    let system = messages.first().and_then(|message| message["content"].as_str()).unwrap_or_default().to_owned();
    match system.contains("takes a chain of calls") {
        true => answer::text(&format!("I think so.\n</think>\n{{\"chain\": {is_chain}}}")),
        false => answer::text(text),
    }
}

#[tokio::test]
async fn the_planning_model_decides_on_a_plan_where_no_rule_does() {
    const VAGUE: &str = "Get Jack a place to meet from 9 to 10";
    for (rules, is_chain, planned) in
        [("plan: ask", true, true), ("plan: ask", false, false), ("plan: auto", true, false)]
    {
        let upstream =
            planning::upstream(|_| meeting(), move |_, received| chain_or(is_chain, received, "Done.")).await;
        let api = Server::scripted(|_, received| office::api(received)).await;
        let proxy = office::proxy(&upstream, &api, &format!("{RULES}\n{rules}")).await;
        assert_eq!(proxy.client().chat(&ask(VAGUE)).await.message()["content"], "Done.");
        assert_eq!(api.received().len(), if planned { 3 } else { 0 }, "{rules} {is_chain}");
        let trace = proxy.traces_after_stop().await.pop().unwrap();
        assert_eq!(trace.get("plan").is_some(), planned, "{rules} {is_chain}");
        let asked = trace["attempts"].as_array().unwrap().iter().filter(|attempt| attempt["purpose"] == "plan").count();
        assert_eq!(asked == 1, rules == "plan: ask" && !is_chain, "one question, and no plan: {trace:#}");
    }
}

#[tokio::test]
async fn questions_for_suppliable_values_drop_the_plan_and_back_off() {
    let task = |_: &Value| {
        let mut task = meeting();
        task.outputs.retain(|(_, name, ..)| *name != "person_id");
        task
    };
    let upstream = planning::upstream(task, |_, _| answer::text("I look it up.")).await;
    let api = Server::scripted(|_, received| office::api(received)).await;
    let proxy = office::proxy(&upstream, &api, &format!("{RULES}\nrecord: {{bodies: true}}")).await;
    let mut results = Vec::new();
    for _ in 0..4 {
        assert_eq!(proxy.client().chat(&ask(REQUEST)).await.message()["content"], "I look it up.");
    }
    assert!(api.received().is_empty());
    for trace in proxy.traces_after_stop().await {
        let plan = &trace["plan"];
        results.push(plan["result"].as_str().unwrap().to_owned());
        if plan["result"] == "given_up" {
            assert!(
                plan["notes"].to_string().contains("`person_id` from the user, which findPeople supplies"),
                "{plan:#}"
            );
        }
    }
    results.sort();
    assert_eq!(results, ["backed_off", "given_up", "given_up", "given_up"]);
}
