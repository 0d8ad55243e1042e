//! The calls that a client comes back from, and whether they worked.

use std::collections::HashSet;

use callwright_types::Trace;
use callwright_types::memory::Returned;

use super::super::results::ToolResult;

/// Calls of one request that are told: what is more is no conversation of an agent.
const MAX_RETURNED: usize = 64;

/// The calls whose results are new in this request, in order. `trace` has the failures that were recognised.
pub(super) fn returned(results: &[ToolResult], trace: &Trace) -> Vec<Returned> {
    let failed: HashSet<&str> = trace.observed.iter().map(|observed| observed.call.id.as_str()).collect();
    let new = results.iter().filter(|result| result.is_new && !result.call.id.is_empty());
    let told = new.map(|result| Returned {
        call: result.call.id.clone(),
        tool: result.call.name.clone(),
        failed: failed.contains(result.call.id.as_str()),
    });
    told.take(MAX_RETURNED).collect()
}
