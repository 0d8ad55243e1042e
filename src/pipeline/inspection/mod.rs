//! What operators see of the world that turns see: the toolsets and their tools, the policies, and the providers.

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

/// The world as it is at one moment.
#[derive(Debug)]
pub struct Inspection {
    tooling: Arc<Tooling>,
    policies: Arc<PolicyBook>,
    aliases: Arc<BTreeMap<String, AliasSettings>>,
}

impl Pipeline {
    /// The world as it is now.
    pub fn inspect(&self) -> Inspection {
        Inspection {
            tooling: self.tooling.load_full(),
            policies: self.policies.load_full(),
            aliases: Arc::clone(&self.aliases),
        }
    }
}
