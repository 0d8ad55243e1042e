//! Read-only views for operators of the data that turns use: the toolsets with their tools, the policies, and the
//! providers.

mod policies;
mod tools;
mod upstreams;

use std::collections::BTreeMap;
use std::sync::Arc;

use callwright_policy::PolicyBook;

use super::settings::AliasSettings;
use super::{Pipeline, Tooling};

pub use tools::{Editing, ToolShown};
pub use upstreams::UpstreamShown;

/// Catalog, policies and aliases at one moment.
#[derive(Debug)]
pub struct Inspection {
    tooling: Arc<Tooling>,
    policies: Arc<PolicyBook>,
    aliases: Arc<BTreeMap<String, AliasSettings>>,
}

impl Pipeline {
    /// Returns the current catalog, policies and aliases.
    pub fn inspect(&self) -> Inspection {
        Inspection {
            tooling: self.tooling.load_full(),
            policies: self.policies.load_full(),
            aliases: Arc::clone(&self.aliases),
        }
    }
}
