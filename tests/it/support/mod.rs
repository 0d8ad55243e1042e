//! Shared parts of the behaviour tests: the real binary as a process, scripted servers for its requests, and a client
//! that sees responses byte by byte. They do not use the proxy's code, and drive it from outside as its users do.
//!
//! They do not measure time. [`GUARD`] only turns an endless wait into a failure.

#![allow(dead_code, unused_imports, reason = "each test binary uses its own part of this")]

pub(crate) mod answer;
pub(crate) mod assembled;
pub(crate) mod bookings;
pub(crate) mod client;
pub(crate) mod collector;
pub(crate) mod config;
pub(crate) mod documented;
pub(crate) mod learned;
pub(crate) mod metrics;
pub(crate) mod office;
pub(crate) mod planning;
pub(crate) mod policy;
pub(crate) mod postgres;
pub(crate) mod prometheus;
pub(crate) mod proxy;
pub(crate) mod python;
pub(crate) mod relay;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod rooms;
pub(crate) mod sample;
pub(crate) mod server;
pub(crate) mod thousand;
pub(crate) mod tls;
pub(crate) mod verb;

use std::time::Duration;

pub(crate) use assembled::Assembled;
pub(crate) use client::{Answer, Client, Event, Stream};
pub(crate) use config::config;
pub(crate) use proxy::Proxy;
pub(crate) use reply::{Gate, Reply};
pub(crate) use server::{Received, Server};

/// Timeout after which a test counts as hanging, far above the time that the slowest machine requires.
pub(crate) const GUARD: Duration = Duration::from_secs(90);

/// Polling interval for conditions without a notification.
pub(crate) const POLL: Duration = Duration::from_millis(10);

/// Waits for `future`. Panics with `what` if it hangs.
pub(crate) async fn guarded<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(GUARD, future).await {
        Ok(output) => output,
        Err(_) => panic!("hangs: {what}"),
    }
}
