//! The rules, one file each. [`Rule::ALL`](super::Rule::ALL) is their table.

pub(super) mod confusable_names;
pub(super) mod cut_description;
pub(super) mod missing_description;
pub(super) mod missing_example;
pub(super) mod missing_operation_id;
pub(super) mod missing_server;
pub(super) mod same_description;
pub(super) mod undocumented_errors;
pub(super) mod unexplained_parameter;
pub(super) mod unexplained_values;
