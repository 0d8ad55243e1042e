//! Hot reload of the operator's templates.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::library::{self, TemplateSource};
use super::{Settings, TemplateError, Templates};
use callwright_common::watch::{self, Trigger, WatchError, Watcher};

/// Reloads the templates when their directory changes, and reports every reload to `on_result`. One invalid template
/// leaves all of `templates` unchanged. With `reload = false`, reloads only when the watcher is woken. Without a
/// template directory, the watcher is idle.
///
/// # Errors
/// [`WatchError`] if the system cannot watch the directory.
pub fn watch(
    settings: &Settings,
    templates: &Templates,
    on_result: impl Fn(Result<(), &TemplateError>) + Send + 'static,
) -> Result<Watcher, WatchError> {
    if settings.templates.is_empty() {
        return Ok(Watcher::idle());
    }
    let directory = PathBuf::from(&settings.templates);
    let trigger = Trigger::new(settings.reload_quiet_milliseconds, settings.reload);
    let seen = Some(templates.current.load().sources.clone());
    let mut reloader = Reloader { directory: directory.clone(), templates: templates.clone(), on_result, seen };
    watch::watch(&directory, trigger, "template-reload", move || reloader.reload())
}

struct Reloader<F> {
    directory: PathBuf,
    templates: Templates,
    on_result: F,
    /// Sources of the last reload, valid or not.
    seen: Option<Vec<TemplateSource>>,
}

impl<F: Fn(Result<(), &TemplateError>)> Reloader<F> {
    fn reload(&mut self) {
        let sources = match library::read(Path::new(&self.directory)) {
            Ok(sources) if self.seen.as_ref() == Some(&sources) => return,
            Ok(sources) => sources,
            Err(error) => {
                self.seen = None;
                return (self.on_result)(Err(&error));
            }
        };
        self.seen = Some(sources.clone());
        match library::compile(sources) {
            Ok(library) => {
                self.templates.current.store(Arc::new(library));
                (self.on_result)(Ok(()));
            }
            Err(error) => (self.on_result)(Err(&error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;
    use crate::scanner::testing::call;

    /// Long enough for any machine; a passing test does not wait for it.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn good_templates_replace_those_in_use_and_bad_ones_never() {
        let directory = tempfile::tempdir().unwrap();
        // Atomic, as editors do: no reload sees a partial file.
        let write = |text: &str| {
            fs::write(directory.path().join(".new"), text).unwrap();
            fs::rename(directory.path().join(".new"), directory.path().join("accepted_call.jinja")).unwrap();
        };
        write("one");
        let settings = Settings {
            templates: directory.path().display().to_string(),
            reload_quiet_milliseconds: 20,
            ..Settings::default()
        };
        let templates = Templates::load(&settings).unwrap();
        let said = || templates.accepted_call(&call("f", "{}"));
        let (sender, results) = channel();
        let on_result = move |result: Result<(), &TemplateError>| {
            let _ = sender.send(result.map_err(ToString::to_string));
        };
        let watcher = watch(&settings, &templates, on_result).unwrap();
        let result = || results.recv_timeout(PATIENCE).expect("a reload");
        assert_eq!(said(), "one");
        write("line\n{{ nonsense }}");
        let error = result().unwrap_err();
        assert!(error.contains("accepted_call.jinja, line 2: undefined value"), "{error}");
        assert_eq!(said(), "one");
        write("two {{ call.name }}");
        assert_eq!((result(), said()), (Ok(()), "two f".to_owned()));
        assert!(!watcher.is_idle());
    }

    #[test]
    fn the_built_in_templates_need_no_watching() {
        assert!(watch(&Settings::default(), &Templates::builtin(), |_| {}).unwrap().is_idle());
    }
}
