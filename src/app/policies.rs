//! Policies in force, and their reload when files change.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::pipeline::AliasSettings;
use callwright_common::watch::Watcher;
use callwright_policy::{self as policy, PolicyBook, PolicyError};
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::ResultLabel;

/// Loads the policies, and watches their folder where the settings enable it.
pub(super) fn load(
    settings: &policy::Settings,
    aliases: &BTreeMap<String, AliasSettings>,
    base_dir: &Path,
    metrics: &Arc<Metrics>,
) -> Result<(Arc<ArcSwap<PolicyBook>>, Option<Watcher>), PolicyError> {
    let bindings = aliases.iter().filter(|(_, alias)| !alias.policy.is_empty());
    let bindings = bindings.map(|(name, alias)| (name.clone(), alias.policy.clone()));
    let book = PolicyBook::load(settings, base_dir)?.bind(bindings)?;
    let current = Arc::new(ArcSwap::from_pointee(book));
    let metrics = metrics.clone();
    let watcher = policy::watch(settings, base_dir, current.clone(), move |result| {
        metrics.policy_reloads.inc(if result.is_ok() { ResultLabel::Success } else { ResultLabel::Failure });
        match result {
            Ok(()) => tracing::info!("policies reloaded"),
            Err(error) => tracing::error!(%error, "policies not reloaded; the previous ones stay in force"),
        }
    });
    // A proxy whose policies do not reload is better than no proxy.
    let watcher = watcher.inspect_err(|error| tracing::error!(%error, "policies will not reload")).ok();
    Ok((current, watcher))
}
