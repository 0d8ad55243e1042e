//! A line between two programs that can be made slow, or dead, while they speak.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How the line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// It carries everything at once.
    Open,
    /// Every piece waits so long.
    Slow(Duration),
    /// It takes everything and carries nothing.
    Dead,
}

/// Listens on a free port and passes on to one address.
pub(crate) struct Relay {
    port: u16,
    line: watch::Sender<Line>,
}

impl Relay {
    /// A relay to this port of the loopback interface.
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

    /// The port that it listens on.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Makes the line so from now on.
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
                // A line that is mended carries what it held.
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
