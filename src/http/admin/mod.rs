//! `/admin/*`: JSON for operators.

pub(super) mod traces;
