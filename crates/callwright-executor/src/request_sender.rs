//! Sends a request to its API with credentials. Retries with new credentials after a 401, and after a pause if the
//! API requests one.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{Method, StatusCode};
use tokio::time::Instant;

use super::client::{ApiClient, LinkedResponse, RequestFailure};
use super::credentials::{CallCredentials, CredentialProvider, Credentials};
use super::paging::{self, Parameter};
use super::redirect::{RedirectRule, address};
use super::request::ApiRequest;
use super::{BuildError, Settings, address::Lookup};
use callwright_store::SharedTokens;
use callwright_types::Outcome;
use callwright_types::outcome::{ApiAnswer, Paging};

/// Sends the requests of calls.
pub(super) struct RequestSender {
    client: Arc<ApiClient>,
    provider: CredentialProvider,
    settings: Settings,
}

/// Request with its credentials, ready to be sent. It owns its data, so a sent request is completed even if its turn
/// has been dropped.
pub(super) struct AuthorizedRequest {
    /// Request without credentials.
    pub(super) request: ApiRequest,
    pub(super) required: CallCredentials,
    credentials: Credentials,
    /// Query parameters of the operation that select the next page.
    parameters: Vec<Parameter>,
    deadline: Instant,
}

impl RequestSender {
    pub(super) fn build(
        settings: &Settings,
        lookup: Arc<dyn Lookup>,
        tokens: Option<Arc<dyn SharedTokens>>,
    ) -> Result<Self, BuildError> {
        let client = Arc::new(ApiClient::build(settings, lookup)?);
        Ok(Self { provider: CredentialProvider::new(Arc::clone(&client), tokens), client, settings: settings.clone() })
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(self.settings.timeout_seconds)
    }

    /// Obtains the credentials of a request. The timeout of the request starts now.
    ///
    /// # Errors
    /// The outcome of a call whose credentials are unavailable; nothing was sent.
    pub(super) async fn authorize(
        &self,
        request: ApiRequest,
        required: CallCredentials,
        parameters: Vec<Parameter>,
    ) -> Result<AuthorizedRequest, Outcome> {
        let deadline = Instant::now() + self.timeout();
        match self.provider.obtain(&required, deadline).await {
            Ok(credentials) => Ok(AuthorizedRequest { request, required, credentials, parameters, deadline }),
            Err(unavailable) => Err(unavailable.outcome(&required)),
        }
    }

    /// Sends the request and reads the response, from which secrets are removed. `repeatable`: whether a second
    /// identical request has no further effect.
    pub(super) async fn deliver(&self, authorized: &mut AuthorizedRequest, repeatable: bool) -> Outcome {
        let host = authorized.request.url.host_str().unwrap_or_default().to_owned();
        match self.send(authorized, repeatable, self.settings.max_answer_bytes).await {
            Ok(received) => {
                let mut answer = self.with_pages(authorized, received).await;
                authorized.credentials.hide_in(&mut answer);
                report_redirect(authorized, &answer);
                Outcome::Answered(answer)
            }
            Err(failed) => failed.outcome(&host, self.timeout()),
        }
    }

    /// Returns the response with the following pages that it announces, up to the configured maximum. A page that
    /// exceeds the time or size limit is reported to the model as the next page.
    async fn with_pages(&self, authorized: &mut AuthorizedRequest, mut received: LinkedResponse) -> ApiAnswer {
        if authorized.request.method != Method::GET || !is_whole_page(&received.answer) {
            return received.answer;
        }
        let mut bytes = received.answer.body.len();
        let mut later = Vec::new();
        let mut seen = vec![received.url.clone()];
        let mut next = paging::next(&received, &authorized.parameters);
        while let Some(url) = next.as_ref().and_then(|announced| announced.url.clone()) {
            if seen.contains(&url) {
                next = None;
                break;
            }
            if later.len() as u64 + 1 >= u64::from(self.settings.max_pages) {
                break;
            }
            seen.push(url.clone());
            authorized.request.url = url;
            let room = self.settings.max_answer_bytes.saturating_sub(bytes);
            match self.send(authorized, true, room).await {
                Ok(page) if is_whole_page(&page.answer) => {
                    next = paging::next(&page, &authorized.parameters);
                    bytes += page.answer.body.len();
                    later.push(page.answer.body);
                }
                _ => break,
            }
        }
        received.answer.paging = Paging { later, next: next.map(|announced| announced.page) };
        received.answer
    }

    /// Sends the request. Status 401 means that the request was not applied for lack of valid credentials (RFC 9110
    /// section 15.5.2). It is therefore retried with a new token or a changed file for any method: the execution
    /// intent is the same and still open.
    async fn send(
        &self,
        authorized: &mut AuthorizedRequest,
        repeatable: bool,
        max_bytes: usize,
    ) -> Result<LinkedResponse, RequestFailure> {
        let repeats = if repeatable { self.settings.max_repeats } else { 0 };
        let (mut renewed, mut waited) = (false, 0);
        loop {
            let mut ready = authorized.request.clone();
            authorized.credentials.apply(&mut ready).map_err(RequestFailure::Refused)?;
            let rule = RedirectRule::SameRequest;
            let received = self.client.exchange(&ready, rule, repeats, max_bytes, authorized.deadline).await?;
            if received.is_see_other {
                return Ok(received);
            }
            if received.answer.status == StatusCode::UNAUTHORIZED && !renewed {
                renewed = true;
                if let Some(credentials) =
                    self.provider.renew(&authorized.required, &authorized.credentials, authorized.deadline).await
                {
                    authorized.credentials = credentials;
                    continue;
                }
            }
            let may_wait = repeatable && waited < self.settings.retry_after_tries;
            match self.pause(&received, authorized.deadline).filter(|_| may_wait) {
                Some(pause) => {
                    waited += 1;
                    tokio::time::sleep(pause).await;
                }
                None => return Ok(received),
            }
        }
    }

    /// Returns the pause that the API requests, if the deadline permits it.
    fn pause(&self, received: &LinkedResponse, deadline: Instant) -> Option<Duration> {
        let left = deadline.saturating_duration_since(Instant::now());
        let most = Duration::from_secs(self.settings.retry_after_max_seconds);
        retry_delay(&received.answer, SystemTime::now()).filter(|pause| *pause <= most && *pause < left)
    }
}

/// Logs a redirect that was not followed: only the operator can change the address. Only the origin of the target is
/// logged, because path and query may hold arguments.
fn report_redirect(authorized: &AuthorizedRequest, answer: &ApiAnswer) {
    if !answer.redirects() {
        return;
    }
    let target = answer.header("location").and_then(|location| authorized.request.url.join(location).ok());
    let url = target.map(|mut target| {
        target.set_path("");
        address(&target)
    });
    let (toolset, tool) = (&authorized.required.toolset, &authorized.required.tool);
    tracing::warn!(
        toolset,
        tool,
        status = answer.status,
        url = url.as_deref().unwrap_or_default(),
        "the API redirects a call to an address that is not followed, so that it failed; set `base_url` of the toolset to the final address"
    );
}

fn is_whole_page(answer: &ApiAnswer) -> bool {
    (200..300).contains(&answer.status) && !answer.truncated
}

/// Returns the delay before the request is retried: seconds, or the time until a date in one of the three formats of
/// HTTP (RFC 9110 section 10.2.3). Returns `None` if the response requests no retry.
fn retry_delay(answer: &ApiAnswer, now: SystemTime) -> Option<Duration> {
    if !answer.requests_retry() {
        return None;
    }
    let value = answer.header("retry-after")?.trim();
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        return value.parse().ok().map(Duration::from_secs);
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(status: u16, value: &str) -> Option<u64> {
        let headers = vec![("retry-after".to_owned(), value.to_owned())];
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:30 GMT").unwrap();
        let answer =
            ApiAnswer { status, headers, body: Default::default(), truncated: false, paging: Default::default() };
        retry_delay(&answer, now).map(|delay| delay.as_secs())
    }

    #[test]
    fn seconds_and_the_three_forms_of_a_date_are_understood() {
        assert_eq!(waits(429, "120"), Some(120));
        assert_eq!(waits(503, " 0 "), Some(0));
        for date in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(waits(429, date), Some(7), "{date}");
        }
        assert_eq!(waits(429, "Sun, 06 Nov 1994 08:00:00 GMT"), Some(0), "a date that is over");
    }

    #[test]
    fn invalid_values_and_other_statuses_request_no_retry() {
        for value in ["", "soon", "-1", "1.5", "99999999999999999999999"] {
            assert_eq!(waits(429, value), None, "{value}");
        }
        for status in [200, 301, 400, 500, 502] {
            assert_eq!(waits(status, "1"), None, "{status}");
        }
    }
}
