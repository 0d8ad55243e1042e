//! Tools of toolsets whose calls the proxy may execute.

use std::sync::Arc;

use http::HeaderMap;
use url::Url;

use super::Inspection;
use callwright_executor::Permissions;
use callwright_openapi::Toolset;
use callwright_policy::Policy;

/// Number of tools of a toolset, and how many of them can be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolsetState {
    /// Name of the toolset.
    pub name: String,
    /// Number of tools.
    pub tools: usize,
    /// Number of tools whose calls are executed, immediately or after a person's approval.
    pub callable: usize,
    /// Why the others cannot be called, and the remedy; empty if all can.
    pub obstacles: Vec<String>,
}

impl Inspection {
    /// Returns the state of every toolset, ordered by name. `permits` decides whether the executor may call a server.
    pub fn toolset_states(&self, permits: impl Fn(&Url) -> bool) -> Vec<ToolsetState> {
        self.tooling.catalog.toolsets().map(|toolset| self.state(toolset, &permits)).collect()
    }

    fn state(&self, toolset: &Toolset, permits: &impl Fn(&Url) -> bool) -> ToolsetState {
        let policies = self.policies_of(toolset);
        let permissions: Vec<Permissions<'_>> =
            policies.iter().map(|policy| Permissions::new(&policy.execute)).collect();
        let (mut without_server, mut private, mut denied) = (0, 0, 0);
        for operation in &toolset.operations {
            let name = format!("{}/{}", toolset.name, operation.own_name());
            match operation.servers.first() {
                None => without_server += 1,
                Some(server) if !permits(server) => private += 1,
                Some(_) if !permissions.iter().any(|rules| rules.permit(&operation.method, &name)) => denied += 1,
                Some(_) => {}
            }
        }
        let (name, entry, tools) = (toolset.name.clone(), &toolset.entry, toolset.operations.len());
        if policies.is_empty() {
            let obstacle = format!("no model has it: add `{entry}` to `toolsets` of an alias in `[aliases.NAME]`");
            return ToolsetState { name, tools, callable: 0, obstacles: vec![obstacle] };
        }
        let host = toolset.servers.first().and_then(Url::host_str).unwrap_or_default();
        let rules: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
        let rules = rules.join("`, `");
        let obstacles = [
            (without_server, format!("without a server: set `base_url` in `[toolsets.{entry}]`")),
            (private, format!("at a private address: add \"{host}\" to `executor.allowed_addresses`")),
            (denied, format!("not GET or HEAD, or denied: `execute.rules` of the policy `{rules}` can allow them")),
        ];
        let obstacles = obstacles.into_iter().filter(|(count, _)| *count > 0);
        let obstacles = obstacles.map(|(count, text)| format!("{count} {text}")).collect();
        ToolsetState { name, tools, callable: tools - without_server - private - denied, obstacles }
    }

    /// Returns the policies of the aliases that offer a toolset, each once.
    fn policies_of(&self, toolset: &Toolset) -> Vec<Arc<Policy>> {
        let mut policies: Vec<Arc<Policy>> = Vec::new();
        for (alias, settings) in &*self.aliases {
            let mut offered = settings.toolsets.iter().flat_map(|entry| self.tooling.catalog.toolsets_of(entry));
            if !offered.any(|one| one.name == toolset.name) {
                continue;
            }
            // Requests of some keys or header fields may get other policies.
            let Ok(explained) = self.explain(alias, None, &HeaderMap::new()) else { continue };
            if !policies.iter().any(|policy| policy.name == explained.rules.name) {
                policies.push(explained.rules);
            }
        }
        policies
    }
}
