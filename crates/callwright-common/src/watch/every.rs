//! Polls sources that have no change notification.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::{Signal, Watcher};

/// Calls `look` in a thread with this name, each time `period` has passed since the last call returned.
///
/// # Errors
/// If the thread cannot be started.
pub fn every(period: Duration, name: &str, mut look: impl FnMut() + Send + 'static) -> io::Result<Watcher> {
    let (changes, signals) = channel();
    let run = move || {
        loop {
            match signals.recv_timeout(period) {
                Err(RecvTimeoutError::Timeout) | Ok(Signal::Change) => look(),
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(run)?;
    Ok(Watcher { changes: Some(changes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_looked_again_and_again_until_the_watcher_is_gone() {
        let (sender, calls) = channel();
        let watcher = every(Duration::from_millis(1), "test", move || sender.send(()).unwrap_or_default()).unwrap();
        for _ in 0..3 {
            calls.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        drop(watcher);
        // The thread ends, which closes its end of the channel.
        while calls.recv_timeout(Duration::from_secs(60)).is_ok() {}
        assert_eq!(calls.recv_timeout(Duration::from_secs(60)), Err(RecvTimeoutError::Disconnected));
    }
}
