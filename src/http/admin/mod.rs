//! `/admin/*`: JSON for operators.

pub(super) mod approvals;
pub(super) mod traces;
