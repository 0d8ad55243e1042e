//! Plans whose calls the client makes: they are sent as ordinary `tool_calls`, and the proxy follows a client that
//! deviates from them.

use crate::support::config::config;
use crate::support::planning::{self, Task};
use crate::support::request::{plain, streamed};
use crate::support::{Proxy, Server, answer, policy};
use serde_json::{Value, json};

fn tool(name: &str, about: &str, parameters: &[(&str, &str)]) -> Value {
    let properties: Value = parameters
        .iter()
        .map(|(name, about)| ((*name).to_owned(), json!({"type": "string", "description": about})))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let required: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
    json!({"type": "function", "function": {"name": name, "description": about,
        "parameters": {"type": "object", "properties": properties, "required": required}}})
}

fn request() -> Value {
    let mut request = plain("Book a room for Jack from 9 to 10");
    request["tools"] = json!([
        tool("find_person", "Finds a person by name.", &[("name", "Name of the person")]),
        tool("find_room", "Finds a free meeting room.", &[("start", "Begin"), ("end", "End")]),
        tool(
            "book_room",
            "Books a meeting room for a person.",
            &[("person_id", "Id of the person"), ("room_id", "Id of the room"), ("start", "Begin"), ("end", "End")],
        ),
    ]);
    request
}

fn meeting() -> Task {
    let times = ["book_room", "find_room"];
    let time = |tool| [(tool, "start", json!("09:00"), "from 9"), (tool, "end", json!("10:00"), "to 10")];
    let mut values: Vec<_> = times.into_iter().flat_map(time).collect();
    values.push(("find_person", "name", json!("Jack"), "Jack"));
    Task {
        goals: vec![("book_room", "book a room for Jack")],
        values,
        outputs: vec![
            ("book_room", "person_id", "find_person", "/id", None),
            ("book_room", "room_id", "find_room", "/id", None),
        ],
        choice: None,
    }
}

async fn proxy_of(upstream: &Server, rules: &str) -> Proxy {
    let file = policy::file("ruled", rules);
    let config = config(&upstream.url("/v1")) + &policy::table("ruled");
    Proxy::start_with_files(config, &[("policies/ruled.yaml", &file)]).await
}

/// Returns the called tools of a message, with their arguments.
fn called(message: &Value) -> Vec<(String, Value)> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    calls
        .map(|call| {
            let function = &call["function"];
            let arguments = serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
            (function["name"].as_str().unwrap().to_owned(), arguments)
        })
        .collect()
}

fn names(message: &Value) -> Vec<String> {
    called(message).into_iter().map(|(name, _)| name).collect()
}

/// Returns the result of a client's tool.
fn result(name: &str, arguments: &Value) -> &'static str {
    match (name, arguments["name"].as_str()) {
        ("find_person", Some("Jill")) => r#"{"id": "P-Jill"}"#,
        ("find_person", _) => r#"{"id": "P-Jack", "name": "Jack"}"#,
        ("find_room", _) => r#"{"id": "R-7"}"#,
        _ => "booked",
    }
}

/// Returns the request after the client made the calls of a message.
fn returned(request: &Value, message: &Value) -> Value {
    let mut next = request.clone();
    let messages = next["messages"].as_array_mut().unwrap();
    messages.push(message.clone());
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
        let content = result(call["function"]["name"].as_str().unwrap(), &arguments);
        messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": content}));
    }
    next
}

fn push(request: &mut Value, message: Value) {
    request["messages"].as_array_mut().unwrap().push(message);
}

const BOOKED: [(&str, &str); 4] = [("person_id", "P-Jack"), ("room_id", "R-7"), ("start", "09:00"), ("end", "10:00")];

fn booked(message: &Value) {
    let expected: serde_json::Map<String, Value> =
        BOOKED.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    assert_eq!(called(message), [("book_room".to_owned(), Value::Object(expected))]);
}

#[tokio::test]
async fn ready_calls_leave_together_and_any_replica_finds_the_state() {
    let upstream = planning::upstream(|_| meeting(), |_, _| answer::text("Room R-7 is booked.")).await;
    let mut proxy = proxy_of(&upstream, "plan: auto").await;
    let mut request = request();
    let first = proxy.client().chat(&request).await;
    assert_eq!(first.ok()["choices"][0]["finish_reason"], "tool_calls");
    let first = first.message();
    assert_eq!(names(&first), ["find_person", "find_room"]);
    let ids: Vec<&str> =
        first["tool_calls"].as_array().unwrap().iter().map(|call| call["id"].as_str().unwrap()).collect();
    assert!(ids.iter().all(|id| id.len() == 9 && id[..6] == ids[0][..6]), "{ids:?}");
    request = returned(&request, &first);
    for _ in 0..2 {
        // Another process with the same store: a client that repeats its request gets the same calls.
        proxy = proxy.stop().await.start_again().await;
        booked(&proxy.client().chat(&request).await.message());
    }
    let second = proxy.client().chat(&request).await.message();
    request = returned(&request, &second);
    let (questions, others) = planning::split(&upstream);
    assert_eq!((questions.len(), others.len()), (4, 0), "one selection and three completions");
    assert_eq!(proxy.client().chat(&request).await.message()["content"], "Room R-7 is booked.");
    let (questions, others) = planning::split(&upstream);
    assert_eq!((questions.len(), others.len()), (4, 1));
    assert_eq!(others[0].messages().len(), 6, "the model sees the conversation as the client has it");
    // A later turn does not resume the plan.
    push(&mut request, json!({"role": "assistant", "content": "Room R-7 is booked."}));
    push(&mut request, json!({"role": "user", "content": "Thank you!"}));
    proxy.client().chat(&request).await.ok();
    assert_eq!(planning::split(&upstream).0.len(), 4);
}

#[tokio::test]
async fn streams_get_well_formed_call_deltas_or_one_call_at_a_time() {
    let upstream = planning::upstream(|_| meeting(), |_, _| answer::text("Done.")).await;
    let proxy = proxy_of(&upstream, "plan: auto").await;
    let mut stream = proxy.client().chat_stream(&streamed(request())).await;
    let assembled = stream.assemble().await;
    assert_eq!(assembled.choice().calls.len(), 2, "{assembled:?}");
    let mut request = request();
    request["parallel_tool_calls"] = json!(false);
    let mut order = Vec::new();
    for _ in 0..3 {
        let message = proxy.client().chat(&request).await.message();
        order.extend(names(&message));
        request = returned(&request, &message);
    }
    assert_eq!(order, ["find_person", "find_room", "book_room"]);
    assert_eq!(proxy.client().chat(&request).await.message()["content"], "Done.");
}

/// Deviations of a client from the plan, and the proxy's reaction.
#[tokio::test]
async fn the_six_deviations_are_followed() {
    for (deviation, told) in [
        ("skips a call", "skipped"),
        ("repeats a call", "repeated"),
        ("changes an argument", "changed"),
        ("drops the goal", "goal_dropped"),
        ("adds a goal", "goal_added"),
        ("answers itself", "answered_itself"),
    ] {
        let task = |asked: &Value| {
            let said = asked["conversation"].to_string();
            let mut task = meeting();
            if said.contains("Never mind") {
                task.goals.clear();
            }
            if said.contains("Who is Jill") {
                task.goals.push(("find_person", "find Jill"));
                task.values.retain(|(tool, ..)| *tool != "find_person");
                task.values.push(("find_person", "name", json!("Jill"), "Jill"));
            }
            task
        };
        let upstream = planning::upstream(task, |_, _| answer::text("The model goes on.")).await;
        let proxy = proxy_of(&upstream, "plan: auto").await;
        let request = request();
        let first = proxy.client().chat(&request).await.message();
        let mut next = returned(&request, &first);
        let messages = next["messages"].as_array_mut().unwrap();
        match deviation {
            "skips a call" => {
                messages[1]["tool_calls"].as_array_mut().unwrap().truncate(1);
                messages.truncate(3);
            }
            "repeats a call" => {
                let call = json!({"id": "own_call_1", "type": "function",
                    "function": {"name": "find_person", "arguments": "{\"name\": \"Jack\"}"}});
                messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
                messages
                    .push(json!({"role": "tool", "tool_call_id": "own_call_1", "content": "{\"id\": \"P-Jack-2\"}"}));
            }
            "changes an argument" => {
                messages[1]["tool_calls"][0]["function"]["arguments"] = json!("{\"name\": \"Jill\"}");
                messages[2]["content"] = json!(result("find_person", &json!({"name": "Jill"})));
            }
            "drops the goal" => messages.push(json!({"role": "user", "content": "Never mind, tell me a joke."})),
            "adds a goal" => messages.push(json!({"role": "user", "content": "Who is Jill, by the way?"})),
            _ => messages.push(json!({"role": "assistant", "content": "I have booked it on my own."})),
        }
        let answer = proxy.client().chat(&next).await.message();
        match deviation {
            "repeats a call" => assert_eq!(called(&answer)[0].1["person_id"], "P-Jack-2", "{answer}"),
            "changes an argument" => assert_eq!(called(&answer)[0].1["person_id"], "P-Jill", "{answer}"),
            "adds a goal" => {
                let mut names = names(&answer);
                names.sort();
                assert_eq!(names, ["book_room", "find_person"], "{answer}");
            }
            _ => assert_eq!(answer["content"], "The model goes on.", "{deviation}: {answer}"),
        }
        // A later turn of the conversation does not resume a completed plan.
        if answer["content"] == "The model goes on." && deviation != "answers itself" {
            push(&mut next, answer);
            push(&mut next, json!({"role": "user", "content": "Thank you!"}));
            proxy.client().chat(&next).await.ok();
        }
        let traces = proxy.traces_after_stop().await;
        let results = traces.iter().filter_map(|trace| trace.get("plan")).map(|plan| &plan["result"]);
        let ended: Vec<&Value> = results.filter(|it| *it != "handed").collect();
        let is_over = ["skips a call", "drops the goal", "answers itself"].contains(&deviation);
        assert_eq!(ended, vec![&json!("dropped"); usize::from(is_over)], "{deviation}");
        let kinds: Vec<&Value> =
            traces.iter().flat_map(|trace| trace["plan"]["deviations"].as_array().into_iter().flatten()).collect();
        assert!(kinds.iter().any(|it| it["kind"] == told), "{deviation}: {kinds:?}");
        assert_eq!(kinds.len(), 1, "{deviation}: {kinds:?}");
    }
}

#[tokio::test]
async fn without_a_store_the_plan_makes_only_the_first_calls() {
    let upstream = planning::upstream(|_| meeting(), |_, _| answer::text("The model goes on.")).await;
    let config = config(&upstream.url("/v1")).replace("sqlite:traces.sqlite3", "");
    let proxy = Proxy::start(config).await;
    let request = request();
    let first = proxy.client().chat(&request).await.message();
    assert_eq!(names(&first), ["find_person", "find_room"]);
    let next = returned(&request, &first);
    assert_eq!(proxy.client().chat(&next).await.message()["content"], "The model goes on.");
}

#[tokio::test]
async fn the_same_calls_of_another_client_find_no_plan() {
    let upstream = planning::upstream(|_| meeting(), |_, _| answer::text("The model goes on.")).await;
    let proxy = proxy_of(&upstream, "plan: auto").await;
    let request = request();
    let chat = async |key: &str, body: &Value| {
        let fields = [("content-type", "application/json"), ("authorization", key)];
        proxy.client().send(reqwest::Method::POST, "/v1/chat/completions", &fields, body.to_string()).await.message()
    };
    let first = chat("Bearer one", &request).await;
    let next = returned(&request, &first);
    assert_eq!(chat("Bearer two", &next).await["content"], "The model goes on.");
    booked(&chat("Bearer one", &next).await);
}

#[tokio::test]
async fn an_id_that_the_model_made_up_is_told_where_it_comes_from() {
    // The room tool returns no id, no other source exists, and the model continues by itself.
    let script = |number: usize, _: &crate::support::Received| match number {
        0 => answer::one_call(
            "book_room",
            r#"{"person_id": "P-9999", "room_id": "R-1", "start": "09:00", "end": "10:00"}"#,
        ),
        _ => answer::one_call(
            "book_room",
            r#"{"person_id": "P-Jack", "room_id": "R-1", "start": "09:00", "end": "10:00"}"#,
        ),
    };
    let upstream = planning::upstream(|_| meeting(), script).await;
    let proxy = proxy_of(&upstream, "plan: auto").await;
    let request = request();
    let first = proxy.client().chat(&request).await.message();
    let mut next = returned(&request, &first);
    next["messages"][3]["content"] = json!("{\"status\": \"all taken\", \"rooms\": []}");
    let answer = proxy.client().chat(&next).await;
    assert_eq!(called(&answer.message())[0].1["person_id"], "P-Jack");
    let (_, others) = planning::split(&upstream);
    assert!(others[1].last_message()["content"].as_str().unwrap().contains("find_person"), "{}", others[1].text());
    assert_eq!(answer.verdict(), "corrected");
}

/// Returns a task in which one argument of the booking has another source.
fn careless(name: &'static str, value: &'static str, words: &'static str) -> Task {
    let mut task = meeting();
    task.outputs.retain(|(tool, argument, ..)| (*tool, *argument) != ("book_room", name));
    task.values.push(("book_room", name, json!(value), words));
    task
}

#[tokio::test]
async fn a_plan_with_words_for_a_key_yields_to_the_models_own_call() {
    let other_goal = Task { goals: vec![("find_person", "find Jack")], ..meeting() };
    let mut only_values = careless("room_id", "room", "a room");
    only_values.values.push(("book_room", "person_id", json!("Jack"), "Jack"));
    only_values.outputs.clear();
    let mut asks = meeting();
    asks.outputs.clear();
    for (what, task) in [
        ("a name", careless("person_id", "Jack", "Jack")),
        ("a thing", careless("room_id", "room", "a room")),
        ("a time", careless("room_id", "9", "from 9")),
        ("only words", only_values),
        ("another goal", other_goal),
        ("a question", asks),
    ] {
        let own = |_: usize, _: &crate::support::Received| answer::one_call("find_person", r#"{"name": "Jack"}"#);
        let upstream = planning::upstream(move |_| task.clone(), own).await;
        let proxy = proxy_of(&upstream, "plan: auto").await;
        let message = proxy.client().chat(&request()).await.message();
        assert_eq!(called(&message), [("find_person".to_owned(), json!({"name": "Jack"}))], "{what}");
        let trace = proxy.traces_after_stop().await.pop().unwrap();
        assert_eq!(trace["plan"]["result"], "given_up", "{what}: {:#}", trace["plan"]);
    }
}

#[tokio::test]
async fn an_answer_that_only_repeats_the_name_is_no_key() {
    let task = |_: &Value| {
        let mut task = meeting();
        for (_, argument, _, pointer, _) in &mut task.outputs {
            if *argument == "person_id" {
                *pointer = "/name";
            }
        }
        task
    };
    let upstream = planning::upstream(task, |_, _| answer::text("The model goes on.")).await;
    let proxy = proxy_of(&upstream, "plan: auto").await;
    let request = request();
    let first = proxy.client().chat(&request).await.message();
    assert_eq!(names(&first), ["find_person", "find_room"]);
    let next = proxy.client().chat(&returned(&request, &first)).await.message();
    assert_eq!(next["content"], "The model goes on.", "the name `Jack` is no id of a person");
}
