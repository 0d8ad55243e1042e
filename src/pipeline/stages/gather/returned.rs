//! The calls whose results a client returns, and whether they succeeded.

use std::collections::HashSet;

use callwright_types::Trace;
use callwright_types::memory::Returned;

use super::super::results::ToolResult;

/// Maximum number of reported calls per request. Agents send fewer.
const MAX_RETURNED: usize = 64;

/// Returns the calls with new results in this request, in order. `trace` contains the recognised failures.
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
