//! The whole demo with the real proxy, also with a censor between proxy and model that removes parts of the feedback
//! from which the model learns.

use http::{HeaderName, Method};
use serde_json::Value;

use callwright::app::App;
use callwright::config;
use callwright_demo::server::{Handler, Reply, Request};
use callwright_demo::{DemoWorld, Played, Server, client, play, start};

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

/// Plays the demo with a censor between the proxy and the model.
async fn play_cut(cut: Cut) -> (DemoWorld, Vec<Played>, String) {
    let parent = tempfile::tempdir().unwrap();
    let world = start(parent.path()).await.unwrap();
    let censor = Server::start(Censor { model: world.model.url(), cut }).await.unwrap();
    let file = world.directory().join("callwright.toml");
    std::fs::write(&file, world.config_toml.replace(&world.model.url(), &censor.url())).unwrap();
    let request = config::ConfigRequest { file: Some(file), ..config::ConfigRequest::default() };
    let loaded = config::load(&request, &|_| None).unwrap();
    let app = App::start(loaded.settings, &loaded.base_dir).await.unwrap();
    let mut out = Vec::new();
    let played = play(app.client_url(), app.operator_url(), &mut out).await.unwrap();
    app.stop().await;
    (world, played, anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string())
}

/// Returns the titles of the conversations without the expected result.
fn broken(played: &[Played]) -> Vec<&'static str> {
    played.iter().filter(|played| !played.as_promised).map(|played| played.title).collect()
}

#[tokio::test]
async fn every_conversation_shows_what_it_promises() {
    let (world, played, transcript) = play_cut(str::to_owned).await;
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
    let requests = [&world.route_planner, &world.meeting_rooms, &world.flight_desk].map(Server::requests);
    assert_eq!(requests, [4, 8, 4]);
    let planned = played.iter().filter(|played| played.traces.iter().any(|trace| trace.plan.is_some()));
    assert_eq!(planned.count(), 5, "simple turns pay for no planning");
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
