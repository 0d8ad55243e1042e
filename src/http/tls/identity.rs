//! Certificate, private key and client authorities of a listener. They are read together, so that they always match.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use jiff::Timestamp;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest, Sha256};
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::Decode;
use x509_cert::time::Time;

use crate::http::TlsSettings;
use callwright_common::digest::add_part;
use callwright_common::limits::FILE_BYTES;

/// ALPN protocols in order of preference (RFC 7301; RFC 9113, section 3.2).
const PROTOCOLS: [&[u8]; 2] = [b"h2", HTTP_1_1];

/// HTTP/1.1 as a protocol of a handshake (RFC 7301).
pub(in crate::http) const HTTP_1_1: &[u8] = b"http/1.1";

/// Markers of a private key that is protected by a passphrase (RFC 7468, section 11, and the older form of RFC 1421).
const ENCRYPTED: [&str; 2] = ["-----BEGIN ENCRYPTED PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED"];

/// Error of a certificate or key file. Names the configuration key, the file and the fix, but never the file's
/// contents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{table}.{key}`: {file} {problem}")]
pub struct TlsError {
    table: &'static str,
    key: &'static str,
    file: String,
    problem: String,
}

/// Certificate and key that a listener presents, and its client authentication.
#[derive(Debug, Clone)]
pub struct Identity {
    config: Arc<ServerConfig>,
    not_before: Timestamp,
    not_after: Timestamp,
    digest: [u8; 32],
}

impl Identity {
    /// Loads the files that the table names.
    ///
    /// # Errors
    /// [`TlsError`]: a file is unreadable, has other contents, or the files do not match. An expired certificate is not
    /// an error.
    pub fn load(table: &'static str, settings: &TlsSettings) -> Result<Self, TlsError> {
        let file = |key, file| PemFile { table, key, file };
        let (certificate, private) = (file("certificate", &settings.certificate), file("key", &settings.key));
        let provider = CryptoProvider::get_default().cloned();
        let provider = provider.unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
        let mut digest = Sha256::new();
        let chain = certificate.certificates(&mut digest)?;
        let key = private.private_key(&mut digest)?;
        let (not_before, not_after) = certificate.validity(&chain)?;
        let certified = CertifiedKey::from_der(chain, key, &provider).map_err(|error| {
            private.error(match error {
                rustls::Error::InconsistentKeys(_) => format!(
                    "is not the key of the first certificate in {}; name the certificate's private key, and put the \
                     listener's own certificate first",
                    settings.certificate
                ),
                error => format!("cannot be used: {error}; supported are RSA, ECDSA (P-256, P-384) and Ed25519 keys"),
            })
        })?;
        let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| certificate.error(error.to_string()))?;
        let builder = match settings.client_ca.as_str() {
            "" => builder.with_no_client_auth(),
            name => builder.with_client_cert_verifier(file("client_ca", name).verifier(provider, &mut digest)?),
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        config.alpn_protocols = PROTOCOLS.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(Self { config: Arc::new(config), not_before, not_after, digest: digest.finalize().into() })
    }

    /// Returns the earliest expiry of the chain's certificates.
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// Returns the digest of the files' contents, which detects changes.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Returns the reason why the certificate is not valid at `now`, or `None` if it is valid.
    pub fn time_fault(&self, now: Timestamp) -> Option<String> {
        if now > self.not_after {
            Some(format!("the certificate expired at {}", self.not_after))
        } else {
            (now < self.not_before).then(|| format!("the certificate is not valid before {}", self.not_before))
        }
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

/// A file that the table names.
struct PemFile<'s> {
    table: &'static str,
    key: &'static str,
    file: &'s str,
}

impl PemFile<'_> {
    fn error(&self, problem: impl Into<String>) -> TlsError {
        TlsError { table: self.table, key: self.key, file: self.file.to_owned(), problem: problem.into() }
    }

    fn read(&self, digest: &mut Sha256) -> Result<Vec<u8>, TlsError> {
        let mut bytes = Vec::new();
        let read = File::open(self.file).and_then(|file| file.take(FILE_BYTES + 1).read_to_end(&mut bytes));
        read.map_err(|error| {
            self.error(format!("cannot be read: {error}; name a PEM file that the proxy's user can read"))
        })?;
        if bytes.len() as u64 > FILE_BYTES {
            return Err(self.error(format!("is larger than {FILE_BYTES} bytes; name the PEM file")));
        }
        add_part(digest, &bytes);
        Ok(bytes)
    }

    fn certificates(&self, digest: &mut Sha256) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let bytes = self.read(digest)?;
        let found: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&bytes).collect();
        let found = found.map_err(|error| self.error(not_pem(&error)))?;
        if found.is_empty() {
            return Err(self.error(
                "holds no PEM certificate (-----BEGIN CERTIFICATE-----); name the file that holds it, the listener's own \
                 certificate first, then its intermediate authorities",
            ));
        }
        Ok(found)
    }

    fn private_key(&self, digest: &mut Sha256) -> Result<PrivateKeyDer<'static>, TlsError> {
        let bytes = self.read(digest)?;
        let text = String::from_utf8_lossy(&bytes);
        if ENCRYPTED.iter().any(|mark| text.contains(mark)) {
            return Err(self.error(
                "is encrypted, and passphrases are not supported; decrypt it (`openssl pkey -in FILE -out PLAIN`) into a \
                 file that only the proxy's user can read",
            ));
        }
        PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| {
            self.error(match error {
                pem::Error::NoItemsFound => {
                    "holds no PEM private key (-----BEGIN PRIVATE KEY-----); name the file that holds it".to_owned()
                }
                error => not_pem(&error),
            })
        })
    }

    /// Returns the period in which all certificates of the chain are valid.
    fn validity(&self, chain: &[CertificateDer<'_>]) -> Result<(Timestamp, Timestamp), TlsError> {
        let mut span = (Timestamp::MIN, Timestamp::MAX);
        for (number, certificate) in (1..).zip(chain) {
            let (begin, end) = validity(certificate).map_err(|why| {
                self.error(format!("holds a certificate that cannot be read (number {number}): {why}; issue it again"))
            })?;
            span = (span.0.max(begin), span.1.min(end));
        }
        Ok(span)
    }

    fn verifier(
        &self,
        provider: Arc<CryptoProvider>,
        digest: &mut Sha256,
    ) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
        let unusable = |why: &dyn std::error::Error| {
            self.error(format!(
                "holds an authority that cannot be used: {why}; name the authorities that issue your clients' certificates"
            ))
        };
        let mut authorities = RootCertStore::empty();
        for authority in self.certificates(digest)? {
            authorities.add(authority).map_err(|error| unusable(&error))?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider).build();
        verifier.map_err(|error| unusable(&error))
    }
}

/// Returns the period in which a certificate is valid.
fn validity(certificate: &CertificateDer<'_>) -> Result<(Timestamp, Timestamp), String> {
    let parsed = CertificateInner::<Raw>::from_der(certificate).map_err(|error| error.to_string())?;
    let validity = parsed.tbs_certificate().validity();
    Ok((timestamp(validity.not_before)?, timestamp(validity.not_after)?))
}

fn timestamp(time: Time) -> Result<Timestamp, String> {
    let seconds = i64::try_from(time.to_unix_duration().as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).map_err(|error| error.to_string())
}

fn not_pem(error: &pem::Error) -> String {
    format!("is not valid PEM: {error}; write it again, from `-----BEGIN` to `-----END`")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use rcgen::{CertificateParams, KeyPair, PKCS_ED25519, date_time_ymd};

    use super::*;

    /// Returns a certificate and its key in PEM.
    fn pair(until: i32) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    }

    fn loaded(folder: &Path, certificate: &str, key: &str, client_ca: Option<&str>) -> Result<Identity, String> {
        let file = |name: &str, text: &str| {
            let file = folder.join(name);
            fs::write(&file, text).unwrap();
            file.to_str().unwrap().to_owned()
        };
        let settings = TlsSettings {
            certificate: file("cert.pem", certificate),
            key: file("key.pem", key),
            client_ca: client_ca.map_or_else(String::new, |text| file("ca.pem", text)),
        };
        Identity::load("server.tls", &settings).map_err(|error| error.to_string())
    }

    #[test]
    fn a_chain_is_good_until_its_first_certificate_expires() {
        let folder = tempfile::tempdir().unwrap();
        let ((own, key), (authority, _)) = (pair(2090), pair(2050));
        let identity = loaded(folder.path(), &format!("{own}{authority}"), &key, Some(&authority)).unwrap();
        assert_eq!(identity.not_after(), "2050-01-01T00:00:00Z".parse().unwrap());
        let fault = |now: &str| identity.time_fault(now.parse().unwrap());
        assert_eq!(fault("2026-01-01T00:00:00Z"), None);
        assert_eq!(fault("2050-01-01T00:00:01Z").unwrap(), "the certificate expired at 2050-01-01T00:00:00Z");
        assert!(fault("2000-01-01T00:00:00Z").unwrap().contains("not valid before 2001"));
        let other = loaded(folder.path(), &own, &key, None).unwrap();
        assert_ne!(identity.digest(), other.digest());
    }

    #[test]
    fn keys_of_the_usual_kinds_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        loaded(folder.path(), &certificate.pem(), &key.serialize_pem(), None).unwrap();
    }

    #[test]
    fn unusable_files_are_reported_by_key_and_file_with_the_fix() {
        let folder = tempfile::tempdir().unwrap();
        let ((certificate, key), (other, other_key)) = (pair(2090), pair(2090));
        let cut = &certificate[..certificate.len() / 2];
        let garbled = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        let cases = [
            (
                certificate.as_str(),
                other_key.as_str(),
                None,
                "`server.tls.key`",
                "is not the key of the first certificate",
            ),
            (&other, &key, None, "`server.tls.key`", "is not the key of the first certificate"),
            ("", &key, None, "`server.tls.certificate`", "holds no PEM certificate"),
            (&key, &key, None, "`server.tls.certificate`", "holds no PEM certificate"),
            (cut, &key, None, "`server.tls.certificate`", "is not valid PEM"),
            (garbled, &key, None, "`server.tls.certificate`", "cannot be read (number 1)"),
            (&certificate, &certificate, None, "`server.tls.key`", "holds no PEM private key"),
            (&certificate, encrypted, None, "`server.tls.key`", "decrypt it"),
            (&certificate, &key, Some(""), "`server.tls.client_ca`", "holds no PEM certificate"),
            (&certificate, &key, Some(garbled), "`server.tls.client_ca`", "cannot be used"),
        ];
        for (certificate, key, authority, place, problem) in cases {
            let error = loaded(folder.path(), certificate, key, authority).unwrap_err();
            assert!(error.contains(place) && error.contains(problem), "{place} {problem}: {error}");
            assert!(error.contains(".pem") && error.contains(';'), "names the file and the fix: {error}");
        }
    }

    #[test]
    fn files_that_cannot_be_read_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let absent = folder.path().join("absent.pem").to_str().unwrap().to_owned();
        let settings = TlsSettings { certificate: absent.clone(), key: absent, ..TlsSettings::default() };
        let error = Identity::load("server.operator_tls", &settings).unwrap_err().to_string();
        assert!(
            error.starts_with("`server.operator_tls.certificate`: ") && error.contains("cannot be read"),
            "{error}"
        );
        let (certificate, key) = pair(2090);
        let long = certificate + &" ".repeat(usize::try_from(FILE_BYTES).unwrap());
        assert!(loaded(folder.path(), &long, &key, None).unwrap_err().contains("is larger than"));
    }
}
