//! Operator views of toolsets, tools, policies and shadow turns, and edits of representations, over HTTP as the console
//! uses it.

use crate::support::answer::{one_call, text};
use crate::support::config::config;
use crate::support::request::with_tools;
use crate::support::rooms::ask;
use crate::support::{Proxy, Server, guarded, policy, rooms};
use reqwest::Method;
use serde_json::{Value, json};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

const TOOL: &str = "/admin/tools/rooms/getRoom";

async fn rooms_proxy() -> (Proxy, Server) {
    let upstream = Server::always(text("Hello.")).await;
    let api = Server::always(text("{}")).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    (proxy, upstream)
}

fn lost_key() -> Value {
    json!({"patterns": [{"description": "Somebody stands before a locked room.", "cases": ["lost the key", "door is locked"]}]})
}

#[tokio::test]
async fn toolsets_and_tools_are_listed_searched_and_shown() {
    let (proxy, _upstream) = rooms_proxy().await;
    let operator = proxy.operator();
    let toolsets = operator.get("/admin/toolsets").await.ok();
    let [toolset] = &toolsets["toolsets"].as_array().unwrap()[..] else { panic!("{toolsets}") };
    assert_eq!(
        (&toolset["name"], &toolset["title"], &toolset["loaded"]),
        (&json!("rooms"), &json!("Meeting rooms"), &json!(3))
    );
    let report = operator.get("/admin/toolsets/rooms").await.ok();
    assert!(report["file"].as_str().unwrap().ends_with("rooms.yaml") && report["operations_loaded"] == 3, "{report}");
    let names = |page: &Value| -> Vec<String> {
        page["tools"].as_array().unwrap().iter().map(|tool| tool["tool"].as_str().unwrap().to_owned()).collect()
    };
    let page = operator.get("/admin/tools?limit=2").await.ok();
    assert_eq!(
        (names(&page), &page["total"], &page["next"]),
        (vec!["listRooms".into(), "getRoom".into()], &json!(3), &json!("2"))
    );
    let rest = operator.get("/admin/tools?limit=2&after=2").await.ok();
    assert!(names(&rest) == ["bookRoom"] && rest.get("next").is_none(), "{rest}");
    assert_eq!(names(&operator.get("/admin/tools?name=BOOKINGS").await.ok()), ["bookRoom"]);
    assert_eq!(operator.get("/admin/tools?toolset=none").await.ok()["total"], 0);
    let tool = operator.get(TOOL).await.ok();
    assert_eq!(
        (&tool["operation"], &tool["description"], &tool["shown"]),
        (&json!("GET /rooms/{room}"), &json!("One room."), &json!("One room."))
    );
    assert_eq!((&tool["parameters"]["required"], &tool["patterns"]), (&json!(["room"]), &json!([])));
    assert_eq!(tool["arguments"][0]["argument"], "room");
    for (path, status) in [
        ("/admin/tools/rooms/none", 404),
        ("/admin/tools/none/getRoom", 404),
        ("/admin/toolsets/none", 404),
        ("/admin/tools?limit=x", 400),
        ("/admin/tools?colour=red", 400),
        ("/admin/tools?after=18446744073709551615", 200),
        ("/admin/tools?limit=0", 200),
    ] {
        assert_eq!(operator.get(path).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn a_representation_is_previewed_written_used_and_taken_back() {
    let (proxy, upstream) = rooms_proxy().await;
    let operator = proxy.operator();
    let send = |method: Method, path: &'static str, body: Value| async move {
        operator.send(method, path, &JSON, body.to_string()).await
    };
    const WRITTEN: &str = "/admin/tools/rooms/getRoom/representation";
    const PREVIEW: &str = "/admin/tools/rooms/getRoom/representation/preview";
    let preview = send(Method::POST, PREVIEW, lost_key()).await.ok();
    assert!(preview["shown"].as_str().unwrap().contains("locked room"), "{preview}");
    assert_eq!(operator.get(TOOL).await.ok()["patterns"], json!([]), "a preview changes nothing");
    let written = send(Method::PUT, WRITTEN, lost_key()).await.ok();
    assert_eq!(written["shown"], preview["shown"]);
    let in_force = async {
        while operator.get(TOOL).await.ok()["shown"] != preview["shown"] {
            tokio::task::yield_now().await;
        }
    };
    guarded("the representation in force", in_force).await;
    let tool = operator.get(TOOL).await.ok();
    assert!(tool["patterns"][0]["cases"][1] == "door is locked" && tool["shared_at"].is_string(), "{tool}");
    proxy.client().chat(&ask("Where is the blue room?")).await.ok();
    let offered = upstream.received().last().unwrap().json();
    let described =
        offered["tools"].as_array().unwrap().iter().find(|tool| tool["function"]["name"] == "getRoom").unwrap();
    assert_eq!(described["function"]["description"], preview["shown"]);
    send(Method::DELETE, WRITTEN, Value::Null).await.ok();
    let taken_back = async {
        while operator.get(TOOL).await.ok()["shown"] != "One room." {
            tokio::task::yield_now().await;
        }
    };
    guarded("what files say in force again", taken_back).await;
    assert_eq!(send(Method::DELETE, WRITTEN, Value::Null).await.status, 404);
    for (body, said) in [
        (json!({}), "patterns"),
        (json!([]), "object"),
        (json!({"patterns": "x"}), "expected"),
        (json!({"patterns": [{"description": ""}]}), "empty"),
        (json!({"patterns": [{"description": "x", "weight": -1}]}), "weight"),
        (json!({"patterns": [], "more": 1}), "more"),
    ] {
        let answer = send(Method::PUT, WRITTEN, body.clone()).await;
        assert!(answer.status == 400 && answer.text().contains(said), "{body}: {} {}", answer.status, answer.text());
    }
    assert_eq!(send(Method::PUT, "/admin/tools/rooms/none/representation", lost_key()).await.status, 404);
    let unsaid = operator.send(Method::PUT, WRITTEN, &[("content-type", "text/plain")], lost_key().to_string()).await;
    assert_eq!(unsaid.status, 415, "another site's page cannot write");
}

#[tokio::test]
async fn active_policies_are_listed_and_a_requests_own_is_explained() {
    let upstream = Server::always(text("Hello.")).await;
    let file = policy::file("search", "match: {headers: {x-team: search}}\npriority: 5\n");
    let tables = config(&upstream.url("/v1")) + &policy::table("base");
    let base = policy::file("base", "");
    let proxy =
        Proxy::start_with_files(tables, &[("policies/search.yaml", &file), ("policies/base.yaml", &base)]).await;
    let operator = proxy.operator();
    let all = operator.get("/admin/policies").await.ok();
    let all = all["policies"].as_array().unwrap();
    assert_eq!((&all[0]["name"], &all[0]["match"]["headers"]["x-team"]), (&json!("search"), &json!("search")));
    assert!(all.iter().any(|one| one["name"] == "base" && one["is_default"] == true), "{all:?}");
    let explain = |body: Value| async move {
        operator.send(Method::POST, "/admin/policies/explain", &JSON, body.to_string()).await
    };
    let found = explain(json!({"request": {"model": "m"}, "headers": {"X-Team": "search"}})).await.ok();
    assert_eq!((&found["policy"], &found["rules"]["priority"]), (&json!("search"), &json!(5)));
    let found = explain(json!({"request": {"model": "m", "messages": []}})).await.ok();
    assert_eq!((&found["policy"], &found["considered"][0]["lacks"]), (&json!("base"), &json!("`headers.x-team`")));
    for body in [
        json!({}),
        json!({"request": {}}),
        json!({"request": {"model": "m"}, "headers": {"a b": "c"}}),
        json!({"request": {"model": "m"}, "headers": {"a": "\n"}}),
        json!({"request": {"model": "m"}, "headers": {"x-callwright-policy": "search"}}),
    ] {
        assert_eq!(explain(body.clone()).await.status, 400, "{body}");
    }
}

#[tokio::test]
async fn shadow_turns_are_summed_up() {
    let upstream = Server::scripted(|number, _| match number {
        0 => one_call("getWeather", r#"{"city": "Oslo"}"#),
        1 => one_call("launch_rocket", "{}"),
        _ => text("It rains."),
    })
    .await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + "[policies]\ndefault = \"shadow\"\n").await;
    assert_eq!(proxy.operator().get("/admin/shadow").await.ok()["modes"], json!({}));
    for _ in 0..3 {
        proxy.client().chat(&with_tools("What is the weather in Oslo?")).await.ok();
    }
    let seen = async {
        while proxy.operator().get("/admin/traces?mode=shadow").await.ok()["traces"].as_array().unwrap().len() < 3 {
            tokio::task::yield_now().await;
        }
    };
    guarded("the traces", seen).await;
    let summary = proxy.operator().get("/admin/shadow").await.ok();
    assert_eq!(summary["headline"], "would have repaired 1 and re-asked 1 of 2 calls", "{summary}");
    assert_eq!(
        (&summary["modes"], &summary["turns"]["text"], &summary["more"]),
        (&json!({"shadow": 3}), &json!(1), &json!(false))
    );
    assert_eq!(proxy.operator().get("/admin/shadow?limit=1").await.ok()["more"], true);
    assert_eq!(proxy.operator().get("/admin/shadow?policy=none").await.ok()["modes"], json!({}));
    assert_eq!(proxy.operator().get("/admin/traces?mode=guard").await.ok()["traces"], json!([]));
    assert_eq!(proxy.operator().get("/admin/traces?mode=loud").await.status, 400);
}
