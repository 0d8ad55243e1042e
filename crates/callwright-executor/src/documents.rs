//! Fetches OpenAPI documents from http and https URLs under the same rules as tool APIs: checked addresses, redirects
//! on the same host only, limits on size and time, no credentials.

use std::sync::Arc;
use std::thread;

use http::header::{ACCEPT, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;
use url::Url;

use super::address::SystemLookup;
use super::client::{ApiClient, RequestFailure};
use super::redirect::RedirectRule;
use super::request::ApiRequest;
use super::{BuildError, Settings};
use callwright_openapi::{Fetch, FetchBounds, FetchedFile, RemoteFile};
use callwright_types::outcome::ApiAnswer;

/// `Accept` header for documents. `*/*` admits servers that only send `text/plain`.
const ACCEPTED: &str =
    "application/json, application/yaml, application/openapi+json, application/openapi+yaml, */*;q=0.5";

/// Fetches documents for the catalog. Blocks the calling thread, and may be called from any thread.
pub struct DocumentFetcher {
    client: ApiClient,
    max_repeats: u32,
    /// Separate runtime: the calling thread may belong to another runtime, which must not block on itself. `None`
    /// only during drop.
    runtime: Option<Runtime>,
}

impl DocumentFetcher {
    /// Builds the fetcher.
    ///
    /// # Errors
    /// [`BuildError`] if an entry of `allowed_addresses` is invalid or the certificates cannot be read.
    pub fn build(settings: &Settings) -> Result<Self, BuildError> {
        let client = ApiClient::build(settings, Arc::new(SystemLookup))?;
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("document-fetch").enable_all().build();
        let runtime = Some(runtime.map_err(|error| BuildError::Client(error.to_string()))?);
        Ok(Self { client, max_repeats: settings.max_repeats, runtime })
    }

    /// Returns the file at `url`; `None` if it is unchanged according to the conditional `headers`.
    fn get(&self, url: &Url, headers: HeaderMap, bounds: FetchBounds) -> Result<Option<FetchedFile>, String> {
        let runtime = self.runtime.as_ref().ok_or("the fetcher has ended")?;
        let fetching = self.fetched(url, headers, bounds);
        thread::scope(|scope| {
            let fetcher = thread::Builder::new().name("document-fetch".to_owned());
            let fetcher = fetcher.spawn_scoped(scope, || runtime.block_on(fetching));
            let fetcher = fetcher.map_err(|error| format!("no thread can be started for the download: {error}"))?;
            fetcher.join().unwrap_or_else(|_| Err("the fetcher failed".to_owned()))
        })
    }

    async fn fetched(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        bounds: FetchBounds,
    ) -> Result<Option<FetchedFile>, String> {
        headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
        let request = ApiRequest { method: Method::GET, url: url.clone(), headers, body: None };
        let max_bytes = usize::try_from(bounds.bytes).unwrap_or(usize::MAX);
        let deadline = Instant::now() + bounds.time;
        let rule = RedirectRule::ReadsOnly;
        let received = self.client.exchange(&request, rule, self.max_repeats, max_bytes, deadline).await;
        let received = received.map_err(|failed| reason(failed, url, bounds))?;
        let etag = received.answer.header(ETAG.as_str()).map(str::to_owned);
        let last_modified = received.answer.header(LAST_MODIFIED.as_str()).map(str::to_owned);
        let ApiAnswer { status, body, truncated, .. } = received.answer;
        if status == StatusCode::NOT_MODIFIED.as_u16() {
            return Ok(None);
        }
        if status != StatusCode::OK.as_u16() {
            return Err(format!("its server answers with status {status}"));
        }
        if truncated && body.len() >= max_bytes {
            return Err(format!(
                "it is larger than {max_bytes} bytes; raise `limits.document_bytes` if this size is expected"
            ));
        }
        if truncated {
            return Err(format!(
                "the download stopped after {} bytes: the connection broke or the time limit expired",
                body.len()
            ));
        }
        Ok(Some(FetchedFile { url: received.url, bytes: body.to_vec(), etag, last_modified }))
    }
}

impl Fetch for DocumentFetcher {
    fn fetch(&self, url: &Url, bounds: FetchBounds) -> Result<FetchedFile, String> {
        self.get(url, HeaderMap::new(), bounds)?.ok_or_else(|| "its server answers with status 304".to_owned())
    }

    fn fetch_again(&self, file: &RemoteFile, bounds: FetchBounds) -> Result<Option<FetchedFile>, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in [(IF_NONE_MATCH, &file.etag), (IF_MODIFIED_SINCE, &file.last_modified)] {
            if let Some(value) = value.as_ref().and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        self.get(&file.url, headers, bounds)
    }
}

impl Drop for DocumentFetcher {
    fn drop(&mut self) {
        // A blocking shutdown is not allowed where this may be dropped: inside another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn reason(failed: RequestFailure, url: &Url, bounds: FetchBounds) -> String {
    let host = url.host_str().unwrap_or_default();
    match failed {
        RequestFailure::Refused(refusal) => refusal.message,
        RequestFailure::Unreachable(why) => format!("`{host}` cannot be connected to: {why}"),
        RequestFailure::Broken(why) => format!("the connection to `{host}` broke: {why}"),
        RequestFailure::Late => format!(
            "`{host}` did not answer within {} seconds; raise `limits.fetch_seconds` if it needs longer",
            bounds.time.as_secs()
        ),
    }
}
