//! Learning methods of the proxy: explanations of API errors, plans, lessons, procedures and learned tool descriptions.

pub mod answer_check;
pub mod experience;
pub mod explain;
pub mod memory;
pub mod planner;
pub mod procedures;
mod prompt;
pub mod representation;
