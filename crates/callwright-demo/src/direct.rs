//! The same conversations without the proxy: a plain agent with the same tools sends the model's calls to the APIs as
//! they are, and gives the answers to the model.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::client_answer::{ClientAnswer, ClientCall};
use super::sample_api::APIS;
use super::{DemoError, client};

/// Maximum number of client requests in a conversation, through the proxy or without it, in case the model only makes
/// calls.
pub(super) const MOST_TURNS: u64 = 6;

/// Model name of the scripted model.
const MODEL: &str = "scripted";

/// Maximum number of tools of a sample API.
const MOST_TOOLS: u32 = 100;

/// Tools of one API with their operations.
#[derive(Debug, Default)]
pub(super) struct DirectTools {
    base_url: String,
    credential: (String, String),
    tools: Vec<DirectTool>,
}

#[derive(Debug)]
struct DirectTool {
    name: String,
    method: Method,
    /// Path with the names of its parameters in braces.
    path: String,
    definition: Value,
}

/// Result of a conversation without the proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DirectResult {
    /// Text of the last answer; empty if the agent gave up.
    pub(super) answer: String,
    /// Calls of the model with their results, in order.
    pub(super) calls: Vec<(String, String)>,
    /// Number of requests to the model.
    pub(super) requests: u64,
    pub(super) duration: Duration,
}

impl DirectTools {
    /// Reads the tools of a toolset from the operator side: names, descriptions and schemas are those that the proxy
    /// offers.
    pub(super) async fn of_toolset(operator_url: &str, toolset: &str) -> Result<Self, DemoError> {
        let toolsets = json_of(&format!("{operator_url}/admin/toolsets")).await?;
        let toolsets = toolsets.get("toolsets").and_then(Value::as_array).into_iter().flatten();
        let server = toolsets.filter(|listed| text(listed, "name") == toolset);
        let server = server.filter_map(|listed| listed.pointer("/servers/0")?.as_str()).next().unwrap_or_default();
        let list = json_of(&format!("{operator_url}/admin/tools?toolset={toolset}&limit={MOST_TOOLS}")).await?;
        let mut tools = Vec::new();
        for listed in list.get("tools").and_then(Value::as_array).into_iter().flatten() {
            let name = text(listed, "tool");
            let details = json_of(&format!("{operator_url}/admin/tools/{toolset}/{name}")).await?;
            let operation = text(&details, "operation");
            let (method, path) = operation.split_once(' ').unwrap_or_default();
            let function = json!({
                "name": name, "description": details.get("description"), "parameters": details.get("parameters")
            });
            tools.push(DirectTool {
                name: name.to_owned(),
                method: method.parse().unwrap_or(Method::GET),
                path: path.to_owned(),
                definition: json!({ "type": "function", "function": function }),
            });
        }
        let api = match toolset {
            "route-planner" => &APIS.route_planner,
            "meeting-rooms" => &APIS.meeting_rooms,
            _ => &APIS.flight_desk,
        };
        Ok(Self { base_url: server.trim_end_matches('/').to_owned(), credential: api.credential.clone(), tools })
    }

    /// Holds a conversation with the model at `model_url` until it answers without a call.
    pub(super) async fn converse(&self, model_url: &str, question: &str) -> Result<DirectResult, DemoError> {
        let url = format!("{model_url}/v1/chat/completions");
        let definitions: Vec<&Value> = self.tools.iter().map(|tool| &tool.definition).collect();
        let mut messages = vec![json!({ "role": "user", "content": question })];
        let (mut result, begin) = (DirectResult::default(), Instant::now());
        while result.requests < MOST_TURNS {
            let body = json!({ "model": MODEL, "messages": messages, "tools": definitions });
            let answer = client::post(&url, &[], &body).await?;
            let reply = ClientAnswer::parse(&answer);
            let reply =
                reply.map_err(|reason| DemoError::Request { method: "POST".to_owned(), url: url.clone(), reason })?;
            result.requests += 1;
            messages.push(reply.to_message());
            if reply.calls.is_empty() {
                result.answer = reply.text;
                break;
            }
            for call in reply.calls {
                let response = self.run(&call).await;
                messages.push(json!({ "role": "tool", "tool_call_id": call.id, "content": response }));
                result.calls.push((format!("{} {}", call.name, call.arguments), response));
            }
        }
        result.duration = begin.elapsed();
        Ok(result)
    }

    /// Sends a call to the API as it is, and returns what the model reads about it.
    async fn run(&self, call: &ClientCall) -> String {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == call.name) else {
            return format!("error: unknown tool {}", call.name);
        };
        let arguments = match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
            Ok(arguments) => arguments,
            Err(error) => return format!("error: {error}"),
        };
        let (mut path, mut query, mut body) = (tool.path.clone(), Vec::new(), Map::new());
        for (name, value) in arguments {
            let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let written = utf8_percent_encode(&written, NON_ALPHANUMERIC).to_string();
            let expression = format!("{{{name}}}");
            if path.contains(&expression) {
                path = path.replace(&expression, &written);
            } else if tool.method == Method::GET {
                query.push(format!("{name}={written}"));
            } else {
                body.insert(name, value);
            }
        }
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        let url = format!("{}{path}{query}", self.base_url);
        let (field, value) = &self.credential;
        let headers = [(field.as_str(), value.as_str()), ("content-type", "application/json")];
        let body = if tool.method == Method::GET { Bytes::new() } else { Value::Object(body).to_string().into() };
        match client::send(tool.method.clone(), &url, &headers, body).await {
            Ok(answer) if answer.status.is_success() => answer.text(),
            Ok(answer) => format!("HTTP {} {}", answer.status.as_u16(), answer.text()),
            Err(error) => format!("error: {error}"),
        }
    }
}

impl DirectResult {
    /// Returns what happened, in one line.
    pub(super) fn in_words(&self) -> String {
        let mut words = Vec::new();
        for rounds in self.calls.chunk_by(|one, other| one == other) {
            let Some((call, response)) = rounds.first() else { continue };
            let times = if rounds.len() > 1 { format!(", {} times", rounds.len()) } else { String::new() };
            words.push(format!("{call} → {response}{times}"));
        }
        words.push(match self.answer.is_empty() {
            true => format!("no answer after {} requests", self.requests),
            false => self.answer.clone(),
        });
        words.join("; ")
    }
}

async fn json_of(url: &str) -> Result<Value, DemoError> {
    let answer = client::get(url).await?;
    serde_json::from_str(&answer.text()).map_err(|error| DemoError::Request {
        method: "GET".to_owned(),
        url: url.to_owned(),
        reason: error.to_string(),
    })
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rounds_are_counted() {
        let call = ("f {}".to_owned(), "400 {}".to_owned());
        let mut result = DirectResult { calls: vec![call.clone(), call], requests: 6, ..DirectResult::default() };
        assert_eq!(result.in_words(), "f {} → 400 {}, 2 times; no answer after 6 requests");
        result.answer = "Done.".to_owned();
        assert_eq!(result.in_words(), "f {} → 400 {}, 2 times; Done.");
    }
}
