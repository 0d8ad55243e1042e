//! TLS in front of a scripted server, with an authority made for the test.

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::server::Server;

/// Terminates TLS for `localhost` and hands the bytes to a server.
pub(crate) struct TlsFront {
    /// The authority's certificate, PEM.
    pub(crate) authority: String,
    address: SocketAddr,
}

impl TlsFront {
    /// Starts in front of `server`.
    pub(crate) async fn start(server: &Server) -> Self {
        let (valid_from, valid_to) = (1975, 4096);
        Self::start_valid(server, valid_from, valid_to).await
    }

    /// Starts in front of `server` with a certificate whose time is over.
    pub(crate) async fn start_expired(server: &Server) -> Self {
        let (valid_from, valid_to) = (2001, 2002);
        Self::start_valid(server, valid_from, valid_to).await
    }

    async fn start_valid(server: &Server, valid_from: i32, valid_to: i32) -> Self {
        let (config, authority) = certified(valid_from, valid_to);
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let behind = server.url("").trim_start_matches("http://").to_owned();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, behind) = (acceptor.clone(), behind.clone());
                tokio::spawn(async move {
                    // A client that refuses the certificate ends here.
                    let Ok(mut secured) = acceptor.accept(socket).await else { return };
                    let mut plain = TcpStream::connect(behind).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut secured, &mut plain).await;
                });
            }
        });
        Self { authority, address }
    }

    /// The URL with `path` behind it; by name, because the certificate is for the name.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }
}

/// A server configuration for `localhost`, and the PEM of the authority that signed its certificate.
fn certified(valid_from: i32, valid_to: i32) -> (ServerConfig, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_before = date_time_ymd(valid_from, 1, 1);
    params.not_after = date_time_ymd(valid_to, 1, 1);
    let certificate = params.signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).unwrap();
    (config, authority.pem())
}
