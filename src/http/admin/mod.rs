//! `/admin/*`: the operator API (JSON).

pub(super) mod approvals;
pub(super) mod keys;
pub(super) mod memory;
pub(super) mod policies;
pub(super) mod shadow;
pub(super) mod switch;
pub(super) mod tools;
mod trace_plan;
mod trace_text;
pub(super) mod traces;
pub(super) mod upstreams;
