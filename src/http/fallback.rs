//! Responses to requests without a route: 404 with a suggestion, and 405.

use axum::http::{Method, StatusCode, Uri};
use axum::response::Response;

use super::caller::Caller;
use super::error;
use super::path::{self, CHAT, MESSAGES, RESPONSES};
use callwright_common::text::nearest;

/// Paths of the OpenAI API and of the proxy that clients use.
const CLIENT_PATHS: [&str; 10] = [
    CHAT, "/v1/models", "/v1/embeddings", RESPONSES, MESSAGES, "/v1/completions", "/v1/images/generations",
    "/v1/audio/transcriptions", "/v1/audio/speech", "/v1/feedback",
];

/// Paths of the operator listener.
const OPERATOR_PATHS: [&str; 15] = [
    "/healthz", "/readyz", "/metrics", "/console", "/admin/traces", "/admin/approvals", "/admin/switch",
    "/admin/lessons", "/admin/procedures", "/admin/toolsets", "/admin/tools", "/admin/policies", "/admin/shadow",
    "/admin/upstreams", "/admin/keys",
];

/// Responds with 404 on the client listener, after authentication.
pub(super) async fn no_such_client_route(_: Caller, method: Method, uri: Uri) -> Response {
    no_such_route(&method, &uri, client_hint(uri.path()))
}

/// Responds with 405 on the client listener, after authentication.
pub(super) async fn no_such_client_method(_: Caller, method: Method, uri: Uri) -> Response {
    no_such_method(method, uri).await
}

/// Responds with 404 on the operator listener.
pub(super) async fn no_such_operator_route(method: Method, uri: Uri) -> Response {
    no_such_route(&method, &uri, operator_hint(uri.path()))
}

/// Creates the 404 response for an unknown path.
fn no_such_route(method: &Method, uri: &Uri, hint: Option<String>) -> Response {
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    let message = format!("unknown request URL: {method} {}{hint}", uri.path());
    error::invalid_request(StatusCode::NOT_FOUND, message, "unknown_url")
}

/// Responds with 405 to a method that the route does not support.
pub(super) async fn no_such_method(method: Method, uri: Uri) -> Response {
    let message = format!("{} does not support the method {method}", uri.path());
    error::invalid_request(StatusCode::METHOD_NOT_ALLOWED, message, "method_not_allowed")
}

/// Returns a suggestion for an unknown path of the client listener.
fn client_hint(unknown: &str) -> Option<String> {
    if unknown == "/" {
        return Some("this is the client side: use this URL with `/v1` as base URL of a client; the console is on the operator side".to_owned());
    }
    if is_operator_path(unknown) {
        return Some("it is a path of the operator side (`server.operator_listen`)".to_owned());
    }
    if let Some(meant) = path::disguised_turn(unknown) {
        return Some(did_you_mean(meant));
    }
    // A base URL without `/v1`, or with a prefix before it.
    let below = unknown.find("/v1/").map_or_else(|| format!("/v1{unknown}"), |start| unknown[start..].to_owned());
    let is_known = CLIENT_PATHS.iter().any(|known| below == *known || below.starts_with(&format!("{known}/")));
    if is_known {
        return Some(did_you_mean(&below));
    }
    nearest(&below, CLIENT_PATHS).map(did_you_mean)
}

/// Returns a suggestion for an unknown path of the operator listener.
fn operator_hint(unknown: &str) -> Option<String> {
    if unknown.starts_with("/v1/") || unknown.starts_with("/openai/") {
        return Some("it is a path of the client side (`server.listen`)".to_owned());
    }
    nearest(unknown, OPERATOR_PATHS).map(did_you_mean)
}

fn is_operator_path(path: &str) -> bool {
    OPERATOR_PATHS.iter().any(|known| path == *known || path.starts_with(&format!("{known}/")))
}

fn did_you_mean(path: &str) -> String {
    format!("did you mean `{path}`?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_paths_get_a_hint() {
        for (path, hint) in [
            ("/models", "`/v1/models`"),
            ("/api/v1/models/gpt", "`/v1/models/gpt`"),
            ("/api/chat/completions", "`/v1/chat/completions`"),
            ("/v2/chat/completions", "`/v1/chat/completions`"),
            ("/chat/completion", "`/v1/chat/completions`"),
            ("/admin/keys", "operator side"),
            ("/", "with `/v1` as base URL"),
        ] {
            let told = client_hint(path).unwrap_or_default();
            assert!(told.contains(hint), "{path}: {told}");
        }
        assert_eq!(client_hint("/zzz"), None);
        assert!(operator_hint("/v1/models").is_some_and(|hint| hint.contains("client side")));
        assert!(operator_hint("/admin/trace").is_some_and(|hint| hint.contains("`/admin/traces`")));
    }
}
