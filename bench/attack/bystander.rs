//! A client that is not part of the attack, and a probe of `/healthz`. Each has its own thread, so that the work of the
//! attack in this process does not count as latency.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::oneshot;

/// Pause between two requests.
const PAUSE: Duration = Duration::from_millis(20);

/// Timeout after which a response counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// Client that sends one request after the other.
pub(crate) struct Bystander {
    chat: String,
    health: String,
}

/// Latencies of successful requests.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    sorted: Vec<Duration>,
    pub(crate) failures: usize,
}

impl Bystander {
    pub(crate) fn new(client_url: &str, operator_url: &str) -> Self {
        Self { chat: format!("{client_url}/v1/chat/completions"), health: format!("{operator_url}/healthz") }
    }

    /// Sends turns for `length`.
    pub(crate) async fn turns(&self, length: Duration) -> Result<Latencies, String> {
        let url = self.chat.clone();
        let body = json!({"model": "soak", "seed": 0, "messages": [{"role": "user", "content": "What is the weather in Paris?"}]});
        let body = body.to_string();
        let request = move |client: &reqwest::Client| {
            client.post(&url).header("content-type", "application/json").body(body.clone())
        };
        in_own_thread(length, 1, request).await
    }

    /// Probes `/healthz` for `length`. Each probe uses a new connection, as the probes of orchestrators do.
    pub(crate) async fn health(&self, length: Duration) -> Result<Latencies, String> {
        let url = self.health.clone();
        in_own_thread(length, 0, move |client| client.get(&url)).await
    }
}

async fn in_own_thread(
    length: Duration,
    idle_connections: usize,
    request: impl Fn(&reqwest::Client) -> reqwest::RequestBuilder + Send + 'static,
) -> Result<Latencies, String> {
    let (sender, receiver) = oneshot::channel();
    let measure = move || -> Result<Latencies, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).tcp_nodelay(true);
        let client = client.pool_max_idle_per_host(idle_connections).build().map_err(|error| error.to_string())?;
        Ok(runtime.map_err(|error| error.to_string())?.block_on(repeated(length, || request(&client))))
    };
    thread::spawn(move || sender.send(measure()));
    receiver.await.map_err(|_| "the thread of another client ended".to_owned())?
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
