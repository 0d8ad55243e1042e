//! Small servers for the tests of this crate: each connection receives scripted bytes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "for tests")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Action of the server on a connection after it has read a whole request.
#[derive(Clone)]
pub enum Step {
    /// Writes these bytes.
    Write(Vec<u8>),
    /// Reads another request.
    Await,
    /// Waits until the client disconnects.
    Silence,
    /// Breaks the connection with a reset.
    Reset,
}

#[derive(Default)]
struct ServerRecord {
    connections: usize,
    /// Number of connections that the client closed before all steps were done.
    left: usize,
    requests: Vec<String>,
}

/// A server on its own port; it stops when it is dropped.
pub struct TestServer {
    pub address: SocketAddr,
    seen: Arc<Mutex<ServerRecord>>,
    task: JoinHandle<()>,
}

impl TestServer {
    /// Starts a server that performs these steps on every connection, then closes it.
    pub async fn start(steps: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, steps)
    }

    pub fn on(listener: TcpListener, steps: Vec<Step>) -> Self {
        let address = listener.local_addr().unwrap();
        let seen = Arc::<Mutex<ServerRecord>>::default();
        let server = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                server.lock().unwrap().connections += 1;
                tokio::spawn(connection(stream, steps.clone(), Arc::clone(&server)));
            }
        });
        Self { address, seen, task }
    }

    /// Starts a server that answers every connection with this head and body.
    pub async fn answering(head: &str, body: &[u8]) -> Self {
        let head = format!("HTTP/1.1 {head}\r\n\r\n");
        Self::start(vec![Step::Write([head.as_bytes(), body].concat())]).await
    }

    /// Returns the requests read so far, heads and bodies as text.
    pub fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().requests.clone()
    }

    /// Returns the number of connections accepted so far.
    pub fn connections(&self) -> usize {
        self.seen.lock().unwrap().connections
    }

    /// Waits until a client has closed its connection during a silence.
    pub async fn client_left(&self) {
        while self.seen.lock().unwrap().left == 0 {
            tokio::task::yield_now().await;
        }
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn connection(mut stream: TcpStream, steps: Vec<Step>, seen: Arc<Mutex<ServerRecord>>) {
    for step in [Step::Await].into_iter().chain(steps) {
        match step {
            Step::Await => {
                let Some(request) = read_request(&mut stream).await else { return };
                seen.lock().unwrap().requests.push(request);
            }
            Step::Write(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Step::Silence => {
                if matches!(stream.read(&mut [0; 1]).await, Ok(0) | Err(_)) {
                    seen.lock().unwrap().left += 1;
                }
            }
            Step::Reset => {
                let _ = stream.set_zero_linger();
                return;
            }
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if is_whole(&text) {
            return Some(text);
        }
    }
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let head = head.to_ascii_lowercase();
    if head.contains("transfer-encoding: chunked") {
        return body.ends_with("0\r\n\r\n");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}
