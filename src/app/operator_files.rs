//! Files that operators edit: policies and planner edges, and their reload when they change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::pipeline::AliasSettings;
use callwright_common::watch::{FileError, Trigger, WatchError, Watcher, reload_file};
use callwright_plan as planner;
use callwright_plan::producers::Edges;
use callwright_policy::{self as policy, AliasBinding, PolicyBook, PolicyError};
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::ResultLabel;

/// Loads the policies, and binds the names in model aliases.
///
/// # Errors
/// [`PolicyError`]: a file is invalid, an alias names a policy that does not exist, or its toolsets are not offered
/// because the policy has `mode: shadow`.
pub fn policy_book(
    settings: &policy::Settings,
    aliases: &BTreeMap<String, AliasSettings>,
    base_dir: &Path,
) -> Result<PolicyBook, PolicyError> {
    let bindings = aliases.iter().map(|(name, alias)| {
        let requires_tools = !alias.toolsets.is_empty() && !alias.omit_toolsets_in_shadow;
        (name.clone(), AliasBinding { policy: alias.policy.clone(), requires_tools })
    });
    PolicyBook::load(settings, base_dir)?.bind(bindings)
}

/// Loads the policies, and watches their folder where the settings enable it. Calls `audit` with the policies after
/// each load.
pub(super) fn load_policies(
    settings: &policy::Settings,
    aliases: &BTreeMap<String, AliasSettings>,
    base_dir: &Path,
    trigger: Trigger,
    metrics: &Arc<Metrics>,
    audit: impl Fn(&PolicyBook) + Send + 'static,
) -> Result<(Arc<ArcSwap<PolicyBook>>, Option<Watcher>), PolicyError> {
    let current = Arc::new(ArcSwap::from_pointee(policy_book(settings, aliases, base_dir)?));
    audit(&current.load());
    let (metrics, reloaded) = (metrics.clone(), current.clone());
    let watcher = policy::watch(settings, base_dir, trigger, current.clone(), move |result| {
        metrics.policy_reloads.inc(if result.is_ok() { ResultLabel::Success } else { ResultLabel::Failure });
        match result {
            Ok(()) => {
                tracing::info!("policies reloaded");
                audit(&reloaded.load());
            }
            Err(error) => tracing::error!(%error, "policies not reloaded; the previous ones stay in force"),
        }
    });
    // A proxy whose policies do not reload is better than no proxy.
    let watcher = watcher.inspect_err(|error| tracing::error!(%error, "policies will not reload")).ok();
    Ok((current, watcher))
}

/// Reads the planner's edges file (confirmed and forbidden sources of arguments). Without one, nothing is confirmed or
/// forbidden.
pub(super) fn load_edges(settings: &planner::Settings, base_dir: &Path) -> Result<Arc<Edges>, FileError> {
    edges_file(settings, base_dir).map_or_else(|| Ok(Arc::default()), |file| Edges::from_file(&file).map(Arc::new))
}

/// Reads the edges file again when it changes, and calls `on_result` with every result that differs from the previous one.
pub(super) fn watch_edges(
    settings: &planner::Settings,
    base_dir: &Path,
    trigger: Trigger,
    before: Arc<Edges>,
    on_result: impl Fn(Result<Arc<Edges>, &str>) + Send + 'static,
) -> Result<Watcher, WatchError> {
    let Some(file) = edges_file(settings, base_dir) else { return Ok(Watcher::idle()) };
    reload_file(file, trigger, "edges-reload", before, |file| Edges::from_file(file).map(Arc::new), on_result)
}

fn edges_file(settings: &planner::Settings, base_dir: &Path) -> Option<PathBuf> {
    (!settings.edges.is_empty()).then(|| base_dir.join(&settings.edges))
}
