//! Redirected calls over HTTP: what the API receives, and what model and operator learn.

use crate::support::answer::{self, one_call};
use crate::support::request::plain;
use crate::support::{Proxy, Reply, Server, policy, rooms};
use serde_json::json;

const BOOK: &str = r#"{"room":"Amber","from":"2026-02-01T10:00:00Z","hours":2}"#;

/// Books a room at an API; returns it, what the model received as the result, and the log.
async fn book(api: Server) -> (Server, String, String) {
    let upstream = Server::replying([one_call("bookRoom", BOOK), answer::text("Done.")]).await;
    let rules = "execute:\n  rules:\n    - {methods: [POST], tools: [\"rooms/book*\"], permission: allow}";
    let ruled = policy::file("booking", rules);
    let config = rooms::config_of(&upstream, &api) + &policy::table("booking");
    let proxy = Proxy::start_with_files(config, &[rooms::FILES[0], ("policies/booking.yaml", &ruled)]).await;
    let mut request = plain("Book Amber");
    request["model"] = json!("helper");
    proxy.client().chat(&request).await.ok();
    let result = upstream.last_request().last_message();
    assert_eq!(result["role"], "tool", "{result}");
    let log = proxy.stop().await.log();
    (api, result["content"].as_str().unwrap().to_owned(), log)
}

#[tokio::test]
async fn an_order_is_repeated_where_the_same_server_redirects_it() {
    for status in [307, 308] {
        let api = Server::scripted(move |number, received| match number {
            0 => Reply::body(status, &[("location", &format!("{}/", received.target))], ""),
            _ => Reply::body(201, &[("location", "/bookings/42")], ""),
        })
        .await;
        let (api, result, log) = book(api).await;
        let requests = api.received();
        assert_eq!(requests.iter().map(|request| &request.method[..]).collect::<Vec<_>>(), ["POST", "POST"]);
        assert_eq!(requests[1].target, "/rooms/Amber/bookings/");
        assert_eq!(requests[0].json(), requests[1].json());
        assert!(result.contains("status 201") && result.contains("location: `/bookings/42`"), "{result}");
        assert!(!log.contains("redirects"), "{log}");
    }
}

#[tokio::test]
async fn an_order_not_carried_out_is_a_failure_with_its_address() {
    for (status, location) in [(301, "/rooms/Amber/bookings/"), (302, "/"), (308, "https://api.example/v2?a=secret")] {
        let api = Server::always(Reply::body(status, &[("location", location)], "")).await;
        let (api, result, log) = book(api).await;
        assert_eq!(api.received().len(), 1);
        let expected = format!("failed: the API answered with status {status} and redirected to `{location}`");
        assert!(result.contains(&expected), "{result}");
        let line = log.lines().find(|line| line.contains("the API redirects")).unwrap_or_else(|| panic!("{log}"));
        assert!(line.contains("base_url") && line.contains("rooms") && !line.contains("secret"), "{line}");
    }
    let (_, result, log) = book(Server::always(Reply::body(307, &[], "")).await).await;
    assert!(result.contains("status 307 and redirected without an address"), "{result}");
    assert!(log.contains("the API redirects"), "{log}");
}
