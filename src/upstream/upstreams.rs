//! All configured upstreams.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Settings, Upstream};

/// The upstreams by name. There is always a default one.
#[derive(Debug, Clone)]
pub struct Upstreams {
    by_name: BTreeMap<String, Arc<Upstream>>,
    default: Arc<Upstream>,
}

/// An upstream that cannot be built from its settings.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The default upstream is not configured.
    #[error("the default upstream `{name}` is not configured: add [upstreams.{name}] or name another default")]
    NoDefault {
        /// The name that was asked for.
        name: String,
    },
    /// A setting has a value that cannot be used.
    #[error("upstreams.{upstream}.{key}: {message}")]
    Setting {
        /// The upstream.
        upstream: String,
        /// The key.
        key: &'static str,
        /// What is wrong and how to mend it; never quotes a secret.
        message: String,
    },
    /// The HTTP client could not be made.
    #[error("upstreams.{upstream}: {message}")]
    Client {
        /// The upstream.
        upstream: String,
        /// What the client says.
        message: String,
    },
}

impl Upstreams {
    /// Builds a client for each entry.
    ///
    /// # Errors
    /// When a setting cannot be used or the default is missing.
    pub fn build(_settings: &BTreeMap<String, Settings>, _default: &str) -> Result<Self, BuildError> {
        todo!()
    }

    /// The upstream of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Upstream>> {
        self.by_name.get(name)
    }

    /// The upstream of turns that name none.
    pub fn default_upstream(&self) -> &Arc<Upstream> {
        &self.default
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        self.by_name.values()
    }
}
