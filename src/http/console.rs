//! `/console`: a page for operators, embedded in the binary. It uses `/admin` and `/metrics` like any other client.

use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;

use super::api_operation::{ApiParts, for_everyone};
use super::api_schema::text;
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

/// Describes the operations.
pub(super) fn describe(api: &mut ApiParts) {
    let page = for_everyone("console", "Returns the console, a page for operators.").responds_as(
        200,
        "The page.",
        [("text/html", text().into())],
    );
    api.operation(Method::GET, "/console", page);
    let file = for_everyone("consoleFile", "Returns a file of the console.")
        .path("file", "Name of the file.")
        .responds_as(200, "The file.", [("text/css", text().into()), ("text/javascript", text().into())])
        .fails([400, 404]);
    api.operation(Method::GET, "/console/{file}", file);
}
