//! Redirects to other origins, in loops, or with hidden parts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callwright_types::Outcome;
use serde_json::json;

use super::shop::{Setup, answered, refused};
use crate::support::{Reply, Server};

const SECRET: &str = "redirected-secret";

fn found(location: &str) -> Reply {
    Reply::raw(format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"))
}

/// Calls an API with a credential that redirects every request to `location` except the one for `/end`.
async fn sent_to(location: &str) -> (Outcome, Server) {
    let location = location.to_owned();
    let api = Server::scripted(move |_, received| match received.target.as_str() {
        "/end" => Reply::json(200, &json!({"end": true})),
        _ => found(&location),
    })
    .await;
    let setup = Setup::local(api.url("")).secured(json!({"type": "http", "scheme": "bearer"}), SECRET);
    (setup.call(json!({})).await, api)
}

/// Checks that the redirect is refused: one request, and none to another server.
async fn is_not_followed(location: &str) {
    let (outcome, api) = sent_to(location).await;
    let reason = refused(outcome);
    assert!(reason.contains("redirects") && !reason.contains(SECRET), "{reason}");
    assert_eq!(api.received().len(), 1);
}

#[tokio::test]
async fn to_another_port_of_the_same_host() {
    let other = Server::always(Reply::json(200, &json!({}))).await;
    is_not_followed(&other.url("/end")).await;
    assert!(other.received().is_empty(), "nothing arrives there, least of all the credential");
}

#[tokio::test]
async fn to_loopback_by_another_name() {
    let other = Server::always(Reply::json(200, &json!({}))).await;
    is_not_followed(&format!("http://localhost:{}/end", other.port())).await;
    assert!(other.received().is_empty());
}

#[tokio::test]
async fn to_a_cloud_s_metadata() {
    is_not_followed("http://169.254.169.254/latest/meta-data/").await;
}

#[tokio::test]
async fn to_another_host() {
    is_not_followed("https://evil.example/end").await;
}

#[tokio::test]
async fn to_another_host_without_a_scheme() {
    is_not_followed("//evil.example/end").await;
}

#[tokio::test]
async fn to_another_host_with_backslashes() {
    is_not_followed(r"\\evil.example\end").await;
}

#[tokio::test]
async fn to_another_host_with_three_slashes() {
    is_not_followed("http:///evil.example/end").await;
}

#[tokio::test]
async fn to_another_host_behind_the_same_host_as_user() {
    let (outcome, api) = sent_to("http://127.0.0.1@evil.example/end").await;
    refused(outcome);
    assert_eq!(api.received().len(), 1);
}

#[tokio::test]
async fn to_the_same_host_with_credentials_in_the_address() {
    let api = Server::scripted(|_, received| {
        let host = received.header("host").unwrap().to_owned();
        if received.target == "/end" {
            Reply::json(200, &json!({}))
        } else {
            found(&format!("http://user:password@{host}/end"))
        }
    })
    .await;
    refused(Setup::local(api.url("")).call(json!({})).await);
    assert_eq!(api.received().len(), 1);
}

#[tokio::test]
async fn to_another_scheme_on_the_same_host() {
    is_not_followed("https://127.0.0.1/end").await;
}

#[tokio::test]
async fn to_a_file() {
    is_not_followed("file:///etc/passwd").await;
}

#[tokio::test]
async fn to_text_that_is_the_address_itself() {
    is_not_followed("data:application/json,{}").await;
}

#[tokio::test]
async fn to_a_script() {
    is_not_followed("javascript:alert(1)").await;
}

#[tokio::test]
async fn to_an_address_that_is_none() {
    is_not_followed("http://[broken").await;
}

#[tokio::test]
async fn to_bytes_that_are_no_text() {
    let api =
        Server::always(Reply::raw(&b"HTTP/1.1 302 Found\r\nlocation: /\xff\xfe\r\ncontent-length: 0\r\n\r\n"[..]))
            .await;
    refused(Setup::local(api.url("")).call(json!({})).await);
    assert_eq!(api.received().len(), 1);
}

#[tokio::test]
async fn to_itself_for_ever() {
    let (outcome, api) = sent_to("/r").await;
    assert!(refused(outcome).contains("more than 3"));
    assert_eq!(api.received().len(), 4);
}

#[tokio::test]
async fn to_an_empty_address_for_ever() {
    let (outcome, api) = sent_to("").await;
    assert!(refused(outcome).contains("more than 3"));
    assert_eq!(api.received().len(), 4);
}

#[tokio::test]
async fn to_ever_longer_addresses() {
    let api = Server::scripted(|_, received| found(&format!("{}{}", received.target, "x".repeat(50_000)))).await;
    let outcome = Setup::local(api.url("")).call(json!({})).await;
    assert!(matches!(outcome, Outcome::Refused(_) | Outcome::Unknown { .. }), "{outcome:?}");
    assert!(api.received().len() <= 4);
}

#[tokio::test]
async fn to_an_address_with_encoded_line_breaks() {
    let (outcome, api) = sent_to("/next%0d%0aX-Admin:%201").await;
    refused(outcome);
    // It stays one target over all redirects.
    let requests = api.received();
    assert!(requests[1..].iter().all(|request| request.target == "/next%0d%0aX-Admin:%201"), "{requests:?}");
    assert!(requests.iter().all(|request| request.header("x-admin").is_none()));
}

#[tokio::test]
async fn with_two_addresses() {
    let api = Server::scripted(|_, received| match received.target.as_str() {
        "/end" => Reply::json(200, &json!({})),
        _ => Reply::raw(
            "HTTP/1.1 302 Found\r\nlocation: /end\r\nlocation: http://evil.example/\r\ncontent-length: 0\r\n\r\n",
        ),
    })
    .await;
    let outcome = Setup::local(api.url("")).call(json!({})).await;
    assert!(api.received().iter().all(|request| ["/r", "/end"].contains(&request.target.as_str())));
    answered(outcome);
}

#[tokio::test]
async fn of_a_post_with_its_body() {
    for status in [301, 302, 303, 307, 308] {
        let other = Server::always(Reply::json(200, &json!({}))).await;
        let location = other.url("/end");
        let api = Server::always(Reply::body(status, &[("location", &location)], "")).await;
        let content = json!({"application/json": {"schema": {"type": "object"}}});
        let setup = Setup::local(api.url("")).method("post").content(content);
        assert_eq!(answered(setup.call(json!({"body": {"order": 1}})).await).status, status);
        assert_eq!((api.received().len(), other.received().len()), (1, 0), "{status}");
    }
}

#[tokio::test]
async fn of_methods_that_change_something_on_the_same_server() {
    for (method, status) in ["post", "put", "delete", "patch"].into_iter().zip([301, 302, 305, 301]) {
        let api = Server::always(Reply::body(status, &[("location", "/end")], "")).await;
        let outcome = Setup::local(api.url("")).method(method).call(json!({})).await;
        assert_eq!((outcome.label(), answered(outcome).status), ("redirected", status), "{method}");
        assert_eq!(api.received().len(), 1, "{method}");
    }
}

#[tokio::test]
async fn of_methods_that_change_something_for_ever() {
    for status in [303, 307, 308] {
        let api = Server::always(Reply::body(status, &[("location", "/r")], "")).await;
        let outcome = Setup::local(api.url("")).method("post").call(json!({})).await;
        assert_eq!(outcome.label(), "redirected", "{status}");
        assert_eq!(api.received().len(), 4, "{status}");
        let posts = api.received().iter().filter(|request| request.method == "POST").count();
        assert_eq!(posts, if status == 303 { 1 } else { 4 });
    }
}

#[tokio::test]
async fn by_a_header_that_refreshes() {
    let api = Server::always(Reply::body(200, &[("refresh", "0; url=http://evil.example/")], "{}")).await;
    answered(Setup::local(api.url("")).call(json!({})).await);
    assert_eq!(api.received().len(), 1);
}

#[tokio::test]
async fn by_a_next_page_on_another_server() {
    let other = Server::always(Reply::json(200, &json!([]))).await;
    let link = format!("<{}>; rel=\"next\"", other.url("/r?page=2"));
    let api = Server::always(Reply::body(200, &[("link", &link)], "[1]")).await;
    let mut setup = Setup::local(api.url("")).secured(json!({"type": "http", "scheme": "bearer"}), SECRET);
    setup.settings.max_pages = 10;
    assert!(answered(setup.call(json!({})).await).paging.later.is_empty());
    assert!(other.received().is_empty());
}

#[tokio::test]
async fn by_next_pages_without_an_end() {
    let pages = Arc::new(AtomicUsize::new(0));
    let api = Server::scripted(move |_, _| {
        let next = format!("</r?page={}>; rel=\"next\"", pages.fetch_add(1, Ordering::SeqCst) + 1);
        Reply::body(200, &[("link", &next)], "[1]")
    })
    .await;
    let mut setup = Setup::local(api.url(""));
    setup.settings.max_pages = 10;
    assert_eq!(answered(setup.call(json!({})).await).paging.later.len(), 9);
    assert_eq!(api.received().len(), 10);
}
