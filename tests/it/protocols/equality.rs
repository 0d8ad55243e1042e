//! Random answers: a clean stream passes event by event, and the chunks of a stream do not matter for what is judged.

use std::sync::Arc;

use fastrand::Rng;
use serde_json::{Value, json};

use super::api::{APIS, Api, Part, call, text, thought};
use super::sse;
use crate::support::{Proxy, Server, config};

/// Default number of answers; `CALLWRIGHT_STREAMS` sets another number.
const ANSWERS: u64 = 300;
/// Number of concurrent clients.
const CLIENTS: u64 = 8;
/// Number of ways in which one answer is cut into chunks.
const WAYS: u64 = 3;

const WORDS: [&str; 12] = [
    "It", "rains", "in", "Łódź", "東京", "today,", "with", "a wind of", "7", "knots.\n\n", "雨が降ります。",
    "**Bring** a coat.",
];

/// Fragments of answers: prose, calls in several notations, and similar text.
const FRAGMENTS: [&str; 12] = [
    "It rains. ",
    "I look it up.\n",
    "\n\n",
    "Here is the call:\n",
    "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}</tool_call>",
    "<tool_call>\n{\"name\": \"book_room\", \"arguments\": {\"hotel\": \"Łódź\", \"nights\": \"2\"}}\n</tool_call>\n",
    "get_weather(city=\"東京\")\n",
    "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```\n",
    "{\"name\": \"Bob\", \"age\": 7}\n",
    "[x] done\n- [ ] open\n",
    "Use `<tool_call>` for that. ",
    "𝄞 ",
];

const CITIES: [&str; 4] = ["Paris", "Łódź", "東京", "Val-d'Isère \"centre\""];

fn words(random: &mut Rng, pool: &[&str]) -> String {
    (0..1 + random.usize(..9)).map(|_| pool[random.usize(..pool.len())].to_owned() + " ").collect()
}

/// Returns a valid call.
fn valid_call(random: &mut Rng, at: usize) -> Part {
    let city = CITIES[random.usize(..CITIES.len())];
    let (name, arguments) = match random.u8(..3) {
        0 => ("get_weather", json!({"city": city})),
        1 => ("get_weather", json!({"city": city, "days": 1 + random.u8(..14)})),
        _ => ("book_room", json!({"hotel": city, "nights": 1 + random.u8(..9)})),
    };
    let arguments = if random.bool() { arguments.to_string() } else { format!("{arguments:#}") };
    call(&format!("call_{at}_{}", random.u32(..)), name, &arguments)
}

/// Returns a part of a tool that the provider executes.
fn hosted(api: Api, at: usize) -> Part {
    Part::Other(match api {
        Api::Responses => {
            json!({"id": format!("ws_{at}"), "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}})
        }
        Api::Messages => {
            json!({"type": "server_tool_use", "id": format!("srvtoolu_{at}"), "name": "web_search", "input": {"query": "q"}})
        }
    })
}

/// Returns the events of the clean answer with this number.
fn clean(api: Api, number: u64) -> Vec<Value> {
    let mut random = Rng::with_seed(number);
    let mut parts = Vec::new();
    for at in 0..random.usize(..6) {
        parts.push(match random.u8(..5) {
            0 => thought(&words(&mut random, &WORDS)),
            1 => hosted(api, at),
            2 => valid_call(&mut random, at),
            _ => text(&format!("{at}. {}", words(&mut random, &WORDS))),
        });
    }
    if parts.is_empty() || parts.iter().all(|part| matches!(part, Part::Thought(_))) {
        parts.push(text(&words(&mut random, &WORDS)));
    }
    let mut events = api.events(&parts);
    for _ in 0..random.usize(..3) {
        let at = 1 + random.usize(..events.len() - 1);
        events.insert(
            at,
            match api {
                Api::Responses => json!({"type": "response.x_new.noted", "x": number}),
                Api::Messages => json!({"type": "ping"}),
            },
        );
    }
    if api == Api::Responses { super::responses_api::numbered(events) } else { events }
}

/// Returns the parts of the answer with this number, which may have faults that are repaired.
fn repairable(api: Api, number: u64) -> Vec<Part> {
    let mut random = Rng::with_seed(number);
    let mut parts = Vec::new();
    if random.bool() {
        parts.push(thought(&words(&mut random, &WORDS)));
    }
    parts.push(text(&words(&mut random, &FRAGMENTS)));
    if random.u8(..4) == 0 {
        parts.push(hosted(api, 7));
        parts.push(text(&words(&mut random, &FRAGMENTS)));
    }
    if random.u8(..3) == 0 {
        parts.push(call("call_w", "getWeather", r#"{"city":"Łódź 東京 𝄞","days":"3"}"#));
    }
    parts
}

fn answers() -> u64 {
    std::env::var("CALLWRIGHT_STREAMS").ok().map_or(ANSWERS, |number| number.parse().unwrap())
}

/// Returns the number that a request names.
fn number_of(api: Api, request: &Value) -> u64 {
    request[api.conversation_key()][0]["content"].as_str().unwrap().parse().unwrap()
}

/// Runs `check` for all numbers, by several clients at once.
async fn for_all<F>(numbers: u64, check: impl Fn(u64) -> F + Clone + Send + 'static)
where
    F: Future<Output = ()> + Send,
{
    let clients = (0..CLIENTS).map(|client| {
        let check = check.clone();
        tokio::spawn(async move {
            for number in (client..numbers).step_by(usize::try_from(CLIENTS).unwrap()) {
                check(number).await;
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
}

/// Pings have no place in the order of a stream.
fn without_pings(mut events: Vec<Value>) -> Vec<Value> {
    events.retain(|event| event["type"] != "ping");
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_stream_leaves_as_it_came() {
    for api in APIS {
        let script = move |_: usize, received: &crate::support::Received| {
            sse::reply(&clean(api, number_of(api, &received.json())))
        };
        let upstream = Server::scripted(script).await;
        let proxy = Arc::new(Proxy::start(config(&upstream.url("/v1"))).await);
        for_all(answers(), move |number| {
            let proxy = Arc::clone(&proxy);
            async move {
                let got = api.stream_events(&proxy, &api.with_tools(&number.to_string())).await;
                let sent = clean(api, number);
                let pings = |events: &[Value]| events.iter().filter(|event| event["type"] == "ping").count();
                assert!(pings(&got) <= pings(&sent), "{api:?} {number}");
                assert_eq!(without_pings(got), without_pings(sent), "{api:?} {number}");
            }
        })
        .await;
    }
}

/// Returns the type of each part with its content, without ids, which may be generated; adjacent texts are one.
fn judged(api: Api, answer: &Value) -> Vec<String> {
    let mut judged: Vec<String> = Vec::new();
    for part in api.outline(answer) {
        match (judged.last_mut(), part.strip_prefix("text ")) {
            (Some(last), Some(text)) if last.starts_with("text ") => last.push_str(text),
            _ => judged.push(part),
        }
    }
    judged.into_iter().map(|part| part.trim_end().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_chunks_of_a_stream_do_not_matter() {
    for api in APIS {
        let script = move |_: usize, received: &crate::support::Received| {
            let number = number_of(api, &received.json());
            let bytes = sse::bytes(&api.events(&repairable(api, number / WAYS))).into_bytes();
            let mut random = Rng::with_seed(number);
            let mut cuts: Vec<usize> = (0..random.usize(..60)).map(|_| random.usize(..bytes.len())).collect();
            cuts.sort_unstable();
            sse::cut(&bytes, cuts)
        };
        let upstream = Server::scripted(script).await;
        let rules = crate::support::policy::file("ruled", "limits: {static_feedback: 0}");
        let config = config(&upstream.url("/v1")) + "tool_calls = \"text\"\n" + &crate::support::policy::table("ruled");
        let proxy = Arc::new(Proxy::start_with_files(config, &[("policies/ruled.yaml", rules.as_str())]).await);
        for_all(answers() / WAYS, move |answer| {
            let proxy = Arc::clone(&proxy);
            async move {
                let mut ways = Vec::new();
                for way in 0..WAYS {
                    let request = api.with_tools(&(answer * WAYS + way).to_string());
                    ways.push(judged(api, &api.streamed(&proxy, &request).await));
                }
                let parts = repairable(api, answer);
                assert!(ways.iter().all(|way| *way == ways[0]), "{api:?} {answer} {parts:?}: {ways:#?}");
            }
        })
        .await;
    }
}
