//! The real binary, running as a process of its own.

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

/// Variables of the surroundings that would change what the proxy does.
const FOREIGN_VARIABLES: [&str; 10] = [
    "OPENAI_BASE_URL",
    "OPENAI_API_KEY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

/// A running `callwright serve`. Dropping it kills it.
pub(crate) struct Proxy {
    process: Process,
    directory: Arc<TempDir>,
    config: String,
    client: Client,
    operator: Client,
}

/// What is left when the proxy has ended.
pub(crate) struct Stopped {
    pub(crate) status: ExitStatus,
    directory: Arc<TempDir>,
    config: String,
}

impl Proxy {
    /// Starts `callwright serve` with this configuration in an empty folder of its own.
    pub(crate) async fn start(config: impl Into<String>) -> Self {
        Self::start_with_files(config, &[]).await
    }

    /// Like [`Self::start`], with more files (path relative to the configuration file, text) in the folder.
    pub(crate) async fn start_with_files(config: impl Into<String>, files: &[(&str, &str)]) -> Self {
        Self::start_with_files_and_environment(config, files, &[]).await
    }

    /// Like [`Self::start_with_files`], with these variables in the process's environment.
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

    /// Like [`Self::start`], with these variables in the process's environment.
    pub(crate) async fn start_with_environment(config: impl Into<String>, variables: &[(&str, &str)]) -> Self {
        Self::start_with_files_and_environment(config, &[], variables).await
    }

    /// Like [`Self::start`], with no more files and sockets than `open_files` open at a time.
    pub(crate) async fn start_with_open_files(config: impl Into<String>, open_files: u32) -> Self {
        let limit = format!("ulimit -n {open_files} && exec \"$@\"");
        Self::start_through(&["sh", "-c", &limit, "sh"], config, &[]).await
    }

    /// Like [`Self::start_with_files`], in the place of a program that is given the command to run as its last arguments.
    pub(crate) async fn start_through(launcher: &[&str], config: impl Into<String>, files: &[(&str, &str)]) -> Self {
        let directory = TempDir::new().unwrap();
        for (path, text) in files {
            write(directory.path(), path, text);
        }
        let launcher = launcher.iter().map(|word| (*word).to_owned()).collect();
        Self::launch(Arc::new(directory), config.into(), Vec::new(), launcher).await
    }

    /// What `callwright serve` says when it refuses to start with this configuration.
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

    /// A client of the client side.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// A client of the operator side.
    pub(crate) fn operator(&self) -> &Client {
        &self.operator
    }

    /// The same proxy, spoken to by clients that trust this authority (PEM) and nobody else.
    pub(crate) fn trusting(mut self, authority: &str) -> Self {
        self.client = Client::trusting(self.client.url(""), authority);
        self.operator = Client::trusting(self.operator.url(""), authority);
        self
    }

    /// The metrics when no turn is running: a turn is counted at its end, which is a moment behind its answer's.
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

    /// The metrics now.
    pub(crate) async fn metrics_now(&self) -> Metrics {
        Metrics::parse(&self.operator.get("/metrics").await.text())
    }

    /// Waits until the metric `callwright_NAME`, summed over the series with these labels, has reached `value`.
    pub(crate) async fn metric_reaches(&self, name: &str, labels: &[(&str, &str)], value: f64) {
        guarded(name, async {
            while self.metrics_now().await.sum(name, labels) < value {
                tokio::time::sleep(POLL).await;
            }
        })
        .await;
    }

    /// The proxy's folder: configuration, store, policies.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file into the proxy's folder, as an editor would: whole or not at all.
    pub(crate) fn write(&self, path: &str, text: &str) {
        write(self.directory.path(), path, text);
    }

    /// The id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.process.0.id()
    }

    /// Everything logged so far.
    pub(crate) fn log(&self) -> String {
        read_log(self.directory.path())
    }

    /// Sends SIGTERM and returns at once.
    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends the signal of this name and returns at once.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.process.0.id().to_string()]).status().unwrap();
        assert!(sent.success(), "the proxy ended before it was told to:\n{}", self.log());
    }

    /// Kills the process at this very moment, by SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.process.0.kill().unwrap();
    }

    /// Waits for the process to end by itself.
    pub(crate) async fn ended(mut self) -> Stopped {
        let status = self.process.ended().await;
        Stopped { status, directory: self.directory.clone(), config: self.config.clone() }
    }

    /// Sends SIGTERM, waits for the end and checks that it was an orderly one.
    pub(crate) async fn stop(self) -> Stopped {
        self.terminate();
        let stopped = self.ended().await;
        assert!(stopped.status.success(), "{}\n{}", stopped.status, stopped.log());
        stopped
    }

    /// Stops gracefully, starts again on the same folder and returns every stored trace, the oldest first.
    pub(crate) async fn traces_after_stop(self) -> Vec<Value> {
        self.stop().await.start_again().await.traces().await
    }

    /// Every stored trace in full, the oldest first.
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
    /// The folder that the proxy ran in.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Everything that was logged.
    pub(crate) fn log(&self) -> String {
        read_log(self.directory.path())
    }

    /// Starts on the same folder with the same configuration.
    pub(crate) async fn start_again(self) -> Proxy {
        Proxy::start_in(self.directory, self.config, Vec::new()).await
    }

    /// Starts on the same folder with these tables behind the configuration, and these files in place of what is there.
    pub(crate) async fn start_again_with(self, tables: &str, files: &[(&str, &str)]) -> Proxy {
        for (path, text) in files {
            write(self.directory.path(), path, text);
        }
        Proxy::start_in(self.directory, self.config + tables, Vec::new()).await
    }

    /// Starts on the same folder with another configuration.
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

/// A child that is killed where it is left behind.
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

/// Runs the binary until it has said where it listens.
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
            // Later lines have no reader: only the first is waited for.
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
