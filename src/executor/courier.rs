//! Takes a request to its API with the credentials that it needs: again with new ones where the API refused the old, and again later
//! where it asks for that.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::StatusCode;
use tokio::time::Instant;

use super::client::{Client, Failed, Received};
use super::credentials::{Credentials, Keyring, Wanted};
use super::request::Request;
use super::retry_after::wait;
use super::{BuildError, Settings, address::Lookup};
use crate::domain::Outcome;

/// Sends requests for calls.
pub(super) struct Courier {
    client: Arc<Client>,
    keyring: Keyring,
    timeout: Duration,
    max_answer_bytes: usize,
    max_repeats: u32,
    retry_after_tries: u32,
    retry_after_max: Duration,
}

/// A request that may leave, and what it needs on its way. It owns everything: what was sent is finished even when its turn is gone.
pub(super) struct Parcel {
    /// The request without credentials.
    pub(super) request: Request,
    pub(super) wanted: Wanted,
    credentials: Credentials,
    deadline: Instant,
}

impl Courier {
    pub(super) fn build(settings: &Settings, lookup: Arc<dyn Lookup>) -> Result<Self, BuildError> {
        let client = Arc::new(Client::build(settings, lookup)?);
        Ok(Self {
            keyring: Keyring::new(Arc::clone(&client), settings),
            client,
            timeout: Duration::from_secs(settings.timeout_seconds),
            max_answer_bytes: settings.max_answer_bytes,
            max_repeats: settings.max_repeats,
            retry_after_tries: settings.retry_after_tries,
            retry_after_max: Duration::from_secs(settings.retry_after_max_seconds),
        })
    }

    /// Obtains the credentials of a request; its time begins now.
    ///
    /// # Errors
    /// The outcome of a call whose credentials cannot be had: nothing was sent.
    pub(super) async fn pack(&self, request: Request, wanted: Wanted) -> Result<Parcel, Outcome> {
        let deadline = Instant::now() + self.timeout;
        match self.keyring.obtain(&wanted, deadline).await {
            Ok(credentials) => Ok(Parcel { request, wanted, credentials, deadline }),
            Err(unavailable) => Err(unavailable.outcome(&wanted)),
        }
    }

    /// Sends the request and reads the answer, in which no secret is left. `repeatable`: a second request like it does no more than one.
    pub(super) async fn deliver(&self, parcel: &mut Parcel, repeatable: bool) -> Outcome {
        let host = parcel.request.url.host_str().unwrap_or_default().to_owned();
        match self.send(parcel, repeatable, self.max_answer_bytes).await {
            Ok(mut received) => {
                parcel.credentials.hide_in(&mut received.answer);
                Outcome::Answered(received.answer)
            }
            Err(failed) => failed.outcome(&host, self.timeout),
        }
    }

    /// A 401 says that the request was not applied, for want of valid credentials (RFC 9110 section 15.5.2). So it is repeated with a new
    /// token or a changed file whatever its method is: the intent to execute it is still the same one, and still open.
    async fn send(&self, parcel: &mut Parcel, repeatable: bool, max_bytes: usize) -> Result<Received, Failed> {
        let repeats = if repeatable { self.max_repeats } else { 0 };
        let (mut renewed, mut waited) = (false, 0);
        loop {
            let mut ready = parcel.request.clone();
            parcel.credentials.apply(&mut ready).map_err(Failed::Refused)?;
            let received = self.client.exchange(&ready, repeats, max_bytes, parcel.deadline).await?;
            if received.answer.status == StatusCode::UNAUTHORIZED && !renewed {
                renewed = true;
                if let Some(credentials) =
                    self.keyring.renew(&parcel.wanted, &parcel.credentials, parcel.deadline).await
                {
                    parcel.credentials = credentials;
                    continue;
                }
            }
            let may_wait = repeatable && waited < self.retry_after_tries;
            match self.pause(&received, parcel.deadline).filter(|_| may_wait) {
                Some(pause) => {
                    waited += 1;
                    tokio::time::sleep(pause).await;
                }
                None => {
                    parcel.wanted.note_refusal(received.answer.status);
                    return Ok(received);
                }
            }
        }
    }

    /// The pause that the API asks for, if there is time for it.
    fn pause(&self, received: &Received, deadline: Instant) -> Option<Duration> {
        let left = deadline.saturating_duration_since(Instant::now());
        wait(&received.answer, SystemTime::now()).filter(|pause| *pause <= self.retry_after_max && *pause < left)
    }
}
