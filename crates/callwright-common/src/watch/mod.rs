//! Tells when files have changed: a directory of them ([`watch`]), or some that stand wherever they do ([`watch_files`]). What nobody tells
//! about is looked at now and then ([`every()`]). A folder of YAML files that people edit is read within bounds ([`Folder`]), and again when
//! it has changed ([`reload()`]); so is a single file ([`read_file`], [`reload_file`]).
//!
//! Owns watching, waiting for quiet, and reading such folders and files. Must not know what the files say.

mod every;
mod files;
mod folder;
mod one_file;
mod reload;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

pub use every::every;
pub use files::{Watched, watch_files};
pub use folder::{Folder, FolderDigest, FolderError, FolderFile, digest};
pub use one_file::{FileError, read_file, reload_file};
pub use reload::reload;

/// The directory cannot be watched: what was read from it stays as it is until a restart.
#[derive(Debug, thiserror::Error)]
#[error("cannot watch {}: {source}", .directory.display())]
pub struct WatchError {
    directory: PathBuf,
    source: notify::Error,
}

/// Watches as long as it lives.
#[derive(Debug, Default)]
pub struct Watcher {
    /// `None` where there is nothing to watch.
    changes: Option<Sender<Signal>>,
}

impl Watcher {
    /// Watches nothing.
    pub fn idle() -> Self {
        Self::default()
    }

    /// Has the files read now, as after a change.
    pub fn wake(&self) {
        if let Some(changes) = &self.changes {
            let _ = changes.send(Signal::Change);
        }
    }

    /// Is there nothing to watch?
    pub fn is_idle(&self) -> bool {
        self.changes.is_none()
    }
}

/// When files are read again: where the watcher is woken, and also where they have changed and rested for a time, unless that is switched off.
#[derive(Debug, Clone, Copy)]
pub struct Trigger {
    quiet: Duration,
    on_change: bool,
}

impl Trigger {
    /// After a change of the files and so many milliseconds of quiet; with `on_change` false only where the watcher is woken.
    pub fn new(quiet_milliseconds: u64, on_change: bool) -> Self {
        Self { quiet: Duration::from_millis(quiet_milliseconds), on_change }
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

/// What wakes the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    Change,
    Stop,
}

/// Calls `on_change`, in a thread of this name, when `directory` has changed and nothing changed any more for the quiet time of
/// `trigger`, or the watcher is woken; and once at the beginning, for what changed since it was last read. Not every call means different contents.
///
/// The directory is watched, not the files: editors replace files by renaming, and Kubernetes switches a symbolic link
/// inside it. Its parent is watched too, for a directory that is itself replaced.
///
/// # Errors
/// [`WatchError`], where the system cannot watch the directory.
pub fn watch(
    directory: &Path,
    trigger: impl Into<Trigger>,
    name: &str,
    mut on_change: impl FnMut() + Send + 'static,
) -> Result<Watcher, WatchError> {
    let Trigger { quiet, on_change: is_watched } = trigger.into();
    let directory = directory.to_owned();
    let (changes, signals) = channel();
    let failed = |source| WatchError { directory: directory.clone(), source };
    let mut events = None;
    if is_watched {
        events = Some(watching(&directory, &changes).map_err(failed)?);
        // What changed since the files were read was not seen by anyone.
        let _ = changes.send(Signal::Change);
    }
    let place = directory.clone();
    let run = move || {
        while wait_for_change(&signals, quiet) {
            if let Some(events) = &mut events {
                // A directory that was replaced is another one to the system. If there is none now, the parent tells when there is.
                let _ = events.unwatch(&place);
                let _ = events.watch(&place, RecursiveMode::NonRecursive);
            }
            on_change();
        }
    };
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    thread.map_err(|error| failed(notify::Error::io(error)))?;
    Ok(Watcher { changes: Some(changes) })
}

/// Signals the changes of the directory, from now on.
fn watching(directory: &Path, changes: &Sender<Signal>) -> notify::Result<RecommendedWatcher> {
    let mut events = events_of(directory.to_owned(), changes.clone())?;
    events.watch(directory, RecursiveMode::NonRecursive)?;
    if let Some(parent) = directory.parent() {
        // Only a help; a parent that may not be watched is no reason to watch nothing.
        let _ = events.watch(parent, RecursiveMode::NonRecursive);
    }
    Ok(events)
}

/// Signals the changes of the directory and of what is in it.
fn events_of(directory: PathBuf, changes: Sender<Signal>) -> notify::Result<RecommendedWatcher> {
    notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading is no change: our own reload would cause the next one. What else happens in the parent is not ours.
        let is_ours = event.is_ok_and(|event| {
            let is_change = !matches!(event.kind, EventKind::Access(_));
            is_change && (event.need_rescan() || event.paths.iter().any(|path| path.starts_with(&directory)))
        });
        if is_ours {
            let _ = changes.send(Signal::Change);
        }
    })
}

/// Most times the quiet time that a reload waits for quiet: a file that never rests must not keep the others out.
const MOST_QUIET_TIMES: u32 = 20;

/// Waits for a change and then for quiet; false when it is time to stop.
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
