//! How tool APIs are reached, and how much of their answers is taken.

use serde::{Deserialize, Serialize};

/// Settings of the executor. Proxies named in the environment are not used for tool APIs: behind one, the address that is connected to
/// could not be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Addresses that may be called although they are private, loopback, link-local or reserved: IP addresses (`127.0.0.1`), networks
    /// (`10.1.0.0/16`, `fd00::/8`) and host names (`rooms.internal`: whatever that very name resolves to).
    pub allowed_addresses: Vec<String>,
    /// Seconds to make a connection: name resolution, TCP and TLS together.
    pub connect_timeout_seconds: u64,
    /// Seconds for a whole execution, redirects and the body of the answer included.
    pub timeout_seconds: u64,
    /// Bytes of an answer's body, after decompression; the rest is cut off.
    pub max_answer_bytes: usize,
    /// Redirects that a `GET` or `HEAD` follows, one after the other: on the same origin, or its step up from http to https on the usual ports.
    pub max_redirects: u32,
    /// Times that a request which got no answer is sent again by itself, within the time of its execution: a `GET`, `HEAD`, one with an idempotency
    /// key, and a `PUT` or `DELETE` where the next key says so. Others never are.
    pub max_repeats: u32,
    /// Are `PUT` and `DELETE` sent again while the outcome of the first request is unknown? They are idempotent by RFC 9110 section 9.2.2;
    /// not every API keeps to that.
    pub repeat_put_and_delete: bool,
    /// Seconds that an unused connection is kept for the next `GET` or `HEAD`.
    pub pool_idle_timeout_seconds: u64,
    /// Unused connections to one host that are kept.
    pub pool_max_idle_per_host: usize,
    /// Requests to one host at the same time, at least one; further ones wait, and their time runs.
    pub max_requests_per_host: usize,
    /// Seconds before its end at which an OAuth 2 token is no longer used; of a token that lives shorter than twice that, half its life.
    pub token_refresh_seconds: u64,
    /// How often a call whose repetition changes nothing more is repeated where the API asks for that (`Retry-After` with status 429 or
    /// 503); 0: never.
    pub retry_after_tries: u32,
    /// Longest time, in seconds, that is waited for such a repetition. What asks for more is an answer, and the model is told when.
    pub retry_after_max_seconds: u64,
    /// Pages of a `GET` that are fetched where the API announces further ones, the first included; all of them together are bounded by
    /// `max_answer_bytes` and `timeout_seconds`. 1: only the first, and the model is told how to ask for the next.
    pub max_pages: u32,
    /// A file of PEM certificates that are trusted besides the system's; empty for none.
    pub ca_file: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            allowed_addresses: Vec::new(),
            connect_timeout_seconds: 5,
            timeout_seconds: 30,
            max_answer_bytes: 4 * 1024 * 1024,
            max_redirects: 3,
            max_repeats: 1,
            repeat_put_and_delete: true,
            pool_idle_timeout_seconds: 30,
            pool_max_idle_per_host: 16,
            max_requests_per_host: 16,
            token_refresh_seconds: 60,
            retry_after_tries: 2,
            retry_after_max_seconds: 10,
            max_pages: 1,
            ca_file: String::new(),
        }
    }
}
