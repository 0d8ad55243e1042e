//! Hot reload: watches the directory and replaces the active representations by a valid new set.

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::file::{RepresentationError, folder};
use super::set::directory;
use super::{Representations, Settings};
use callwright_common::watch::{FolderFile, Trigger, WatchError, Watcher, reload};

/// Reloads the representations into `current` when their directory changes, and calls `on_result` for every reload. An
/// invalid set leaves `current` unchanged. Without a directory, there is nothing to
/// watch. A reload only happens if file contents changed.
///
/// # Errors
/// [`WatchError`]: the system cannot watch the directory.
pub fn watch(
    settings: &Settings,
    base_dir: &Path,
    trigger: Trigger,
    current: Arc<ArcSwap<Representations>>,
    on_result: impl Fn(Result<(), &RepresentationError>) + Send + 'static,
) -> Result<Watcher, WatchError> {
    let Some(directory) = directory(settings, base_dir) else {
        return Ok(Watcher::idle());
    };
    let source_digest = current.load().source_digest;
    reload(
        folder(&directory),
        source_digest,
        trigger,
        "representations",
        current,
        |files: Vec<FolderFile>, _: &Representations| Representations::from_files(&files),
        on_result,
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use super::*;

    /// Long timeout for slow machines; a passing test does not wait for it.
    const PATIENCE: Duration = Duration::from_secs(60);

    struct Fixture {
        root: tempfile::TempDir,
        current: Arc<ArcSwap<Representations>>,
        results: Receiver<Result<(), String>>,
        _watcher: Watcher,
    }

    fn watching() -> Fixture {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("learned")).unwrap();
        fs::write(root.path().join("learned/own.yaml"), with("Paying.")).unwrap();
        let settings = Settings { directory: "learned".to_owned(), ..Settings::default() };
        let current = Arc::new(ArcSwap::from_pointee(Representations::load(&settings, root.path()).unwrap()));
        let (sender, results) = channel();
        let on_result = move |result: Result<(), &RepresentationError>| {
            let _ = sender.send(result.map_err(ToString::to_string));
        };
        let watcher = watch(&settings, root.path(), Trigger::new(true), Arc::clone(&current), on_result).unwrap();
        Fixture { root, current, results, _watcher: watcher }
    }

    fn with(description: &str) -> String {
        format!("tools:\n- tool: pay\n  patterns:\n  - description: {description}\n")
    }

    impl Fixture {
        fn description(&self) -> String {
            self.current.load().of_client_tool("pay").unwrap().patterns[0].description.clone()
        }

        fn result(&self) -> Result<(), String> {
            self.results.recv_timeout(PATIENCE).expect("a reload")
        }

        /// Replaces the file atomically, so that no reload can see a partial one.
        fn replace(&self, text: &str) {
            fs::write(self.root.path().join("learned/.new"), text).unwrap();
            fs::rename(self.root.path().join("learned/.new"), self.root.path().join("learned/own.yaml")).unwrap();
        }
    }

    #[test]
    fn invalid_files_are_ignored_until_the_next_valid_one() {
        let fixture = watching();
        fixture.replace(&with("''"));
        let error = fixture.result().unwrap_err();
        assert!(error.contains("own.yaml:4:18: the description is empty"), "{error}");
        assert_eq!(fixture.description(), "Paying.");
        fixture.replace(&with("Buying."));
        assert_eq!(fixture.result(), Ok(()));
        assert_eq!(fixture.description(), "Buying.");
    }

    #[test]
    fn removed_files_are_unloaded() {
        let fixture = watching();
        fs::remove_file(fixture.root.path().join("learned/own.yaml")).unwrap();
        assert_eq!(fixture.result(), Ok(()));
        assert_eq!(fixture.current.load().tools(), 0);
    }

    #[test]
    fn without_a_directory_there_is_nothing_to_watch() {
        let current = Arc::new(ArcSwap::from_pointee(Representations::default()));
        let watcher = watch(&Settings::default(), Path::new(""), Trigger::new(true), current, |_| {}).unwrap();
        assert!(watcher.is_idle());
    }
}
