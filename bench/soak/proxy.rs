//! The real binary as a separate process: its files, their reloads, its memory and its open files.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::task::JoinHandle;

/// Pause between two changes of files.
const RELOAD: Duration = Duration::from_secs(10);

/// A running proxy.
pub(crate) struct Proxy {
    process: Child,
    folder: TempDir,
    client: String,
    operator: String,
    http: reqwest::Client,
}

/// Resource usage of the process at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) resident_bytes: f64,
    pub(crate) threads: f64,
    pub(crate) open_files: f64,
    pub(crate) turns: f64,
    pub(crate) upstream: f64,
    pub(crate) traces: f64,
    pub(crate) dropped: f64,
}

impl Proxy {
    /// Starts a proxy with further keys of `[server]`.
    pub(crate) async fn start(program: &Path, upstream: u16, server: &str) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        write_files(folder.path(), upstream, server)
            .map_err(|error| format!("{}: {error}", folder.path().display()))?;
        let log = std::fs::File::create(folder.path().join("log")).map_err(|error| error.to_string())?;
        // A relative path would be relative to the proxy's folder.
        let program = std::path::absolute(program).map_err(|error| format!("{}: {error}", program.display()))?;
        let mut process = Command::new(&program)
            .args(["serve", "--config"])
            .arg(folder.path().join("callwright.toml"))
            .current_dir(folder.path())
            .env_remove("OPENAI_API_KEY")
            .env_remove("OPENAI_BASE_URL")
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let out = process.stdout.take().ok_or("the proxy has no output")?;
        let mut lines = BufReader::new(out).lines();
        let line =
            lines.next().ok_or_else(|| std::fs::read_to_string(folder.path().join("log")).unwrap_or_default())?;
        let line = line.map_err(|error| error.to_string())?;
        let url = |side: &str| {
            let found = line.split_whitespace().find_map(|word| word.strip_prefix(side)?.strip_prefix('='));
            found.map(str::to_owned).ok_or_else(|| format!("no {side}= in: {line}"))
        };
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(1).build();
        let http = http.map_err(|error| error.to_string())?;
        let (client, operator) = (url("client")?, url("operator")?);
        Ok(Self { process, client, operator, folder, http })
    }

    pub(crate) fn client_url(&self) -> &str {
        &self.client
    }

    #[allow(dead_code, reason = "bench/attack probes the operator side")]
    pub(crate) fn operator_url(&self) -> &str {
        &self.operator
    }

    /// Returns the current resident memory.
    pub(crate) fn resident_bytes(&self) -> Result<f64, String> {
        Ok(self.status("VmRSS:")? * 1024.0)
    }

    /// Returns the number in a line of the process status (proc(5)), or 0 if the line is absent.
    fn status(&self, name: &str) -> Result<f64, String> {
        let path = format!("/proc/{}/status", self.process.id());
        let status = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let value = status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
        Ok(value.unwrap_or_default())
    }

    /// Rewrites policies and documents until it is aborted. Every sixth policy is invalid.
    pub(crate) fn keep_reloading(&self) -> JoinHandle<()> {
        let folder = self.folder.path().to_owned();
        tokio::spawn(async move {
            for round in 0_u64.. {
                tokio::time::sleep(RELOAD).await;
                let rules = if round % 6 == 5 { "limits: nonsense\n".to_owned() } else { policy(round) };
                // Failed writes show in the reload counts.
                let _ = replace(&folder, "policies/default.yaml", &rules);
                let _ = replace(&folder, "rooms.yaml", &document(round));
            }
        })
    }

    /// Returns the numbers of reloads of policies and of documents.
    pub(crate) async fn reloads(&self) -> Result<(f64, f64), String> {
        let metrics = self.metrics().await?;
        Ok((sum(&metrics, "callwright_policy_reloads_total"), sum(&metrics, "callwright_catalog_reloads_total")))
    }

    /// Returns the number of requests to the upstream.
    pub(crate) async fn attempts(&self) -> Result<f64, String> {
        Ok(sum(&self.metrics().await?, "callwright_upstream_attempts_total"))
    }

    /// Returns the number of connections that the proxy closed because their clients did not read.
    #[allow(dead_code, reason = "bench/attack counts them")]
    pub(crate) async fn slow_readers(&self) -> Result<f64, String> {
        Ok(sum(
            &self.metrics().await?,
            r#"callwright_connections_closed_total{listener="client",reason="slow_reader"}"#,
        ))
    }

    pub(crate) async fn sample(&self) -> Result<Sample, String> {
        let id = self.process.id();
        let files = std::fs::read_dir(format!("/proc/{id}/fd")).map_err(|error| error.to_string())?.count();
        let metrics = self.metrics().await?;
        Ok(Sample {
            resident_bytes: self.resident_bytes()?,
            threads: self.status("Threads:")?,
            open_files: u32::try_from(files).unwrap_or(u32::MAX).into(),
            turns: sum(&metrics, "callwright_turns_in_flight"),
            upstream: sum(&metrics, "callwright_upstream_in_flight"),
            traces: sum(&metrics, "callwright_traces_waiting"),
            dropped: sum(&metrics, "callwright_traces_dropped_total"),
        })
    }

    /// Returns a sample when no work is running, or after `longest`.
    pub(crate) async fn calm(&self, longest: Duration) -> Result<Sample, String> {
        let started = Instant::now();
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let sample = self.sample().await?;
            let is_calm = sample.turns == 0.0 && sample.upstream == 0.0 && sample.traces == 0.0;
            // Idle connections of clients take time to close.
            if is_calm && started.elapsed() > longest / 2 || started.elapsed() > longest {
                return Ok(sample);
            }
        }
    }

    pub(crate) fn stop(mut self) -> Result<(), String> {
        let told =
            Command::new("kill").arg(self.process.id().to_string()).status().map_err(|error| error.to_string())?;
        let status = self.process.wait().map_err(|error| error.to_string())?;
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        match told.success() && status.success() && !log.contains("panicked") {
            true => Ok(()),
            false => Err(format!("the proxy ended with {status}:\n{log}")),
        }
    }

    async fn metrics(&self) -> Result<String, String> {
        let answer =
            self.http.get(format!("{}/metrics", self.operator)).send().await.map_err(|error| error.to_string())?;
        answer.text().await.map_err(|error| error.to_string())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the sum of all series of a metric.
fn sum(metrics: &str, name: &str) -> f64 {
    let of = |line: &str| {
        let rest = line.strip_prefix(name)?;
        matches!(rest.chars().next(), Some('{' | ' ')).then(|| rest.rsplit(' ').next()?.parse::<f64>().ok())?
    };
    metrics.lines().filter_map(of).sum()
}

fn write_files(folder: &Path, upstream: u16, server: &str) -> std::io::Result<()> {
    std::fs::create_dir(folder.join("policies"))?;
    replace(folder, "policies/default.yaml", &policy(0))?;
    replace(folder, "rooms.yaml", &document(0))?;
    let config = format!(
        r#"default_upstream = "soak"
[server]
listen = "127.0.0.1:0"
operator_listen = "127.0.0.1:0"
{server}
[upstreams.soak]
base_url = "http://127.0.0.1:{upstream}/v1"
# One answer of twenty is broken: the upstream is not to be left alone for that.
circuit_failures = 0
[executor]
allowed_addresses = ["127.0.0.1"]
[policies]
directory = "policies"
[toolsets.rooms]
document = "rooms.yaml"
base_url = "http://127.0.0.1:{upstream}/api"
[aliases.helper]
model = "soak"
toolsets = ["rooms"]
"#
    );
    replace(folder, "callwright.toml", &config)
}

fn policy(round: u64) -> String {
    format!("name: default\nlimits:\n  static_feedback: {}\n", 2 + round % 2)
}

fn document(round: u64) -> String {
    format!(
        r#"openapi: 3.0.3
info: {{title: Rooms, version: "{round}"}}
servers: [{{url: "http://127.0.0.1:1"}}]
paths:
  /rooms:
    get:
      operationId: listRooms
      summary: Lists the rooms of a floor. Edition {round}.
      parameters:
        - {{name: floor, in: query, required: true, schema: {{type: integer}}, description: Number of the floor.}}
      responses:
        "200": {{description: The rooms.}}
"#
    )
}

/// Replaces the file atomically, as an editor would.
fn replace(folder: &Path, name: &str, text: &str) -> std::io::Result<()> {
    let next: PathBuf = folder.join(format!("{}.next", name.replace('/', "-")));
    std::fs::write(&next, text)?;
    std::fs::rename(next, folder.join(name))
}
