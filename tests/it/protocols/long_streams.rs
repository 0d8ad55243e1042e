//! Long streams: see `tests/it/long_streams.rs`.

use serde_json::{Value, json};

use super::api::{APIS, Api, call, text, thought};
use super::{responses_api, sse};
use crate::support::{Proxy, Server, config, policy};

/// Limit of what is kept for an answer.
const FEW_BYTES: usize = 2_000;

fn long(bytes: usize) -> String {
    "It rains. ".repeat(bytes / 10)
}

async fn events(api: Api, sent: &[Value], mode: &str) -> (Vec<Value>, f64) {
    let upstream = Server::always(sse::reply(sent)).await;
    let config = config(&upstream.url("/v1"))
        + &format!("[pipeline]\nmax_stream_bytes = {FEW_BYTES}\n")
        + &policy::table("ruled");
    let file = policy::file("ruled", &format!("mode: {mode}"));
    let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", &file)]).await;
    let events = api.stream_events(&proxy, &api.with_tools("Weather?")).await;
    let unjudged = proxy.metrics().await.sum("unjudged_answers_total", &[("reason", "size")]);
    (events, unjudged)
}

#[tokio::test]
async fn beyond_the_limit_an_answer_is_forwarded_unjudged_and_counted() {
    let arguments = json!({"city": long(4 * FEW_BYTES)}).to_string();
    for api in APIS {
        for parts in [
            vec![text(&long(4 * FEW_BYTES)), call("call_1", "get_weather", r#"{"city":"Paris"}"#)],
            vec![thought(&long(4 * FEW_BYTES)), text("Yes.")],
            vec![
                text("I look."),
                call("call_1", "get_weather", &arguments),
                call("call_2", "get_weather", r#"{"city":"Rome"}"#),
            ],
        ] {
            let sent = api.events(&parts);
            let expected = api.outline(&api.answer(&parts));
            for (mode, counted) in [("guard", 1.0), ("shadow", 1.0), ("off", 0.0)] {
                let (events, unjudged) = events(api, &sent, mode).await;
                // Merged deltas leave gaps in the numbers of the events behind them.
                let events = if api == Api::Responses { responses_api::numbered(events) } else { events };
                assert!(api.outline(&api.assembled(&events)) == expected, "{api:?} {mode}: another answer");
                assert_eq!(unjudged, counted, "{api:?} {mode}");
            }
        }
    }
}

#[tokio::test]
async fn the_bytes_around_the_content_do_not_count() {
    let arguments = json!({"city": long(FEW_BYTES / 10)}).to_string();
    for api in APIS {
        let parts = |name| [text("I look."), call("call_1", name, &arguments)];
        let mut sent = api.events(&parts("getWeather"));
        for event in sent.iter_mut().filter(|event| event["type"].as_str().unwrap().contains("delta")) {
            event["obfuscation"] = json!("x".repeat(200));
        }
        let (events, unjudged) = events(api, &sent, "guard").await;
        assert_eq!(api.outline(&api.assembled(&events)), api.outline(&api.answer(&parts("get_weather"))), "{api:?}");
        assert_eq!(unjudged, 0.0);
    }
}
