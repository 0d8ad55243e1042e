//! The webhook of approvals: reports each request for approval and each decision to an address of the operator.
//!
//! Owns the settings `[approvals]`, the bounded queue, the signature and the retries. Turns never wait for it. Must not
//! be used by the store or the executor.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use jiff::Timestamp;
use reqwest::redirect::Policy;
use ring::hmac;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::sleep;
use url::Url;

use callwright_common::digest::hex;
use callwright_common::errors;
use callwright_common::tasks::supervised;
use callwright_store::ApprovalSummary;
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::WebhookEnd;
use callwright_types::{Secret, ids};

/// Maximum number of events that wait to be sent. Further ones are dropped and counted.
const QUEUE: usize = 1_000;

/// Maximum number of deliveries at a time, including those that wait for a retry.
const CONCURRENT: usize = 8;

/// Maximum number of attempts per event.
const ATTEMPTS: u32 = 6;

/// Delay before the second attempt; doubled for each further one.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// Maximum delay that the receiver may request.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Time limit of an attempt.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Settings of approvals that are not policy (`[approvals]`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Receiver of notifications.
    pub webhook: WebhookSettings,
}

/// Receiver of notifications (`[approvals.webhook]`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebhookSettings {
    /// HTTP(S) URL; empty: no notifications. It may contain a credential, so that it is not shown.
    pub url: Secret,
    /// Key of the signature.
    pub secret: Secret,
}

impl Settings {
    /// Returns the faults: the key below `approvals`, and the message.
    pub fn faults(&self) -> Vec<(&'static str, String)> {
        let webhook = &self.webhook;
        if webhook.url.is_empty() {
            return Vec::new();
        }
        let mut faults = Vec::new();
        if let Err(why) = parsed(webhook.url.expose()) {
            faults.push(("webhook.url", why));
        }
        if webhook.secret.expose().len() < MIN_SECRET {
            let why =
                format!("has fewer than {MIN_SECRET} characters; set a random text, which signs the notifications");
            faults.push(("webhook.secret", why));
        }
        faults
    }
}

/// Minimum length of the secret, in bytes.
const MIN_SECRET: usize = 16;

fn parsed(url: &str) -> Result<Url, String> {
    let advice = "write an address such as https://example.com/hooks/approvals";
    let url: Url = url.parse().map_err(|error| format!("is not a URL ({error}); {advice}"))?;
    let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
    if is_http { Ok(url) } else { Err(format!("is not an HTTP(S) URL; {advice}")) }
}

/// Kind of an event. The names are in the body and in a header field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalEvent {
    /// A call waits for approval.
    Requested,
    /// A person approved or denied the call.
    Decided,
}

impl ApprovalEvent {
    const fn label(self) -> &'static str {
        match self {
            Self::Requested => "approval.requested",
            Self::Decided => "approval.decided",
        }
    }
}

/// Notification that waits to be sent.
struct QueuedNotification {
    id: String,
    event: ApprovalEvent,
    body: Bytes,
}

/// Sends notifications in the background.
#[derive(Debug, Clone)]
pub struct Webhook {
    queue: mpsc::Sender<QueuedNotification>,
    metrics: Arc<Metrics>,
}

impl Webhook {
    /// Starts the task that sends; `None` if no receiver is configured. Requires a Tokio runtime.
    ///
    /// # Errors
    /// A message without secrets, if the address is invalid or the HTTP client cannot be built.
    pub fn start(settings: &Settings, metrics: Arc<Metrics>) -> Result<Option<Self>, String> {
        let WebhookSettings { url, secret } = &settings.webhook;
        if url.is_empty() {
            return Ok(None);
        }
        let url = parsed(url.expose()).map_err(|why| format!("`approvals.webhook.url` {why}"))?;
        let http = reqwest::Client::builder()
            .user_agent(concat!("callwright/", env!("CARGO_PKG_VERSION")))
            // A redirect would send the notification to another address.
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .timeout(TIMEOUT)
            .build()
            .map_err(|error| format!("`approvals.webhook`: {}", root_cause(&error)))?;
        let (queue, waiting) = mpsc::channel(QUEUE);
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
        let receiver = Receiver { http, url, key, metrics: metrics.clone() };
        let delivering = (Arc::new(receiver), waiting);
        tokio::spawn(supervised("webhook", delivering, async |(receiver, waiting): &mut _| {
            run(receiver, waiting).await
        }));
        Ok(Some(Self { queue, metrics }))
    }

    /// Queues a notification. It has the fields of lists, without the target of the call and without its arguments.
    pub fn notify(&self, event: ApprovalEvent, approval: &ApprovalSummary) {
        let approval = ApprovalSummary { target: None, ..approval.clone() };
        let body = json!({"event": event.label(), "approval": approval}).to_string();
        let queued = QueuedNotification { id: ids::replica_id(), event, body: body.into() };
        if self.queue.try_send(queued).is_err() {
            self.metrics.approval_webhooks.inc(WebhookEnd::Dropped);
        }
    }
}

/// Sends the queued notifications, several at a time: one that is retried does not delay the others.
async fn run(receiver: &Arc<Receiver>, waiting: &mut mpsc::Receiver<QueuedNotification>) {
    let permits = Arc::new(Semaphore::new(CONCURRENT));
    while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
        let Some(notification) = waiting.recv().await else { return };
        let receiver = Arc::clone(receiver);
        tokio::spawn(async move {
            receiver.deliver(&notification).await;
            drop(permit);
        });
    }
}

/// The operator's address.
struct Receiver {
    http: reqwest::Client,
    url: Url,
    key: hmac::Key,
    metrics: Arc<Metrics>,
}

/// Reason why a notification was not accepted.
struct Rejection {
    reason: String,
    is_passing: bool,
    after: Option<Duration>,
}

impl Receiver {
    async fn deliver(&self, notification: &QueuedNotification) {
        let mut wait = FIRST_WAIT;
        for attempt in 1..=ATTEMPTS {
            let Err(rejection) = self.send(notification).await else {
                return self.metrics.approval_webhooks.inc(WebhookEnd::Delivered);
            };
            if !rejection.is_passing || attempt == ATTEMPTS {
                // The URL may contain a credential.
                let host = self.url.host_str().unwrap_or_default();
                let reason = rejection.reason;
                tracing::warn!(host, attempt, reason, "a notification of an approval was not delivered");
                return self.metrics.approval_webhooks.inc(WebhookEnd::Failed);
            }
            sleep(rejection.after.unwrap_or(wait).min(MAX_WAIT)).await;
            wait *= 2;
        }
    }

    async fn send(&self, notification: &QueuedNotification) -> Result<(), Rejection> {
        let timestamp = Timestamp::now().as_second().to_string();
        let signature = signature(&self.key, &timestamp, &notification.body);
        let request = self
            .http
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("x-callwright-event", notification.event.label())
            .header("x-callwright-delivery", &notification.id)
            .header("x-callwright-timestamp", timestamp)
            .header("x-callwright-signature", format!("v1={signature}"))
            .body(notification.body.clone());
        let unreachable = |error| Rejection { reason: root_cause(&error), is_passing: true, after: None };
        let answer = request.send().await.map_err(unreachable)?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let is_passing = status.is_server_error()
            || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS);
        Err(Rejection { reason: format!("status {status}"), is_passing, after: after.map(Duration::from_secs) })
    }
}

/// Returns the HMAC-SHA256 of `TIMESTAMP.BODY` in hexadecimal digits (RFC 2104).
fn signature(key: &hmac::Key, timestamp: &str, body: &[u8]) -> String {
    let mut context = hmac::Context::with_key(key);
    for part in [timestamp.as_bytes(), b".", body] {
        context.update(part);
    }
    hex(context.sign().as_ref())
}

/// Returns the innermost cause; the outer ones repeat the URL.
fn root_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    errors::request_failure(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_the_hmac_of_time_and_body() {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"0123456789abcdef");
        // printf '1700000000.{}' | openssl dgst -sha256 -hmac 0123456789abcdef
        assert_eq!(
            signature(&key, "1700000000", b"{}"),
            "e4f8e2ecae2295b2ddb2f0b5584c8275e226c0ebe9b3b819e70156bb67122e3e"
        );
    }

    #[test]
    fn a_receiver_needs_an_http_url_and_a_secret() {
        let faults = |url: &str, secret: &str| {
            let webhook = WebhookSettings { url: url.into(), secret: secret.into() };
            let keys: Vec<_> = Settings { webhook }.faults().into_iter().map(|(key, _)| key).collect();
            keys
        };
        assert_eq!(faults("", ""), [""; 0]);
        assert_eq!(faults("https://a.example/x", "0123456789abcdef"), [""; 0]);
        assert_eq!(faults("https://a.example/x", "short"), ["webhook.secret"]);
        for url in ["a.example", "file:///x", "mailto:a@b"] {
            assert_eq!(faults(url, "0123456789abcdef"), ["webhook.url"], "{url}");
        }
    }
}
