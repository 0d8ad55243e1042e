//! The planner's edges file (confirmed and forbidden sources of arguments), and its reload when it changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use callwright_common::watch::{FileError, Trigger, WatchError, Watcher, reload_file};
use callwright_knowledge::planner::Settings;
use callwright_knowledge::planner::producers::Edges;

/// Reads the file. Without one, nothing is confirmed or forbidden.
pub(super) fn load(settings: &Settings, base_dir: &Path) -> Result<Arc<Edges>, FileError> {
    file(settings, base_dir).map_or_else(|| Ok(Arc::default()), |file| Edges::of_file(&file).map(Arc::new))
}

/// Reads the file again when it changes, and calls `on_result` with every result that differs from the previous one.
pub(super) fn watch(
    settings: &Settings,
    base_dir: &Path,
    before: Arc<Edges>,
    on_result: impl Fn(Result<Arc<Edges>, &str>) + Send + 'static,
) -> Result<Watcher, WatchError> {
    let Some(file) = file(settings, base_dir) else { return Ok(Watcher::idle()) };
    let trigger = Trigger::new(settings.reload_quiet_milliseconds, settings.reload);
    reload_file(file, trigger, "edges-reload", before, |file| Edges::of_file(file).map(Arc::new), on_result)
}

fn file(settings: &Settings, base_dir: &Path) -> Option<PathBuf> {
    (!settings.edges.is_empty()).then(|| base_dir.join(&settings.edges))
}
