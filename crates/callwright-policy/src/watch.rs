//! Hot reload: watches the directory and replaces the policies in force with a valid new set.

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::book::directory;
use super::sources::folder;
use super::{PolicyBook, PolicyError, Settings};
use callwright_common::watch::{Trigger, WatchError, Watcher, reload};

/// Reloads the policies into `current` when their directory changes, and calls `on_result` after every reload; an
/// invalid set of files leaves `current` unchanged. A `trigger` without changes reloads only when the
/// watcher is woken. The built-in policies are not watched. A reload takes place only if the contents of the files
/// changed.
///
/// # Errors
/// [`WatchError`] if the system cannot watch the directory.
pub fn watch(
    settings: &Settings,
    base_dir: &Path,
    trigger: Trigger,
    current: Arc<ArcSwap<PolicyBook>>,
    on_result: impl Fn(Result<(), &PolicyError>) + Send + 'static,
) -> Result<Watcher, WatchError> {
    let Some(directory) = directory(settings, base_dir) else {
        return Ok(Watcher::idle());
    };
    let seen = current.load().seen();
    let default = settings.default.clone();
    reload(
        folder(directory),
        seen,
        trigger,
        "policy-reload",
        current,
        move |files, book| PolicyBook::of(&files, &default, book.place().to_owned())?.bind(book.bindings().clone()),
        on_result,
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use super::super::AliasBinding;
    use super::*;

    /// Timeout that suffices on any machine; a passing test does not wait for it.
    const PATIENCE: Duration = Duration::from_secs(60);

    struct Fixture {
        root: tempfile::TempDir,
        current: Arc<ArcSwap<PolicyBook>>,
        results: Receiver<Result<(), String>>,
        _watcher: Watcher,
    }

    /// Watches `rules` in a new directory that `prepare` has filled.
    fn watching(prepare: impl FnOnce(&Path)) -> Fixture {
        let root = tempfile::tempdir().unwrap();
        prepare(root.path());
        let settings = Settings { directory: "rules".to_owned(), ..Settings::default() };
        let current = Arc::new(ArcSwap::from_pointee(PolicyBook::load(&settings, root.path()).unwrap()));
        let (sender, results) = channel();
        let on_result = move |result: Result<(), &PolicyError>| {
            let _ = sender.send(result.map_err(ToString::to_string));
        };
        let watcher = watch(&settings, root.path(), Trigger::new(true), Arc::clone(&current), on_result).unwrap();
        Fixture { root, current, results, _watcher: watcher }
    }

    fn with_default(root: &Path) {
        fs::create_dir(root.join("rules")).unwrap();
        fs::write(root.join("rules/default.yaml"), "limits: {seconds: 10}").unwrap();
    }

    impl Fixture {
        fn seconds(&self) -> u64 {
            self.current.load().get("default").unwrap().limits.seconds
        }

        fn result(&self) -> Result<(), String> {
            self.results.recv_timeout(PATIENCE).expect("a reload")
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().join(name)
        }

        /// Writes a file atomically, as editors do, so that no reload reads a partial file.
        fn replace(&self, name: &str, text: &str) {
            fs::write(self.path("rules/.new"), text).unwrap();
            fs::rename(self.path("rules/.new"), self.path(name)).unwrap();
        }
    }

    #[test]
    fn a_changed_file_is_read_again() {
        let fixture = watching(with_default);
        fs::write(fixture.path("rules/default.yaml"), "limits: {seconds: 20}").unwrap();
        // A reload between truncation and write reads an empty file; a later reload reads the new content.
        while fixture.seconds() != 20 {
            assert_eq!(fixture.result(), Ok(()));
        }
    }

    #[test]
    fn a_bad_file_replaces_nothing_and_the_next_good_one_does() {
        let fixture = watching(with_default);
        fixture.replace("rules/default.yaml", "limits: {secnds: 20}");
        let error = fixture.result().unwrap_err();
        assert!(error.contains("default.yaml:1:10: unknown key `secnds`; did you mean `seconds`?"), "{error}");
        assert_eq!(fixture.seconds(), 10);
        fixture.replace("rules/default.yaml", "limits: {seconds: 30}");
        assert_eq!(fixture.result(), Ok(()));
        assert_eq!(fixture.seconds(), 30);
    }

    #[test]
    fn a_file_that_an_editor_replaces_by_renaming_is_read_again() {
        let fixture = watching(with_default);
        fixture.replace("rules/default.yaml", "limits: {seconds: 40}");
        assert_eq!(fixture.result(), Ok(()));
        assert_eq!(fixture.seconds(), 40);
    }

    #[test]
    fn a_directory_that_is_replaced_is_read_again_each_time() {
        let fixture = watching(with_default);
        for seconds in [50, 60] {
            fs::create_dir(fixture.path("next")).unwrap();
            fs::write(fixture.path("next/default.yaml"), format!("limits: {{seconds: {seconds}}}")).unwrap();
            fs::remove_dir_all(fixture.path("rules")).unwrap();
            fs::rename(fixture.path("next"), fixture.path("rules")).unwrap();
            // The directory is briefly absent between the two steps, which a reload may or may not observe.
            while fixture.result().is_err() {}
            assert_eq!(fixture.seconds(), seconds);
        }
    }

    /// Kubernetes mounts a ConfigMap as links into a directory behind a link, and switches that link.
    #[cfg(unix)]
    #[test]
    fn a_link_that_is_switched_as_kubernetes_does_is_read_again() {
        use std::os::unix::fs::symlink;
        let version = |root: &Path, name: &str, seconds: u64| {
            fs::create_dir_all(root.join("rules").join(name)).unwrap();
            let text = format!("limits: {{seconds: {seconds}}}");
            fs::write(root.join("rules").join(name).join("default.yaml"), text).unwrap();
        };
        let fixture = watching(|root| {
            version(root, "..1", 10);
            symlink("..1", root.join("rules/..data")).unwrap();
            symlink("..data/default.yaml", root.join("rules/default.yaml")).unwrap();
        });
        version(fixture.root.path(), "..2", 70);
        symlink("..2", fixture.path("rules/..data_tmp")).unwrap();
        fs::rename(fixture.path("rules/..data_tmp"), fixture.path("rules/..data")).unwrap();
        assert_eq!(fixture.result(), Ok(()));
        assert_eq!(fixture.seconds(), 70);
    }

    #[test]
    fn a_reload_checks_the_bindings_of_the_aliases_too() {
        let fixture = watching(|root| {
            with_default(root);
            fs::write(root.join("rules/careful.yaml"), "").unwrap();
        });
        let settings = Settings { directory: "rules".to_owned(), ..Settings::default() };
        let bound = PolicyBook::load(&settings, fixture.root.path()).unwrap();
        fixture.current.store(Arc::new(
            bound
                .bind([("fast".to_owned(), AliasBinding { policy: "careful".to_owned(), requires_tools: false })])
                .unwrap(),
        ));
        fs::remove_file(fixture.path("rules/careful.yaml")).unwrap();
        let error = fixture.result().unwrap_err();
        assert!(error.contains("`[aliases.fast]` names the policy `careful`"), "{error}");
        assert!(fixture.current.load().get("careful").is_some());
    }

    #[test]
    fn the_built_in_policies_need_no_watching() {
        let current = Arc::new(ArcSwap::from_pointee(PolicyBook::builtin()));
        let watcher = watch(&Settings::default(), Path::new(""), Trigger::new(true), current, |_| {}).unwrap();
        assert!(watcher.is_idle());
    }
}
