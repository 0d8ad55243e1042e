//! Scripted model for tests, served over real HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{LearnerModel, ModelSettings};
use callwright_upstream::test_server::{Step, TestServer};
use callwright_upstream::{Patience, Settings, TextModel, Upstreams};

/// Server that answers requests in order, all on one connection.
pub(super) struct ScriptedModel {
    server: TestServer,
}

/// Scripted response: status, additional header lines, body.
pub(super) type Scripted = (u16, &'static str, Value);

/// Returns a response with this text.
pub(super) fn text(content: &str) -> Scripted {
    message(json!({"role": "assistant", "content": content}), "stop")
}

/// Returns a response with this message.
pub(super) fn message(message: Value, finish_reason: &str) -> Scripted {
    let choice = json!({"index": 0, "message": message, "finish_reason": finish_reason});
    (200, "", json!({"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}))
}

/// Returns an error response.
pub(super) fn error(status: u16, message: &str) -> Scripted {
    (status, "retry-after: 0\r\n", json!({"error": {"message": message}}))
}

impl ScriptedModel {
    pub(super) async fn answering(script: impl IntoIterator<Item = Scripted>) -> Self {
        let mut steps = Vec::new();
        for (status, head, body) in script {
            let body = body.to_string();
            let head = format!("HTTP/1.1 {status} OK\r\n{head}content-length: {}\r\n\r\n", body.len());
            if !steps.is_empty() {
                steps.push(Step::Await);
            }
            steps.push(Step::Write(format!("{head}{body}").into_bytes()));
        }
        Self { server: TestServer::start(steps).await }
    }

    pub(super) fn model(&self) -> Arc<LearnerModel> {
        let settings = Settings { base_url: self.server.base_url(), connect_retries: 0, ..Settings::default() };
        let upstreams = Upstreams::build(&BTreeMap::from([("scripted".to_owned(), settings)]), "scripted").unwrap();
        let patience = Patience { tries: 4, max_wait: Duration::from_secs(60) };
        let model = TextModel::new(upstreams.default_upstream().clone(), "gpt-test", patience, Arc::default());
        Arc::new(LearnerModel::new(Arc::new(model), "gpt-test", ModelSettings::default()))
    }

    /// Returns the requests so far, headers included.
    pub(super) fn requests(&self) -> Vec<String> {
        self.server.requests()
    }

    /// Returns the body of a request.
    pub(super) fn body(&self, number: usize) -> Value {
        let request = self.requests().remove(number);
        serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}
