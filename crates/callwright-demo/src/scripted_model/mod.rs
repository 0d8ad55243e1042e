//! A stand-in for a model, as an OpenAI-compatible server: `POST /v1/chat/completions` (stream or not), `GET /v1/models`.
//!
//! It is stateless. An answer follows from the messages and tools of the one request and from nothing else: no counter, no
//! hidden state, no clock. Sent twice, a request is answered twice with the same bytes.
//!
//! The way of an answer: [`request`] reads the wire, [`exchange`] finds what the user asked and what tools have told since,
//! [`script`] drafts the next call as this model is used to making it, mistakes included, [`lessons`] reads what the feedback
//! says, [`draft`] takes those lessons into the call, [`reply`] writes the wire. A mistake goes away only by a lesson: where the
//! feedback does not say what is wrong, the next call is wrong in the same way. [`planning`] answers the questions by which the proxy draws
//! plans, which are requests of their own.

mod draft;
mod exchange;
mod lessons;
mod planning;
mod question;
mod reply;
mod request;
mod script;
#[cfg(test)]
mod tests;

use http::{HeaderName, Method, StatusCode};
use serde_json::{Value, json};

use super::DemoError;
use super::server::{Handler, Reply, Request, Server};
use exchange::Exchange;
use request::ChatRequest;

/// The only model of the server. It answers to any name: the name of a model is the operator's business.
pub(super) const MODEL: &str = "scripted";

/// The server.
#[derive(Debug)]
pub struct ScriptedModel;

impl ScriptedModel {
    /// Starts it on a free port of loopback; its base URL is the server's plus `/v1`.
    ///
    /// # Errors
    /// [`DemoError::Listen`].
    pub async fn start() -> Result<Server, DemoError> {
        Server::start(Self).await
    }
}

impl Handler for ScriptedModel {
    async fn handle(&self, request: &Request) -> Reply {
        match (&request.method, request.path.as_str()) {
            (&Method::POST, "/v1/chat/completions") => chat(&request.body),
            (&Method::GET, "/v1/models") => {
                let model =
                    json!({ "id": MODEL, "object": "model", "created": reply::CREATED, "owned_by": "callwright-demo" });
                Reply::json(StatusCode::OK, &json!({ "object": "list", "data": [model] }))
            }
            (method, path) => {
                let message = format!("there is nothing at {method} {path}; try POST /v1/chat/completions");
                Reply::json(StatusCode::NOT_FOUND, &error(&message))
            }
        }
    }
}

fn chat(body: &[u8]) -> Reply {
    let request = match ChatRequest::parse(body) {
        Ok(request) => request,
        Err(message) => return Reply::json(StatusCode::BAD_REQUEST, &error(&message)),
    };
    let exchange = Exchange::of(&request.messages);
    let answer = match planning::answer(&request.messages) {
        Some(text) => reply::Answer { text, calls: Vec::new(), position: exchange.position },
        None => script::answer(&request, &exchange),
    };
    let reply = if request.stream {
        Reply::events(reply::chunks(&request, &answer))
    } else {
        Reply::json(StatusCode::OK, &reply::completion(&request, &answer))
    };
    reply.with_header(HeaderName::from_static("x-request-id"), &format!("req-{}", answer.position))
}

fn error(message: &str) -> Value {
    json!({ "error": { "message": message, "type": "invalid_request_error", "param": null, "code": null } })
}
