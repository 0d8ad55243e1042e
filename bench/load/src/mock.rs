//! Mock upstream: hyper with fixed responses, on all cores, with `TCP_NODELAY`.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::answer::{self, Content, Plan, RequestMembers, Wire};
use crate::chunks::{self, EMPTY_STAMP};

/// Arguments of `mock`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Address to listen on; port 0 selects a free port.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Cache of responses, so that a request costs one lookup and one write.
#[derive(Default)]
struct Made {
    answers: Mutex<HashMap<Key, Answer>>,
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    path: String,
    model: String,
    stream: bool,
}

#[derive(Clone)]
struct Answer {
    plan: Plan,
    body: Frames,
}

#[derive(Clone)]
enum Frames {
    Whole(Bytes),
    Events(Arc<[Bytes]>),
}

/// Prints the address, then serves until the process is terminated.
pub(crate) fn run(arguments: &Arguments) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(arguments.listen).await?;
        let mut stdout = std::io::stdout();
        writeln!(stdout, "mock listening http://{}", listener.local_addr()?)?;
        stdout.flush()?;
        let made = Arc::new(Made::default());
        loop {
            let (socket, _) = listener.accept().await?;
            socket.set_nodelay(true)?;
            let made = made.clone();
            tokio::spawn(async move {
                let service = service_fn(|request| respond(request, &made));
                // Disconnects of clients are not errors.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
            });
        }
    })
}

async fn respond(request: Request<Incoming>, made: &Made) -> Result<Response<Body>, hyper::Error> {
    let path = request.uri().path().to_owned();
    if path.ends_with("/v1/models") {
        return Ok(json(Bytes::from_static(
            br#"{"object":"list","data":[{"id":"mock","object":"model","created":1750000000,"owned_by":"mock"}]}"#,
        )));
    }
    let body = request.into_body().collect().await?.to_bytes();
    match made.answer(path, &body) {
        Ok(answer) => {
            if !answer.plan.delay.is_zero() {
                tokio::time::sleep(answer.plan.delay).await;
            }
            Ok(match answer.body {
                Frames::Whole(bytes) => json(bytes),
                Frames::Events(events) => event_stream(events, answer.plan),
            })
        }
        Err(message) => {
            let mut refusal =
                json(Bytes::from(serde_json::json!({"error": {"message": message, "type": "mock"}}).to_string()));
            *refusal.status_mut() = StatusCode::BAD_REQUEST;
            Ok(refusal)
        }
    }
}

impl Made {
    fn answer(&self, path: String, body: &[u8]) -> Result<Answer, String> {
        let request: RequestMembers<'_> = serde_json::from_slice(body).map_err(|error| format!("request: {error}"))?;
        let key = Key { path, model: request.model.into_owned(), stream: request.stream };
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = answers.get(&key) {
            return Ok(answer.clone());
        }
        let plan = Plan::of_path(&key.path)?;
        let wire = Wire::of_path(&key.path);
        let content = Content::of_plan(&plan);
        let body = if key.stream {
            Frames::Events(answer::events(wire, &content, &key.model, plan.chunks).into())
        } else {
            Frames::Whole(answer::whole(wire, &content, &key.model))
        };
        let answer = Answer { plan, body };
        answers.insert(key, answer.clone());
        Ok(answer)
    }
}

fn json(bytes: Bytes) -> Response<Body> {
    let mut response = Response::new(Full::new(bytes).boxed_unsync());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert("x-request-id", HeaderValue::from_static("req_mock"));
    response
}

fn event_stream(events: Arc<[Bytes]>, plan: Plan) -> Response<Body> {
    let frames = stream::unfold(0, move |index| {
        let events = events.clone();
        async move {
            let event = events.get(index)?.clone();
            if index > 0 && !plan.spacing.is_zero() {
                tokio::time::sleep(plan.spacing).await;
            }
            let event = if plan.stamps { stamped(&event) } else { event };
            Some((Ok(Frame::data(event)), index + 1))
        }
    });
    let mut response = Response::new(StreamBody::new(frames.boxed()).boxed_unsync());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    response.headers_mut().insert("x-request-id", HeaderValue::from_static("req_mock"));
    response
}

/// Fills the time into an event that has a place for it.
fn stamped(event: &Bytes) -> Bytes {
    let Some(start) = memchr::memmem::find(event, EMPTY_STAMP.as_bytes()) else { return event.clone() };
    let (before, rest) = event.split_at(start);
    let after = rest.get(EMPTY_STAMP.len()..).unwrap_or_default();
    [before, chunks::stamp(chunks::now()).as_bytes(), after].concat().into()
}
