//! Upstreams that fail at random moments, over HTTP/1.1 and HTTP/2: no request that one has read whole is sent again without
//! the protocol's word, and each arrival is an attempt.
//!
//! `CALLWRIGHT_TEST_CASES` sets the number of requests of each test.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use h2::Reason;
use h2::server::SendResponse;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::support::request::plain;
use crate::support::tls::{Authority, config as tls_config};
use crate::support::{Client, Proxy, answer, config};

/// Default number of requests of a test.
const REQUESTS: usize = 3_000;

/// Number of clients that send them. Some share a connection to an upstream over HTTP/2.
const CLIENTS: usize = 24;

/// Disables the circuit breaker, which would keep most requests from a server that fails this often.
const ALWAYS_SENT: &str = "circuit_failures = 0\n";

/// Seed of the faults. Their order also depends on the order of the connections.
const SEED: u64 = 18;

/// Longest pause of a server, in microseconds: about the time of a request.
const LONGEST_PAUSE: u64 = 3_000;

/// Protocol of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wire {
    Http1,
    Http1Tls,
    Http2,
}

fn requests() -> usize {
    std::env::var("CALLWRIGHT_TEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(REQUESTS)
}

/// Behaviour of a server at one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Answer,
    /// Answers, and closes the idle connection after a pause.
    AnswerAndClose,
    /// Closes as soon as a request arrives, without reading it.
    CloseUnread,
    /// Closes after it has read the request.
    CloseRead,
    /// Closes its own direction after it has read the request.
    HalfClose,
    /// Closes within the answer.
    CloseWithin,
    /// HTTP/2: refuses the stream, which states that nothing was processed (RFC 9113, section 8.7).
    Refuse,
    /// HTTP/2: resets the stream with another error.
    Reset,
    /// HTTP/2: ends the connection with the number of the last stream that it may have processed (RFC 9113, section 6.8).
    GoAway,
}

/// Two of three requests are answered.
const HTTP1: [Act; 15] = {
    let mut acts = [Act::Answer; 15];
    (acts[0], acts[1], acts[2]) = (Act::AnswerAndClose, Act::AnswerAndClose, Act::CloseUnread);
    (acts[3], acts[4], acts[5]) = (Act::CloseRead, Act::HalfClose, Act::CloseWithin);
    acts
};
const HTTP2: [Act; 21] = {
    let mut acts = [Act::Answer; 21];
    (acts[0], acts[1], acts[2], acts[3]) = (Act::Refuse, Act::Refuse, Act::Reset, Act::GoAway);
    (acts[4], acts[5], acts[6]) = (Act::CloseRead, Act::CloseUnread, Act::CloseWithin);
    acts
};
/// A server that waits for a processor between its look at a connection and its end receives what it does not read.
const LOST_ONE_OF: usize = 10;

const CLOSING: [Act; 1] = [Act::AnswerAndClose];

/// Requests at a server.
struct Faults {
    acts: &'static [Act],
    random: Mutex<fastrand::Rng>,
    /// For each request, how often it was read whole.
    whole: Vec<AtomicUsize>,
    /// For each request, how often it was read whole and then refused as unprocessed.
    refused: Vec<AtomicUsize>,
    body: String,
}

impl Faults {
    fn new(acts: &'static [Act], requests: usize) -> Arc<Self> {
        let counts = || (0..requests).map(|_| AtomicUsize::new(0)).collect();
        let random = Mutex::new(fastrand::Rng::with_seed(SEED));
        Arc::new(Self {
            acts,
            random,
            whole: counts(),
            refused: counts(),
            body: answer::completion(json!({"role": "assistant", "content": "done"}), "stop").to_string(),
        })
    }

    fn act(&self) -> Act {
        let mut random = self.random.lock().unwrap();
        self.acts[random.usize(..self.acts.len())]
    }

    /// Whether a connection ends with a reset, as every second one of a server with faults does.
    fn resets(&self) -> bool {
        self.acts.len() > 1 && self.random.lock().unwrap().bool()
    }

    async fn pause(&self) {
        let pause = self.random.lock().unwrap().u64(..LONGEST_PAUSE);
        tokio::time::sleep(Duration::from_micros(pause)).await;
    }

    fn arrived(&self, body: &[u8]) -> usize {
        let number = number_in(body);
        self.whole[number].fetch_add(1, Ordering::SeqCst);
        number
    }

    fn whole(&self, number: usize) -> usize {
        self.whole[number].load(Ordering::SeqCst)
    }

    fn refused(&self, number: usize) -> usize {
        self.refused[number].load(Ordering::SeqCst)
    }
}

/// Returns the number that the text of a request's message is.
fn number_in(body: &[u8]) -> usize {
    let body: serde_json::Value = serde_json::from_slice(body).unwrap();
    body["messages"][0]["content"].as_str().unwrap().parse().unwrap()
}

/// Starts a server. Returns its base URL and the certificate of its authority.
async fn serve(wire: Wire, faults: &Arc<Faults>) -> (String, String) {
    let authority = Authority::new();
    let mut tls = tls_config(&authority.issue());
    tls.alpn_protocols = vec![if wire == Wire::Http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let faults = Arc::clone(faults);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let socket = if faults.resets() { with_reset(socket) } else { socket };
            socket.set_nodelay(true).unwrap();
            let (acceptor, faults) = (acceptor.clone(), faults.clone());
            tokio::spawn(async move {
                // All its errors follow from its own faults.
                let _ = match wire {
                    Wire::Http1 => serve_http1(socket, &faults).await,
                    Wire::Http1Tls => serve_http1(acceptor.accept(socket).await?, &faults).await,
                    Wire::Http2 => serve_http2(acceptor.accept(socket).await?, faults).await,
                };
                std::io::Result::Ok(())
            });
        }
    });
    let scheme = if wire == Wire::Http1 { "http" } else { "https" };
    (format!("{scheme}://localhost:{port}/v1"), authority.pem())
}

/// Returns a connection whose end is a reset.
fn with_reset(socket: TcpStream) -> TcpStream {
    let socket = socket.into_std().unwrap();
    // A second descriptor of the same socket: the option holds for both.
    TcpSocket::from_std_stream(socket.try_clone().unwrap()).set_zero_linger().unwrap();
    TcpStream::from_std(socket).unwrap()
}

async fn serve_http1<S: AsyncRead + AsyncWrite + Unpin>(mut socket: S, faults: &Faults) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    loop {
        let act = faults.act();
        if act == Act::CloseUnread {
            if buffer.is_empty() {
                socket.read_u8().await?;
            }
            return Ok(());
        }
        let Some(body) = read_request(&mut socket, &mut buffer).await? else { return Ok(()) };
        faults.arrived(&body);
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{}",
            faults.body.len(),
            faults.body
        );
        match act {
            Act::Answer | Act::AnswerAndClose => socket.write_all(answer.as_bytes()).await?,
            Act::CloseWithin => socket.write_all(&answer.as_bytes()[..answer.len() - 1]).await?,
            Act::HalfClose => {
                socket.shutdown().await?;
                while socket.read(&mut [0; 64]).await? > 0 {}
            }
            _ => {}
        }
        socket.flush().await?;
        match act {
            Act::Answer => {}
            // A request that arrives first is read.
            Act::AnswerAndClose => tokio::select! {
                biased;
                read = socket.read_buf(&mut buffer) => if read? == 0 { return Ok(()) },
                () = faults.pause() => return Ok(()),
            },
            _ => return Ok(()),
        }
    }
}

/// Reads a request; `None` at the end of the connection.
async fn read_request<S: AsyncRead + Unpin>(socket: &mut S, buffer: &mut Vec<u8>) -> std::io::Result<Option<Vec<u8>>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).to_lowercase();
            let length = head.split("content-length:").nth(1).unwrap().lines().next().unwrap();
            let whole = end + 4 + length.trim().parse::<usize>().unwrap();
            if buffer.len() >= whole {
                return Ok(Some(buffer.drain(..whole).skip(end + 4).collect()));
            }
        }
        if socket.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

async fn serve_http2<S>(socket: S, faults: Arc<Faults>) -> std::io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut connection = h2::server::handshake(socket).await.map_err(std::io::Error::other)?;
    while let Some(accepted) = connection.accept().await {
        let (request, respond) = accepted.map_err(std::io::Error::other)?;
        let act = faults.act();
        match act {
            Act::CloseUnread => return Ok(()),
            Act::GoAway => connection.abrupt_shutdown(Reason::INTERNAL_ERROR),
            _ => {}
        }
        let stream = serve_stream(request.into_body(), respond, act, Arc::clone(&faults));
        if act == Act::CloseRead {
            // The other streams of the connection end with it. Only the connection's own work reads the stream.
            tokio::select! {
                _ = stream => return Ok(()),
                _ = connection.accept() => return Ok(()),
            }
        }
        tokio::spawn(stream);
    }
    Ok(())
}

async fn serve_stream(
    mut body: h2::RecvStream,
    mut respond: SendResponse<Bytes>,
    act: Act,
    faults: Arc<Faults>,
) -> Result<(), h2::Error> {
    let mut bytes = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        bytes.extend_from_slice(&piece);
    }
    if act == Act::Refuse {
        faults.refused[number_in(&bytes)].fetch_add(1, Ordering::SeqCst);
        respond.send_reset(Reason::REFUSED_STREAM);
        return Ok(());
    }
    faults.arrived(&bytes);
    faults.pause().await;
    match act {
        Act::Reset => respond.send_reset(Reason::INTERNAL_ERROR),
        Act::CloseRead => {}
        _ => {
            let head = http::Response::builder().header("content-type", "application/json").body(()).unwrap();
            let mut sender = respond.send_response(head, false)?;
            let whole = Bytes::from(faults.body.clone());
            if act == Act::CloseWithin {
                sender.send_data(whole.slice(..whole.len() - 1), false)?;
                sender.send_reset(Reason::INTERNAL_ERROR);
            } else {
                sender.send_data(whole, true)?;
            }
        }
    }
    Ok(())
}

/// Result of one request at the client.
#[derive(Debug, Clone, Copy)]
struct Came {
    status: u16,
    attempts: usize,
}

/// Sends the requests from many clients, every second one over HTTP/2. Returns what each request got.
async fn send_all(proxy: &Proxy, requests: usize) -> Vec<Came> {
    let next = AtomicUsize::new(0);
    let came = Mutex::new(vec![None; requests]);
    let clients = (0..CLIENTS).map(async |client| {
        let client = match client % 2 {
            0 => proxy.client(),
            _ => &Client::built(proxy.client().url(""), |builder| builder.http2_prior_knowledge()),
        };
        loop {
            let number = next.fetch_add(1, Ordering::SeqCst);
            if number >= requests {
                return;
            }
            let answer = client.chat(&plain(&number.to_string())).await;
            let attempts = answer.header("x-callwright-attempts").and_then(|count| count.parse().ok());
            let attempts = attempts.unwrap_or_else(|| panic!("{number}: {} {}", answer.status, answer.text()));
            came.lock().unwrap()[number] = Some(Came { status: answer.status.as_u16(), attempts });
        }
    });
    join_all(clients).await;
    came.into_inner().unwrap().into_iter().map(Option::unwrap).collect()
}

async fn start(wire: Wire, faults: &Arc<Faults>) -> Proxy {
    let (url, authority) = serve(wire, faults).await;
    let keys = if wire == Wire::Http1 { "" } else { "ca_file = \"ca.pem\"\n" };
    Proxy::start_with_files(format!("{}{keys}{ALWAYS_SENT}", config(&url)), &[("ca.pem", &authority)]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_fully_read_request_is_sent_again_against_the_protocol() {
    let kinds = [(Wire::Http1, &HTTP1[..]), (Wire::Http1Tls, &HTTP1[..]), (Wire::Http2, &HTTP2[..])];
    for (wire, acts) in kinds {
        let requests = requests() / kinds.len();
        let faults = Faults::new(acts, requests);
        let proxy = start(wire, &faults).await;
        let came = send_all(&proxy, requests).await;
        let (mut answered, mut repeated) = (0, 0);
        for (number, came) in came.iter().enumerate() {
            let (whole, refused) = (faults.whole(number), faults.refused(number));
            assert!(whole <= 1, "{wire:?}: request {number} was read {whole} times: {came:?}");
            assert!(whole + refused <= came.attempts, "{wire:?}: {number} arrived {whole} + {refused} times: {came:?}");
            assert!(came.status != 200 || whole == 1, "{wire:?}: {number}");
            answered += usize::from(came.status == 200);
            repeated += usize::from(came.attempts > 1);
        }
        assert!(answered > requests / 4, "{wire:?}: {answered} of {requests}");
        assert!(repeated > 0, "{wire:?}: what is proven to be unprocessed is sent again");
    }
}

/// The server closes its idle connections as often as a request meets them. The request is sent again if the connection
/// ended before it arrived, which is so for all but those that the server has received and not read: a reset without an
/// end is no proof.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_closes_idle_connections_costs_no_request() {
    let requests = requests();
    let faults = Faults::new(&CLOSING, requests);
    let proxy = start(Wire::Http1, &faults).await;
    let came = send_all(&proxy, requests).await;
    let (mut met, mut lost) = (0, 0);
    for (number, came) in came.iter().enumerate() {
        met += usize::from(came.attempts > 1 || came.status != 200);
        lost += usize::from(came.status != 200);
        assert_eq!(faults.whole(number), usize::from(came.status == 200), "{number}: {came:?}");
    }
    anstream::println!("{met} of {requests} requests met a closing connection; {lost} of them failed");
    assert!(lost * LOST_ONE_OF <= met, "{lost} of {met}");
}
