//! Every other path below `/v1/`: passed to the default upstream untouched, both ways, and marked `unguarded`.

use std::io;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, Uri};
use axum::response::Response;
use futures_util::stream;

use crate::pipeline::PassThrough;
use crate::upstream;

use super::error;
use super::router::ClientSide;

const VERDICT: HeaderName = HeaderName::from_static("x-callwright-verdict");

/// Any method on `/v1/...`.
pub(super) async fn pass(State(side): State<ClientSide>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    // An echo would show a page's script the key that it cannot read (RFC 9110, section 9.3.8); a tunnel is not what anybody asks for here.
    if matches!(parts.method, Method::TRACE | Method::CONNECT) {
        return error::no_such_method(parts.method, parts.uri).await;
    }
    let request = PassThrough {
        method: parts.method,
        path_and_query: below_v1(&parts.uri).to_owned(),
        headers: parts.headers,
        body: forwarded(body),
    };
    let mut response = match side.pipeline.pass_through(request).await {
        Ok(answer) => respond(answer),
        Err(failure) => error::upstream_failure(&failure),
    };
    response.headers_mut().insert(VERDICT, HeaderValue::from_static("unguarded"));
    response
}

/// A request without a body must not get one: some servers refuse an empty chunked body on a `DELETE`.
fn forwarded(body: Body) -> upstream::RequestBody {
    if HttpBody::is_end_stream(&body) {
        return upstream::RequestBody::default();
    }
    upstream::RequestBody::wrap_stream(body.into_data_stream())
}

/// Path and query as the client wrote them, without `/v1`.
fn below_v1(uri: &Uri) -> &str {
    let whole = uri.path_and_query().map_or("/", |path| path.as_str());
    whole.strip_prefix("/v1").unwrap_or(whole)
}

fn respond(answer: upstream::Answer) -> Response {
    let (status, headers) = (answer.status, answer.headers.clone());
    let chunks = stream::unfold(answer, |mut answer| async move {
        let chunk = answer.next().await?;
        // The connection is cut, as the upstream's was: the client must not take half an answer for a whole one.
        Some((chunk.map_err(io::Error::other), answer))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
