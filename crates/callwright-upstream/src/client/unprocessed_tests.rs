//! A request is sent again only if the upstream certainly has not processed it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/tls");
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

/// A byte stream that can be closed.
trait Socket: Read + Write {
    fn tcp(&self) -> &TcpStream;

    /// Closes without a further read, with the last words of the protocol.
    fn close(&mut self) {}
}

impl Socket for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Socket for StreamOwned<ServerConnection, TcpStream> {
    fn tcp(&self) -> &TcpStream {
        &self.sock
    }

    fn close(&mut self) {
        self.conn.send_close_notify();
        let _ = self.flush();
    }
}

/// Returns the TLS configuration of a server.
fn tls(protocol: &[u8]) -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_file(format!("{FIXTURES}/server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(format!("{FIXTURES}/server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = vec![protocol.to_vec()];
    Arc::new(config)
}

fn upstream(port: u16, is_tls: bool) -> Upstream {
    let scheme = if is_tls { "https" } else { "http" };
    let base_url = format!("{scheme}://localhost:{port}/v1");
    let settings =
        Settings { base_url, ca_file: format!("{FIXTURES}/ca.pem"), connect_retries: 0, ..Settings::default() };
    Upstream::build("u", &settings, true).unwrap()
}

async fn once(upstream: &Upstream) -> Result<Answer, UpstreamFailure> {
    upstream.answer_once(Protocol::Chat, None, Bytes::from_static(b"{\"model\":\"m\"}"), &HeaderMap::new()).await
}

async fn answered(upstream: &Upstream) -> Bytes {
    let answer = upstream.chat(Bytes::from_static(b"{\"model\":\"m\"}"), &HeaderMap::new()).await;
    answer.unwrap().whole().await.unwrap()
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It is closed while no request is read.
    Idle,
    /// It is closed after a request was read whole.
    AfterRequest,
    /// It is reset after a request was read whole.
    Aborted,
}

/// A server whose connections answer one request and end in this way at the next.
struct ClosingServer {
    port: u16,
    /// Number of requests that were read whole.
    arrivals: Arc<AtomicUsize>,
    close: mpsc::Sender<()>,
    is_closed: mpsc::Receiver<()>,
}

impl ClosingServer {
    /// Closes the idle connection. Blocks the runtime, which thus does not notice that.
    fn close_idle(&self) {
        self.close.send(()).unwrap();
        self.is_closed.recv().unwrap();
    }

    fn arrivals(&self) -> usize {
        self.arrivals.load(Ordering::SeqCst)
    }
}

fn server(end: End, is_tls: bool) -> ClosingServer {
    let listener = TcpListener::bind("localhost:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let arrivals = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&arrivals);
    let ((close, must_close), (closed, is_closed)) = (mpsc::channel(), mpsc::channel());
    thread::spawn(move || {
        for tcp in listener.incoming().map_while(Result::ok) {
            let mut socket: Box<dyn Socket> = match is_tls {
                true => Box::new(StreamOwned::new(ServerConnection::new(tls(b"http/1.1")).unwrap(), tcp)),
                false => Box::new(tcp),
            };
            if !read_request(&mut *socket) {
                continue;
            }
            count.fetch_add(1, Ordering::SeqCst);
            socket.write_all(ANSWER).unwrap();
            socket.flush().unwrap();
            if end == End::Idle {
                let _ = must_close.recv();
            } else if read_request(&mut *socket) {
                count.fetch_add(1, Ordering::SeqCst);
            }
            match end {
                End::Aborted => socket.tcp().set_zero_linger(),
                _ => socket.close(),
            }
            drop(socket);
            let _ = closed.send(());
        }
    });
    ClosingServer { port, arrivals, close, is_closed }
}

fn read_request(socket: &mut dyn Socket) -> bool {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"{\"model\":\"m\"}") {
        let mut buffer = [0; 1024];
        match socket.read(&mut buffer) {
            Ok(count) if count > 0 => bytes.extend_from_slice(&buffer[..count]),
            _ => return false,
        }
    }
    true
}

trait ZeroLinger {
    fn set_zero_linger(&self);
}

impl ZeroLinger for TcpStream {
    fn set_zero_linger(&self) {
        let tcp = tokio::net::TcpSocket::from_std_stream(self.try_clone().unwrap());
        tcp.set_zero_linger().unwrap();
    }
}

#[tokio::test]
async fn a_request_that_meets_a_closing_connection_is_sent_once_more() {
    for is_tls in [false, true] {
        let server = server(End::Idle, is_tls);
        let upstream = upstream(server.port, is_tls);
        assert_eq!(once(&upstream).await.unwrap().whole().await.unwrap(), "{}");
        server.close_idle();
        let failure = once(&upstream).await.unwrap_err();
        assert_eq!(failure.kind, UpstreamFailureKind::Unread, "tls {is_tls}: {failure}");
        assert_eq!(answered(&upstream).await, "{}");
        server.close_idle();
        assert_eq!(answered(&upstream).await, "{}", "it is repeated");
        assert_eq!(server.arrivals(), 3, "tls {is_tls}: none was read twice");
    }
}

#[tokio::test]
async fn a_request_that_was_read_is_not_sent_again() {
    for (end, is_tls) in [(End::AfterRequest, false), (End::AfterRequest, true), (End::Aborted, false)] {
        let server = server(end, is_tls);
        let upstream = upstream(server.port, is_tls);
        assert_eq!(answered(&upstream).await, "{}");
        let failure = upstream.chat(Bytes::from_static(b"{\"model\":\"m\"}"), &HeaderMap::new()).await.unwrap_err();
        assert_eq!(failure.kind, UpstreamFailureKind::Reset, "{end:?}, tls {is_tls}: {failure}");
        assert_eq!(server.arrivals(), 2, "{end:?}, tls {is_tls}");
    }
}

/// Frames of HTTP/2 (RFC 9113, section 6).
mod frame {
    pub(super) const DATA: u8 = 0;
    pub(super) const HEADERS: u8 = 1;
    pub(super) const RST_STREAM: u8 = 3;
    pub(super) const SETTINGS: u8 = 4;
    pub(super) const GOAWAY: u8 = 7;
    pub(super) const END_STREAM: u8 = 1;
    pub(super) const ACK: u8 = 1;
    pub(super) const END_HEADERS: u8 = 4;
    /// `:status: 200` in the static table of HPACK.
    pub(super) const STATUS_200: u8 = 0x88;
    pub(super) const PREFACE_LENGTH: usize = 24;
}

/// How a server treats the second request of a connection over HTTP/2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// `RST_STREAM` with this error code.
    Reset(u32),
    /// `GOAWAY` with this last stream, then the end of the connection.
    GoAway(u32),
    /// The end of the connection.
    Close,
}

const REFUSED_STREAM: u32 = 7;
const INTERNAL_ERROR: u32 = 2;

/// Serves HTTP/2: each connection answers its first request and treats the second one so. Returns the port and the number
/// of requests that arrived.
fn http2_server(fault: Fault) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("localhost:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let arrivals = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&arrivals);
    thread::spawn(move || {
        for tcp in listener.incoming().map_while(Result::ok) {
            let socket = StreamOwned::new(ServerConnection::new(tls(b"h2")).unwrap(), tcp);
            let _ = serve_http2(socket, fault, &count);
        }
    });
    (port, arrivals)
}

fn serve_http2(
    mut socket: StreamOwned<ServerConnection, TcpStream>,
    fault: Fault,
    count: &AtomicUsize,
) -> std::io::Result<()> {
    socket.read_exact(&mut [0; frame::PREFACE_LENGTH])?;
    write_frame(&mut socket, frame::SETTINGS, 0, 0, &[])?;
    let mut requests = 0;
    loop {
        let mut head = [0; 9];
        socket.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        socket.read_exact(&mut vec![0; length as usize])?;
        let (kind, flags) = (head[3], head[4]);
        if kind == frame::SETTINGS && flags & frame::ACK == 0 {
            write_frame(&mut socket, frame::SETTINGS, frame::ACK, 0, &[])?;
        }
        if kind != frame::DATA || flags & frame::END_STREAM == 0 {
            continue;
        }
        count.fetch_add(1, Ordering::SeqCst);
        requests += 1;
        if requests == 1 {
            write_frame(&mut socket, frame::HEADERS, frame::END_HEADERS, stream, &[frame::STATUS_200])?;
            write_frame(&mut socket, frame::DATA, frame::END_STREAM, stream, b"{}")?;
            continue;
        }
        match fault {
            Fault::Reset(code) => {
                write_frame(&mut socket, frame::RST_STREAM, 0, stream, &code.to_be_bytes())?;
                requests = 0;
            }
            Fault::GoAway(last) => {
                let payload = [last.to_be_bytes(), INTERNAL_ERROR.to_be_bytes()].concat();
                write_frame(&mut socket, frame::GOAWAY, 0, 0, &payload)?;
                socket.sock.shutdown(Shutdown::Write)?;
                return Ok(());
            }
            Fault::Close => return Ok(()),
        }
    }
}

fn write_frame(socket: &mut dyn Write, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> std::io::Result<()> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    socket.write_all(&bytes)?;
    socket.flush()
}

#[tokio::test]
async fn only_what_an_http2_server_left_unprocessed_is_sent_again() {
    // The streams of a client have odd numbers.
    let (first, second) = (1, 3);
    for (fault, is_repeated) in [
        (Fault::Reset(REFUSED_STREAM), true),
        (Fault::Reset(INTERNAL_ERROR), false),
        (Fault::GoAway(first), true),
        (Fault::GoAway(second), false),
        (Fault::Close, false),
    ] {
        let (port, arrivals) = http2_server(fault);
        let upstream = upstream(port, true);
        assert_eq!(answered(&upstream).await, "{}", "{fault:?}");
        let second = upstream.chat(Bytes::from_static(b"{\"model\":\"m\"}"), &HeaderMap::new()).await;
        let failure = second.as_ref().err().map(ToString::to_string);
        assert_eq!(second.is_ok(), is_repeated, "{fault:?}: {failure:?}");
        assert_eq!(arrivals.load(Ordering::SeqCst), 2 + usize::from(is_repeated), "{fault:?}");
    }
}
