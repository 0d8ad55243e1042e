//! A provider and an API in one: the request's `seed` selects the provider's response and how it is broken.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::net::TcpListener;

type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// One in this many responses is broken: 5 %.
pub(crate) const BROKEN_ONE_OF: u64 = 20;

/// Scenario of a request number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scene {
    /// A text.
    Text,
    /// A valid call.
    Clean,
    /// A call that is repaired.
    Repaired,
    /// A call that is sent back and then valid.
    Corrected,
    /// A call that the proxy executes, then a text.
    Executed,
}

impl Scene {
    pub(crate) fn of(number: u64) -> Self {
        [Self::Text, Self::Clean, Self::Repaired, Self::Corrected, Self::Executed][(number % 5) as usize]
    }
}

/// Whether the response of this number is broken.
pub(crate) fn is_broken(number: u64) -> bool {
    number % BROKEN_ONE_OF == 7
}

/// The running server.
pub(crate) struct Upstream {
    port: u16,
    arrivals: Arc<AtomicU64>,
}

impl Upstream {
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Number of model requests that were read whole.
    pub(crate) fn arrivals(&self) -> u64 {
        self.arrivals.load(Ordering::Relaxed)
    }
}

/// Serves until the process ends.
pub(crate) async fn start() -> std::io::Result<Upstream> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let arrivals = Arc::<AtomicU64>::default();
    let count = Arc::clone(&arrivals);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let _ = socket.set_nodelay(true);
            let count = Arc::clone(&count);
            let service = service_fn(move |request| respond(request, Arc::clone(&count)));
            tokio::spawn(async move {
                // Some connections are interrupted on purpose.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
            });
        }
    });
    Ok(Upstream { port, arrivals })
}

/// The members of a chat request that select the response. The others are not parsed: they can be large, and their cost
/// would count as the proxy's.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Selection {
    seed: u64,
    stream: bool,
    hostile: Option<String>,
    /// Size of the events of a long text.
    event_bytes: Option<usize>,
    messages: Vec<IgnoredAny>,
}

async fn respond(request: Request<Incoming>, arrivals: Arc<AtomicU64>) -> Result<Response<Body>, std::io::Error> {
    if request.uri().path().starts_with("/api/") {
        return Ok(whole(StatusCode::OK, json!({"rooms": ["blue", "green"]}).to_string()));
    }
    let body = request.into_body().collect().await.map_err(std::io::Error::other)?.to_bytes();
    arrivals.fetch_add(1, Ordering::Relaxed);
    let Selection { seed: number, stream: is_stream, hostile, event_bytes, messages } =
        serde_json::from_slice(&body).unwrap_or_default();
    if let Some(kind) = hostile {
        return Ok(whole(StatusCode::OK, hostile_answer(&kind)));
    }
    if let Some(bytes) = event_bytes {
        return Ok(long_text(bytes));
    }
    if is_broken(number) {
        return broken(number / BROKEN_ONE_OF, is_stream);
    }
    let call = |name: &str, arguments: &str| Some((name.to_owned(), arguments.to_owned()));
    let said = match (Scene::of(number), messages.len()) {
        (Scene::Clean, _) => call("get_weather", r#"{"city":"Paris","days":3}"#),
        (Scene::Repaired, _) => call("getWeather", r#"{"City":"Paris","days":"3"}"#),
        (Scene::Corrected, 1) => call("get_weather", r#"{"days":3}"#),
        (Scene::Corrected, _) => call("get_weather", r#"{"city":"Paris"}"#),
        (Scene::Executed, 1) => call("listRooms", r#"{"floor":5}"#),
        (Scene::Text | Scene::Executed, _) => None,
    };
    Ok(if is_stream { events(said.as_ref()) } else { whole(StatusCode::OK, message(said.as_ref())) })
}

/// Size of a long streamed text in bytes.
const LONG: usize = 5_000_000;

/// Returns a stream of about [`LONG`] bytes, in events of about `bytes` each.
fn long_text(bytes: usize) -> Response<Body> {
    let empty = event(&json!({"content": ""}), None).len();
    let short = Bytes::from_static(b"data: {\"choices\":[{\"delta\":{\"content\":\"so on \"}}]}\n\n");
    let piece = match bytes.checked_sub(empty) {
        Some(text) => event(&json!({"content": "x".repeat(text)}), None),
        None => short,
    };
    let count = LONG / piece.len();
    let ends = [event(&json!({}), Some("stop")), Bytes::from_static(b"data: [DONE]\n\n")];
    let events = [event(&json!({"role": "assistant", "content": ""}), None)].into_iter();
    let events = events.chain(std::iter::repeat_n(piece, count)).chain(ends);
    let frames = stream::iter(events.map(|bytes| Ok(Frame::data(bytes))));
    head("text/event-stream").body(StreamBody::new(frames).boxed_unsync()).unwrap_or_default_body()
}

/// Approximate size of a hostile response in bytes.
const HOSTILE: usize = 1 << 20;

/// Returns a response with maximum judgement cost: many unknown parameters, many faulty calls, or text with many
/// beginnings of calls.
fn hostile_answer(kind: &str) -> Bytes {
    static PARAMETERS: LazyLock<Bytes> = LazyLock::new(|| hostile("parameters").into());
    static CALLS: LazyLock<Bytes> = LazyLock::new(|| hostile("calls").into());
    static TEXT: LazyLock<Bytes> = LazyLock::new(|| hostile("text").into());
    match kind {
        "parameters" => PARAMETERS.clone(),
        "calls" => CALLS.clone(),
        _ => TEXT.clone(),
    }
}

fn hostile(kind: &str) -> String {
    let call = |id: usize, arguments: &str| json!({"id": format!("call_{id}"), "type": "function", "function": {"name": "get_weather", "arguments": arguments}});
    let message = match kind {
        "parameters" => {
            let members: Vec<String> =
                (0..HOSTILE / 24).map(|number| format!("\"citi_{number}\":\"x{number}\"")).collect();
            json!({"role": "assistant", "content": null, "tool_calls": [call(0, &format!("{{{}}}", members.join(",")))]})
        }
        "calls" => {
            let calls: Vec<Value> = (0..4_000).map(|id| call(id, "{\"citi\":\"Paris\",\"day\":3}")).collect();
            json!({"role": "assistant", "content": null, "tool_calls": calls})
        }
        _ => {
            let piece = "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\n";
            json!({"role": "assistant", "content": piece.repeat(HOSTILE / piece.len())})
        }
    };
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    json!({"id": "x", "object": "chat.completion", "created": 1, "model": "soak", "choices": [choice]}).to_string()
}

fn broken(kind: u64, is_stream: bool) -> Result<Response<Body>, std::io::Error> {
    match kind % 5 {
        0 => Ok(whole(
            StatusCode::INTERNAL_SERVER_ERROR,
            json!({"error": {"message": "broken", "type": "server_error"}}).to_string(),
        )),
        1 => Err(std::io::Error::other("closed without an answer")),
        2 => Ok(whole(StatusCode::OK, "<html>not what was asked for</html>".to_owned())),
        3 if is_stream => {
            let begun = vec![
                Ok(Frame::data(event(&json!({"role": "assistant", "content": "half of"}), None))),
                Err(std::io::Error::other("cut off")),
            ];
            Ok(head("text/event-stream")
                .body(StreamBody::new(stream::iter(begun)).boxed_unsync())
                .unwrap_or_default_body())
        }
        3 => {
            let begun =
                vec![Ok(Frame::data(Bytes::from_static(b"{\"id\":\"x\","))), Err(std::io::Error::other("cut off"))];
            Ok(head("application/json")
                .body(StreamBody::new(stream::iter(begun)).boxed_unsync())
                .unwrap_or_default_body())
        }
        _ => Ok(whole(
            StatusCode::TOO_MANY_REQUESTS,
            json!({"error": {"message": "slow down", "type": "rate_limit"}}).to_string(),
        )),
    }
}

fn head(kind: &str) -> http::response::Builder {
    Response::builder().header("content-type", kind).header("x-request-id", "req_soak")
}

/// Building a response from constant parts cannot fail; an empty one would count as wrong.
trait OrEmpty {
    fn unwrap_or_default_body(self) -> Response<Body>;
}

impl OrEmpty for http::Result<Response<Body>> {
    fn unwrap_or_default_body(self) -> Response<Body> {
        self.unwrap_or_else(|_| Response::new(full(String::new())))
    }
}

fn full(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).map_err(|never: Infallible| match never {}).boxed_unsync()
}

fn whole(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    head("application/json").status(status).body(full(text)).unwrap_or_default_body()
}

fn message(call: Option<&(String, String)>) -> String {
    let (message, reason) = match call {
        None => (json!({"role": "assistant", "content": "It rains in Paris."}), "stop"),
        Some((name, arguments)) => {
            let call =
                json!({"id": "call_Zk3nQ9vR1", "type": "function", "function": {"name": name, "arguments": arguments}});
            (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
        }
    };
    json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1_750_000_000, "model": "soak",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 182, "completion_tokens": 41, "total_tokens": 223}})
    .to_string()
}

fn event(delta: &Value, reason: Option<&str>) -> Bytes {
    let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_750_000_000, "model": "soak",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    Bytes::from(format!("data: {chunk}\n\n"))
}

fn events(call: Option<&(String, String)>) -> Response<Body> {
    let mut events = vec![event(&json!({"role": "assistant", "content": ""}), None)];
    match call {
        None => {
            events.extend("It rains in Paris.".split_inclusive(' ').map(|word| event(&json!({"content": word}), None)));
            events.push(event(&json!({}), Some("stop")));
        }
        Some((name, arguments)) => {
            let begin = json!({"index": 0, "id": "call_Zk3nQ9vR1", "type": "function", "function": {"name": name, "arguments": ""}});
            events.push(event(&json!({"tool_calls": [begin]}), None));
            let (first, rest) = arguments.split_at(arguments.len() / 2);
            for piece in [first, rest] {
                events.push(event(&json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}), None));
            }
            events.push(event(&json!({}), Some("tool_calls")));
        }
    }
    events.push(Bytes::from_static(b"data: [DONE]\n\n"));
    let frames = stream::iter(events.into_iter().map(|bytes| Ok(Frame::data(bytes))));
    head("text/event-stream").body(StreamBody::new(frames).boxed_unsync()).unwrap_or_default_body()
}
