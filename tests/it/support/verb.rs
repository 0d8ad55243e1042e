//! The real binary as called by a person or a script for an offline verb: arguments, standard input, and files in a
//! separate folder.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::{POLL, Received, Reply, Server, guarded};

/// Output and exit status of a verb.
pub(crate) struct Said {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Said {
    /// Returns standard output as lines of JSON.
    pub(crate) fn lines(&self) -> Vec<Value> {
        json_lines(&self.stdout)
    }
}

/// A folder with files in which a verb runs.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn with(files: &[(&str, &[u8])]) -> Self {
        let folder = Self(TempDir::new().unwrap());
        for (name, bytes) in files {
            std::fs::write(folder.path(name), bytes).unwrap();
        }
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Runs the binary with this standard input until it ends.
    pub(crate) fn run(&self, arguments: &[&str], input: &[u8]) -> Said {
        let mut child = self.start(arguments);
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // In another thread, because writing blocks while the output is not read.
        let writer = std::thread::spawn(move || {
            // A verb that fails immediately does not read its input.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Said { status: output.status.code(), stdout: output.stdout, stderr: String::from_utf8(output.stderr).unwrap() }
    }

    /// Starts the binary with pipes for standard input, output and error.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        command(self.0.path(), arguments).spawn().unwrap()
    }
}

/// A verb that uses a model, and is killed again and again.
pub(crate) struct Kills<'a> {
    /// Path of its journal, whose lines count the answers that arrived.
    pub(crate) journal: &'a str,
    /// Starts the verb in a folder.
    pub(crate) start: &'a dyn Fn(&Folder, &Server) -> Child,
    /// The scripted model.
    pub(crate) play: fn(&Received) -> Reply,
}

impl Kills<'_> {
    /// Kills the verb after every few answers, until it ends. Returns the answered requests and the number of kills.
    pub(crate) async fn until_the_end(&self, folder: &Folder) -> (Vec<Value>, usize) {
        const MOST_ANSWERS: usize = 2;
        let (mut random, mut answered) = (fastrand::Rng::with_seed(43), Vec::new());
        for kills in 0.. {
            let (answers, play) = (random.usize(1..=MOST_ANSWERS), self.play);
            let reply =
                move |number, request: &Received| if number < answers { play(request) } else { Reply::silence() };
            let server = Server::scripted(reply).await;
            let mut child = (self.start)(folder, &server);
            let lines = || std::fs::read(folder.path(self.journal)).unwrap_or_default();
            let kept = || lines().iter().filter(|byte| **byte == b'\n').count().saturating_sub(1);
            let ended = guarded("an answer in the journal, or the end", async {
                loop {
                    if let Some(status) = child.try_wait().unwrap() {
                        break Some(status);
                    }
                    if kept() >= answered.len() + answers {
                        break None;
                    }
                    tokio::time::sleep(POLL).await;
                }
            });
            let ended = ended.await;
            answered.extend(server.received().iter().take(answers).map(Received::json));
            if let Some(status) = ended {
                assert!(status.success(), "{status}");
                return (answered, kills);
            }
            child.kill().unwrap();
            // It may just have ended.
            if child.wait().unwrap().success() || !folder.path(self.journal).exists() {
                return (answered, kills);
            }
        }
        unreachable!("the loop returns")
    }
}

/// Returns the command that runs the binary in a folder, with an empty environment and pipes for standard input, output
/// and error.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callwright"));
    command.args(arguments).current_dir(folder).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Parses bytes as lines of JSON.
pub(crate) fn json_lines(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

/// Formats values as lines of JSON.
pub(crate) fn to_lines(values: &[Value]) -> Vec<u8> {
    values.iter().flat_map(|value| format!("{value}\n").into_bytes()).collect()
}

/// Compresses bytes.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Decompresses bytes.
pub(crate) fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(bytes), &mut text).unwrap();
    text
}
