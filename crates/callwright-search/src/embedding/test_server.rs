//! A small HTTP server for the tests of this module: a function answers every request, then the connection is closed.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request: its head and its body.
#[derive(Debug, Clone)]
pub(super) struct ReceivedRequest {
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl ReceivedRequest {
    /// Returns path and query.
    pub(super) fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }
}

/// A status line such as `200 OK`, further header fields such as `location: /x\r\n`, a body.
pub(super) type Reply = (&'static str, String, Vec<u8>);
type Script = dyn Fn(&ReceivedRequest) -> Reply + Send + Sync;

/// A server on its own port; it stops when it is dropped.
pub(super) struct TestServer {
    address: SocketAddr,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    task: JoinHandle<()>,
}

impl TestServer {
    pub(super) async fn start(script: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (received, script): (Arc<Mutex<Vec<ReceivedRequest>>>, Arc<Script>) = (Arc::default(), Arc::new(script));
        let all = Arc::clone(&received);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&script), Arc::clone(&all)));
            }
        });
        Self { address, received, task }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().unwrap().clone()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, script: Arc<Script>, received: Arc<Mutex<Vec<ReceivedRequest>>>) {
    let Some(request) = receive(&mut stream).await else { return };
    let (status, fields, body) = script(&request);
    received.lock().unwrap().push(request);
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{fields}\r\n", body.len());
    let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
    let _ = stream.shutdown().await;
}

async fn receive(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let raw = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let field = |name: &str| {
            let lines = raw.lines().filter_map(|line| line.split_once(": "));
            lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
        };
        let length = field("content-length").map_or(0, |length| length.parse().unwrap());
        if bytes.len() >= end + 4 + length {
            return Some(ReceivedRequest { head: raw, body: bytes[end + 4..].to_vec() });
        }
    }
}
