//! Checks that upstreams are reachable and accept the configured key.

use std::time::Duration;

use futures_util::future::join_all;
use http::{HeaderMap, Method, StatusCode, header};
use jiff::Timestamp;

use super::finding::{DoctorFinding, fail, ok, warn};
use crate::app::own_listener;
use crate::config::Settings;
use callwright_types::UpstreamFailureKind;
use callwright_upstream::{RequestBody, Upstream, Upstreams};

/// Time limit. A provider that does not answer this small request in time cannot serve turns either.
const PATIENCE: Duration = Duration::from_secs(20);

/// Path that every provider serves without charge.
const QUESTION: &str = "/models";

/// Queries every upstream. Also returns the offset of the local clock from theirs, if an answer has a `Date` field.
pub(super) async fn examine(settings: &Settings) -> (Vec<DoctorFinding>, Option<jiff::SignedDuration>) {
    let upstreams = match Upstreams::build(&settings.upstreams, &settings.default_upstream) {
        Ok(upstreams) => upstreams,
        Err(error) => {
            return (vec![fail("upstreams", error.to_string(), "correct the key named")], None);
        }
    };
    if let Some(own) =
        own_listener(&settings.upstreams, [settings.server.listen, settings.server.operator_listen]).await
    {
        let fix = "set the address of the provider, with CALLWRIGHT_UPSTREAM_URL if OPENAI_BASE_URL names the proxy";
        return (vec![fail(format!("upstream {}", own.upstream), own.to_string(), fix)], None);
    }
    let checked = join_all(upstreams.iter().map(|upstream| check(upstream, &settings.default_upstream))).await;
    let clock = checked.iter().find_map(|(_, clock)| *clock);
    (checked.into_iter().map(|(finding, _)| finding).collect(), clock)
}

async fn check(upstream: &Upstream, default: &str) -> (DoctorFinding, Option<jiff::SignedDuration>) {
    let check = format!("upstream {}", upstream.name());
    let no_fields = HeaderMap::new();
    let question = upstream.forward(Method::GET, QUESTION, &no_fields, RequestBody::default());
    let base = &upstream.settings().base_url;
    match tokio::time::timeout(PATIENCE, question).await {
        Err(_) => {
            let message = format!("{base} has not answered for {} s", PATIENCE.as_secs());
            (fail(check, message, "contact the provider, or check proxies and firewalls on the path"), None)
        }
        Ok(Err(failure)) => {
            let fix = match failure.kind {
                UpstreamFailureKind::Connect => {
                    "check `base_url`, the network, the proxy variables, and `ca_file` where a certificate is refused"
                }
                _ => "the server does not answer with valid HTTP; check `base_url`",
            };
            (fail(check, format!("{base}: {}", failure.message), fix), None)
        }
        Ok(Ok(answer)) if answer.status == StatusCode::NOT_FOUND && !ends_with_version(base) => {
            (no_list_of_models(check, upstream).await, ahead(&answer.headers))
        }
        Ok(Ok(answer)) => (finding(check, upstream, default, answer.status), ahead(&answer.headers)),
    }
}

/// Whether a base URL ends with a version, such as `/v1` or `/v1beta`.
fn ends_with_version(base: &str) -> bool {
    let last = base.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// Judges a 404 of a base URL without a version: it usually lacks `/v1`.
async fn no_list_of_models(check: String, upstream: &Upstream) -> DoctorFinding {
    let base = upstream.settings().base_url.trim_end_matches('/');
    let key = format!("upstreams.{}.base_url", upstream.name());
    let no_fields = HeaderMap::new();
    let path = format!("/v1{QUESTION}");
    let question = upstream.forward(Method::GET, &path, &no_fields, RequestBody::default());
    let message = format!("{base} answers, but has no {QUESTION} (404)");
    match tokio::time::timeout(PATIENCE, question).await {
        Ok(Ok(answer)) if answer.status != StatusCode::NOT_FOUND => {
            fail(check, message, format!("did you mean `{base}/v1`? It is there: set it in `{key}`"))
        }
        _ => warn(
            check,
            message,
            format!("`{key}` usually ends in /v1; ignore this if the provider has no list of models"),
        ),
    }
}

/// Judges the status of the answer.
fn finding(check: String, upstream: &Upstream, default: &str, status: StatusCode) -> DoctorFinding {
    let settings = upstream.settings();
    let has_key = !settings.api_key.is_empty();
    let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let base = &settings.base_url;
    if is_refused && has_key {
        let message = format!("{base} refuses the key ({})", status.as_u16());
        return fail(check, message, format!("put a valid key into `upstreams.{}.api_key`", upstream.name()));
    }
    if is_refused && upstream.name() != default {
        let message =
            format!("{base} requires a key, and none is set: clients' keys are sent to the default upstream only");
        return fail(check, message, format!("set `upstreams.{}.api_key`", upstream.name()));
    }
    if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED {
        let message = format!("{base} is reachable, but answers {}", status.as_u16());
        return warn(check, message, "check the provider's status page");
    }
    let key = match (has_key, is_refused) {
        (true, _) => "with the configured key",
        (false, true) => "clients need their own keys",
        (false, false) => "without a key",
    };
    ok(check, format!("{base} answers, {key}"))
}

/// Returns the offset of the local clock from the `Date` field (RFC 9110, section 6.6.1).
fn ahead(headers: &HeaderMap) -> Option<jiff::SignedDuration> {
    let date = headers.get(header::DATE)?.to_str().ok()?;
    let theirs = Timestamp::try_from(httpdate::parse_http_date(date).ok()?).ok()?;
    Some(Timestamp::now().duration_since(theirs))
}

#[cfg(test)]
mod tests {
    use super::super::finding::CheckStatus;
    use super::*;
    use callwright_upstream as upstream;

    fn found(name: &str, key: &str, status: u16) -> CheckStatus {
        let settings = upstream::Settings { api_key: key.into(), ..upstream::Settings::default() };
        let all = [(name.to_owned(), settings), ("main".to_owned(), upstream::Settings::default())];
        let upstreams = Upstreams::build(&all.into_iter().rev().collect(), "main").unwrap();
        let status = StatusCode::from_u16(status).unwrap();
        finding("x".to_owned(), upstreams.get(name).unwrap(), "main", status).status
    }

    #[tokio::test]
    async fn a_refused_key_is_a_failure_unless_clients_bring_their_own() {
        assert_eq!(found("other", "sk-1", 200), CheckStatus::Ok);
        assert_eq!(found("other", "sk-1", 401), CheckStatus::Fail);
        assert_eq!(found("other", "", 401), CheckStatus::Fail);
        assert_eq!(found("main", "", 401), CheckStatus::Ok, "clients' keys are forwarded to the default upstream");
        assert_eq!(found("other", "sk-1", 404), CheckStatus::Ok, "some providers have no list of models");
        assert_eq!(found("other", "sk-1", 503), CheckStatus::Warn);
    }

    #[test]
    fn a_clock_is_compared_where_there_is_one() {
        let mut headers = HeaderMap::new();
        assert_eq!(ahead(&headers), None);
        headers.insert(header::DATE, "yesterday".parse().unwrap());
        assert_eq!(ahead(&headers), None);
        headers.insert(header::DATE, "Sun, 06 Nov 1994 08:49:37 GMT".parse().unwrap());
        assert!(ahead(&headers).unwrap() > jiff::SignedDuration::from_hours(24 * 365 * 20));
    }
}
