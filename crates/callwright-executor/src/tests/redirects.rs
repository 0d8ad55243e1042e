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
async fn a_redirect_on_the_same_server_keeps_the_credential() {
    for status in [301, 302, 303, 307, 308] {
        let server = redirecting(status, |_| "/end".into()).await;
        let toolset = guarded(SecurityScheme::Bearer, Some("tok"));
        let answer = answer(run(&executor(&local()), &get(&server), &toolset, json!({})).await);
        assert_eq!((answer.status, &answer.body[..]), (200, &b"end"[..]));
        assert!(server.requests().iter().all(|request| request.headers["authorization"] == "Bearer tok"));
    }
}

#[tokio::test]
async fn a_redirect_to_another_server_is_refused_and_sends_nothing() {
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

const CHANGING: [Method; 4] = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

/// Returns an operation with a JSON body and a credential.
fn changing(method: &Method, server: &Server) -> Operation {
    let mut operation = operation(method.clone(), &server.url(), "/start", Vec::new());
    operation.security = vec![vec!["key".into()]];
    operation.body = Some(BodyBinding {
        media_type: "application/json".to_owned(),
        format: BodyFormat::Json,
        required: true,
        shape: BodyShape::Argument("body".to_owned()),
        content: Content::Value,
        encoding: Default::default(),
    });
    operation
}

async fn order(server: &Server, method: &Method) -> Outcome {
    let toolset = guarded(SecurityScheme::Bearer, Some("tok"));
    run(&executor(&local()), &changing(method, server), &toolset, json!({"body": {"a": 1}})).await
}

#[tokio::test]
async fn a_request_that_was_not_carried_out_is_repeated_at_its_target() {
    for (status, method) in [307, 308].into_iter().flat_map(|status| CHANGING.map(|method| (status, method))) {
        let server = redirecting(status, |_| "/end".into()).await;
        let answer = answer(order(&server, &method).await);
        assert_eq!((answer.status, &answer.body[..]), (200, &b"end"[..]));
        let requests = server.requests();
        assert_eq!(requests.iter().map(|request| &request.target[..]).collect::<Vec<_>>(), ["/start", "/end"]);
        for request in requests {
            assert_eq!((&request.method, &request.body[..]), (&method, &b"{\"a\":1}"[..]));
            assert_eq!(request.headers["content-type"], "application/json");
            assert_eq!(request.headers["authorization"], "Bearer tok");
        }
    }
}

#[tokio::test]
async fn a_result_elsewhere_is_read() {
    for method in CHANGING {
        let server = redirecting(303, |_| "/end".into()).await;
        let answer = answer(order(&server, &method).await);
        assert_eq!((answer.status, &answer.body[..]), (200, &b"end"[..]));
        let requests = server.requests();
        let [first, second] = requests.as_slice() else { panic!("{requests:?}") };
        assert_eq!((&first.method, &second.method), (&method, &Method::GET));
        assert!(second.body.is_empty() && !second.headers.contains_key("content-type"));
    }
}

#[tokio::test]
async fn a_carried_out_request_with_an_unreadable_result_is_sent_once() {
    for status in [401, 429, 503] {
        let server = Server::http(move |request| {
            if request.method == Method::GET {
                return Response::builder().status(status).header("retry-after", "0").body("".into()).unwrap();
            }
            Response::builder().status(303).header("location", "/end").body("".into()).unwrap()
        })
        .await;
        assert_eq!(answer(order(&server, &Method::PUT).await).status, status);
        assert_eq!(server.requests().len(), 2, "{status}");
    }
    let server = Server::raw_heads(|head, mut stream| async move {
        if head.starts_with("POST") {
            let answer = b"HTTP/1.1 303 See Other\r\nlocation: /end\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await;
        }
    })
    .await;
    let answer = answer(order(&server, &Method::POST).await);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/end")));
}

#[tokio::test]
async fn other_redirects_of_an_order_report_no_success() {
    let other = Server::plain().await;
    let elsewhere = format!("http://127.0.0.1:{}/end", other.port());
    let cases = [(301, "/end"), (302, "/end"), (305, "/end"), (303, &elsewhere), (307, &elsewhere), (308, "http://[")];
    for (status, location) in cases {
        let target = location.to_owned();
        let server = redirecting(status, move |_| target.clone()).await;
        for method in CHANGING {
            let outcome = order(&server, &method).await;
            assert_eq!((outcome.status(), outcome.label()), (Some(status), "redirected"), "{location}");
            assert_eq!(answer(outcome).header("location"), Some(location));
        }
        assert_eq!(server.requests().len(), CHANGING.len(), "{status}");
    }
    assert!(other.requests().is_empty());
    let server = Server::http(|_| Response::builder().status(307).body("nowhere".into()).unwrap()).await;
    assert_eq!(order(&server, &Method::POST).await.label(), "redirected");
}

#[tokio::test]
async fn redirects_of_an_order_are_bounded() {
    let server = redirecting(307, |target| format!("{target}x")).await;
    let outcome = order(&server, &Method::POST).await;
    assert_eq!((outcome.status(), outcome.label()), (Some(307), "redirected"));
    assert_eq!(server.requests().len(), Settings::default().max_redirects as usize + 1);
}

#[tokio::test]
async fn other_answers_with_a_location_are_answers() {
    let server =
        Server::http(|_| Response::builder().status(201).header("location", "/end").body("made".into()).unwrap()).await;
    assert_eq!(answer(run(&executor(&local()), &get(&server), &toolset(), json!({})).await).status, 201);
    let server = Server::http(|_| Response::builder().status(302).body("nowhere".into()).unwrap()).await;
    assert_eq!(answer(run(&executor(&local()), &get(&server), &toolset(), json!({})).await).status, 302);
}
