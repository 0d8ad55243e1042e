//! Settings of both listeners.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::browser::{HostPattern, is_origin};
use super::connections::descriptors;
use callwright_types::Secret;

/// Both listeners (`[server]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Address of the client side; port 0 takes a free one. HTTP/1.1 and h2c.
    pub listen: SocketAddr,
    /// Address of the operator side: health, metrics, administration.
    pub operator_listen: SocketAddr,
    /// Listen on addresses other than loopback although nothing of the proxy's own protects the listener.
    pub allow_public: bool,
    /// Host names under which clients and operators reach the proxy, besides `localhost` and IP literals: exact names, or `*.example.com` for all
    /// names below one. Checked on listeners that require no credential.
    pub hosts: Vec<String>,
    /// Origins of web pages that may use the client side from another origin, such as `https://chat.example.com`.
    pub allowed_origins: Vec<String>,
    /// What operators have to send as `Authorization: Bearer TOKEN`; empty: nothing.
    pub operator_token: Secret,
    /// Largest request body, in bytes. The default lets several images through.
    pub body_limit_bytes: usize,
    /// Bytes that request bodies may hold in memory over all requests, until their turns end. Beyond it requests get status 503.
    pub body_memory_bytes: usize,
    /// Maximum number of open client connections; 0 derives it from the limit of open files. Beyond it clients get status 503.
    pub max_connections: usize,
    /// Seconds that a client may take from the first byte of a request's header section, or of a connection, to its end.
    pub header_timeout_seconds: u64,
    /// Seconds without a byte of a request body after which the request gets status 408 and its connection is closed.
    pub body_timeout_seconds: u64,
    /// Seconds without a request after which a connection is closed.
    pub idle_timeout_seconds: u64,
    /// Seconds between two HTTP/2 PING frames that test whether the client is still there; 0 sends none.
    pub http2_ping_seconds: u64,
    /// Seconds that an HTTP/2 client may take to acknowledge a PING frame; its connection is closed then.
    pub http2_ping_timeout_seconds: u64,
    /// Seconds that running turns have to finish after SIGTERM.
    pub shutdown_grace_seconds: u64,
    /// Seconds that a client may take to agree on TLS; its connection is closed then.
    pub tls_handshake_timeout_seconds: u64,
    /// Milliseconds without a change before changed certificates are read: a certificate and its key are written one after the other.
    pub tls_reload_quiet_milliseconds: u64,
    /// TLS of the client side.
    pub tls: TlsSettings,
    /// TLS of the operator side.
    pub operator_tls: TlsSettings,
}

/// TLS of one listener (`[server.tls]`, `[server.operator_tls]`). Without a certificate it speaks plain HTTP. Paths are relative to the
/// configuration file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// A PEM file: the listener's own certificate, then those that lead from it to its authority.
    pub certificate: String,
    /// A PEM file: the certificate's private key, not encrypted.
    pub key: String,
    /// A PEM file of authorities. Where it is given, clients must show a certificate that one of them issued (mutual TLS).
    pub client_ca: String,
}

impl TlsSettings {
    /// Is there any?
    pub fn is_on(&self) -> bool {
        !self.certificate.is_empty()
    }

    /// Must clients show a certificate?
    pub fn asks_clients(&self) -> bool {
        self.is_on() && !self.client_ca.is_empty()
    }

    /// Its files.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.certificate, &mut self.key, &mut self.client_ca].into_iter()
    }

    /// What is wrong with the table of this name: the key that it is about, and a message that names it. What the files hold is read at the start.
    pub fn fault(&self, table: &str) -> Option<(String, String)> {
        let fault = |key: &str, why: &str| {
            let place = format!("{table}.{key}");
            let message = format!("`{place}`: {why}");
            Some((place, message))
        };
        match (self.is_on(), self.key.is_empty()) {
            (true, true) => {
                fault("certificate", &format!("a certificate needs its private key; name its file in `{table}.key`"))
            }
            (false, false) => {
                fault("key", &format!("a key needs its certificate; name its file in `{table}.certificate`"))
            }
            (false, true) if !self.client_ca.is_empty() => fault(
                "client_ca",
                &format!(
                    "only TLS can ask clients for a certificate; give `{table}.certificate` and `{table}.key` too"
                ),
            ),
            _ => None,
        }
    }
}

impl Settings {
    /// Faults of the limits and timeouts: the key, and a message that names it. The limit of connections is compared with the number of files that
    /// this process may open.
    pub fn faults(&self) -> Vec<(String, String)> {
        self.faults_under(descriptors::limit())
    }

    fn faults_under(&self, descriptors: Option<usize>) -> Vec<(String, String)> {
        let fault = |key: &str, why: String| {
            let place = format!("server.{key}");
            let message = format!("`{place}`: {why}");
            (place, message)
        };
        let timeouts = [
            ("header_timeout_seconds", self.header_timeout_seconds),
            ("body_timeout_seconds", self.body_timeout_seconds),
            ("idle_timeout_seconds", self.idle_timeout_seconds),
            ("http2_ping_timeout_seconds", self.http2_ping_timeout_seconds),
        ];
        let is_out_of_range = |seconds: u64| !(1..=MAX_TIMEOUT_SECONDS).contains(&seconds);
        let mut faults: Vec<(String, String)> = timeouts
            .into_iter()
            .filter(|(_, seconds)| is_out_of_range(*seconds))
            .map(|(key, seconds)| fault(key, format!("{seconds} is out of range; set 1 to {MAX_TIMEOUT_SECONDS}")))
            .collect();
        if self.http2_ping_seconds > MAX_TIMEOUT_SECONDS {
            let why = format!("{} is out of range; set 0 to {MAX_TIMEOUT_SECONDS}", self.http2_ping_seconds);
            faults.push(fault("http2_ping_seconds", why));
        }
        if self.body_memory_bytes < self.body_limit_bytes {
            let why = format!(
                "{} is less than the largest body ({}), which could then never be read; raise it or lower \
                 `server.body_limit_bytes`",
                self.body_memory_bytes, self.body_limit_bytes
            );
            faults.push(fault("body_memory_bytes", why));
        }
        let most = descriptors::most_connections(descriptors);
        if self.max_connections > most {
            let why = format!(
                "{} connections do not fit into the limit of open files, which leaves {most} to clients; lower it or raise the \
                 limit (`LimitNOFILE=` of a systemd unit, `ulimits` of a container, `ulimit -n` of a shell)",
                self.max_connections
            );
            faults.push(fault("max_connections", why));
        }
        faults
    }

    /// Maximum number of open client connections, derived from the limit of open files where the configuration has none.
    pub(super) fn client_connections(&self) -> usize {
        match self.max_connections {
            0 => descriptors::default_connections(descriptors::limit()),
            configured => configured,
        }
    }

    /// Whether each request to the operator side needs a token or a client certificate.
    pub fn requires_operator_credential(&self) -> bool {
        !self.operator_token.is_empty() || self.operator_tls.asks_clients()
    }

    /// Whether each request to the client side needs a key or a client certificate.
    pub fn requires_client_credential(&self, are_keys_required: bool) -> bool {
        are_keys_required || self.tls.asks_clients()
    }

    /// Entries of `hosts` and `allowed_origins` that cannot match: the key of each, and a message that names it.
    pub fn browser_faults(&self) -> Vec<(String, String)> {
        let mut faults = Vec::new();
        for (number, host) in self.hosts.iter().enumerate() {
            if HostPattern::parse(host).is_none() {
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

/// Longest timeout of a connection, in seconds: a day.
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
            body_memory_bytes: 256 * 1024 * 1024,
            max_connections: 0,
            header_timeout_seconds: 15,
            body_timeout_seconds: 30,
            idle_timeout_seconds: 75,
            http2_ping_seconds: 30,
            http2_ping_timeout_seconds: 20,
            shutdown_grace_seconds: 30,
            tls_handshake_timeout_seconds: 10,
            tls_reload_quiet_milliseconds: 200,
            tls: TlsSettings::default(),
            operator_tls: TlsSettings::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ..Settings::default()
        };
        assert_eq!(
            keys(&wrong, Some(1_024)),
            [
                "server.header_timeout_seconds",
                "server.idle_timeout_seconds",
                "server.http2_ping_seconds",
                "server.body_memory_bytes",
                "server.max_connections"
            ]
        );
        let message = &wrong.faults_under(Some(1_024))[4].1;
        assert!(message.contains("`server.max_connections`: 1000") && message.contains("768"), "{message}");
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
            "server.hosts[2]",
            "server.hosts[3]",
            "server.hosts[4]",
            "server.hosts[5]",
            "server.allowed_origins[2]",
            "server.allowed_origins[3]",
            "server.allowed_origins[4]",
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
