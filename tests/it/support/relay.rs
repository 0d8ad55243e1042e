//! A TCP relay between two programs that can become slow or dead during a connection.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// State of the relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// Forwards everything immediately.
    Open,
    /// Delays every piece by this time.
    Slow(Duration),
    /// Accepts everything and forwards nothing.
    Dead,
}

/// Listens on a free port and forwards to one address.
pub(crate) struct Relay {
    port: u16,
    line: watch::Sender<Line>,
}

impl Relay {
    /// Starts a relay to this loopback port.
    pub(crate) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (line, seen) = watch::channel(Line::Open);
        let relay = Self { port: listener.local_addr().unwrap().port(), line };
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = TcpStream::connect(("127.0.0.1", port)).await else { continue };
                let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                tokio::spawn(carry(near_in, far_out, seen.clone()));
                tokio::spawn(carry(far_in, near_out, seen.clone()));
            }
        });
        relay
    }

    /// Returns the port that it listens on.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Sets the state from now on.
    pub(crate) fn set(&self, line: Line) {
        self.line.send_replace(line);
    }
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut line: watch::Receiver<Line>) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        let state = *line.borrow_and_update();
        match state {
            Line::Open => {}
            Line::Slow(wait) => tokio::time::sleep(wait).await,
            Line::Dead => {
                // After the state changes, the held bytes are forwarded.
                if line.wait_for(|line| *line != Line::Dead).await.is_err() {
                    return;
                }
            }
        }
        if to.write_all(&piece[..length]).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}
