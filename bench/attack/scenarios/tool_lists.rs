//! Requests with distinct tool lists.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};

use super::requests;

/// Number of lists.
const LISTS: usize = 10_000;

/// Number of connections that send them.
const CONNECTIONS: usize = 16;

/// Size of a list in bytes.
const LIST: usize = 200_000;

/// Stands for the number of a list in the text that all requests share.
const NUMBER: &str = "@list";

pub(super) async fn attack(target: SocketAddr, length: Duration) -> Result<String, String> {
    let template = template();
    let body = |number: usize| template.replace(NUMBER, &number.to_string());
    let (answered, succeeded) = requests::send(target, (length, LISTS, CONNECTIONS), body).await?;
    Ok(format!("{answered} lists answered, {succeeded} with success"))
}

/// Returns a request whose tool list differs from all others in its descriptions, once it has its number.
fn template() -> String {
    let tool = |at: usize| {
        json!({"type": "function", "function": {
            "name": format!("get_thing_{at}"),
            "description": format!("Gets thing {at} of list {NUMBER}, with all that belongs to it."),
            "parameters": {"type": "object", "required": ["city"], "properties": {
                "city": {"type": "string", "description": format!("The city of thing {at} of list {NUMBER}.")},
                "days": {"type": "integer", "minimum": 1, "maximum": 14},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "tags": {"type": "array", "items": {"type": "string"}}}}}})
    };
    let size = tool(0).to_string().len();
    let tools: Vec<Value> = (0..LIST / size).map(tool).collect();
    json!({"model": "soak", "seed": 1, "messages": [{"role": "user", "content": "What is there?"}], "tools": tools})
        .to_string()
}
