//! A scripted HTTP/1.1 server on a raw socket: it records requests and sends scripted responses, which may be invalid.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

use super::guarded;
use super::reply::{Reply, Step};

/// A request as received by the server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Received {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    /// Header fields in order, with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    /// Returns the value of a header field, if present.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Returns the body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the messages of a chat request.
    pub(crate) fn messages(&self) -> Vec<Value> {
        self.json()["messages"].as_array().cloned().unwrap_or_default()
    }

    /// Returns the last message of a chat request.
    pub(crate) fn last_message(&self) -> Value {
        self.messages().pop().unwrap_or_default()
    }

    /// Returns the names of the tools (or legacy functions) that a chat request offers.
    pub(crate) fn tool_names(&self) -> Vec<String> {
        let body = self.json();
        let tools = body["tools"].as_array().into_iter().flatten().map(|tool| &tool["function"]["name"]);
        let functions = body["functions"].as_array().into_iter().flatten().map(|function| &function["name"]);
        tools.chain(functions).filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

type Script = Arc<dyn Fn(usize, &Received) -> Reply + Send + Sync>;

/// A running server, which ends with the test's runtime.
pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    script: Script,
    received: Mutex<Vec<Received>>,
    arrivals: watch::Sender<usize>,
    hangups: watch::Sender<usize>,
}

impl Server {
    /// Starts a server that sends `replies` in order of arrival. Further requests get status 500 with an explanation.
    pub(crate) async fn replying(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        Self::scripted(move |number, _| {
            replies.get(number).cloned().unwrap_or_else(|| {
                let message = format!("the script holds {} replies, this is request {}", replies.len(), number + 1);
                Reply::json(500, &serde_json::json!({"error": {"message": message, "type": "script"}}))
            })
        })
        .await
    }

    /// Starts a server that sends the same reply to every request.
    pub(crate) async fn always(reply: Reply) -> Self {
        Self::scripted(move |_, _| reply.clone()).await
    }

    /// Starts a server whose reply is a function of the request's number (from 0) and the request.
    pub(crate) async fn scripted(script: impl Fn(usize, &Received) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            script: Arc::new(script),
            received: Mutex::default(),
            arrivals: watch::Sender::new(0),
            hangups: watch::Sender::new(0),
        });
        let accepting = state.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, accepting.clone()));
            }
        });
        Self { address, state }
    }

    /// Returns an address on which no server listens. It stays bound for the lifetime of the process, so that no other
    /// test's server gets it.
    pub(crate) fn refusing() -> SocketAddr {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        Box::leak(Box::new(socket)).local_addr().unwrap()
    }

    /// Returns the server's URL with `path` appended.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the port that it listens on.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns all requests received so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.received.lock().unwrap().clone()
    }

    /// Returns the last request received so far.
    pub(crate) fn last_request(&self) -> Received {
        self.state.received.lock().unwrap().last().cloned().unwrap_or_else(|| panic!("no request was received"))
    }

    /// Removes and returns the requests received so far. Later queries return only later requests, and the count
    /// restarts.
    pub(crate) fn take_received(&self) -> Vec<Received> {
        std::mem::take(&mut *self.state.received.lock().unwrap())
    }

    /// Returns the only request received so far.
    pub(crate) fn only_request(&self) -> Received {
        let mut received = self.received();
        assert_eq!(received.len(), 1, "requests received: {received:#?}");
        received.remove(0)
    }

    /// Waits until `count` requests have arrived in total.
    pub(crate) async fn arrival_of(&self, count: usize) {
        let mut arrivals = self.state.arrivals.subscribe();
        guarded("waiting for a request", arrivals.wait_for(|arrived| *arrived >= count)).await.unwrap();
    }

    /// Waits until a peer has disconnected during a reply.
    pub(crate) async fn hangup(&self) {
        let mut hangups = self.state.hangups.subscribe();
        guarded("waiting for the peer to go away", hangups.wait_for(|count| *count > 0)).await.unwrap();
    }
}

async fn serve(mut socket: TcpStream, state: Arc<State>) {
    let _ = socket.set_nodelay(true);
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut socket, &mut buffer).await {
        let number = {
            let mut received = state.received.lock().unwrap();
            received.push(request.clone());
            received.len() - 1
        };
        state.arrivals.send_replace(number + 1);
        let reply = (state.script)(number, &request);
        match perform(&mut socket, &reply.steps).await {
            End::Whole if reply.keep_alive => {}
            End::Whole | End::Reset => return,
            End::PeerGone => {
                state.hangups.send_modify(|count| *count += 1);
                return;
            }
        }
    }
}

/// End of a reply.
enum End {
    Whole,
    Reset,
    PeerGone,
}

async fn perform(socket: &mut TcpStream, steps: &[Step]) -> End {
    for step in steps {
        match step {
            Step::Send(bytes) => {
                if socket.write_all(bytes).await.is_err() || socket.flush().await.is_err() {
                    return End::PeerGone;
                }
            }
            Step::Wait(gate) => tokio::select! {
                () = gate.opened() => {}
                () = peer_gone(socket) => return End::PeerGone,
            },
            Step::Again(bytes, pause) => {
                while socket.write_all(bytes).await.is_ok() {
                    if !pause.is_zero() {
                        tokio::time::sleep(*pause).await;
                    }
                }
                return End::PeerGone;
            }
            Step::Silence => {
                peer_gone(socket).await;
                return End::PeerGone;
            }
            Step::Reset => {
                socket.set_zero_linger().unwrap();
                return End::Reset;
            }
        }
    }
    End::Whole
}

async fn peer_gone(socket: &TcpStream) {
    let mut byte = [0; 1];
    // A peer that sends more bytes during a reply, which test clients do not do, is still connected.
    if !matches!(socket.peek(&mut byte).await, Ok(0) | Err(_)) {
        std::future::pending::<()>().await;
    }
}

/// Reads one request (RFC 9112) with a `content-length` or chunked body. Returns `None` at the end of the connection.
async fn read_request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Received> {
    let head = read_until(socket, buffer, b"\r\n\r\n").await?;
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.trim_end().lines();
    let mut first = lines.next()?.split(' ');
    let mut request =
        Received { method: first.next()?.to_owned(), target: first.next()?.to_owned(), ..Received::default() };
    for line in lines {
        let (name, value) = line.split_once(':')?;
        request.headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
    if request.header("expect").is_some() {
        socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.ok()?;
    }
    if request.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        loop {
            let line = read_until(socket, buffer, b"\r\n").await?;
            let size = usize::from_str_radix(String::from_utf8_lossy(&line).trim(), 16).ok()?;
            let chunk = read_exactly(socket, buffer, size + 2).await?;
            request.body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = request.header("content-length") {
        let length = length.parse().ok()?;
        request.body = read_exactly(socket, buffer, length).await?;
    }
    Some(request)
}

async fn read_until(socket: &mut TcpStream, buffer: &mut Vec<u8>, end: &[u8]) -> Option<Vec<u8>> {
    loop {
        if let Some(position) = memchr::memmem::find(buffer, end) {
            return Some(buffer.drain(..position + end.len()).collect());
        }
        more(socket, buffer).await?;
    }
}

async fn read_exactly(socket: &mut TcpStream, buffer: &mut Vec<u8>, length: usize) -> Option<Vec<u8>> {
    while buffer.len() < length {
        more(socket, buffer).await?;
    }
    Some(buffer.drain(..length).collect())
}

async fn more(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    match socket.read_buf(buffer).await {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(()),
    }
}
