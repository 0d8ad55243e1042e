//! A stand-in for a model, as an OpenAI-compatible server.

use http::StatusCode;
use serde_json::json;

use super::DemoError;
use super::server::{Handler, Reply, Request, Server};

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
    fn handle(&self, request: &Request) -> Reply {
        match request.path.as_str() {
            "/v1/models" => {
                Reply::json(StatusCode::OK, &json!({"object": "list", "data": [{"id": "scripted", "object": "model"}]}))
            }
            path => Reply::json(
                StatusCode::NOT_FOUND,
                &json!({"error": {"message": format!("there is nothing at {path}"), "type": "invalid_request_error", "param": null, "code": null}}),
            ),
        }
    }
}
