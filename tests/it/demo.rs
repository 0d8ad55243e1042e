//! The whole demo with the real proxy, also with a censor between proxy and model that removes parts of the feedback
//! from which the model learns.

use std::io::{BufRead, BufReader, Read};

use http::{HeaderName, Method};
use serde_json::Value;

use crate::support::guarded;
use crate::support::verb::Folder;
use callwright::app::App;
use callwright::config;
use callwright_demo::server::{Handler, Reply, Request};
use callwright_demo::{DemoWorld, Detail, Ending, PlayOptions, PlayedConversation, Server, Stage, client, play, start};

/// Function that removes text from every message to the model.
type Cut = fn(&str) -> String;

/// An intermediary between the proxy and the model that cuts messages.
struct Censor {
    model: String,
    cut: Cut,
}

impl Handler for Censor {
    async fn handle(&self, request: &Request) -> Reply {
        let mut body: Value = serde_json::from_slice(&request.body).unwrap();
        for message in body["messages"].as_array_mut().unwrap() {
            if let Some(text) = message["content"].as_str() {
                message["content"] = (self.cut)(text).into();
            }
        }
        assert_eq!(request.method, Method::POST);
        let answer = client::post(&format!("{}{}", self.model, request.path), &[], &body).await.unwrap();
        let kind = answer.header("content-type").unwrap().to_owned();
        Reply::events(answer.chunks).with_header(HeaderName::from_static("content-type"), &kind)
    }
}

/// Plays the whole demo with a censor between the proxy and the model.
async fn play_cut(cut: Cut) -> (DemoWorld, Vec<PlayedConversation>, String) {
    play_with(cut, PlayOptions { detail: Detail::Full, shows_metrics: true }).await
}

async fn play_with(cut: Cut, options: PlayOptions) -> (DemoWorld, Vec<PlayedConversation>, String) {
    let parent = tempfile::tempdir().unwrap();
    let world = start(parent.path()).await.unwrap();
    let censor = Server::start(Censor { model: world.model.url(), cut }).await.unwrap();
    let file = world.directory().join("callwright.toml");
    std::fs::write(&file, world.config_toml.replace(&world.model.url(), &censor.url())).unwrap();
    let request = config::ConfigRequest { file: Some(file), ..config::ConfigRequest::default() };
    let loaded = config::load(&request, &|_| None).unwrap();
    let app = App::start(loaded.settings, &loaded.base_dir).await.unwrap();
    let mut out = Vec::new();
    let model_url = world.model.url();
    let stage = Stage { client_url: app.client_url(), operator_url: app.operator_url(), model_url: &model_url };
    let played = play(&stage, options, &mut out).await.unwrap();
    app.stop().await;
    (world, played, anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string())
}

/// Returns the titles of the conversations without the expected result.
fn broken(played: &[PlayedConversation]) -> Vec<&'static str> {
    played.iter().filter(|played| !played.as_promised).map(|played| played.title).collect()
}

#[tokio::test]
async fn every_conversation_shows_what_it_promises() {
    let (_, played, transcript) = play_cut(str::to_owned).await;
    assert_eq!(broken(&played), [""; 0], "{transcript}");
    for line in [
        "The model in this demo is scripted",
        "tool_renamed: \"geocode_place\" → \"geocodePlace\"",
        "type_coerced: \"2\" → 2",
        "E3.4 parameter_missing at /date",
        "GET /route → 400 {\"info_code\":\"20000\"}",
        "(route-planner.yaml#/paths/~1route/get/responses/400/description)",
        "POST /bookings → 201",
        "is drawn: `flight_id` of bookFlight is missing, and searchFlights supplies it",
        "destination = $call2.trips[?].destination$",
        "takes item 2 of 2 of listTrips's answer for searchFlights: the user named it",
        "takes item 2 of 3 of searchFlights's answer for bookFlight: the model chose it",
        "end = ? (Until when?)",
        "runs bookFlight itself → {\"id\":\"s-1\",\"flight_id\":\"f-327\",\"traveller_id\":\"t-61\"}",
        "callwright_plans_total{result=\"complete\"}",
        "runs planRoute itself → {\"info_code\":\"20000\"}",
        "attempts, for the person who takes over",
        "callwright_repairs_total{kind=\"tool_renamed\"}",
        "from earlier conversations",
    ] {
        assert!(transcript.contains(line), "{line} is not in\n{transcript}");
    }
    let long: Vec<_> = transcript.lines().filter(|line| line.chars().count() > 100).collect();
    assert!(long.is_empty(), "{long:#?}");
    let planned = played.iter().filter(|played| played.traces.iter().any(|trace| trace.plan.is_some()));
    assert_eq!(planned.count(), 5, "simple turns pay for no planning");
    for plan in played.iter().flat_map(|played| &played.traces).filter_map(|trace| trace.plan.as_ref()) {
        let Some((_, supplier)) = plan.reason.split_once("is missing, and ") else { continue };
        let supplier = supplier.strip_suffix(" supplies it").unwrap();
        let nodes = plan.plan.as_ref().unwrap().nodes();
        assert!(nodes.iter().any(|node| node.tool == supplier), "{}: {nodes:#?}", plan.reason);
    }
}

/// The default of `callwright demo`: the closing table is counted from this run.
#[tokio::test]
async fn the_brief_demo_compares_five_conversations_both_ways() {
    let (world, played, transcript) = play_with(str::to_owned, PlayOptions::default()).await;
    assert_eq!(broken(&played), [""; 0], "{transcript}");
    assert!(transcript.lines().count() <= 112, "{} lines:\n{transcript}", transcript.lines().count());
    assert!(transcript.lines().all(|line| line.chars().count() <= 100), "{transcript}");
    let comparisons: Vec<_> = played.iter().map(|played| played.comparison.unwrap()).collect();
    let with: Vec<Ending> = comparisons.iter().map(|one| one.with.ending).collect();
    let right = Ending::Right;
    assert_eq!(with, [right, right, right, right, Ending::HandedOver], "{transcript}");
    assert!(comparisons.iter().all(|one| one.without.ending == Ending::Wrong), "{transcript}");
    let sum = |of: fn(&callwright_demo::Comparison) -> u64| comparisons.iter().map(of).sum::<u64>();
    let (without, with) = (sum(|one| one.without.requests), sum(|one| one.with.requests));
    assert!(
        transcript.contains(&format!("without the proxy: 0 of 5 right; {without} model requests, ")),
        "{transcript}"
    );
    let words = format!("with the proxy:    4 of 5 right, 1 handed over; {with} model requests, ");
    assert!(transcript.contains(&words), "{transcript}");
    assert_eq!(world.model.requests(), without + with, "the numbers are those of the model itself");
}

/// Without the sentence that explains the error, the proxy is no better, and the table shows it.
#[tokio::test]
async fn the_table_is_counted_and_not_written() {
    let cut: Cut = |text| text.replace("longitude precedes the latitude", "");
    let (_, played, transcript) = play_with(cut, PlayOptions::default()).await;
    assert_ne!(played[3].comparison.unwrap().with.ending, Ending::Right, "{transcript}");
    assert!(transcript.contains("with the proxy:    3 of 5 right"), "{transcript}");
}

#[tokio::test]
async fn without_the_passage_the_error_stays_a_riddle() {
    let (_, played, transcript) = play_cut(|text| text.replace("longitude precedes the latitude", "")).await;
    let explained = [
        "An API's error is explained by its own documentation",
        "The client's own tool fails, and the proxy explains the failure",
    ];
    assert_eq!(broken(&played), explained, "{transcript}");
}

/// Plans depend on the model's query, not only on the request.
#[tokio::test]
async fn without_the_tools_that_supply_an_id_no_plan_has_it() {
    let (_, played, transcript) = play_cut(|text| text.replace("/flights/0/id", "/flights/0/price")).await;
    assert_eq!(broken(&played), ["A plan four calls deep: a flight for Lucas"], "{transcript}");
}

#[tokio::test]
async fn without_the_name_of_what_is_missing_it_stays_missing() {
    let (_, played, transcript) = play_cut(|text| text.replace("required parameter `date` is missing", "")).await;
    assert_eq!(
        broken(&played),
        ["A missing parameter is sent back to the model", "A mistake is not repeated"],
        "{transcript}"
    );
}

/// `callwright demo` as a person runs it.
#[test]
fn the_command_prints_two_pages_and_three_next_commands() {
    let said = Folder::with(&[]).run(&["demo"], b"");
    let text = String::from_utf8(said.stdout).unwrap();
    assert_eq!(said.status, Some(0), "{text}{}", said.stderr);
    assert!(text.lines().count() <= 120, "{} lines", text.lines().count());
    let (_, next) = text.split_once("\nNext\n").unwrap();
    assert_eq!(next.lines().filter(|line| line.starts_with("    callwright ")).count(), 3, "{next}");
    assert!(!text.contains("callwright_turns_total"), "metrics are shown only on request");
    let metrics = Folder::with(&[]).run(&["demo", "--metrics"], b"");
    assert!(String::from_utf8(metrics.stdout).unwrap().contains("callwright_turns_total"));
}

/// `callwright demo --serve` on other ports, with a second of traffic.
#[tokio::test]
async fn the_demo_keeps_running_with_traffic_for_the_console() {
    let folder = Folder::with(&[]);
    let free = "127.0.0.1:0";
    let arguments = ["demo", "--serve", "--listen", free, "--operator-listen", free, "--traffic", "1"];
    let mut child = folder.start(&arguments);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let read = move || {
        let mut lines = Vec::new();
        for line in out.by_ref().lines() {
            let line = line.unwrap();
            let is_last = line.ends_with("conversations were held.");
            lines.push(line);
            if is_last {
                break;
            }
        }
        (lines, out)
    };
    let (lines, _out) = guarded("the traffic ends", tokio::task::spawn_blocking(read)).await.unwrap();
    let console = lines.iter().find_map(|line| line.trim().strip_prefix("Console: ")).unwrap();
    assert_eq!(client::get(console).await.unwrap().status.as_u16(), 200);
    let traces = client::get(&console.replace("/console", "/admin/traces?limit=1000")).await.unwrap().text();
    let traces: Value = serde_json::from_str(&traces).unwrap();
    let sessions = traces["traces"].as_array().unwrap().iter().filter_map(|trace| trace["session"].as_str());
    assert!(sessions.filter(|session| session.starts_with("traffic-")).count() > 0, "{traces}");
    let ended = tokio::task::spawn_blocking(move || {
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
        child.wait().unwrap()
    });
    assert!(guarded("it ends", ended).await.unwrap().success());
}
