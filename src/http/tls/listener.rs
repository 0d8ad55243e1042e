//! Handshakes, each in a task of its own: who is slow or talks nonsense keeps nobody waiting.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::serve::Listener as AxumListener;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::Tls;
use crate::telemetry::labels::{HandshakeFailure, Label};

/// Gives connections whose handshake has succeeded. Those under way end with it.
#[derive(Debug)]
pub(in crate::http) struct TlsListener<L> {
    plain: L,
    tls: Arc<Tls>,
    handshakes: JoinSet<Option<(TlsStream<TcpStream>, SocketAddr)>>,
}

impl<L> TlsListener<L> {
    pub(in crate::http) fn new(plain: L, tls: Arc<Tls>) -> Self {
        Self { plain, tls, handshakes: JoinSet::new() }
    }
}

impl<L: AxumListener<Io = TcpStream, Addr = SocketAddr>> AxumListener for TlsListener<L> {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    // A call that is dropped loses nothing: what is under way stands in `self`.
    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            tokio::select! {
                (socket, client) = self.plain.accept() => {
                    self.handshakes.spawn(handshake(self.tls.clone(), socket, client));
                }
                Some(ended) = self.handshakes.join_next() => {
                    // A task that panicked has said so; the connection is closed.
                    if let Ok(Some(connection)) = ended {
                        return connection;
                    }
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.plain.local_addr()
    }
}

/// Agrees on TLS with a client, by what the listener shows at this moment; `None`, counted, where that fails.
async fn handshake(tls: Arc<Tls>, socket: TcpStream, client: SocketAddr) -> Option<(TlsStream<TcpStream>, SocketAddr)> {
    let agreed = TlsAcceptor::from(tls.config()).accept(socket);
    let error = match tokio::time::timeout(tls.handshake_timeout, agreed).await {
        Ok(Ok(stream)) => return Some((stream, client)),
        Ok(Err(error)) => error,
        Err(_) => io::ErrorKind::TimedOut.into(),
    };
    let reason = reason_of(&error);
    tls.metrics.tls_handshake_failures.inc(tls.side, reason);
    tracing::debug!(listener = tls.side.label(), %client, reason = reason.label(), %error, "a TLS handshake failed");
    None
}

fn reason_of(error: &io::Error) -> HandshakeFailure {
    if error.kind() == io::ErrorKind::TimedOut {
        return HandshakeFailure::Timeout;
    }
    match error.get_ref().and_then(|error| error.downcast_ref()) {
        None => HandshakeFailure::Closed,
        Some(rustls::Error::AlertReceived(_)) => HandshakeFailure::Refused,
        Some(rustls::Error::NoCertificatesPresented | rustls::Error::InvalidCertificate(_)) => {
            HandshakeFailure::ClientCertificate
        }
        Some(_) => HandshakeFailure::Protocol,
    }
}

#[cfg(test)]
mod tests {
    use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

    use super::*;

    #[test]
    fn failures_are_told_apart() {
        let of = |error: Error| reason_of(&io::Error::new(io::ErrorKind::InvalidData, error));
        assert_eq!(of(Error::AlertReceived(AlertDescription::UnknownCA)), HandshakeFailure::Refused);
        assert_eq!(of(Error::NoCertificatesPresented), HandshakeFailure::ClientCertificate);
        assert_eq!(of(Error::InvalidCertificate(CertificateError::Expired)), HandshakeFailure::ClientCertificate);
        assert_eq!(of(Error::InvalidMessage(InvalidMessage::InvalidContentType)), HandshakeFailure::Protocol);
        assert_eq!(reason_of(&io::ErrorKind::UnexpectedEof.into()), HandshakeFailure::Closed);
        assert_eq!(reason_of(&io::ErrorKind::ConnectionReset.into()), HandshakeFailure::Closed);
        assert_eq!(reason_of(&io::ErrorKind::TimedOut.into()), HandshakeFailure::Timeout);
    }
}
