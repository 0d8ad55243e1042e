//! Where a plan says that values come from.

use serde_json::Value;

use callwright_common::json::Pointer;

/// Where a plan says that the values of the coming calls come from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expectations {
    /// One for each argument that another call's output feeds.
    pub expected: Vec<Expectation>,
}

/// An argument that another call's output feeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// The tool that has the argument.
    pub tool: String,
    /// The argument.
    pub path: Pointer,
    /// The tool whose output it comes from.
    pub source: String,
    /// The values that the output has for it; any of them will do. Empty where that call has not been made yet.
    pub values: Vec<Value>,
}
