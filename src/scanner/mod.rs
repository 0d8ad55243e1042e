//! The fault table and its rules, one file per code; `CheckedCall`.
//!
//! Owns the judgement of calls against the tools offered. Does no I/O and calls no model: what it cannot compute is handed to it.
//! A call that it did not pass cannot be executed: `CheckedCall` has no other constructor.
