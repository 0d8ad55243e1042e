//! File watching and hot reload: of a directory ([`watch`]) or of files in different directories ([`watch_files`]).
//! Sources without change notification are polled ([`every()`]). A folder of YAML files that people edit is read within
//! limits ([`Folder`]), and again when it has changed ([`reload()`]). The same holds for a single file ([`read_file`],
//! [`reload_file`]).
//!
//! Owns watching, debouncing, and reading such folders and files. Must not interpret the files' contents.

mod files;
mod folder;
mod one_file;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

pub use files::{Watched, watch_files};
pub use folder::{Folder, FolderDigest, FolderError, FolderFile, digest, reload};
pub use one_file::{FileError, read_file, reload_file};

/// The directory cannot be watched: its contents are not reloaded until a restart.
#[derive(Debug, thiserror::Error)]
#[error("cannot watch {}: {source}", .directory.display())]
pub struct WatchError {
    directory: PathBuf,
    source: notify::Error,
}

/// Handle of a watching thread, which stops when the handle is dropped.
#[derive(Debug, Default)]
pub struct Watcher {
    /// `None` if nothing is watched.
    changes: Option<Sender<Signal>>,
}

impl Watcher {
    /// Creates a watcher that watches nothing.
    pub fn idle() -> Self {
        Self::default()
    }

    /// Triggers a reload of the files, as after a change.
    pub fn wake(&self) {
        if let Some(changes) = &self.changes {
            let _ = changes.send(Signal::Change);
        }
    }

    /// Whether nothing is watched.
    pub fn is_idle(&self) -> bool {
        self.changes.is_none()
    }
}

/// Condition for a reload: the watcher is woken or, unless disabled, the files have changed and then not changed for a
/// quiet time.
#[derive(Debug, Clone, Copy)]
pub struct Trigger {
    quiet: Duration,
    on_change: bool,
}

/// Quiet time after a change: editors write a file in several steps, and a certificate and its key are written one
/// after the other.
const QUIET: Duration = Duration::from_millis(200);

impl Trigger {
    /// Reloads after a change of the files. If `on_change` is false, reloads only when the watcher is woken.
    pub fn new(on_change: bool) -> Self {
        Self { quiet: QUIET, on_change }
    }
}

impl From<Duration> for Trigger {
    fn from(quiet: Duration) -> Self {
        Self { quiet, on_change: true }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some(changes) = &self.changes {
            let _ = changes.send(Signal::Stop);
        }
    }
}

/// A message to the watching thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    Change,
    Stop,
}

/// Calls `on_change` in a thread with this name after `directory` has changed and the quiet time of `trigger` has
/// passed without another change, or when the watcher is woken. It is also called once at the start, for changes since
/// the last read. A call does not imply different contents.
///
/// The directory is watched, not the files: editors replace files by renaming, and Kubernetes switches a symbolic link
/// inside it. Its parent is watched too, because the directory itself may be replaced.
///
/// # Errors
/// [`WatchError`], if the system cannot watch the directory.
pub fn watch(
    directory: &Path,
    trigger: impl Into<Trigger>,
    name: &str,
    mut on_change: impl FnMut() + Send + 'static,
) -> Result<Watcher, WatchError> {
    let Trigger { quiet, on_change: is_watched } = trigger.into();
    let directory = directory.to_owned();
    let (changes, signals) = channel();
    let mut events = None;
    if is_watched {
        let watching = watching(&directory, &changes);
        events = Some(watching.map_err(|source| WatchError { directory: directory.clone(), source })?);
        // Covers changes between reading the files and watching them.
        let _ = changes.send(Signal::Change);
    }
    let place = directory.clone();
    let thread = spawn(name, move || {
        while wait_for_change(&signals, quiet) {
            if let Some(events) = &mut events {
                // A replaced directory is a different one to the system. If it does not exist now, the parent reports
                // its creation.
                let _ = events.unwatch(&place);
                let _ = events.watch(&place, RecursiveMode::NonRecursive);
            }
            on_change();
        }
    });
    thread.map_err(|error| WatchError { directory, source: notify::Error::io(error) })?;
    Ok(Watcher { changes: Some(changes) })
}

/// Calls `look` in a thread with this name, each time `period` has passed since the last call returned. For sources
/// without change notification.
///
/// # Errors
/// If the thread cannot be started.
pub fn every(period: Duration, name: &str, mut look: impl FnMut() + Send + 'static) -> io::Result<Watcher> {
    let (changes, signals) = channel();
    spawn(name, move || {
        loop {
            match signals.recv_timeout(period) {
                Err(RecvTimeoutError::Timeout) | Ok(Signal::Change) => look(),
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    })?;
    Ok(Watcher { changes: Some(changes) })
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(run).map(drop)
}

/// Signals changes of the directory from now on.
fn watching(directory: &Path, changes: &Sender<Signal>) -> notify::Result<RecommendedWatcher> {
    let mut events = events_of(directory.to_owned(), changes.clone())?;
    events.watch(directory, RecursiveMode::NonRecursive)?;
    if let Some(parent) = directory.parent() {
        // Optional: without permission to watch the parent, the directory is still watched.
        let _ = events.watch(parent, RecursiveMode::NonRecursive);
    }
    Ok(events)
}

/// Signals changes of the directory and its contents.
fn events_of(directory: PathBuf, changes: Sender<Signal>) -> notify::Result<RecommendedWatcher> {
    notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Read access is ignored, because a reload would trigger the next one. Other changes in the parent are ignored.
        let is_ours = event.is_ok_and(|event| {
            let is_change = !matches!(event.kind, EventKind::Access(_));
            is_change && (event.need_rescan() || event.paths.iter().any(|path| path.starts_with(&directory)))
        });
        if is_ours {
            let _ = changes.send(Signal::Change);
        }
    })
}

/// Maximum wait for quiet, as a multiple of the quiet time. A file that changes permanently must not block the reload.
const MOST_QUIET_TIMES: u32 = 20;

/// Waits for a change and then for quiet. Returns false if the thread must stop.
fn wait_for_change(signals: &Receiver<Signal>, quiet: Duration) -> bool {
    if signals.recv() != Ok(Signal::Change) {
        return false;
    }
    let latest = Instant::now() + quiet * MOST_QUIET_TIMES;
    while Instant::now() < latest {
        match signals.recv_timeout(quiet) {
            Ok(Signal::Change) => {}
            Err(RecvTimeoutError::Timeout) => return true,
            Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
    true
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
