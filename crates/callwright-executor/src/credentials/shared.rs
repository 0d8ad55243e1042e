//! Tokens that are shared between processes.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

use super::token_request::TokenRequest;
use callwright_store::{SharedToken, SharedTokens};
use callwright_types::Secret;

/// Token store that all processes share, if one is configured. If it fails, a new token is requested.
pub(super) struct SharedTokenStore(Option<Arc<dyn SharedTokens>>);

impl SharedTokenStore {
    pub(super) const fn new(tokens: Option<Arc<dyn SharedTokens>>) -> Self {
        Self(tokens)
    }

    /// Returns a shared token for this request and its remaining time of use.
    pub(super) async fn find(&self, request: &TokenRequest<'_>, deadline: Instant) -> Option<(Secret, Duration)> {
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
    pub(super) fn share(&self, request: &TokenRequest<'_>, secret: &Secret, use_for: Duration) {
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
