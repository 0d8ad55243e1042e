//! Log lines about refused calls: one per toolset and reason, until a call of that tool succeeds or documents or
//! policies are reloaded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use callwright_openapi::Catalog;
use callwright_policy::PolicyBook;
use callwright_types::RefusalReason;
use callwright_types::trace::Execution;

/// The refusals that were logged.
#[derive(Debug, Default)]
pub(super) struct RefusalLog {
    logged: Mutex<LoggedRefusals>,
}

#[derive(Debug, Default)]
struct LoggedRefusals {
    /// Catalog and policies of these refusals. Others mean a reload, after which every refusal is logged again.
    catalog: Weak<Catalog>,
    policies: Weak<PolicyBook>,
    /// The refused tool by toolset and reason. The catalog limits the number.
    tools: HashMap<(String, RefusalReason), String>,
}

impl RefusalLog {
    /// Logs the refusal of an execution unless it was logged before. A successful execution of the tool ends that.
    /// `catalog` and `policies` are those in force now.
    pub(super) fn note(
        &self,
        catalog: &Arc<Catalog>,
        policies: &Arc<PolicyBook>,
        execution: &Execution,
        policy: &str,
    ) -> bool {
        let (toolset, tool) = (execution.toolset.as_str(), execution.call.name.as_str());
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current = std::ptr::eq(logged.catalog.as_ptr(), Arc::as_ptr(catalog))
            && std::ptr::eq(logged.policies.as_ptr(), Arc::as_ptr(policies));
        if !is_current {
            let (catalog, policies) = (Arc::downgrade(catalog), Arc::downgrade(policies));
            *logged = LoggedRefusals { catalog, policies, tools: HashMap::new() };
        }
        let Some(reason) = execution.reason else {
            logged.tools.retain(|(of, _), refused| of != toolset || refused != tool);
            return false;
        };
        let key = (toolset.to_owned(), reason);
        if logged.tools.contains_key(&key) {
            return false;
        }
        logged.tools.insert(key, tool.to_owned());
        drop(logged);
        tracing::warn!(
            toolset,
            tool,
            reason = reason.label(),
            policy,
            remedy = execution.remedy.as_deref().unwrap_or_default(),
            "a call was refused; further refusals of this toolset for this reason are not logged until a call of the \
             tool succeeds or a reload"
        );
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn execution(toolset: &str, tool: &str, reason: Option<RefusalReason>) -> Execution {
        serde_json::from_value(json!({
            "call": {"id": "1", "name": tool, "arguments": ""}, "toolset": toolset, "operation": "GET /",
            "outcome": "refused", "reason": reason, "duration_ms": 0.0,
        }))
        .unwrap()
    }

    #[test]
    fn a_refusal_is_logged_once_until_the_tool_succeeds_or_a_reload() {
        let log = RefusalLog::default();
        let (catalog, policies) = (Arc::<Catalog>::default(), Arc::new(PolicyBook::builtin()));
        let note = |toolset: &str, tool: &str, reason| {
            log.note(&catalog, &policies, &execution(toolset, tool, reason), "default")
        };
        let (server, denied) = (Some(RefusalReason::NoServer), Some(RefusalReason::PolicyDenied));
        assert!(note("shop", "pay", server));
        assert!(!note("shop", "pay", server), "once");
        assert!(!note("shop", "list", server), "once for each toolset, not for each tool");
        assert!(note("shop", "pay", denied) && note("maps", "route", server));
        assert!(!note("shop", "list", None) && !note("shop", "pay", denied), "another tool succeeded");
        assert!(!note("shop", "pay", None) && note("shop", "pay", denied), "the tool succeeded");
        let reloaded = Arc::<Catalog>::default();
        assert!(log.note(&reloaded, &policies, &execution("maps", "route", server), "default"), "a reload");
    }
}
