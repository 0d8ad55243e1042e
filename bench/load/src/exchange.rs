//! One HTTP/1.1 exchange of a client: the request's bytes, and an incremental reader of responses (RFC 9112) that works
//! for blocking and for asynchronous sockets.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use http::Uri;
use memchr::memmem::Finder;

/// Arguments that all clients share.
#[derive(clap::Args)]
pub(crate) struct RequestArguments {
    /// URL for the `POST` requests.
    url: Uri,
    /// File with the request body.
    #[arg(long)]
    body: PathBuf,
    /// Text that every response must contain, so that an error page does not count as a fast response. Repeatable.
    #[arg(long, required = true)]
    expect: Vec<String>,
    /// Additional header field as `name: value`. Repeatable.
    #[arg(long)]
    header: Vec<String>,
}

/// Prepared request with the address of its server and the check of its responses.
pub(crate) struct Exchange {
    pub(crate) address: SocketAddr,
    pub(crate) request: Vec<u8>,
    expected: Vec<Finder<'static>>,
}

impl Exchange {
    /// Reads the body and resolves the address.
    pub(crate) fn new(arguments: &RequestArguments) -> Result<Self, String> {
        let url = &arguments.url;
        let authority = url.authority().ok_or_else(|| format!("{url}: the URL has no host"))?;
        let address = (authority.host(), authority.port_u16().unwrap_or(80))
            .to_socket_addrs()
            .map_err(|error| format!("{url}: {error}"))?
            .next()
            .ok_or_else(|| format!("{url}: the host has no address"))?;
        let body = std::fs::read(&arguments.body).map_err(|error| format!("{}: {error}", arguments.body.display()))?;
        let path = url.path_and_query().map_or("/", |path| path.as_str());
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nhost: {authority}\r\nauthorization: Bearer bench\r\n\
             content-type: application/json\r\naccept: */*\r\ncontent-length: {}\r\n",
            body.len()
        );
        for field in &arguments.header {
            head.push_str(field);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        let expected = arguments.expect.iter().map(|text| Finder::new(text.as_bytes()).into_owned()).collect();
        Ok(Self { address, request: [head.into_bytes(), body].concat(), expected })
    }

    /// Returns an error unless the response is the expected one.
    pub(crate) fn check(&self, response: &Response) -> Result<(), String> {
        let is_expected = self.expected.iter().all(|text| text.find(&response.body).is_some());
        if response.status == 200 && is_expected {
            return Ok(());
        }
        let body = String::from_utf8_lossy(response.body.get(..2_000).unwrap_or(&response.body));
        Err(format!("unexpected response with status {}: {body}", response.status))
    }
}

/// What a [`Response`] reads next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Part {
    #[default]
    StatusLine,
    Field,
    /// Body or chunk with this many bytes left.
    Bytes {
        left: usize,
        is_chunk: bool,
    },
    ChunkSize,
    ChunkEnd,
    Trailer,
    End,
}

/// Longest line of a response's head, and of the line before a chunk.
const LONGEST_LINE: usize = 64 * 1024;

/// Response that is read in pieces of any size.
#[derive(Debug, Default)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// Whether the server closes the connection after this response.
    pub(crate) is_last: bool,
    length: Option<usize>,
    is_chunked: bool,
    part: Part,
    line: Vec<u8>,
}

impl Response {
    /// Forgets the response, and keeps its memory for the next one.
    pub(crate) fn clear(&mut self) {
        let (mut body, mut line) = (std::mem::take(&mut self.body), std::mem::take(&mut self.line));
        body.clear();
        line.clear();
        *self = Self { body, line, ..Self::default() };
    }

    /// Whether the response is complete.
    pub(crate) fn is_complete(&self) -> bool {
        self.part == Part::End
    }

    /// Reads received bytes.
    ///
    /// # Errors
    /// If they are not a response, or if bytes follow its end.
    pub(crate) fn read(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while let Some(first) = bytes.first() {
            match self.part {
                Part::End => return Err("bytes after the end of the response".to_owned()),
                Part::Bytes { left, is_chunk } => {
                    let (now, rest) = bytes.split_at(left.min(bytes.len()));
                    self.body.extend_from_slice(now);
                    bytes = rest;
                    self.part = match left - now.len() {
                        0 if is_chunk => Part::ChunkEnd,
                        0 => Part::End,
                        left => Part::Bytes { left, is_chunk },
                    };
                }
                _ if *first == b'\n' => {
                    bytes = bytes.split_at(1).1;
                    self.end_line()?;
                }
                _ => {
                    let end = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
                    let (now, rest) = bytes.split_at(end);
                    if self.line.len() + now.len() > LONGEST_LINE {
                        return Err(format!("a line of the response is longer than {LONGEST_LINE} bytes"));
                    }
                    self.line.extend_from_slice(now);
                    bytes = rest;
                }
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), String> {
        let line = std::str::from_utf8(&self.line).map_err(|error| format!("head of the response: {error}"))?.trim();
        let is_empty = line.is_empty();
        self.part = match self.part {
            Part::StatusLine => {
                let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
                self.status = status
                    .and_then(|status| status.parse().ok())
                    .ok_or_else(|| format!("not a status line of HTTP/1.1: {line}"))?;
                Part::Field
            }
            Part::Field if !is_empty => {
                let (name, value) = line.split_once(':').unwrap_or((line, ""));
                let value = value.trim();
                if name.eq_ignore_ascii_case("content-length") {
                    self.length = Some(value.parse().map_err(|error| format!("content-length {value}: {error}"))?);
                } else if name.eq_ignore_ascii_case("transfer-encoding") {
                    self.is_chunked = value.eq_ignore_ascii_case("chunked");
                } else if name.eq_ignore_ascii_case("connection") {
                    self.is_last = value.eq_ignore_ascii_case("close");
                }
                Part::Field
            }
            Part::Field if self.is_chunked => Part::ChunkSize,
            Part::Field => match self.length {
                Some(0) => Part::End,
                Some(left) => Part::Bytes { left, is_chunk: false },
                None => return Err("the response has neither content-length nor chunks".to_owned()),
            },
            Part::ChunkSize => {
                let size = line.split(';').next().unwrap_or_default().trim();
                match usize::from_str_radix(size, 16).map_err(|error| format!("size of a chunk {size:?}: {error}"))? {
                    0 => Part::Trailer,
                    left => Part::Bytes { left, is_chunk: true },
                }
            }
            Part::ChunkEnd if is_empty => Part::ChunkSize,
            Part::ChunkEnd => return Err("a chunk is longer than its size".to_owned()),
            Part::Trailer if is_empty => Part::End,
            part => part,
        };
        self.line.clear();
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns an exchange without a body that expects `ok`.
    pub(crate) fn exchange_with(address: SocketAddr) -> Exchange {
        let request = b"POST / HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec();
        Exchange { address, request, expected: vec![Finder::new("ok").into_owned()] }
    }

    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
                           5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n";

    #[test]
    fn a_response_is_read_however_it_is_split() {
        let length = "HTTP/1.1 201 Created\r\ncontent-length: 11\r\n\r\nhello world";
        for (text, status, is_last) in [(CHUNKED, 200, true), (length, 201, false)] {
            for size in 1..=text.len() {
                let mut response = Response::default();
                for (number, piece) in text.as_bytes().chunks(size).enumerate() {
                    assert!(!response.is_complete(), "{size}: complete before piece {number}");
                    response.read(piece).unwrap();
                }
                assert!(response.is_complete(), "{size}");
                assert_eq!((response.status, response.is_last), (status, is_last));
                assert_eq!(response.body, b"hello world");
                response.clear();
                assert!(!response.is_complete() && response.body.is_empty() && !response.is_last);
            }
        }
    }

    #[test]
    fn broken_responses_are_errors() {
        let table = [
            ("GET / HTTP/1.1\r\n", "status line"),
            ("HTTP/1.1 200 OK\r\n\r\n", "neither content-length nor chunks"),
            ("HTTP/1.1 200 OK\r\ncontent-length: x\r\n", "content-length"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", "size of a chunk"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n", "longer than its size"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab", "after the end"),
        ];
        for (text, expected) in table {
            let error = Response::default().read(text.as_bytes()).unwrap_err();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn only_the_expected_content_passes() {
        let expected = ["get_weather", "[DONE]"].map(|text| Finder::new(text).into_owned());
        let exchange = Exchange { address: ([127, 0, 0, 1], 1).into(), request: Vec::new(), expected: expected.into() };
        for (status, body, passes) in
            [(200, "get_weather [DONE]", true), (200, "get_weather", false), (502, "get_weather [DONE]", false)]
        {
            let response = Response { status, body: body.into(), ..Response::default() };
            assert_eq!(exchange.check(&response).is_ok(), passes, "{status} {body}");
        }
    }
}
