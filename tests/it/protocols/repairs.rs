//! Faults that are repaired without the model, and calls that the model wrote as text: plain and streamed.

use serde_json::{Value, json};

use super::api::{APIS, Api, Part, call, text, thought, written};
use super::sse;
use crate::support::{Proxy, Reply, Server, config};

const PARIS: &str = r#"{"city":"Paris"}"#;

/// Starts an upstream that gives this answer in the requested form, and a proxy before it.
async fn answering(api: Api, parts: Vec<Part>) -> (Server, Proxy) {
    let upstream = Server::scripted(move |_, received| api.reply(received, &parts)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    (upstream, proxy)
}

#[tokio::test]
async fn a_wrong_name_and_a_number_as_text_are_repaired() {
    let wrong = call("call_7", "getWeather", r#"{"city":"Paris","days":"3"}"#);
    let right = r#"call get_weather {"city":"Paris","days":3}"#;
    for api in APIS {
        for (parts, expected) in [
            (vec![wrong.clone()], vec![right]),
            (
                vec![thought("Rain?"), text("I look it up."), wrong.clone()],
                vec!["thought Rain?", "text I look it up.", right],
            ),
            (
                vec![call("call_6", "get_weather", PARIS), wrong.clone(), call("call_8", "get_weather", PARIS)],
                vec![r#"call get_weather {"city":"Paris"}"#, right, r#"call get_weather {"city":"Paris"}"#],
            ),
        ] {
            let clean = api.answer(&parts);
            let (upstream, proxy) = answering(api, parts).await;
            for answer in api.both(&proxy, &api.with_tools("Weather?")).await {
                assert_eq!(api.outline(&answer), expected, "{api:?}");
                let (parts, before) = (&answer[api.parts_key()], &clean[api.parts_key()]);
                let ids = |parts: &Value| parts.as_array().unwrap().iter().map(id_of).collect::<Vec<_>>();
                assert_eq!(ids(parts), ids(before), "{api:?}: ids stay");
                let rest = |answer: &Value| {
                    [&answer["id"], &answer["usage"], &answer["status"], &answer["stop_reason"]].map(Value::clone)
                };
                assert_eq!(rest(&answer), rest(&clean), "{api:?}: the rest stays");
            }
            assert_eq!(upstream.received().len(), 2);
        }
    }
}

#[tokio::test]
async fn a_parameter_that_a_string_swallowed_is_taken_out_of_it() {
    let right = r#"call get_weather {"city":"Paris","days":3}"#;
    for api in APIS {
        for city in [
            "Paris</city>\n<parameter name=\"days\">3",
            "Paris</parameter>\n<parameter name=\"days\">3</parameter>\n</invoke>",
            "Paris\", \"days\": 3",
        ] {
            let arguments = json!({ "city": city }).to_string();
            let (upstream, proxy) = answering(api, vec![call("call_7", "get_weather", &arguments)]).await;
            for answer in api.both(&proxy, &api.with_tools("Weather?")).await {
                assert_eq!(api.outline(&answer), [right], "{api:?} {city}");
            }
            assert_eq!(upstream.received().len(), 2);
        }
    }
}

/// Returns the ids of a part.
fn id_of(part: &Value) -> (Value, Value) {
    (part["id"].clone(), part["call_id"].clone())
}

#[tokio::test]
async fn parts_and_members_beside_a_repaired_call_keep_their_text() {
    let plain = Reply::body;
    for (api, before, after) in [
        (
            Api::Responses,
            r#"{"id":"resp_1","x":1.50,"status":"completed","output":[{"type":"x","v":1e2},{"type":"function_call","x":1.50,"id":"fc_1","call_id":"a","name":"getWeather","arguments":"{\"city\":\"Paris\"}","status":"completed"}],"x_more":{"a":1.0}}"#,
            r#"{"id":"resp_1","x":1.50,"status":"completed","output":[{"type":"x","v":1e2},{"type":"function_call","x":1.50,"id":"fc_1","call_id":"a","name":"get_weather","arguments":"{\"city\":\"Paris\"}","status":"completed"}],"x_more":{"a":1.0}}"#,
        ),
        (
            Api::Messages,
            r#"{"id":"msg_1","x":1.50,"type":"message","role":"assistant","content":[{"type":"x","v":1e2},{"type":"tool_use","x":1.50,"id":"a","name":"getWeather","input":{"city": "Paris"}}],"stop_reason":"tool_use","x_more":{"a":1.0}}"#,
            r#"{"id":"msg_1","x":1.50,"type":"message","role":"assistant","content":[{"type":"x","v":1e2},{"type":"tool_use","x":1.50,"id":"a","name":"get_weather","input":{"city": "Paris"}}],"stop_reason":"tool_use","x_more":{"a":1.0}}"#,
        ),
    ] {
        let upstream = Server::always(plain(200, &[("content-type", "application/json")], before)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        assert_eq!(api.send(&proxy, &api.with_tools("Weather?")).await.text(), after);
    }
}

#[tokio::test]
async fn a_call_written_as_text_becomes_a_call() {
    for api in APIS {
        for (before, after) in [("", ""), ("\n", ""), ("I look it up.\n", ""), ("I look it up.\n", "\n")] {
            let said = format!("{before}{}{after}", written("getWeather", r#"{"city":"Paris","days":"3"}"#));
            let (upstream, proxy) = answering(api, vec![thought("Rain?"), text(&said)]).await;
            for answer in api.both(&proxy, &api.with_tools("Weather?")).await {
                let outline = api.outline(&answer);
                let calls = outline.iter().filter(|part| part.starts_with("call ")).collect::<Vec<_>>();
                assert_eq!(calls, [r#"call get_weather {"city":"Paris","days":3}"#], "{api:?}");
                let texts: String = outline.iter().filter_map(|part| part.strip_prefix("text ")).collect();
                assert_eq!(texts.trim(), before.trim(), "{api:?}");
                assert_eq!(outline[0], "thought Rain?", "{api:?}");
                let is_blank = |part: &String| part.strip_prefix("text ").is_some_and(|text| text.trim().is_empty());
                assert!(!outline.iter().any(is_blank), "{api:?}: providers refuse blank text: {outline:?}");
                check_minted(api, answer[api.parts_key()].as_array().unwrap().last().unwrap());
                if api == Api::Messages {
                    assert_eq!(answer["stop_reason"], "tool_use");
                }
            }
            assert_eq!(upstream.received().len(), 2);
        }
    }
}

/// Checks the ids of a call that the proxy made.
fn check_minted(api: Api, part: &Value) {
    let is_id = |value: &Value| {
        value.as_str().is_some_and(|id| {
            !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        })
    };
    assert!(is_id(&part["id"]), "{part}");
    if api == Api::Responses {
        assert!(part["id"].as_str().unwrap().starts_with("fc_") && is_id(&part["call_id"]), "{part}");
        assert_eq!(part["status"], "completed", "{part}");
    }
}

#[tokio::test]
async fn several_written_calls_become_parallel_calls() {
    for api in APIS {
        let said = format!("{}\n{}", written("get_weather", PARIS), written("get_weather", r#"{"city":"Rome"}"#));
        let (_upstream, proxy) = answering(api, vec![text(&said)]).await;
        for answer in api.both(&proxy, &api.with_tools("Weather?")).await {
            let expected = [r#"call get_weather {"city":"Paris"}"#, r#"call get_weather {"city":"Rome"}"#];
            assert_eq!(api.outline(&answer), expected, "{api:?}");
        }
    }
}

#[tokio::test]
async fn text_that_only_looks_like_a_call_stays_text() {
    for api in APIS {
        for said in ["{\"name\": \"Bob\", \"age\": 7}\n[x] done", "Use `<tool_call>` for that. ", "For example: {"] {
            let parts = vec![text(said)];
            let sent = sse::bytes(&api.events(&parts));
            let (_upstream, proxy) = answering(api, parts).await;
            let mut stream = api.stream(&proxy, &api.with_tools("Hello")).await;
            stream.rest().await;
            assert_eq!(stream.raw(), sent, "{api:?}");
        }
    }
}

#[tokio::test]
async fn nothing_is_rescued_where_the_model_may_not_call() {
    for api in APIS {
        let (_upstream, proxy) = answering(api, vec![text(&written("get_weather", PARIS))]).await;
        let mut request = api.with_tools("Hello");
        request["tool_choice"] = if api == Api::Responses { json!("none") } else { json!({"type": "none"}) };
        for answer in api.both(&proxy, &request).await {
            assert_eq!(api.outline(&answer), [format!("text {}", written("get_weather", PARIS))], "{api:?}");
        }
    }
}

#[tokio::test]
async fn without_parallel_calls_one_call_reaches_the_client() {
    for api in APIS {
        let parts = vec![
            text("Both."),
            call("a", "get_weather", PARIS),
            call("b", "book_room", r#"{"hotel":"Ritz","nights":1}"#),
        ];
        let (_upstream, proxy) = answering(api, parts).await;
        let mut request = api.with_tools("Both");
        match api {
            Api::Responses => request["parallel_tool_calls"] = json!(false),
            Api::Messages => request["tool_choice"] = json!({"type": "auto", "disable_parallel_tool_use": true}),
        }
        for answer in api.both(&proxy, &request).await {
            assert_eq!(api.outline(&answer), ["text Both.", r#"call get_weather {"city":"Paris"}"#], "{api:?}");
        }
    }
}

#[tokio::test]
async fn a_stop_reason_that_denies_the_calls_is_corrected() {
    let api = Api::Messages;
    let parts = [call("a", "get_weather", PARIS)];
    let upstream = Server::scripted(move |_, received| {
        if super::api::is_stream(received) {
            let mut events = api.events(&parts);
            let delta = events.iter_mut().find(|event| event["type"] == "message_delta").unwrap();
            delta["delta"]["stop_reason"] = json!("end_turn");
            return sse::reply(&events);
        }
        let mut answer = api.answer(&parts);
        answer["stop_reason"] = json!("end_turn");
        Reply::json(200, &answer)
    })
    .await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    for answer in api.both(&proxy, &api.with_tools("Weather?")).await {
        assert_eq!(answer["stop_reason"], "tool_use", "{answer}");
    }
}

#[tokio::test]
async fn an_unstreamed_upstream_is_streamed_on_and_the_reverse() {
    for api in APIS {
        let parts = [thought("Rain?"), text("I look."), call("a", "getWeather", PARIS)];
        let expected = ["thought Rain?", "text I look.", r#"call get_weather {"city":"Paris"}"#];
        let plain = Server::always(Reply::json(200, &api.answer(&parts))).await;
        let proxy = Proxy::start(config(&plain.url("/v1"))).await;
        let streamed = api.streamed(&proxy, &api.with_tools("Weather?")).await;
        assert_eq!(api.outline(&streamed), expected, "{api:?}");
        let streaming = Server::always(sse::reply(&api.events(&parts))).await;
        let proxy = Proxy::start(config(&streaming.url("/v1"))).await;
        let answer = api.send(&proxy, &api.with_tools("Weather?")).await;
        assert_eq!(answer.header("content-type"), Some("application/json"), "{api:?}");
        assert_eq!(api.outline(&answer.ok()), expected, "{api:?}");
    }
}

#[tokio::test]
async fn residue_beside_a_call_does_not_reach_the_client() {
    let copy = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";
    let right = r#"call get_weather {"city":"Paris"}"#;
    for api in APIS {
        for residue in
            ["<|im_end|>", "<tool_call|>", "\n\n<｜DSML｜function_calls", "\n</answer>", &format!("\n\n{copy}")]
        {
            let parts = vec![text(&format!("I look.{residue}")), call("call_7", "get_weather", PARIS)];
            let (upstream, proxy) = answering(api, parts).await;
            let [whole, streamed] = api.both(&proxy, &api.with_tools("Weather?")).await;
            assert_eq!(api.outline(&whole), ["text I look.", right], "{api:?} {residue}");
            // White space before the residue was sent.
            let outline: Vec<String> = api.outline(&streamed).iter().map(|part| part.trim_end().to_owned()).collect();
            assert_eq!(outline, ["text I look.", right], "{api:?} {residue}");
            assert_eq!(upstream.received().len(), 2);
        }
        for (parts, expected) in [
            (vec![text("<|im_end|>"), call("call_7", "get_weather", PARIS)], vec![right]),
            (vec![call("call_7", "get_weather", PARIS), text("</tool_call>")], vec![right]),
            (
                vec![text("It is `<|im_end|>`"), call("call_7", "get_weather", PARIS)],
                vec!["text It is `<|im_end|>`", right],
            ),
        ] {
            let (_upstream, proxy) = answering(api, parts).await;
            for answer in api.both(&proxy, &api.with_tools("Weather?")).await {
                assert_eq!(api.outline(&answer), expected, "{api:?}");
            }
        }
    }
}
