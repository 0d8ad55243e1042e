//! Configuration, policies, runtime and threads of subcommands.

use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use tokio::runtime::{Builder, Runtime};

use super::errors::VerbError;
use crate::app;
use crate::config::{self, ConfigError, ConfigRequest, LoadedConfig, process_environment};
use callwright_common::parallel::cores;
use callwright_policy::{self as policy, Policy, PolicyBook, PolicyError};
use callwright_store::{Memory, MemoryFilter, Store, StoreError};

/// Loads the configuration of a file, or the one that `serve` finds.
pub(super) fn load_config(file: Option<PathBuf>) -> Result<LoadedConfig, ConfigError> {
    config::load(&ConfigRequest { file, ..ConfigRequest::default() }, &process_environment)
}

/// Loads the policies of a configuration, and binds the names in its model aliases.
pub(super) fn load_policies(loaded: &LoadedConfig) -> Result<PolicyBook, PolicyError> {
    app::policy_book(&loaded.settings.policies, &loaded.settings.aliases, &loaded.base_dir)
}

/// Loads the policy of a file, or the built-in default.
pub(super) fn load_policy(file: Option<&Path>) -> Result<Policy, PolicyError> {
    file.map_or_else(|| Ok(Policy::default()), policy::load_file)
}

/// Runs `work` on the store of a configuration, which a proxy may use at the same time, and closes it.
pub(super) async fn with_store<T>(
    loaded: &LoadedConfig,
    work: impl AsyncFnOnce(&Store) -> Result<T, VerbError>,
) -> Result<T, VerbError> {
    let store = Store::open_beside(&loaded.settings.store, &loaded.base_dir).await?;
    let done = work(&store).await;
    store.close().await;
    done
}

/// Returns all items that a filter selects.
pub(super) async fn all_items<M>(memory: &dyn Memory<M>, mut filter: MemoryFilter) -> Result<Vec<M>, StoreError> {
    let mut all = Vec::new();
    loop {
        let page = memory.page(&filter).await?;
        all.extend(page.items);
        filter.after = page.next;
        if filter.after.is_none() {
            return Ok(all);
        }
    }
}

/// Builds the runtime of subcommands that serve or send requests, with one worker per core.
pub(super) fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().build()
}

/// Returns the requested number of threads, or the number of cores.
pub(super) fn threads(requested: Option<NonZeroUsize>) -> usize {
    requested.unwrap_or_else(cores).get()
}
