//! The attacks, a file for each. A new one is a file and its row in [`SCENARIOS`].

mod begun_bodies;
mod hostile_answers;
mod idle_connections;
mod requests;
mod slow_bodies;
mod tool_lists;

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::BoxFuture;

/// An attack.
pub(crate) struct Scenario {
    /// How the command line calls it.
    pub(crate) name: &'static str,
    /// How the table calls it.
    pub(crate) title: &'static str,
    /// Attacks the client side of a proxy for so long; returns the outcome in words.
    pub(crate) attack: fn(SocketAddr, Duration) -> BoxFuture<'static, Result<String, String>>,
}

/// All of them.
pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "idle-connections",
        title: "5,000 idle connections",
        attack: |target, length| Box::pin(idle_connections::attack(target, length)),
    },
    Scenario {
        name: "slow-bodies",
        title: "500 slow bodies",
        attack: |target, length| Box::pin(slow_bodies::attack(target, length)),
    },
    Scenario {
        name: "begun-bodies",
        title: "60 begun 30 MiB bodies",
        attack: |target, length| Box::pin(begun_bodies::attack(target, length)),
    },
    Scenario {
        name: "tool-lists",
        title: "10,000 lists of tools of 200 kB, 16 at a time",
        attack: |target, length| Box::pin(tool_lists::attack(target, length)),
    },
    Scenario {
        name: "hostile-answers",
        title: "hostile answers of 1 MB, 6 at a time",
        attack: |target, length| Box::pin(hostile_answers::attack(target, length)),
    },
];

/// The head of a chat request with a body of so many bytes.
fn chat_head(length: usize) -> String {
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}
