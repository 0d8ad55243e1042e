//! Watches files that may be in different directories and change together.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use notify::event::ModifyKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::{Signal, Trigger, WatchError, Watcher, spawn, wait_for_change};

/// Watched files and folders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watched {
    /// Files in any directory.
    pub files: BTreeSet<PathBuf>,
    /// Folders in which every file matters whose extension is one of `endings`, including new files. Subfolders are
    /// excluded.
    pub folders: BTreeSet<PathBuf>,
    /// File extensions, without the dot.
    pub endings: &'static [&'static str],
}

/// Calls `on_change` in a thread with this name after files of `watched` have changed and the quiet time of `trigger`
/// has passed without another change, or when the watcher is woken. It is also called once at the start, for changes
/// since the last read. `on_change` returns the files to watch from then on. A call does not imply different contents.
///
/// # Errors
/// [`WatchError`], if the system cannot watch any of their directories.
pub fn watch_files(
    first: Watched,
    trigger: impl Into<Trigger>,
    name: &str,
    mut on_change: impl FnMut() -> Watched + Send + 'static,
) -> Result<Watcher, WatchError> {
    let Trigger { quiet, on_change: is_watched } = trigger.into();
    let (changes, signals) = channel();
    let directory = first.directories().into_iter().next().unwrap_or_default();
    let mut directories = None;
    if is_watched {
        let watching = Directories::new(first, &changes);
        directories = Some(watching.map_err(|source| WatchError { directory: directory.clone(), source })?);
        // Covers changes between reading the files and watching them.
        let _ = changes.send(Signal::Change);
    }
    let again = changes.clone();
    let thread = spawn(name, move || {
        while wait_for_change(&signals, quiet) {
            let Some(directories) = &mut directories else {
                on_change();
                continue;
            };
            directories.renew();
            match directories.set(on_change()) {
                // Covers changes in new directories between reading and watching them.
                Ok(true) => drop(again.send(Signal::Change)),
                Ok(false) => {}
                // A directory that does not exist is retried after the next change.
                Err(error) => tracing::warn!(%error, "a directory cannot be watched"),
            }
        }
    });
    thread.map_err(|error| WatchError { directory, source: notify::Error::io(error) })?;
    Ok(Watcher { changes: Some(changes) })
}

/// The directories that are currently watched.
struct Directories {
    events: RecommendedWatcher,
    watched: Arc<Mutex<Watched>>,
    directories: BTreeSet<PathBuf>,
}

impl Watched {
    /// Returns the directories to watch.
    fn directories(&self) -> BTreeSet<PathBuf> {
        self.files.iter().map(|file| directory(file)).chain(self.folders.iter().cloned()).collect()
    }

    /// Returns the same files under the paths that the system uses in its events.
    fn absolute(self) -> Self {
        let files = self.files.iter().filter_map(|file| Some(directory(file).join(file.file_name()?))).collect();
        Self { files, ..self }
    }

    /// Whether a write to `path` is relevant.
    fn has(&self, path: &Path) -> bool {
        if self.files.contains(path) {
            return true;
        }
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let ends = self.endings.iter().any(|ending| extension == *ending);
        ends && path.parent().is_some_and(|parent| self.folders.contains(parent))
    }
}

impl Directories {
    /// Watches the directories of `watched`.
    fn new(watched: Watched, changes: &Sender<Signal>) -> notify::Result<Self> {
        let shared = Arc::new(Mutex::new(Watched::default()));
        let events = events_of(Arc::clone(&shared), changes.clone())?;
        let mut directories = Self { events, watched: shared, directories: BTreeSet::new() };
        directories.set(watched)?;
        Ok(directories)
    }

    /// Watches exactly the directories of `watched`. Returns whether any of them was not watched before.
    fn set(&mut self, watched: Watched) -> notify::Result<bool> {
        let wanted = watched.directories();
        *self.watched.lock().unwrap_or_else(PoisonError::into_inner) = watched.absolute();
        for old in self.directories.difference(&wanted) {
            let _ = self.events.unwatch(old);
        }
        let mut result = Ok(());
        self.directories.retain(|place| wanted.contains(place));
        let kept = self.directories.len();
        for place in wanted {
            if !self.directories.contains(&place) {
                match self.events.watch(&place, RecursiveMode::NonRecursive) {
                    Ok(()) => drop(self.directories.insert(place)),
                    Err(error) => result = Err(error),
                }
            }
        }
        result.map(|()| self.directories.len() > kept)
    }

    /// Renews the watch of each directory, because a replaced directory is a different one to the system.
    fn renew(&mut self) {
        let events = &mut self.events;
        self.directories.retain(|place| {
            let _ = events.unwatch(place);
            events.watch(place, RecursiveMode::NonRecursive).is_ok()
        });
    }
}

fn directory(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Signals changes of the files. Writes to other files in their directories, such as a database, are ignored. Created,
/// renamed and removed names are not: Kubernetes replaces the symbolic link through which a file's own link leads.
fn events_of(watched: Arc<Mutex<Watched>>, changes: Sender<Signal>) -> notify::Result<RecommendedWatcher> {
    notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let is_ours = event.is_ok_and(|event| match event.kind {
            EventKind::Access(_) => false,
            EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)) => {
                let watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
                event.paths.iter().any(|path| watched.has(path))
            }
            _ => true,
        });
        if is_ours {
            let _ = changes.send(Signal::Change);
        }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::{Receiver, RecvTimeoutError};
    use std::time::Duration;

    use super::*;

    /// Timeout long enough for slow machines; a passing test does not reach it.
    const PATIENCE: Duration = Duration::from_secs(60);
    const QUIET: Duration = Duration::from_millis(20);

    fn watching(first: &[PathBuf], next: &[PathBuf]) -> (Watcher, Receiver<()>) {
        let (sender, calls) = channel();
        let watched = |files: &[PathBuf]| Watched { files: files.iter().cloned().collect(), ..Watched::default() };
        let next = watched(next);
        let on_change = move || {
            let _ = sender.send(());
            next.clone()
        };
        let watcher = watch_files(watched(first), QUIET, "test", on_change).unwrap();
        // The first call covers earlier changes; from then on `next` is watched.
        calls.recv_timeout(PATIENCE).unwrap();
        (watcher, calls)
    }

    #[test]
    fn a_file_of_another_directory_that_came_to_matter_is_watched() {
        let root = tempfile::tempdir().unwrap();
        let (one, two) = (root.path().join("a/one.yaml"), root.path().join("b/two.yaml"));
        for file in [&one, &two] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "1").unwrap();
        }
        let (_watcher, calls) = watching(std::slice::from_ref(&one), &[one.clone(), two.clone()]);
        // The second directory is watched only a moment after the first call.
        loop {
            fs::write(&two, "2").unwrap();
            match calls.recv_timeout(QUIET * 10) {
                Ok(()) => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("the thread ended"),
            }
        }
    }

    #[test]
    fn in_a_folder_files_of_the_endings_matter_and_others_do_not() {
        let folders = BTreeSet::from([PathBuf::from("/d")]);
        let watched = Watched { folders, endings: &["yaml"], ..Watched::default() };
        for (path, matters) in
            [("/d/a.yaml", true), ("/d/a.YAML", true), ("/d/a.sqlite3", false), ("/d/e/a.yaml", false)]
        {
            assert_eq!(watched.has(Path::new(path)), matters, "{path}");
        }
    }

    #[test]
    fn a_link_that_is_replaced_is_a_change() {
        let root = tempfile::tempdir().unwrap();
        let place = root.path();
        for version in ["v1", "v2"] {
            fs::create_dir(place.join(version)).unwrap();
            fs::write(place.join(version).join("api.yaml"), version).unwrap();
        }
        std::os::unix::fs::symlink("v1", place.join("..data")).unwrap();
        std::os::unix::fs::symlink("..data/api.yaml", place.join("api.yaml")).unwrap();
        let files = [place.join("api.yaml")];
        let (_watcher, calls) = watching(&files, &files);
        std::os::unix::fs::symlink("v2", place.join("..new")).unwrap();
        fs::rename(place.join("..new"), place.join("..data")).unwrap();
        calls.recv_timeout(PATIENCE).unwrap();
        assert_eq!(fs::read_to_string(&files[0]).unwrap(), "v2");
    }
}
