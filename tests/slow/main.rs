//! Integration tests that take long or need a service: browsers, Prometheus, PostgreSQL, killed processes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod browser;
mod chaos_machine;
mod chaos_upstream;
mod console;
mod dashboards;
mod hostile_pairs;
mod killed_processes;
mod killed_traces;
mod lets;
mod random_faults;
mod shared_store;
mod shared_tokens;
mod slow_readers;
#[path = "../it/support/mod.rs"]
mod support;
