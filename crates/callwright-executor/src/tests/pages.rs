//! Responses with a next page.

use http::Response;
use http_body_util::Full;

use super::server::{RecordedRequest, Server};
use super::*;
use callwright_types::outcome::NextPage;

/// Starts an API whose list has this many pages, and which announces the next page in a header field or in its body.
async fn listing(pages: u32, in_field: bool) -> Server {
    Server::http(move |request| {
        let page = number(request);
        let (mut response, mut body) = (Response::builder(), json!({"items": [format!("item {page}")]}));
        if page < pages {
            let link = format!("/list?size=1&page={}", page + 1);
            if in_field {
                response = response.header("link", format!("<{link}>; rel=\"next\""));
            } else {
                body["links"] = json!({"next": link});
            }
        }
        response.body(Full::from(body.to_string())).unwrap()
    })
    .await
}

fn number(request: &RecordedRequest) -> u32 {
    request.target.split_once("page=").map_or(1, |(_, page)| page.split('&').next().unwrap().parse().unwrap())
}

fn list(method: Method, server: &str) -> Operation {
    let bindings = vec![binding("size", Location::Query), binding("page", Location::Query)];
    operation(method, server, "/list", bindings)
}

async fn pages(server: &Server, max_pages: u32) -> ApiAnswer {
    let settings = Settings { max_pages, timeout_seconds: 20, ..local() };
    answer(run(&executor(&settings), &list(Method::GET, &server.url()), &toolset(), json!({"size": 1})).await)
}

fn announces(page: &str) -> Option<NextPage> {
    Some(NextPage { arguments: vec![("page".into(), page.into())] })
}

#[tokio::test]
async fn only_the_first_page_is_fetched_and_the_next_is_announced() {
    for in_field in [true, false] {
        let server = listing(3, in_field).await;
        let first = pages(&server, 1).await;
        assert_eq!((first.paging.later.len(), first.paging.next), (0, announces("2")));
        assert_eq!(server.requests().len(), 1);
        assert_eq!(pages(&listing(1, in_field).await, 1).await.paging, Default::default());
    }
}

#[tokio::test]
async fn the_configured_number_of_pages_is_fetched() {
    for in_field in [true, false] {
        for (max_pages, fetched, next) in [(2, 2, announces("3")), (3, 3, None), (10, 3, None)] {
            let server = listing(3, in_field).await;
            let answer = pages(&server, max_pages).await;
            assert_eq!((answer.paging.later.len() + 1, answer.paging.next), (fetched, next), "{max_pages}");
            assert_eq!(server.requests().len(), fetched);
            let last = String::from_utf8_lossy(answer.paging.later.last().unwrap()).into_owned();
            assert!(last.contains(&format!("item {fetched}")), "{last}");
        }
    }
}

#[tokio::test]
async fn pages_share_a_byte_limit_and_a_failed_page_is_announced() {
    let server = listing(100, true).await;
    let first = r#"{"items":["item 1"]}"#.len();
    let settings = Settings { max_pages: 100, max_answer_bytes: 3 * first + 5, timeout_seconds: 20, ..local() };
    let operation = list(Method::GET, &server.url());
    let bounded = answer(run(&executor(&settings), &operation, &toolset(), json!({"size": 1})).await);
    assert_eq!((bounded.paging.later.len(), bounded.truncated, bounded.paging.next), (2, false, announces("4")));

    let failing = Server::http(|request| match number(request) {
        1 => Response::builder().header("link", "</list?size=1&page=2>; rel=next").body(Full::from("[1]")).unwrap(),
        _ => Response::builder().status(500).body(Full::from("oops")).unwrap(),
    })
    .await;
    let broken = pages(&failing, 5).await;
    assert_eq!((broken.status, broken.paging.later.len(), broken.paging.next), (200, 0, announces("2")));
}

#[tokio::test]
async fn a_circular_list_ends() {
    let server = Server::http(|request| {
        let next = 3 - number(request).min(2);
        let link = format!("</list?size=1&page={next}>; rel=next");
        Response::builder().header("link", link).body(Full::from("[1]")).unwrap()
    })
    .await;
    let circle = pages(&server, 1_000).await;
    assert!(server.requests().len() <= 3 && circle.paging.next.is_none(), "{}", server.requests().len());
}

#[tokio::test]
async fn pages_are_fetched_only_from_the_same_origin_with_get() {
    let other = Server::plain().await;
    let link = format!("<{}/list?size=1&page=2>; rel=next", other.url());
    let server =
        Server::http(move |_| Response::builder().header("link", link.clone()).body(Full::from("[1]")).unwrap()).await;
    assert_eq!(pages(&server, 5).await.paging.next, announces("2"));
    let settings = Settings { max_pages: 5, ..local() };
    let post = list(Method::POST, &server.url());
    let posted = answer(run(&executor(&settings), &post, &toolset(), json!({"size": 1})).await);
    assert_eq!(posted.paging, Default::default());
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn every_page_is_requested_with_the_credential_and_reveals_none() {
    let server = Server::http(|request| {
        let (page, link) = (number(request), request.target.replace("page=1", "page=2"));
        let mut response = Response::builder();
        if page == 1 {
            response = response.header("link", format!("<{link}&extra=query-secret>; rel=next"));
        }
        response.body(Full::from(format!(r#"["{}"]"#, request.target))).unwrap()
    })
    .await;
    let scheme = SecurityScheme::ApiKey { location: Location::Query, name: "k".into() };
    let toolset = guarded(scheme, Some("query-secret"));
    let mut operation = list(Method::GET, &server.url());
    operation.bindings.push(binding("extra", Location::Query));
    operation.security = vec![vec!["key".into()]];
    let arguments = json!({"page": 1});
    for max_pages in [1, 2] {
        let executor = executor(&Settings { max_pages, ..local() });
        let outcome = run(&executor, &operation, &toolset, arguments.clone()).await;
        assert!(!format!("{outcome:?}").contains("query-secret"), "{outcome:?}");
        assert_eq!(answer(outcome).paging.later.len() + 1, max_pages as usize);
    }
    assert!(server.requests().iter().all(|request| request.target.matches("k=query-secret").count() == 1));
}
