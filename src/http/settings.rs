//! Settings of both listeners.

use std::net::SocketAddr;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body_budget::{cost, usable_memory};
use super::browser::{host_pattern, is_origin};
use super::connections::descriptors;
use crate::pipeline::PARTS_OF_SMALL_BODIES;
use callwright_common::parallel::cores;
use callwright_types::Secret;

/// Pattern of ADDRESS:PORT in the JSON Schema; also of text that names an environment variable.
const ADDRESS: &str = r"^\S+:[0-9]{1,5}$|\$\{";

/// Both listeners (`[server]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Address of the client listener; port 0 takes a free port. HTTP/1.1 and h2c.
    #[schemars(extend("pattern" = ADDRESS))]
    pub listen: SocketAddr,
    /// Address of the operator listener: health, metrics, administration.
    #[schemars(extend("pattern" = ADDRESS))]
    pub operator_listen: SocketAddr,
    /// Whether listeners without credentials may have addresses other than loopback.
    pub allow_public: bool,
    /// Host names under which clients and operators reach the proxy, besides `localhost` and IP literals: exact names,
    /// or `*.example.com` for all names below one. Checked on listeners that require no credential.
    pub hosts: Vec<String>,
    /// Origins of web pages that may use the client listener from another origin, such as `https://chat.example.com`.
    pub allowed_origins: Vec<String>,
    /// Token that operators must send as `Authorization: Bearer TOKEN`; empty: none required.
    pub operator_token: Secret,
    /// Maximum size of a request body, in bytes. The default admits several images.
    pub body_limit_bytes: usize,
    /// Maximum memory in bytes for the request bodies of all turns in progress, each counted as eight times its size, which
    /// a turn takes at most. Further requests get status 503. 0: a quarter of the memory that the process may use.
    pub body_memory_bytes: usize,
    /// Maximum number of bytes that answers may hold in memory beyond 64 KiB each, for all turns in progress: what is kept
    /// to judge them, and what their clients have not read. Answers beyond it get status 503.
    pub answer_memory_bytes: usize,
    /// Maximum number of open client connections; 0 derives it from the limit of open files. Further clients get status
    /// 503.
    pub max_connections: usize,
    /// Number of workers, which are threads that serve client connections; 0: one per core.
    pub workers: usize,
    /// Maximum number of seconds from the first byte of a connection, or of a request's header section, to the end of
    /// the header section.
    pub header_timeout_seconds: u64,
    /// Seconds without a byte of a request body after which the request gets status 408 and its connection is closed. So
    /// does a body that is slower than 1 KiB/s over twice this time, or takes more than that and 1 s per 8 KiB of its
    /// length.
    pub body_timeout_seconds: u64,
    /// Seconds without progress of a response after which its connection is closed: the client reads nothing. Of
    /// several responses on an HTTP/2 connection only the one that makes no progress ends.
    pub write_timeout_seconds: u64,
    /// Seconds without a request after which a connection is closed.
    pub idle_timeout_seconds: u64,
    /// Seconds between two HTTP/2 PING frames that test whether the client is alive; 0 sends none. A frame that is not
    /// acknowledged in as many seconds, at most 20, closes the connection.
    pub http2_ping_seconds: u64,
    /// Maximum number of seconds for running turns to complete after SIGTERM, SIGINT or SIGQUIT.
    pub shutdown_grace_seconds: u64,
    /// TLS of the client listener.
    pub tls: TlsSettings,
    /// TLS of the operator listener.
    pub operator_tls: TlsSettings,
}

/// TLS of one listener (`[server.tls]`, `[server.operator_tls]`). Without a certificate the listener serves plain HTTP.
/// Paths are relative to the configuration file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// PEM file of the certificate chain: the listener's own certificate first, then its intermediate authorities.
    pub certificate: String,
    /// PEM file of the certificate's private key, not encrypted.
    pub key: String,
    /// PEM file of authorities. If given, clients must present a certificate that one of them issued (mutual TLS).
    pub client_ca: String,
}

impl TlsSettings {
    /// Whether TLS is configured.
    pub fn is_on(&self) -> bool {
        !self.certificate.is_empty()
    }

    /// Whether clients must present a certificate.
    pub fn requires_client_certificate(&self) -> bool {
        self.is_on() && !self.client_ca.is_empty()
    }

    /// Returns the configured paths.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.certificate, &mut self.key, &mut self.client_ca].into_iter()
    }

    /// Returns the key and the message of a fault in the table with this name. The contents of the files are checked at
    /// start.
    fn fault(&self, table: &str) -> Option<(String, String)> {
        let (key, why) = match (self.is_on(), self.key.is_empty()) {
            (true, true) => {
                ("certificate", format!("a certificate needs its private key; name its file in `{table}.key`"))
            }
            (false, false) => ("key", format!("a key needs its certificate; name its file in `{table}.certificate`")),
            (false, true) if !self.client_ca.is_empty() => (
                "client_ca",
                format!("client certificates require TLS; set `{table}.certificate` and `{table}.key` too"),
            ),
            _ => return None,
        };
        Some(fault(table, key, &why))
    }
}

/// Returns the path of a key, and a message that names it.
fn fault(table: &str, key: &str, why: &str) -> (String, String) {
    let place = format!("{table}.{key}");
    let message = format!("`{place}`: {why}");
    (place, message)
}

impl Settings {
    /// Returns the faults: the key, and a message that names it. The connection limit is compared with the limit of open
    /// files.
    pub fn faults(&self) -> Vec<(String, String)> {
        let tables = [("server.tls", &self.tls), ("server.operator_tls", &self.operator_tls)];
        let mut faults: Vec<_> = tables.into_iter().filter_map(|(table, tls)| tls.fault(table)).collect();
        faults.extend(self.faults_under(descriptors::limit()));
        faults.extend(self.browser_faults());
        faults
    }

    fn faults_under(&self, descriptors: Option<usize>) -> Vec<(String, String)> {
        let seconds = 1..=MAX_TIMEOUT_SECONDS;
        let ranges = [
            ("header_timeout_seconds", self.header_timeout_seconds, seconds.clone()),
            ("body_timeout_seconds", self.body_timeout_seconds, seconds.clone()),
            ("write_timeout_seconds", self.write_timeout_seconds, seconds.clone()),
            ("idle_timeout_seconds", self.idle_timeout_seconds, seconds),
            ("http2_ping_seconds", self.http2_ping_seconds, 0..=MAX_TIMEOUT_SECONDS),
            ("workers", self.workers as u64, 0..=MAX_WORKERS),
        ];
        let mut faults = Vec::new();
        for (key, value, range) in ranges {
            if !range.contains(&value) {
                let why = format!("{value} is out of range; set {} to {}", range.start(), range.end());
                faults.push(fault("server", key, &why));
            }
        }
        let needed = self.least_body_memory();
        if (1..needed).contains(&self.body_memory_bytes) {
            let why = format!(
                "{} is less than the turn of the largest body may take ({needed}), which could then never be read; raise it, \
                 remove it, or lower `server.body_limit_bytes`",
                self.body_memory_bytes
            );
            faults.push(fault("server", "body_memory_bytes", &why));
        }
        let most = descriptors::most_connections(descriptors);
        if self.max_connections > most {
            let why = format!(
                "{} connections do not fit into the limit of open files, which leaves {most} to clients; lower it or raise the \
                 limit (`LimitNOFILE=` of a systemd unit, `ulimits` of a container, `ulimit -n` of a shell)",
                self.max_connections
            );
            faults.push(fault("server", "max_connections", &why));
        }
        faults
    }

    /// Returns the maximum number of open client connections, derived from the limit of open files if it is not
    /// configured.
    pub(super) fn client_connections(&self) -> usize {
        match self.max_connections {
            0 => descriptors::default_connections(descriptors::limit()),
            configured => configured,
        }
    }

    /// Returns the maximum memory for request bodies in bytes, derived from the memory that the process may use if it is not
    /// configured.
    pub fn body_memory(&self) -> usize {
        match self.body_memory_bytes {
            0 => self.body_memory_of(usable_memory().unwrap_or(ASSUMED_MEMORY)),
            configured => configured,
        }
    }

    fn body_memory_of(&self, usable: u64) -> usize {
        // A quarter: answers, tools and the store need other parts.
        let part = usize::try_from(usable / 4).unwrap_or(usize::MAX);
        part.max(self.least_body_memory())
    }

    /// Returns the memory that one largest body needs, behind the part for small bodies.
    fn least_body_memory(&self) -> usize {
        let large = cost(self.body_limit_bytes);
        large.saturating_add(large / (PARTS_OF_SMALL_BODIES - 1)).saturating_add(1)
    }

    /// Returns the number of workers: the configured one, or that of the cores that the process may use.
    pub fn worker_count(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.workers).unwrap_or_else(cores)
    }

    /// Whether each request to the operator listener needs a token or a client certificate.
    pub fn requires_operator_credential(&self) -> bool {
        !self.operator_token.is_empty() || self.operator_tls.requires_client_certificate()
    }

    /// Whether each request to the client listener needs a key or a client certificate.
    pub fn requires_client_credential(&self, are_keys_required: bool) -> bool {
        are_keys_required || self.tls.requires_client_certificate()
    }

    /// Returns the entries of `hosts` and `allowed_origins` that cannot match: the key, and a message that names it.
    fn browser_faults(&self) -> Vec<(String, String)> {
        let mut faults = Vec::new();
        for (number, host) in self.hosts.iter().enumerate() {
            if host_pattern(host).is_none() {
                let key = format!("server.hosts[{number}]");
                let message = format!(
                    "`{key}`: `{host}` is not a host name; write it without scheme and port, such as `callwright.example.com`, or `*.example.com` \
                     for all names below one"
                );
                faults.push((key, message));
            }
        }
        for (number, origin) in self.allowed_origins.iter().enumerate() {
            if !is_origin(origin) {
                let key = format!("server.allowed_origins[{number}]");
                let message = format!(
                    "`{key}`: `{origin}` is not an origin; write scheme, host and port as browsers send them, without a path, such as \
                     `https://chat.example.com`"
                );
                faults.push((key, message));
            }
        }
        faults
    }
}

/// Assumed memory where the system reports none: 2 GiB.
const ASSUMED_MEMORY: u64 = 2 << 30;

/// Maximum number of workers, more than the cores of any server.
const MAX_WORKERS: u64 = 1024;

/// Maximum timeout of a connection, in seconds: a day.
const MAX_TIMEOUT_SECONDS: u64 = 24 * 60 * 60;

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8787)),
            operator_listen: SocketAddr::from(([127, 0, 0, 1], 8788)),
            allow_public: false,
            hosts: Vec::new(),
            allowed_origins: Vec::new(),
            operator_token: Secret::default(),
            body_limit_bytes: 32 * 1024 * 1024,
            body_memory_bytes: 0,
            answer_memory_bytes: 128 * 1024 * 1024,
            max_connections: 0,
            workers: 0,
            header_timeout_seconds: 15,
            body_timeout_seconds: 30,
            write_timeout_seconds: 60,
            idle_timeout_seconds: 75,
            http2_ping_seconds: 30,
            shutdown_grace_seconds: 30,
            tls: TlsSettings::default(),
            operator_tls: TlsSettings::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::MemoryLimit;

    #[test]
    fn limits_that_cannot_hold_are_named() {
        let keys = |settings: &Settings, descriptors: Option<usize>| -> Vec<String> {
            settings.faults_under(descriptors).into_iter().map(|(key, _)| key).collect()
        };
        let none: [&str; 0] = [];
        assert_eq!(keys(&Settings::default(), Some(64)), none);
        assert_eq!(keys(&Settings { max_connections: 1_000_000, ..Settings::default() }, None), none);
        let wrong = Settings {
            max_connections: 1_000,
            header_timeout_seconds: 0,
            idle_timeout_seconds: u64::MAX,
            http2_ping_seconds: u64::MAX,
            body_memory_bytes: 1_000,
            workers: 100_000,
            ..Settings::default()
        };
        assert_eq!(
            keys(&wrong, Some(1_024)),
            [
                "server.header_timeout_seconds", "server.idle_timeout_seconds", "server.http2_ping_seconds",
                "server.workers", "server.body_memory_bytes", "server.max_connections"
            ]
        );
        let message = &wrong.faults_under(Some(1_024))[5].1;
        assert!(message.contains("`server.max_connections`: 1000") && message.contains("768"), "{message}");
    }

    #[test]
    fn the_memory_of_bodies_follows_that_of_the_process() {
        const GIB: u64 = 1024 * 1024 * 1024;
        let settings = Settings::default();
        assert_eq!(settings.body_memory_of(16 * GIB), 4 * 1024 * 1024 * 1024);
        let least = settings.body_memory_of(GIB / 2);
        assert!(MemoryLimit::of_large_bodies(least) >= cost(settings.body_limit_bytes), "{least}");
        let faults =
            |body_memory_bytes: usize| Settings { body_memory_bytes, ..Settings::default() }.faults_under(None).len();
        assert_eq!((faults(0), faults(1), faults(least - 1), faults(least)), (0, 1, 1, 0));
    }

    #[test]
    fn hosts_and_origins_that_cannot_match_are_named() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let settings = Settings {
            hosts: texts(&["callwright", "*.example.com", "http://x", "x:80", "*", ""]),
            allowed_origins: texts(&["https://a.example:8443", "app://chat", "https://a.example/", "null", "*"]),
            ..Settings::default()
        };
        let keys: Vec<String> = settings.browser_faults().into_iter().map(|(key, _)| key).collect();
        let expected = [
            "server.hosts[2]", "server.hosts[3]", "server.hosts[4]", "server.hosts[5]", "server.allowed_origins[2]",
            "server.allowed_origins[3]", "server.allowed_origins[4]",
        ];
        assert_eq!(keys, expected);
    }

    #[test]
    fn a_certificate_and_its_key_go_together() {
        let fault = |certificate: &str, key: &str, client_ca: &str| {
            let [certificate, key, client_ca] = [certificate, key, client_ca].map(str::to_owned);
            TlsSettings { certificate, key, client_ca }.fault("server.tls").map(|(place, _)| place)
        };
        let at = |key: &str| Some(format!("server.tls.{key}"));
        assert_eq!(fault("", "", ""), None);
        assert_eq!(fault("c", "k", "a"), None);
        assert_eq!(fault("c", "", ""), at("certificate"));
        assert_eq!(fault("", "k", "a"), at("key"));
        assert_eq!(fault("", "", "a"), at("client_ca"));
    }
}
