//! Tests with an endpoint that answers correctly and incorrectly.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::EndpointEmbedder;
use crate::embedding::test_server::{ReceivedRequest, Reply, TestServer};
use crate::embedding::{BuildError, Embedder, EndpointSettings, Settings};
use callwright_types::Secret;

fn settings(base_url: String) -> Settings {
    let endpoint = EndpointSettings {
        base_url,
        model: "embedder".to_owned(),
        dimensions: 2,
        api_key: Secret::new("sk-canary"),
        ..EndpointSettings::default()
    };
    Settings { batch_texts: 2, endpoint, ..Settings::default() }
}

fn build(settings: &Settings) -> Result<EndpointEmbedder, BuildError> {
    EndpointEmbedder::build(settings, Path::new("."))
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn inputs(request: &ReceivedRequest) -> Vec<String> {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    serde_json::from_value(body["input"].clone()).unwrap()
}

/// Returns vectors of the texts' lengths, in reverse order.
fn answer(request: &ReceivedRequest) -> Reply {
    let entry = |(index, text): (usize, &String)| json!({"index": index, "embedding": [text.len(), 1]});
    let data: Vec<Value> = inputs(request).iter().enumerate().map(entry).rev().collect();
    ("200 OK", String::new(), json!({ "data": data }).to_string().into_bytes())
}

/// Returns the error message for an endpoint with this response.
async fn reason(status: &'static str, body: &str) -> String {
    let body = body.as_bytes().to_vec();
    let server = TestServer::start(move |_| (status, "location: /other\r\n".to_owned(), body.clone())).await;
    let embedder = build(&settings(server.url())).unwrap();
    let error = embedder.embed(texts(&["a", "b"])).await.unwrap_err();
    assert_eq!(server.received().len(), 1, "what was sent is not sent again, nor elsewhere");
    assert!(!error.to_string().contains("canary"), "{error}");
    error.reason
}

#[tokio::test]
async fn texts_are_sent_in_batches_with_the_key_and_return_in_order() {
    let server = TestServer::start(answer).await;
    let embedder = build(&settings(format!("{}/v1/", server.url()))).unwrap();
    let vectors = embedder.embed(texts(&["aaaa", " ", "b", "cc"])).await.unwrap();
    let slopes: Vec<f32> =
        vectors.iter().map(|vector| (vector.components()[0] / vector.components()[1]).round()).collect();
    assert_eq!((slopes[0], slopes[2], slopes[3]), (4.0, 1.0, 2.0));
    assert_eq!(vectors[1].components(), [0.0, 0.0]);
    let received = server.received();
    assert_eq!(received.iter().map(inputs).collect::<Vec<_>>(), [vec!["b", "cc"], vec!["aaaa"]]);
    for request in &received {
        assert_eq!(request.target(), "/v1/embeddings");
        assert!(request.head.contains("authorization: Bearer sk-canary"), "{}", request.head);
    }
    assert_eq!(embedder.id(), format!("embedder@{}/v1/embeddings#2", server.url()));
}

#[tokio::test]
async fn a_custom_header_carries_the_plain_key() {
    let server = TestServer::start(answer).await;
    let mut settings = settings(server.url());
    settings.endpoint.api_key_header = "api-key".to_owned();
    build(&settings).unwrap().embed(texts(&["a"])).await.unwrap();
    settings.endpoint.api_key = Secret::default();
    build(&settings).unwrap().embed(texts(&["a"])).await.unwrap();
    let received = server.received();
    assert!(received[0].head.contains("api-key: sk-canary"));
    assert!(!received[1].head.contains("api-key") && !received[1].head.contains("authorization"));
}

#[tokio::test]
async fn blank_texts_send_no_request() {
    let embedder = build(&settings("http://127.0.0.1:9".to_owned())).unwrap();
    assert_eq!(embedder.embed(Vec::new()).await.unwrap(), []);
    assert_eq!(embedder.embed(texts(&["", "\n"])).await.unwrap().len(), 2);
}

#[tokio::test]
async fn errors_name_the_remedy_and_quote_no_key() {
    let unauthorised = reason("401 Unauthorized", r#"{"error":{"message":"wrong key sk-canary"}}"#).await;
    assert!(unauthorised.contains("401") && unauthorised.contains("api_key"), "{unauthorised}");
    let absent = reason("404 Not Found", r#"{"error":{"message":"no model\u001b[31m `x`"}}"#).await;
    assert!(absent.contains("no model[31m `x`") && absent.contains("base_url"), "{absent}");
    assert!(reason("500 Internal Server Error", "<html>").await.contains("500"));
    assert!(reason("307 Temporary Redirect", "").await.contains("307"));
    let quoting = reason("429 Too Many Requests", r#"{"error":{"message":"limit of key sk-canary"}}"#).await;
    assert_eq!(quoting, "status 429 Too Many Requests");
}

#[tokio::test]
async fn after_a_failure_no_request_is_sent_until_the_pause_ends() {
    for (pause, requests) in [(3600, 1), (0, 2)] {
        let server = TestServer::start(|_| ("503 Service Unavailable", String::new(), Vec::new())).await;
        let mut settings = settings(server.url());
        settings.endpoint.pause_seconds = pause;
        let embedder = build(&settings).unwrap();
        let first = embedder.embed_query("a".to_owned()).await.unwrap_err();
        assert!(first.reason.starts_with("status 503"), "{first}");
        let second = embedder.embed_query("b".to_owned()).await.unwrap_err();
        assert_eq!(second.reason.contains("pause_seconds"), pause > 0, "{second}");
        assert!(second.reason.contains("status 503"), "{second}");
        assert_eq!(server.received().len(), requests);
        // Loading documentation justifies an attempt.
        embedder.embed(texts(&["a"])).await.unwrap_err();
        assert_eq!(server.received().len(), requests + 1);
    }
}

#[tokio::test]
async fn rejected_texts_do_not_pause_others() {
    let refuse_bad = |request: &ReceivedRequest| match inputs(request).as_slice() {
        [text] if text == "bad" => ("400 Bad Request", String::new(), Vec::new()),
        _ => answer(request),
    };
    let server = TestServer::start(refuse_bad).await;
    let mut settings = settings(server.url());
    settings.endpoint.pause_seconds = 3600;
    let embedder = build(&settings).unwrap();
    embedder.embed_query("bad".to_owned()).await.unwrap_err();
    assert_eq!(
        embedder.embed_query("good".to_owned()).await.unwrap(),
        embedder.embed(texts(&["good"])).await.unwrap()[0]
    );
}

#[tokio::test]
async fn a_turn_waits_no_longer_than_its_own_limit() {
    // Accepts connections and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut settings = settings(format!("http://{}", listener.local_addr().unwrap()));
    settings.endpoint.query_timeout_seconds = 1;
    settings.endpoint.timeout_seconds = 3600;
    let embedder = build(&settings).unwrap();
    let error = embedder.embed_query("a".to_owned()).await.unwrap_err();
    assert!(error.reason.contains("`embedding.endpoint.query_timeout_seconds`"), "{error}");
    let error = embedder.embed_query("a".to_owned()).await.unwrap_err();
    assert!(error.reason.contains("`embedding.endpoint.pause_seconds`"), "{error}");
}

#[test]
fn another_endpoint_has_another_id() {
    let urls = ["http://host/v1", "https://host/v1", "http://host:8080/v1", "http://host/other/v1"];
    let ids: BTreeSet<String> =
        urls.iter().map(|url| build(&settings((*url).to_owned())).unwrap().id().to_owned()).collect();
    assert_eq!(ids.len(), urls.len(), "{ids:?}");
    let with_slash = build(&settings("http://host/v1/".to_owned())).unwrap();
    assert!(ids.contains(with_slash.id()), "{}", with_slash.id());
}

#[tokio::test]
async fn vectors_of_a_wrong_number_or_size_are_errors() {
    let few = reason("200 OK", r#"{"data":[{"index":0,"embedding":[1,2]}]}"#).await;
    assert!(few.contains("2 texts were answered with 1"), "{few}");
    let entries = r#"{"data":[{"index":0,"embedding":[1,2,3]},{"index":1,"embedding":[1,2,3]}]}"#;
    let long = reason("200 OK", entries).await;
    assert!(long.contains("have 3 components") && long.contains("embedding.endpoint.dimensions"), "{long}");
    let huge = reason("200 OK", r#"{"data":[{"index":0,"embedding":[1e39,2]},{"index":1,"embedding":[1,2]}]}"#).await;
    assert!(huge.contains("non-finite") || huge.contains("not a list of vectors"), "{huge}");
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let server = TestServer::start(|_| ("200 OK", String::new(), vec![b' '; 100_000])).await;
    let mut settings = settings(server.url());
    settings.endpoint.max_answer_bytes = 50_000;
    let error = build(&settings).unwrap().embed(texts(&["a"])).await.unwrap_err();
    assert!(error.reason.contains("max_answer_bytes"), "{error}");
}

#[tokio::test]
async fn an_absent_server_is_named() {
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let embedder = build(&settings(format!("http://{address}/v1"))).unwrap();
    let error = embedder.embed(texts(&["a"])).await.unwrap_err();
    assert!(error.reason.contains("no connection to 127.0.0.1") && error.reason.contains("base_url"), "{error}");
}

#[test]
fn settings_that_make_no_endpoint_are_named() {
    let message = |change: fn(&mut EndpointSettings)| {
        let mut settings = settings("http://127.0.0.1:9/v1".to_owned());
        change(&mut settings.endpoint);
        build(&settings).unwrap_err().to_string()
    };
    assert!(message(|endpoint| endpoint.base_url = "localhost".to_owned()).contains("endpoint.base_url"));
    assert!(message(|endpoint| endpoint.base_url = "file:///etc".to_owned()).contains("endpoint.base_url"));
    for address in
        ["https://me:canary@host/v1", "https://canary@host/v1", "https://host/v1?key=canary", "https://host/v1#x"]
    {
        let mut settings = settings(address.to_owned());
        settings.endpoint.api_key = Secret::default();
        let error = build(&settings).unwrap_err().to_string();
        assert!(error.contains("endpoint.base_url") && !error.contains("canary"), "{error}");
    }
    assert!(message(|endpoint| endpoint.api_key = Secret::new("a\nb")).contains("endpoint.api_key"));
    assert!(message(|endpoint| endpoint.api_key_header = "a b".to_owned()).contains("api_key_header"));
    assert!(message(|endpoint| endpoint.ca_file = "/absent.pem".to_owned()).contains("ca_file"));
    assert!(message(|endpoint| endpoint.dimensions = 0).contains("endpoint.dimensions"));
}
