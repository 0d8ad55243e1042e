//! Responses with a head that is invalid, huge, slow or endless. The request may have taken effect at such a server.

use std::time::Duration;

use callwright_types::Outcome;
use serde_json::json;
use tokio::net::TcpListener;

use super::shop::{Setup, answered, unknown, unreachable};
use crate::support::{Reply, Server};

/// Pause between two pieces of a slow head; many of them fit into the time of an execution.
const DRIP: Duration = Duration::from_millis(20);

/// Returns the outcome of a `POST` that gets this reply.
async fn posted(time: impl Fn(Setup) -> Setup, reply: Reply) -> (Outcome, Server) {
    let api = Server::always(reply).await;
    (time(Setup::local(api.url("")).method("post")).call(json!({})).await, api)
}

/// Keeps the timeouts.
fn patient(setup: Setup) -> Setup {
    setup
}

/// Checks that the outcome is reported as unknown and the request is not repeated.
async fn is_unknown(reply: Reply) {
    let (outcome, api) = posted(patient, reply).await;
    unknown(outcome);
    assert_eq!(api.received().len(), 1);
}

/// Checks the same as [`is_unknown`], and that the connection is closed.
async fn is_given_up(reply: Reply) {
    let (outcome, api) = posted(Setup::hasty, reply).await;
    unknown(outcome);
    assert_eq!(api.received().len(), 1);
    api.hangup().await;
}

#[tokio::test]
async fn no_answer_at_all() {
    is_given_up(Reply::silence()).await;
}

#[tokio::test]
async fn a_head_that_comes_letter_by_letter() {
    is_given_up(Reply::raw("HTTP/1.1 200 OK\r\nx-slow: ").then_again("x", DRIP)).await;
}

#[tokio::test]
async fn a_status_line_without_an_end() {
    is_given_up(Reply::raw("HTTP/1.1 200 ").then_again("x".repeat(4_096), Duration::ZERO)).await;
}

#[tokio::test]
async fn header_fields_without_an_end() {
    let fields = "x-filling: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n".repeat(64);
    is_given_up(Reply::raw("HTTP/1.1 200 OK\r\n").then_again(fields, Duration::ZERO)).await;
}

#[tokio::test]
async fn a_header_field_without_an_end() {
    is_given_up(Reply::raw("HTTP/1.1 200 OK\r\nx-filling: ").then_again("x".repeat(4_096), Duration::ZERO)).await;
}

#[tokio::test]
async fn a_header_field_of_megabytes() {
    is_unknown(Reply::body(200, &[("x-filling", &"x".repeat(4_000_000))], "{}")).await;
}

#[tokio::test]
async fn thousands_of_header_fields() {
    let fields: Vec<(String, String)> = (0..5_000).map(|number| (format!("x-{number}"), "1".to_owned())).collect();
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    is_unknown(Reply::body(200, &fields, "{}")).await;
}

#[tokio::test]
async fn interim_answers_without_an_end() {
    is_given_up(Reply::raw("").then_again("HTTP/1.1 100 Continue\r\n\r\n".repeat(64), Duration::ZERO)).await;
}

#[tokio::test]
async fn early_hints_without_an_end() {
    is_given_up(Reply::raw("").then_again("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n", DRIP)).await;
}

#[tokio::test]
async fn another_protocol_that_nobody_asked_for() {
    let switch = Reply::raw("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
    is_unknown(switch.then_again("\0", DRIP)).await;
}

#[tokio::test]
async fn an_answer_of_http_0_9() {
    is_unknown(Reply::raw("{\"ok\": true}\n")).await;
}

#[tokio::test]
async fn an_answer_of_another_protocol() {
    is_unknown(Reply::raw("SSH-2.0-OpenSSH_9.7\r\n").then_again("garbage\r\n", DRIP)).await;
}

#[tokio::test]
async fn a_version_that_does_not_exist() {
    is_unknown(Reply::raw("HTTP/9.9 200 OK\r\ncontent-length: 2\r\n\r\n{}")).await;
}

#[tokio::test]
async fn a_status_that_is_no_number() {
    is_unknown(Reply::raw("HTTP/1.1 2x0 OK\r\ncontent-length: 2\r\n\r\n{}")).await;
}

#[tokio::test]
async fn a_field_name_with_a_zero_byte() {
    is_unknown(Reply::raw(&b"HTTP/1.1 200 OK\r\nx\0y: 1\r\ncontent-length: 2\r\n\r\n{}"[..])).await;
}

#[tokio::test]
async fn two_lengths_that_differ() {
    is_unknown(Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 7\r\n\r\n{}")).await;
}

#[tokio::test]
async fn a_length_below_zero() {
    is_unknown(Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}")).await;
}

#[tokio::test]
async fn a_length_beyond_all_numbers() {
    is_unknown(Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\n{}")).await;
}

#[tokio::test]
async fn an_end_before_the_head_is_complete() {
    is_unknown(Reply::raw("HTTP/1.1 200 OK\r\ncontent-le")).await;
}

#[tokio::test]
async fn fields_with_bytes_that_are_no_text() {
    let reply = Reply::raw(
        &b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nlink: <\xff\xfe>\r\netag: \xc3\x28\r\ncontent-length: 2\r\n\r\n{}"[..],
    );
    let answer = answered(posted(patient, reply).await.0);
    assert_eq!((answer.header("content-type"), answer.header("link")), (Some("application/json"), None));
}

#[tokio::test]
async fn a_field_of_the_largest_size_that_is_read_but_not_kept() {
    let answer = answered(posted(patient, Reply::body(200, &[("etag", &"x".repeat(100_000))], "{}")).await.0);
    assert_eq!(answer.header("etag"), None);
}

#[tokio::test]
async fn a_folded_field() {
    let (outcome, api) =
        posted(patient, Reply::raw("HTTP/1.1 200 OK\r\netag: a\r\n b: c\r\ncontent-length: 2\r\n\r\n{}")).await;
    // It may be read as one field or as none, but never as two.
    if let Outcome::Answered(answer) = outcome {
        assert!(answer.header("b").is_none());
    }
    assert_eq!(api.received().len(), 1);
}

#[tokio::test]
async fn a_second_answer_that_nobody_asked_for() {
    let poisoned =
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfirstHTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\npoison";
    let api = Server::scripted(move |_, received| match received.target.as_str() {
        "/r?call=1" => {
            let mut reply = Reply::raw(poisoned);
            reply.keep_alive = true;
            reply
        }
        _ => Reply::body(200, &[], "second"),
    })
    .await;
    let shop = Setup::local(api.url("")).parameter(json!({"name": "call", "in": "query", "schema": {}})).shop();
    assert_eq!(answered(shop.call(json!({"call": 1})).await).text(), "first");
    assert_eq!(answered(shop.call(json!({"call": 2})).await).text(), "second");
}

#[tokio::test]
async fn a_handshake_without_an_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    // The kernel accepts the connections; no TLS handshake takes place.
    let outcome = Setup::local(url).hasty().method("post").call(json!({})).await;
    unreachable(outcome);
    drop(listener);
}

#[tokio::test]
async fn a_handshake_of_garbage() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, &[0xff; 100_000]).await;
        std::future::pending::<()>().await;
    });
    unreachable(Setup::local(url).method("post").call(json!({})).await);
    server.abort();
}
