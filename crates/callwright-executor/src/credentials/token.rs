//! Token cache: tokens are kept until shortly before they expire, and shared between processes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

use super::secret_file::secret_of;
use super::token_request::{TokenKey, TokenRequest};
use super::unavailable::Unavailable;
use crate::client::{ApiClient, RequestFailure};
use crate::redirect::RedirectRule;
use callwright_common::limits::SHORT_BODY_BYTES;
use callwright_store::{SharedToken, SharedTokens};
use callwright_types::Secret;
use callwright_types::outcome::ApiAnswer;

/// Time before its expiry at which a token is no longer used, so that it does not expire on its way. A token with less
/// than twice that lifetime is used for half of its lifetime.
const REFRESH_MARGIN: Duration = Duration::from_secs(60);

/// Assumed lifetime of a token whose response has no `expires_in` (RFC 6749 section 5.1 only recommends it). The
/// value is short: an expired token costs a call a second request, while an early renewal only costs an occasional
/// request.
const ASSUMED_LIFETIME: Duration = Duration::from_secs(300);

/// Upper limit for token lifetimes.
const MAX_LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// Error codes of a token endpoint (RFC 6749 section 5.2, RFC 8707 section 2). Any other text could contain what was
/// sent.
const ERROR_CODES: [&str; 7] = [
    "invalid_client", "invalid_grant", "invalid_request", "invalid_scope", "invalid_target", "unauthorized_client",
    "unsupported_grant_type",
];

/// Tokens of all toolsets.
pub(super) struct TokenCache {
    client: Arc<ApiClient>,
    shared: SharedTokenStore,
    slots: Mutex<HashMap<TokenKey, Arc<tokio::sync::Mutex<TokenSlot>>>>,
    next_number: AtomicU64,
}

/// State of one key. It is locked while a token is requested, so that one request serves all waiting calls.
enum TokenSlot {
    Empty,
    Token(CachedToken),
    Failed { at: Instant, why: Unavailable },
}

#[derive(Clone)]
struct CachedToken {
    secret: Secret,
    number: u64,
    use_until: Instant,
}

pub(super) struct CallToken {
    pub(super) secret: Secret,
    /// Distinguishes this token from its replacement.
    pub(super) number: u64,
    /// Whether this call requested the token.
    pub(super) is_new: bool,
}

impl TokenCache {
    pub(super) fn new(client: Arc<ApiClient>, shared: Option<Arc<dyn SharedTokens>>) -> Self {
        Self { client, shared: SharedTokenStore(shared), slots: Mutex::default(), next_number: AtomicU64::new(0) }
    }

    /// Returns a token: the cached one unless it expires soon or is the one that the API rejected (`refused`), then
    /// one that another process shared, then a new one. Calls that need the same token wait for one request and also
    /// share its failure.
    pub(super) async fn lend(
        &self,
        request: &TokenRequest<'_>,
        refused: Option<u64>,
        deadline: Instant,
    ) -> Result<CallToken, Unavailable> {
        let came = Instant::now();
        let slot = self.slot(&request.key);
        let mut slot = timeout_at(deadline, slot.lock()).await.map_err(|_| {
            Unavailable::passing(format!("the token endpoint of `{}` did not answer in time", request.scheme))
        })?;
        match &*slot {
            TokenSlot::Token(token) if refused != Some(token.number) && Instant::now() < token.use_until => {
                return Ok(CallToken { secret: token.secret.clone(), number: token.number, is_new: false });
            }
            TokenSlot::Failed { at, why } if *at >= came => return Err(why.clone()),
            _ => {}
        }
        // The shared token may be the one that the API rejected.
        if refused.is_none()
            && let Some((secret, use_for)) = self.shared.find(request, deadline).await
        {
            let token = self.numbered(secret, Instant::now() + use_for.min(MAX_LIFETIME));
            let lent = CallToken { secret: token.secret.clone(), number: token.number, is_new: false };
            *slot = TokenSlot::Token(token);
            return Ok(lent);
        }
        match self.request_token(request, deadline).await {
            Ok(token) => {
                let use_for = token.use_until.saturating_duration_since(Instant::now());
                self.shared.share(request, &token.secret, use_for);
                let lent = CallToken { secret: token.secret.clone(), number: token.number, is_new: true };
                *slot = TokenSlot::Token(token);
                Ok(lent)
            }
            Err(why) => {
                *slot = TokenSlot::Failed { at: Instant::now(), why: why.clone() };
                Err(why)
            }
        }
    }

    fn slot(&self, key: &TokenKey) -> Arc<tokio::sync::Mutex<TokenSlot>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.entry(key.clone()).or_insert_with(|| Arc::new(tokio::sync::Mutex::new(TokenSlot::Empty)));
        Arc::clone(slot)
    }

    async fn request_token(&self, request: &TokenRequest<'_>, deadline: Instant) -> Result<CachedToken, Unavailable> {
        let endpoint = &request.key.endpoint;
        let host = endpoint.host_str().unwrap_or_default();
        if endpoint.scheme() != "https" && !self.client.allows_by_name(endpoint) {
            return Err(Unavailable::lasting(format!(
                "the token endpoint of `{}` is not HTTPS, so the client's secret is not sent to it; use an https `token_url`, or name \
                 `{host}` in `executor.allowed_addresses`",
                request.scheme
            )));
        }
        let secret = secret_of(&request.client.client_secret, request.scheme, deadline).await?;
        let requested_at = Instant::now();
        let ready = request.with_secret(&secret)?;
        let received = self.client.exchange(&ready, RedirectRule::ReadsOnly, 0, SHORT_BODY_BYTES, deadline).await;
        let answer = received.map_err(|failed| unanswered(host, failed))?.answer;
        let (secret, lifetime) = token_in(&answer).map_err(|why| Unavailable {
            detail: format!("the token endpoint `{host}` of `{}` {why}", request.scheme),
            is_passing: answer.status == 429 || answer.status >= 500,
        })?;
        // A short-lived token is used for half of its lifetime; otherwise it would never be used.
        let use_for = lifetime.saturating_sub(REFRESH_MARGIN).max(lifetime / 2);
        Ok(self.numbered(secret, requested_at + use_for))
    }

    fn numbered(&self, secret: Secret, use_until: Instant) -> CachedToken {
        CachedToken { secret, number: self.next_number.fetch_add(1, Ordering::Relaxed), use_until }
    }
}

/// Token store that all processes share, if one is configured. If it fails, a new token is requested.
struct SharedTokenStore(Option<Arc<dyn SharedTokens>>);

impl SharedTokenStore {
    /// Returns a shared token for this request and its remaining time of use.
    async fn find(&self, request: &TokenRequest<'_>, deadline: Instant) -> Option<(Secret, Duration)> {
        let tokens = self.0.as_ref()?;
        match timeout_at(deadline, tokens.token(&request.name())).await {
            Ok(Ok(token)) => {
                let SharedToken { secret, use_until } = token?;
                let left = Duration::try_from(use_until.duration_since(Timestamp::now())).ok()?;
                (!left.is_zero()).then_some((secret, left))
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, scheme = request.scheme, "no shared token is available; requesting a new one");
                None
            }
            Err(_) => None,
        }
    }

    /// Publishes a token that is usable for `use_for` to other processes. Runs in the background.
    fn share(&self, request: &TokenRequest<'_>, secret: &Secret, use_for: Duration) {
        let Some(tokens) = self.0.clone() else { return };
        let (name, scheme) = (request.name(), request.scheme.to_owned());
        let use_for = SignedDuration::try_from(use_for).unwrap_or(SignedDuration::ZERO);
        let use_until = Timestamp::now().saturating_add(use_for).unwrap_or(Timestamp::MAX);
        let token = SharedToken { secret: secret.clone(), use_until };
        let share = async move {
            if let Err(error) = tokens.share(&name, &token).await {
                tracing::debug!(%error, scheme, "a token cannot be shared");
            }
        };
        tokio::spawn(share.in_current_span());
    }
}

fn unanswered(host: &str, failed: RequestFailure) -> Unavailable {
    match failed {
        RequestFailure::Refused(refusal) => {
            Unavailable::lasting(format!("the token endpoint may not be called: {refusal}"))
        }
        RequestFailure::Unreachable(why) | RequestFailure::Broken(why) => {
            Unavailable::passing(format!("the token endpoint `{host}` returned no response: {why}"))
        }
        RequestFailure::Late => Unavailable::passing(format!("the token endpoint `{host}` did not answer in time")),
    }
}

/// Returns the token of a successful response and its lifetime (RFC 6749 section 5.1).
fn token_in(answer: &ApiAnswer) -> Result<(Secret, Duration), String> {
    let body: Map<String, Value> = serde_json::from_slice(&answer.body).unwrap_or_default();
    if !(200..300).contains(&answer.status) {
        let code = body.get("error").and_then(Value::as_str).filter(|code| ERROR_CODES.contains(code));
        let code = code.map(|code| format!(" with `{code}`")).unwrap_or_default();
        return Err(format!("answered with status {}{code}", answer.status));
    }
    let Some(token) = body.get("access_token").and_then(Value::as_str).filter(|token| !token.is_empty()) else {
        return Err("answered without `access_token`".to_owned());
    };
    let kind = body.get("token_type").and_then(Value::as_str).unwrap_or("bearer");
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err("returned a token that is not a bearer token".to_owned());
    }
    // Some servers send the number as a string.
    let seconds = match body.get("expires_in") {
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(number) => number.as_f64(),
        None => None,
    };
    let lifetime = seconds.and_then(|seconds: f64| Duration::try_from_secs_f64(seconds).ok());
    Ok((Secret::new(token), lifetime.unwrap_or(ASSUMED_LIFETIME).min(MAX_LIFETIME)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(status: u16, body: &str) -> Result<(String, u64), String> {
        let answer = ApiAnswer::new(status, body.to_owned());
        token_in(&answer).map(|(secret, lifetime)| (secret.expose().to_owned(), lifetime.as_secs()))
    }

    #[test]
    fn a_token_and_its_life_are_read() {
        let token = |body: &str| parse(200, body).unwrap();
        assert_eq!(token(r#"{"access_token":"t","token_type":"Bearer","expires_in":60}"#), ("t".into(), 60));
        assert_eq!(token(r#"{"access_token":"t","expires_in":"90"}"#), ("t".into(), 90));
        for unknown in ["", r#","expires_in":null"#, r#","expires_in":-5"#, r#","expires_in":"soon""#] {
            assert_eq!(token(&format!(r#"{{"access_token":"t"{unknown}}}"#)), ("t".into(), 300), "{unknown}");
        }
        assert_eq!(token(r#"{"access_token":"t","expires_in":1e300}"#).1, 300, "no number of seconds at all");
        assert_eq!(token(r#"{"access_token":"t","expires_in":99999999}"#).1, 86_400);
    }

    #[test]
    fn invalid_token_responses_report_standard_codes_only() {
        assert!(parse(401, r#"{"error":"invalid_client"}"#).unwrap_err().contains("401 with `invalid_client`"));
        let echoed = parse(400, r#"{"error":"bad secret canary","access_token":"canary"}"#).unwrap_err();
        assert_eq!(echoed, "answered with status 400");
        for body in ["", "<html>", "[]", r#"{"access_token":""}"#, r#"{"access_token":5}"#] {
            assert!(parse(200, body).unwrap_err().contains("access_token"), "{body}");
        }
        assert!(parse(200, r#"{"access_token":"t","token_type":"mac"}"#).unwrap_err().contains("not a bearer"));
        assert!(parse(302, "").unwrap_err().contains("302"));
    }
}
