//! Conversations of 200 kB, all at a time.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};

use super::requests;

/// Number of connections, each with one request.
const CONNECTIONS: usize = 1_000;

/// Size of a body in bytes.
const LENGTH: usize = 200_000;

/// Text of one message.
const TEXT: &str = "The weather in Paris is mild, with light rain in the evening and a gentle wind from the west.";

pub(super) async fn attack(target: SocketAddr, length: Duration) -> Result<String, String> {
    let body = conversation();
    let (answered, succeeded) = requests::send(target, (length, CONNECTIONS, CONNECTIONS), |_| body.clone()).await?;
    Ok(format!("{answered} answered, {succeeded} with success"))
}

/// Returns a request with a long history of messages, calls and results.
fn conversation() -> String {
    let round = |number: usize| {
        let id = format!("call_{number}");
        let arguments = json!({"city": "Paris", "days": number % 14}).to_string();
        let function = json!({"name": "get_weather", "arguments": arguments});
        let call = json!({"id": id, "type": "function", "function": function});
        [
            json!({"role": "user", "content": TEXT}),
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": id, "content": TEXT}),
            json!({"role": "assistant", "content": TEXT}),
        ]
    };
    let size: usize = round(0).iter().map(|message| message.to_string().len() + 1).sum();
    let messages: Vec<Value> = (0..LENGTH / size).flat_map(round).collect();
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}});
    let tool = json!({"type": "function", "function": {"name": "get_weather", "parameters": parameters}});
    json!({"model": "soak", "seed": 0, "messages": messages, "tools": [tool]}).to_string()
}
