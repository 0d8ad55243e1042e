//! Suggestions for unknown paths.

use super::path::{self, CHAT};
use callwright_common::nearest::nearest;

/// Paths of the OpenAI API and of the proxy that clients use.
const CLIENT_PATHS: [&str; 9] = [
    CHAT,
    "/v1/models",
    "/v1/embeddings",
    "/v1/responses",
    "/v1/completions",
    "/v1/images/generations",
    "/v1/audio/transcriptions",
    "/v1/audio/speech",
    "/v1/feedback",
];

/// Paths of the operator listener.
const OPERATOR_PATHS: [&str; 15] = [
    "/healthz",
    "/readyz",
    "/metrics",
    "/console",
    "/admin/traces",
    "/admin/approvals",
    "/admin/switch",
    "/admin/lessons",
    "/admin/procedures",
    "/admin/toolsets",
    "/admin/tools",
    "/admin/policies",
    "/admin/shadow",
    "/admin/upstreams",
    "/admin/keys",
];

/// Returns a suggestion for an unknown path of the client listener.
pub(super) fn of_client_path(unknown: &str) -> Option<String> {
    if is_operator_path(unknown) {
        return Some("it is a path of the operator side (`server.operator_listen`)".to_owned());
    }
    if path::is_disguised_chat(unknown) {
        return Some(did_you_mean(CHAT));
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
pub(super) fn of_operator_path(unknown: &str) -> Option<String> {
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
        ] {
            let told = of_client_path(path).unwrap_or_default();
            assert!(told.contains(hint), "{path}: {told}");
        }
        assert_eq!(of_client_path("/zzz"), None);
        assert!(of_operator_path("/v1/models").is_some_and(|hint| hint.contains("client side")));
        assert!(of_operator_path("/admin/trace").is_some_and(|hint| hint.contains("`/admin/traces`")));
    }
}
