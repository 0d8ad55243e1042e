//! Expected sources of argument values, taken from a plan.

use serde_json::Value;

use callwright_common::json::Pointer;

/// Expected sources of the argument values of the coming calls, taken from a plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expectations {
    /// One entry per argument that takes its value from the output of another call.
    pub expected: Vec<Expectation>,
}

/// An argument that takes its value from the output of another call.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// Tool that has the argument.
    pub tool: String,
    /// Path of the argument.
    pub path: Pointer,
    /// Tool that produces the value.
    pub source: String,
    /// Accepted values, taken from the output. Empty if the producing call has not been made yet.
    pub values: Vec<Value>,
}
