//! HTTP client: checked addresses, limited redirects, and retries only where they are harmless.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use http::header::{ACCEPT_ENCODING, LINK};
use reqwest::redirect::Policy;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};
use tower::util::AndThenLayer;
use url::Url;

use super::address::{AddressPolicy, AllowList, CheckedResolver, ForbiddenAddress, Lookup};
use super::commitment::commit;
use super::host_limits::HostLimits;
use super::redirect::{self, RedirectRule};
use super::refusal::{invalid, refuse};
use super::request::{ApiRequest, is_safe};
use super::{BuildError, Settings, answer};
use callwright_common::errors::request_failure;
use callwright_types::Outcome;
use callwright_types::Refusal;
use callwright_types::outcome::ApiAnswer;

/// `User-Agent` of all requests to tool APIs.
const USER_AGENT: &str = concat!("callwright/", env!("CARGO_PKG_VERSION"));

/// `Accept-Encoding` of all requests. `deflate` is read but not requested: servers disagree about its form.
const ACCEPTED_ENCODING: &str = "gzip";

/// HTTP client for all tool APIs.
pub(super) struct ApiClient {
    /// Client for safe methods.
    pooled: reqwest::Client,
    /// Client for all other methods. Each request gets its own connection: on a pooled connection that the server is
    /// closing, the client cannot determine whether the server read the request.
    fresh: reqwest::Client,
    addresses: Arc<AddressPolicy>,
    limits: HostLimits,
    max_redirects: u32,
}

/// Response with the data that is needed to follow its links.
pub(super) struct LinkedResponse {
    pub(super) answer: ApiAnswer,
    /// URL of the response, after redirects.
    pub(super) url: Url,
    /// Values of its `Link` fields.
    pub(super) links: Vec<String>,
    /// Whether it answers the `GET` to which a 303 led. The request itself was carried out before, so that the
    /// response is no reason to repeat it.
    pub(super) is_see_other: bool,
}

/// Reason why a request got no response.
#[derive(Debug)]
pub(super) enum RequestFailure {
    /// Not sent, because a rule forbids it.
    Refused(Refusal),
    /// Not sent, because no connection can be established.
    Unreachable(String),
    /// Sent, or possibly sent, and the connection broke.
    Broken(String),
    /// Sent, or possibly sent, and the deadline expired.
    Late,
}

impl ApiClient {
    pub(super) fn build(settings: &Settings, lookup: Arc<dyn Lookup>) -> Result<Self, BuildError> {
        let addresses = Arc::new(AddressPolicy::new(AllowList::parse(&settings.allowed_addresses)?));
        // reqwest panics if the process has no crypto provider; a second installation has no effect.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self {
            pooled: connections(settings, &addresses, &lookup, settings.pool_max_idle_per_host)?,
            fresh: connections(settings, &addresses, &lookup, 0)?,
            addresses,
            limits: HostLimits::new(settings.max_requests_per_host),
            max_redirects: settings.max_redirects,
        })
    }

    /// Whether the operator's list names this host, so that it may be called even if its address is not public.
    pub(super) fn allows_by_name(&self, url: &Url) -> bool {
        url.host().is_some_and(|host| self.addresses.names(host))
    }

    /// Sends a request and reads at most `max_bytes` of the response. It is retried up to `repeats` times if no byte
    /// of a response arrived; the caller decides whether a retry is harmless. Redirects are followed by `rule`; one
    /// that is not followed is the response of a request that is not `GET` or `HEAD`.
    pub(super) async fn exchange(
        &self,
        request: &ApiRequest,
        rule: RedirectRule,
        repeats: u32,
        max_bytes: usize,
        deadline: Instant,
    ) -> Result<LinkedResponse, RequestFailure> {
        let mut request = request.clone();
        let mut see_other = None;
        for hop in 0..=self.max_redirects {
            // The host's concurrency permit is held until the response is read.
            let (response, _place) = match self.send_patiently(&request, repeats, deadline).await {
                Ok(sent) => sent,
                Err(failure) => return see_other.ok_or(failure),
            };
            if response.status().is_informational() {
                // The client requested no protocol upgrade (RFC 9110 section 15.2.2), and the final response has not
                // arrived.
                return see_other.ok_or_else(|| {
                    RequestFailure::Broken(format!(
                        "the response has the informational status {}, which does not complete a request",
                        response.status()
                    ))
                });
            }
            let next = match redirect::next_request(&request, &response, rule) {
                Ok(next) => next,
                Err(refusal) => return see_other.ok_or(RequestFailure::Refused(refusal)),
            };
            let is_end = next.is_none() || hop == self.max_redirects && !redirect::reads_only(&request.method);
            let turns_to_get = next.as_ref().is_some_and(|next| next.method != request.method);
            if is_end || turns_to_get {
                let received = Self::receive(response, &request, see_other.is_some(), max_bytes, deadline).await;
                if is_end {
                    return Ok(received);
                }
                // The request was carried out. If the `GET` fails, this response is what is known of it.
                see_other = Some(received);
            }
            match next {
                Some(next) => request = next,
                None => break,
            }
        }
        see_other.ok_or_else(|| {
            RequestFailure::Refused(refuse!(
                RedirectNotAllowed, "the API redirects more than {} times", self.max_redirects
            ))
        })
    }

    async fn receive(
        response: reqwest::Response,
        request: &ApiRequest,
        is_see_other: bool,
        max_bytes: usize,
        deadline: Instant,
    ) -> LinkedResponse {
        let links = response.headers().get_all(LINK).iter().filter_map(|link| link.to_str().ok());
        let links = links.map(str::to_owned).collect();
        let answer = answer::receive(response, &request.method, max_bytes, deadline).await;
        LinkedResponse { answer, url: request.url.clone(), links, is_see_other }
    }

    async fn send_patiently(
        &self,
        request: &ApiRequest,
        repeats: u32,
        deadline: Instant,
    ) -> Result<(reqwest::Response, OwnedSemaphorePermit), RequestFailure> {
        let mut sent = None;
        for _ in 0..repeats {
            match self.send_once(request, deadline).await {
                Err(RequestFailure::Unreachable(_)) => {}
                Err(RequestFailure::Broken(why)) => sent = Some(why),
                other => return of_all(other, sent),
            }
        }
        of_all(self.send_once(request, deadline).await, sent)
    }

    async fn send_once(
        &self,
        request: &ApiRequest,
        deadline: Instant,
    ) -> Result<(reqwest::Response, OwnedSemaphorePermit), RequestFailure> {
        if let Some(host) = request.url.host() {
            self.addresses.check_literal(host).map_err(RequestFailure::Refused)?;
        }
        let Some(permit) = self.limits.enter(&request.url, deadline).await else {
            let why = "the limit `executor.max_requests_per_host` was reached during the whole wait";
            return Err(RequestFailure::Unreachable(why.to_owned()));
        };
        let client = if is_safe(&request.method) { &self.pooled } else { &self.fresh };
        let mut builder = client.request(request.method.clone(), request.url.clone()).headers(request.headers.clone());
        builder = builder.header(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED_ENCODING));
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        match timeout_at(deadline, builder.send()).await {
            Ok(sent) => Ok((sent.map_err(|error| failed(&error))?, permit)),
            Err(_) => Err(RequestFailure::Late),
        }
    }
}

/// Builds an HTTP client that connects to checked addresses only.
fn connections(
    settings: &Settings,
    addresses: &Arc<AddressPolicy>,
    lookup: &Arc<dyn Lookup>,
    pool_size: usize,
) -> Result<reqwest::Client, BuildError> {
    let resolver = CheckedResolver::new(Arc::clone(addresses), Arc::clone(lookup));
    let builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .no_proxy()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        // The client would report plain bytes that are labelled as compressed as an error (`decoding`).
        .no_gzip()
        .tcp_nodelay(true)
        .dns_resolver(Arc::new(resolver))
        .connect_timeout(Duration::from_secs(settings.connect_timeout_seconds))
        .pool_idle_timeout(Duration::from_secs(settings.pool_idle_timeout_seconds))
        .pool_max_idle_per_host(pool_size)
        .connector_layer(AndThenLayer::new(commit));
    let builder = certificates(&settings.ca_file)
        .map_err(|why| BuildError::CaFile { file: settings.ca_file.clone(), why })?
        .into_iter()
        .fold(builder, reqwest::ClientBuilder::add_root_certificate);
    builder.build().map_err(|error| BuildError::Client(request_failure(&error)))
}

/// Combines the results of several attempts. If the last attempt was not sent, an earlier one may still have been, so
/// its error is returned.
fn of_all<T>(last: Result<T, RequestFailure>, sent: Option<String>) -> Result<T, RequestFailure> {
    match (last, sent) {
        (Err(RequestFailure::Refused(_) | RequestFailure::Unreachable(_)), Some(why)) => {
            Err(RequestFailure::Broken(why))
        }
        (last, _) => last,
    }
}

impl RequestFailure {
    /// Converts the error into the outcome of a call to `host` with the timeout `timeout`.
    pub(super) fn outcome(self, host: &str, timeout: Duration) -> Outcome {
        match self {
            Self::Refused(refusal) => refusal.into(),
            Self::Unreachable(why) => {
                Outcome::Unreachable { reason: format!("`{host}` cannot be connected to: {why}") }
            }
            Self::Broken(why) => Outcome::Unknown {
                reason: format!("the connection to `{host}` broke after the request was sent: {why}"),
            },
            Self::Late => {
                Outcome::Unknown { reason: format!("`{host}` did not answer within {} seconds", timeout.as_secs()) }
            }
        }
    }
}

fn failed(error: &reqwest::Error) -> RequestFailure {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(ForbiddenAddress(refusal)) = cause.downcast_ref() {
            return RequestFailure::Refused(refusal.clone());
        }
        source = cause.source();
    }
    let why = request_failure(error);
    if error.is_builder() {
        return RequestFailure::Refused(invalid(format!("the request cannot be built: {why}")));
    }
    if error.is_connect() { RequestFailure::Unreachable(why) } else { RequestFailure::Broken(why) }
}

fn certificates(file: &str) -> Result<Vec<reqwest::Certificate>, String> {
    if file.is_empty() {
        return Ok(Vec::new());
    }
    let pem = std::fs::read(file).map_err(|error| error.to_string())?;
    let found = reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| error.to_string())?;
    if found.is_empty() { Err("it contains no certificate".to_owned()) } else { Ok(found) }
}
