//! Upstream responses of 1 MB with maximum judgement cost.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;

use super::requests;

/// Kinds of responses, as defined by the upstream of the soak test.
const KINDS: [&str; 3] = ["parameters", "calls", "text"];

/// Number of connections that request them.
const CONNECTIONS: usize = 6;

pub(super) async fn attack(target: SocketAddr, length: Duration) -> Result<String, String> {
    let body = |number: usize| {
        let weather = json!({"type": "function", "function": {"name": "get_weather", "parameters": {
            "type": "object", "required": ["city"], "additionalProperties": false,
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}});
        let kind = KINDS[number % KINDS.len()];
        json!({"model": "soak", "hostile": kind, "messages": [{"role": "user", "content": "Weather?"}], "tools": [weather]}).to_string()
    };
    let (answered, succeeded) = requests::send(target, (length, usize::MAX, CONNECTIONS), body).await?;
    Ok(format!("{answered} answered, {succeeded} with success"))
}
