//! Responses with a body that is huge, slow, invalid or endless. The status is known, so they count as responses, cut
//! at the failure.

use std::io::Write;
use std::time::Duration;

use bytes::Bytes;
use callwright_types::outcome::ApiAnswer;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use super::shop::{MAX_ANSWER_BYTES, Setup, answered};
use crate::support::{Reply, Server};

/// Pause between two pieces of a slow body.
const DRIP: Duration = Duration::from_millis(20);

async fn posted(reply: Reply) -> (ApiAnswer, Server) {
    posted_in(|setup| setup, reply).await
}

/// Works like [`posted`], with a response that takes until the timeout.
async fn posted_in_time(reply: Reply) -> (ApiAnswer, Server) {
    posted_in(Setup::hasty, reply).await
}

async fn posted_in(time: impl Fn(Setup) -> Setup, reply: Reply) -> (ApiAnswer, Server) {
    let api = Server::always(reply).await;
    let outcome = time(Setup::local(api.url("")).method("post")).call(json!({})).await;
    assert_eq!(api.received().len(), 1);
    (answered(outcome), api)
}

/// Returns the response to a `POST` that gets this reply.
async fn answer_of(reply: Reply) -> ApiAnswer {
    posted(reply).await.0
}

fn chunked() -> Reply {
    Reply::raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns 64 MiB of zeros in gzip.
fn bomb() -> Bytes {
    let zeros = vec![0_u8; 1024 * 1024];
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..64 {
        encoder.write_all(&zeros).unwrap();
    }
    encoder.finish().unwrap().into()
}

#[tokio::test]
async fn a_body_without_an_end_and_without_a_length() {
    let (answer, api) =
        posted(Reply::raw("HTTP/1.1 200 OK\r\n\r\n").then_again("x".repeat(4_096), Duration::ZERO)).await;
    assert_eq!((answer.body.len(), answer.truncated), (MAX_ANSWER_BYTES, true));
    api.hangup().await;
}

#[tokio::test]
async fn chunks_without_an_end() {
    let (answer, api) = posted(chunked().then_again("5\r\nxxxxx\r\n".repeat(400), Duration::ZERO)).await;
    assert_eq!((answer.body.len(), answer.truncated), (MAX_ANSWER_BYTES, true));
    api.hangup().await;
}

#[tokio::test]
async fn a_body_that_comes_byte_by_byte() {
    let (answer, api) =
        posted_in_time(Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n").then_again("x", DRIP)).await;
    assert!(answer.truncated && answer.body.len() < 1_000);
    api.hangup().await;
}

#[tokio::test]
async fn a_body_that_never_comes() {
    let (answer, api) =
        posted_in_time(Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n").then_silence()).await;
    assert!(answer.truncated && answer.body.is_empty());
    api.hangup().await;
}

#[tokio::test]
async fn chunks_whose_size_is_no_number() {
    let answer = answer_of(chunked().then_again("zz\r\nxx\r\n", DRIP)).await;
    assert!(answer.truncated && answer.body.is_empty());
}

#[tokio::test]
async fn a_chunk_of_a_size_beyond_all_numbers() {
    let answer = answer_of(chunked().then_again("fffffffffffffffffffff\r\n", DRIP)).await;
    assert!(answer.truncated && answer.body.is_empty());
}

#[tokio::test]
async fn a_chunk_that_claims_more_than_there_is_memory() {
    let (answer, api) = posted_in_time(chunked().then_again("fffffffffffffff0\r\nx", DRIP)).await;
    assert!(answer.truncated && answer.body.len() < 10_000);
    api.hangup().await;
}

#[tokio::test]
async fn a_chunk_extension_without_an_end() {
    let mut reply = chunked();
    reply = reply.then_again(format!("1;{}", "x".repeat(4_096)), Duration::ZERO);
    let (answer, api) = posted(reply).await;
    assert!(answer.truncated && answer.body.len() < 10);
    api.hangup().await;
}

#[tokio::test]
async fn trailers_without_an_end() {
    let reply = Reply::raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n");
    let (answer, api) = posted(reply.then_again("x-filling: xxxxxxxxxxxxxxxx\r\n".repeat(64), Duration::ZERO)).await;
    assert_eq!((answer.text().as_ref(), answer.truncated), ("{}", true));
    api.hangup().await;
}

#[tokio::test]
async fn a_body_that_is_shorter_than_it_says() {
    let answer = answer_of(Reply::raw("HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\nhalf")).await;
    assert_eq!((answer.status, answer.text().as_ref(), answer.truncated), (201, "half", true));
}

#[tokio::test]
async fn a_body_that_is_longer_than_it_says() {
    let answer = answer_of(Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}and more")).await;
    assert_eq!((answer.text().as_ref(), answer.truncated), ("{}", false));
}

#[tokio::test]
async fn a_body_that_is_reset_in_the_middle() {
    let answer = answer_of(Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").then_reset()).await;
    assert_eq!((answer.status, answer.truncated), (200, true));
}

#[tokio::test]
async fn a_bomb() {
    let bomb = bomb();
    assert!(bomb.len() < 100_000, "{} bytes become 64 MiB", bomb.len());
    let answer = answer_of(Reply::body(200, &[("content-encoding", "gzip")], bomb)).await;
    assert_eq!((answer.body.len(), answer.truncated), (MAX_ANSWER_BYTES, true));
}

#[tokio::test]
async fn a_bomb_in_a_bomb() {
    let twice = gzip(&bomb());
    let answer = answer_of(Reply::body(200, &[("content-encoding", "gzip, gzip")], twice)).await;
    assert!(answer.body.len() <= MAX_ANSWER_BYTES);
}

#[tokio::test]
async fn a_bomb_without_an_end() {
    let head = Reply::raw("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n");
    let (answer, api) = posted(head.then_again(bomb(), Duration::ZERO)).await;
    assert_eq!((answer.body.len(), answer.truncated), (MAX_ANSWER_BYTES, true));
    api.hangup().await;
}

#[tokio::test]
async fn a_compression_that_nobody_asked_for() {
    for coding in ["br", "zstd", "deflate", "x-unknown"] {
        let answer = answer_of(Reply::body(200, &[("content-encoding", coding)], "not what it says")).await;
        assert_eq!(answer.text(), "not what it says", "{coding}");
    }
}

#[tokio::test]
async fn compressed_bytes_that_are_none() {
    let answer = answer_of(Reply::body(200, &[("content-encoding", "gzip")], "this is no gzip")).await;
    assert_eq!((answer.text().as_ref(), answer.truncated), ("this is no gzip", false));
    let begun = &b"\x1f\x8bthis is no gzip"[..];
    let answer = answer_of(Reply::body(200, &[("content-encoding", "gzip")], begun)).await;
    assert!(answer.truncated && answer.body.is_empty());
}

#[tokio::test]
async fn compressed_bytes_that_break_off() {
    let mut half = gzip(&[b'x'; 10_000]);
    half.truncate(half.len() / 2);
    let answer = answer_of(Reply::body(200, &[("content-encoding", "gzip")], half)).await;
    assert!(answer.truncated);
}

#[tokio::test]
async fn bytes_that_are_no_text() {
    let answer =
        answer_of(Reply::body(200, &[("content-type", "application/json")], &b"{\"a\":\"\xff\xfe\xc3\x28\"}"[..]))
            .await;
    assert!(answer.text().contains('\u{fffd}'));
}

#[tokio::test]
async fn a_body_where_there_may_be_none() {
    let answer = answer_of(Reply::raw("HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nextra")).await;
    assert_eq!((answer.status, answer.body.len()), (204, 0));
}

#[tokio::test]
async fn a_wait_that_never_ends() {
    for after in ["99999999999999999999", "86400", "-1", "Fri, 31 Dec 9999 23:59:59 GMT", "soon"] {
        let api = Server::always(Reply::body(429, &[("retry-after", after)], "{}")).await;
        assert_eq!(answered(Setup::local(api.url("")).call(json!({})).await).status, 429, "{after}");
        assert_eq!(api.received().len(), 1, "{after}");
    }
}

#[tokio::test]
async fn a_wait_that_is_asked_for_again_and_again() {
    let api = Server::always(Reply::body(503, &[("retry-after", "0")], "{}")).await;
    assert_eq!(answered(Setup::local(api.url("")).call(json!({})).await).status, 503);
    assert_eq!(api.received().len(), 3, "the first and `retry_after_tries` more");
}
