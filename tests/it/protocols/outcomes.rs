//! Outcome, actions and verdict of a turn follow from what the model's last answer and the client's answer are: random
//! turns over protocols, streams and modes. `CALLWRIGHT_TURNS=100000` sets their number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::api::{Api, FIELDS, Part, is_stream, written};
use crate::support::answer::{self, call_begin, call_piece, completion, finish, role};
use crate::support::{Proxy, Received, Reply, Server, config, policy};

/// Number of turns if the environment names none.
const TURNS: u64 = 600;

/// Turns at the same time.
const TASKS: u64 = 8;

/// A call of an answer.
#[derive(Debug, Clone, PartialEq)]
struct Made {
    id: Option<String>,
    name: String,
    arguments: String,
    /// Whether the arguments are an object instead of a text.
    is_object: bool,
}

impl Made {
    /// Returns what makes the call: a client compares the value of its arguments.
    fn key(&self) -> (Option<&str>, &str, Value, bool) {
        let value = serde_json::from_str(&self.arguments).unwrap_or_else(|_| Value::from(self.arguments.as_str()));
        (self.id.as_deref(), &self.name, value, self.is_object)
    }
}

/// An answer of a model, or the one that a client gets.
#[derive(Debug, Clone, Default)]
struct Given {
    status: u16,
    text: String,
    calls: Vec<Made>,
}

impl Given {
    fn is_same(&self, other: &Self) -> bool {
        let keys = |given: &Self| given.calls.iter().map(|call| format!("{:?}", call.key())).collect::<Vec<_>>();
        self.status == other.status && self.text == other.text && keys(self) == keys(other)
    }

    fn is_malformed(&self) -> bool {
        let ids: std::collections::HashSet<_> = self.calls.iter().map(|call| &call.id).collect();
        ids.len() < self.calls.len() || self.calls.iter().any(|call| call.id.is_none() || call.is_object)
    }
}

/// A turn: everything about it follows from its number.
#[derive(Debug, Clone, Copy)]
struct Turn {
    number: u64,
    /// `None`: chat completions.
    api: Option<Api>,
    stream: bool,
    mode: &'static str,
    parallel: bool,
}

impl Turn {
    fn new(number: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(number);
        Self {
            number,
            api: [None, None, Some(Api::Responses), Some(Api::Messages)][rng.usize(..4)],
            stream: rng.bool(),
            mode: ["guarded", "guarded", "guarded", "shadowed", "passed"][rng.usize(..5)],
            parallel: rng.u8(..4) > 0,
        }
    }

    /// Returns the model's answer to the request with this position in the turn.
    fn answer(self, position: u64) -> Given {
        let mut rng = fastrand::Rng::with_seed(self.number.wrapping_mul(31) + position);
        let status = if position == 0 && rng.u8(..25) == 0 { 400 } else { 200 };
        if status != 200 {
            return Given { status, ..Given::default() };
        }
        let kind = rng.u8(..20);
        let text = match kind {
            0..3 => "It rains.".to_owned(),
            3 => String::new(),
            4 => written("get_weather", r#"{"city":"Paris"}"#),
            5 => written("getWeather", r#"{"days":"3"}"#),
            _ if rng.u8(..5) == 0 => "I look it up.".to_owned(),
            _ => String::new(),
        };
        let count = if kind < 6 { 0 } else { [1, 1, 1, 2, 3][rng.usize(..5)] };
        let calls = (0..count).map(|at| self.call(&mut rng, position, at)).collect();
        Given { status, text, calls }
    }

    fn call(self, rng: &mut fastrand::Rng, position: u64, at: u64) -> Made {
        const NAMES: [&str; 8] =
            ["get_weather", "get_weather", "get_weather", "get_weather", "getWeather", "launch", "lookup", "lookup"];
        let name = NAMES[rng.usize(..NAMES.len())].to_owned();
        let mut bodies = vec![
            r#"{"city":"Paris"}"#, r#"{"city":"Oslo","days":2}"#, r#"{"city":"Paris"}"#, r#"{"City":"Paris"}"#,
            r#"{"city":"Paris","days":"3"}"#, r#"{"town":"Paris"}"#, "{}",
        ];
        if self.api.is_none() {
            bodies.push(r#"{"city":"#);
        }
        let arguments = bodies[rng.usize(..bodies.len())].to_owned();
        // Outside of guard mode, an answer that is no answer of the API reference is forwarded as it came.
        let is_odd = self.mode == "guarded" && rng.u8(..8) == 0;
        let is_chat = self.api.is_none();
        let odd = if is_odd { rng.u8(..3) } else { u8::MAX };
        let id = if odd == 0 && is_chat { None } else { Some(format!("call_{position}_{at}")) };
        let id = if odd == 1 { Some("call_shared".to_owned()) } else { id };
        let is_object = odd == 2 && is_chat && serde_json::from_str::<Value>(&arguments).is_ok();
        Made { id, name, arguments, is_object }
    }

    fn request(self) -> Value {
        let question = format!("Weather? turn-{}-", self.number);
        let lookup = json!({
            "type": "object",
            "properties": {"city": {"$ref": "https://example.org/city.json"}, "days": {"type": "integer"}},
        });
        let mut request = match self.api {
            None => {
                let mut request = crate::support::request::with_tools(&question);
                let tool = json!({"type": "function", "function": {"name": "lookup", "parameters": lookup}});
                request["tools"].as_array_mut().unwrap().push(tool);
                request
            }
            Some(api) => {
                let mut request = api.with_tools(&question);
                request["tools"].as_array_mut().unwrap().push(api.tool("lookup", lookup));
                request
            }
        };
        match self.api {
            _ if self.parallel => {}
            Some(Api::Messages) => {
                request["tool_choice"] = json!({"type": "auto", "disable_parallel_tool_use": true});
            }
            _ => request["parallel_tool_calls"] = json!(false),
        }
        request["model"] = json!(self.mode);
        request["stream"] = json!(self.stream);
        request
    }

    fn reply(self, received: &Received, given: &Given) -> Reply {
        if given.status != 200 {
            return Reply::json(
                given.status,
                &json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}),
            );
        }
        let Some(api) = self.api else { return chat_reply(is_stream(received), given) };
        let text = (!given.text.is_empty()).then(|| super::api::text(&given.text));
        let calls = given
            .calls
            .iter()
            .map(|call| super::api::call(call.id.as_deref().unwrap_or_default(), &call.name, &call.arguments));
        let parts: Vec<Part> = text.into_iter().chain(calls).collect();
        api.reply(received, &parts)
    }

    /// Takes the turn, and returns the client's answer with the id of the trace.
    async fn take(self, proxy: &Proxy) -> (Given, String) {
        let (path, request) = (self.api.map_or("/v1/chat/completions", Api::path), self.request());
        if !self.stream {
            let answer = proxy.client().send(Method::POST, path, &FIELDS, request.to_string()).await;
            let id = answer.header("x-callwright-trace").unwrap().to_owned();
            let status = answer.status.as_u16();
            return (if status == 200 { self.read(&answer.json()) } else { Given { status, ..Given::default() } }, id);
        }
        let mut stream = proxy.client().stream(path, &FIELDS, request.to_string()).await;
        let (status, id) = (stream.status.as_u16(), stream.header("x-callwright-trace").unwrap().to_owned());
        if status != 200 {
            return (Given { status, ..Given::default() }, id);
        }
        let given = match self.api {
            None => {
                let assembled = stream.assemble().await;
                let choice = assembled.choice();
                let mut given = self.read(&json!({"choices": [{"message": {"tool_calls": choice.calls}}]}));
                given.text.clone_from(&choice.content);
                given
            }
            Some(api) => {
                stream.rest().await;
                self.read(&api.assembled(&super::sse::events_of(&stream.raw())))
            }
        };
        (given, id)
    }

    /// Reads an answer of the turn's protocol.
    fn read(self, answer: &Value) -> Given {
        let text_of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let made = |id: &Value, name: &Value, arguments: &Value| Made {
            id: id.as_str().map(str::to_owned),
            name: text_of(name),
            arguments: arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned),
            is_object: self.api.is_none() && !arguments.is_string(),
        };
        let mut given = Given { status: 200, ..Given::default() };
        let Some(api) = self.api else {
            let message = &answer["choices"][0]["message"];
            given.text = text_of(&message["content"]);
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            let read = |call: &Value| made(&call["id"], &call["function"]["name"], &call["function"]["arguments"]);
            given.calls = calls.map(read).collect();
            return given;
        };
        for part in answer[api.parts_key()].as_array().into_iter().flatten() {
            match part["type"].as_str() {
                Some("text") => given.text.push_str(&text_of(&part["text"])),
                Some("message") => given.text.push_str(&text_of(&part["content"][0]["text"])),
                Some("function_call") => given.calls.push(made(&part["call_id"], &part["name"], &part["arguments"])),
                Some("tool_use") => given.calls.push(made(&part["id"], &part["name"], &part["input"])),
                _ => {}
            }
        }
        given
    }
}

fn chat_reply(stream: bool, given: &Given) -> Reply {
    let element = |call: &Made| {
        let arguments = match call.is_object {
            true => serde_json::from_str(&call.arguments).unwrap(),
            false => json!(call.arguments),
        };
        let mut element = json!({"type": "function", "function": {"name": call.name, "arguments": arguments}});
        if let Some(id) = &call.id {
            element["id"] = json!(id);
        }
        element
    };
    let reason = if given.calls.is_empty() { "stop" } else { "tool_calls" };
    if !stream {
        let mut message = json!({"role": "assistant", "content": given.text});
        if !given.calls.is_empty() {
            message["tool_calls"] = given.calls.iter().map(element).collect();
        }
        return Reply::json(200, &completion(message, reason));
    }
    let mut chunks = vec![role()];
    if !given.text.is_empty() {
        chunks.push(answer::text_chunk(&given.text));
    }
    for (index, call) in given.calls.iter().enumerate() {
        if call.id.is_none() || call.is_object {
            let mut piece = element(call);
            piece["index"] = json!(index);
            chunks.push(answer::chunk(json!({"tool_calls": [piece]})));
            continue;
        }
        chunks.push(call_begin(index, call.id.as_deref().unwrap(), &call.name));
        chunks.push(call_piece(index, &call.arguments));
    }
    chunks.push(finish(reason));
    Reply::events(&chunks)
}

/// Returns the number of the turn that a request belongs to.
fn number_of(received: &Received) -> u64 {
    let text = received.text();
    let start = text.find("turn-").unwrap() + "turn-".len();
    text[start..].split('-').next().unwrap().parse().unwrap()
}

/// Checks what the trace states against the last answer of the model (`model`) and the client's (`client`).
fn check(turn: Turn, model: &Given, client: &Given, requests: u64, trace: &Value) {
    let context = || format!("{turn:?}\nmodel {model:?}\nclient {client:?}\nrequests {requests}\n{trace:#}");
    let (verdict, outcome) = (trace["verdict"].as_str().unwrap(), trace["outcome"].as_str().unwrap());
    let actions = &trace["actions"];
    let is_changed = !model.is_same(client);
    let repaired = actions["repaired"] == true;
    let states_change = repaired || actions["withheld"] == true || actions["cut"].as_u64().unwrap_or(0) > 0;
    assert!(!is_changed || verdict != "clean", "a changed answer is clean: {}", context());
    assert!(is_changed || verdict != "repaired", "an unchanged answer is repaired: {}", context());
    assert_eq!(actions["sent_back"].as_u64().unwrap_or(0) + 1, requests, "{}", context());
    if requests == 1 {
        assert_eq!(is_changed, states_change, "actions: {}", context());
    }
    if model.status != 200 {
        assert_eq!((outcome, verdict), ("upstream_failed", "failed"), "{}", context());
        return;
    }
    match turn.mode {
        "passed" => assert_eq!((outcome, verdict), ("unjudged", "unguarded"), "{}", context()),
        "shadowed" => assert!(!is_changed && verdict != "repaired" && verdict != "corrected", "{}", context()),
        _ => {}
    }
    let is_called = !client.calls.is_empty();
    match outcome {
        "text" | "no_call" => assert!(!is_called, "{}", context()),
        "call" => assert!(is_called, "{}", context()),
        "unjudged" => {
            let is_unread = client.calls.iter().any(|call| call.name == "lookup" && call.arguments.contains("city"));
            assert!(turn.mode == "passed" || (is_unread && trace["unjudged"] == "schema"), "{}", context());
        }
        "faulty_call" => assert!(verdict == "faulty", "{}", context()),
        other => panic!("{other}: {}", context()),
    }
    if verdict == "corrected" {
        assert!(is_called && requests > 1, "{}", context());
    }
    if turn.mode == "guarded" && model.is_malformed() && requests == 1 {
        assert!(is_changed || !is_called, "the client got a malformed call: {}", context());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_about_random_turns_are_true() {
    let turns = std::env::var("CALLWRIGHT_TURNS").ok().and_then(|turns| turns.parse().ok()).unwrap_or(TURNS);
    let requests: Arc<Mutex<HashMap<u64, u64>>> = Arc::default();
    let counted = Arc::clone(&requests);
    let upstream = Server::scripted(move |_, received| {
        let turn = Turn::new(number_of(received));
        let position = {
            let mut counted = counted.lock().unwrap();
            let count = counted.entry(turn.number).or_default();
            *count += 1;
            *count - 1
        };
        turn.reply(received, &turn.answer(position))
    })
    .await;
    let alias = |name: &str, policy: &str| format!("[aliases.{name}]\nmodel = \"m\"\npolicy = \"{policy}\"\n");
    let config = config(&upstream.url("/v1"))
        + "circuit_failures = 0\n"
        + &policy::table("guard")
        + &alias("guarded", "guard")
        + &alias("shadowed", "watch")
        + &alias("passed", "pass");
    let files = [
        ("policies/guard.yaml", policy::file("guard", "mode: guard")),
        ("policies/watch.yaml", policy::file("watch", "mode: shadow")),
        ("policies/pass.yaml", policy::file("pass", "mode: off")),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let proxy = Arc::new(Proxy::start_with_files(config, &files).await);
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let (proxy, requests) = (Arc::clone(&proxy), Arc::clone(&requests));
        tasks.spawn(async move {
            let mut taken = Vec::new();
            for number in (0..turns).filter(|number| number % TASKS == task) {
                let turn = Turn::new(number);
                let (client, id) = turn.take(&proxy).await;
                taken.push((turn, client, id));
            }
            for (turn, client, id) in taken {
                let trace = stored(&proxy, &id).await;
                let count = requests.lock().unwrap().get(&turn.number).copied().unwrap();
                check(turn, &turn.answer(count - 1), &client, count, &trace);
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
}

/// Returns a trace once it is stored.
async fn stored(proxy: &Proxy, id: &str) -> Value {
    loop {
        let answer = proxy.operator().get(&format!("/admin/traces/{id}")).await;
        if answer.status == 200 {
            return answer.json();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
