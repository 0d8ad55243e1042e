//! The signals that ask the process to end.

use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGTERM or SIGINT; gives the signal's name. Where signals cannot be had, it waits for ever.
pub async fn asked_to_end() -> &'static str {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        tracing::error!("cannot listen for signals; end the process with SIGKILL");
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}
