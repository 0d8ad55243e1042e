//! `/console`: a page for operators, embedded in the binary. It uses `/admin` and `/metrics` like any other client.

use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use super::error;

/// The console's HTML page.
const PAGE: &str = include_str!("../../console/index.html");

/// Files of the page: name, media type, text.
const FILES: [(&str, &str, &str); 10] = [
    ("console.css", "text/css; charset=utf-8", include_str!("../../console/console.css")),
    ("console.js", "text/javascript; charset=utf-8", include_str!("../../console/console.js")),
    ("elements.js", "text/javascript; charset=utf-8", include_str!("../../console/elements.js")),
    ("api.js", "text/javascript; charset=utf-8", include_str!("../../console/api.js")),
    ("token.js", "text/javascript; charset=utf-8", include_str!("../../console/token.js")),
    ("turn.js", "text/javascript; charset=utf-8", include_str!("../../console/turn.js")),
    ("graph.js", "text/javascript; charset=utf-8", include_str!("../../console/graph.js")),
    ("policies.js", "text/javascript; charset=utf-8", include_str!("../../console/policies.js")),
    ("shadow.js", "text/javascript; charset=utf-8", include_str!("../../console/shadow.js")),
    ("tools.js", "text/javascript; charset=utf-8", include_str!("../../console/tools.js")),
];

/// Content Security Policy: no external resources, no inline scripts, no framing by other pages
/// (<https://www.w3.org/TR/CSP3/>).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// Handles `GET /console`.
pub(super) async fn page() -> Response {
    text("text/html; charset=utf-8", PAGE)
}

/// Handles `GET /console/{file}`.
pub(super) async fn file(Path(name): Path<String>) -> Response {
    match FILES.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, content)) => text(kind, content),
        None => {
            let message = format!("the console has no file `{name}`");
            error::invalid_request(StatusCode::NOT_FOUND, message, "not_found")
        }
    }
}

fn text(kind: &'static str, content: &'static str) -> Response {
    let mut response = Response::new(Body::from(content));
    let fields = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in fields {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
