//! A client that is not part of the attack, and a probe of `/healthz`.

use std::time::{Duration, Instant};

use serde_json::json;

/// Pause between two requests.
const PAUSE: Duration = Duration::from_millis(20);

/// Timeout after which a response counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// Client that sends one request after the other.
pub(crate) struct Bystander {
    chat: String,
    health: String,
    client: reqwest::Client,
    probe: reqwest::Client,
}

/// Latencies of successful requests.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    sorted: Vec<Duration>,
    pub(crate) failures: usize,
}

impl Bystander {
    pub(crate) fn new(client_url: &str, operator_url: &str) -> Result<Self, String> {
        let built = |idle: usize| {
            let builder = reqwest::Client::builder().no_proxy().timeout(PATIENCE).pool_max_idle_per_host(idle);
            builder.tcp_nodelay(true).build().map_err(|error| error.to_string())
        };
        let (chat, health) = (format!("{client_url}/v1/chat/completions"), format!("{operator_url}/healthz"));
        // Each probe uses a new connection, as the probes of orchestrators do.
        Ok(Self { chat, health, client: built(1)?, probe: built(0)? })
    }

    /// Sends turns for `length`.
    pub(crate) async fn turns(&self, length: Duration) -> Latencies {
        let body = json!({"model": "soak", "seed": 0, "messages": [{"role": "user", "content": "What is the weather in Paris?"}]});
        let body = body.to_string();
        let request = || {
            let request = self.client.post(&self.chat).header("content-type", "application/json");
            request.body(body.clone())
        };
        repeated(length, request).await
    }

    /// Probes `/healthz` for `length`.
    pub(crate) async fn health(&self, length: Duration) -> Latencies {
        repeated(length, || self.probe.get(&self.health)).await
    }
}

async fn repeated(length: Duration, request: impl Fn() -> reqwest::RequestBuilder) -> Latencies {
    let started = Instant::now();
    let mut latencies = Latencies::default();
    while started.elapsed() < length {
        let sent = Instant::now();
        let is_answered = async { request().send().await?.error_for_status()?.bytes().await };
        match is_answered.await {
            Ok(_) => latencies.sorted.push(sent.elapsed()),
            Err(error) => {
                latencies.failures += 1;
                anstream::eprintln!("attack: another client: {error:?}");
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    latencies.sorted.sort_unstable();
    latencies
}

impl Latencies {
    pub(crate) fn count(&self) -> usize {
        self.sorted.len() + self.failures
    }

    pub(crate) fn worst(&self) -> Duration {
        self.sorted.last().copied().unwrap_or_default()
    }

    /// Returns the 99th percentile.
    pub(crate) fn p99(&self) -> Duration {
        let place = (self.sorted.len() * 99).div_ceil(100).saturating_sub(1);
        self.sorted.get(place).copied().unwrap_or_default()
    }
}
