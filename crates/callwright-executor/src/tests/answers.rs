//! Responses: size limits, kept headers, broken and missing responses.

use std::io::Write;

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use tokio::io::AsyncWriteExt;

use super::server::{Server, unreachable_server};
use super::*;

fn get(server: &str) -> Operation {
    operation(Method::GET, server, "/r", Vec::new())
}

fn post(server: &str) -> Operation {
    operation(Method::POST, server, "/r", Vec::new())
}

#[tokio::test]
async fn an_error_status_is_an_answer_with_the_headers_that_matter() {
    let server = Server::http(|_| {
        Response::builder()
            .status(429)
            .header("Retry-After", "7")
            .header("X-RateLimit-Remaining", "0")
            .header("content-type", "application/json")
            .header("set-cookie", "sid=secret")
            .header("link", "x".repeat(5_000))
            .body(Full::from(r#"{"info_code":"10003"}"#))
            .unwrap()
    })
    .await;
    let answer = answer(run(&executor(&local()), &get(&server.url()), &toolset(), json!({})).await);
    assert_eq!((answer.status, answer.truncated), (429, false));
    assert_eq!((answer.header("retry-after"), answer.header("x-ratelimit-remaining")), (Some("7"), Some("0")));
    assert_eq!((answer.header("set-cookie"), answer.header("link")), (None, None));
    assert_eq!(answer.text(), r#"{"info_code":"10003"}"#);
}

#[tokio::test]
async fn a_long_body_is_cut_at_the_limit() {
    for (length, truncated) in [(99, false), (100, false), (101, true), (1_000_000, true)] {
        let server = Server::http(move |_| Response::new(Full::from("x".repeat(length)))).await;
        let settings = Settings { max_answer_bytes: 100, ..local() };
        let answer = answer(run(&executor(&settings), &get(&server.url()), &toolset(), json!({})).await);
        assert_eq!((answer.body.len(), answer.truncated), (length.min(100), truncated), "{length}");
    }
}

#[tokio::test]
async fn a_compressed_body_is_bounded_by_its_decompressed_size() {
    let zeros = vec![0_u8; 1024 * 1024];
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..64 {
        encoder.write_all(&zeros).unwrap();
    }
    let bomb = Bytes::from(encoder.finish().unwrap());
    assert!(bomb.len() < 100_000, "{} bytes become 64 MiB", bomb.len());
    let server = Server::http(move |_| {
        Response::builder().header("content-encoding", "gzip").body(Full::from(bomb.clone())).unwrap()
    })
    .await;
    let settings = Settings { max_answer_bytes: 200_000, ..local() };
    let answer = answer(run(&executor(&settings), &get(&server.url()), &toolset(), json!({})).await);
    assert_eq!((answer.body.len(), answer.truncated), (200_000, true));
    assert!(answer.body.iter().all(|byte| *byte == 0));
}

#[tokio::test]
async fn an_invalid_compressed_body_is_cut_and_a_plain_one_is_read() {
    for (body, truncated) in [(&b"\x1f\x8b is no gzip"[..], true), (b"this is no gzip", false)] {
        let server = Server::http(move |_| {
            Response::builder().header("content-encoding", "gzip").body(Full::from(body)).unwrap()
        })
        .await;
        let answer = answer(run(&executor(&local()), &get(&server.url()), &toolset(), json!({})).await);
        assert_eq!((answer.status, answer.truncated), (200, truncated));
        assert_eq!(answer.text(), if truncated { "" } else { "this is no gzip" });
    }
}

#[tokio::test]
async fn the_fields_of_a_head_are_kept_without_secrets_and_transport() {
    let server = Server::http(|_| {
        Response::builder()
            .header("x-total-count", "42")
            .header("x-checksum", "abc")
            .header("etag", "\"abc\"")
            .header("set-cookie", "sid=secret")
            .header("x-session-token", "secret")
            .header("x-powered-by", "PHP")
            .body(Full::default())
            .unwrap()
    })
    .await;
    let kept = |outcome: Outcome| {
        let mut names: Vec<String> = answer(outcome).headers.into_iter().map(|(name, _)| name).collect();
        names.retain(|name| name != "content-length");
        names
    };
    let head = operation(Method::HEAD, &server.url(), "/r", Vec::new());
    let outcome = run(&executor(&local()), &head, &toolset(), json!({})).await;
    assert_eq!(kept(outcome), ["x-total-count", "x-checksum", "etag"]);
    let outcome = run(&executor(&local()), &get(&server.url()), &toolset(), json!({})).await;
    assert_eq!(kept(outcome), ["x-total-count", "etag"]);
}

#[tokio::test]
async fn an_endless_body_ends_at_the_limit_a_slow_one_at_the_deadline() {
    let server = Server::endless(b"HTTP/1.1 200 OK\r\n\r\n", &[b'x'; 4_096]).await;
    let settings = Settings { max_answer_bytes: 10_000, ..local() };
    let endless = answer(run(&executor(&settings), &get(&server.url()), &toolset(), json!({})).await);
    assert_eq!((endless.body.len(), endless.truncated), (10_000, true));

    let server = Server::raw(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await;
        std::future::pending::<()>().await;
    })
    .await;
    let dripping = answer(run(&executor(&local()), &post(&server.url()), &toolset(), json!({})).await);
    assert_eq!((&dripping.body[..], dripping.truncated), (&b"half"[..], true));
}

#[tokio::test]
async fn a_body_that_breaks_off_keeps_its_status() {
    let server = Server::raw(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\nhalf").await;
    })
    .await;
    let answer = answer(run(&executor(&local()), &post(&server.url()), &toolset(), json!({})).await);
    assert_eq!((answer.status, &answer.body[..], answer.truncated), (201, &b"half"[..], true));
}

#[tokio::test]
async fn endless_and_faulty_heads_are_no_answers() {
    for (first, again) in [
        (&b"HTTP/1.1 200 OK\r\n"[..], &b"x-a: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n"[..]),
        (b"HTTP/1.1 200 OK\r\nx-a: ", b"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"),
        (b"SSH-2.0-OpenSSH\r\n", b"garbage\r\n"),
    ] {
        let server = Server::endless(first, again).await;
        unknown(run(&executor(&local()), &post(&server.url()), &toolset(), json!({})).await);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn an_absent_server_is_unreachable() {
    let server = unreachable_server().await;
    for operation in [get(&server), post(&server)] {
        let outcome = run(&executor(&local()), &operation, &toolset(), json!({})).await;
        assert!(matches!(&outcome, Outcome::Unreachable { reason } if reason.contains("127.0.0.1")), "{outcome:?}");
    }
}

#[tokio::test]
async fn silence_is_unknown_and_is_not_repeated() {
    let server = Server::silent().await;
    for operation in [get(&server.url()), post(&server.url())] {
        assert!(unknown(run(&executor(&local()), &operation, &toolset(), json!({})).await).contains("1 seconds"));
    }
    assert_eq!(server.requests().len(), 2, "one for each method");
}

#[tokio::test]
async fn a_broken_connection_is_retried_only_for_idempotent_methods() {
    let of =
        |method: Method, trusted: u32, distrusted: u32| [(method.clone(), true, trusted), (method, false, distrusted)];
    let cases = [
        of(Method::GET, 3, 3),
        of(Method::HEAD, 3, 3),
        of(Method::POST, 1, 1),
        of(Method::PATCH, 1, 1),
        of(Method::PUT, 3, 1),
        of(Method::DELETE, 3, 1),
    ];
    for (method, repeat_put_and_delete, times) in cases.into_iter().flatten() {
        let server = Server::raw(|stream| async move { drop(stream) }).await;
        let operation = operation(method.clone(), &server.url(), "/r", Vec::new());
        let settings = Settings { max_repeats: 2, repeat_put_and_delete, ..local() };
        unknown(run(&executor(&settings), &operation, &toolset(), json!({})).await);
        let requests = server.requests();
        assert_eq!(requests.len(), times as usize, "{method}");
        assert!(requests.iter().all(|request| request.method == method));
    }
}
