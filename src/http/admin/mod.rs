//! `/admin/*`: JSON for operators.

pub(super) mod approvals;
mod trace_plan;
mod trace_text;
pub(super) mod traces;
