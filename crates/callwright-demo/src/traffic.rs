//! Varied traffic for a demo that keeps running, so that console and dashboards have something to show.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client;
use super::client_answer::ClientAnswer;
use super::client_tool::DemoClientTools;
use super::conversations::{CATALOGUE, DemoConversation};
use super::direct::MOST_TURNS;
use super::play::request;

/// Range of the pause between two requests in milliseconds.
const PAUSE_MILLISECONDS: std::ops::Range<u64> = 20..250;

/// Holds random conversations of the catalogue through the proxy for this time, and returns their number. A request
/// that fails ends its conversation only: it is traffic, too.
pub async fn traffic(client_url: &str, duration: Duration) -> u64 {
    let begin = Instant::now();
    let mut held = 0;
    while begin.elapsed() < duration {
        if let Some(conversation) = fastrand::choice(CATALOGUE.iter()) {
            hold(conversation, client_url, &format!("traffic-{held}"), || begin.elapsed() < duration).await;
            held += 1;
        }
    }
    held
}

async fn hold(conversation: &DemoConversation, client_url: &str, session: &str, goes_on: impl Fn() -> bool) {
    let url = format!("{client_url}/v1/chat/completions");
    let tools = DemoClientTools::default();
    let mut messages: Vec<Value> = Vec::new();
    let mut replies = std::iter::once(&conversation.question).chain(conversation.replies);
    let mut is_users_turn = true;
    for _ in 0..MOST_TURNS {
        if is_users_turn {
            let Some(reply) = replies.next() else { return };
            messages.push(json!({ "role": "user", "content": reply }));
        }
        tokio::time::sleep(Duration::from_millis(fastrand::u64(PAUSE_MILLISECONDS))).await;
        if !goes_on() {
            return;
        }
        let headers = [("x-callwright-session", session)];
        let Ok(answer) = client::post(&url, &headers, &request(conversation, &messages)).await else { return };
        let Ok(reply) = ClientAnswer::parse(&answer) else { return };
        messages.push(reply.to_message());
        is_users_turn = reply.calls.is_empty();
        for call in &reply.calls {
            let result = tools.run(&call.name, &call.arguments);
            messages.push(json!({ "role": "tool", "tool_call_id": call.id, "content": result.to_string() }));
        }
    }
}
