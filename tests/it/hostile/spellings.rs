//! Spellings of guarded paths with which a client could try to reach the upstream unguarded.

use crate::support::answer::one_call;
use crate::support::request::with_tools;
use crate::support::{Proxy, Server, config};

/// Result of a turn that was sent to a path.
struct Sent {
    status: u16,
    answer: String,
    /// Targets that the upstream received.
    targets: Vec<String>,
}

/// Sends a turn with a repairable call to a path exactly as written, without a client library that could normalise it.
async fn send(method: &str, path: &str) -> Sent {
    let upstream = Server::always(one_call("getWeather", r#"{"city": "Oslo"}"#)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let body = with_tools("Weather?").to_string();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let answer = proxy.client().raw(request.as_bytes()).await;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    Sent { status, answer, targets: upstream.received().into_iter().map(|request| request.target).collect() }
}

/// Checks that the turn is guarded as on the usual path, and that the query goes upstream.
async fn is_guarded(path: &str) {
    let sent = send("POST", path).await;
    assert_eq!(sent.status, 200, "{path}: {}", sent.answer);
    assert!(sent.answer.contains("get_weather") && !sent.answer.contains("unguarded"), "{path}: {}", sent.answer);
    let query = path.find('?').and_then(|start| path.get(start..)).unwrap_or_default();
    assert_eq!(sent.targets, [format!("/v1/chat/completions{query}")], "{path}");
}

/// Checks that the upstream gets no request, and that the client gets an error in OpenAI's format.
async fn is_refused(path: &str, status: u16, code: &str) {
    let sent = send("POST", path).await;
    assert_eq!(sent.status, status, "{path}: {}", sent.answer);
    assert!(sent.answer.contains("invalid_request_error") && sent.answer.contains(code), "{path}: {}", sent.answer);
    assert_eq!(sent.targets, [""; 0], "{path}");
}

async fn is_invalid(path: &str) {
    is_refused(path, 400, "invalid_path").await;
}

async fn is_unknown(path: &str) {
    is_refused(path, 404, "/v1/chat/completions").await;
}

#[tokio::test]
async fn one_dot() {
    is_guarded("/v1/./chat/completions").await;
}

#[tokio::test]
async fn an_encoded_dot() {
    is_guarded("/v1/%2e/chat/%2E/completions").await;
}

#[tokio::test]
async fn two_slashes() {
    is_guarded("//v1//chat//completions").await;
}

#[tokio::test]
async fn a_slash_at_the_end() {
    is_guarded("/v1/chat/completions/").await;
}

#[tokio::test]
async fn an_encoded_letter() {
    is_guarded("/v1/chat/%63ompletions").await;
}

#[tokio::test]
async fn every_letter_encoded() {
    is_guarded("/%76%31/%63%68%61%74/%63%6f%6d%70%6c%65%74%69%6f%6e%73").await;
}

#[tokio::test]
async fn no_version() {
    is_guarded("/chat/completions").await;
}

#[tokio::test]
async fn azures_version() {
    is_guarded("/openai/v1/chat/completions?api-version=preview").await;
}

#[tokio::test]
async fn azures_version_in_pieces() {
    is_guarded("/openai/./v1//chat/%63ompletions/").await;
}

#[tokio::test]
async fn an_absolute_target() {
    is_guarded("http://localhost/v1/./chat/completions").await;
}

#[tokio::test]
async fn two_dots() {
    is_invalid("/v1/x/../chat/completions").await;
}

#[tokio::test]
async fn encoded_dots() {
    is_invalid("/v1/x/%2e%2e/chat/completions").await;
}

#[tokio::test]
async fn dots_with_a_parameter() {
    is_invalid("/v1/x/..;a=b/chat/completions").await;
}

#[tokio::test]
async fn an_encoded_slash() {
    is_invalid("/v1/chat%2fcompletions").await;
}

#[tokio::test]
async fn dots_and_an_encoded_slash_to_the_upstreams_other_paths() {
    is_invalid("/v1/..%2fadmin/keys").await;
}

#[tokio::test]
async fn a_backslash() {
    is_invalid("/v1/chat\\completions").await;
}

#[tokio::test]
async fn an_encoded_backslash() {
    is_invalid("/v1/chat%5Ccompletions").await;
}

#[tokio::test]
async fn an_encoded_zero_byte() {
    is_invalid("/v1/chat/completions%00").await;
}

#[tokio::test]
async fn an_encoded_line_break() {
    is_invalid("/v1/chat/completions%0d%0aX-A:%201").await;
}

#[tokio::test]
async fn an_escape_that_is_none() {
    is_invalid("/v1/chat/%zzcompletions").await;
}

#[tokio::test]
async fn an_escape_that_is_cut_off() {
    is_invalid("/v1/chat/completions%6").await;
}

#[tokio::test]
async fn a_letter_encoded_twice() {
    is_invalid("/v1/chat/%2563ompletions").await;
}

#[tokio::test]
async fn a_slash_encoded_twice() {
    is_invalid("/v1/chat%252fcompletions").await;
}

#[tokio::test]
async fn an_overlong_slash() {
    is_invalid("/v1/chat%c0%afcompletions").await;
}

#[tokio::test]
async fn a_full_width_slash() {
    is_invalid("/v1/chat%EF%BC%8Fcompletions").await;
}

#[tokio::test]
async fn capital_letters() {
    is_unknown("/v1/Chat/COMPLETIONS").await;
}

#[tokio::test]
async fn a_dot_behind_it() {
    is_unknown("/v1/chat/completions.").await;
}

#[tokio::test]
async fn a_space_behind_it() {
    is_unknown("/v1/chat/completions%20").await;
}

#[tokio::test]
async fn a_parameter_behind_it() {
    is_unknown("/v1/chat/completions;x=1").await;
}

#[tokio::test]
async fn an_encoded_question_mark_behind_it() {
    is_unknown("/v1/chat/completions%3Fx=1").await;
}

#[tokio::test]
async fn a_full_width_letter() {
    is_unknown("/v1/%EF%BD%83hat/completions").await;
}

#[tokio::test]
async fn an_empty_segment_of_spaces() {
    is_unknown("/v1/%20/chat/%20/completions").await;
}

#[tokio::test]
async fn the_version_twice() {
    is_guarded("/v1/v1/chat/completions").await;
}

#[tokio::test]
async fn another_prefix() {
    is_unknown("/v1/engines/gpt-test/chat/completions").await;
}

#[tokio::test]
async fn what_is_passed_through_has_one_spelling() {
    let sent = send("POST", "//v1/./%65mbeddings/?a=%2e%2F//..&b").await;
    assert_eq!((sent.status, sent.targets), (200, vec!["/v1/embeddings?a=%2e%2F//..&b".to_owned()]), "{}", sent.answer);
}
