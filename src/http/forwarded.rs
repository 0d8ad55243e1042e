//! Answers of upstreams as responses.

use std::io;

use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use futures_util::stream;

use crate::keys::RequestPermit;
use crate::pipeline::PassThrough;
use callwright_types::UpstreamFailure;
use callwright_upstream::{Answer, RequestBody};

use super::json::is_json;
use super::state::ClientSide;

/// Streams an answer; the request is in progress until its last byte.
pub(super) fn streamed(answer: Answer, request_permit: Option<RequestPermit>) -> Response {
    let (status, headers) = (answer.status, answer.headers.clone());
    let chunks = stream::unfold((answer, request_permit), |(mut answer, request_permit)| async move {
        let chunk = answer.next().await?;
        // An error closes the connection, as the upstream did: the client must not take a partial answer for a complete
        // one.
        Some((chunk.map_err(io::Error::other), (answer, request_permit)))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Whether the body of an answer is JSON that is not encoded. An error may have any form.
pub(super) fn is_readable(answer: &Answer) -> bool {
    answer.status.is_success() && is_json(&answer.headers) && !answer.headers.contains_key(CONTENT_ENCODING)
}

/// Requests something that is parsed here. The client's body is not sent, and therefore not its length either.
pub(super) async fn fetch(side: &ClientSide, path: String, mut headers: HeaderMap) -> Result<Answer, UpstreamFailure> {
    headers.remove(CONTENT_LENGTH);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let body = RequestBody::default();
    let request = PassThrough { method: Method::GET, path_and_query: path, headers, body, upstream: None };
    side.pipeline.pass_through(request).await
}

/// A complete answer.
pub(super) struct WholeAnswer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl WholeAnswer {
    /// Requests a list that may have to be parsed here.
    pub(super) async fn of_list(
        side: &ClientSide,
        path_and_query: String,
        headers: HeaderMap,
    ) -> Result<Self, UpstreamFailure> {
        let mut answer = fetch(side, path_and_query, headers).await?;
        // A body that is encoded anyway cannot be read here, and an error may have any form.
        let is_json = answer.status.is_success() && !answer.headers.contains_key(CONTENT_ENCODING);
        let body = if is_json { answer.whole_json().await? } else { answer.whole().await? };
        Ok(Self { status: answer.status, headers: answer.headers, body })
    }

    /// Reads an answer to its end.
    pub(super) async fn of(mut answer: Answer) -> Result<Self, UpstreamFailure> {
        let body = answer.whole().await?;
        Ok(Self { status: answer.status, headers: answer.headers, body })
    }

    pub(super) fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response.headers_mut().remove(CONTENT_LENGTH);
        response
    }
}
