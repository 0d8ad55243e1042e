//! TLS handshake of a connection. It runs in the connection's own task, so that a slow or hostile client does not delay
//! others.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::Tls;
use callwright_telemetry::labels::{HandshakeFailure, Label};

/// Maximum time for a handshake, which takes three round trips.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

impl Tls {
    /// Performs the handshake with the currently installed identity. Returns `None` and counts the failure if it fails.
    pub(in crate::http) async fn handshake(
        &self,
        socket: TcpStream,
        client: SocketAddr,
    ) -> Option<TlsStream<TcpStream>> {
        let agreed = TlsAcceptor::from(self.config()).accept(socket);
        let error = match tokio::time::timeout(HANDSHAKE_TIMEOUT, agreed).await {
            Ok(Ok(stream)) => return Some(stream),
            Ok(Err(error)) => error,
            Err(_) => io::ErrorKind::TimedOut.into(),
        };
        let reason = reason_of(&error);
        self.metrics.tls_handshake_failures.inc(self.side, reason);
        tracing::debug!(listener = self.side.label(), %client, reason = reason.label(), %error, "a TLS handshake failed");
        None
    }
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
