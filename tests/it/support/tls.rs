//! Certificates for a test, and TLS termination in front of a scripted server.

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::server::Server;

/// Years in which a certificate is valid, whenever the test runs.
const VALID: (i32, i32) = (1975, 4096);

/// An authority that issues certificates.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its private key in PEM.
pub(crate) struct Issued {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Returns the authority's certificate in PEM.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Issues a certificate for this machine.
    pub(crate) fn issue(&self) -> Issued {
        self.issue_valid(VALID)
    }

    /// Issues an expired certificate for this machine.
    pub(crate) fn issue_expired(&self) -> Issued {
        let (from, until) = (2001, 2002);
        self.issue_valid((from, until))
    }

    /// Issues a certificate for this machine, valid from the beginning of one year to the beginning of another.
    pub(crate) fn issue_valid(&self, (from, until): (i32, i32)) -> Issued {
        self.issue_between((from, 1, 1), (until, 1, 1))
    }

    /// Issues a certificate for this machine that is valid for this number of days from now.
    pub(crate) fn issue_for_days(&self, days: i64) -> Issued {
        let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
        let until = now.checked_add(jiff::Span::new().days(days)).unwrap();
        let part = |number: i8| u8::try_from(number).unwrap();
        self.issue_between((VALID.0, 1, 1), (until.year().into(), part(until.month()), part(until.day())))
    }

    fn issue_between(&self, from: (i32, u8, u8), until: (i32, u8, u8)) -> Issued {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.not_before = date_time_ymd(from.0, from.1, from.2);
        params.not_after = date_time_ymd(until.0, until.1, until.2);
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Issued { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// Terminates TLS for `localhost` and forwards the bytes to a server.
pub(crate) struct TlsFront {
    /// The authority's certificate in PEM.
    pub(crate) authority: String,
    address: SocketAddr,
}

impl TlsFront {
    /// Starts in front of `server`.
    pub(crate) async fn start(server: &Server) -> Self {
        let authority = Authority::new();
        Self::start_with(server, &authority, authority.issue()).await
    }

    /// Starts in front of `server` with an expired certificate.
    pub(crate) async fn start_expired(server: &Server) -> Self {
        let authority = Authority::new();
        Self::start_with(server, &authority, authority.issue_expired()).await
    }

    async fn start_with(server: &Server, authority: &Authority, issued: Issued) -> Self {
        let acceptor = TlsAcceptor::from(Arc::new(config(&issued)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let behind = server.url("").trim_start_matches("http://").to_owned();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, behind) = (acceptor.clone(), behind.clone());
                tokio::spawn(async move {
                    // The handshake fails if the client refuses the certificate.
                    let Ok(mut secured) = acceptor.accept(socket).await else { return };
                    let mut plain = TcpStream::connect(behind).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut secured, &mut plain).await;
                });
            }
        });
        Self { authority: authority.pem(), address }
    }

    /// Returns the URL with `path` appended, with the host name for which the certificate is issued.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }
}

pub(crate) fn config(issued: &Issued) -> ServerConfig {
    let certificate = CertificateDer::from_pem_slice(issued.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap()
}
