//! Header fields of clients that are forwarded to an upstream together with the operator's credential.
//!
//! A provider grants rights to a request by its key. A client's other header fields must not change whose request it is
//! (organisation, project, workspace), carry other credentials, or be trusted because the proxy sent them.

use http::HeaderName;

/// Forwarded names, sorted.
const FORWARDED: [&str; 34] = [
    "accept", "accept-encoding", "accept-language", "content-encoding", "content-language", "content-length",
    "content-type", "conversation_id", "http-referer", "idempotency-key", "if-match", "if-modified-since",
    "if-none-match", "if-range", "if-unmodified-since", "originator", "range", "session-id", "session_id", "thread-id",
    "traceparent", "tracestate", "user-agent", "version", "x-app", "x-claude-code-session-id", "x-client-request-id",
    "x-dashscope-cachecontrol", "x-dashscope-useragent", "x-goog-api-client", "x-openai-subagent", "x-request-id",
    "x-session-affinity", "x-title",
];

/// Beginnings of forwarded names: those of the official clients and providers.
const PREFIXES: [&str; 4] = ["x-stainless-", "anthropic-", "openai-", "x-codex-"];

/// Parts of names with such a beginning that select a customer's account.
const ACCOUNT_PARTS: [&str; 4] = ["organization", "project", "workspace", "account"];

/// Headers that identify a provider's customer. The client's are only sent to the default upstream, and only if it has
/// no key of its own.
pub(super) const CREDENTIALS: [&str; 7] =
    ["authorization", "api-key", "x-api-key", "x-goog-api-key", "openai-organization", "openai-project", "cookie"];

/// Prefix of headers between the client and this proxy.
const OWN_PREFIX: &str = "x-callwright-";

/// Names that the configuration cannot add, besides those of connections, because the proxy sets them.
const OWN: [&str; 3] = ["expect", "host", "via"];

/// Whether a header belongs to one connection, or is between the client and this proxy.
pub(super) fn is_of_connection(name: &str) -> bool {
    is_hop_by_hop(name) || name.starts_with(OWN_PREFIX)
}

/// Whether a header is hop-by-hop (RFC 9110, section 7.6.1, and others that proxies remove in practice). Compares by length
/// first, which excludes nearly all headers of a request.
fn is_hop_by_hop(name: &str) -> bool {
    match name.len() {
        2 => name == "te",
        7 => name == "trailer" || name == "upgrade",
        10 => name == "connection" || name == "keep-alive",
        16 => name == "proxy-connection",
        17 => name == "transfer-encoding",
        18 => name == "proxy-authenticate",
        19 => name == "proxy-authorization",
        _ => false,
    }
}

/// Whether a client's header field is forwarded with the operator's credential.
pub(super) fn is_forwarded(name: &str) -> bool {
    FORWARDED.binary_search(&name).is_ok()
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            && !ACCOUNT_PARTS.iter().any(|part| name.contains(part))
}

/// Parses the configured further names.
///
/// # Errors
/// Description of the first name that cannot be forwarded.
pub(super) fn further(names: &[String]) -> Result<Vec<HeaderName>, String> {
    names.iter().map(|name| further_name(name)).collect()
}

fn further_name(name: &str) -> Result<HeaderName, String> {
    let parsed: HeaderName =
        name.parse().map_err(|_| format!("`{name}` is not a header name (RFC 9110, section 5.1)"))?;
    if parsed.as_str() != name {
        return Err(format!("`{name}` must be in lower case: `{parsed}`"));
    }
    // The account of the operator may be shared by projects that clients select.
    if CREDENTIALS.contains(&name) && !name.starts_with("openai-") {
        return Err(format!("`{name}` carries a client's credential, which never accompanies the operator's"));
    }
    if is_of_connection(name) || OWN.contains(&name) {
        return Err(format!("`{name}` belongs to one connection or is set by the proxy"));
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_known_clients_are_forwarded() {
        assert!(FORWARDED.is_sorted());
        let names = [
            "accept",
            "user-agent",
            "x-title",
            "anthropic-beta",
            "anthropic-version",
            "anthropic-dangerous-direct-browser-access",
            "openai-beta",
            "x-stainless-retry-count",
            "x-codex-turn-state",
            "session_id",
        ];
        assert!(names.iter().all(|name| is_forwarded(name)));
    }

    #[test]
    fn fields_that_select_accounts_or_carry_trust_stay_behind() {
        let names = [
            "openai-organization", "openai-project", "anthropic-workspace-id", "anthropic-organization-id",
            "chatgpt-account-id", "x-amz-security-token", "x-goog-user-project", "x-forwarded-for", "forwarded",
            "content_length", "cookie", "authorization", "x-api-key", "accept-",
        ];
        assert_eq!(names.iter().find(|name| is_forwarded(name)), None);
    }

    #[test]
    fn fields_of_a_connection_are_known() {
        let names = [
            "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te",
            "trailer", "transfer-encoding", "upgrade", "x-callwright-policy",
        ];
        assert_eq!(names.iter().find(|name| !is_of_connection(name)), None);
        assert!(!["user-agent", "accept", "content-type", "x-request-id"].into_iter().any(is_of_connection));
    }

    #[test]
    fn further_names_are_checked() {
        let of = |name: &str| further(&[name.to_owned()]);
        assert_eq!(of("x-team").unwrap(), ["x-team"]);
        assert!(of("openai-project").is_ok());
        for name in
            ["X-Team", "no name", "", "cookie", "authorization", "connection", "te", "host", "x-callwright-debug"]
        {
            assert!(of(name).unwrap_err().contains(&format!("`{name}`")), "{name}");
        }
    }
}
