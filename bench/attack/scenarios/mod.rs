//! Attack scenarios, one file each. A new scenario needs a file and a row in [`SCENARIOS`].

mod begun_bodies;
mod hostile_answers;
mod idle_connections;
mod large_bodies;
mod requests;
mod slow_bodies;
mod standing_readers;
mod tool_lists;
mod trickling_bodies;

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::BoxFuture;

/// An attack.
pub(crate) struct Scenario {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// Name in the table.
    pub(crate) title: &'static str,
    /// Attacks the client listener of a proxy for a given time. Returns a description of the outcome.
    pub(crate) attack: fn(SocketAddr, Duration) -> BoxFuture<'static, Result<String, String>>,
}

/// All scenarios.
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
        name: "trickling-bodies",
        title: "8 bodies of 32 MiB that trickle after 27.8 MiB, from another address",
        attack: |target, length| Box::pin(trickling_bodies::attack(target, length)),
    },
    Scenario {
        name: "large-bodies",
        title: "1,000 bodies of 200 kB at a time",
        attack: |target, length| Box::pin(large_bodies::attack(target, length)),
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
    Scenario {
        name: "standing-readers-60",
        title: "2,000 clients that read nothing of 5 MB, events of 60 B",
        attack: |target, length| Box::pin(standing_readers::attack(target, length, 60, false)),
    },
    Scenario {
        name: "standing-readers-1k",
        title: "the same, events of 1 kB",
        attack: |target, length| Box::pin(standing_readers::attack(target, length, 1_000, false)),
    },
    Scenario {
        name: "standing-readers-100k",
        title: "the same, events of 100 kB",
        attack: |target, length| Box::pin(standing_readers::attack(target, length, 100_000, false)),
    },
    Scenario {
        name: "standing-readers-1m",
        title: "the same, events of 1 MB",
        attack: |target, length| Box::pin(standing_readers::attack(target, length, 1_000_000, false)),
    },
    Scenario {
        name: "standing-readers-tools",
        title: "the same with tools, events of 1 kB",
        attack: |target, length| Box::pin(standing_readers::attack(target, length, 1_000, true)),
    },
];

/// Returns the head of a chat request with a body of `length` bytes.
fn chat_head(length: usize) -> String {
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}
