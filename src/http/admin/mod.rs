//! `/admin/*`: JSON for operators.

pub(super) mod approvals;
mod trace_text;
pub(super) mod traces;
