//! Resolution of an operation's security requirements to the credentials that are sent.

use std::sync::Arc;

use tokio::time::Instant;

use super::credential_set::Credentials;
use super::requirement::CallCredentials;
use super::secret_file::secret_of;
use super::token::TokenCache;
use super::token_request::TokenRequest;
use super::unavailable::Unavailable;
use super::unavailable_log::UnavailableLog;
use crate::client::ApiClient;
use callwright_openapi::{Credential, SecretSource};
use callwright_store::SharedTokens;

/// Obtains credentials: fixed values, secrets from files, and tokens from token endpoints.
pub(crate) struct CredentialProvider {
    tokens: TokenCache,
    log: UnavailableLog,
}

impl CredentialProvider {
    pub(crate) fn new(client: Arc<ApiClient>, shared: Option<Arc<dyn SharedTokens>>) -> Self {
        Self { tokens: TokenCache::new(client, shared), log: UnavailableLog::default() }
    }

    /// Returns the credentials of the first available alternative; none if the operation requires none. Logs why there
    /// are none.
    ///
    /// # Errors
    /// The reason why the first alternative is unavailable, or that no credential is configured for any alternative.
    pub(crate) async fn obtain(
        &self,
        required: &CallCredentials,
        deadline: Instant,
    ) -> Result<Credentials, Unavailable> {
        let mut why = None;
        for position in 0..required.alternatives.len() {
            match self.alternative(required, position, None, deadline).await {
                Ok(credentials) => {
                    self.log.note_obtained(required, position);
                    return Ok(credentials);
                }
                Err(unavailable) => why = why.or(Some(unavailable)),
            }
        }
        match why {
            Some(unavailable) => {
                // The reason is that of the first alternative.
                self.log.note_unavailable(required, 0, &unavailable);
                Err(unavailable)
            }
            None if required.is_optional => Ok(Credentials::default()),
            // Logged by the caller, with its remedy.
            None => Err(Unavailable::lasting(required.lacking_description())),
        }
    }

    /// Returns new credentials instead of those that the API rejected. Returns `None` if there are none: fixed
    /// values do not change, and a token that was requested during this call would be the same again.
    pub(crate) async fn renew(
        &self,
        required: &CallCredentials,
        refused: &Credentials,
        deadline: Instant,
    ) -> Option<Credentials> {
        if !refused.may_be_renewed() {
            return None;
        }
        match self.alternative(required, refused.alternative, Some(refused), deadline).await {
            Ok(renewed) => (!renewed.sends_the_same_as(refused)).then_some(renewed),
            Err(unavailable) => {
                self.log.note_unavailable(required, refused.alternative, &unavailable);
                None
            }
        }
    }

    async fn alternative(
        &self,
        required: &CallCredentials,
        position: usize,
        refused: Option<&Credentials>,
        deadline: Instant,
    ) -> Result<Credentials, Unavailable> {
        let mut credentials = Credentials::for_alternative(position);
        for needed in required.alternatives.get(position).into_iter().flatten() {
            match &needed.credential {
                Credential::Fixed(source) => {
                    credentials.from_file |= matches!(source, SecretSource::File { .. });
                    let secret = secret_of(source, &needed.name, deadline).await?;
                    credentials.add(&needed.name, &needed.scheme, &secret)?;
                }
                Credential::Client(client) => {
                    let request = TokenRequest::new(required, needed, client)?;
                    let refused = refused.and_then(|refused| refused.token_number(&needed.name));
                    let lent = self.tokens.lend(&request, refused, deadline).await?;
                    credentials.add_token(&needed.name, &lent)?;
                }
            }
        }
        Ok(credentials)
    }
}
