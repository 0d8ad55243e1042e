//! Tokens that other processes got, and that the next one may use.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

use super::token_request::TokenRequest;
use callwright_store::{SharedToken, SharedTokens};
use callwright_types::Secret;

/// The tokens of all processes, where they share any. Whatever is wrong with them, a token is asked for instead.
pub(super) struct Shared(Option<Arc<dyn SharedTokens>>);

impl Shared {
    pub(super) const fn new(tokens: Option<Arc<dyn SharedTokens>>) -> Self {
        Self(tokens)
    }

    /// A token for this request, and how long it may still be used.
    pub(super) async fn find(&self, request: &TokenRequest<'_>, deadline: Instant) -> Option<(Secret, Duration)> {
        let tokens = self.0.as_ref()?;
        match timeout_at(deadline, tokens.token(&request.name())).await {
            Ok(Ok(token)) => {
                let SharedToken { secret, use_until } = token?;
                let left = Duration::try_from(use_until.duration_since(Timestamp::now())).ok()?;
                (!left.is_zero()).then_some((secret, left))
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, scheme = request.scheme, "no shared token can be had; one is asked for");
                None
            }
            Err(_) => None,
        }
    }

    /// Lets others have a token that may be used for so long. Nobody waits for it.
    pub(super) fn share(&self, request: &TokenRequest<'_>, secret: &Secret, use_for: Duration) {
        let Some(tokens) = self.0.clone() else { return };
        let (name, scheme) = (request.name(), request.scheme.to_owned());
        let use_for = SignedDuration::try_from(use_for).unwrap_or(SignedDuration::ZERO);
        let use_until = Timestamp::now().saturating_add(use_for).unwrap_or(Timestamp::MAX);
        let token = SharedToken { secret: secret.clone(), use_until };
        let share = async move {
            if let Err(error) = tokens.share(&name, &token).await {
                tracing::debug!(%error, scheme, "a token is not shared");
            }
        };
        tokio::spawn(share.in_current_span());
    }
}
