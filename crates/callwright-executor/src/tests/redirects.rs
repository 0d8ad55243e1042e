//! Redirects.

use http::Response;

use super::server::Server;
use super::*;

/// Starts a server that redirects everything except `/end` to the result of `location`.
async fn redirecting(status: u16, location: impl Fn(&str) -> String + Clone + Send + Sync + 'static) -> Server {
    Server::http(move |request| {
        if request.target == "/end" {
            return Response::new("end".into());
        }
        Response::builder().status(status).header("location", location(&request.target)).body("moved".into()).unwrap()
    })
    .await
}

fn get(server: &Server) -> Operation {
    let mut operation = operation(Method::GET, &server.url(), "/start", Vec::new());
    operation.security = vec![vec!["key".into()]];
    operation
}

#[tokio::test]
async fn a_redirect_on_the_same_server_is_followed_with_the_credential() {
    for status in [301, 302, 303, 307, 308] {
        let server = redirecting(status, |_| "/end".into()).await;
        let toolset = guarded(SecurityScheme::Bearer, Some("tok"));
        let answer = answer(run(&executor(&local()), &get(&server), &toolset, json!({})).await);
        assert_eq!((answer.status, &answer.body[..]), (200, &b"end"[..]));
        assert!(server.requests().iter().all(|request| request.headers["authorization"] == "Bearer tok"));
    }
}

#[tokio::test]
async fn a_redirect_to_another_server_is_refused_and_nothing_is_sent_there() {
    let other = Server::plain().await;
    let port = other.port();
    let targets = [
        format!("http://127.0.0.1:{port}/end"),
        format!("//127.0.0.1:{port}/end"),
        "http://evil.example/end".to_owned(),
        "https://127.0.0.1/end".to_owned(),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "file:///etc/passwd".to_owned(),
        "http://[broken".to_owned(),
    ];
    for target in targets {
        let location = target.clone();
        let server = redirecting(302, move |_| location.clone()).await;
        let toolset = guarded(SecurityScheme::Bearer, Some("tok"));
        let reason = refusal(run(&executor(&local()), &get(&server), &toolset, json!({})).await);
        assert!(reason.contains("redirects"), "{target}: {reason}");
        assert_eq!(server.requests().len(), 1, "{target}");
    }
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn a_redirect_with_credentials_in_its_address_is_refused() {
    let server = Server::http(|request| {
        let host = request.headers["host"].to_str().unwrap();
        Response::builder().status(302).header("location", format!("http://u:p@{host}/end")).body("".into()).unwrap()
    })
    .await;
    refusal(run(&executor(&local()), &get(&server), &toolset(), json!({})).await);
}

#[tokio::test]
async fn redirects_are_bounded() {
    let server = redirecting(302, |target| format!("{target}x")).await;
    let settings = Settings { max_redirects: 2, ..local() };
    assert!(refusal(run(&executor(&settings), &get(&server), &toolset(), json!({})).await).contains("more than 2"));
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_method_that_changes_data_is_not_redirected() {
    for status in [302, 307] {
        let server = redirecting(status, |_| "/end".into()).await;
        let operation = operation(Method::POST, &server.url(), "/start", Vec::new());
        let answer = answer(run(&executor(&local()), &operation, &toolset(), json!({})).await);
        assert_eq!((answer.status, answer.header("location")), (status, Some("/end")));
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn other_answers_with_a_location_are_answers() {
    let server =
        Server::http(|_| Response::builder().status(201).header("location", "/end").body("made".into()).unwrap()).await;
    assert_eq!(answer(run(&executor(&local()), &get(&server), &toolset(), json!({})).await).status, 201);
    let server = Server::http(|_| Response::builder().status(302).body("nowhere".into()).unwrap()).await;
    assert_eq!(answer(run(&executor(&local()), &get(&server), &toolset(), json!({})).await).status, 302);
}
