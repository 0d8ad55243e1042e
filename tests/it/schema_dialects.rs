//! Catalog tools are sent in the upstream's dialect of JSON Schema, within its maximum number of tools.

use crate::support::answer::{self, one_call};
use crate::support::request::{plain, weather_tool};
use crate::support::{Proxy, Reply, Server, config, rooms};
use serde_json::{Value, json};

/// Returns a request to the alias that offers the rooms.
fn ask(text: &str) -> Value {
    let mut request = plain(text);
    request["model"] = json!("helper");
    request
}

/// Starts the rooms with further keys of the upstream.
async fn proxy_with(upstream: &Server, api: &Server, keys: &str) -> Proxy {
    let config = rooms::config_of(upstream, api).replacen("[executor]", &format!("{keys}\n[executor]"), 1);
    Proxy::start_with_files(config, &rooms::FILES).await
}

async fn rooms_api() -> Server {
    Server::always(Reply::json(200, &json!(["Amber", "Birch"]))).await
}

/// Starts a proxy whose alias `helper` offers the API of `document`.
async fn proxy_of(document: &Value, upstream: &Server, api: &Server, keys: &str) -> Proxy {
    let config = format!("{}{keys}\n", config::config(&upstream.url("/v1")))
        + "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n"
        + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"api\"]\n"
        + &format!("[toolsets.api]\ndocument = \"api.json\"\nbase_url = \"{}\"\n", api.url(""))
        + &crate::support::policy::table("allowing");
    let policy = crate::support::policy::file("allowing", "execute: {rules: [{permission: allow}]}");
    let files = [("api.json", &*document.to_string()), ("policies/allowing.yaml", &*policy)];
    Proxy::start_with_files(config, &files).await
}

/// Works like [`proxy_of`], with a policy with these rules for the offer.
async fn proxy_offering(rules: &str, document: &Value, upstream: &Server, api: &Server, keys: &str) -> Proxy {
    let config = format!("{}{keys}\n", config::config(&upstream.url("/v1")))
        + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"api\"]\n"
        + &format!("[toolsets.api]\ndocument = \"api.json\"\nbase_url = \"{}\"\n", api.url(""))
        + &crate::support::policy::table("offering");
    let policy = crate::support::policy::file("offering", &format!("offer: {rules}"));
    let files = [("api.json", &*document.to_string()), ("policies/offering.yaml", &*policy)];
    Proxy::start_with_files(config, &files).await
}

#[tokio::test]
async fn null_that_strict_asks_for_never_reaches_the_api() {
    let arguments = r#"{"floor":2,"tags":null,"X-Tenant":null}"#;
    let upstream = Server::replying([one_call("listRooms", arguments), answer::text("Two rooms.")]).await;
    let api = rooms_api().await;
    let proxy = proxy_with(&upstream, &api, "schema_dialect = \"openai-strict\"").await;
    let mut request = ask("Which rooms?");
    request["tools"] = json!([weather_tool()]);
    let answer = proxy.client().chat(&request).await;
    assert_eq!(answer.message()["content"], "Two rooms.");

    let sent = upstream.received()[0].json();
    assert_eq!(sent["tools"][0], weather_tool(), "the client's own is as sent");
    let function = &sent["tools"][1]["function"];
    assert_eq!((&function["name"], &function["strict"]), (&json!("listRooms"), &json!(true)));
    assert_eq!(function["parameters"]["required"], json!(["floor", "tags", "X-Tenant"]));
    assert_eq!(function["parameters"]["properties"]["X-Tenant"]["type"], json!(["string", "null"]));

    let received = api.only_request();
    assert_eq!(received.target, "/rooms?floor=2");
    assert_eq!(received.header("x-tenant"), None);
    assert_eq!(upstream.received().len(), 2, "nothing went back to the model as a fault");
}

/// An API with a body that accepts null at every level.
fn orders() -> Value {
    let line = json!({"type": "object", "required": ["sku"], "properties": {
        "sku": {"type": "string"}, "count": {"type": "integer"}, "note": {"type": "object", "properties": {"text": {"type": "string"}}}}});
    let by_card = json!({"type": "object", "required": ["kind", "card"], "properties": {
        "kind": {"type": "string", "enum": ["card"]}, "card": {"type": "string"}, "holder": {"type": "string"}}});
    let by_cash = json!({"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string", "enum": ["cash"]}, "place": {"type": "string"}}});
    let order = json!({"type": "object", "required": ["lines", "pay"], "properties": {
        "lines": {"type": "array", "items": {"$ref": "#/components/schemas/Line"}},
        "pay": {"oneOf": [{"$ref": "#/components/schemas/Card"}, {"$ref": "#/components/schemas/Cash"}],
            "discriminator": {"propertyName": "kind", "mapping": {"card": "#/components/schemas/Card", "cash": "#/components/schemas/Cash"}}},
        "parent": {"$ref": "#/components/schemas/Order"}
    }});
    let body =
        json!({"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}});
    let search =
        json!({"operationId": "findOrder", "requestBody": body, "responses": {"200": {"description": "The order."}}});
    json!({
        "openapi": "3.0.3", "info": {"title": "Orders", "version": "1"},
        "paths": {"/orders/search": {"post": search}},
        "components": {"schemas": {"Line": line, "Card": by_card, "Cash": by_cash, "Order": order}}
    })
}

#[tokio::test]
async fn null_goes_from_every_level_of_a_body() {
    let order = |pay: Value| {
        json!({
            "lines": [{"sku": "a", "count": null, "note": {"text": null}}, {"sku": "b", "count": 2, "note": null}],
            "pay": pay, "parent": null
        })
    };
    let arguments = order(json!({"kind": "card", "card": "4711", "holder": null})).to_string();
    let upstream = Server::replying([one_call("findOrder", &arguments), answer::text("Found.")]).await;
    let api = rooms_api().await;
    let rules = "execute:\n  rules:\n    - {methods: [POST], tools: [\"api/*\"], permission: allow}";
    let policy = crate::support::policy::file("posting", rules);
    let config = format!("{}schema_dialect = \"openai-strict\"\n", config::config(&upstream.url("/v1")))
        + "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n"
        + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"api\"]\n"
        + &format!("[toolsets.api]\ndocument = \"api.json\"\nbase_url = \"{}\"\n", api.url(""))
        + &crate::support::policy::table("posting");
    let files = [("api.json", &*orders().to_string()), ("policies/posting.yaml", &*policy)];
    let proxy = Proxy::start_with_files(config, &files).await;
    let answer = proxy.client().chat(&ask("Find my order.")).await;
    assert_eq!(answer.message()["content"], "Found.", "{:?}", upstream.received());
    let function = &upstream.received()[0].json()["tools"][0]["function"];
    assert_eq!(function["strict"], true, "{function}");
    let expected =
        json!({"lines": [{"sku": "a", "note": {}}, {"sku": "b", "count": 2}], "pay": {"kind": "card", "card": "4711"}});
    assert_eq!(api.only_request().json(), expected);
}

#[tokio::test]
async fn a_plain_upstream_gets_no_references() {
    let upstream = Server::always(answer::text("hi")).await;
    let api = rooms_api().await;
    let proxy = proxy_of(&orders(), &upstream, &api, "schema_dialect = \"plain\"").await;
    proxy.client().chat(&ask("Hello")).await.ok();
    let sent = upstream.only_request().json()["tools"].to_string();
    assert!(!sent.contains("$ref") && !sent.contains("$defs"), "{sent}");
    assert!(sent.contains("any content is accepted"), "{sent}");
}

/// An API of `count` operations, each about a different thing.
fn things(count: usize) -> Value {
    let paths: serde_json::Map<String, Value> = (0..count)
        .map(|n| {
            let operation = json!({"operationId": format!("getThing{n}"), "summary": format!("Reads the gadget{n}."), "responses": {}});
            (format!("/things/{n}"), json!({"get": operation}))
        })
        .collect();
    json!({"openapi": "3.0.3", "info": {"title": "Things", "version": "1"}, "paths": paths})
}

#[tokio::test]
async fn an_upstream_never_gets_more_tools_than_it_takes() {
    let upstream = Server::always(answer::text("hi")).await;
    let api = rooms_api().await;
    let rules = "{k: 1000, min: 1000, gap: 0, search_tools: {from: 0}}";
    let proxy = proxy_offering(rules, &things(200), &upstream, &api, "").await;
    let mut request = ask("What about gadget177?");
    request["tools"] = json!([weather_tool()]);
    let debug = [("x-callwright-debug", "true")];
    let answer = proxy.client().chat_with(&request, &debug).await;
    let names = upstream.only_request().tool_names();
    assert_eq!(names.len(), 128);
    assert_eq!(names[0], "get_weather");
    assert!(names.iter().any(|name| name == "getThing177"), "{names:?}");
    assert_eq!(answer.json()["callwright"]["tools_offered"], json!(names));
}

#[tokio::test]
async fn a_sessions_called_tools_stay_and_too_many_tools_pass_whole() {
    let upstream = Server::replying([
        one_call("getThing7", "{}"),
        answer::text("one"),
        answer::text("two"),
        answer::text("three"),
    ])
    .await;
    let api = rooms_api().await;
    let proxy = proxy_of(&things(20), &upstream, &api, "max_tools = 2").await;
    let session = [("x-callwright-session", "s")];
    proxy.client().chat_with(&ask("gadget7"), &session).await.ok();
    proxy.client().chat_with(&ask("gadget9"), &session).await.ok();
    let mut request = ask("gadget9");
    let named = |name: &str| {
        let mut tool = weather_tool();
        tool["function"]["name"] = json!(name);
        tool
    };
    request["tools"] = json!([named("a"), named("b"), named("c")]);
    proxy.client().chat_with(&request, &session).await.ok();
    let received = upstream.received();
    assert_eq!(received[0].tool_names().len(), 2);
    assert_eq!(received[2].tool_names(), ["getThing7", "getThing9"]);
    assert_eq!(received[3].tool_names(), ["a", "b", "c"]);
}

#[tokio::test]
async fn no_limit_offers_everything() {
    let upstream = Server::always(answer::text("hi")).await;
    let api = rooms_api().await;
    let proxy = proxy_offering("{whole: 150}", &things(150), &upstream, &api, "max_tools = 0").await;
    proxy.client().chat(&ask("Hello")).await.ok();
    assert_eq!(upstream.only_request().tool_names().len(), 150);
}
