//! Clients: first at maximum speed, then at a given rate. Every response is checked.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::upstream::{Scene, is_broken};

/// One in this many clients disconnects before the end of its stream.
const LEAVES_ONE_OF: u64 = 101;

/// Timeout after which a response counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// Clients of one proxy.
pub(crate) struct Load {
    url: String,
    connections: usize,
    client: reqwest::Client,
}

/// Results of the requests.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    /// Number of correct responses.
    pub(crate) right: u64,
    /// Number of requests whose upstream response was broken.
    pub(crate) broken: u64,
    /// Number of requests whose client disconnected.
    pub(crate) left: u64,
    /// Descriptions of all other results.
    pub(crate) unexplained: Vec<String>,
}

enum Came {
    Right,
    Broken,
    Left,
}

impl Load {
    pub(crate) fn new(url: &str, connections: usize) -> Result<Self, String> {
        // The proxy installs a provider in its own process; this process has none yet.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).pool_max_idle_per_host(connections);
        let client = client.tcp_nodelay(true).build().map_err(|error| error.to_string())?;
        Ok(Self { url: format!("{url}/v1/chat/completions"), connections, client })
    }

    /// Returns the requests per second if each connection sends the next request after each response. No response is
    /// broken.
    pub(crate) async fn maximum(&self, length: Duration) -> Result<f64, String> {
        let (next, ends) = (AtomicU64::new(0), AtomicBool::new(false));
        let started = Instant::now();
        let worker = async || {
            let mut sent = 0_u32;
            while !ends.load(Ordering::Relaxed) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if !is_broken(number) {
                    self.one(number).await?;
                    sent += 1;
                }
                if started.elapsed() > length {
                    ends.store(true, Ordering::Relaxed);
                }
            }
            Ok::<_, String>(sent)
        };
        let sent = futures_util::future::try_join_all((0..self.connections).map(|_| worker())).await?;
        Ok(f64::from(sent.iter().sum::<u32>()) / started.elapsed().as_secs_f64())
    }

    /// Sends requests at `rate` for `length`.
    pub(crate) async fn run(&self, rate: f64, length: Duration) -> Counts {
        let counts = Arc::new(Mutex::new(Counts::default()));
        let next = AtomicU64::new(0);
        let started = Instant::now();
        let worker = async || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                #[expect(clippy::cast_precision_loss, reason = "a time of sending, to the microsecond")]
                let due = Duration::from_secs_f64(number as f64 / rate);
                // Fewer requests are sent if the machine cannot sustain the rate.
                if due > length || started.elapsed() > length {
                    return;
                }
                tokio::time::sleep_until((started + due).into()).await;
                let came = self.one(number).await;
                let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                counts.sent += 1;
                match came {
                    Ok(Came::Right) => counts.right += 1,
                    Ok(Came::Broken) => counts.broken += 1,
                    Ok(Came::Left) => counts.left += 1,
                    Err(message) => counts.unexplained.push(format!("request {number}: {message}")),
                }
            }
        };
        futures_util::future::join_all((0..self.connections).map(|_| worker())).await;
        std::mem::take(&mut *counts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends one request and reads its whole response.
    async fn one(&self, number: u64) -> Result<Came, String> {
        let is_stream = number.is_multiple_of(2);
        let sent = self
            .client
            .post(&self.url)
            .header("content-type", "application/json")
            .body(request(number, is_stream))
            .send();
        let mut response = sent.await.map_err(|error| format!("{error:?}"))?;
        let status = response.status().as_u16();
        if is_stream && number.is_multiple_of(LEAVES_ONE_OF) {
            let _ = response.chunk().await;
            return Ok(Came::Left);
        }
        let mut text = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(piece)) => text.extend_from_slice(&piece),
                Ok(None) => break,
                Err(error) => return Err(format!("status {status}, then {error:?}")),
            }
        }
        let text = String::from_utf8_lossy(&text);
        if is_broken(number) {
            let is_told = status != 200 || text.contains("\"error\"");
            return if is_told { Ok(Came::Broken) } else { Err(format!("a broken response counted as valid: {text}")) };
        }
        let wanted = match Scene::of(number) {
            Scene::Text | Scene::Executed => "Paris.",
            Scene::Clean | Scene::Repaired | Scene::Corrected => "get_weather",
        };
        let is_whole = !is_stream || text.trim_end().ends_with("data: [DONE]");
        match status == 200 && text.contains(wanted) && is_whole && !text.contains("getWeather") {
            true => Ok(Came::Right),
            false => Err(format!("status {status}: {text}")),
        }
    }
}

fn request(number: u64, is_stream: bool) -> String {
    let weather = json!({"type": "object", "required": ["city"], "additionalProperties": false,
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}});
    let tools = json!([{"type": "function", "function": {"name": "get_weather", "description": "The weather of a city.", "parameters": weather}}]);
    let mut request = json!({"model": "soak", "seed": number, "stream": is_stream,
        "messages": [{"role": "user", "content": format!("What is the weather in Paris, or which rooms are on floor 5? {number}")}]});
    if Scene::of(number) == Scene::Executed {
        request["model"] = Value::from("helper");
    } else {
        request["tools"] = tools;
    }
    request.to_string()
}
