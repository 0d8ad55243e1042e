//! Validates a model's tool calls against their JSON Schema, repairs them, rescues calls that were written as text, and
//! explains the remaining faults to the model.

pub mod feedback;
pub mod repair;
pub mod scanner;
