//! `/console`: a page for operators, embedded in the binary. It uses `/admin` and `/metrics` like any other client.

use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Redirect, Response};

use super::error;

/// The console's HTML page.
const PAGE: &str = include_str!("../../console/index.html");

const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Files of the page: name, media type, text.
const FILES: [(&str, &str, &str); 20] = [
    ("console.css", CSS, include_str!("../../console/console.css")),
    ("console.js", SCRIPT, include_str!("../../console/console.js")),
    ("elements.js", SCRIPT, include_str!("../../console/elements.js")),
    ("api.js", SCRIPT, include_str!("../../console/api.js")),
    ("token.js", SCRIPT, include_str!("../../console/token.js")),
    ("words.js", SCRIPT, include_str!("../../console/words.js")),
    ("range.js", SCRIPT, include_str!("../../console/range.js")),
    ("chart.js", SCRIPT, include_str!("../../console/chart.js")),
    ("graph.js", SCRIPT, include_str!("../../console/graph.js")),
    ("diff.js", SCRIPT, include_str!("../../console/diff.js")),
    ("overview.js", SCRIPT, include_str!("../../console/overview.js")),
    ("turns.js", SCRIPT, include_str!("../../console/turns.js")),
    ("turn.js", SCRIPT, include_str!("../../console/turn.js")),
    ("approvals.js", SCRIPT, include_str!("../../console/approvals.js")),
    ("keys.js", SCRIPT, include_str!("../../console/keys.js")),
    ("memory.js", SCRIPT, include_str!("../../console/memory.js")),
    ("policies.js", SCRIPT, include_str!("../../console/policies.js")),
    ("shadow.js", SCRIPT, include_str!("../../console/shadow.js")),
    ("switch.js", SCRIPT, include_str!("../../console/switch.js")),
    ("tools.js", SCRIPT, include_str!("../../console/tools.js")),
];

/// Content Security Policy: no external resources, no inline scripts, no framing by other pages
/// (<https://www.w3.org/TR/CSP3/>).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// Handles `GET /`: leads to the console.
pub(super) async fn redirect() -> Redirect {
    Redirect::temporary("/console")
}

/// Handles `GET /console`.
pub(super) async fn page() -> Response {
    embedded("text/html; charset=utf-8", PAGE)
}

/// Handles `GET /console/{file}`.
pub(super) async fn file(Path(name): Path<String>) -> Response {
    match FILES.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, content)) => embedded(kind, content),
        None => {
            let message = format!("the console has no file `{name}`");
            error::invalid_request(StatusCode::NOT_FOUND, message, "not_found")
        }
    }
}

fn embedded(kind: &'static str, content: &'static str) -> Response {
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
