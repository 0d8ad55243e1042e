//! Authentication of operators.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::WWW_AUTHENTICATE;
use axum::middleware::Next;
use axum::response::Response;

use crate::keys::OperatorToken;

use super::{caller, error};

/// Rejects requests without the operator token, if one is configured.
pub(super) async fn authorized(State(token): State<Arc<OperatorToken>>, request: Request, next: Next) -> Response {
    if token.admits(caller::bearer(request.headers())) {
        return next.run(request).await;
    }
    let mut response = error::unauthorized(
        "this path requires `Authorization: Bearer TOKEN` with the token of `server.operator_token`",
        "invalid_operator_token",
    );
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}
