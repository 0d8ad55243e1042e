//! The overview, sessions and search of the operator API, from turns of a running proxy.

use crate::support::{Proxy, Reply, Server, policy, rooms};
use http::Method;
use serde_json::{Value, json};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

async fn get(proxy: &Proxy, path: &str) -> Value {
    let answer = proxy.operator().get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    serde_json::from_str(&answer.text()).unwrap()
}

#[tokio::test]
async fn turns_appear_in_the_overview_and_in_searches() {
    let upstream = Server::scripted(rooms::forgetful).await;
    let api = Server::always(crate::support::Reply::json(200, &json!({"rooms": ["blue"]}))).await;
    let prices = "[prices.\"gpt-test\"]\nprompt = 1000.0\ncompletion = 1000.0\n";
    let file = policy::file("office", "record:\n  bodies: true\n");
    let config = rooms::config_of(&upstream, &api) + &policy::table("office") + prices;
    let proxy = Proxy::start_with_files(config, &[rooms::FILES[0], ("policies/office.yaml", &file)]).await;
    let session = [("x-callwright-session", "thread-1")];
    proxy.client().chat_with(&rooms::ask("Ist ein BÜRO frei?"), &session).await.ok();
    proxy.client().chat_with(&rooms::ask("Which room is free?"), &session).await.ok();
    while proxy.traces().await.len() < 2 {
        tokio::task::yield_now().await;
    }

    let overview = get(&proxy, "/admin/overview?buckets=3").await;
    let total = &overview["total"];
    assert_eq!((&total["turns"], &total["errors"], &overview["truncated"]), (&json!(2), &json!(0), &json!(false)));
    assert_eq!(overview["buckets"].as_array().unwrap().len(), 3);
    assert_eq!(overview["buckets"][2]["turns"], 2);
    assert!(total["overhead_ms"]["p95"].as_f64() >= total["overhead_ms"]["p50"].as_f64(), "{total}");
    let finding = |tool: &Value| tool["findings"][0]["name"].clone();
    assert_eq!((&overview["tools"][0]["tool"], finding(&overview["tools"][0])), (&json!("listRooms"), json!("E3.4")));
    let none = get(&proxy, "/admin/overview?since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z").await;
    assert_eq!((&none["total"]["turns"], &none["findings"]), (&json!(0), &json!([])));

    let faulty = get(&proxy, "/admin/traces?finding=fault:E3.4").await;
    let listed = &faulty["traces"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&listed["question"], &listed["tools"]), (&json!("Ist ein BÜRO frei?"), &json!(["listRooms"])));
    assert!(listed["attempts"].as_u64().unwrap() >= 2 && listed["input_tokens"].is_u64(), "{listed}");
    assert_eq!(
        listed["cost"].as_f64().map(|cost| cost > 0.0),
        Some(listed["input_tokens"].as_u64().unwrap() > 0),
        "{listed}"
    );
    let found = get(&proxy, "/admin/traces?text=b%C3%BCro&since=2020-01-01T00:00:00Z").await;
    assert_eq!((found["traces"].as_array().unwrap().len(), &found["examined"]), (1, &json!(2)));
    let sessions = get(&proxy, "/admin/sessions").await;
    assert_eq!(
        (&sessions["sessions"][0]["session"], &sessions["sessions"][0]["turns"]),
        (&json!("thread-1"), &json!(2))
    );
    let usage = get(&proxy, "/admin/tools/usage").await;
    let used =
        json!({"tool": "listRooms", "turns": 2, "faulty": 2, "failed": 0, "refused": 0, "wrong": 2, "repaired": 0});
    assert_eq!((&usage["tools"], &usage["truncated"]), (&json!([used]), &json!(false)));
    for (path, list) in [
        ("/admin/overview", "findings"),
        ("/admin/sessions", "sessions"),
        ("/admin/tools/usage", "tools"),
        ("/admin/traces", "traces"),
    ] {
        let recent = get(&proxy, &format!("{path}?since=-1h")).await;
        assert_ne!(recent[list], json!([]), "{path}: {recent}");
        let earlier = get(&proxy, &format!("{path}?since=-2h&until=-1h")).await;
        assert_eq!(earlier[list], json!([]), "{path}");
    }
    assert_eq!(get(&proxy, "/admin/shadow?since=-1h&until=-30m").await["more"], false);
    for (path, part) in [
        ("/admin/traces?text=x", "requires `since`"),
        ("/admin/traces?finding=E3.4", "KIND:NAME"),
        ("/admin/overview?buckets=0", "1 to 200"),
        ("/admin/overview?since=2020-01-02T00:00:00Z&until=2020-01-01T00:00:00Z", "before `until`"),
        ("/admin/overview?since=yesterday", "`-1h`"),
        ("/admin/overview?since=-1h&until=-2h", "before `until`"),
        ("/admin/sessions?until=-1y", "`-1h`"),
        ("/admin/shadow?until=1h", "`-1h`"),
        ("/admin/approvals?since=-h", "`-1h`"),
        ("/admin/tools/usage?since=-1h&until=-2h", "before `until`"),
    ] {
        let error = proxy.operator().get(path).await.error(400);
        assert!(error["message"].as_str().unwrap().contains(part), "{path}: {error}");
    }
}

#[tokio::test]
async fn the_question_is_found_in_every_protocol() {
    let upstream = Server::scripted(|_, request| match request.target.as_str() {
        "/v1/responses" => Reply::json(
            200,
            &json!({"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [
                {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                 "content": [{"type": "output_text", "text": "Yes.", "annotations": []}]}]}),
        ),
        _ => Reply::json(
            200,
            &json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "Yes."}], "usage": {"input_tokens": 1, "output_tokens": 1}}),
        ),
    })
    .await;
    let file = policy::file("office", "record:\n  bodies: true\n");
    let config = crate::support::config::config(&upstream.url("/v1")) + &policy::table("office");
    let proxy = Proxy::start_with_files(config, &[("policies/office.yaml", &file)]).await;
    let blocks = json!([{"type": "text", "text": "Is Cyan free?"}]);
    let items = json!([{"role": "user", "content": [{"type": "input_text", "text": "Is Blue free?"}]}]);
    for (path, body) in [
        ("/v1/responses", json!({"model": "m", "input": "Is Amber\nfree?"})),
        ("/v1/responses", json!({"model": "m", "input": items})),
        ("/v1/messages", json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": blocks}]})),
    ] {
        let answer = proxy.client().send(Method::POST, path, &JSON, body.to_string()).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }
    while proxy.traces().await.len() < 3 {
        tokio::task::yield_now().await;
    }
    let listed = get(&proxy, "/admin/traces").await;
    let questions: Vec<&str> =
        listed["traces"].as_array().unwrap().iter().map(|trace| trace["question"].as_str().unwrap()).collect();
    assert_eq!(questions, ["Is Cyan free?", "Is Blue free?", "Is Amber free?"]);
}
