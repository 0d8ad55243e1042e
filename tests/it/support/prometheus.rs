//! A private Prometheus, run from the distribution's package, that scrapes one proxy every second and evaluates the
//! rules of `dashboards/`.
//!
//! It listens on a free loopback port and has its own data folder. Dropping it stops it.

#![allow(dead_code, reason = "each test binary uses its own part of this")]

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use http::Method;
use serde_json::Value;
use tempfile::TempDir;

use super::client::Client;
use super::{POLL, guarded};

/// Number of attempts to start. A free port may be taken by another process before the server binds it.
const TRIES: usize = 5;

/// A running server.
pub(crate) struct Prometheus {
    process: Child,
    folder: TempDir,
    client: Client,
}

/// Returns the path of a program of the package.
pub(crate) fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("no `{name}`: install the package `prometheus`"))
}

impl Prometheus {
    /// Starts a server that scrapes `target` as the job `callwright` and evaluates these rule files (name, text).
    pub(crate) async fn start(target: &str, rules: &[(&str, String)]) -> Self {
        let program = program("prometheus");
        let folder = TempDir::new().unwrap();
        for (name, text) in rules {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let names: Vec<&str> = rules.iter().map(|(name, _)| *name).collect();
        let address = target.trim_start_matches("http://");
        let configuration = serde_json::json!({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": names,
            "scrape_configs": [{"job_name": "callwright", "static_configs": [{"targets": [address]}]}],
        });
        // JSON is valid YAML.
        std::fs::write(folder.path().join("prometheus.yml"), configuration.to_string()).unwrap();
        for _ in 0..TRIES {
            let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let process = run(&program, folder.path(), &address.to_string());
            let mut server =
                Self { process, folder: TempDir::new().unwrap(), client: Client::new(format!("http://{address}")) };
            if server.is_ready().await {
                server.folder = folder;
                return server;
            }
            drop(server);
        }
        panic!("it does not start: {}", std::fs::read_to_string(folder.path().join("log")).unwrap_or_default());
    }

    /// Waits until it is ready. Returns `false` if it ends instead.
    async fn is_ready(&mut self) -> bool {
        guarded("waiting for Prometheus", async {
            loop {
                if self.process.try_wait().unwrap().is_some() {
                    return false;
                }
                if let Ok(answer) = reqwest::get(self.client.url("/-/ready")).await
                    && answer.status().is_success()
                {
                    return true;
                }
                tokio::time::sleep(POLL).await;
            }
        })
        .await
    }

    /// Returns the current values of a query's series. Panics if the query is invalid.
    pub(crate) async fn query(&self, query: &str) -> Vec<f64> {
        let answer = self.ask("/api/v1/query", query).await;
        let result = &answer["data"]["result"];
        let series = result.as_array().unwrap_or_else(|| panic!("no series: {query}: {answer}"));
        series.iter().map(|series| series["value"][1].as_str().unwrap().parse().unwrap()).collect()
    }

    /// Returns the names of all metrics with samples.
    pub(crate) async fn metric_names(&self) -> Vec<String> {
        let answer = self.client.get("/api/v1/label/__name__/values").await.json();
        serde_json::from_value(answer["data"].clone()).unwrap()
    }

    /// Returns the names of the firing alerts.
    pub(crate) async fn firing(&self) -> Vec<String> {
        let answer = self.client.get("/api/v1/alerts").await.json();
        let alerts = answer["data"]["alerts"].as_array().unwrap().iter();
        let firing = alerts.filter(|alert| alert["state"] == "firing");
        firing.map(|alert| alert["labels"]["alertname"].as_str().unwrap().to_owned()).collect()
    }

    async fn ask(&self, path: &str, query: &str) -> Value {
        let body: String = url::form_urlencoded::Serializer::new(String::new()).append_pair("query", query).finish();
        let fields = [("content-type", "application/x-www-form-urlencoded")];
        let answer = self.client.send(Method::POST, path, &fields, body).await;
        assert_eq!(answer.status, 200, "{query}\n{}", answer.text());
        answer.json()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run(program: &Path, folder: &Path, address: &str) -> Child {
    let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    let mut command = Command::new(program);
    command.arg(format!("--config.file={}", folder.join("prometheus.yml").display()));
    command.arg(format!("--storage.tsdb.path={}", folder.join("data").display()));
    command.arg(format!("--web.listen-address={address}"));
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
}
