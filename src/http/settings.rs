//! Settings of both listeners.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::domain::Secret;

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
    /// What operators have to send as `Authorization: Bearer TOKEN`; empty: nothing.
    pub operator_token: Secret,
    /// Largest request body, in bytes. The default lets several images through.
    pub body_limit_bytes: usize,
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

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8787)),
            operator_listen: SocketAddr::from(([127, 0, 0, 1], 8788)),
            allow_public: false,
            operator_token: Secret::default(),
            body_limit_bytes: 32 * 1024 * 1024,
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
