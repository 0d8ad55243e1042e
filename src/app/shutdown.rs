//! Signals that end the process, and those that throw the kill switch.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::pipeline::Pipeline;

/// Waits for SIGTERM, SIGINT or SIGQUIT, and returns the signal's name. Waits for ever if no signal handler can be
/// installed.
pub async fn termination_requested() -> &'static str {
    let (Ok(mut terminate), Ok(mut interrupt), Ok(mut quit)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()), signal(SignalKind::quit()))
    else {
        tracing::error!("cannot listen for signals; end the process with SIGKILL");
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
        // nginx and php-fpm end in order at SIGQUIT, so that some images and units send it.
        _ = quit.recv() => "SIGQUIT",
    }
}

/// Turns the proxy off at SIGUSR1 and on again at SIGUSR2, until `ending` is cancelled.
pub(super) fn switch_by_signal(pipeline: Arc<Pipeline>, ending: CancellationToken) {
    let (Ok(mut off), Ok(mut on)) = (signal(SignalKind::user_defined1()), signal(SignalKind::user_defined2())) else {
        tracing::error!("cannot listen for SIGUSR1 and SIGUSR2; use POST /admin/switch as kill switch");
        return;
    };
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = off.recv() => pipeline.switch.off(None, "SIGUSR1"),
                _ = on.recv() => pipeline.switch.on(None),
                () = ending.cancelled() => return,
            }
        }
    });
}
