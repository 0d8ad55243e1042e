//! Scripted substitute for a model, as an OpenAI-compatible server: `POST /v1/chat/completions` (stream or not), `GET
//! /v1/models`. Owns the rules of the model. Must not keep state.
//!
//! An answer depends only on the messages and tools of its request: there is no counter, no hidden state, no clock.
//! Equal requests get answers with equal bytes.
//!
//! Steps of an answer: [`request`] parses the request, [`exchange`] finds the user's question and the tool messages
//! since, and [`script`] drafts the next call with the typical mistakes of this model. Then [`lessons`] interprets the
//! feedback, [`draft`] applies the lessons to the call, and [`reply`] writes the response. Only a lesson corrects a
//! mistake: if the feedback does not name the fault, the next call has the same fault. [`planning`] answers the proxy's
//! planning requests.

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
use exchange::ScriptedExchange;
use request::ScriptedRequest;

/// Only model of the server. It accepts any model name: names are chosen by the operator.
const MODEL: &str = "scripted";

/// Server.
#[derive(Debug)]
pub(super) struct ScriptedModel;

impl ScriptedModel {
    /// Starts the model on a free loopback port. Its base URL is the server's URL plus `/v1`.
    pub(super) async fn start() -> Result<Server, DemoError> {
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
    let request = match ScriptedRequest::parse(body) {
        Ok(request) => request,
        Err(message) => return Reply::json(StatusCode::BAD_REQUEST, &error(&message)),
    };
    let exchange = ScriptedExchange::latest(&request.messages);
    let answer = match planning::answer(&request.messages) {
        Some(text) => reply::ScriptedAnswer { text, calls: Vec::new(), position: exchange.position },
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
