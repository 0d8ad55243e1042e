//! The real binary as a separate process.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc;

use serde_json::Value;
use tempfile::TempDir;

use super::client::{Answer, Client};
use super::metrics::Metrics;
use super::{GUARD, POLL, guarded};

/// Environment variables that would affect the proxy.
const FOREIGN_VARIABLES: [&str; 11] = [
    "CALLWRIGHT_UPSTREAM_URL", "OPENAI_BASE_URL", "OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
    "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
];

/// A running `callwright serve`. Dropping it kills it.
pub(crate) struct Proxy {
    process: Process,
    directory: Arc<TempDir>,
    config: String,
    client: Client,
    operator: Client,
}

/// State after the proxy has ended.
pub(crate) struct Stopped {
    pub(crate) status: ExitStatus,
    directory: Arc<TempDir>,
    config: String,
}

impl Proxy {
    /// Starts `callwright serve` with this configuration in a new folder.
    pub(crate) async fn start(config: impl Into<String>) -> Self {
        Self::start_with_files(config, &[]).await
    }

    /// Works like [`Self::start`], with more files (path relative to the configuration file, text) in the folder.
    pub(crate) async fn start_with_files(config: impl Into<String>, files: &[(&str, &str)]) -> Self {
        Self::start_with_files_and_environment(config, files, &[]).await
    }

    /// Works like [`Self::start_with_files`], with these environment variables.
    pub(crate) async fn start_with_files_and_environment(
        config: impl Into<String>,
        files: &[(&str, &str)],
        variables: &[(&str, &str)],
    ) -> Self {
        let directory = TempDir::new().unwrap();
        for (path, text) in files {
            write(directory.path(), path, text);
        }
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self::start_in(Arc::new(directory), config.into(), variables).await
    }

    /// Works like [`Self::start`], with these environment variables.
    pub(crate) async fn start_with_environment(config: impl Into<String>, variables: &[(&str, &str)]) -> Self {
        Self::start_with_files_and_environment(config, &[], variables).await
    }

    /// Works like [`Self::start`], with at most `open_files` open files and sockets.
    pub(crate) async fn start_with_open_files(config: impl Into<String>, open_files: u32) -> Self {
        let limit = format!("ulimit -n {open_files} && exec \"$@\"");
        Self::start_through(&["sh", "-c", &limit, "sh"], config, &[]).await
    }

    /// Works like [`Self::start_with_files`], through a launcher that receives the command as its last arguments.
    pub(crate) async fn start_through(launcher: &[&str], config: impl Into<String>, files: &[(&str, &str)]) -> Self {
        let directory = TempDir::new().unwrap();
        for (path, text) in files {
            write(directory.path(), path, text);
        }
        let launcher = launcher.iter().map(|word| (*word).to_owned()).collect();
        Self::launch(Arc::new(directory), config.into(), Vec::new(), launcher).await
    }

    /// Returns the error output of `callwright serve` when it refuses to start with this configuration.
    pub(crate) async fn refusal(config: &str) -> String {
        let directory = TempDir::new().unwrap();
        write(directory.path(), "callwright.toml", config);
        let log = File::create(directory.path().join("log")).unwrap();
        let mut process = Process(command(directory.path()).stdout(Stdio::null()).stderr(log).spawn().unwrap());
        assert!(!process.ended().await.success(), "it started and ended well:\n{}", read_log(directory.path()));
        read_log(directory.path())
    }

    async fn start_in(directory: Arc<TempDir>, config: String, variables: Vec<(String, String)>) -> Self {
        Self::launch(directory, config, variables, Vec::new()).await
    }

    async fn launch(
        directory: Arc<TempDir>,
        config: String,
        variables: Vec<(String, String)>,
        launcher: Vec<String>,
    ) -> Self {
        write(directory.path(), "callwright.toml", &config);
        let path = directory.path().to_owned();
        let (process, line) = tokio::task::spawn_blocking(move || spawn(&path, variables, &launcher)).await.unwrap();
        let url = |side: &str| {
            let found = line.split_whitespace().find_map(|word| word.strip_prefix(side)?.strip_prefix('='));
            found.unwrap_or_else(|| panic!("no {side}= in: {line}")).to_owned()
        };
        let (client, operator) = (Client::new(url("client")), Client::new(url("operator")));
        Self { process, directory, config, client, operator }
    }

    /// Returns a client of the client listener.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns a client of the operator listener.
    pub(crate) fn operator(&self) -> &Client {
        &self.operator
    }

    /// Makes the clients trust only this authority (PEM).
    pub(crate) fn trusting(mut self, authority: &str) -> Self {
        self.client = Client::trusting(self.client.url(""), authority);
        self.operator = Client::trusting(self.operator.url(""), authority);
        self
    }

    /// Returns the metrics once no turn is running. A turn is counted at its end, shortly after its response.
    pub(crate) async fn metrics(&self) -> Metrics {
        guarded("waiting for the turns to end", async {
            loop {
                let metrics = self.metrics_now().await;
                if metrics.sum("turns_in_flight", &[]) == 0.0 {
                    return metrics;
                }
                tokio::time::sleep(POLL).await;
            }
        })
        .await
    }

    /// Returns the current metrics.
    pub(crate) async fn metrics_now(&self) -> Metrics {
        Metrics::parse(&self.operator.get("/metrics").await.text())
    }

    /// Waits until the metric `callwright_NAME`, summed over the series with these labels, is at least `value`.
    pub(crate) async fn metric_reaches(&self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.metric_becomes(name, labels, |sum| sum >= value).await;
    }

    /// Waits until such a sum is at most `value`.
    pub(crate) async fn metric_falls(&self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.metric_becomes(name, labels, |sum| sum <= value).await;
    }

    async fn metric_becomes(&self, name: &str, labels: &[(&str, &str)], is_reached: impl Fn(f64) -> bool) {
        guarded(name, async {
            while !is_reached(self.metrics_now().await.sum(name, labels)) {
                tokio::time::sleep(POLL).await;
            }
        })
        .await;
    }

    /// Returns the proxy's folder: configuration, store, policies.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file into the proxy's folder atomically, as an editor would.
    pub(crate) fn write(&self, path: &str, text: &str) {
        write(self.directory.path(), path, text);
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.0.id()
    }

    /// Returns the log so far.
    pub(crate) fn log(&self) -> String {
        read_log(self.directory.path())
    }

    /// Sends SIGTERM and returns immediately.
    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends the signal of this name and returns immediately.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.process.0.id().to_string()]).status().unwrap();
        assert!(sent.success(), "the proxy ended before it was told to:\n{}", self.log());
    }

    /// Kills the process immediately by SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.process.0.kill().unwrap();
    }

    /// Waits until the process ends by itself.
    pub(crate) async fn ended(mut self) -> Stopped {
        let status = self.process.ended().await;
        Stopped { status, directory: self.directory.clone(), config: self.config.clone() }
    }

    /// Sends SIGTERM, waits for the end and checks that the process exits with success.
    pub(crate) async fn stop(self) -> Stopped {
        self.terminate();
        let stopped = self.ended().await;
        assert!(stopped.status.success(), "{}\n{}", stopped.status, stopped.log());
        stopped
    }

    /// Stops gracefully, restarts with the same folder and returns all stored traces, the oldest first.
    pub(crate) async fn traces_after_stop(self) -> Vec<Value> {
        self.stop().await.start_again().await.traces().await
    }

    /// Returns all stored traces in full, the oldest first.
    pub(crate) async fn traces(&self) -> Vec<Value> {
        let list = self.operator.get("/admin/traces").await.json();
        let entries = list["traces"].as_array().unwrap_or_else(|| panic!("no list of traces: {list}"));
        let mut traces = Vec::new();
        for entry in entries {
            let id = entry["id"].as_str().unwrap_or_else(|| panic!("a trace without an id: {entry}"));
            traces.push(self.operator.get(&format!("/admin/traces/{id}")).await.json());
        }
        traces.sort_by_key(|trace| trace["started_at"].as_str().map(str::to_owned));
        traces
    }
}

impl Stopped {
    /// Returns the proxy's folder.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the log.
    pub(crate) fn log(&self) -> String {
        read_log(self.directory.path())
    }

    /// Restarts with the same folder and the same configuration.
    pub(crate) async fn start_again(self) -> Proxy {
        Proxy::start_in(self.directory, self.config, Vec::new()).await
    }

    /// Restarts with the same folder, with these tables appended to the configuration, and with these files replaced.
    pub(crate) async fn start_again_with(self, tables: &str, files: &[(&str, &str)]) -> Proxy {
        for (path, text) in files {
            write(self.directory.path(), path, text);
        }
        Proxy::start_in(self.directory, self.config + tables, Vec::new()).await
    }

    /// Restarts with the same folder and another configuration.
    pub(crate) async fn start_again_as(self, config: String) -> Proxy {
        Proxy::start_in(self.directory, config, Vec::new()).await
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if std::thread::panicking() {
            anstream::eprintln!("--- log of the proxy\n{}---", self.log());
        }
    }
}

/// A child process that is killed on drop.
struct Process(Child);

impl Process {
    async fn ended(&mut self) -> ExitStatus {
        guarded("waiting for the proxy to end", async {
            loop {
                if let Some(status) = self.0.try_wait().unwrap() {
                    return status;
                }
                tokio::time::sleep(POLL).await;
            }
        })
        .await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the binary until it has printed its addresses.
fn spawn(directory: &Path, variables: Vec<(String, String)>, launcher: &[String]) -> (Process, String) {
    let log = File::options().create(true).append(true).open(directory.join("log")).unwrap();
    let mut command = match launcher {
        [] => command(directory),
        [program, words @ ..] => {
            let mut launched = Command::new(program);
            launched.args(words).arg(env!("CARGO_BIN_EXE_callwright"));
            serving(launched, directory)
        }
    };
    let mut process = Process(command.stderr(log).envs(variables).spawn().unwrap());
    let stdout = BufReader::new(process.0.stdout.take().unwrap());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            // Only the first line is awaited; later lines have no receiver.
            let _ = sender.send(line);
        }
    });
    match receiver.recv_timeout(GUARD) {
        Ok(line) => (process, line),
        Err(error) => panic!("the proxy did not start ({error}):\n{}", read_log(directory)),
    }
}

fn command(directory: &Path) -> Command {
    serving(Command::new(env!("CARGO_BIN_EXE_callwright")), directory)
}

fn serving(mut command: Command, directory: &Path) -> Command {
    command.args(["serve", "--config"]).arg(directory.join("callwright.toml"));
    command.current_dir(directory).stdin(Stdio::null()).stdout(Stdio::piped());
    for variable in FOREIGN_VARIABLES {
        command.env_remove(variable);
    }
    command
}

fn read_log(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("log")).unwrap_or_default()
}

fn write(directory: &Path, path: &str, text: &str) {
    let target = directory.join(path);
    let folder = target.parent().unwrap();
    std::fs::create_dir_all(folder).unwrap();
    let mut file = tempfile::NamedTempFile::new_in(folder).unwrap();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    file.persist(target).unwrap();
}
