//! `/admin/*`: the operator API (JSON).

/// Description of the limit of a page.
const PAGE_LIMIT: &str = "Maximum number of items per page; more than 1,000 means 1,000.";

pub(super) mod approval_events;
pub(super) mod approvals;
pub(super) mod keys;
pub(super) mod memory;
pub(super) mod overview;
pub(super) mod policies;
pub(super) mod shadow;
pub(super) mod switch;
pub(super) mod tools;
mod trace_plan;
mod trace_text;
pub(super) mod traces;
pub(super) mod upstreams;
